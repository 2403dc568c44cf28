"""What a wiring allows at best: steps against bandwidth, priced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from linkstep.core.collective import Collective
from linkstep.core.topology import Topology
from linkstep.costs import bandwidth_bound
from linkstep.reports.pricing import Pricing
from linkstep.reports.schedule import HalfCost
from linkstep.reports.view import TB, Seconds, Size, View
from linkstep.scheduling import Point


@dataclass(frozen=True)
class TradeOffPoint:
    """A cost that no other equals or beats in both steps and bandwidth."""

    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    t_b_bound_in_steps: TB | None
    """T_B, in M/B, that no schedule in as many steps goes below; null: not known."""
    method: str
    """What makes such a schedule, as ``--method`` calls it."""
    halves: tuple[HalfCost, ...]
    """Of an allreduce by arrival times: its reduce-scatter and its allgather."""
    seconds: Seconds
    """At the slowest link's latency, where links differ in it."""


@dataclass(frozen=True)
class TradeOffReport(View):
    """The costs worth choosing from on one wiring, fewest steps first."""

    report: ClassVar[str] = "trade-off"

    recipe: str
    """The topology."""
    collective: Collective
    """What schedules do."""
    size: Size
    """Of the data that times are for."""
    fabric: str
    """The fabric that times are for, in words."""
    t_b_bound: TB
    """T_B, in M/B, that no graph of this N goes below."""
    plot: str | None
    """The file with a plot of the points."""
    seconds_at_most: bool
    """Whether a schedule may take less than a point says: links differ in latency, or hosts have a limit, by which all
    links of what is not bandwidth-optimal are taken to run slower."""
    points: tuple[TradeOffPoint, ...]

    @classmethod
    def of(
        cls,
        topology: Topology,
        collective: Collective,
        points: Sequence[Point],
        pricing: Pricing,
        name: str,
        plot: str | None = None,
    ) -> TradeOffReport:
        """Price the points of a topology, which is called by its own name if it has one."""
        fabric, alpha = pricing.fabric_for(topology.degree).slowest_on(topology), topology.alpha
        bound = len(collective.phases) * bandwidth_bound(topology.num_nodes)
        is_limited = fabric.is_limited_by_hosts and any(point.cost.bandwidth != bound for point in points)
        return cls(
            recipe=topology.name or name,
            collective=collective,
            size=pricing.size,
            fabric=pricing.words_for(topology),
            t_b_bound=bound,
            plot=plot,
            seconds_at_most=is_limited or (alpha is not None and bool((alpha != alpha[0]).any())),
            points=tuple(
                TradeOffPoint(
                    steps=point.cost.steps,
                    t_b=point.cost.bandwidth,
                    t_b_bound_in_steps=point.least,
                    method=point.method,
                    halves=HalfCost.all_of(point.halves),
                    seconds=fabric.time(point.cost, collective, pricing.size),
                )
                for point in points
            ),
        )
