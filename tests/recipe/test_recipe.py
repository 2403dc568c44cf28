"""Recipes: the notation reads and prints back, predicts N and d, and errors point at the character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.errors import RecipeError
from linkstep.families import FAMILIES
from linkstep.recipe import parse
from linkstep.symmetry import isomorphisms
from support.recipes import RECIPES

# Every topology named in the paper's tables: (as written here, N, d, as the paper writes it).
PAPER = [
    ("table:paretooptimal", "Pi_{4,1024}", 1024, 4, r"\Pi_{4,1024}"),
    ("table:paretooptimal", "L^3(C(16,{3,4}))", 1024, 4, r"L^3(C(16,\{3,4\}))"),
    ("table:paretooptimal", "L^2(Diamond^2)", 1024, 4, r"L^2(\text{Diamond}^{\square 2})"),
    ("table:paretooptimal", "L(DBJMod(2,4)^2)", 1024, 4, r"L(\text{DBJMod}(2,4)^{\square 2})"),
    ("table:paretooptimal", "(UniRing(1,4) x UniRing(1,8))^2", 1024, 4,
     r"(\text{UniRing}(1,4)\square \text{UniRing}(1,8))^{\square 2}"),
    ("tab:allourtopos", "L(K_{4,4})", 32, 4, "L(K_{4,4})"),
    ("tab:allourtopos", "DistReg(4,32)", 32, 4, r"\text{DistReg}(4,32)"),
    ("tab:allourtopos", "L(DBJMod(4,2))", 64, 4, r"L(\text{DBJMod}(4,2))"),
    ("tab:allourtopos", "BiRing(2,8) x UniRing(1,4)^2", 128, 4,
     r"\text{BiRing}(2,8)\square \text{UniRing}(1,4)^{\square 2}"),
    ("tab:allourtopos", "DBJ(4,4)", 256, 4, r"\text{DBJ}(4,4)"),
    ("tab:ourtopologies", "K_5", 5, 4, "K_{5}"),
    ("tab:ourtopologies", "K_3*2", 6, 4, "K_{3}*2"),
    ("tab:ourtopologies", "H(2,3)", 9, 4, "H(2,3)"),
    ("tab:ourtopologies", "BiRing(2,5)*2", 10, 4, r"\text{BiRing}(2,5)*2"),
    ("sec:genkautz", "K(4,2)", 80, 4, "K(4,2)"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "text", "nodes", "degree", "latex"), PAPER, ids=[f"{p[0]}-{p[1]}" for p in PAPER])
def test_topologies_of_the_paper(label, text, nodes, degree, latex):
    recipe = parse(text)
    assert (str(recipe), recipe.paper(), recipe.num_nodes, recipe.degree) == (text, latex, nodes, degree)
    topology = recipe.topology()
    assert (topology.num_nodes, topology.degree, topology.name) == (nodes, degree, text)
    assert topology.is_regular


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("  L ^ 3 ( C ( 16 , { 4 , 3 } ) ) ", "L^3(C(16,{3,4}))"),
        ("K_3xK_4", "K_3 x K_4"),
        ("K_3□K_4", "K_3 x K_4"),
        ("Diamond^{□2}", "Diamond^2"),
        ("Π_{4,64}", "Pi_{4,64}"),
        ("Pi(4,64)", "Pi_{4,64}"),
        ("GenKautz(4,64)", "Pi_{4,64}"),
        ("Complete(5)", "K_5"),
        ("K_{5}", "K_5"),
        ("CompleteBipartite(4,4)", "K_{4,4}"),
        ("Kautz(4,2)", "K(4,2)"),
        ("Hypercube(4)", "Q(4)"),
        ("L^1(K_5)", "L(K_5)"),
        ("(K_3)", "K_3"),
        ("((K_3 x K_4) x K_5)^1", "((K_3 x K_4) x K_5)^1"),
        ("K_3^2*2^3", "K_3^2*2^3"),
        ("L(K_3 x K_4*2)", "L(K_3 x K_4*2)"),
        ("Bi(T(L(K_{2,2})))", "Bi(T(L(K_{2,2})))"),
        ("Cayley(Z16:Z2[9],{(15,1),(5,0),(5,1),(4,0)})", "Cayley(Z16:Z2[9],{(4,0),(5,0),(5,1),(15,1)})"),
        ("Cayley(Z4xZ8,{(1,0),(0,1)})", "Cayley(Z4xZ8,{(0,1),(1,0)})"),
        ("Cayley({(1,2,0),(1,0,2)})", "Cayley({(1,0,2),(1,2,0)})"),
    ],
)
def test_notation(written, canonical):
    assert str(parse(written)) == canonical
    assert parse(canonical) == parse(written)
    assert hash(parse(canonical)) == hash(parse(written))


def test_kautz_is_a_line_graph_and_bipartite_is_not():
    """K(d,n) and K_{d,d} differ by the way they are written alone, as in the paper."""
    assert parse("K(4,4)").num_nodes == 4**4 * 5
    assert parse("K_{4,4}").num_nodes == 8


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "character 1: expected a family or an expansion, found 'the end'"),
        ("L^2(Diamnd)", "character 5: no family is called 'Diamnd'; did you mean 'Diamond'?"),
        ("Qwxz(3)", "character 1: no family is called 'Qwxz'; `linkstep families` lists them"),
        ("C(16,3)", "character 1: C is written C(n,{a,b,...})"),
        ("K_5 x", "character 6: expected a family or an expansion, found 'the end'"),
        ("K_5)", "character 4: expected the end, found ')'"),
        ("L(K_5", "character 6: expected ')' to close L(...), found 'the end'"),
        ("L^(K_5)", "character 3: expected n after 'L^', a whole number, found '('"),
        ("L^0(K_5)", "character 1: L^0(K_5): n must be at least 1, not 0"),
        ("K_5 @", "character 5: '@' is not part of the notation"),
        ("C(16,{3,(1,2)})", "character 6: a set holds numbers or tuples, not both"),
        ("C(4,{2})", "character 1: C(4,{a,...}): disconnected, 2 divides 4 and every jump"),
        ("K_5^999999999", "character 5: K_5^999999999 has more than 2^10000 nodes"),
        ("K_9999999999999", "character 3: expected a subscript, a whole number, found '9999999999999'"),
        ("(" * 200 + "K_5", "character 101: nested more than 100 deep"),
        ("K_5" + "*1" * 900, "character 205: more than 100 expansions of one another"),
        ("K_5" + "^1" * 900, "character 205: more than 100 expansions of one another"),
        ("L(" * 60 + "K_5*1" + ")*1" * 60, "character 275: more than 100 expansions of one another"),
        ("K_5 " * 20_000, "character 5: expected the end, found 'K'"),
        ("x" * 200_000, "a recipe has at most 100000 characters, not 200000"),
    ],
)
def test_errors_point_at_the_character(written, message):
    with pytest.raises(RecipeError) as caught:
        parse(written)
    assert str(caught.value).endswith(message)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_as_deep_as_allowed():
    """Everything that walks a recipe copes with the deepest that parse reads."""
    for text in ("K_5" + "*1" * 100, "(" * 99 + "K_5" + ")*1" * 99, "L(" * 50 + "K_5*1" + ")^1" * 49 + ")"):
        recipe = parse(text)
        assert parse(str(recipe)) == recipe
        assert hash(recipe) == hash(parse(text))
        assert recipe.paper() and repr(recipe) and recipe.num_nodes


def test_errors_when_building():
    with pytest.raises(RecipeError, match=r"DBJ\(2,3\)\*2: G\*n needs a topology without self-loops; node 0 has one"):
        parse("DBJ(2,3)*2").topology()
    with pytest.raises(RecipeError, match="more than the 134217728 links linkstep builds"):
        parse("Q(10)^9").topology()


@given(RECIPES)
def test_property_prints_back(recipe):
    assert parse(str(recipe)) == recipe


@given(RECIPES.filter(lambda recipe: recipe.num_nodes * recipe.degree < 20_000))
def test_property_size_is_what_was_promised(recipe):
    topology = recipe.topology()
    assert (topology.num_nodes, topology.degree) == (recipe.num_nodes, recipe.degree)


@given(RECIPES.filter(lambda recipe: recipe.num_nodes < 200))
def test_property_known_symmetries_hold(recipe):
    topology = recipe.topology()
    if recipe.is_vertex_transitive:
        assert not isomorphisms.node_orbits(topology).any()
    if recipe.is_reverse_symmetric:
        assert isomorphisms.is_reverse_symmetric(topology)


@given(st.text(alphabet="KLCxZ_^*(){},0123456789: BiRng", max_size=30))
def test_property_nonsense_is_refused_in_one_line(text):
    try:
        recipe = parse(text)
    except RecipeError as error:
        assert "\n" not in str(error)
    else:
        assert parse(str(recipe)) == recipe


def test_every_family_has_a_word_the_parser_takes():
    for family in FAMILIES:
        for word in (family.name, *family.aliases):
            with pytest.raises(RecipeError, match="is written"):
                parse(f"{word}({{}},{{}},{{}},{{}})")


@pytest.mark.parametrize("text", ["L(DoubleBinaryTree(5))", "T(DoubleBinaryTree(5))*2", "K_3 x DoubleBinaryTree(5)"])
def test_what_is_not_regular_is_not_expanded(text):
    with pytest.raises(RecipeError, match="has nodes with fewer than d links"):
        parse(text)
