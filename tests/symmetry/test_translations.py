"""Groups that act freely are handed on to line graphs and transposes, as automorphisms of these."""

from collections import Counter

import pytest

from linkstep.recipe import parse
from linkstep.symmetry.translations import translations


@pytest.mark.parametrize(
    ("recipe", "order"),
    [
        ("L(Cayley(Z13,{1,3,4,9}))", 13),
        ("L^2(Cayley(Z8:Z2[7],{(0,1),(1,0),(3,1)}))", 16),
        ("L(Lift(5,{(1,0,0,1),(1,2,0,4)}))", 5),
        ("T(L(Lift(5,{(1,0,0,1),(1,2,0,4)})))", 5),
        ("L(Lift(3,{(0,1),(0,1)}))", 3),
        ("L(Bundle(7,5))", 5),
        ("K_3 x Lift(5,{(1,0,0,1),(1,2,0,4)})", 15),
        ("Lift(5,{(1,0,0,1),(1,2,0,4)})^2", 25),
        ("C(5,{1,2})*2", 10),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_groups_of_line_graphs_and_transposes(recipe, order, turned):
    topology = parse(recipe).topology()
    topology = topology.transpose() if turned else topology
    group = translations(topology)
    assert group.shape == (order, topology.num_nodes)
    links = Counter(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    for g in group:
        assert Counter(zip(g[topology.tail].tolist(), g[topology.head].tolist(), strict=True)) == links
    assert all(len(set(column)) == order for column in group.T.tolist())
