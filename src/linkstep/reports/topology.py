"""What a topology is and how far from the best possible: what ``show`` says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from linkstep.baselines import Baseline, baselines_on
from linkstep.core.collective import Collective
from linkstep.core.faults import Fault
from linkstep.core.topology import Topology
from linkstep.costs import Cost, Fabric, all_to_all_bound, bandwidth_bound, moore_steps, seconds_of
from linkstep.description import Description
from linkstep.recipe import Recipe
from linkstep.recipe.names import source_of
from linkstep.reports.halves import Halves
from linkstep.reports.pricing import Pricing
from linkstep.reports.sizes import SizeRow, sizes_of_wiring
from linkstep.reports.view import TB, BitRate, FieldForm, Seconds, Size, View
from linkstep.reports.wiring import WiringStanding
from linkstep.scheduling import best_offer, schedule

_QUICK_WORK = 2 * 10**7
"""Nodes times links up to which methods are asked what they would cost: seconds."""


@dataclass(frozen=True)
class BfbFacts:
    """The best BFB schedules of a topology."""

    steps: int
    """T_L of the allgather."""
    t_b: TB
    """T_B of the allgather, in M/B."""
    limited_by: str | None
    """The node, the distance and the links that T_B comes from; null where it is (N-1)/N."""
    allreduce_steps: int
    """T_L of the allreduce."""
    allreduce_t_b: TB
    """T_B of the allreduce, in M/B."""
    size: Size
    """Of the data that times are for."""
    fabric: str
    """The fabric that times are for, in words."""
    allgather_seconds: Seconds
    """Of an allgather of ``size``."""
    allreduce_seconds: Seconds
    """Of an allreduce of ``size``."""

    @classmethod
    def of(cls, found: Description, pricing: Pricing) -> BfbFacts | None:
        """Price what BFB costs; None where it was not worked out."""
        if found.certificate is None or found.reduce_scatter is None:
            return None
        cost, both = found.certificate.cost, found.certificate.cost + found.reduce_scatter
        gather, reduce = _seconds(found.topology, cost, both, pricing)
        return cls(
            steps=cost.steps,
            t_b=cost.bandwidth,
            limited_by=found.certificate.explain_bandwidth(),
            allreduce_steps=both.steps,
            allreduce_t_b=both.bandwidth,
            size=pricing.size,
            fabric=pricing.words_for(found.topology),
            allgather_seconds=gather,
            allreduce_seconds=reduce,
        )


@dataclass(frozen=True)
class BestSchedule:
    """The best allreduce known on a topology: what ``linkstep schedule`` makes."""

    method: str
    """What makes it."""
    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    allreduce_seconds: Seconds
    """Of an allreduce of ``size``."""
    size: Size
    """Of the data that times are for."""
    fabric: str
    """The fabric that times are for, in words."""
    bandwidth_optimal: bool
    """Whether each half has T_B = (N-1)/N."""

    @classmethod
    def of(cls, found: Description, recipe: Recipe | None, pricing: Pricing) -> BestSchedule | None:
        """Ask the methods what they would cost; None where that takes long."""
        topology, fabric = found.topology, pricing.fabric_for(found.topology.degree)
        if found.certificate is None or topology.num_nodes * topology.num_links > _QUICK_WORK:
            return None
        source: Topology | Recipe = topology if recipe is None else recipe
        if topology.alpha is None:
            offer = best_offer(source, Collective.ALLREDUCE, fabric)
            method, cost = offer.method.name, offer.cost
            seconds = fabric.on(topology).time(cost, Collective.ALLREDUCE, pricing.size)
        else:
            made = schedule(source, Collective.ALLREDUCE, fabric=fabric)
            method, cost, seconds = made.method, made.cost, seconds_of(made.schedule, fabric, pricing.size)
        least = 2 * bandwidth_bound(topology.num_nodes)
        words = pricing.words_for(topology)
        return cls(
            method, cost.steps, cost.bandwidth, seconds, pricing.size, words, cost.bandwidth == least
        )  # fmt: skip


def _seconds(topology: Topology, gather: Cost, both: Cost, pricing: Pricing) -> list[Fraction]:
    """Return seconds of an allgather and of an allreduce; where links have latencies, of the schedules themselves."""
    fabric = pricing.fabric_for(topology.degree)
    if topology.alpha is None:
        costs = ((gather, Collective.ALLGATHER), (both, Collective.ALLREDUCE))
        return [fabric.on(topology).time(cost, collective, pricing.size) for cost, collective in costs]
    both_made = (
        schedule(topology, wanted, method="bfb", fabric=fabric)
        for wanted in (Collective.ALLGATHER, Collective.ALLREDUCE)
    )
    return [seconds_of(one.schedule, fabric, pricing.size) for one in both_made]


@dataclass(frozen=True)
class SplitFacts:
    """The proof that BFB is bandwidth-optimal where shards split equally among the links that may carry them."""

    loads: tuple[Fraction, ...]
    """Shards that a link carries at each step."""
    constants: tuple[tuple[int, ...], ...] | None
    """At distance 1, 2, ...: nodes, shards that a link serves, links of a shard; null where nodes differ."""

    @classmethod
    def of(cls, found: Description) -> SplitFacts | None:
        """Return the proof; None where there is none."""
        if found.equal_split is None:
            return None
        constants = found.equal_split.constants
        rows = None if constants is None else tuple(tuple(row) for row in constants)
        return cls(tuple(found.equal_split.loads), rows)


@dataclass(frozen=True)
class ScheduleInUse:
    """A schedule that people run on such a wiring today."""

    schedule_name: str
    """The schedule, as people call it."""
    halves: Annotated[Halves, FieldForm.INLINE]
    allreduce_seconds: Seconds
    """Of an allreduce of the size that times are for."""
    allreduce_at_most: bool
    """Whether it takes at most that: its links are all taken to run slower by what a host lacks."""

    @classmethod
    def of(cls, one: Baseline, fabric: Fabric, size: str) -> ScheduleInUse:
        """Price a baseline."""
        at_most = not one.is_time_exact(fabric, size)
        return cls(one.name, Halves.of(*one.halves_at(fabric, size)), one.allreduce_time(fabric, size), at_most)


@dataclass(frozen=True)
class WholeTopology:
    """What faults change, as it was without them."""

    nodes: int
    """N."""
    num_links: int
    """One way each."""
    best: BestSchedule | None
    """null where looking for it takes long."""
    bfb: BfbFacts | None

    @classmethod
    def of(cls, found: Description, pricing: Pricing) -> WholeTopology:
        """Take the topology before its faults."""
        topology = found.topology
        best = BestSchedule.of(found, None, pricing)
        return cls(topology.num_nodes, topology.num_links, best, BfbFacts.of(found, pricing))


@dataclass(frozen=True)
class TopologyReport(View):
    """A topology: size, distances, symmetries, bounds, and what schedules cost on it; null: not determined."""

    report: ClassVar[str] = "topology-report"

    recipe: str | None
    """How it is constructed, or its name; null for a wiring without either."""
    paper_name: str | None
    """What the paper calls it."""
    source: str | None
    """Who found it, for graphs from elsewhere."""
    labels: tuple[str, ...] | None
    """Names of the hosts."""
    faults: tuple[str, ...]
    """What is cut, down or slow."""
    nodes: int
    """N."""
    degree: int
    """Links out of a node, d; the most of any node where they differ."""
    num_links: int
    """One way each."""
    regular: bool
    """Whether every node has d links in and out."""
    self_loops: int
    """Links from a node to itself, which carry nothing."""
    parallel_links: int
    """Links beside another with the same ends."""
    duplex: bool
    """Whether all links are duplex (both ways)."""
    vertex_transitive: bool | None
    """Whether all nodes are alike."""
    reverse_symmetric: bool | None
    """Whether it is isomorphic to its transpose."""
    diameter: int
    """The most hops between two nodes."""
    nodes_by_distance: tuple[int, ...] | None
    """Nodes at distance 0, 1, ...; null where nodes see different numbers."""
    mean_nodes_by_distance: tuple[Fraction, ...]
    """The same, averaged over nodes."""
    mean_distance: Fraction
    """Hops, over ordered pairs of different nodes."""
    moore_steps: int
    """The diameter that no graph of this N and d beats."""
    moore_steps_duplex: int | None
    """The same for graphs with duplex links; null where there are none."""
    t_b_bound: TB
    """T_B that no schedule beats at this N, in M/B: (N-1)/N."""
    best: BestSchedule | None
    """null where looking for it takes long."""
    bfb: BfbFacts | None
    equal_split: SplitFacts | None
    """null where there is no such proof."""
    wiring_bound: WiringStanding | None
    """The BFB allgather beside what the wiring allows; null where that takes long."""
    baselines: tuple[ScheduleInUse, ...]
    """What people run on such a wiring today."""
    all_to_all_bound: Annotated[Fraction | None, FieldForm.OPTIONAL]
    """The part of a link's rate that every pair can get at once, by the distances; left out of a single node."""
    all_to_all_bandwidth: Annotated[BitRate | None, FieldForm.OPTIONAL]
    """What a server sends to all others together in an all-to-all at most, by that; left out of a single node."""
    all_to_all_bound_any: Annotated[Fraction | None, FieldForm.OPTIONAL]
    """The same for any graph of this N and d."""
    sizes: tuple[SizeRow, ...]
    """What an allreduce takes at each size, where sizes were asked for, beside what is run today."""
    without_faults: WholeTopology | None
    """null where there are no faults."""

    @classmethod
    def of(
        cls,
        found: Description,
        pricing: Pricing,
        recipe: Recipe | None = None,
        faults: Sequence[Fault] = (),
        whole: Description | None = None,
        sizes: Sequence[int] = (),
    ) -> TopologyReport:
        """Price a description; with faults, ``whole`` describes the topology without them."""
        topology = found.topology
        n, d = topology.num_nodes, topology.degree
        bound, wires = found.all_to_all_bound, pricing.fabric_for(d).on(topology)
        return cls(
            recipe=str(recipe) if recipe else topology.name or None,
            paper_name=recipe.paper() if recipe else None,
            source=source_of(str(recipe)) if recipe else None,
            labels=topology.labels,
            faults=tuple(str(fault) for fault in faults),
            nodes=n,
            degree=d,
            num_links=topology.num_links,
            regular=topology.is_regular,
            self_loops=topology.num_self_loops,
            parallel_links=topology.num_parallel,
            duplex=topology.is_bidirectional,
            vertex_transitive=found.vertex_transitive,
            reverse_symmetric=found.reverse_symmetric,
            diameter=found.diameter,
            nodes_by_distance=None if found.profile is None else tuple(found.profile.tolist()),
            mean_nodes_by_distance=found.mean_profile,
            mean_distance=found.mean_distance,
            moore_steps=moore_steps(n, d),
            moore_steps_duplex=moore_steps(n, d, bidirectional=True) if d > 1 or n <= 2 else None,
            t_b_bound=bandwidth_bound(n),
            best=BestSchedule.of(found, recipe, pricing),
            bfb=BfbFacts.of(found, pricing),
            equal_split=SplitFacts.of(found),
            wiring_bound=_wiring(found, pricing.fabric_for(d)),
            baselines=() if recipe is None else _today(recipe, pricing),
            all_to_all_bound=bound,
            all_to_all_bandwidth=None if bound is None else bound * (n - 1) * wires.link_bandwidth,
            all_to_all_bound_any=None if bound is None else all_to_all_bound(n, d),
            sizes=sizes_of_wiring(topology, recipe, pricing, sizes),
            without_faults=None if whole is None else WholeTopology.of(whole, pricing),
        )

    @property
    def is_optimal_here(self) -> bool:
        """Whether no allgather on this wiring has less T_B than the best of BFB."""
        return self.wiring_bound is not None and self.wiring_bound.optimal


def _wiring(found: Description, fabric: Fabric) -> WiringStanding | None:
    if found.certificate is None:
        return None
    return WiringStanding.of(found.topology, Collective.ALLGATHER, found.certificate.cost, fabric)


def _today(recipe: Recipe, pricing: Pricing) -> tuple[ScheduleInUse, ...]:
    fabric = pricing.fabric_for(recipe.degree)
    return tuple(ScheduleInUse.of(one, fabric, pricing.size) for one in baselines_on(recipe))
