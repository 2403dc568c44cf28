"""Cayley digraphs: nodes are the elements of a group, and each generator g makes a link from every x to x g.

Multiplication from the left is an automorphism, so every node looks alike: one node's cost is the topology's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.families._common import buildable, circulant_links, knowing, out_links
from linkstep.families._family import Family, always
from linkstep.groups.named import Element, Group

MAX_ELEMENTS = 10**6
"""The largest permutation group we list."""

MAX_POINTS = 256
"""Permutations are strings of bytes here."""


def cayley(group: Group, generators: Sequence[int | Element]) -> Topology:
    """Return the Cayley digraph of a group: N = its order, d = the number of generators.

    A generator is a tuple of coordinates, or an integer in a cyclic group; given twice, it makes parallel
    links. Node numbers are the elements' coordinates in mixed radix.

    >>> from linkstep.groups.named import parse_group
    >>> cayley(parse_group("Z8:Z2[7]"), [(0, 1), (1, 0), (6, 0), (3, 1)])
    <Topology N=16 d=4 links=64>
    """
    buildable(cayley_size(group, generators))
    steps = [group.element(g) for g in generators]
    if len(group.moduli) == 1:
        return circulant_links(group.order, [step[0] for step in steps])
    nodes = np.arange(group.order)
    links = out_links(np.stack([group.times(nodes, step) for step in steps], axis=1))

    def moved() -> list[Ints]:
        return [group.times_each(g, nodes) for g in group.generators]

    return knowing(links, lambda: _inverted(group, steps), moved)


def _inverted(group: Group, steps: list[Element]) -> list[Ints]:
    """Return x -> x^-1, an automorphism if the group is abelian and the steps are closed under it."""
    if not group.is_abelian or sorted(map(group.inverse, steps)) != sorted(steps):
        return []
    coordinates = np.unravel_index(np.arange(group.order), group.moduli)
    turned = [-c % m for c, m in zip(coordinates, group.moduli, strict=True)]
    return [np.ravel_multi_index(turned, group.moduli).astype(np.int64)]


def cayley_size(group: Group, generators: Sequence[int | Element]) -> tuple[int, int]:
    """Return (N, d) of a Cayley digraph."""
    elements = [group.element(g) for g in generators]
    if group.identity in elements:
        raise RecipeError(f"Cayley({group},...): the identity cannot be a generator, it makes self-loops")
    if not group.is_generated_by(elements):
        shown = ",".join(map(str, generators))
        raise RecipeError(f"Cayley({group},...): disconnected, {{{shown}}} does not generate the group")
    return group.order, len(generators)


def _are_different(generators: Sequence[int | Element]) -> bool:
    """Whether no generator is given twice: then there are no parallel links."""
    return len(set(generators)) == len(generators)


def _is_reverse_symmetric(group: Group, generators: Sequence[int | Element]) -> bool:
    """In an abelian group x -> -x turns links round; otherwise generators closed under inverses suffice."""
    elements = [group.element(g) for g in generators]
    return group.is_abelian or sorted(map(group.inverse, elements)) == sorted(elements)


def cayley_of_permutations(generators: Sequence[int | Element]) -> Topology:
    """Return the Cayley digraph of the group that permutations generate: N = its order, d = their number.

    A permutation p of {0, ..., n - 1} is written (p(0), ..., p(n - 1)), and x g is x first, then g. Nodes are
    numbered as a breadth-first search from the identity meets them.

    >>> cayley_of_permutations([(1, 2, 0), (1, 0, 2)]).head.tolist()
    [1, 2, 3, 4, 0, 5, 0, 5, 1, 2, 3, 4]
    """
    chosen = _permutations(generators)
    return knowing(out_links(_multiples(chosen)), list, lambda: _moved(chosen))


def _moved(generators: Sequence[Element]) -> list[Ints]:
    """Return what multiplying by each generator from the left does to the elements, by their numbers."""
    found, number = _listed(generators)
    tables = [x.ljust(256, b"\0") for x in found]
    return [np.array([number[bytes(g).translate(table)] for table in tables]) for g in generators]


def cayley_of_permutations_size(generators: Sequence[int | Element]) -> tuple[int, int]:
    """Return (N, d) of the Cayley digraph of a permutation group, by listing the group."""
    return _order(tuple(_permutations(generators))), len(generators)


def _permutations(generators: Sequence[int | Element]) -> list[Element]:
    """Return the generators, or raise unless they are permutations of as many points, none the identity."""
    found: list[Element] = []
    for g in generators:
        if isinstance(g, int) or sorted(g) != list(range(len(g))):
            raise RecipeError(f"Cayley({{...}}): {g} is not a permutation (p(0),...,p(n-1)) of 0 to n-1")
        found.append(tuple(g))
    lengths = sorted({len(g) for g in found})
    if len(lengths) != 1 or lengths[0] > MAX_POINTS:
        shown = ", ".join(map(str, lengths)) or "none"
        raise RecipeError(
            f"Cayley({{...}}): all must permute the same number of points, at most {MAX_POINTS}, not {shown}"
        )
    if tuple(range(lengths[0])) in found:
        raise RecipeError("Cayley({...}): the identity cannot be a generator, it makes self-loops")
    return found


def _multiples(generators: Sequence[Element]) -> Ids:
    """Return, a row for each element x in order of discovery, the numbers of x g."""
    found, number = _listed(generators)
    tables = [bytes(g).ljust(256, b"\0") for g in generators]
    heads = [number[x.translate(table)] for x in found for table in tables]
    return np.array(heads, np.int32).reshape(len(found), len(generators))


def _listed(generators: Sequence[Element]) -> tuple[list[bytes], dict[bytes, int]]:
    """Return all elements of the group in order of discovery, and their numbers."""
    # x first, then g: bytes.translate replaces each byte b of x by g[b].
    tables = [bytes(g).ljust(256, b"\0") for g in generators]
    number = {bytes(range(len(generators[0]))): 0}
    found = list(number)
    for x in found:  # grows
        for table in tables:
            y = x.translate(table)
            if number.setdefault(y, len(found)) == len(found):
                if len(found) == MAX_ELEMENTS:
                    raise RecipeError(f"Cayley({{...}}): the group has more than {MAX_ELEMENTS} elements")
                found.append(y)
    return found, number


@lru_cache(maxsize=64)
def _order(generators: tuple[Element, ...]) -> int:
    """Return the order of a permutation group; a recipe asks for it many times."""
    return len(_listed(generators)[0])


def _permutations_are_reverse_symmetric(generators: Sequence[Element]) -> bool:
    """As for groups given by name; generators that commute make an abelian group."""
    inverses = [tuple(np.argsort(g).tolist()) for g in generators]
    if sorted(inverses) == sorted(map(tuple, generators)):
        return True
    tables = [np.array(g) for g in generators]
    return all(np.array_equal(g[h], h[g]) for i, g in enumerate(tables) for h in tables[:i])


FAMILIES = (
    Family(
        name="Cayley",
        title="Cayley digraph",
        params=("group", "set"),
        notation="Cayley(Z16:Z2[9],{(a,b),...})",
        coverage="N = the order of the group, any d",
        build=cayley,
        size=cayley_size,
        vertex_transitive=always,
        reverse_symmetric=_is_reverse_symmetric,
        simple=lambda group, generators: _are_different(generators),
        loop_free=always,
    ),
    Family(
        name="Cayley",
        title="Cayley digraph of a permutation group",
        params=("set",),
        notation="Cayley({(p(0),p(1),...),...})",
        coverage="N = the order of the group, any d",
        build=cayley_of_permutations,
        size=cayley_of_permutations_size,
        vertex_transitive=always,
        reverse_symmetric=_permutations_are_reverse_symmetric,
        simple=_are_different,
        loop_free=always,
    ),
)
