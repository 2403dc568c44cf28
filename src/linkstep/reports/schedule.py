"""A schedule that was made: what it costs, what limits it and how far it is from the best possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from linkstep.core.collective import Collective
from linkstep.core.faults import Fault
from linkstep.costs import Cost, lower_bound, seconds_of
from linkstep.reports.pricing import Pricing
from linkstep.reports.view import Seconds, View
from linkstep.reports.wiring import WiringStanding
from linkstep.scheduling import ScheduleResult


@dataclass(frozen=True)
class HalfCost:
    """What one half of an allreduce costs."""

    steps: int
    """T_L."""
    bandwidth: Fraction
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
    bandwidth: Fraction
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

    report: ClassVar[str] = "schedule"

    recipe: str | None
    """The topology; null for a wiring without a name."""
    collective: Collective
    """What it does."""
    method: str
    """What made it, as ``--method`` calls it."""
    steps: int
    """T_L."""
    bandwidth: Fraction
    """T_B, in M/B."""
    halves: tuple[HalfCost, ...]
    """Of an allreduce by arrival times: its reduce-scatter and its allgather."""
    seconds: Seconds
    """Of the schedule."""
    size: str
    """Of the data in all."""
    alpha: str
    """Seconds of a step, with a unit."""
    node_bandwidth: str
    """bit/s of a node over all its ports, with a unit."""
    overhead: str
    """Seconds of a call, with a unit."""
    host_bandwidth: str | None
    """bit/s of all ports of a host together, with a unit; null: as much as they are apart."""
    fabric: str
    """The fabric that the time is for, in words: links may have rates and latencies of their own."""
    ranks: int
    """How many take part."""
    forwarders: int
    """How many nodes take no part and only forward."""
    unit: int
    """Chunks of a shard."""
    rows: int
    """Of the schedule: who sends what over which link at which step."""
    moore_bound: int
    """T_L that no graph of this N and d beats."""
    bandwidth_bound: Fraction | None
    """T_B, in M/B, that nothing beats: of N alone or, of an all-to-all, on this wiring; null where none is known."""
    moore_optimal: bool
    """Whether T_L is that bound."""
    bandwidth_optimal: bool | None
    """Whether T_B is (N-1)/N in each half; null of all-to-all and of what has a root, whose bounds differ."""
    limited_by: str | None
    """The node, the distance and the links that T_B comes from, where it is not optimal and that is known."""
    wiring_bound: WiringStanding | None
    """T_B beside what the wiring allows; null where that takes long or is no measure."""
    file: str | None
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
        half = lower_bound(schedule.num_ranks, topology.degree)
        everyone = schedule.ranks.is_everyone
        bound = sum([half] * len(collective.phases), Cost.zero())
        optimal = None if collective.has_root or collective.exchanges else cost.bandwidth == bound.bandwidth
        text = pricing.text_for(topology.degree)
        return cls(
            recipe=topology.name or None,
            collective=collective,
            method=made.method,
            steps=cost.steps,
            bandwidth=cost.bandwidth,
            halves=HalfCost.all_of(made.halves),
            seconds=seconds_of(schedule, pricing.fabric_for(topology.degree), pricing.size),
            size=pricing.size,
            alpha=text.alpha,
            node_bandwidth=text.bandwidth,
            overhead=text.overhead,
            host_bandwidth=text.host_bandwidth,
            fabric=pricing.words_for(topology),
            ranks=schedule.num_ranks,
            forwarders=topology.num_nodes - schedule.num_ranks,
            unit=schedule.unit,
            rows=schedule.num_rows,
            moore_bound=bound.steps,
            bandwidth_bound=made.least_bandwidth if optimal is None else bound.bandwidth,
            moore_optimal=cost.steps == bound.steps,
            bandwidth_optimal=optimal,
            limited_by=_limit(made) if optimal is False else None,
            # the bounds of an allreduce are of shards that are complete at their own nodes, not at one root
            wiring_bound=None
            if made.method == "rooted" or not everyone
            else WiringStanding.of(topology, collective, cost, made.fabric),
            file=file,
            faults=tuple(str(fault) for fault in faults),
            without_faults=None if whole is None else WholeSchedule.of(whole, pricing),
        )

    @property
    def is_optimal_here(self) -> bool:
        """Whether no schedule on this wiring has less T_B."""
        return self.wiring_bound is not None and self.wiring_bound.optimal


def _limit(made: ScheduleResult) -> str | None:
    if made.certificate is None or made.method not in ("bfb", "arrival"):
        return None
    return made.certificate.explain_bandwidth()
