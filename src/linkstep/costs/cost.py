"""What a schedule costs, exactly.

A cost is (steps, bandwidth): ``steps`` times alpha plus ``bandwidth`` times M/B seconds (sec:costmodelmain).
Both are exact; only ``Fabric`` knows seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep._kernels.rows import _step_loads
from linkstep.core.arguments import check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.units import Number, parse_bandwidth, parse_size


@dataclass(frozen=True)
class Cost:
    """T_L in units of alpha and T_B in units of M/B.

    >>> Cost(2, Fraction(3, 4)).is_within(Cost(2, Fraction(1)))
    True
    """

    steps: int
    bandwidth: Fraction

    def __add__(self, other: Cost) -> Cost:
        """One after the other."""
        return Cost(self.steps + other.steps, self.bandwidth + other.bandwidth)

    @classmethod
    def zero(cls) -> Cost:
        """Nothing to do; what a sum of costs starts from."""
        return cls(0, Fraction(0))

    def is_within(self, other: Cost) -> bool:
        """Whether this is no worse in either part."""
        return self.steps <= other.steps and self.bandwidth <= other.bandwidth

    def __str__(self) -> str:
        return f"{self.steps} alpha + {self.bandwidth} M/B"


def cost_of(schedule: Schedule) -> Cost:
    """Return T_L and T_B of a schedule exactly.

    M is N shards (one, of a broadcast or a reduce) and every link has bandwidth B/d, so T_B is d/N times the sum over
    steps of the busiest link's load in shards. With a ``bandwidth`` column, B/d is the fastest link's (of those that
    carry anything: self-loops do not count) and a load counts in proportion to how much slower its link is.
    """
    topology = check_kind("schedule", schedule, Schedule).topology
    if topology.bandwidth is None:
        fastest = 1
        rates, link_class = np.ones(1, np.int64), np.zeros(topology.num_links, np.int64)
    else:
        fastest = int(topology.bandwidth[topology.tail != topology.head].max(initial=1))
        rates, link_class = np.unique(topology.bandwidth, return_inverse=True)
    loads = _step_loads(
        schedule.num_steps, rates.size, link_class, schedule.lo, schedule.hi, schedule.link, schedule.step
    )
    slowdown = [Fraction(fastest, int(rate)) for rate in rates]
    if len(slowdown) == 1:
        total = int(loads.sum()) * slowdown[0]
    else:
        total = sum(
            (max(load * s for load, s in zip(row, slowdown, strict=True)) for row in loads.tolist()), Fraction(0)
        )
    num_shards = schedule.collective.num_shards(topology.num_nodes)
    return Cost(schedule.num_steps, total * topology.degree / (num_shards * schedule.unit))


def time_of(schedule: Schedule, size: Number, *, bandwidth: Number | None = None) -> Fraction:
    """Return seconds for ``size`` bytes in all where links have columns: steps wait for their slowest used link.

    A step takes max over the links it uses of alpha + load / bandwidth (sec:heterogeneous). ``bandwidth`` is that of
    every link where the topology says only their alpha.
    """
    topology = check_kind("schedule", schedule, Schedule).topology
    if topology.alpha is None or (topology.bandwidth is None and bandwidth is None):
        raise LinkstepError("times need both link columns: alpha (ns) and bandwidth (bit/s)")
    rates = np.zeros_like(topology.alpha) if topology.bandwidth is None else topology.bandwidth
    kinds, link_class = np.unique(np.stack([topology.alpha, rates]), axis=1, return_inverse=True)
    loads = _step_loads(
        schedule.num_steps,
        kinds.shape[1],
        link_class.reshape(-1),
        schedule.lo,
        schedule.hi,
        schedule.link,
        schedule.step,
    )
    num_shards = schedule.collective.num_shards(topology.num_nodes)
    bits = 8 * parse_size(size) / (num_shards * schedule.unit)
    same = Fraction(0) if topology.bandwidth is not None or bandwidth is None else parse_bandwidth(bandwidth)
    kind = [(Fraction(a, 10**9), b or same) for a, b in kinds.T.tolist()]
    return sum(
        (
            max((a + load * bits / b for load, (a, b) in zip(row, kind, strict=True) if load), default=Fraction(0))
            for row in loads.tolist()
        ),
        Fraction(0),
    )
