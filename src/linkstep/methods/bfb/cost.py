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
from linkstep.core.arguments import check_callable
from linkstep.core.distances import distance_profiles
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.memo import Memo
from linkstep.core.notebook import MAX_ROWS, html_table
from linkstep.core.progress import Progress
from linkstep.core.topology import Topology, check_permanent
from linkstep.costs import Cost, FabricLike, as_fabric, check_host_limit
from linkstep.methods.bfb.hosts import Bottleneck, HostFlows, all_send_alike
from linkstep.methods.bfb.problems import Block, for_each_block, max_steps, nodes_to_solve
from linkstep.methods.common.arrivals import Arrivals, pieces_of
from linkstep.methods.common.links import Links

SUBSET_LINKS = 8
"""Up to this many in-links all 2^d sets are tried; above, flows find the worst one."""


@dataclass(frozen=True)
class StepCertificate:
    """Why step ``step`` cannot take less: ``sources`` shards can reach ``node`` in time only over ``links``.

    So some link of them carries at least ``load`` shards (of the fastest link's time, where links differ). To recheck:
    the sources are the nodes v with d(v, node) = step all of whose shortest paths to node end in one of ``links``. For
    other arrivals a than distances, they are the pieces q with a(q, node) = step whose in-neighbours w of node with
    a(q, w) < step are all tails of ``links``, and a load is in shards of as many pieces as the arrivals say.

    Where hosts have a limit, that of ``receivers`` may decide, whatever links there are; or that of ``senders``: the
    sources are then pairs of a shard and a node that it reaches at this step, all of whose ways end in one of ``links``
    or come from one of the senders. A host's limit counts as the width of the certificate does, links as one each.
    """

    step: int
    node: int
    links: tuple[int, ...]
    sources: int
    load: Fraction
    senders: tuple[int, ...] = ()
    receivers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Certificate:
    """One ``StepCertificate`` a step; their loads add up to T_B N / d (eq:lpT_B).

    It speaks of BFB schedules, or of those with the same ``arrivals``: with others there may be better ones.

    >>> from linkstep import bfb_certificate
    >>> bfb_certificate("K_{2,2}")
    <Certificate of BFB on <Topology 'K_{2,2}' N=4 d=2 links=8>: 2 alpha + 3/4 M/B>
    """

    topology: Topology
    steps: tuple[StepCertificate, ...]
    arrivals: Arrivals | None = None
    width: Fraction | None = None
    """How many of the fastest links a host keeps busy at once, each way; None: all it has."""

    def __repr__(self) -> str:
        what = "BFB" if self.arrivals is None else "arrivals"
        return f"<Certificate of {what} on {self.topology!r}: {self.cost}>"

    def _wiring_(self) -> Topology:
        return self.topology

    def _repr_html_(self) -> str:
        rows = [(f"step {s.step}", f"{s.load} shards on a link of {self.topology.called(s.node)}") for s in self.steps]
        return html_table(f"no such schedule beats {self.cost}", rows[:MAX_ROWS])

    @property
    def cost(self) -> Cost:
        """The cost that no BFB schedule (none with these arrivals) beats and ``bfb_allgather`` reaches."""
        total = sum((s.load for s in self.steps), Fraction(0))
        return Cost(len(self.steps), total * self._ports / self.topology.num_nodes)

    @property
    def _ports(self) -> Fraction | int:
        """How many of the fastest links B stands for."""
        return self.topology.degree if self.width is None else self.width

    def explain_bandwidth(self) -> str | None:
        """Say which node and step keep T_B above T_B*, or None if it is reached.

        T_B* needs every link busy all the time: at each step all nodes receive equally much, spread over all d links.
        """
        n, d, called, ports = self.topology.num_nodes, self.topology.degree, self.topology.called, self._ports
        if self.cost.bandwidth == Fraction(n - 1, n):
            return None
        for s in self.steps:
            here = self._received([s.node])[0][s.step]
            bound = Fraction(s.sources, pieces_of(self.arrivals))
            if s.senders:
                which = f"{called(s.senders[0])}{f' and {len(s.senders) - 1} more' if len(s.senders) > 1 else ''}"
                also = f" or over {len(s.links)} links" if s.links else ""
                return f"step {s.step}: {bound} shards can come only from {which}{also}, limited by the host's ports"
            if s.load > here / ports:
                return (
                    f"step {s.step}, {called(s.node)}: {bound} of its {here} shards can come only over "
                    f"{len(s.links)} of {d} links, {s.load} a link where {here / ports} would be even"
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
    width: Fraction | None = None,
) -> Certificate:
    """Find max over nodes of U(u, t) for each step; ``by_flows`` forces one of the two exact methods."""
    if topology.num_nodes == 1:
        return Certificate(topology, (), arrivals, width)
    steps = max_steps(topology, arrivals)
    nodes = nodes_to_solve(topology, arrivals)
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
            if num and (ratio := Fraction(num, den)) > best[t][0]:
                best[t] = (ratio, num, node, tight)
    fastest = Fraction(int(links.weight.max()), pieces_of(arrivals))
    found = []
    for t, (ratio, sources, node, tight) in enumerate(best, 1):
        if not sources:
            break
        ids = links.id[links.ptr[node] : links.ptr[node + 1]].tolist()
        used = tuple(e for k, e in enumerate(ids) if tight >> k & 1)
        found.append(StepCertificate(t, node, used, sources, ratio * fastest))
    if width is not None:
        found = _limited(HostFlows(topology, links, width, arrivals), found)
    return Certificate(topology, tuple(found), arrivals, width)


