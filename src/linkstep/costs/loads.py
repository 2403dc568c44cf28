"""What every link, and every host in and out, carries in each step of a schedule: exactly, counted in one place.

Costs, seconds and predictions all start from these. Not here: what a load is worth (``linkstep.costs.models``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkstep._kernels.rows import _link_loads
from linkstep.core.arguments import check_kind
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints, Topology


@dataclass(frozen=True, eq=False)
class Carried:
    """Row k: at ``step[k]`` a link, or a host in one direction, ``place[k]`` carries ``amount[k]`` parts of the data.

    Sorted by (step, place), each at most once, and only what carries anything.
    """

    step: Ints
    place: Ints
    amount: Ints

    def __len__(self) -> int:
        return int(self.step.size)

    def busiest(self, num_steps: int) -> Ints:
        """Return the most that any place carries at each step, the first step first."""
        most = np.zeros(num_steps, np.int64)
        np.maximum.at(most, self.step - 1, self.amount)
        return most


@dataclass(frozen=True, eq=False)
class Loads:
    """What links and hosts carry at each step, in parts of which ``whole`` are the data in all (M).

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> loads = loads_of(Schedule.from_columns(ring, 1, [0, 0], [0, 0], [1, 1], [0, 1], [1, 2]))
    >>> loads.links.place.tolist(), loads.sent.place.tolist(), loads.received.place.tolist(), loads.whole
    ([0, 1], [0, 1], [1, 2], 3)
    """

    topology: Topology
    num_steps: int
    whole: int
    links: Carried
    messages: Ints
    """How many rows of the schedule each row of ``links`` stands for: messages, where nothing joins them."""

    @cached_property
    def sent(self) -> Carried:
        """What hosts send, over all their links together."""
        return self._by_host(self.topology.tail)

    @cached_property
    def received(self) -> Carried:
        """What hosts receive, over all their links together."""
        return self._by_host(self.topology.head)

    def _by_host(self, end: Ids) -> Carried:
        n = self.topology.num_nodes
        key = self.links.step * n + end[self.links.place]
        keys, group = np.unique(key, return_inverse=True)
        amount = np.zeros(keys.size, np.int64)
        np.add.at(amount, group.reshape(-1), self.links.amount)
        return Carried(keys // n, keys % n, amount)


def loads_of(schedule: Schedule) -> Loads:
    """Count what each link carries at each step; hosts follow from their links when they are asked for."""
    check_kind("schedule", schedule, Schedule)
    step, link, amount, messages = _link_loads(schedule.lo, schedule.hi, schedule.link, schedule.step)
    whole = schedule.collective.num_shards(schedule.topology.num_nodes) * schedule.unit
    return Loads(schedule.topology, schedule.num_steps, whole, Carried(step, link, amount), messages)
