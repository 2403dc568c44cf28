"""What builders declare is right, and as much as a library finds: on members of all families, expansions and copies."""

import itertools

import numpy as np
import pytest

from linkstep.core.topology import Topology
from linkstep.families import FAMILIES
from linkstep.recipe import Member, parse
from linkstep.symmetry import Symmetry, declare, known_symmetry, permutations
from linkstep.symmetry.free_groups import elements
from linkstep.symmetry.known import even_representatives, known_representatives
from linkstep.symmetry.libraries import find_library
from linkstep.symmetry.permutations import (
    first_wrong,
    is_automorphism,
    is_permutation,
    link_images,
    orbits_of,
    wire_images,
)
from linkstep.symmetry.search import searched_symmetry, symmetry_of
from support.strategies import ring, topology_of

MEMBERS = [
    (family, args)
    for family in FAMILIES
    for size in (*range(2, 25), 26, 28, 30, 32, 35, 36, 40, 42, 45, 64, 70, 80, 126)
    for degree in range(1, 8)
    for args in family.members(size, degree)
]
MORE = (
    "Cayley(Z4xZ6,{(0,1),(0,5),(1,2),(3,4)})", "Cayley(Z7:Z3[2],{(1,0),(0,1),(2,1)})",
    "Cayley({(1,2,0,3),(0,2,3,1)})", "Lift(8,{(1,0,0,1),(1,2,0,4)})", "Lift(Z7:Z3[2],{(0,1,0,1,0,2),(1,0,1,0,3,0)})",
    "L(K_4)", "L^2(Q(2))", "L(UniRing(2,3))", "K_3*2", "Pi_{2,6}*3", "K_3^3", "C(5,{1})^2", "K_3 x K_3 x C(4,{1})",
    "DBJ(2,2) x K_2", "Bi(C(7,{1,2}))", "Bi(Pi_{2,6})", "T(Paley(7))", "T(L(Pi_{2,5}))", "Torus(3,3,2)", "H(3,3)",
    "TwistedTorus(2,4,4)", "GQ(4,4)", "GH(3,3)", "PG(2,5)", "AG(2,8)", "Paley(25)", "Paley(27)", "DoubledOdd(3)",
)  # fmt: skip


def links(topology: Topology) -> list[tuple[int, int]]:
    return sorted(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))


def is_one(topology: Topology, new) -> bool:
    """Whether a permutation takes the list of links to itself, by sorting it: nothing is shared with the package."""
    image = new.tolist()
    moved = sorted((image[u], image[w]) for u, w in links(topology))
    return sorted(image) == list(range(topology.num_nodes)) and moved == links(topology)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.notation)
def test_families_declare_automorphisms(family):
    for row, args in MEMBERS:
        if row is family:
            topology = Member(family, args).topology()
            known = known_symmetry(topology)
            if known is not None:
                assert all(is_one(topology, new) for new in known.generators), args


@pytest.mark.parametrize("recipe", MORE)
def test_expansions_carry_automorphisms(recipe):
    topology = parse(recipe).topology()
    known = known_symmetry(topology)
    assert known is not None and known.generators
    for at in (topology, topology.transpose()):
        assert all(is_one(at, new) for new in known_symmetry(at).generators)
        moves = known_symmetry(at).translations
        assert moves is None or {tuple(new) for new in moves} <= {tuple(new) for new in known_symmetry(at).generators}


LESS = {
    "C(n,{a,b,...})", "Bundle(d,m)", "Chords(d,n)", "Torus(d1,d2,...)", "TwistedTorus(d1,d2,...)", "GQ(q,q)",
    "GH(q,q)", "DistReg(4,m)", "DoubleBinaryTree(n)", "Pi_{d,m}", "TwistedHypercube(n)", "Dragonfly(a,h)",
}  # fmt: skip
"""Families some of whose members have more automorphisms than the builder knows."""


@pytest.mark.skipif(find_library() is None, reason="needs a library to compare with")
@pytest.mark.parametrize(
    "family",
    [pytest.param(one, marks=[pytest.mark.slow] * (k % 4 > 0)) for k, one in enumerate(FAMILIES)],
    ids=lambda family: family.notation,
)
def test_families_know_as_much_as_a_library_finds(family):
    """As many orbits of nodes and of links: all that methods use. The others still know some wherever there are any."""
    for row, args in MEMBERS:
        if row is not family or family.size(*args)[0] > 64:
            continue
        topology = Member(family, args).topology()
        own, whole = symmetry_of(topology), searched_symmetry(topology)
        if family.notation in LESS:
            assert own.generators or not whole.generators or family.notation == "DoubleBinaryTree(n)", args
            assert (whole.node_orbits <= own.node_orbits).all() and (whole.link_orbits <= own.link_orbits).all()
        else:
            assert np.array_equal(own.node_orbits, whole.node_orbits), args
            assert np.array_equal(own.link_orbits, whole.link_orbits), args


