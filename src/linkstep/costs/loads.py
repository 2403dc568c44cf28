"""What every link, and every host in and out, carries in each step of a schedule: exactly, counted in one place.

Costs, seconds and predictions all start from these. Not here: what a load is worth (``linkstep.costs.seconds``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkstep._kernels.rows import _busiest_loads, _link_loads
from linkstep.core.frames import frame_of
from linkstep.core.inputs import ScheduleLike, as_schedule
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints, Topology


@dataclass(frozen=True, eq=False)
class LoadTable:
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
        if len(self):
            first = np.flatnonzero(np.diff(self.step, prepend=0))  # sorted by step
            most[self.step[first] - 1] = np.maximum.reduceat(self.amount, first)
        return most


@dataclass(frozen=True, eq=False)
class Loads:
    """What links and hosts carry at each step, in parts of which ``whole`` are the data in all (M).

    A host is all nodes that share it (``Topology.hosts``), and is called by the first of them; what goes over a link
    between two of its nodes neither leaves nor enters it.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> loads = loads_of(Schedule.from_columns(ring, 1, [0, 0], [0, 0], [1, 1], [0, 1], [1, 2]))
    >>> loads.links.place.tolist(), loads.sent.place.tolist(), loads.received.place.tolist(), loads.whole
    ([0, 1], [0, 1], [1, 2], 3)
    """

    topology: Topology
    num_steps: int
    whole: int
    links: LoadTable
    messages: Ints
    """How many rows of the schedule each row of ``links`` stands for: messages, where nothing joins them."""

    def __repr__(self) -> str:
        return f"<Loads of {self.num_steps} steps on {self.topology!r}>"

    def to_frame(self) -> Any:
        """Return a row for each step and link that carries anything, as a DataFrame; ``part`` is of all the data."""
        place = self.links.place
        return frame_of({
            "step": self.links.step, "link": place, "from": self.topology.tail[place], "to": self.topology.head[place],
            "part": self.links.amount / self.whole, "messages": self.messages,
        })  # fmt: skip

    @cached_property
    def sent(self) -> LoadTable:
        """What hosts send, over all their links together."""
        return self._by_host(*self.host_rows(self.topology.tail))

    @cached_property
    def received(self) -> LoadTable:
        """What hosts receive, over all their links together."""
        return self._by_host(*self.host_rows(self.topology.head))

    def host_rows(self, end: Ids) -> tuple[Ints, Ints]:
        """Return the rows of ``links`` that leave or enter a host, and step N + host of each by its tail or head."""
        topology, links = self.topology, self.links
        if topology.shares_hosts:
            rows = np.flatnonzero(
                topology.host_of[topology.tail[links.place]] != topology.host_of[topology.head[links.place]]
            )
            return rows, links.step[rows] * topology.num_nodes + topology.host_of[end[links.place[rows]]]
        return np.arange(len(links)), links.step * topology.num_nodes + end[links.place]

    def _by_host(self, rows: Ints, key: Ints) -> LoadTable:
        n = self.topology.num_nodes
        keys, group = np.unique(key, return_inverse=True)
        amount = np.zeros(keys.size, np.int64)
        np.add.at(amount, group.reshape(-1), self.links.amount[rows])
        return LoadTable(keys // n, keys % n, amount)


def loads_of(schedule: ScheduleLike) -> Loads:
    """Count what each link carries at each step; hosts follow from their links when they are asked for.

    >>> loads_of("K_{2,2}")
    <Loads of 4 steps on <Topology 'K_{2,2}' N=4 d=2 links=8>>
    """
    schedule = as_schedule(schedule)
    step, link, amount, messages = _link_loads(schedule.lo, schedule.hi, schedule.link, schedule.step)
    return Loads(schedule.topology, schedule.num_steps, whole_of(schedule), LoadTable(step, link, amount), messages)


def whole_of(schedule: Schedule) -> int:
    """Return how many parts, as chunks count them, the data are in all."""
    return schedule.collective.num_shards(schedule.num_ranks) * schedule.unit


def busiest_links(schedule: Schedule) -> Ints:
    """Return ``loads_of(schedule).links.busiest``, the most that any link carries at each step, and keep no more."""
    most: Ints = _busiest_loads(schedule.num_steps, schedule.lo, schedule.hi, schedule.link, schedule.step)
    return most
