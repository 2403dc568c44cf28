"""The cost of the best BFB schedule without building it, and a certificate that there is no better one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_flow import _costs_by_flows
from linkstep._kernels.bfb_subsets import _costs_by_subsets
from linkstep.core.topology import Topology, distance_profiles
from linkstep.costs import Cost
from linkstep.methods.bfb.problems import Block, Links, Progress, for_each_block, max_steps, representatives

SUBSET_LINKS = 8
"""Up to this many in-links all 2^d sets are tried; above, flows find the worst one."""


@dataclass(frozen=True)
class StepCertificate:
    """Why step ``step`` cannot take less: ``sources`` shards can reach ``node`` in time only over ``links``.

    So some link of them carries at least ``load`` shards (of the fastest link's time, where links differ). To recheck:
    the sources are the nodes v with d(v, node) = step all of whose shortest paths to node end in one of ``links``.
    """

    step: int
    node: int
    links: tuple[int, ...]
    sources: int
    load: Fraction


@dataclass(frozen=True)
class Certificate:
    """One ``StepCertificate`` a step; their loads add up to T_B N / d (eq:lpT_B)."""

    topology: Topology
    steps: tuple[StepCertificate, ...]

    def __repr__(self) -> str:
        return f"<Certificate of BFB on {self.topology!r}: {self.cost}>"

    @property
    def cost(self) -> Cost:
        """The cost that no BFB schedule beats and ``bfb_allgather`` reaches."""
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
            profile = distance_profiles(self.topology, [s.node])[0]
            here = int(profile[s.step])
            if s.load > Fraction(here, d):
                return (
                    f"step {s.step}, {called(s.node)}: {s.sources} of its {here} shards can come only over "
                    f"{len(s.links)} of {d} links, {s.load} a link where {Fraction(here, d)} would be even"
                )
        for s in self.steps:
            counts = distance_profiles(self.topology)[:, s.step]
            if counts.min() < counts.max():
                low = int(counts.argmin())
                return (
                    f"step {s.step}, {called(s.node)}: receives {counts[s.node]} shards while {called(low)} receives "
                    f"{counts[low]} and idles"
                )
        raise AssertionError("T_B is above T_B* though every step is even")


def solve(
    topology: Topology, links: Links, by_flows: bool | None = None, progress: Progress | None = None
) -> Certificate:
    """Find max over nodes of U(u, t) for each step; ``by_flows`` forces one of the two exact methods."""
    if topology.num_nodes == 1:
        return Certificate(topology, ())
    steps = max_steps(topology)
    if by_flows is None:
        by_flows = int(np.diff(links.ptr).max()) > SUBSET_LINKS
    kernel = _costs_by_flows if by_flows else _costs_by_subsets

    def work(block: Block) -> tuple[NDArray[Any], ...]:
        num, den = np.zeros(steps, np.int64), np.ones(steps, np.int64)
        node, tight = np.zeros(steps, np.int64), np.zeros(steps, np.uint64)
        kernel(*block.groups, links.ptr, links.weight, num, den, node, tight)
        return num, den, node, tight

    best: list[tuple[Fraction, int, int, int]] = [(Fraction(0), 0, 0, 0)] * steps
    for columns in for_each_block(topology, representatives(topology), steps, work, progress):
        for t, (num, den, node, tight) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            if Fraction(num, den) > best[t][0]:
                best[t] = (Fraction(num, den), num, node, tight)
    fastest = int(links.weight.max())
    found = []
    for t, (ratio, sources, node, tight) in enumerate(best, 1):
        if not sources:
            break
        ids = links.id[links.ptr[node] : links.ptr[node + 1]].tolist()
        used = tuple(e for k, e in enumerate(ids) if tight >> k & 1)
        found.append(StepCertificate(t, node, used, sources, ratio * fastest))
    return Certificate(topology, tuple(found))


def bfb_certificate(topology: Topology, *, progress: Progress | None = None) -> Certificate:
    """Return, for each step, the node that decides its load and the links that cannot carry less.

    Solved once for a topology and kept with it.

    >>> ring = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
    >>> bfb_certificate(ring).steps
    (StepCertificate(step=1, node=0, links=(2,), sources=1, load=Fraction(1, 1)),)
    """
    if "bfb" not in topology.derived:
        topology.derived["bfb"] = solve(topology, Links.of(topology), progress=progress)
    certificate: Certificate = topology.derived["bfb"]
    return certificate


def bfb_cost(topology: Topology, *, progress: Progress | None = None) -> Cost:
    """Return the cost of the best BFB schedule, exactly, without building one (thm:shortestlpopt).

    One node is enough where the topology is known to be vertex-transitive.

    >>> bfb_cost(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    Cost(steps=2, bandwidth=Fraction(2, 3))
    """
    return bfb_certificate(topology, progress=progress).cost
