"""Grafts: a topology with a few nodes put in or taken out, or a few links swapped. Every node keeps its degree.

Changes are made one after another and each names its links, so a graft gives the same graph wherever it is built. Not
here: which nodes and links to choose (``linkstep.search.sweep.grafts``), and schedules: they are not expanded but made
for the graph that results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from linkstep.core.errors import TopologyError
from linkstep.core.topology import Ints, Topology

Change = tuple[int, ...]
"""One node put in or taken out, or two links swapped."""


class _Links:
    """The links of a topology while a few of them change; links of one key (tail, head) are alike."""

    def __init__(self, topology: Topology, num_nodes: int, is_duplex: bool) -> None:
        self.tail, self.head = topology.tail.astype(np.int64), topology.head.astype(np.int64)
        self.size = max(num_nodes, topology.num_nodes)
        self.keys = self.tail * self.size + self.head
        self.is_duplex = is_duplex
        self.more: dict[int, int] = defaultdict(int)

    def _first(self, key: int) -> tuple[int, int]:
        """Return where the links of a key begin, and how many the topology has."""
        first, end = np.searchsorted(self.keys, [key, key + 1])
        return int(first), int(end - first)

    def _ways(self, a: int, b: int) -> list[int]:
        return [a * self.size + b, b * self.size + a] if self.is_duplex else [a * self.size + b]

    def take(self, a: int, b: int) -> None:
        """Take out the link a -> b, of a duplex graph b -> a too; raise if it is not there."""
        for key in self._ways(a, b):
            self.more[key] -= 1
            if self._first(key)[1] + self.more[key] < 0:
                raise TopologyError(f"there is no link {key // self.size} -> {key % self.size}")

    def put(self, a: int, b: int) -> None:
        """Put in a link a -> b, in a duplex graph b -> a too."""
        for key in self._ways(a, b):
            self.more[key] += 1

    def ends(self) -> tuple[Ints, Ints]:
        """Return tails and heads as they are now."""
        stays = np.ones(self.keys.size, bool)
        for key, more in self.more.items():
            first, _ = self._first(key)
            stays[first : first + max(0, -more)] = False
        new = np.array([key for key, more in self.more.items() for _ in range(more)], np.int64)
        keys = np.concatenate([self.keys[stays], new])
        return keys // self.size, keys % self.size


@contextmanager
def _naming(change: Change) -> Iterator[None]:
    """Say in an error which tuple it is about."""
    try:
        yield
    except TopologyError as error:
        raise TopologyError(f"tuple {written(change)}: {error}") from None


def written(change: Change) -> str:
    """Return a tuple as recipes have it.

    >>> written((3, 0, 7, 4))
    '(3,0,7,4)'
    """
    return "(" + ",".join(map(str, change)) + ")"


def _pairs(change: Change) -> list[tuple[int, int]]:
    return list(zip(change[::2], change[1::2], strict=True))


def insert_nodes(topology: Topology, changes: Sequence[Change], *, edges: bool) -> Topology:
    """Put in a node for each tuple (a, b, c, e, ...), numbered on from N: a -> b becomes a -> v -> b, and so on.

    With ``edges`` the edge a - b becomes a - v - b, duplex links; where d is odd new nodes come in twos, linked to
    each other.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> insert_nodes(ring, [(0, 1), (2, 0)], edges=False).head.tolist()
    [3, 2, 4, 1, 0]
    """
    num_nodes = topology.num_nodes + len(changes)
    links = _Links(topology, num_nodes, edges)
    for v, change in enumerate(changes, topology.num_nodes):
        with _naming(change):
            for a, b in _pairs(change):
                links.take(a, b)
                links.put(a, v)
                links.put(v, b)
        if edges and topology.degree % 2 and (v - topology.num_nodes) % 2:
            links.put(v - 1, v)
    return Topology.from_links(num_nodes, *links.ends())


def remove_nodes(topology: Topology, changes: Sequence[Change], *, edges: bool) -> Topology:
    """Take out a node u for each tuple (u, a, b, c, e, ...): a -> u -> b becomes a -> b, and so on.

    With ``edges`` a - u - b becomes the edge a - b; where d is odd nodes go in twos that are linked to each other.
    Tuples speak of the nodes as numbered in ``topology``; those that stay then close up in order.

    >>> ring = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    >>> remove_nodes(ring, [(1, 0, 2)], edges=False).head.tolist()
    [1, 2, 0]
    """
    links = _Links(topology, topology.num_nodes, edges)
    for i, change in enumerate(changes):
        u = change[0]
        with _naming(change):
            for a, b in _pairs(change[1:]):
                links.take(a, u)
                links.take(u, b)
                links.put(a, b)
            if edges and topology.degree % 2 and i % 2:
                links.take(changes[i - 1][0], u)
    stays = np.ones(topology.num_nodes, bool)
    stays[[change[0] for change in changes]] = False
    tail, head = links.ends()
    left = np.flatnonzero(~stays[tail] | ~stays[head])
    if left.size:
        raise TopologyError(f"link {tail[left[0]]} -> {head[left[0]]} of a node that goes is not joined to another")
    number = np.cumsum(stays) - 1
    return Topology.from_links(topology.num_nodes - len(changes), number[tail], number[head])


def swap_links(topology: Topology, changes: Sequence[Change]) -> Topology:
    """For each tuple (a, b, c, e), in order, turn the links a -> b and c -> e into a -> e and c -> b.

    Of a bidirectional topology the links the other way go along: edges a - b, c - e become a - e, c - b.

    >>> ring = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    >>> swap_links(ring, [(0, 1, 2, 3), (0, 3, 1, 2)]).head.tolist()
    [2, 3, 1, 0]
    """
    links = _Links(topology, topology.num_nodes, topology.is_bidirectional)
    for change in changes:
        with _naming(change):
            a, b, c, e = change
            links.take(a, b)
            links.take(c, e)
            links.put(a, e)
            links.put(c, b)
    return Topology.from_links(topology.num_nodes, *links.ends())
