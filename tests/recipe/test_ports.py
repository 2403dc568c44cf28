"""Idle ports, copies and unions as recipes: notation, size, topology, predicted and built costs, refusals."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import RecipeError
from linkstep.costs import cost_of
from linkstep.recipe import Copies, Idle, Transpose, Union, parse
from linkstep.recipe.explanation import explain
from linkstep.symmetry.known import known_symmetry

BASES = st.sampled_from(["K_4", "K_{2,2}", "UniRing(1,4)", "Diamond", "Q(3)", "L(K_{2,2})", "Pi_{2,8}", "Mesh(2,4)"])
REGULAR = st.sampled_from(["Q(3)", "Pi_{2,8}", "K_8", "L(K_{2,2})", "Diamond", "C(8,{1,3})", "K_4 x K_2"])
BASED = st.one_of(
    st.builds(lambda base, n: Idle(parse(base), n), BASES, st.integers(1, 3)),
    st.builds(lambda base, n: Copies(parse(base), n), BASES, st.integers(1, 3)),
)
UNIONS = st.lists(REGULAR, min_size=2, max_size=3).map(lambda parts: Union(tuple(map(parse, parts))))
RECIPES = st.one_of(BASED, UNIONS, UNIONS.map(lambda union: Idle(union, 1)), UNIONS.map(Transpose))


def link_counts(topology):
    return Counter(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))


@settings(deadline=None)
@given(RECIPES)
def test_property_prints_back_and_builds_what_it_promised(recipe):
    assert parse(str(recipe)) == recipe
    topology = recipe.topology()
    assert (topology.num_nodes, topology.degree) == (recipe.num_nodes, recipe.degree)
    assert recipe.paper()


@settings(deadline=None)
@given(BASED)
def test_property_links_are_those_of_the_base(recipe):
    links, base = link_counts(recipe.topology()), link_counts(recipe.base.topology())
    if isinstance(recipe, Copies):
        assert links == Counter({link: recipe.count * number for link, number in base.items()})
    else:
        assert links - base == Counter({(u, u): recipe.count for u in range(recipe.num_nodes)})


@settings(deadline=None)
@given(UNIONS)
def test_property_a_union_has_all_links(recipe):
    assert link_counts(recipe.topology()) == sum((link_counts(p.topology()) for p in recipe.summands), Counter())


@settings(deadline=None)
@given(RECIPES, st.sampled_from(["allgather", "reduce-scatter", "allreduce", "broadcast"]))
def test_property_schedules_cost_what_is_predicted(recipe, collective):
    made = recipe.build(collective)
    linkstep.check(made)
    if collective != "broadcast":
        predicted = recipe.cost_of(linkstep.Collective(collective))
        exact = recipe.predict().is_exact and recipe.predict(transposed=True).is_exact
        assert cost_of(made) == predicted if exact else cost_of(made).is_within(predicted)


@settings(deadline=None)
@given(RECIPES)
def test_property_declared_symmetries_hold(recipe):
    """``Symmetry.of`` raises where a declared permutation is no automorphism."""
    known = known_symmetry(recipe.topology())
    base = recipe.parts[0] if isinstance(recipe, (Idle, Copies)) else None
    if base is not None and known_symmetry(base.topology()) is not None:
        assert known is not None
        assert known.node_orbits.tolist() == known_symmetry(base.topology()).node_orbits.tolist()


def test_a_union_keeps_what_its_wirings_have_in_common():
    """Both are circulants: turning is a symmetry of both, and one node stands for all."""
    known = known_symmetry(parse("C(8,{1,3}) + UniRing(2,8)").topology())
    assert known is not None and known.representatives.tolist() == [0]


def test_idle_ports_take_their_share_of_the_rate():
    """T_B of K_8 is 7/8 over 7 ports; of 8, of which 7 are in use, 8/7 times that."""
    assert str(parse("Idle(K_8,1)").cost) == "1 alpha + 1 M/B"
    assert str(parse("Copies(K_8,2)").cost) == "1 alpha + 7/8 M/B"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("Idle( K_4 , 1 )", "Idle(K_4,1)"),
        ("K_4+K_4", "K_4 + K_4"),
        ("K_2 x K_2+K_4", "K_2 x K_2 + K_4"),
        ("(K_4 + K_4) x K_2", "(K_4 + K_4) x K_2"),
        ("(K_4 + K_4)*2", "(K_4 + K_4)*2"),
        ("L(K_4 + K_4)", "L(K_4 + K_4)"),
        ("Copies(K_4 + Idle(K_4,1),2)", "Copies(K_4 + Idle(K_4,1),2)"),
    ],
)
def test_notation(written, canonical):
    assert str(parse(written)) == canonical and parse(canonical) == parse(written)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("K_4 + K_5", "character 1: K_4 + K_5: must have equally many nodes, not 4 and 5"),
        ("K_9 + Mesh(3,3)", "joins regular topologies, and Mesh(3,3) has nodes with fewer than d links"),
        ("K_4 +", "character 6: expected a family or an expansion, found 'the end'"),
        ("Idle(K_4)", "character 9: expected ',' after the base of Idle, found ')'"),
        ("Idle(K_4,0)", "character 1: Idle(K_4,0): n must lie in [1, 134217728], not 0"),
        ("Copies(K_4,x)", "character 12: expected n of Copies(G,n), a whole number, found 'x'"),
        ("Copie(4)", "no family is called 'Copie'; did you mean 'Copies'?"),
        ("Idle(" * 101 + "K_5", "nested more than 100 deep"),
    ],
)
def test_refusals(written, message):
    with pytest.raises(RecipeError) as caught:
        parse(written)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_idle_ports_are_not_cabled():
    plan = linkstep.wire(parse("Idle(K_4,2)").topology())
    assert (plan.ports, len(plan.cables)) == (5, 6)
    assert all(cable.from_node != cable.to_node and cable.duplex for cable in plan.cables)


@pytest.mark.parametrize("recipe", ["Idle(K_4,2)", "Copies(K_{2,2},2)", "K_{2,2} + UniRing(1,4)"])
def test_programs_are_verified(recipe):
    made = linkstep.schedule(recipe, "allreduce").schedule
    assert linkstep.verify(linkstep.lower(made, "msccl").text).status == "verified"


def test_explained_in_words():
    assert explain(parse("Idle(K_8,1)")) == [
        "1. K_8: a complete graph; N=8, d=7",
        "2. Idle(K_8,1): 1 port of every server idle; N=8, d=8",
    ]
    assert "2 cables in parallel for each: d grows 2-fold" in explain(parse("Copies(K_8,2)"))[1]
    assert "the cables of all these on the same servers" in explain(parse("K_8 + Q(3)"))[2]
