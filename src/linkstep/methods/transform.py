"""Every collective from allgathers (sec:reducescatterallgather): reverse, relabel, concatenate, pick a root.

Pure functions of schedules. Reversing turns an allgather on G into a reduce-scatter on the transpose of G; where G
looks like its own transpose, renaming nodes brings that back to G.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.errors import ScheduleError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.core.text import shown
from linkstep.core.topology import Ids, Ints, Topology, check_permanent


def link_numbers(topology: Topology, tail: Ids, head: Ids) -> Ints:
    """Return the number that each of these links, given in the order of ``topology``, has once they are sorted.

    Parallel links sort by their columns and then as given, just as ``Topology.from_links`` does.
    """
    number = np.empty(tail.size, np.int64)
    number[np.lexsort([*topology.columns.values(), head, tail])] = np.arange(tail.size)
    return number


def by_destination(schedule: Schedule) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the rows of an all-to-all, cut where pieces end: (row, destination, lo and hi within the piece)."""
    piece = schedule.unit // schedule.num_ranks
    first, last = schedule.lo // piece, (schedule.hi - 1) // piece
    count = last - first + 1
    row = np.repeat(np.arange(schedule.num_rows), count)
    to = first[row] + np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    return row, to, np.maximum(schedule.lo[row] - to * piece, 0), np.minimum(schedule.hi[row] - to * piece, piece)


