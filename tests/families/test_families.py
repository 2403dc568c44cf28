"""Every family: what is built is what ``size`` says, ``members`` lists it, and claimed properties hold."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.distances import diameter
from linkstep.core.errors import RecipeError
from linkstep.core.topology import Topology
from linkstep.families import FAMILIES
from linkstep.families._common import MAX_LINKS, duplex_links, out_links
from linkstep.families.circulant import best_two_jumps, circulant
from linkstep.families.complete import complete, generalized_kautz, kautz
from linkstep.families.cubes import hamming, hypercube, twisted_hypercube
from linkstep.families.distance_regular import ROWS, distance_graph, line_graph
from linkstep.families.dragonfly import dragonfly
from linkstep.families.mesh import mesh
from linkstep.families.rings import shifted_ring_jumps
from linkstep.families.torus import torus, twisted_torus
from linkstep.groups import parse_group
from linkstep.methods.bfb import bfb_cost
from support.families import (
    are_isomorphic,
    bfb_bandwidth,
    coloured,
    intersection_array,
    is_reverse_symmetric,
    num_orbits,
)

BY_NOTATION = {family.notation: family for family in FAMILIES}

# notation: [(arguments, diameter), ...]
SAMPLES = {
    "K_m": [((2,), 1), ((3,), 1), ((9,), 1)],
    "K_{d,d}": [((1, 1), 1), ((2, 2), 2), ((4, 4), 2), ((7, 7), 2)],
    "K(d,n)": [((2, 0), 1), ((2, 1), 2), ((4, 2), 3), ((3, 3), 4), ((2, 5), 6)],
    "Pi_{d,m}": [
        ((1, 2), 1),
        ((2, 3), 1),
        ((2, 5), 3),
        ((3, 12), 2),
        ((4, 64), 3),
        ((4, 1024), 5),
        ((4, 25), 3),
        ((2, 8), 3),
    ],
    "H(n,q)": [((1, 5), 1), ((2, 3), 2), ((3, 4), 3), ((5, 2), 5)],
    "Q(n)": [((1,), 1), ((2,), 2), ((5,), 5), ((8,), 8)],
    "TwistedHypercube(n)": [((3,), 2), ((4,), 3), ((5,), 4), ((8,), 7)],
    "C(n,{a,b,...})": [
        ((7, (2, 3)), 2),
        ((8, (1, 4)), 2),
        ((16, (3, 4)), 3),
        ((9, (1, 1)), 4),
        ((12, (5,)), 6),
    ],
    "DirCirculant(d)": [((1,), 2), ((4,), 2), ((9,), 2)],
    "BiRing(d,m)": [((2, 3), 1), ((2, 8), 4), ((4, 5), 2), ((6, 9), 4)],
    "UniRing(d,m)": [((1, 2), 1), ((1, 8), 7), ((3, 5), 4), ((4, 2), 1)],
    "ShiftedRing(d,n)": [((4, 3), 1), ((4, 6), 3), ((4, 8), 2), ((4, 12), 3), ((6, 40), 4), ((2, 9), 4)],
    "Bundle(d,m)": [((3, 2), 1), ((5, 3), 1), ((6, 4), 1), ((5, 4), 1), ((7, 5), 1), ((12, 6), 1)],
    "Chords(d,n)": [((3, 6), 2), ((3, 20), 5), ((5, 64), 5), ((7, 10), 2), ((11, 106), 4)],
    "DBJ(d,n)": [((2, 1), 1), ((2, 4), 4), ((4, 4), 4), ((3, 2), 2)],
    "DBJMod(d,n)": [((2, 3), 3), ((2, 4), 4), ((3, 2), 3), ((4, 2), 3)],
    "Diamond": [((), 3)],
    "Torus(d1,d2,...)": [
        ((2,), 1),
        ((5,), 2),
        ((3, 4), 3),
        ((2, 2, 2), 3),
        ((3, 2, 5), 4),
        ((3, 3, 3, 3), 4),
    ],
    "TwistedTorus(d1,d2,...)": [((2, 4), 2), ((8, 4), 4), ((4, 4, 8), 6), ((3, 6, 6), 4), ((2, 2, 2, 4), 4)],
    "Mesh(d1,d2,...)": [((2,), 1), ((5,), 4), ((3, 4), 5), ((2, 2, 2), 3), ((3, 2, 5), 7), ((3, 3, 3), 6)],
    "Dragonfly(a,h)": [((2, 1), 3), ((3, 1), 3), ((2, 3), 3), ((4, 2), 3), ((5, 5), 3)],
    "DoubleBinaryTree(n)": [((4,), 2), ((5,), 2), ((12,), 3), ((16,), 4), ((100,), 10)],
    "DistReg(4,m)": [((4, 6), 2), ((4, 45), 4), ((4, 80), 4), ((4, 189), 6), ((4, 728), 6)],
    "J(n,k)": [((2, 1), 1), ((4, 2), 2), ((7, 3), 3), ((7, 4), 3), ((70, 1), 1)],
    "Kneser(n,k)": [((3, 1), 1), ((5, 2), 2), ((8, 3), 2), ((7, 2), 2), ((9, 4), 4), ((10, 4), 3)],
    "O(n)": [((2,), 1), ((3,), 2), ((4,), 3), ((5,), 4)],
    "DoubledOdd(n)": [((2,), 3), ((3,), 5), ((4,), 7)],
    "Paley(q)": [((3,), 2), ((5,), 2), ((7,), 2), ((9,), 2), ((13,), 2), ((27,), 2)],
    "PG(2,q)": [((2, 2), 3), ((2, 3), 3), ((2, 4), 3), ((2, 9), 3)],
    "AG(2,q)": [((2, 2), 4), ((2, 3), 4), ((2, 4), 4), ((2, 8), 4)],
    "GQ(q,q)": [((2, 2), 4), ((3, 3), 4), ((4, 4), 4), ((5, 5), 4)],
    "GH(q,q)": [((2, 2), 6), ((3, 3), 6)],
    "Cayley(Z16:Z2[9],{(a,b),...})": [
        ((parse_group("Z13"), (1, 5)), 5),
        ((parse_group("Z4xZ8"), ((0, 1), (0, 7), (1, 0), (3, 0))), 6),
        ((parse_group("Z16:Z2[9]"), ((4, 0), (5, 0), (5, 1), (15, 1))), 3),
        ((parse_group("Z7:Z3[2]"), ((0, 1), (1, 0))), 5),
    ],
    "Cayley({(p(0),p(1),...),...})": [
        ((((1, 0, 2), (1, 2, 0)),), 2),
        ((((1, 0, 2, 3), (2, 1, 0, 3), (3, 1, 2, 0)),), 4),
        ((((1, 2, 0, 3, 4), (0, 1, 2, 4, 3)),), 3),
    ],
    "Lift(m,{(j,a,...),...})": [
        ((3, ((0, 1, 1, 1), (1, 0, 0, 2))), 3),
        ((1, ((1, 2, 3, 0), (2, 3, 0, 1))), 2),
        ((5, ((0, 1), (0, 3))), 2),
        ((4, ((0, 1, 0, 0), (0, 3, 1, 1), (1, 0, 1, 3))), 3),
    ],
    "Lift(Z7:Z3[2],{(j,a,b,...),...})": [
        ((parse_group("Z7:Z3[2]"), ((0, 1, 0, 1, 0, 2), (1, 0, 1, 0, 3, 0))), 6),
        ((parse_group("Z7:Z3[2]"), ((0, 0, 1, 0, 3, 0), (0, 0, 2, 1, 5, 1), (1, 4, 0, 1, 2, 2))), 6),
        ((parse_group("Z2xZ4"), ((0, 1, 0), (0, 0, 1))), 4),
    ],
}

ROWS_OF_SAMPLES = [
    pytest.param(BY_NOTATION[notation], args, depth, id=BY_NOTATION[notation].format(*args))
    for notation, rows in SAMPLES.items()
    for args, depth in rows
]


def test_every_family_is_sampled():
    assert set(SAMPLES) == set(BY_NOTATION) and len(BY_NOTATION) == len(FAMILIES)


def test_notation_tells_families_apart():
    keys = [(f.name, f.params, f.subscript) for f in FAMILIES]
    assert len(set(keys)) == len(keys)
    aliases = [alias for f in FAMILIES for alias in f.aliases]
    assert len(set(aliases)) == len(aliases) and not set(aliases) & {f.name for f in FAMILIES}


@pytest.mark.parametrize(("family", "args", "depth"), ROWS_OF_SAMPLES)
def test_built_as_promised(family, args, depth):
    built = family.build(*args)
    assert (built.num_nodes, built.degree) == family.size(*args)
    assert built.is_regular is family.regular(*args)
    assert diameter(built) == depth
    assert built.name == ""


@pytest.mark.parametrize(("family", "args", "depth"), ROWS_OF_SAMPLES)
def test_claimed_symmetry(family, args, depth):
    built = family.build(*args)
    if family.vertex_transitive(*args):
        assert num_orbits(built) == 1
    if family.reverse_symmetric(*args):
        assert (family.bidirectional(*args) and built.is_bidirectional) or is_reverse_symmetric(built)


@pytest.mark.parametrize(("family", "args", "depth"), ROWS_OF_SAMPLES)
def test_claimed_bandwidth_optimality(family, args, depth):
    size, degree = family.size(*args)
    if family.bandwidth_optimal(*args) and degree <= 8 and size <= 400:
        nodes = [0] if family.vertex_transitive(*args) else range(size)
        assert bfb_bandwidth(family.build(*args), nodes) == Fraction(size - 1, size)


def check_claims(family, args):
    """What a row says of a member without building it is so."""
    built = family.build(*args)
    assert family.diameter(*args) in (None, diameter(built)), args
    assert not family.bidirectional(*args) or built.is_bidirectional, args
    assert not family.loop_free(*args) or not built.num_self_loops, args
    assert not family.simple(*args) or built.num_self_loops == built.num_parallel == 0, args
    assert not family.simple(*args) or family.loop_free(*args), args
    costs = family.costs(*args)
    assert costs is None or costs == (bfb_cost(built), bfb_cost(built.transpose())), args


@pytest.mark.parametrize(("family", "args", "depth"), ROWS_OF_SAMPLES)
def test_claims_of_samples(family, args, depth):
    check_claims(family, args)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.notation)
def test_claims_of_members(family):
    for size in product(range(2, 41), range(1, 7)):
        for args in family.members(*size):
            check_claims(family, args)


def test_families_of_the_paper():
    """The rows of table:toposummary, which --families paper starts from."""
    assert {f.name for f in FAMILIES if f.in_paper} == {
        "K", "H", "Pi", "C", "DirCirculant", "BiRing", "UniRing", "Diamond", "DBJ", "DBJMod", "DistReg"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("notation", "args", "orbits"),
    [
        ("GQ(q,q)", (3, 3), 2),
        ("GQ(q,q)", (5, 5), 2),
        ("GH(q,q)", (2, 2), 2),
        ("DistReg(4,m)", (4, 80), 2),
        ("K(d,n)", (2, 2), 2),
        ("TwistedHypercube(n)", (4,), 3),
        ("DBJ(d,n)", (2, 2), 2),
        ("Diamond", (), 5),
    ],
)
def test_not_vertex_transitive(notation, args, orbits):
    family = BY_NOTATION[notation]
    assert not family.vertex_transitive(*args)
    assert num_orbits(family.build(*args)) == orbits


# Members


def ascending_dims(num_nodes, least=2):
    for first in range(least, num_nodes + 1):
        yield (first,)
        for rest in ascending_dims(num_nodes // first, first):
            yield (first, *rest)


N, D = 96, 9
PAIRS = list(product(range(-1, N + 1), repeat=2))
CANDIDATES = {
    "Torus(d1,d2,...)": list(ascending_dims(N)),
    "TwistedTorus(d1,d2,...)": list(ascending_dims(N)),
    "Mesh(d1,d2,...)": list(ascending_dims(N)),
    "J(n,k)": [(n, k) for n, k in PAIRS if 2 * k <= n],
    "K_m": [(m,) for m in range(-1, N + 1)],
    "DirCirculant(d)": [(d,) for d in range(-1, N + 1)],
    "Diamond": [()],
    "C(n,{a,b,...})": [],
    "Cayley(Z16:Z2[9],{(a,b),...})": [],
    "Cayley({(p(0),p(1),...),...})": [],
    "Lift(m,{(j,a,...),...})": [],
    "Lift(Z7:Z3[2],{(j,a,b,...),...})": [],
}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.notation)
def test_members_are_all_there_are(family):
    singles = [(n,) for n in range(-1, N + 1)]
    candidates = CANDIDATES.get(family.notation, singles if family.params == ("int",) else PAIRS)
    expected = {}
    for args in candidates:
        try:
            size = family.size(*args)
        except RecipeError:
            continue
        if size[0] <= N and size[1] <= D:
            expected.setdefault(size, set()).add(args)
    for size in product(range(N + 1), range(D + 1)):
        listed = list(family.members(*size))
        assert len(set(listed)) == len(listed)
        assert all(family.size(*args) == size for args in listed)
        if family.notation != "C(n,{a,b,...})":
            assert set(listed) == expected.get(size, set())


def test_members_of_a_cluster():
    listed = [family.format(*args) for family in FAMILIES for args in family.members(32, 4)]
    assert {"Pi_{4,32}", "C(32,{4,5})", "Torus(4,8)", "TwistedTorus(4,8)", "DistReg(4,32)", "AG(2,4)"} <= set(listed)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.notation)
def test_members_of_large_clusters_have_their_size(family):
    for size in product((65536, 83160, 92378, 100_000), (1, 2, 4, 7, 10, 16, 64, 511, 4096, 99_999)):
        assert all(family.size(*args) == size for args in family.members(*size))


# Refusals

REFUSALS = [
    ("Lift(m,{(j,a,...),...})", (0, ((0, 1),)), "Lift(m,{(j,a,...),...}): m must be at least 1, not 0"),
    ("Lift(m,{(j,a,...),...})", (5, (1, 2)), "Lift(m,{(j,a,...),...}): tuples must be equally long, 2 for each orbit"),
    (
        "Lift(m,{(j,a,...),...})",
        (5, ((0, 1, 2),)),
        "Lift(m,{(j,a,...),...}): tuples must be equally long, 2 for each orbit",
    ),
    (
        "Lift(m,{(j,a,...),...})",
        (5, ((0, 5),)),
        "Lift(m,{(j,a,...),...}): orbits j must lie in [0, 1) and shifts a in [0, 5)",
    ),
    (
        "Lift(m,{(j,a,...),...})",
        (5, ((0, 1, 0, 1), (0, 2, 1, 1))),
        "Lift(m,{(j,a,...),...}): 2 links must lead to every orbit, not 3 to 0",
    ),
    (
        "Lift(Z7:Z3[2],{(j,a,b,...),...})",
        (parse_group("Z7:Z3[2]"), ((0, 1, 3),)),
        "Lift(Z7:Z3[2],{(j,a,b,...),...}): orbits j must lie in [0, 1) and shifts a in [0, 7), b in [0, 3)",
    ),
    (
        "Lift(Z7:Z3[2],{(j,a,b,...),...})",
        (parse_group("Z7"), ((0, 1),)),
        "Lift(Z7:Z3[2],{(j,a,b,...),...}): a lift over a cyclic group is written Lift(7,...), not Lift(Z7,...)",
    ),
    ("DoubleBinaryTree(n)", (3,), "DoubleBinaryTree(n): n must be at least 4, not 3"),
    ("K_m", (1,), "K_m: m must be at least 2, not 1"),
    ("K_{d,d}", (3, 4), "K_{d,d}: both sides must be equal, not 3 and 4"),
    ("K_{d,d}", (0, 0), "K_{d,d}: d must be at least 1, not 0"),
    ("K(d,n)", (1, 3), "K(d,n): d must be at least 2, not 1"),
    ("K(d,n)", (3, -1), "K(d,n): n must be at least 0, not -1"),
    ("K(d,n)", (3, 10**9), "K(d,n): more than 2^10000 nodes with 3^1000000000"),
    ("Pi_{d,m}", (4, 4), "Pi_{4,m}: m must be at least 5, not 4"),
    ("Pi_{d,m}", (0, 4), "Pi_{d,m}: d must be at least 1, not 0"),
    ("Pi_{d,m}", (1, 5), "Pi_{1,m}: disconnected unless m is 2, not 5"),
    ("H(n,q)", (0, 3), "H(n,q): n must be at least 1, not 0"),
    ("H(n,q)", (3, 1), "H(n,q): q must be at least 2, not 1"),
    ("Q(n)", (0,), "Q(n): n must lie in [1, 20], not 0"),
    ("Q(n)", (21,), "Q(n): n must lie in [1, 20], not 21"),
    ("TwistedHypercube(n)", (2,), "TwistedHypercube(n): n must lie in [3, 20], not 2"),
    ("C(n,{a,b,...})", (1, (1,)), "C(n,{a,...}): n must be at least 2, not 1"),
    ("C(n,{a,b,...})", (8, (2, 8)), "C(8,{a,...}): jumps must lie in [1, 8), not [2, 8]"),
    ("C(n,{a,b,...})", (8, ()), "C(8,{a,...}): jumps must lie in [1, 8), not []"),
    ("C(n,{a,b,...})", (8, (2, 4)), "C(8,{a,...}): disconnected, 2 divides 8 and every jump"),
    ("DirCirculant(d)", (0,), "DirCirculant(d): d must be at least 1, not 0"),
    ("BiRing(d,m)", (1, 4), "BiRing(d,m): d must be even, not 1; UniRing(1,4) takes any d"),
    ("BiRing(d,m)", (0, 4), "BiRing(d,m): d must be at least 2, not 0"),
    ("BiRing(d,m)", (2, 2), "BiRing(d,m): m must be at least 3, not 2"),
    ("UniRing(d,m)", (0, 4), "UniRing(d,m): d must be at least 1, not 0"),
    ("UniRing(d,m)", (1, 1), "UniRing(d,m): m must be at least 2, not 1"),
    ("ShiftedRing(d,n)", (3, 8), "ShiftedRing(d,n): d must be even, from 2 to 1024, not 3"),
    ("ShiftedRing(d,n)", (0, 8), "ShiftedRing(d,n): d must be even, from 2 to 1024, not 0"),
    ("ShiftedRing(d,n)", (4, 2), "ShiftedRing(d,n): n must be at least 3, not 2"),
    ("DBJ(d,n)", (1, 3), "DBJ(d,n): d must be at least 2, not 1"),
    ("DBJ(d,n)", (2, 0), "DBJ(d,n): n must be at least 1, not 0"),
    ("DBJMod(d,n)", (2, 5), "DBJMod(d,n): (d,n) must be one of (2,3), (2,4), (3,2), (4,2), not (2,5)"),
    ("Torus(d1,d2,...)", (), "Torus(d1,d2,...): at least one dimension is needed"),
    ("Torus(d1,d2,...)", (3, 1), "Torus(d1,d2,...): every dimension must be at least 2, not 1"),
    (
        "TwistedTorus(d1,d2,...)",
        (4, 4),
        "TwistedTorus(d1,d2,...): dimensions must be k and 2k, at least one of each, not (4,4)",
    ),
    (
        "TwistedTorus(d1,d2,...)",
        (2, 1),
        "TwistedTorus(d1,d2,...): the short dimension must be at least 2, not 1",
    ),
    ("DistReg(4,m)", (3, 10), "DistReg(d,m): d must be 4, not 3"),
    (
        "DistReg(4,m)",
        (4, 7),
        "DistReg(4,m): m must be one of 6, 9, 10, 14, 15, 16, 21, 26, 32, 35, 45, 70, 80, 189, 728, not 7",
    ),
    ("J(n,k)", (1, 1), "J(n,k): n must be at least 2, not 1"),
    ("J(n,k)", (5, 5), "J(5,k): k must lie in [1, 5), not 5"),
    ("J(n,k)", (10**9, 10**8), "J(n,k): more than 2^10000 nodes with C(1000000000,100000000)"),
    ("Kneser(n,k)", (5, 0), "Kneser(n,k): k must be at least 1, not 0"),
    ("Kneser(n,k)", (6, 3), "Kneser(n,3): disconnected unless n is more than 6, not 6"),
    ("O(n)", (1,), "O(n): n must be at least 2, not 1"),
    ("DoubledOdd(n)", (1,), "DoubledOdd(n): n must be at least 2, not 1"),
    ("DoubledOdd(n)", (10**6,), "DoubledOdd(n): more than 2^10000 nodes with C(1999999,999999)"),
    ("Paley(q)", (15,), "Paley(q): q must be a power of a prime, not 15"),
    ("Paley(q)", (8,), "Paley(q): q must be odd, not 8"),
    ("Paley(q)", (1031,), "Paley(q): q must be at most 1024, not 1031"),
    ("PG(2,q)", (3, 2), "PG(2,q): only planes, the first argument must be 2, not 3"),
    ("PG(2,q)", (2, 6), "PG(2,q): q must be a power of a prime, not 6"),
    ("AG(2,q)", (2, 1), "AG(2,q): q must be a power of a prime, not 1"),
    ("GQ(q,q)", (2, 4), "GQ(q,q): the two orders must be equal, not 2 and 4"),
    ("GH(q,q)", (6, 6), "GH(q,q): q must be a power of a prime, not 6"),
    ("GH(q,q)", (0, 0), "GH(q,q): q must be a power of a prime, not 0"),
]


@pytest.mark.parametrize(("notation", "args", "message"), REFUSALS)
def test_refusals(notation, args, message):
    family = BY_NOTATION[notation]
    for method in (family.size, family.build):
        with pytest.raises(RecipeError) as caught:
            method(*args)
        assert str(caught.value) == message


def test_too_large_to_build_but_not_to_speak_of():
    family = BY_NOTATION["K_m"]
    assert family.size(10**6) == (10**6, 10**6 - 1)
    with pytest.raises(RecipeError, match=f"too large to build: N=1000000, d=999999, more than {MAX_LINKS} links"):
        family.build(10**6)


# What is known of single families


def line_digraph(topology):
    """Return the line graph expansion: link e to link f wherever the head of e is the tail of f."""
    heads = [np.flatnonzero(topology.tail == w) for w in topology.head]
    return out_links(heads)


@pytest.mark.parametrize(("degree", "lines"), [(2, 3), (3, 2), (4, 1)])
def test_kautz_is_the_line_graph_of_complete(degree, lines):
    expected = complete(degree + 1)
    for _ in range(lines):
        expected = line_digraph(expected)
    assert are_isomorphic(kautz(degree, lines), expected)


@pytest.mark.parametrize(("degree", "size"), [(2, 5), (2, 7), (3, 8), (4, 7)])
def test_generalized_kautz_of_d_times_m_is_its_line_graph(degree, size):
    assert are_isomorphic(generalized_kautz(degree, degree * size), line_digraph(generalized_kautz(degree, size)))


def test_some_members_coincide():
    assert are_isomorphic(hamming(4, 2), hypercube(4))
    assert are_isomorphic(torus(2, 2, 2), hypercube(3))
    assert are_isomorphic(torus(4, 4), hypercube(4))
    assert mesh(2, 2, 2) == hypercube(3)
    assert are_isomorphic(dragonfly(2, 1), torus(6))
    assert are_isomorphic(BY_NOTATION["DistReg(4,m)"].build(4, 9), hamming(2, 3))
    assert not are_isomorphic(torus(4, 8), twisted_torus(4, 8))


@pytest.mark.parametrize("dims", [(2,), (7,), (3, 4), (2, 3, 4)], ids=str)
def test_meshes_are_grids(dims):
    nx = pytest.importorskip("networkx")
    grid = nx.convert_node_labels_to_integers(nx.grid_graph(dims[::-1]), ordering="sorted")
    assert Topology.from_networkx(grid) == mesh(*dims)
    assert {tuple(sorted(row)) for row in _torus_rows(dims)} >= set(map(tuple, map(sorted, grid.edges)))


def _torus_rows(dims):
    built = torus(*dims)
    return zip(built.tail.tolist(), built.head.tolist(), strict=True)


@pytest.mark.parametrize(("size", "ports"), [(2, 1), (3, 1), (2, 2), (4, 2), (3, 5), (5, 3)])
def test_dragonflies_are_complete_graphs_of_complete_graphs(size, ports):
    built, groups = dragonfly(size, ports), size * ports + 1
    group = np.stack([built.tail, built.head]) // size
    between = np.zeros((groups, groups), int)
    np.add.at(between, tuple(group), 1)
    inside = size * (size - 1) * np.eye(groups, dtype=int)
    assert (between == inside + 1 - np.eye(groups, dtype=int)).all()
    outside = np.bincount(built.tail[group[0] != group[1]], minlength=built.num_nodes)
    assert (outside == ports).all() and built.num_parallel == 0 and built.is_regular and diameter(built) == 3


def test_twisted_hypercube_differs_from_the_hypercube_in_one_4_cycle():
    both = [set(zip(t.tail.tolist(), t.head.tolist(), strict=True)) for t in (hypercube(4), twisted_hypercube(4))]
    assert sorted(both[0] - both[1]) == [(0, 1), (1, 0), (2, 3), (3, 2)]
    assert sorted(both[1] - both[0]) == [(0, 3), (1, 2), (2, 1), (3, 0)]


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_diameters_of_twisted_tori(k):
    assert diameter(twisted_torus(k, 2 * k)) == k
    assert diameter(twisted_torus(k, k, 2 * k)) == diameter(twisted_torus(2 * k, k, 2 * k)) == 3 * k // 2


@given(st.lists(st.integers(2, 5), min_size=1, max_size=3))
def test_diameter_of_a_torus(dims):
    assert diameter(torus(*dims)) == sum(dim // 2 for dim in dims)


@pytest.mark.parametrize("size", range(7, 60))
def test_best_two_jumps(size):
    m = best_two_jumps(size)
    assert diameter(circulant(size, (m, m + 1))) == m


@given(st.integers(2, 40).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(1, n - 1), max_size=3))))
def test_translation_is_an_automorphism_of_circulants(case):
    size, jumps = case
    built = circulant(size, (1, *jumps))
    assert built.relabel((np.arange(size) + 1) % size) == built
    assert built.is_bidirectional


@given(st.integers(1, 4), st.integers(3, 500))
def test_shifted_rings_are_rings(rings, size):
    jumps = shifted_ring_jumps(2 * rings, size)
    assert len(jumps) == rings and jumps[0] == 1
    assert all(1 <= jump < size / 2 and np.gcd(jump, size) == 1 for jump in jumps)
    available = sum(np.gcd(jump, size) == 1 for jump in range(1, (size + 1) // 2))
    assert len(set(jumps)) == min(rings, available)


@pytest.mark.parametrize(("size", "jump"), [(8, 3), (10, 3), (12, 5), (16, 3), (64, 7), (1024, 31), (36, 5)])
def test_second_jump_is_near_the_square_root(size, jump):
    assert shifted_ring_jumps(4, size) == (1, jump)


@pytest.mark.parametrize("size", range(5, 20))
def test_two_jump_circulants_are_bandwidth_optimal(size):
    for jumps in combinations_with_replacement(range(1, (size + 1) // 2), 2):
        if np.gcd.reduce([size, *jumps]) == 1:
            assert BY_NOTATION["C(n,{a,b,...})"].bandwidth_optimal(size, jumps)
            assert bfb_bandwidth(circulant(size, jumps), [0]) == Fraction(size - 1, size)


def test_de_bruijn_of_one_digit_wastes_a_port():
    """table:toposummary has n = 1 bandwidth-optimal; but a port at each node carries nothing: T_B = 1."""
    family = BY_NOTATION["DBJ(d,n)"]
    assert bfb_bandwidth(family.build(4, 1), [0]) == 1
    assert not family.bandwidth_optimal(4, 1)


def test_bandwidth_of_known_topologies():
    """Figures of tab:allourtopos, to trust ``bfb_bandwidth``."""
    assert bfb_bandwidth(generalized_kautz(4, 64), range(64)) == Fraction(21, 16)
    assert bfb_bandwidth(BY_NOTATION["DBJ(d,n)"].build(4, 4), range(256)) == Fraction(85, 64)


@pytest.mark.parametrize("size", [pytest.param(n, marks=pytest.mark.slow if n > 150 else []) for n in ROWS])
def test_rows_are_distance_regular(size):
    assert intersection_array(ROWS[size].build()) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "notation",
    ["J(n,k)", "O(n)", "DoubledOdd(n)", "PG(2,q)", "AG(2,q)", "GQ(q,q)", "GH(q,q)", "H(n,q)", "K_{d,d}"],
)
def test_families_of_distance_regular_graphs(notation):
    for args, _ in SAMPLES[notation]:
        assert intersection_array(BY_NOTATION[notation].build(*args)) is not None


def test_helpers_of_builders():
    square = duplex_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    assert are_isomorphic(line_graph(square), square)
    assert distance_graph(square, 2) == Topology.from_links(4, [0, 1, 2, 3], [2, 3, 0, 1])
    assert coloured(Topology.from_links(2, [0, 0, 1], [0, 1, 0]))[1] == [1, 0]


# Notation


@pytest.mark.parametrize(
    ("notation", "args", "recipe", "paper"),
    [
        ("K_m", (5,), "K_5", "K_{5}"),
        ("K_{d,d}", (4, 4), "K_{4,4}", "K_{4,4}"),
        ("K(d,n)", (4, 2), "K(4,2)", "K(4,2)"),
        ("Pi_{d,m}", (4, 1024), "Pi_{4,1024}", r"\Pi_{4,1024}"),
        ("H(n,q)", (2, 3), "H(2,3)", "H(2,3)"),
        ("C(n,{a,b,...})", (16, (3, 4)), "C(16,{3,4})", r"C(16,\{3,4\})"),
        ("DirCirculant(d)", (4,), "DirCirculant(4)", r"\text{DirCirculant}(4)"),
        ("BiRing(d,m)", (2, 8), "BiRing(2,8)", r"\text{BiRing}(2,8)"),
        ("UniRing(d,m)", (1, 4), "UniRing(1,4)", r"\text{UniRing}(1,4)"),
        ("DBJ(d,n)", (4, 4), "DBJ(4,4)", r"\text{DBJ}(4,4)"),
        ("DBJMod(d,n)", (2, 4), "DBJMod(2,4)", r"\text{DBJMod}(2,4)"),
        ("Diamond", (), "Diamond", r"\text{Diamond}"),
        ("DistReg(4,m)", (4, 32), "DistReg(4,32)", r"\text{DistReg}(4,32)"),
    ],
)
def test_notation(notation, args, recipe, paper):
    family = BY_NOTATION[notation]
    assert family.format(*args) == recipe
    assert family.paper(*args) == paper


def test_groups_and_permutations_are_written_back():
    row = BY_NOTATION["Cayley(Z16:Z2[9],{(a,b),...})"]
    assert row.format(parse_group("Z16:Z2[9]"), ((4, 0), (5, 1))) == "Cayley(Z16:Z2[9],{(4,0),(5,1)})"
    assert row.format(parse_group("Z13"), (1, 5)) == "Cayley(Z13,{1,5})"
    permutations = BY_NOTATION["Cayley({(p(0),p(1),...),...})"]
    assert permutations.format(((1, 0, 2), (1, 2, 0))) == "Cayley({(1,0,2),(1,2,0)})"
