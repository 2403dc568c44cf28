"""Grafts: Insert, Remove and Swap print back, give the links of a plain twin, and say in one line what is wrong."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError, RecipeError, TopologyError
from linkstep.core.topology import Topology
from linkstep.expansions import remove_nodes
from linkstep.recipe import Insert, Remove, Swap, parse
from linkstep.recipe.explanation import explain
from support import reference
from support.strategies import pairs, seeds

BASES = [
    "C(9,{1,2})",
    "Pi_{3,10}",
    "Pi_{4,11}",
    "K_4",
    "C(10,{1,5})",
    "UniRing(1,5)",
    "Q(3)",
    "K_{3,3}",
    "Lift(1,{(1,2,0)})",
]


@pytest.mark.parametrize(
    ("text", "nodes", "degree", "links"),
    [
        # a ring 0 -> 1 -> 2 -> 0: new nodes may be put into links of new nodes
        ("Insert(UniRing(1,3),{(0,1),(0,3)})", 5, 1, [(0, 4), (1, 2), (2, 0), (3, 1), (4, 3)]),
        ("Remove(UniRing(1,5),{(1,0,2),(2,0,3)})", 3, 1, [(0, 1), (1, 2), (2, 0)]),
        ("Swap(UniRing(1,4),{(0,1,2,3),(0,3,1,2)})", 4, 1, [(0, 2), (1, 3), (2, 1), (3, 0)]),
        ("Swap(BiRing(2,4),{(0,1,2,3)})", 4, 2, [(0, 3), (0, 3), (1, 2), (1, 2), (2, 1), (2, 1), (3, 0), (3, 0)]),
        ("Insert(BiRing(2,3),{(0,1)})", 4, 2, [(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)]),
    ],
)
def test_by_hand(text, nodes, degree, links):
    recipe = parse(text)
    assert (str(recipe), recipe.num_nodes, recipe.degree) == (text, nodes, degree)
    assert pairs(recipe.topology()) == links


def test_odd_degree_puts_in_and_takes_out_two_linked_nodes():
    grown = parse("Insert(K_4,{(0,1),(2,3)})")
    assert (grown.num_nodes, grown.degree) == (6, 3)
    topology = grown.topology()
    assert topology.is_bidirectional and topology.is_regular and (4, 5) in pairs(topology)
    assert parse(f"Remove({grown},{{(4,0,1),(5,2,3)}})").topology() == parse("K_4").topology()


def random_change(word, topology, draw, edges):
    """Return a tuple whose links are all there, as far as earlier ones do not take them."""
    links, d = pairs(topology), topology.degree
    if word == "Swap":
        return tuple(node for _ in range(2) for node in draw(st.sampled_from(links)))
    if word == "Insert":
        chosen = draw(
            st.lists(st.sampled_from(links), min_size=d // 2 if edges else d, max_size=d // 2 if edges else d)
        )
        return tuple(node for link in chosen for node in link)
    u = draw(st.integers(0, topology.num_nodes - 1))
    heads = draw(st.permutations([w for v, w in links if v == u]))
    tails = [v for v, w in links if w == u]
    if edges:
        return (u, *heads)
    return (u, *(node for pair in zip(tails, heads, strict=True) for node in pair))


@given(st.data(), st.sampled_from(BASES), st.sampled_from([Insert, Remove, Swap]), st.integers(1, 3))
def test_as_a_plain_twin(data, base, graft, count):
    """What the twin refuses is refused, in one line that names the tuple; else both give the same links."""
    base = parse(base)
    topology = base.topology()
    edges = topology.is_bidirectional and topology.degree % 2 == 0 and data.draw(st.booleans())
    changes = tuple(random_change(graft.word, topology, data.draw, edges) for _ in range(count))
    try:
        recipe = graft(base, changes)
    except RecipeError as error:
        assert "\n" not in str(error) and "tuple (" in str(error)
        assume(False)
    assert parse(str(recipe)) == recipe and str(parse(str(recipe))) == str(recipe)
    try:
        expected = reference.grafted(graft.word, base.num_nodes, pairs(topology), base.degree, list(changes))
    except ValueError:
        with pytest.raises(RecipeError, match=rf"^{graft.word}: tuple \("):
            recipe.topology()
        return
    built = recipe.topology()
    assert (built.num_nodes, built.degree) == (recipe.num_nodes, recipe.degree)
    assert pairs(built) == expected and built.is_regular
    assert recipe.is_reverse_symmetric >= built.is_bidirectional and not recipe.is_vertex_transitive
    if edges or (graft is Swap and topology.is_bidirectional):
        assert built.is_bidirectional


@given(seeds)
def test_a_disconnected_graft_has_no_schedule(seed):
    """Two rings of three come of a ring of six; a schedule is refused, the topology is what it is."""
    shift = seed % 6
    a, b, c, e = (shift % 6, (shift + 1) % 6, (shift + 3) % 6, (shift + 4) % 6)
    recipe = parse(f"Swap(UniRing(1,6),{{({a},{b},{c},{e})}})")
    with pytest.raises(LinkstepError, match="disconnected"):
        check_connected(recipe.topology())
    with pytest.raises(LinkstepError, match="disconnected"):
        recipe.build()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Swap(K_4,{(0,1,2)})", "Swap: tuple (0,1,2): a tuple must have 4 numbers at degree 3"),
        ("Swap(K_4,{(0,1,2,9)})", "Swap: tuple (0,1,2,9): nodes must lie in [0, 4), not 9"),
        ("Swap(K_4,{})", "Swap: needs at least one tuple"),
        ("Swap(K_4,{1,2})", "Swap takes tuples, not numbers"),
        ("Swap(K_4)", "expected ',' after the base of Swap, found ')'"),
        ("Swap(K_4,3)", "expected '{' after the base and a comma, found '3'"),
        (
            "Insert(K_4,{(0,1)})",
            "Insert: tuple (0,1): at degree 3, an odd one, edges need an even number of tuples, not 1",
        ),
        ("Insert(C(9,{1,2}),{(0,1,2)})", "Insert: tuple (0,1,2): a tuple must have 4 or 8 numbers at degree 4"),
        ("Insert(C(9,{1,2}),{(0,1,4,9)})", "Insert: tuple (0,1,4,9): nodes must lie in [0, 9), not 9"),
        (
            "Insert(Pi_{2,8},{(0,7,1,5),(0,1)})",
            "Insert: tuple (0,1): tuples must be equally long, 4 numbers like the first",
        ),
        ("Remove(UniRing(1,4),{(1,0,2),(2,1,3)})", "Remove: tuple (2,1,3): node 1 is gone by then"),
        ("Remove(UniRing(1,2),{(0,1,1),(1,1,1)})", "Remove: tuple (1,1,1): no node is left of the 2"),
        ("Swop(K_4,{(0,1,2,3)})", "expected an argument"),
    ],
)
def test_refused_when_read(text, message):
    with pytest.raises(RecipeError) as caught:
        parse(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Swap(UniRing(1,4),{(0,1,2,3),(0,1,3,0)})", "Swap: tuple (0,1,3,0): there is no link 0 -> 1"),
        ("Insert(UniRing(1,4),{(1,0)})", "Insert: tuple (1,0): there is no link 1 -> 0"),
        ("Remove(C(9,{1,2}),{(4,3,5,2,7)})", "Remove: tuple (4,3,5,2,7): there is no link 4 -> 7"),
        ("Remove(Q(3),{(0,1,2),(7,3,5)})", "Remove: tuple (7,3,5): there is no link 0 -> 7"),
    ],
)
def test_refused_when_built(text, message):
    with pytest.raises(RecipeError) as caught:
        parse(text).topology()
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_what_is_not_joined_is_refused():
    """Recipes cannot get there: their bases have as many links into a node as out of it."""
    star = Topology.from_links(3, [0, 1, 2], [1, 0, 0])
    with pytest.raises(TopologyError, match="link 2 -> 0 of a node that goes is not joined to another"):
        remove_nodes(star, [(0, 1, 1)], edges=False)


def test_nested_in_other_recipes_and_explained():
    text = "L(Swap(Insert(C(9,{1,2}),{(0,1,4,5)}),{(0,2,4,6)}))"
    recipe = parse(text)
    assert (str(recipe), recipe.num_nodes, recipe.degree) == (text, 40, 4)
    assert recipe.topology().is_regular
    lines = explain(parse("Remove(Swap(Insert(C(9,{1,2}),{(0,1,4,5)}),{(0,2,4,6)}),{(9,0,4,1,5)})"))
    assert [line.split(": ", 1)[1].split(";")[0] for line in lines[1:]] == [
        "1 server put into links of the base",
        "1 pair of links that exchange ends",
        "1 server taken out, the links joined",
    ]
    assert parse("Swap(K_4,{(0,1,2,3)})").paper() == r"\text{Swap}(K_{4},\{(0,1,2,3)\})"


def test_schedules_are_those_of_the_graph_itself():
    recipe = parse("Insert(C(8,{1,3}),{(0,1,4,5)})")
    schedule = recipe.build("allreduce")
    assert schedule.topology == recipe.topology()
    assert recipe.cost_is_exact and recipe.cost == recipe.reduce_scatter_cost