def reverse(schedule: Schedule) -> Schedule:
    """Return the schedule run backwards on the transpose: allgather and reduce-scatter change places.

    Same T_L, same T_B (thm:scheduleswitch). An all-to-all stays one if every chunk takes one path: who sent a piece
    receives it. Ranks stay where they are.
    """
    topology = schedule.topology
    check_permanent(topology, "reversing a schedule")
    link = link_numbers(topology, topology.head, topology.tail)[schedule.link]
    step = schedule.num_steps + 1 - schedule.step.astype(np.int64)
    source, lo, hi = schedule.source, schedule.lo, schedule.hi
    if schedule.collective.exchanges:
        row, to, start, stop = by_destination(schedule)
        back = schedule.source[row].astype(np.int64) * (schedule.unit // schedule.num_ranks)
        source, lo, hi, link, step = to.astype(np.int32), back + start, back + stop, link[row], step[row]
    return Schedule.from_columns(
        topology.transpose(), schedule.unit, source, lo, hi, link, step, schedule.collective.reverse, schedule.ranks
    )


def relabel(schedule: Schedule, new: Ids) -> Schedule:
    """Return f(A) (def:scheduleisomorphism): node u renamed ``new[u]`` in the topology and in every row.

    Where not everyone takes part, in node order, ranks keep their numbers and move with their nodes.
    """
    topology = schedule.topology
    link = link_numbers(topology, new[topology.tail], new[topology.head])[schedule.link]
    if not schedule.ranks.is_everyone:
        columns = (schedule.source, schedule.lo, schedule.hi, link, schedule.step, schedule.collective)
        moved = Ranks(topology.num_nodes, new[schedule.ranks.nodes])
        return Schedule.from_columns(topology.relabel(new), schedule.unit, *columns, moved)
    source, lo, hi, step = new[schedule.source], schedule.lo, schedule.hi, schedule.step
    if schedule.collective.exchanges:  # pieces are named by their destinations
        row, to, start, stop = by_destination(schedule)
        there = new[to].astype(np.int64) * (schedule.unit // topology.num_nodes)
        source, lo, hi, link, step = source[row], there + start, there + stop, link[row], step[row]
    return Schedule.from_columns(topology.relabel(new), schedule.unit, source, lo, hi, link, step, schedule.collective)


def in_rank_order(schedule: Schedule) -> Schedule:
    """Return the schedule with nodes renamed so that rank r is node r; nodes that only forward come after the ranks.

    >>> path = Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])
    >>> ends = Schedule.from_columns(path, 1, [], [], [], [], [], ranks=Ranks.of(path, [2, 0]))
    >>> in_rank_order(ends).ranks.nodes.tolist(), in_rank_order(ends).topology.tail.tolist()
    ([0, 1], [0, 1, 2, 2])
    """
    order = schedule.ranks.node_order
    if (np.diff(order) > 0).all():
        return schedule
    new = np.empty_like(order)
    new[order] = np.arange(order.size, dtype=order.dtype)
    return relabel(schedule, new)


def allreduce(reduce_scatter: Schedule, allgather: Schedule) -> Schedule:
    """Return the reduce-scatter followed by the allgather, on one grid of chunks (sec:allreduceopt)."""
    if (reduce_scatter.collective, allgather.collective) != (Collective.REDUCE_SCATTER, Collective.ALLGATHER):
        raise ScheduleError(
            f"allreduce takes a reduce-scatter and an allgather, not {reduce_scatter!r} and {allgather!r}"
        )
    if reduce_scatter.topology != allgather.topology:
        raise ScheduleError("allreduce needs both schedules on the same topology")
    if reduce_scatter.ranks != allgather.ranks:
        raise ScheduleError("allreduce needs the same ranks in both schedules")
    check_permanent(allgather.topology, "one schedule after another")
    unit = int(np.lcm(reduce_scatter.unit, allgather.unit))
    parts = (reduce_scatter, allgather)
    scale = [unit // part.unit for part in parts]
    shift = (0, reduce_scatter.num_steps)
    return Schedule.from_columns(
        allgather.topology,
        unit,
        np.concatenate([part.source for part in parts]),
        np.concatenate([part.lo * s for part, s in zip(parts, scale, strict=True)]),
        np.concatenate([part.hi * s for part, s in zip(parts, scale, strict=True)]),
        np.concatenate([part.link for part in parts]),
        np.concatenate([part.step.astype(np.int64) + s for part, s in zip(parts, shift, strict=True)]),
        Collective.ALLREDUCE,
        allgather.ranks,
    )


Allgather = Callable[[Topology], Schedule]
"""Makes an allgather on a topology."""


def derive(topology: Topology, collective: Collective, allgather: Allgather, root: int = 0) -> Schedule:
    """Make any collective from allgathers on the topology and on its transpose (thm:scheduleswitchfunc).

    ``allgather`` is called once for each that is needed, and only once where the topology is its own transpose. A
    broadcast or a reduce keeps one root's rows.
    """
    check_root(topology, root)
    if not collective.reduces:
        made = gathered = replace(allgather(topology), topology=topology)
    elif topology.is_bidirectional:
        gathered = replace(allgather(topology), topology=topology)
        made = replace(reverse(gathered), topology=topology)
    else:
        made = replace(reverse(allgather(topology.transpose())), topology=topology)
        gathered = replace(allgather(topology), topology=topology) if collective.gathers else made
    if collective is Collective.ALLREDUCE:
        return allreduce(made, gathered)
    return from_root(made, root) if collective.has_root else made


def check_root(topology: Topology, root: int) -> int:
    """Return the root as an int; raise unless it is the number of a node."""
    if isinstance(root, bool) or not isinstance(root, (int, np.integer)) or not 0 <= root < topology.num_nodes:
        raise ScheduleError(f"root must be a node in [0, {topology.num_nodes}), not {shown(root)}")
    return int(root)


_ROOTED = {Collective.ALLGATHER: Collective.BROADCAST, Collective.REDUCE_SCATTER: Collective.REDUCE}
"""What is left of a collective when only one root's shard is kept."""


def from_root(schedule: Schedule, root: int) -> Schedule:
    """Return one root's rows: of an allgather a broadcast from it, of a reduce-scatter a reduction to it."""
    if schedule.collective not in _ROOTED:
        raise ScheduleError(f"a root is picked from an allgather or a reduce-scatter, not a {schedule.collective}")
    if schedule.ranks.is_everyone:
        check_root(schedule.topology, root)
    elif not 0 <= root < schedule.num_ranks:
        raise ScheduleError(f"root must be a rank in [0, {schedule.num_ranks}), not {shown(root)}")
    rows = schedule.source == root
    return Schedule.from_columns(
        schedule.topology, schedule.unit, schedule.source[rows], schedule.lo[rows], schedule.hi[rows],
        schedule.link[rows], schedule.step[rows], _ROOTED[schedule.collective], schedule.ranks,
    )  # fmt: skip
