"""Finite fields and incidence geometries, against graphs known by other constructions."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.distances import distances_from
from linkstep.core.errors import RecipeError
from linkstep.core.topology import Topology
from linkstep.families._field import finite_field, prime_power
from linkstep.families.distance_regular import crown, distance_graph
from linkstep.families.polygons import (
    HEXAGON_FORMS,
    affine_plane,
    generalized_hexagon,
    generalized_quadrangle,
    projective_plane,
)
from linkstep.families.subsets import doubled_odd, johnson, kneser, odd_graph
from support.families import are_isomorphic

ORDERS = [2, 3, 4, 5, 7, 8, 9, 11, 16, 25, 27, 32, 49, 64, 81]


@pytest.mark.parametrize("order", ORDERS)
def test_field_axioms(order):
    field = finite_field(order)
    every = np.arange(order)
    assert np.array_equal(field.add, field.add.T) and np.array_equal(field.mul, field.mul.T)
    assert np.array_equal(field.add[0], every) and np.array_equal(field.mul[1], every)
    assert not field.mul[0].any()
    assert not field.add[every, field.neg].any()
    assert (field.mul[every[1:], field.inv[1:]] == 1).all()
    for row in (*field.add, *field.mul[1:]):
        assert np.array_equal(np.sort(row), every)


@given(st.data(), st.sampled_from([*ORDERS, 128, 343, 1021, 1024]))
def test_field_laws(data, order):
    field = finite_field(order)
    a, b, c = (data.draw(st.integers(0, order - 1)) for _ in range(3))
    add, mul = field.add, field.mul
    assert mul[a, add[b, c]] == add[mul[a, b], mul[a, c]]
    assert mul[a, mul[b, c]] == mul[mul[a, b], c]
    assert add[a, add[b, c]] == add[add[a, b], c]


def test_prime_fields_are_integers_mod_p():
    field = finite_field(13)
    every = np.arange(13)
    assert np.array_equal(field.add, (every[:, None] + every) % 13)
    assert np.array_equal(field.mul, every[:, None] * every % 13)


def test_prime_powers():
    assert [q for q in range(-3, 33) if prime_power(q)] == [
        2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32,
    ]  # fmt: skip
    with pytest.raises(RecipeError, match=r"GF\(q\): q must be a power of a prime, not 6"):
        finite_field(6)


def lcf(size, jumps, times):
    return Topology.from_networkx(nx.LCF_graph(size, jumps, times))


def test_cubic_cages():
    """The 6-, 8- and 12-cage by their published LCF codes."""
    assert are_isomorphic(projective_plane(2, 2), lcf(14, [5, -5], 7))
    assert are_isomorphic(generalized_quadrangle(2, 2), lcf(30, [-13, -9, 7, -7, 9, 13], 5))
    code = [17, 27, -13, -59, -35, 35, -11, 13, -53, 53, -27, 21, 57, 11, -21, -57, 59, -17]
    assert are_isomorphic(generalized_hexagon(2, 2), lcf(126, code, 7))


def test_small_graphs_of_networkx():
    assert are_isomorphic(odd_graph(3), Topology.from_networkx(nx.petersen_graph()))
    assert are_isomorphic(kneser(5, 2), Topology.from_networkx(nx.petersen_graph()))
    assert are_isomorphic(doubled_odd(3), Topology.from_networkx(nx.desargues_graph()))
    assert are_isomorphic(johnson(4, 2), Topology.from_networkx(nx.octahedral_graph()))
    assert are_isomorphic(johnson(6, 2), Topology.from_networkx(nx.line_graph(nx.complete_graph(6))))
    assert are_isomorphic(affine_plane(2, 3), Topology.from_networkx(nx.pappus_graph()))
    assert are_isomorphic(crown(3), Topology.from_networkx(nx.hypercube_graph(3)))


def test_heawood_at_distance_3_is_the_complement_of_incidence():
    heawood = projective_plane(2, 2)
    far = distance_graph(heawood, 3)
    for u in range(7):
        joined = set(heawood.head[heawood.tail == u].tolist()) | set(far.head[far.tail == u].tolist())
        assert joined == set(range(7, 14))


@pytest.mark.parametrize("order", [2, 3, 4])
def test_points_of_the_hexagon_lie_on_lines_of_its_equations(order):
    """Girth 12 and D = 6 make a (q + 1)-regular graph a generalized hexagon; equations in plain loops."""
    from linkstep.families.polygons import _quadric_points

    field = finite_field(order)
    points = _quadric_points(field).tolist()
    assert len(points) == (order**6 - 1) // (order - 1) == len({tuple(p) for p in points})
    add, mul, neg = field.add.tolist(), field.mul.tolist(), field.neg.tolist()

    def grassmann(x, y, i, j):
        return add[mul[x[i]][y[j]]][neg[mul[x[j]][y[i]]]]

    built = generalized_hexagon(order, order)
    for line in range(len(points), built.num_nodes, 37):
        on_line = built.head[built.out_ptr[line] : built.out_ptr[line + 1]].tolist()
        for u in on_line[1:]:
            x, y = points[on_line[0]], points[u]
            assert all(grassmann(x, y, *a) == grassmann(x, y, *b) for a, b in HEXAGON_FORMS)
    # Seen from a point and from a line, no two ways lead to a node less than 6 steps away: girth 12.
    q = order
    for u in (0, built.num_nodes - 1):
        sizes = np.bincount(distances_from(built, u)).tolist()
        assert sizes == [1, *((q + 1) * q**i for i in range(5)), q**5]


def test_johnson_and_kneser_by_their_sets():
    from itertools import combinations

    def number(chosen):
        from math import comb

        return sum(comb(c, i + 1) for i, c in enumerate(sorted(chosen)))

    sets = sorted(combinations(range(7), 3), key=number)
    assert [number(s) for s in sets] == list(range(35))
    for built, common in ((johnson(7, 3), 2), (kneser(7, 3), 0)):
        expected = [(u, w) for u in range(35) for w in range(35) if len(set(sets[u]) & set(sets[w])) == common]
        assert list(zip(built.tail.tolist(), built.head.tolist(), strict=True)) == expected