def test_copies_know_what_the_original_knows():
    """Names and numbers of nodes change; a cut cable leaves nothing that could be vouched for."""
    original = parse("Torus(3,4)").topology()
    named = original.with_labels([f"host{u}" for u in range(12)])
    moved = original.relabel(np.random.default_rng(0).permutation(12))
    for topology in (named, moved, moved.transpose(), named.transpose().transpose()):
        known = known_symmetry(topology)
        assert len(known.generators) == len(known_symmetry(original).generators)
        assert all(is_one(topology, new) for new in known.generators)
        assert len(elements(12, known.translations)) == 12
    assert known_symmetry(original.without_links([0])) is None
    assert known_symmetry(original.with_bandwidth(np.arange(1, 49))) is None


def test_a_wrong_declaration_is_refused():
    for wrong in ([0, 2, 1], [0, 0, 0], [1, 2, 3], [1, 0]):
        topology = declare(ring(3), lambda built, wrong=wrong: Symmetry.of(built, [np.array(wrong)], "family"))
        with pytest.raises(AssertionError, match="not an automorphism, though the family says so"):
            known_symmetry(topology)


def test_translations_that_are_none_are_refused():
    with pytest.raises(AssertionError, match="do not act freely"):
        elements(4, [np.array([1, 0, 2, 3], np.int32)])
    with pytest.raises(AssertionError, match="do not act freely"):
        elements(3, [np.array([1, 0, 2], np.int32), np.array([1, 2, 0], np.int32)])


def test_columns_count():
    square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    turn = np.array([1, 2, 3, 0])
    assert is_automorphism(topology_of(4, square, bandwidth=[5, 5, 5, 5]), turn)
    assert not is_automorphism(topology_of(4, square, bandwidth=[5, 5, 5, 6]), turn)
    assert not is_automorphism(topology_of(4, square, alpha=[5, 5, 5, 6]), turn)
    two = topology_of(2, [(0, 1), (0, 1), (1, 0), (1, 0)], bandwidth=[1, 2, 2, 1], alpha=[4, 3, 3, 4])
    assert link_images(two, np.array([1, 0])).tolist() == [2, 3, 0, 1]
    crossed = topology_of(2, [(0, 1), (0, 1), (1, 0), (1, 0)], bandwidth=[1, 2, 2, 1], alpha=[4, 3, 4, 3])
    assert link_images(crossed, np.array([1, 0])) is None


def test_permutations_and_orbits():
    assert is_permutation(np.array([1, 0]), 2) and is_permutation(np.arange(0), 0)
    assert not any(is_permutation(np.array(new), 2) for new in ([0], [0, 0], [1, 2], [-1, 0]))
    rng = np.random.default_rng(3)
    for size in (1, 5, 60):
        for count in range(3):
            chosen = [_cycles(rng, size) for _ in range(count)]
            found, least = orbits_of(size, chosen).tolist(), list(range(size))
            for _ in range(size):
                for new in chosen:
                    for x, y in enumerate(new.tolist()):
                        least[x] = least[y] = min(least[x], least[y])
            assert found == least


def _cycles(rng: np.random.Generator, size: int):
    """Return a permutation of a few random numbers, the others staying where they are."""
    new = np.arange(size)
    some = rng.permutation(size)[: size // 2]
    new[some] = some[rng.permutation(some.size)]
    return new


def test_representatives():
    debruijn = parse("DBJ(2,3)").topology()
    assert known_representatives(debruijn).tolist() == [0, 1, 2, 3] and even_representatives(debruijn) is None
    lifted = parse("Lift(4,{(1,0,0,1),(0,1,1,1)})").topology()
    assert known_representatives(lifted).tolist() == even_representatives(lifted).tolist() == [0, 4]
    assert known_representatives(ring(3)) is None


@pytest.mark.parametrize("columns", [{}, {"bandwidth": [5] * 8}, {"bandwidth": [5, 5, 5, 5, 5, 5, 5, 6]}])
@pytest.mark.parametrize("batch", [20, *(pytest.param(batch, marks=pytest.mark.slow) for batch in (1, 2**20))])
def test_many_permutations_are_judged_as_each_of_them(monkeypatch, columns, batch):
    monkeypatch.setattr(permutations, "_BATCH", batch)
    ends = np.arange(4).repeat(2), np.array([1, 3, 0, 2, 1, 3, 0, 2])
    square = Topology.from_links(4, *ends, **columns)
    every = [np.array(new) for new in itertools.product(range(-1, 5), repeat=4)] + [np.arange(3)]
    right = [new for new in every if is_automorphism(square, new)]
    assert len(right) == (8 if len(set(columns.get("bandwidth", ()))) < 2 else 1)
    assert first_wrong(square, right) is None
    images = wire_images(square, right)
    assert [image.tolist() for image in images] == [link_images(square, new).tolist() for new in right]
    for new in every:
        wrong = not is_automorphism(square, new)
        found = first_wrong(square, [*right, new])
        assert (found is not None and found.tolist() == new.tolist()) == wrong
        assert (wire_images(square, [*right, new]) is None) == wrong
