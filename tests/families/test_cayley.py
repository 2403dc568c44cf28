"""Groups and their Cayley digraphs."""

from itertools import permutations, product
from math import factorial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linkstep.core.distances import check_connected, diameter
from linkstep.core.errors import RecipeError
from linkstep.families import FAMILIES
from linkstep.families.cayley import cayley, cayley_of_permutations, cayley_of_permutations_size, cayley_size
from linkstep.families.circulant import circulant
from linkstep.families.torus import torus
from linkstep.groups import parse_group
from linkstep.groups.named import AbelianGroup, Group, SemidirectGroup
from support.families import are_isomorphic, is_reverse_symmetric

BY_GROUP, BY_PERMUTATIONS = (family for family in FAMILIES if family.name == "Cayley")


def slow_product(group: Group, x, y):
    """Multiply two elements by the definition."""
    if isinstance(group, SemidirectGroup):
        return (x[0] + group.r ** x[1] * y[0]) % group.m, (x[1] + y[1]) % group.n
    return tuple((a + b) % m for a, b, m in zip(x, y, group.moduli, strict=True))


@st.composite
def groups(draw):
    if draw(st.booleans()):
        return AbelianGroup(tuple(draw(st.lists(st.integers(2, 6), min_size=1, max_size=3))))
    m, n = draw(st.integers(2, 13)), draw(st.integers(2, 6))
    return SemidirectGroup(m, n, draw(st.sampled_from([r for r in range(1, m) if pow(r, n, m) == 1])))


@st.composite
def groups_with_elements(draw, least=1):
    group = draw(groups())
    element = st.tuples(*(st.integers(0, m - 1) for m in group.moduli))
    return group, draw(st.lists(element, min_size=least, max_size=4))


@given(groups_with_elements(least=3))
def test_group_laws(case):
    group, (x, y, z, *_) = case
    one = group.identity
    assert slow_product(group, slow_product(group, x, y), z) == slow_product(group, x, slow_product(group, y, z))
    assert slow_product(group, x, one) == x == slow_product(group, one, x)
    assert slow_product(group, x, group.inverse(x)) == one == slow_product(group, group.inverse(x), x)
    assert group.times(np.array([group.number(x)]), y).tolist() == [group.number(slow_product(group, x, y))]
    if group.is_abelian:
        assert slow_product(group, x, y) == slow_product(group, y, x)


@given(groups())
def test_numbers_of_elements(group):
    elements = list(product(*map(range, group.moduli)))
    assert [group.number(x) for x in elements] == list(range(group.order))


@given(groups())
def test_notation_of_groups(group):
    again = parse_group(str(group))
    assert again == group and hash(again) == hash(group)


@given(groups_with_elements())
def test_generation_is_what_products_reach(case):
    group, elements = case
    reached, frontier = {group.identity}, [group.identity]
    for x in frontier:
        for g in elements:
            y = slow_product(group, x, g)
            if y not in reached:
                reached.add(y)
                frontier.append(y)
    assert group.is_generated_by(elements) == (len(reached) == group.order)


@given(groups_with_elements(), st.data())
def test_left_translation_is_an_automorphism(case, data):
    group, generators = case
    assume(group.identity not in generators and group.is_generated_by(generators))
    built = cayley(group, generators)
    check_connected(built)
    assert (built.num_nodes, built.degree) == cayley_size(group, generators)
    h = data.draw(st.tuples(*(st.integers(0, m - 1) for m in group.moduli)))
    elements = product(*map(range, group.moduli))
    assert built.relabel([group.number(slow_product(group, h, x)) for x in elements]) == built
    if built.num_parallel == 0 and BY_GROUP.reverse_symmetric(group, tuple(generators)):
        assert is_reverse_symmetric(built)


def test_known_cayley_graphs():
    assert cayley(parse_group("Z16"), (3, 4, 12, 13)) == circulant(16, (3, 4))
    assert cayley(parse_group("Z4xZ8"), ((0, 1), (0, 7), (1, 0), (3, 0))) == torus(4, 8)
    assert cayley(parse_group("Z3"), (1, 1)).num_parallel == 3
    # Two reflections of the dihedral group of order 10 take turns round a ring.
    assert are_isomorphic(cayley(parse_group("Z5:Z2[4]"), ((0, 1), (1, 1))), circulant(10, (1,)))


