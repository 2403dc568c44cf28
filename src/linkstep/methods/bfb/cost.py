"""The cost of the best schedule for given arrivals without building it, and a certificate that there is no better one.

Arrivals are distances in BFB; where a function takes ``arrivals``, None stands for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_flow import _costs_by_flows
from linkstep._kernels.bfb_subsets import _costs_by_subsets
from linkstep.core.arguments import check_kind
from linkstep.core.distances import distance_profiles
from linkstep.core.memo import Memo
from linkstep.core.topology import Topology
from linkstep.costs import Cost
from linkstep.methods.bfb.problems import (
    Arrivals,
    Block,
    Links,
    Progress,
    for_each_block,
    max_steps,
    pieces_of,
    representatives,
)

SUBSET_LINKS = 8
"""Up to this many in-links all 2^d sets are tried; above, flows find the worst one."""


@dataclass(frozen=True)
class StepCertificate:
    """Why step ``step`` cannot take less: ``sources`` shards can reach ``node`` in time only over ``links``.

    So some link of them carries at least ``load`` shards (of the fastest link's time, where links differ). To recheck:
    the sources are the nodes v with d(v, node) = step all of whose shortest paths to node end in one of ``links``. For
    other arrivals a than distances, they are the pieces q with a(q, node) = step whose in-neighbours w of node with
    a(q, w) < step are all tails of ``links``, and a load is in shards of as many pieces as the arrivals say.
    """

    step: int
    node: int
    links: tuple[int, ...]
    sources: int
    load: Fraction


@dataclass(frozen=True)
class Certificate:
    """One ``StepCertificate`` a step; their loads add up to T_B N / d (eq:lpT_B).

    It speaks of BFB schedules, or of those with the same ``arrivals``: with others there may be better ones.
    """

    topology: Topology
    steps: tuple[StepCertificate, ...]
    arrivals: Arrivals | None = None

    def __repr__(self) -> str:
        what = "BFB" if self.arrivals is None else "arrivals"
        return f"<Certificate of {what} on {self.topology!r}: {self.cost}>"

    @property
    def cost(self) -> Cost:
        """The cost that no BFB schedule (none with these arrivals) beats and ``bfb_allgather`` reaches."""
        total = sum((s.load for s in self.steps), Fraction(0))
        return Cost(len(self.steps), total * self.topology.degree / self.topology.num_nodes)

    def explain_bandwidth(self) -> str | None:
        """Say which node and step keep T_B above T_B*, or None if it is reached.

        T_B* needs every link busy all the time: at each step all nodes receive equally much, spread over all d links.
        """
        n, d, called = self.topology.num_nodes, self.topology.degree, self.topology.called
        if self.cost.bandwidth == Fraction(n - 1, n):
            return None
        for s in self.steps:
            here = self._received([s.node])[0][s.step]
            if s.load > here / d:
                bound = Fraction(s.sources, pieces_of(self.arrivals))
                return (
                    f"step {s.step}, {called(s.node)}: {bound} of its {here} shards can come only over "
                    f"{len(s.links)} of {d} links, {s.load} a link where {here / d} would be even"
                )
        for s in self.steps:
            counts = [row[s.step] for row in self._received()]
            if min(counts) < max(counts):
                low = counts.index(min(counts))
                return (
                    f"step {s.step}, {called(s.node)}: receives {counts[s.node]} shards while {called(low)} receives "
                    f"{counts[low]} and idles"
                )
        raise AssertionError("T_B is above T_B* though every step is even")

    def _received(self, nodes: list[int] | None = None) -> list[list[Fraction]]:
        """Return how many shards reach nodes (all if None) at each step."""
        if self.arrivals is None:
            return [[Fraction(x) for x in row] for row in distance_profiles(self.topology, nodes).tolist()]
        rows = self.arrivals.counts[slice(None) if nodes is None else nodes].tolist()
        return [[Fraction(x, self.arrivals.pieces) for x in row] for row in rows]


_FOUND: Memo[Certificate] = Memo()


def solve(
    topology: Topology,
    links: Links,
    by_flows: bool | None = None,
    progress: Progress | None = None,
    arrivals: Arrivals | None = None,
) -> Certificate:
    """Find max over nodes of U(u, t) for each step; ``by_flows`` forces one of the two exact methods."""
    if topology.num_nodes == 1:
        return Certificate(topology, (), arrivals)
    steps = max_steps(topology, arrivals)
    nodes = representatives(topology, arrivals)
    if by_flows is None:
        by_flows = int(np.diff(links.ptr).max()) > SUBSET_LINKS
    kernel = _costs_by_flows if by_flows else _costs_by_subsets

    def work(block: Block) -> tuple[NDArray[Any], ...]:
        num, den = np.zeros(steps, np.int64), np.ones(steps, np.int64)
        node, tight = np.zeros(steps, np.int64), np.zeros(steps, np.uint64)
        kernel(*block.groups, links.ptr, links.weight, num, den, node, tight)
        return num, den, node, tight

    best: list[tuple[Fraction, int, int, int]] = [(Fraction(0), 0, 0, 0)] * steps
    for columns in for_each_block(topology, nodes, steps, work, progress, arrivals):
        for t, (num, den, node, tight) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            if Fraction(num, den) > best[t][0]:
                best[t] = (Fraction(num, den), num, node, tight)
    fastest = Fraction(int(links.weight.max()), pieces_of(arrivals))
    found = []
    for t, (ratio, sources, node, tight) in enumerate(best, 1):
        if not sources:
            break
        ids = links.id[links.ptr[node] : links.ptr[node + 1]].tolist()
        used = tuple(e for k, e in enumerate(ids) if tight >> k & 1)
        found.append(StepCertificate(t, node, used, sources, ratio * fastest))
    return Certificate(topology, tuple(found), arrivals)


def bfb_certificate(topology: Topology, *, progress: Progress | None = None) -> Certificate:
    """Return, for each step, the node that decides its load and the links that cannot carry less.

    Solved once for a topology and kept with it.

    >>> ring = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
    >>> bfb_certificate(ring).steps
    (StepCertificate(step=1, node=0, links=(2,), sources=1, load=Fraction(1, 1)),)
    """
    check_kind("topology", topology, Topology)
    return _FOUND.find(topology, lambda: solve(topology, Links.of(topology), progress=progress))


def bfb_cost(topology: Topology, *, progress: Progress | None = None) -> Cost:
    """Return the cost of the best BFB schedule, exactly, without building one (thm:shortestlpopt).

    One node is enough where the topology is known to be vertex-transitive.

    >>> bfb_cost(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    Cost(steps=2, bandwidth=Fraction(2, 3))
    """
    return bfb_certificate(topology, progress=progress).cost