def _limited(flows: HostFlows, steps: list[StepCertificate]) -> list[StepCertificate]:
    """Return what decides each step where hosts have a limit: the links as before, or hosts."""
    fastest = Fraction(int(flows.links.weight.max()), pieces_of(flows.arrivals))
    alike, found = all_send_alike(flows.topology, flows.arrivals), []
    for number, step in enumerate(steps):
        best = Bottleneck(step.load / fastest, step.sources, step.node, step.links)
        best = max(best, flows.received(number), key=lambda one: one.load)
        if not alike:
            best = flows.least(number, best)
        load = best.load * fastest
        found.append(StepCertificate(step.step, best.node, best.links, best.jobs, load, best.senders, best.receivers))
    return found


def bfb_certificate(
    topology: WiringLike, fabric: FabricLike | None = None, *, progress: Progress | None = None
) -> Certificate:
    """Return, for each step, the node that decides its load and the links that cannot carry less.

    Solved once for a topology and kept with it. Where the hosts of a fabric have a limit, it may be theirs.

    >>> ring = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
    >>> bfb_certificate(ring).steps[0]
    StepCertificate(step=1, node=0, links=(2,), sources=1, load=Fraction(1, 1), senders=(), receivers=())
    """
    check_callable("progress", progress)
    topology, wires = as_topology(topology), None if fabric is None else as_fabric(fabric)
    check_host_limit(topology, wires, "BFB")
    width = None if wires is None else wires.width(topology)
    return certificate_of(topology, width, progress)


def certificate_of(topology: Topology, width: Fraction | None, progress: Progress | None = None) -> Certificate:
    """Return BFB's certificate for hosts of this width, solved once for a topology."""
    check_permanent(topology, "BFB")
    return _FOUND.find(topology, lambda: solve(topology, Links.of(topology), progress=progress, width=width), width)


def bfb_cost(topology: WiringLike, fabric: FabricLike | None = None, *, progress: Progress | None = None) -> Cost:
    """Return the cost of the best BFB schedule, exactly, without building one (thm:shortestlpopt).

    One node is enough where the topology is known to be vertex-transitive. T_B counts the limit of a fabric's hosts as
    ``cost_of`` does.

    >>> bfb_cost(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    Cost(steps=2, bandwidth=Fraction(2, 3))
    """
    return bfb_certificate(topology, fabric, progress=progress).cost
