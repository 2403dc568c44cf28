"""How symmetry is carried from topologies to what is made from them: line graphs, products, powers, copies of nodes.

Each function returns a declaration (``symmetry.known``) for the topology that was made, so that nothing is worked out
before somebody asks. Node numbers are those of ``linkstep.expansions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from linkstep.core.topology import Ids, Ints, Topology
from linkstep.symmetry.known import Declaration, known_symmetry
from linkstep.symmetry.permutations import is_automorphism, link_images
from linkstep.symmetry.value import Origin, Symmetry

Carry = Callable[[Ids], Ints]
"""Makes a permutation of the new nodes of one of the old."""


def same_nodes(base: Topology) -> Declaration:
    """Of a topology on the nodes of its base whose links follow from the base's, however that is: all of it."""
    return _carried(base, "recipe", lambda new: new.astype(np.int64))


def on_union(*parts: Topology) -> Declaration:
    """Of the links of several topologies on the same nodes: what the first has and all others have too."""

    def declaration(topology: Topology) -> Symmetry | None:
        known = known_symmetry(parts[0])
        if known is None:
            return None
        common = [new for new in known.others if is_automorphism(topology, new)]
        moves = [new for new in known.translations or () if is_automorphism(topology, new)]
        return Symmetry.of(topology, common, "recipe", moves or None) if common or moves else None

    return declaration


def on_links(base: Topology) -> Declaration:
    """Of the line graph: who takes nodes to nodes takes links to links, and none of them stays if no node does."""

    def carry(new: Ids) -> Ints:
        images = link_images(base, new)
        assert images is not None
        return images

    return _carried(base, "line graph", carry)


def _carried(base: Topology, origin: Origin, carry: Carry) -> Declaration:
    def declaration(topology: Topology) -> Symmetry | None:
        known = known_symmetry(base)
        if known is None:
            return None
        moves = None if known.translations is None else [carry(new) for new in known.translations]
        return Symmetry.of(topology, [carry(new) for new in known.others], origin, moves)

    return declaration


def on_product(*factors: Topology) -> Declaration:
    """Of the Cartesian product, the last coordinate fastest: each factor's, and exchanging factors that are equal."""
    sizes = [factor.num_nodes for factor in factors]

    def declaration(topology: Topology) -> Symmetry | None:
        known = [known_symmetry(factor) for factor in factors]
        generators: list[Ints] = []
        moves: list[Ints] = []
        for axis, one in enumerate(known):
            if one is not None:
                generators += [_along(sizes, axis, new) for new in one.others]
                moves += [_along(sizes, axis, new) for new in one.translations or ()]
        generators += _exchanges(factors, sizes)
        return Symmetry.of(topology, generators, "product", moves or None) if generators or moves else None

    return declaration


def _along(sizes: list[int], axis: int, new: Ids) -> Ints:
    """Return the permutation of all nodes that changes one coordinate."""
    grid = np.indices(sizes).reshape(len(sizes), -1)
    grid[axis] = new[grid[axis]]
    return np.asarray(np.ravel_multi_index(tuple(grid), sizes), np.int64)


def _exchanges(factors: tuple[Topology, ...], sizes: list[int]) -> Iterator[Ints]:
    """Yield exchanges of neighbouring coordinates whose factors are equal; they generate all orders of a run."""
    for axis, (left, right) in enumerate(pairwise(factors)):
        if left == right:
            grid = np.indices(sizes).reshape(len(sizes), -1)
            grid[[axis, axis + 1]] = grid[[axis + 1, axis]]
            yield np.asarray(np.ravel_multi_index(tuple(grid), sizes), np.int64)


def on_copies(base: Topology, times: int) -> Declaration:
    """Of the degree expansion, copy i of node v being v * times + i: the base's, and any order of a node's copies."""
    size = base.num_nodes * times
    nodes = np.arange(size)
    copies = nodes - nodes % times + (nodes + 1) % times

    def carry(new: Ids) -> Ints:
        return (new[:, np.newaxis].astype(np.int64) * times + np.arange(times)).ravel()

    def declaration(topology: Topology) -> Symmetry | None:
        known = known_symmetry(base)
        firsts = np.arange(0) if known is None else known.representatives
        # Of one node alone: those of others follow where a symmetry of the base takes it there.
        generators = [_exchange(size, u * times, u * times + 1) for u in firsts.tolist() if times > 1]
        generators += [] if known is None else [carry(new) for new in known.others]
        moves = [] if known is None else [carry(new) for new in known.translations or ()]
        moves += [copies] if times > 1 else []
        return Symmetry.of(topology, generators, "recipe", moves or None) if generators or moves else None

    return declaration


def _exchange(size: int, one: int, other: int) -> Ints:
    nodes = np.arange(size)
    nodes[[one, other]] = nodes[[other, one]]
    return nodes
