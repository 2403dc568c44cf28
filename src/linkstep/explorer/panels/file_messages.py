"""The messages of a runtime's file in time: who sends what to whom, which chunks that is, and whose data is in them.

Times are the simulator's (``linkstep.simulation``); what a message carries comes from a run on symbols, as the verifier
makes one, in which everything that goes over a wire leaves a copy behind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ints
from linkstep.costs import Fabric
from linkstep.programs import Findings, Program, UnverifiableError
from linkstep.programs.events import NONE, SLOT, Moves
from linkstep.programs.order import find_order
from linkstep.simulation import Simulation
from linkstep.simulation.wires import Crossings, crossings_of, wires_of
from linkstep.verification.results import run_on_symbols

MAX_MESSAGES = 10**6
"""The most messages that a page plays."""
MAX_CHUNKS = 4 * 10**6
"""The most chunks, in all messages together, of which it is said what they are."""


def messages_of(done: Simulation, fabric: Fabric) -> dict[str, Any]:
    """Return the messages of a simulation in columns, by the time at which they begin.

    ``here`` is when the receiver has one: a latency after its link is done with it. The chunks of message k are those
    from ``first[k]`` to ``first[k + 1]``; ``whose`` is the rank whose data a chunk is, -1 where it is a sum, of
    ``parts`` ranks. A ``chunk`` below 0 holds nothing that its collective knows.
    """
    program, wires = done.program, wires_of(done.program)
    assert done.sent_row is not None
    order = np.lexsort((done.sent_link, done.sent_start))
    link, row = done.sent_link[order], done.sent_row[order]
    event = wires.event[row]
    kinds = fabric.links_of(done.topology)
    alpha = np.array([float(one) for one in kinds.alpha])[kinds.of]
    found: dict[str, Any] = {
        "link": link, "round": done.sent_round[order], "chunks": wires.chunks[row], "start": done.sent_start[order],
        "end": done.sent_end[order], "here": done.sent_end[order] + alpha[link], "rank": program.events.rank[event],
        "block": program.events.threadblock[event], "step": program.events.step[event],
    }  # fmt: skip
    return found | (_contents(program, row) or {})


def _contents(program: Program, wanted: Ints) -> dict[str, Any] | None:
    """Return what is in messages, rows of ``wires_of``; None where that is too much to follow."""
    events, moves, found = program.events, program.events.moves, crossings_of(program)
    count = moves.count[found.move]
    total = int(count.sum())
    if total > MAX_CHUNKS:
        return None
    slot = events.num_slots + np.cumsum(count) - count
    copies = _copies(moves, found, slot)
    together = Moves.concatenate([copies, moves])
    at = np.concatenate([found.move * 2, np.arange(len(moves)) * 2 + 1])  # a copy comes before what it is a copy of
    played = replace(events, moves=together.take(np.argsort(at, kind="stable")), num_slots=events.num_slots + total)
    memory, run_order = program.memory(program.modes[0]), find_order(played, Findings())
    assert run_order is not None  # it ran in time
    try:
        values = run_on_symbols(replace(program, events=played), memory, run_order)
    except UnverifiableError:
        return None
    own = slice(memory.num_cells + events.num_slots, None)
    chunk, ranks = values.chunk[own], values.ranks[own]
    parts = np.bitwise_count(ranks).sum(axis=1).astype(np.int64)
    whose = np.where(parts == 1, _lowest(ranks), -1)
    message = _messages(program, found, wanted)
    of_chunk = np.repeat(message, count)
    order = np.argsort(of_chunk, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(of_chunk, minlength=wanted.size))])
    return {"first": first, "chunk": chunk[order], "parts": parts[order], "whose": whose[order]}


def _copies(moves: Moves, found: Crossings, slot: Ints) -> Moves:
    """Return moves that leave a copy of what goes over a wire in slots of their own."""
    moved, reads, none = moves.take(found.move), found.reads, np.zeros(len(found), np.int64)
    is_addend = reads == 2
    return Moves(
        event=moved.event, dst=none + SLOT, dst_offset=slot, count=moved.count,
        src=np.where(is_addend, moved.addend, moved.src),
        src_offset=np.where(is_addend, moved.addend_offset, moved.src_offset),
        addend=np.where(reads == 0, moved.addend, NONE),
        addend_offset=np.where(reads == 0, moved.addend_offset, 0),
    )  # fmt: skip


def _messages(program: Program, found: Crossings, wanted: Ints) -> Ints:
    """Return the number of the message that each crossing is part of, where they come in the order wanted."""
    n, wires, event = program.num_nodes, wires_of(program), program.events.moves.event[found.move]
    keys = (wires.event * n + wires.tail) * n + wires.head
    place = np.empty(wanted.size, np.int64)
    place[wanted] = np.arange(wanted.size)
    return np.asarray(place[np.searchsorted(keys, (event * n + found.tail) * n + found.head)], np.int64)


def _lowest(ranks: NDArray[np.uint64]) -> Ints:
    """Return the lowest rank of each set."""
    words = np.argmax(ranks != 0, axis=1)
    word = ranks[np.arange(len(ranks)), words]
    lowest = word & (~word + np.uint64(1))
    return np.asarray(64 * words + np.bitwise_count(lowest - np.uint64(1)) % 64, np.int64)
