"""A schedule that was made: what it costs, what limits it and how far it is from the best possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from linkstep.core.collective import Collective
from linkstep.core.faults import Fault
from linkstep.core.topology import Topology
from linkstep.costs import Cost, lower_bound, seconds_of
from linkstep.reports.pricing import FabricFacts, Pricing
from linkstep.reports.view import TB, FieldForm, Seconds, Size, View
from linkstep.reports.wiring import WiringStanding
from linkstep.scheduling import ScheduleResult


@dataclass(frozen=True)
class HalfCost:
    """What one half of an allreduce costs."""

    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""

    @classmethod
    def all_of(cls, halves: Sequence[Cost]) -> tuple[HalfCost, ...]:
        """Take costs apart."""
        return tuple(cls(half.steps, half.bandwidth) for half in halves)


@dataclass(frozen=True)
class WholeSchedule:
    """What faults change, as it was without them."""

    method: str
    """What made it."""
    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    seconds: Seconds
    """Of the schedule."""

    @classmethod
    def of(cls, made: ScheduleResult, pricing: Pricing) -> WholeSchedule:
        """Price a schedule on the topology before its faults."""
        seconds = seconds_of(made.schedule, pricing.fabric_for(made.schedule.topology.degree), pricing.size)
        return cls(made.method, made.cost.steps, made.cost.bandwidth, seconds)


@dataclass(frozen=True)
class ScheduleReport(View):
    """A schedule: what it costs, beside the bounds of N and d and of its wiring."""

    report: ClassVar[str] = "schedule-report"

    recipe: str | None
    """The topology; null for a wiring without a name."""
    collective: Collective
    """What it does."""
    method: str
    """What made it, as ``--method`` calls it."""
    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    halves: tuple[HalfCost, ...]
    """Of an allreduce by arrival times: its reduce-scatter and its allgather."""
    seconds: Seconds
    """Of the schedule."""
    size: Size
    """Of the data in all."""
    fabric_facts: Annotated[FabricFacts, FieldForm.INLINE]
    fabric: str
    """The fabric that the time is for, in words: links may have rates and latencies of their own."""
    ranks: int
    """How many take part."""
    forwarders: int
    """How many nodes take no part and only forward."""
    chunks_per_shard: int
    """That a shard is cut into."""
    num_rows: int
    """Of the schedule: who sends what over which link at which step."""
    steps_bound: int
    """T_L that no wiring of this N, d and kind of cable beats, of each half of an allreduce."""
    t_b_bound: TB | None
    """T_B, in M/B, that nothing beats: of N alone or, of an all-to-all, on this wiring; null where none is known."""
    moore_optimal: bool
    """Whether T_L is that bound."""
    bandwidth_optimal: bool | None
    """Whether T_B is (N-1)/N in each half; null of all-to-all and of what has a root, whose bounds differ."""
    limited_by: str | None
    """The node, the distance and the links that T_B comes from, where it is not optimal and that is known."""
    wiring_bound: WiringStanding | None
    """T_B beside what the wiring allows; null where that takes long or is no measure."""
    output: str | None
    """Where the schedule was saved."""
    faults: tuple[str, ...]
    """What is cut, down or slow."""
    without_faults: WholeSchedule | None
    """null where there are no faults."""

    @classmethod
    def of(
        cls,
        made: ScheduleResult,
        pricing: Pricing,
        file: str | None = None,
        faults: Sequence[Fault] = (),
        whole: ScheduleResult | None = None,
    ) -> ScheduleReport:
        """Price a schedule; with faults, ``whole`` is one for the topology without them."""
        schedule, cost = made.schedule, made.cost
        topology, collective = schedule.topology, schedule.collective
        half = lower_bound(schedule.num_ranks, topology.degree, bidirectional=is_duplex_bound(topology))
        everyone = schedule.ranks.is_everyone
        bound = sum([half] * len(collective.phases), Cost.zero())
        optimal = None if collective.has_root or collective.exchanges else cost.bandwidth == bound.bandwidth
        return cls(
            recipe=topology.name or None,
            collective=collective,
            method=made.method,
            steps=cost.steps,
            t_b=cost.bandwidth,
            halves=HalfCost.all_of(made.halves),
            seconds=seconds_of(schedule, pricing.fabric_for(topology.degree), pricing.size),
            size=pricing.size,
            fabric_facts=FabricFacts.of(pricing.fabric_for(topology.degree)),
            fabric=pricing.words_for(topology),
            ranks=schedule.num_ranks,
            forwarders=topology.num_nodes - schedule.num_ranks,
            chunks_per_shard=schedule.unit,
            num_rows=schedule.num_rows,
            steps_bound=bound.steps,
            t_b_bound=made.least_bandwidth if optimal is None else bound.bandwidth,
            moore_optimal=cost.steps == bound.steps,
            bandwidth_optimal=optimal,
            limited_by=_limit(made) if optimal is False else None,
            # the bounds of an allreduce are of shards that are complete at their own nodes, not at one root
            wiring_bound=None
            if made.method == "rooted" or not everyone
            else WiringStanding.of(topology, collective, cost, made.fabric),
            output=file,
            faults=tuple(str(fault) for fault in faults),
            without_faults=None if whole is None else WholeSchedule.of(whole, pricing),
        )

    @property
    def is_optimal_here(self) -> bool:
        """Whether no schedule on this wiring has less T_B."""
        return self.wiring_bound is not None and self.wiring_bound.optimal


def is_duplex_bound(topology: Topology) -> bool:
    """Whether what bounds wirings of duplex cables bounds this one; with one port there are none but pairs."""
    return topology.is_bidirectional and (topology.degree > 1 or topology.num_nodes <= 2)


def _limit(made: ScheduleResult) -> str | None:
    if made.certificate is None or made.method not in ("bfb", "arrival"):
        return None
    return made.certificate.explain_bandwidth()
