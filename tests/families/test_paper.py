"""Tables of the paper that speak of families; test ids carry the LaTeX labels."""

from fractions import Fraction

import pytest

from linkstep.core.distances import diameter
from linkstep.costs import moore_steps
from linkstep.families import FAMILIES
from linkstep.families.complete import generalized_kautz
from linkstep.families.de_bruijn import CYCLES, de_bruijn
from linkstep.families.distance_regular import ROWS, distance_regular
from support.families import bfb_bandwidth, intersection_array, is_reverse_symmetric

BY_NOTATION = {family.notation: family for family in FAMILIES}

# Graph name, N, T_L, T_L*, T_L**
DISTANCE_REGULAR = [
    ("Octahedron J(4,2)", 6, 2, 2, 2),
    ("Paley graph P9=H(2,3)", 9, 2, 2, 2),
    ("K5,5-I", 10, 3, 2, 2),
    ("Distance-3 graph of Heawood graph", 14, 3, 2, 2),
    ("Line graph of Petersen graph", 15, 3, 2, 2),
    ("4-cube Q4=H(4,2)", 16, 4, 2, 2),
    ("Line graph of Heawood graph", 21, 3, 2, 3),
    ("Incidence graph of PG(2,3)", 26, 3, 3, 3),
    ("Incidence graph of AG(2,4) minus a parallel class", 32, 4, 3, 3),
    ("Odd graph O4", 35, 3, 3, 3),
    ("Line graph of Tutte's 8-cage", 45, 4, 3, 3),
    ("Doubled Odd Graph D(O4)", 70, 7, 3, 4),
    ("Incidence graph of GQ(3,3)", 80, 4, 3, 4),
    ("Line graph of Tutte's 12-cage", 189, 6, 4, 5),
    ("Incidence graph of GH(3,3)", 728, 6, 5, 6),
]


def test_exampledistreg_is_complete():
    assert [size for _, size, *_ in DISTANCE_REGULAR] == list(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "steps", "moore", "bidirectional_moore"),
    [pytest.param(*row[1:], id=f"tab:exampledistreg-{row[0]}") for row in DISTANCE_REGULAR],
)
def test_exampledistreg(size, steps, moore, bidirectional_moore):
    built = distance_regular(4, size)
    assert (built.num_nodes, built.degree) == (size, 4)
    assert built.is_regular and built.is_bidirectional
    assert built.num_parallel == built.num_self_loops == 0
    assert diameter(built) == steps
    assert moore_steps(size, 4) == moore
    assert moore_steps(size, 4, bidirectional=True) == bidirectional_moore
    assert intersection_array(built) is not None


YES, NO = True, False

# notation, arguments, degree, size, reverse-symmetric, self-loops, parallel links, and T_L or None.
# T_L is the diameter where the table has a BFB schedule; "Moore optimal" rows give the Moore bound.
SUMMARY = [
    ("K_m", (2,), 1, 2, YES, NO, NO, 1),
    ("K_m", (7,), 6, 7, YES, NO, NO, 1),
    ("K_{d,d}", (4, 4), 4, 8, YES, NO, NO, moore_steps(8, 4)),
    ("K_{d,d}", (2, 2), 2, 4, YES, NO, NO, moore_steps(4, 2)),
    ("H(n,q)", (2, 3), 4, 9, YES, NO, NO, 2),
    ("H(n,q)", (3, 4), 9, 64, YES, NO, NO, 3),
    ("K(d,n)", (4, 2), 4, 80, YES, NO, NO, moore_steps(80, 4)),
    ("K(d,n)", (2, 4), 2, 48, YES, NO, NO, moore_steps(48, 2)),
    ("Pi_{d,m}", (2, 5), 2, 5, NO, YES, NO, None),
    ("Pi_{d,m}", (4, 35), 4, 35, NO, NO, NO, None),
    ("Pi_{d,m}", (3, 10), 3, 10, NO, YES, NO, None),
    ("C(n,{a,b,...})", (16, (3, 4)), 4, 16, YES, NO, NO, None),
    ("C(n,{a,b,...})", (11, (1, 2, 5)), 6, 11, YES, NO, NO, None),
    ("DirCirculant(d)", (4,), 4, 6, YES, NO, NO, moore_steps(6, 4)),
    ("DirCirculant(d)", (1,), 1, 3, YES, NO, NO, moore_steps(3, 1)),
    ("BiRing(d,m)", (2, 8), 2, 8, YES, NO, NO, 4),
    ("BiRing(d,m)", (4, 5), 4, 5, YES, NO, YES, 2),
    ("UniRing(d,m)", (1, 4), 1, 4, YES, NO, NO, 3),
    ("UniRing(d,m)", (3, 6), 3, 6, YES, NO, YES, 5),
    ("Diamond", (), 2, 8, NO, NO, NO, moore_steps(8, 2)),
    ("DBJ(d,n)", (4, 4), 4, 256, YES, YES, NO, moore_steps(256, 4)),
    ("DBJ(d,n)", (2, 3), 2, 8, YES, YES, NO, moore_steps(8, 2)),
    ("DBJMod(d,n)", (2, 3), 2, 8, YES, NO, NO, None),
    ("DBJMod(d,n)", (2, 4), 2, 16, NO, NO, NO, None),
    ("DBJMod(d,n)", (3, 2), 3, 9, NO, NO, NO, 3),
    ("DBJMod(d,n)", (4, 2), 4, 16, NO, NO, NO, 3),
    ("DistReg(4,m)", (4, 32), 4, 32, YES, NO, NO, 4),
]


