"""Allreduce through one root (sec:allreduceopt): everything is reduced to the best node, and broadcast from it.

It takes as many steps as the farthest node is from the root and as the root is from the farthest node, along shortest
paths: twice the radius where links are duplex, and never fewer than reduce-scatter and allgather where the radius is
the diameter, as in every vertex-transitive topology. The links far from the root carry as much as those near it, so the
bandwidth is poor: this is for small data on wirings whose nodes differ. Not here: halves that overlap, with each shard
complete at its own node (``linkstep.methods.overlap``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.distances import check_connected, distances_from, distances_to
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.costs import Cost
from linkstep.symmetry.known import known_representatives


@dataclass(frozen=True, eq=False)
class _Way:
    """One of the two passes: at each step some links carry one of as many equal parts as their node has links."""

    link: Ints
    step: Ints
    part: Ints
    parts: Ints

    @classmethod
    def of(cls, topology: Topology, far: Ids, ends: tuple[Ids, Ids], steps: Ints) -> _Way:
        """Collect the links between nodes at distance x - 1 and x from the root, x being that of the outer ends."""
        inner, outer = ends
        link = np.flatnonzero(far[outer] == far[inner] + 1)
        link = link[np.argsort(outer[link], kind="stable")]
        node = outer[link]
        count = np.bincount(node, minlength=topology.num_nodes)
        part = np.arange(link.size) - (np.cumsum(count) - count)[node]
        return cls(link, steps[far[node]], part, count[node])

    def loads(self, topology: Topology) -> list[Fraction]:
        """Return what each step takes, in all of the data over a fastest link."""
        rates = [1] * topology.num_links if topology.bandwidth is None else topology.bandwidth.tolist()
        fastest = max(rate for rate, u, w in zip(rates, topology.tail, topology.head, strict=True) if u != w)
        found: dict[int, Fraction] = {}
        for e, step, parts in zip(self.link.tolist(), self.step.tolist(), self.parts.tolist(), strict=True):
            found[step] = max(found.get(step, Fraction(0)), Fraction(fastest, rates[e] * parts))
        return list(found.values())


def _ways(topology: Topology, root: int) -> tuple[_Way, _Way]:
    """Return the reduction to a root and the broadcast from it: a node's last link in or first link out may be any."""
    to, out = distances_to(topology, root), distances_from(topology, root)
    last = int(to.max())
    reduce = _Way.of(topology, to, (topology.head, topology.tail), last + 1 - np.arange(last + 1))
    gather = _Way.of(topology, out, (topology.tail, topology.head), last + np.arange(int(out.max()) + 1))
    return reduce, gather


def best_root(topology: Topology) -> tuple[int, int]:
    """Return the node through which an allreduce takes the fewest steps, the first of several, and how many.

    >>> best_root(Topology.from_links(5, [0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]))
    (2, 4)
    """
    check_connected(topology)
    known = known_representatives(topology)
    nodes = range(topology.num_nodes) if known is None else known.tolist()
    steps = {u: int(distances_to(topology, u).max()) + int(distances_from(topology, u).max()) for u in nodes}
    root = min(steps, key=steps.__getitem__)
    return root, steps[root]


def rooted_cost(topology: Topology) -> Cost:
    """Return the cost of what ``rooted_allreduce`` makes."""
    if topology.num_nodes == 1:
        return Cost.zero()
    root, steps = best_root(topology)
    loads = [load for way in _ways(topology, root) for load in way.loads(topology)]
    return Cost(steps, sum(loads, Fraction(0)) * topology.degree)


def rooted_allreduce(topology: Topology) -> Schedule:
    """Return the allreduce through the best root.

    A node that has several links on shortest paths sends, or receives, an equal part of the data over each.

    >>> rooted_allreduce(Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1]))
    <Schedule allreduce on N=3: 12 rows, 2 steps, unit 1>
    """
    n = topology.num_nodes
    if n == 1:
        return Schedule.from_columns(topology, 1, [], [], [], [], [], Collective.ALLREDUCE)
    ways = _ways(topology, best_root(topology)[0])
    link, step, part, parts = (
        np.concatenate([getattr(way, what) for way in ways]) for what in ("link", "step", "part", "parts")
    )
    grid = lcm(*np.unique(parts).tolist())
    unit = grid // gcd(grid, n)
    first, last = part * (n * unit) // parts, (part + 1) * (n * unit) // parts
    count = (last - 1) // unit - first // unit + 1  # shards that a part lies in
    row = np.repeat(np.arange(link.size), count)
    source = first[row] // unit + np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    lo, hi = np.maximum(first[row] - source * unit, 0), np.minimum(last[row] - source * unit, unit)
    return Schedule.from_columns(topology, unit, source, lo, hi, link[row], step[row], Collective.ALLREDUCE)
