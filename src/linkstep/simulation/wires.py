"""Which events put how many chunks on the wire between which ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Ints, Topology
from linkstep.verification import Events

SLOT = -1
NONE = -2
"""The buffers of a message in flight and of an absent operand, as the verifier's plans have them."""


@dataclass(frozen=True, eq=False)
class Wires:
    """Row k: ``event`` moves ``chunks`` from rank ``tail`` to rank ``head``; sorted by event.

    ``fetches`` where the event is on the head: it reads what is elsewhere and ends when that is here.
    """

    event: Ints
    tail: Ints
    head: Ints
    chunks: Ints

    def fetches(self, rank: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which rows are read by their event, not written; ``rank`` is that of every event."""
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = rank[self.event] == self.head
        return found


def wires_of(events: Events) -> Wires:
    """Return what goes over wires: messages to be received, and accesses to other ranks' memory."""
    moves, rank = events.plan.moves, events.plan.place[:, 0]
    home, n = rank[moves[:, 0]], events.num_ranks
    receiver = np.full(events.plan.num_events, -1, np.int64)
    across = events.plan.edges[rank[events.plan.edges[:, 0]] != rank[events.plan.edges[:, 1]]]
    receiver[across[:, 0]] = rank[across[:, 1]]
    parts = []
    for column, writes in ((1, True), (3, False), (5, False)):
        buffer = moves[:, column]
        other = np.where(buffer >= 0, buffer // 3, home)
        if writes:
            other = np.where(buffer == SLOT, receiver[moves[:, 0]], other)
        rows = np.flatnonzero(other != home)
        ends = (home[rows], other[rows]) if writes else (other[rows], home[rows])
        parts.append(np.stack([moves[rows, 0], *ends, moves[rows, 7]], axis=1))
    table = np.concatenate(parts)
    key = (table[:, 0] * n + table[:, 1]) * n + table[:, 2]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    chunks = np.bincount(group, weights=table[:, 3], minlength=first.size).astype(np.int64)
    event, tail, head = (np.ascontiguousarray(column) for column in table[first, :3].T)
    return Wires(event, tail, head, chunks)


def used_links(events: Events) -> Topology:
    """Return the topology with one link for each ordered pair of ranks that data goes between."""
    wires = wires_of(events)
    pairs = np.unique(np.stack([wires.tail, wires.head], axis=1), axis=0)
    return Topology.from_links(events.num_ranks, pairs[:, 0], pairs[:, 1])


def first_links(wires: Wires, topology: Topology) -> tuple[Ints, Ints]:
    """Return for each row the links that may carry it, [first, end); LinkstepError if there are none."""
    key = topology.tail.astype(np.int64) * topology.num_nodes + topology.head
    wanted = wires.tail * topology.num_nodes + wires.head
    first, end = np.searchsorted(key, wanted), np.searchsorted(key, wanted, side="right")
    for row in np.flatnonzero(first == end)[:1]:
        name = topology.name or "the topology"
        raise LinkstepError(f"rank {wires.tail[row]} sends to rank {wires.head[row]}, which {name} does not join")
    return first.astype(np.int64), end.astype(np.int64)
