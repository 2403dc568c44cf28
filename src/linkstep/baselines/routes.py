"""Messages between nodes that may be several links apart: routes, the schedules they make, and what they cost.

An algorithm for switches, such as recursive doubling, has every node send to a partner at each round. Where the partner
is no neighbour, the message takes a route and is charged on every link of it. As a schedule it is stored and forwarded:
hop k of a round is a step of its own, so a round takes as many steps (alpha each) as its longest route has links. A
fabric that cuts through takes alpha once a round and carries all hops at once; ``cut_through_cost`` counts that, from
the same routes. Either way a step or a round lasts as long as its busiest link is busy.

A node on a route keeps a copy of what it passes on, and so may be sent a chunk that it has. That only costs time in an
allgather, but backwards it would be added up twice: a schedule that reduces leaves repeats out, and takes no longer.
Not here: which partners there are (``doubling``, ``swing``, ``bruck``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import ROW_COLUMNS, Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.costs import Cost

NO_LINK = -1
"""In a table of routes: the message has arrived by then."""


@dataclass(frozen=True, eq=False)
class Turn:
    """What one part of every shard does in one round: node u sends the first ``count`` shards it holds to ``to[u]``.

    Row u of ``links`` is the route from u, a link for each hop, padded with ``NO_LINK``.
    """

    to: Ints
    links: Ints
    count: int

    @property
    def num_hops(self) -> int:
        """Links of the longest route."""
        return int(self.links.shape[1])


Part = Sequence[Turn]
"""The rounds of one of the equal parts that every shard is cut into; the k-th rounds of all parts run together."""


def find_links(topology: Topology, tail: Ints, head: Ints) -> Ints:
    """Return the first link from each tail to the head beside it, or ``NO_LINK`` where there is none."""
    n = topology.num_nodes
    keys = topology.tail.astype(np.int64) * n + topology.head
    wanted = tail.astype(np.int64) * n + head
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[at] == wanted, at, NO_LINK)


def shortest_routes(topology: Topology, to: Ints) -> Ints:
    """Return a route from every node u to ``to[u]``: its link, or a shortest path over the lowest-numbered nodes."""
    n = topology.num_nodes
    nodes = np.arange(n)
    direct = find_links(topology, nodes, to)
    routes = {int(u): _shortest_path(topology, int(u), int(to[u])) for u in nodes[(direct == NO_LINK) & (to != nodes)]}
    links = np.full((n, max([1, *map(len, routes.values())])), NO_LINK, np.int64)
    links[:, 0] = np.where(to == nodes, NO_LINK, direct)
    for u, route in routes.items():
        links[u, : len(route)] = route
    return links


def _shortest_path(topology: Topology, start: int, end: int) -> list[int]:
    came: dict[int, int] = {start: NO_LINK}
    front = [start]
    while end not in came:
        reached = []
        for node in front:
            for link in range(int(topology.out_ptr[node]), int(topology.out_ptr[node + 1])):
                head = int(topology.head[link])
                if head not in came:
                    came[head] = link
                    reached.append(head)
        if not reached:
            raise ScheduleError(f"no path from {topology.called(start)} to {topology.called(end)}")
        front = sorted(reached)
    path = []
    while end != start:
        path.append(came[end])
        end = int(topology.tail[came[end]])
    return path[::-1]


def routed_allgather(topology: Topology, parts: Sequence[Part]) -> Schedule:
    """Return the allgather in which every part of every shard goes through its rounds, stored and forwarded."""
    columns = []
    for piece, part in enumerate(parts):
        held = np.arange(topology.num_nodes)[:, None]
        for turn, first in zip(part, _first_steps(parts), strict=True):
            sent = held[:, : turn.count]
            for hop, link in enumerate(turn.links.T):
                source = sent[link != NO_LINK]
                over = np.repeat(link[link != NO_LINK], source.shape[1])
                columns.append((source.ravel(), np.full(over.size, piece), over, np.full(over.size, first + hop)))
            received = np.empty_like(sent)
            received[turn.to] = sent
            held = np.concatenate([held, received], axis=1)
    source, lo, link, step = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Schedule.from_columns(topology, len(parts), source, lo, lo + 1, link, step)


def without_repeats(allgather: Schedule) -> Schedule:
    """Return the allgather in which no node is sent a chunk that it has, or is sent at the same step.

    What is left still is one: a node sends a chunk after it first received it. Chunks must be all of one grid.
    """
    to = allgather.topology.head[allgather.link].astype(np.int64)
    chunk = (to * allgather.topology.num_nodes + allgather.source) * allgather.unit + allgather.lo
    _, first = np.unique(chunk, return_index=True)  # rows are sorted by step
    first = first[allgather.source[first] != to[first]]
    columns = (getattr(allgather, what)[first] for what in ROW_COLUMNS)
    return Schedule.from_columns(allgather.topology, allgather.unit, *columns)


def round_lengths(parts: Sequence[Part]) -> list[int]:
    """Return how many steps each round takes: the hops of its longest route."""
    return [max(turn.num_hops for turn in turns) for turns in zip(*parts, strict=True)]


def _first_steps(parts: Sequence[Part]) -> Iterator[int]:
    step = 1
    for length in round_lengths(parts):
        yield step
        step += length


def store_and_forward_cost(topology: Topology, parts: Sequence[Part]) -> Cost:
    """Return the cost of ``routed_allgather`` without making it: alpha a hop, each hop as long as its busiest link."""
    total = 0
    for turns in zip(*parts, strict=True):
        for hop in range(max(turn.num_hops for turn in turns)):
            total += _busiest(topology, [(turn.links[:, hop], turn.count) for turn in turns if hop < turn.num_hops])
    return Cost(sum(round_lengths(parts)), _bandwidth(topology, total, len(parts)))


def cut_through_cost(topology: Topology, parts: Sequence[Part]) -> Cost:
    """Return the cost where messages cut through: alpha a round, each as long as its busiest link, all hops counted."""
    total = 0
    for turns in zip(*parts, strict=True):
        total += _busiest(topology, [(turn.links.ravel(), turn.count) for turn in turns])
    return Cost(len(parts[0]), _bandwidth(topology, total, len(parts)))


def _busiest(topology: Topology, messages: Sequence[tuple[Ints, int]]) -> int:
    """Return the most that a link carries, in parts of shards, of messages over these links."""
    load = np.zeros(topology.num_links, np.int64)
    for links, count in messages:
        load += count * np.bincount(links[links != NO_LINK], minlength=topology.num_links)
    return int(load.max())


def _bandwidth(topology: Topology, load: int, unit: int) -> Fraction:
    return Fraction(load * topology.degree, unit * topology.num_nodes)