@pytest.mark.parametrize(
    ("group", "generators", "steps"),
    [
        ("Z16:Z2[9]", ((15, 1), (5, 0), (5, 1), (4, 0)), 3),
        ("Z16:Z4[5]", ((4, 0), (8, 2), (13, 2), (13, 3)), 4),
        ("Z16:Z8[11]", ((8, 7), (6, 6), (3, 7), (3, 4)), 4),
        ("Z32:Z8[11]", ((30, 5), (7, 5), (3, 4), (19, 3)), 5),
        ("Z32:Z16[27]", ((24, 2), (29, 6), (17, 13), (8, 5)), 6),
        ("Z64:Z16[3]", ((7, 10), (46, 5), (36, 11), (41, 9)), 6),
        ("Z8:Z2[7]", ((0, 1), (1, 0), (6, 0), (3, 1)), 2),
    ],
)
def test_topologies_found_by_search(group, generators, steps):
    assert diameter(cayley(parse_group(group), generators)) == steps


@pytest.mark.parametrize(
    ("group", "order"),
    [("Z1024:Z64[81]", 2**16), pytest.param("Z1024:Z1024[3]", 2**20, marks=pytest.mark.slow)],
)
def test_large_groups(group, order):
    built = cayley(parse_group(group), ((7, 10), (46, 5), (36, 11), (41, 9)))
    assert (built.num_nodes, built.degree, built.is_regular) == (order, 4, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a group is written like Z13, Z4xZ8 or Z16:Z2[9], not ''"),
        ("S5", "a group is written like Z13, Z4xZ8 or Z16:Z2[9], not 'S5'"),
        ("Z4x", "a group is written like Z13, Z4xZ8 or Z16:Z2[9], not 'Z4x'"),
        ("Z16:Z2", "a group is written like Z13, Z4xZ8 or Z16:Z2[9], not 'Z16:Z2'"),
        ("Z4xZ16:Z2[9]", "a group is written like Z13, Z4xZ8 or Z16:Z2[9], not 'Z4xZ16:Z2[9]'"),
        ("Z" + "9" * 5000, "a group is written like"),
        ("Z1", "Z_m: every m must be at least 2, not Z1"),
        ("Z4xZ0", "Z_m: every m must be at least 2, not Z4xZ0"),
        ("Z16:Z1[1]", "Zm:Zn[r]: m and n must be at least 2, not Z16:Z1[1]"),
        ("Z16:Z2[16]", "Z16:Z2[r]: r must lie in [1, 16), not 16"),
        ("Z16:Z2[0]", "Z16:Z2[r]: r must lie in [1, 16), not 0"),
        ("Z16:Z2[3]", "Z16:Z2[r]: r^2 must be 1 mod 16, not so for 3"),
    ],
)
def test_refused_groups(text, message):
    with pytest.raises(RecipeError) as caught:
        parse_group(text)
    assert str(caught.value).startswith(message)


def test_spaces_and_zeros_in_groups():
    assert str(parse_group(" Z04 x Z8 ")) == "Z4xZ8"


@pytest.mark.parametrize(
    ("group", "generators", "message"),
    [
        ("Z8", (0, 1), "Cayley(Z8,...): the identity cannot be a generator, it makes self-loops"),
        ("Z8", (2, 4), "Cayley(Z8,...): disconnected, {2,4} does not generate the group"),
        ("Z8", (), "Cayley(Z8,...): disconnected, {} does not generate the group"),
        ("Z8", (8,), "Z8: coordinates must lie in [0, 8), not 8"),
        ("Z4xZ8", (1,), "Z4xZ8: an element has 2 coordinates, not 1: 1"),
        ("Z4xZ8", ((1, 9),), "Z4xZ8: coordinates must lie in [0, 4) and [0, 8), not (1, 9)"),
        (
            "Z16:Z2[9]",
            ((2, 1), (0, 1)),
            "Cayley(Z16:Z2[9],...): disconnected, {(2, 1),(0, 1)} does not generate the group",
        ),
    ],
)
def test_refused_generators(group, generators, message):
    for method in (BY_GROUP.size, BY_GROUP.build):
        with pytest.raises(RecipeError) as caught:
            method(parse_group(group), generators)
        assert str(caught.value) == message