@pytest.mark.parametrize(
    ("notation", "args", "degree", "size", "reverse", "loops", "parallel", "steps"),
    [pytest.param(*row, id=f"table:toposummary-{BY_NOTATION[row[0]].format(*row[1])}") for row in SUMMARY],
)
def test_toposummary(notation, args, degree, size, reverse, loops, parallel, steps):
    family = BY_NOTATION[notation]
    built = family.build(*args)
    assert (built.num_nodes, built.degree, built.is_regular) == (size, degree, True)
    assert is_reverse_symmetric(built) == reverse == family.reverse_symmetric(*args)
    assert (built.num_self_loops > 0) == loops
    assert (built.num_parallel > 0) == parallel
    assert steps is None or diameter(built) == steps


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_toposummary_self_loops_of_generalized_kautz(degree):
    """table:toposummary: if m mod (d + 1) is not 0; and thm:genkautzdiameter, D at most one above Moore's."""
    for size in range(degree + 1, 40):
        built = generalized_kautz(degree, size)
        assert (built.num_self_loops > 0) == (size % (degree + 1) != 0)
        assert built.num_parallel == 0
        assert diameter(built) <= moore_steps(size, degree) + 1


@pytest.mark.parametrize(("args", "optimal"), [((3, 4), True), ((3, 12), False), ((3, 5), False), ((4, 64), False)])
def test_toposummary_bandwidth_of_generalized_kautz(args, optimal):
    assert BY_NOTATION["Pi_{d,m}"].bandwidth_optimal(*args) == optimal


@pytest.mark.parametrize("key", CYCLES)
def test_modified_de_bruijn_differs_in_loops_and_2_cycles_only(key):
    """fig:modifieddbjg: self-loops and 2-cycles become one long cycle over the nodes they touched."""
    before, after = de_bruijn(*key), BY_NOTATION["DBJMod(d,n)"].build(*key)
    old, new = (set(zip(t.tail.tolist(), t.head.tolist(), strict=True)) for t in (before, after))
    short = {(u, w) for u, w in old if (w, u) in old}
    cycle = CYCLES[key]
    assert set(cycle) == {u for u, _ in short} and len(set(cycle)) == len(cycle) == len(short)
    assert new == (old - short) | set(zip(cycle, cycle[1:] + cycle[:1], strict=True))


def test_a_4_node_ring_of_degree_1_is_unidirectional():
    """tab:allourtopos has L(BiRing(1,4)^3 x UniRing(1,2)) with N = 512, d = 4, D = 11: degree 1 factors."""
    ring, pair = BY_NOTATION["UniRing(d,m)"].size(1, 4), BY_NOTATION["UniRing(d,m)"].size(1, 2)
    degree = 3 * ring[1] + pair[1]
    assert (ring[0] ** 3 * pair[0] * degree, degree) == (512, 4)
    assert 3 * (ring[0] - 1) + (pair[0] - 1) + 1 == 11


def test_twisted_torus_is_bandwidth_optimal_where_tried():
    """The paper says it computed that for N up to 10^4; we claim nothing, and try the pods of TPU v4."""
    for dims in ((2, 4), (4, 8), (2, 2, 4), (2, 4, 4), (4, 4, 8)):
        built = BY_NOTATION["TwistedTorus(d1,d2,...)"].build(*dims)
        assert bfb_bandwidth(built, [0]) == 1 - Fraction(1, built.num_nodes)
