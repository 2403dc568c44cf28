"""The definition of correctness: is this schedule an allgather, a reduce-scatter, an allreduce, an all-to-all?

Decides sec:reducescatterallgather exactly, on chunk intervals, and shows a witness on failure. Knows only the
definitions and imports nothing that makes schedules. The rules are written out in docs/data-model.md.

A reduce-scatter is an allgather run backwards: a chunk of u's contribution is "delivered" from step t on if it is
passed along rows of later and later steps that end at its destination. Reading rows from the last step to the first
with heads and tails exchanged, delivered sets grow exactly as held sets do in an allgather (thm:scheduleswitch), and
a contribution counts twice exactly when a delivered chunk is delivered again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.spread import _phases, _rows_by_source, _spread
from linkstep.core.collective import Collective
from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology

Rows = NDArray[np.bool_]


def _run(schedule: Schedule, keep: Rows, *, gather: bool, only: int = -1, pieces: int = 1) -> tuple[int, ...]:
    """Follow the rows to keep, of one source if ``only``; return the kernel's witness."""
    topology = schedule.topology
    ptr, rows = _rows_by_source(topology.num_nodes, schedule.source, keep)
    giver, taker = (topology.tail, topology.head) if gather else (topology.head, topology.tail)
    witness = _spread(
        topology.num_nodes, schedule.unit, giver, taker,
        schedule.lo, schedule.hi, schedule.link, schedule.step, ptr, rows, not gather, not gather, only, pieces,
    )  # fmt: skip
    return tuple(int(x) for x in witness)


def _every(schedule: Schedule) -> Rows:
    return np.ones(schedule.num_rows, np.bool_)


def _shard(topology: Topology, source: int) -> str:
    """Say whose shard: ``rack2-07's shard``, or ``shard 7`` where hosts have no names."""
    return f"shard {source}" if topology.labels is None else f"{topology.called(source)}'s shard"


def _describe_row(schedule: Schedule, row: int) -> str:
    topology, e = schedule.topology, int(schedule.link[row])
    ends = f"{topology.host(int(topology.tail[e]))} -> {topology.host(int(topology.head[e]))}"
    chunk = f"[{schedule.lo[row]}, {schedule.hi[row]})/{schedule.unit}"
    shard = _shard(topology, int(schedule.source[row]))
    return f"row {row}: step {schedule.step[row]}, link {e} ({ends}) carries {chunk} of {shard}"


def _refuse_gather(schedule: Schedule, witness: tuple[int, ...]) -> None:
    kind, row, source, node, a, b = witness
    topology, piece = schedule.topology, f"[{a}, {b})/{schedule.unit}"
    if kind == 1:
        raise ScheduleError(f"{_describe_row(schedule, row)}, but the link is a self-loop", row)
    if kind == 2:
        holder = topology.called(node)
        raise ScheduleError(f"{_describe_row(schedule, row)}, but {holder} does not hold {piece} yet", row)
    if kind == 4:
        raise ScheduleError(f"{piece} of {_shard(topology, source)} never arrives at {topology.called(node)}")


def _refuse_reduce(schedule: Schedule, witness: tuple[int, ...]) -> None:
    kind, row, source, node, a, b = witness
    topology, piece = schedule.topology, f"[{a}, {b})/{schedule.unit}"
    if kind == 1:
        raise ScheduleError(f"{_describe_row(schedule, row)}, but the link is a self-loop", row)
    if kind == 2:
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but {topology.called(node)} does not pass {piece} on at a later step: "
            f"the reduction misses it",
            row,
        )
    if kind == 3:
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but {topology.called(node)}'s part of {piece} is counted "
            f"{'already' if node == source else 'by a later row too'}: it is reduced twice",
            row,
        )
    if kind == 4:
        part = f"{topology.called(node)}'s part of {piece} of {_shard(topology, source)}"
        raise ScheduleError(f"{part} never reaches {topology.called(source)}")


def check_allgather(schedule: Schedule) -> None:
    """Raise ScheduleError with a witness unless every node ends with every other node's whole shard (def:allgather).

    Every row must send what its sender holds before that step. Receiving a chunk again is allowed: it wastes
    bandwidth and harms nothing.
    """
    _refuse_gather(schedule, _run(schedule, _every(schedule), gather=True))


def check_reduce_scatter(schedule: Schedule) -> None:
    """Raise ScheduleError with a witness unless every node v ends with the sum of all nodes' parts of shard v.

    A row sends the sender's sum so far and the receiver adds it to its own; each node's part must reach v exactly
    once, and every row must help (a sum that is never passed on is refused).
    """
    _refuse_reduce(schedule, _run(schedule, _every(schedule), gather=False))


def common_root(schedule: Schedule) -> int | None:
    """Return the node through which all chunks of an allreduce go, or None: each goes through its own node, or none.

    A reduction has every node but one send its sum once, and that one sends first when all is there. So the node at
    which a chunk is complete is the last of all to send it for the first time. If that is the same for node 0's and for
    node 1's shard, it can only be the root of all of them, and is if all is reduced to it and gathered from it.
    """
    topology = schedule.topology
    if schedule.collective is not Collective.ALLREDUCE or topology.num_nodes == 1:
        return None
    root = _last_to_send(schedule, 0)
    if root != _last_to_send(schedule, 1):
        return None
    through = _through(schedule, root)
    reduces = _phase_of_rows(through) == 0
    halves = ((reduces, False), (~reduces, True))
    is_right = all(_run(through, rows, gather=gather, only=root)[0] == 0 for rows, gather in halves)
    return root if is_right and (_phase_of_rows(through) < 2).all() else None


