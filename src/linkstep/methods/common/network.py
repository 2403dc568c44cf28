"""A topology as the kernels that choose arrivals see it: neighbours, parallel links merged, and weights of link sets.

Not here: what a group makes of it (``linkstep.methods.common.quotient``), the kernels (``linkstep._kernels.arrival``)
and the search that runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkstep.core.distances import distances_to
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.methods.common.links import Links

MAX_LINKS = 10
"""In-neighbours of a node up to which all sets of them are kept in a table."""


@dataclass(frozen=True)
class ArrivalNetwork:
    """In- and out-neighbours of each node; the arrays are described in ``linkstep._kernels.arrival``."""

    topology: Topology
    near: Ids
    near_count: Ids
    after: Ids
    after_count: Ids
    after_bit: Ids
    kind: Ids
    """Nodes whose in-neighbours have the same weights in the same order are of one kind."""
    weight: Ints
    """weight[kind, P]: the relative bandwidth of the links from the in-neighbours in P, together; hosts' limit, if
    that is less."""
    width: Fraction | None = None
    """How many of the fastest links a host keeps busy at once; None: all it has."""

    @classmethod
    def of(cls, topology: Topology, width: Fraction | None = None) -> ArrivalNetwork:
        """Collect a topology's neighbours, self-loops left out."""
        links = Links.of(topology, width)
        n = topology.num_nodes
        head = np.repeat(np.arange(n), np.diff(links.ptr))
        keys = head * n + topology.tail[links.id]
        pairs, place = np.unique(keys, return_inverse=True)
        rate = np.bincount(place.reshape(-1), weights=links.weight).astype(np.int64)
        heads, tails = np.divmod(pairs, n)
        near, near_count, bit = _rows(heads, tails, n)
        order = np.lexsort((heads, tails))
        after, after_count, _ = _rows(tails[order], heads[order], n)
        after_bit = np.zeros(after.shape, np.int32)
        after_bit[tails[order], _numbers(tails[order], n)] = bit[order]
        rates = np.zeros(near.shape, np.int64)
        rates[heads, bit] = rate
        kinds, kind = np.unique(rates, axis=0, return_inverse=True)
        sums = _set_sums(kinds)
        if width is not None:
            sums = np.minimum(sums, int(width * int(links.weight.max())))
        return cls(
            topology, near, near_count, after, after_count, after_bit, kind.reshape(-1).astype(np.int32), sums, width
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return int(self.near_count.size)

    @cached_property
    def dist(self) -> NDArray[np.int16]:
        """dist[u, v]: the distance from v to u."""
        return all_distances(self.topology)

    @property
    def diameter(self) -> int:
        """The largest distance."""
        return int(self.dist.max())

    @property
    def in_weight(self) -> Ints:
        """The relative bandwidth of all links into each node, together."""
        weights: Ints = self.weight[self.kind, (1 << self.near_count.astype(np.int64)) - 1]
        return weights

    def least_total(self) -> Fraction:
        """Return the time, in shards a unit of weight, in which no node can have received all shards."""
        return Fraction(self.num_nodes - 1, int(self.in_weight.min()))


def all_distances(topology: Topology) -> NDArray[np.int16]:
    """Return dist[u, v], the distance from v to u: the arrivals of BFB."""
    return np.array([distances_to(topology, u) for u in range(topology.num_nodes)], np.int16)


def most_neighbours(topology: Topology) -> int:
    """Return the most in-neighbours of any node: links in parallel count once, self-loops not at all."""
    pairs = np.unique(topology.head.astype(np.int64) * topology.num_nodes + topology.tail)
    heads, tails = np.divmod(pairs, topology.num_nodes)
    return int(np.bincount(heads[heads != tails], minlength=1).max())


def _numbers(group: Ints, size: int) -> Ints:
    """Return the place of each item within its group; equal groups stand together."""
    counts = np.bincount(group, minlength=size)
    return np.arange(group.size) - np.repeat(np.cumsum(counts) - counts, counts)


def _rows(group: Ints, item: Ints, size: int) -> tuple[Ids, Ids, Ints]:
    """Return items as rows of a table, a row a group, with their counts and the place of each item in its row."""
    counts = np.bincount(group, minlength=size)
    place = _numbers(group, size)
    table = np.zeros((size, int(counts.max(initial=1))), np.int32)
    table[group, place] = item
    return table, counts.astype(np.int32), place


def _set_sums(rates: Ints) -> Ints:
    """Return, for each row of rates, the sum over every set of columns."""
    sums = np.zeros((len(rates), 1 << rates.shape[1]), np.int64)
    for k in range(rates.shape[1]):
        sums[:, 1 << k : 2 << k] = sums[:, : 1 << k] + rates[:, k : k + 1]
    return sums
