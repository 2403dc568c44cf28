"""Why each message of a simulation began when it did, and the critical path: the chain that decides how long all takes.

A simulation keeps the ticks of its transfers; what waited for what follows from these and from the program, when it is
asked for. Ticks are integers, so that "began when that arrived" is an equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ints
from linkstep.simulation.edges import TimeEdges
from linkstep.simulation.wires import WireTraffic, wires_of

if TYPE_CHECKING:
    from linkstep.programs import Program
    from linkstep.simulation.machine import Simulation


@dataclass(frozen=True, eq=False)
class TransferLog:
    """What a simulation keeps besides seconds; times in ticks, transfers in the order of ``wires_of``."""

    link: Ints
    sent: Ints
    done: Ints
    gone: Ints
    """When both hosts' ports were done with it too."""
    start: Ints
    """Of each event, as is ``work``: the ticks that it takes by itself."""
    end: Ints
    work: Ints
    latency: Ints
    """Alpha of each link."""
    signal: int
    tight: bool
    chunk: Fraction
    """Bytes of a chunk."""


@dataclass(frozen=True, eq=False)
class Causes:
    """Columns with a row for each of a simulation's transfers, in the order of ``sent_link``."""

    tail: Ints
    """The rank that sends."""
    head: Ints
    chunks: Ints
    place: NDArray[np.object_]
    """Where the first chunk lies, such as "output 3"; None where that is not known."""
    waited_for: Ints
    """The transfer whose arrival or end came last of all that it needed; -1 where it needed none."""
    critical: tuple[int, ...]
    """The critical path: transfers, each of which the next one waited for, for what it brought or for its link."""


def causes_of(done: Simulation) -> Causes | None:
    """Return what each transfer waited for; None for a simulation that did not keep its ticks."""
    log, order = done.log, done.sent_row
    if log is None or order is None:
        return None
    wires = wires_of(done.program)
    edges = TimeEdges.of(done.program, wires, done.topology, log.latency, log.signal, log.tight)
    last = _of_most(wires.event, log.gone, len(log.start))
    message = _messages(edges, last, log)
    row_of = np.append(np.argsort(order), -1)
    waited = message[wires.event]
    found = np.flatnonzero(log.end == log.end.max(initial=0))[:1]
    ended = [int(last[event] if last[event] >= 0 else message[event]) for event in found.tolist()]
    path = _path(ended[0], wires, waited, log, order) if ended else []
    return Causes(
        wires.tail[order], wires.head[order], wires.chunks[order],
        _places(done.program, wires)[order], row_of[waited[order]], tuple(int(row_of[wire]) for wire in path),
    )  # fmt: skip


def _of_most(group: Ints, value: Ints, size: int) -> Ints:
    """Return for each group the first row of the largest value, -1 for a group without rows.

    >>> _of_most(np.array([0, 0, 2, 2]), np.array([5, 7, 4, 4]), 3).tolist()
    [1, -1, 2]
    """
    most, first = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    np.maximum.at(most, group, value)
    rows = np.flatnonzero(value == most[group])[::-1]
    first[group[rows]] = rows  # of several for one group the last assignment stays: the first row
    return first


def _messages(edges: TimeEdges, last: Ints, log: TransferLog) -> Ints:
    """Return for each event the transfer that what it waited for last was, or had waited for itself; -1: none.

    Of several at one time it is one that brings data. Events that send nothing stand for what they waited for.
    """
    carried = edges.wire >= 0
    wire = np.where(carried, edges.wire, 0)
    ends = log.end[edges.tail] + edges.time
    if len(log.gone):
        ends = np.where(carried, log.gone[wire] + log.latency[log.link[wire]], ends)
    binding = _of_most(edges.head, 2 * ends + carried, len(log.start))
    before = np.append(edges.tail, -1)[binding]
    message = np.where(binding < 0, -1, np.append(edges.wire, -1)[binding])
    message = np.where((message < 0) & (before >= 0), np.append(last, -1)[before], message)
    open_ = np.flatnonzero((message < 0) & (before >= 0))
    while open_.size:  # a chain of events that send nothing halves in each round
        at = before[open_]
        message[open_], before[open_] = message[at], before[at]
        open_ = open_[(message[open_] < 0) & (before[open_] >= 0)]
    return message


def _path(wire: int, wires: WireTraffic, waited: Ints, log: TransferLog, order: Ints) -> list[int]:
    """Return the chain of transfers that ends with one: each waited for its link if this was busy, else for data."""
    row_of = np.argsort(order)
    found: list[int] = []
    seen = set[int]()
    while wire >= 0 and wire not in seen:  # transfers that take no time could stand in a ring
        seen.add(wire)
        found.append(wire)
        event = wires.event[wire]
        if log.sent[wire] > log.start[event] + log.work[event]:
            row = row_of[wire] - 1
            before = int(order[row]) if row >= 0 else -1
            wire = before if before >= 0 and log.link[before] == log.link[wire] else -1
        else:
            wire = int(waited[wire])
    return found[::-1]


_KINDS = np.array(["input", "output", "scratch"], object)


def _places(program: Program, wires: WireTraffic) -> Any:
    """Return for each transfer the buffer and the number of the first chunk that its event reads, else writes."""
    moves = program.events.moves
    first = np.searchsorted(moves.event, wires.event)
    found = np.full(len(wires.event), None, object)
    for buffer, offset in (
        (moves.dst, moves.dst_offset),
        (moves.addend, moves.addend_offset),
        (moves.src, moves.src_offset),
    ):
        rows = np.flatnonzero(buffer[first] >= 0)
        kinds, numbers = _KINDS[buffer[first[rows]] % len(_KINDS)], offset[first[rows]].astype(str).astype(object)
        found[rows] = kinds + " " + numbers
    return found
