"""When links that open later or close are there: on a timetable, by the steps of a schedule as they are predicted.

A program knows no steps, and its ranks wait for messages, not for a clock. So links are switched by
the time: a link opens when the steps before its first are over and the switching is done, and closes when its last step
is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.core.units import Number, format_time
from linkstep.costs import Fabric
from linkstep.costs.seconds import seconds_by_step


@dataclass(frozen=True)
class LinkTimes:
    """Seconds after the start of a call at which each link opens, and by which it closes (None: never)."""

    opens: tuple[Fraction, ...]
    closes: tuple[Fraction | None, ...]

    def check_closed(self, topology: Topology, link: Ints, done: Ints, tick: Fraction) -> None:
        """Refuse a simulation in which a link carries something after it has closed; ``done`` counts ticks."""
        latest = np.full(len(self.opens), -1, np.int64)
        np.maximum.at(latest, link, done)
        for e, (last, closes) in enumerate(zip(latest.tolist(), self.closes, strict=True)):
            if closes is not None and last > round(closes / tick):
                ends = f"{topology.called(int(topology.tail[e]))} to {topology.called(int(topology.head[e]))}"
                when = f"closes after {format_time(closes)} and is in use until {format_time(last * tick)}"
                raise LinkstepError(
                    f"the link from {ends} {when}: the program does not keep to the steps of the schedule"
                )


def link_times_of(schedule: Schedule, fabric: Fabric, size: Number) -> LinkTimes | None:
    """Return when the links of a schedule open and close; None if they are there all the time."""
    topology = schedule.topology
    if not topology.has_lifetimes:
        return None
    steps = seconds_by_step(schedule, fabric, size)
    ends = [Fraction(0), *accumulate(steps)]
    first = [1] * topology.num_links if topology.opens is None else topology.opens.tolist()
    last = [schedule.num_steps] * topology.num_links if topology.closes is None else topology.closes.tolist()
    return LinkTimes(
        tuple(_begin(ends, step, fabric.switching) for step in first),
        tuple(ends[step] if step < schedule.num_steps else None for step in last),
    )


def _begin(ends: list[Fraction], step: int, switching: Fraction) -> Fraction:
    """Return when a link is open whose first step this is; one that opens after the last step is not used."""
    return ends[min(step, len(ends)) - 1] + (switching if step > 1 else 0)
