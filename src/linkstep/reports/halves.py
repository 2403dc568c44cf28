"""Costs that several reports have: of both halves of an allreduce, and of our schedule on wires of others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.costs import Cost, Fabric, bandwidth_bound
from linkstep.reports.view import TB, Seconds


@dataclass(frozen=True)
class Halves:
    """An allreduce and its two halves."""

    steps: int
    """T_L of the allreduce."""
    t_b: TB
    """T_B of the allreduce, in M/B."""
    allgather_steps: int
    """T_L of the allgather."""
    allgather_t_b: TB
    """T_B of the allgather, in M/B."""
    reduce_scatter_steps: int
    """T_L of the reduce-scatter."""
    reduce_scatter_t_b: TB
    """T_B of the reduce-scatter, in M/B."""

    @classmethod
    def of(cls, reduced: Cost, gathered: Cost) -> Halves:
        """Take costs apart: of the reduce-scatter, which comes first, and of the allgather."""
        both = reduced + gathered
        return cls(
            both.steps, both.bandwidth, gathered.steps, gathered.bandwidth, reduced.steps, reduced.bandwidth
        )  # fmt: skip

    @property
    def costs(self) -> tuple[Cost, Cost]:
        """Reduce-scatter and allgather."""
        reduced = Cost(self.reduce_scatter_steps, self.reduce_scatter_t_b)
        return reduced, Cost(self.allgather_steps, self.allgather_t_b)


@dataclass(frozen=True)
class OurSchedule:
    """What our schedule takes on the same wires; null: not worked out."""

    our_steps: int | None
    """T_L of our allreduce on these wires; null where to say it takes a while."""
    our_t_b: TB | None
    """T_B of our allreduce, in M/B."""
    our_allreduce_seconds: Seconds | None
    """Of our allreduce of ``size``."""
    our_allreduce_at_most: bool | None
    """Whether it takes at most that: its links are all taken to run slower by what a host lacks."""

    @classmethod
    def of(cls, half: Cost | None, num_nodes: int, fabric: Fabric, size: str) -> OurSchedule:
        """Price a schedule whose halves cost the same; what is bandwidth-optimal stays it, whatever hosts carry."""
        if half is None:
            return cls(None, None, None, None)
        at_most = fabric.is_limited_by_hosts and half.bandwidth != bandwidth_bound(num_nodes)
        both = half + half
        return cls(both.steps, both.bandwidth, fabric.time(both, Collective.ALLREDUCE, size), at_most)

    @property
    def known(self) -> tuple[Cost, Fraction] | None:
        """The cost and the seconds of an allreduce."""
        if self.our_steps is None or self.our_t_b is None or self.our_allreduce_seconds is None:
            return None
        return Cost(self.our_steps, self.our_t_b), self.our_allreduce_seconds