def _last_to_send(schedule: Schedule, source: int) -> int:
    """Return the node that is the last to send the beginning of a shard for the first time."""
    rows = np.flatnonzero((schedule.source == source) & (schedule.lo == 0))
    never = np.iinfo(np.int16).max
    first = np.full(schedule.topology.num_nodes, never, np.int16)
    np.minimum.at(first, schedule.topology.tail[schedule.link[rows]], schedule.step[rows])
    return int(np.where(first == never, 0, first).argmax())


def _phase_of_rows(schedule: Schedule) -> NDArray[np.int8]:
    """Return 0 for rows of an allreduce that reduce, 1 for those that gather, 2 for those that do both."""
    topology = schedule.topology
    ptr, rows = _rows_by_source(topology.num_nodes, schedule.source, _every(schedule))
    columns = (schedule.source, schedule.lo, schedule.hi, schedule.link, schedule.step)
    phase: NDArray[np.int8] = _phases(topology.tail, *columns, ptr, rows)
    return phase


def _through(schedule: Schedule, root: int) -> Schedule:
    """Return the same rows as those of one shard, the root's, that is all of the data."""
    before = schedule.source.astype(np.int64) * schedule.unit
    source = np.full(schedule.num_rows, root, np.int32)
    unit = schedule.unit * schedule.topology.num_nodes
    return replace(schedule, unit=unit, source=source, lo=schedule.lo + before, hi=schedule.hi + before)


def reducing_rows(schedule: Schedule) -> Rows:
    """Return which rows reduce: all, none or, of an allreduce, those of chunks that their node has not sent yet.

    Their node is that of their shard, or the root if all chunks go through one.
    """
    collective, topology = schedule.collective, schedule.topology
    if not (collective.reduces and collective.gathers):
        return np.full(schedule.num_rows, collective.reduces)
    root = common_root(schedule)
    schedule = schedule if root is None else _through(schedule, root)
    phase = _phase_of_rows(schedule)
    mixed = np.flatnonzero(phase == 2)
    if mixed.size:
        row, node = int(mixed[0]), topology.called(int(schedule.source[mixed[0]]))
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but {node} has sent a part of that by then and not the rest: "
            f"a row either reduces or gathers",
            row,
        )
    reduces: Rows = phase == 0
    return reduces


def check_allreduce(schedule: Schedule) -> None:
    """Raise ScheduleError with a witness unless each chunk is reduced to its node and then gathered from it.

    A chunk's node is that of its shard, or one root for all chunks (``common_root``).
    Rows that carry a chunk before its node first sends it are the chunk's reduction, the rest its gathering: no valid
    reduction has a node send its own shard, and every gathering starts with that. The split is found for each chunk by
    itself, so the two phases of different chunks may overlap in time; a row has chunks of one phase only.
    """
    if common_root(schedule) is not None:
        return
    reduces = reducing_rows(schedule)
    _refuse_reduce(schedule, _run(schedule, reduces, gather=False))
    _refuse_gather(schedule, _run(schedule, ~reduces, gather=True))


def _root(schedule: Schedule) -> int:
    """Return the one source of a broadcast's or a reduce's rows."""
    if not schedule.num_rows:
        if schedule.topology.num_nodes == 1:
            return 0
        raise ScheduleError(f"a {schedule.collective} has rows for its root, this one has none")
    root = int(schedule.source[0])
    other = np.flatnonzero(schedule.source != root)
    if other.size:
        row = int(other[0])
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but the root is {schedule.topology.called(root)}: row 0 is of its shard",
            row,
        )
    return root


def check_broadcast(schedule: Schedule) -> None:
    """Raise ScheduleError with a witness unless all rows are of one root's shard and bring it to every other node."""
    root = _root(schedule)
    _refuse_gather(schedule, _run(schedule, _every(schedule), gather=True, only=root))


def check_reduce(schedule: Schedule) -> None:
    """Raise ScheduleError with a witness unless every node's part of one root's shard reaches the root once."""
    root = _root(schedule)
    _refuse_reduce(schedule, _run(schedule, _every(schedule), gather=False, only=root))


def check_all_to_all(schedule: Schedule) -> None:
    """Raise ScheduleError with a witness unless every node w ends with the w-th N-th of every other node's shard.

    As in an allgather, a row must send what its sender holds before that step; on its way a piece may be held by any
    number of nodes.
    """
    n = schedule.topology.num_nodes
    if schedule.unit % n:
        raise ScheduleError(f"the unit of an all-to-all must be a multiple of the {n} nodes, not {schedule.unit}")
    _refuse_gather(schedule, _run(schedule, _every(schedule), gather=True, pieces=n))


CHECKS: dict[Collective, Callable[[Schedule], None]] = {
    Collective.ALLGATHER: check_allgather,
    Collective.REDUCE_SCATTER: check_reduce_scatter,
    Collective.ALLREDUCE: check_allreduce,
    Collective.BROADCAST: check_broadcast,
    Collective.REDUCE: check_reduce,
    Collective.ALL_TO_ALL: check_all_to_all,
}


def check(schedule: Schedule) -> None:
    """Check a schedule as the collective it says it is."""
    CHECKS[schedule.collective](schedule)
