"""Which events put how many chunks on the wire between which ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Ints, Topology
from linkstep.programs import Program
from linkstep.programs.columns import Columns
from linkstep.programs.events import SLOT
from linkstep.programs.memory import KINDS


@dataclass(frozen=True, eq=False)
class WireTraffic:
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


@dataclass(frozen=True, eq=False)
class Crossings(Columns):
    """Row k: a ``move`` of the program takes its chunks from rank ``tail`` to rank ``head``.

    ``reads`` is 0 where it writes to the head, 1 where its source is elsewhere, and 2 where its addend is.
    """

    move: Ints
    tail: Ints
    head: Ints
    reads: Ints


def crossings_of(program: Program) -> Crossings:
    """Return which moves go over wires: messages to be received, and accesses to other ranks' memory."""
    events, moves, rank = program.events, program.events.moves, program.events.rank
    home = rank[moves.event]
    before, after = events.edges.T
    across = rank[before] != rank[after]
    receiver = np.full(events.num_events, -1, np.int64)
    receiver[before[across]] = rank[after[across]]
    parts = []
    for reads, buffer in enumerate((moves.dst, moves.src, moves.addend)):
        other = np.where(buffer >= 0, buffer // KINDS, home)
        if not reads:
            other = np.where(buffer == SLOT, receiver[moves.event], other)
        rows = np.flatnonzero(other != home)
        ends = (other, home) if reads else (home, other)
        parts.append(Crossings.from_columns([rows, *(end[rows] for end in ends), np.full(rows.size, reads)]))
    return Crossings.concatenate(parts)


def wires_of(program: Program) -> WireTraffic:
    """Return what goes over wires, one row for all that an event moves between two ranks."""
    moves, n, found = program.events.moves, program.num_nodes, crossings_of(program)
    key = (moves.event[found.move] * n + found.tail) * n + found.head
    pairs, group = np.unique(key, return_inverse=True)
    chunks = np.bincount(group, weights=moves.count[found.move], minlength=pairs.size).astype(np.int64)
    return WireTraffic(pairs // n // n, pairs // n % n, pairs % n, chunks)


def used_links(program: Program) -> Topology:
    """Return the topology with one link for each ordered pair that data goes between, ranks first."""
    wires = wires_of(program)
    pairs = np.unique(np.stack([wires.tail, wires.head], axis=1), axis=0)
    return Topology.from_links(program.num_nodes, pairs[:, 0], pairs[:, 1])


def first_links(wires: WireTraffic, topology: Topology) -> tuple[Ints, Ints]:
    """Return for each row the links that may carry it, [first, end); LinkstepError if there are none."""
    key = topology.tail.astype(np.int64) * topology.num_nodes + topology.head
    wanted = wires.tail * topology.num_nodes + wires.head
    first, end = np.searchsorted(key, wanted), np.searchsorted(key, wanted, side="right")
    for row in np.flatnonzero(first == end)[:1]:
        name = topology.name or "the topology"
        raise LinkstepError(f"rank {wires.tail[row]} sends to rank {wires.head[row]}, which {name} does not join")
    return first.astype(np.int64), end.astype(np.int64)