def test_size_is_quick_for_groups_we_could_not_list():
    assert cayley_size(parse_group("Z2:Z999999999[1]"), ((1, 0), (0, 2))) == (1_999_999_998, 2)
    with pytest.raises(RecipeError, match="too large to build"):
        cayley(parse_group("Z2:Z999999999[1]"), ((1, 0), (0, 2)))


# Permutations


def after(x, g):
    """x first, then g."""
    return tuple(g[i] for i in x)


@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.permutations(range(n)), min_size=1, max_size=3)))
def test_permutation_groups(drawn):
    generators = [tuple(g) for g in drawn if list(g) != sorted(g)]
    assume(generators)
    built = cayley_of_permutations(generators)
    # Slow twin: name the nodes by walking the links, then check every link and every left translation.
    identity = tuple(range(len(generators[0])))
    names, order = {identity: 0}, [identity]
    for x in order:
        for g in generators:
            if after(x, g) not in names:
                names[after(x, g)] = len(order)
                order.append(after(x, g))
    links = sorted((names[x], names[after(x, g)]) for x in order for g in generators)
    assert list(zip(built.tail.tolist(), built.head.tolist(), strict=True)) == links
    assert (len(order), len(generators)) == cayley_of_permutations_size(generators)
    for h in order[1:3]:
        assert built.relabel([names[after(h, x)] for x in order]) == built
    if built.num_parallel == 0 and BY_PERMUTATIONS.reverse_symmetric(tuple(generators)):
        assert is_reverse_symmetric(built)


@pytest.mark.parametrize("points", [3, 4, 5, 6])
def test_star_graphs(points):
    """Transpositions of point 0: the star graph, n! nodes of degree n - 1, diameter floor(3 (n - 1) / 2)."""
    swaps = []
    for i in range(1, points):
        swap = list(range(points))
        swap[0], swap[i] = i, 0
        swaps.append(tuple(swap))
    built = cayley_of_permutations(swaps)
    assert (built.num_nodes, built.degree) == (factorial(points), points - 1)
    assert built.is_bidirectional
    assert diameter(built) == 3 * (points - 1) // 2


def test_all_permutations_make_a_complete_graph():
    others = [p for p in permutations(range(3)) if p != (0, 1, 2)]
    assert diameter(cayley_of_permutations(others)) == 1


@pytest.mark.parametrize(
    ("generators", "message"),
    [
        ((), "Cayley({...}): all must permute the same number of points, at most 256, not none"),
        ((1, 2), "Cayley({...}): 1 is not a permutation (p(0),...,p(n-1)) of 0 to n-1"),
        (((1, 1),), "Cayley({...}): (1, 1) is not a permutation (p(0),...,p(n-1)) of 0 to n-1"),
        (((1, 2, 3),), "Cayley({...}): (1, 2, 3) is not a permutation (p(0),...,p(n-1)) of 0 to n-1"),
        (
            ((1, 0), (1, 2, 0)),
            "Cayley({...}): all must permute the same number of points, at most 256, not 2, 3",
        ),
        (
            ((*range(1, 300), 0),),
            "Cayley({...}): all must permute the same number of points, at most 256, not 300",
        ),
        (((0, 1, 2), (1, 0, 2)), "Cayley({...}): the identity cannot be a generator, it makes self-loops"),
    ],
)
def test_refused_permutations(generators, message):
    for method in (BY_PERMUTATIONS.size, BY_PERMUTATIONS.build):
        with pytest.raises(RecipeError) as caught:
            method(generators)
        assert str(caught.value) == message


@pytest.mark.slow
def test_permutation_groups_have_a_limit():
    with pytest.raises(RecipeError, match="the group has more than 1000000 elements"):
        cayley_of_permutations_size([(1, 0, *range(2, 12)), (*range(1, 12), 0)])
