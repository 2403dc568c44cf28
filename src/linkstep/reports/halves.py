"""Costs that several reports have: of both halves of an allreduce, and of our schedule on wires of others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.costs import Cost, Fabric, bandwidth_bound
from linkstep.reports.view import Seconds


@dataclass(frozen=True)
class Halves:
    """The two halves of an allreduce."""

    steps: int
    """T_L of the allgather."""
    bandwidth: Fraction
    """T_B of the allgather, in M/B."""
    reduce_scatter_steps: int
    """T_L of the reduce-scatter."""
    reduce_scatter_bandwidth: Fraction
    """T_B of the reduce-scatter, in M/B."""

    @classmethod
    def of(cls, reduced: Cost, gathered: Cost) -> Halves:
        """Take costs apart: of the reduce-scatter, which comes first, and of the allgather."""
        return cls(gathered.steps, gathered.bandwidth, reduced.steps, reduced.bandwidth)

    @property
    def costs(self) -> tuple[Cost, Cost]:
        """Reduce-scatter and allgather."""
        reduced = Cost(self.reduce_scatter_steps, self.reduce_scatter_bandwidth)
        return reduced, Cost(self.steps, self.bandwidth)


@dataclass(frozen=True)
class OurSchedule:
    """What our schedule takes on the same wires; null: not worked out."""

    our_steps: int | None
    """T_L of each half of our schedule on these wires; null where to say it takes a while."""
    our_bandwidth: Fraction | None
    """T_B of each half of our schedule, in M/B."""
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
        return cls(half.steps, half.bandwidth, fabric.time(half + half, Collective.ALLREDUCE, size), at_most)

    @property
    def known(self) -> tuple[Cost, Fraction] | None:
        """The cost of a half and seconds of an allreduce."""
        if self.our_steps is None or self.our_bandwidth is None or self.our_allreduce_seconds is None:
            return None
        return Cost(self.our_steps, self.our_bandwidth), self.our_allreduce_seconds
