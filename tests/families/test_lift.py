"""Lifts over cyclic and other groups: their links against a plain twin, the action of the group, what a row claims."""

from collections import Counter
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linkstep.core.distances import distance_profiles
from linkstep.core.errors import RecipeError
from linkstep.core.topology import Topology
from linkstep.families import family_written
from linkstep.groups.named import AbelianGroup, SemidirectGroup
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import Line, Member, Recipe, parse
from linkstep.symmetry.distances import measure_distances
from linkstep.symmetry.free_groups import MAX_NODES
from linkstep.symmetry.known import even_representatives, known_symmetry
from linkstep.symmetry.translations import translations
from support import reference

ROWS = {1: family_written("Lift(m,{(j,a,...),...})"), 2: family_written("Lift(Z7:Z3[2],{(j,a,b,...),...})")}


@st.composite
def lifts(draw) -> tuple[Recipe, tuple[int, ...], int]:
    """Draw a lift, the moduli of its group and its r (1 for a direct product)."""
    kind = draw(st.sampled_from(["trivial", "cyclic", "direct", "semidirect"]))
    k, d = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    m, n, r = draw(st.sampled_from([(2, 4, 1), (3, 2, 2), (4, 2, 3), (7, 3, 2), (5, 4, 2)]))
    moduli = {"trivial": (), "cyclic": (m,), "direct": (m, n), "semidirect": (m, n)}[kind]
    first = {"trivial": 1, "cyclic": m, "direct": AbelianGroup((m, n)), "semidirect": SemidirectGroup(m, n, r)}[kind]
    orbits = [draw(st.permutations(range(k))) for _ in range(d)]
    shift = st.tuples(*(st.integers(0, modulus - 1) for modulus in moduli))
    links = [tuple(c for j in row for c in (j, *draw(shift))) for row in orbits]
    row = ROWS[2 if len(moduli) == 2 else 1]
    return Member(row, (first, tuple(sorted(links)))), moduli, r if kind == "semidirect" else 1


@given(lifts())
@settings(deadline=None)
def test_links_are_those_of_the_definition(case):
    recipe, moduli, power = case
    expected = reference.lift_links(moduli, power, recipe.args[1])
    built = recipe.topology()
    assert Counter(zip(built.tail.tolist(), built.head.tolist(), strict=True)) == Counter(expected)
    assert parse(str(recipe)) == recipe
    family, args = recipe.family, recipe.args
    assert family.bidirectional(*args) == family.reverse_symmetric(*args) == built.is_bidirectional
    assert family.loop_free(*args) == (built.num_self_loops == 0)
    assert family.simple(*args) == (built.num_self_loops == built.num_parallel == 0)


@given(lifts())
@settings(deadline=None)
def test_the_group_acts_freely(case):
    recipe, moduli, _ = case
    built = recipe.topology()
    if not moduli:
        assert translations(built) is None
        return
    n, order = built.num_nodes, int(np.prod(moduli))
    assert known_symmetry(built).origin == "lift"
    group = translations(built)
    assert group.shape == (order, n) and group.dtype == np.int32 and group[0].tolist() == list(range(n))
    assert np.array_equal(translations(built.transpose()), group)
    for g in group:
        assert Topology.from_links(n, g[built.tail], g[built.head]) == built
    assert all(len(set(column)) == order for column in group.T.tolist())  # none but the identity keeps a node
    assert {tuple(g) for g in group.tolist()} == {tuple(g[h]) for g in group for h in group}


@given(lifts(), st.integers(0, 2), st.booleans())
@settings(deadline=None)
def test_a_few_nodes_stand_for_all(case, times, turned):
    """Each for equally many, in line graphs and transposes too: for distances, and for what BFB costs."""
    recipe, moduli, _ = case
    built = (Line(recipe, times) if times else recipe).topology()
    built = built.transpose() if turned else built
    assume(built.num_nodes <= 300)
    few = even_representatives(built)
    if not moduli:
        assert few is None
        return
    assert few.size * prod(moduli) == built.num_nodes
    rows = distance_profiles(built)
    assume((rows.sum(axis=1) == built.num_nodes).all())
    assert (rows[few].sum(axis=0) * prod(moduli)).tolist() == rows.sum(axis=0).tolist()
    plain = Topology.from_links(built.num_nodes, built.tail, built.head)
    assert measure_distances(built) == measure_distances(plain)
    assert built.num_nodes > 60 or bfb_cost(built) == bfb_cost(plain)


def test_large_lifts_do_not_list_their_group():
    m = MAX_NODES // 2 + 1
    large = parse(f"Lift({m},{{(0,1,1,1),(1,0,0,2)}})").topology()
    assert translations(large) is None and even_representatives(large).tolist() == [0, m]


@pytest.mark.parametrize("text", ["Lift(Z6,{(0,1)})", "Lift(Z3:Z2[2],{(0,1)})", "Lift(Z3:Z2[2],{(1,0,0)})"])
def test_refused(text):
    with pytest.raises(RecipeError):
        parse(text)
