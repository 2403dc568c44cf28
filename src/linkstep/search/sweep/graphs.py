"""Regular graphs that searches change link by link: their tables, random numbers, and the recipe of what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.grafts import _draw, _may_swap, _missed, _swap
from linkstep.core.topology import Topology
from linkstep.expansions.grafts import Change
from linkstep.recipe import Recipe, Swap
from linkstep.requirements import Links

FAR = np.int64(1) << 60
"""More pairs than there are."""
Table = NDArray[np.uint32]


@dataclass(frozen=True)
class RegularGraph:
    """A regular graph as the kernels have it: heads and tails of links, a row for each node."""

    out: Table
    into: Table
    degree: int
    both: bool
    """Whether links are duplex and come in edges."""

    @classmethod
    def of(cls, topology: Topology) -> RegularGraph:
        """Return the tables of a regular topology."""
        n, d = topology.num_nodes, topology.degree
        width = max(4, -(-d // 4) * 4)
        out = np.repeat(np.arange(n, dtype=np.uint32)[:, None], width, axis=1)
        into = out.copy()
        out[:, :d], into[:, :d] = topology.head.reshape(n, d), topology.in_tail.reshape(n, d)
        return cls(out, into, d, topology.is_bidirectional)

    def copy(self, more: int = 0) -> RegularGraph:
        """Return a copy with ``more`` nodes added, which have no links yet."""
        n, width = self.out.shape
        own = np.repeat(np.arange(n, n + more, dtype=np.uint32)[:, None], width, axis=1)
        return RegularGraph(np.vstack([self.out, own]), np.vstack([self.into, own]), self.degree, self.both)

    def turn(self, a: int, old: int, new: int) -> None:
        """Let a link of a lead to another node, seen from a alone."""
        self.out[a, self.out[a].tolist().index(old)] = new

    def turn_back(self, b: int, old: int, new: int) -> None:
        """Let a link that leads to b come from another node, seen from b alone."""
        self.into[b, self.into[b].tolist().index(old)] = new

    def split(self, a: int, b: int, v: int) -> None:
        """Turn a -> b into a -> v -> b, or the edge a - b into a - v - b."""
        for x, y in [(a, b), (b, a)] if self.both else [(a, b)]:
            self.turn(x, y, v)
            self.turn_back(y, x, v)
            self.turn(v, v, y)
            self.turn_back(v, v, x)

    def join(self, a: int, u: int, b: int) -> None:
        """Turn a -> u -> b into a -> b, or a - u - b into the edge a - b; u is to lose all its links."""
        for x, y in [(a, b), (b, a)] if self.both else [(a, b)]:
            self.turn(x, u, y)
            self.turn_back(y, u, x)

    def link(self, u: int, w: int) -> None:
        """Give two nodes an edge, in the place of a link that each does not have yet."""
        for x, y in ((u, w), (w, u)):
            self.turn(x, x, y)
            self.turn_back(x, x, y)

    def isolate(self, u: int) -> None:
        """Take all links from a node."""
        self.out[u] = self.into[u] = u

    def may_swap(self, swap: Change) -> bool:
        """Whether a swap leaves neither self-loops nor parallel links that were not there."""
        return bool(_may_swap(self.out, self.degree, self.both, *swap))

    def swap(self, swap: Change) -> None:
        """Turn a -> b and c -> e into a -> e and c -> b, in both directions where links come in edges."""
        _swap(self.out, self.into, self.both, *swap)

    def ends(self) -> Links:
        """Return the tails and heads of all links."""
        n, d = len(self.out), self.degree
        return np.repeat(np.arange(n, dtype=np.int32), d), self.out[:, :d].ravel().astype(np.int32)

    def missed(self, steps: int, limit: int = int(FAR)) -> int:
        """Return how many ordered pairs are farther apart than that, or some number above the limit."""
        n = len(self.out)
        work = np.empty((2, n, 16), np.uint64)
        return int(_missed(self.out, self.into, n, steps, limit, work[0], work[1]))

    def links(self) -> Counter[tuple[int, int]]:
        """Count the links by their ends."""
        heads = self.out[:, : self.degree].tolist()
        return Counter((u, v) for u, row in enumerate(heads) for v in row)


class Draws:
    """Random numbers that are the same everywhere, the kernels' own."""

    def __init__(self, *seed: int) -> None:
        mixed = 0x9E3779B97F4A7C15
        for number in seed:
            mixed = ((mixed ^ (number + 1)) * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) % 2**64
            mixed ^= mixed >> 29
        self.state = np.array([mixed or 1], np.uint64)
        for _ in range(8):
            self.below(2)

    def below(self, count: int) -> int:
        """Return a number in [0, count)."""
        return int(_draw(self.state, count))

    def shuffled(self, items: list[int]) -> list[int]:
        """Return them in random order."""
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


def swaps_between(before: Counter[tuple[int, int]], after: Counter[tuple[int, int]], both: bool) -> list[Change]:
    """Return swaps that turn one set of links into another, in which every node has as many links.

    A swap settles one link at least, two where the other new link is wanted as well. With ``both`` links come in edges.

    >>> ring, other = Counter([(0, 1), (1, 2), (2, 0)]), Counter([(0, 2), (2, 1), (1, 0)])
    >>> swaps_between(ring, other, both=False)
    [(0, 1, 1, 2), (1, 1, 2, 0)]
    """
    surplus, wanted = before - after, after - before
    swaps: list[Change] = []

    def shift(a: int, b: int, more: int) -> None:
        """Count a link that came or went: it settles a wanted one or a surplus one, if there is such."""
        for key in [(a, b), (b, a)] if both else [(a, b)]:
            fewer, other = (wanted, surplus) if more > 0 else (surplus, wanted)
            if fewer[key] > 0:
                fewer[key] -= 1
            else:
                other[key] += 1

    while any(surplus.values()):
        a, b = min(key for key, count in surplus.items() if count > 0)
        heads = {y for (x, y), count in wanted.items() if x == a and count > 0}
        others = [(c, e) for (c, e), count in surplus.items() if e in heads and count > 0]
        c, e = min(others, key=lambda other: (wanted[other[0], b] <= 0, other[0] == b, other))
        swaps.append((a, b, c, e))
        for x, y, more in ((a, b, -1), (c, e, -1), (a, e, 1), (c, b, 1)):
            shift(x, y, more)
    return swaps


def recipe_of(recipe: Recipe, graph: RegularGraph) -> Recipe:
    """Return the recipe with the swaps that turn its topology into a graph; as it is if there are none."""
    swaps = swaps_between(RegularGraph.of(recipe.topology()).links(), graph.links(), graph.both)
    return Swap(recipe, tuple(swaps)) if swaps else recipe
