"""Schedules of some ranks, made of schedules in which everyone takes part: the other nodes only forward.

Shards of those who take no part are left out, and so is what nobody needs any more: in a gathering what comes to a node
that neither takes part nor passes it on, in a reduction what a node sends of which nothing has come to it. Links are no
busier than they were; how evenly they are is not looked at again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective, Phase
from linkstep.core.errors import ScheduleError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import ROW_COLUMNS, Schedule
from linkstep.core.topology import Ints
from linkstep.correctness import split_phases
from linkstep.methods.transform import by_destination, reverse

Rows = NDArray[np.bool_]


def for_ranks(schedule: Schedule, ranks: Ranks) -> Schedule:
    """Return what is left of a schedule in which everyone takes part when only ``ranks`` do.

    Of a broadcast or a reduce the root must be one of them.

    >>> import linkstep
    >>> ring = linkstep.parse("BiRing(2,4)").topology()
    >>> whole = linkstep.schedule(ring, "allgather").schedule
    >>> some = for_ranks(whole, Ranks.of(ring, [0, 2, 1]))
    >>> whole.num_rows, some.num_rows, linkstep.check(some)
    (16, 10, None)
    """
    check_kind("schedule", schedule, Schedule)
    check_kind("ranks", ranks, Ranks)
    if not schedule.ranks.is_everyone:
        raise ScheduleError("ranks are picked from a schedule in which everyone takes part, in node order")
    if schedule.collective.exchanges:
        return _of_pieces(schedule, ranks)
    if schedule.collective.phases == (Phase.GATHER,):
        return _pruned(_with_shards_of(schedule, ranks))
    if schedule.collective.phases == (Phase.REDUCE,):
        return _pruned_backwards(_with_shards_of(schedule, ranks))
    reduces, roots = split_phases(schedule)
    if (roots[:, 1] != roots[:, 0]).any():
        raise ScheduleError("some take no part, and this method's sums are complete at other nodes than their shards'")
    scatter = _with_shards_of(_rows(schedule, reduces, Collective.REDUCE_SCATTER), ranks)
    gather = _with_shards_of(_rows(schedule, ~reduces, Collective.ALLGATHER), ranks)
    return _joined(_pruned_backwards(scatter), _pruned(gather))


def _with_shards_of(schedule: Schedule, ranks: Ranks) -> Schedule:
    """Return the rows of the ranks' own shards, by the ranks' numbers."""
    number, collective = ranks.rank_of[schedule.source], schedule.collective
    kept = number >= 0
    columns = {name: getattr(schedule, name)[kept] for name in ROW_COLUMNS} | {"source": number[kept]}
    return Schedule.from_columns(schedule.topology, schedule.unit, **columns, collective=collective, ranks=ranks)


def _of_pieces(schedule: Schedule, ranks: Ranks) -> Schedule:
    """Return the rows of an all-to-all by which ranks send to ranks; the piece for rank w is the w-th of a shard."""
    piece = schedule.unit // schedule.num_ranks
    row, to, start, stop = by_destination(schedule)
    source, target = ranks.rank_of[schedule.source[row]], ranks.rank_of[to]
    kept = (source >= 0) & (target >= 0)
    row, at = row[kept], target[kept].astype(np.int64) * piece
    return Schedule.from_columns(
        schedule.topology, piece * ranks.num_ranks, source[kept], at + start[kept], at + stop[kept],
        schedule.link[row], schedule.step[row], schedule.collective, ranks,
    )  # fmt: skip


def _rows(schedule: Schedule, kept: Rows, collective: Collective) -> Schedule:
    columns = {name: getattr(schedule, name)[kept] for name in ROW_COLUMNS}
    return replace(schedule, **columns, collective=collective)


def _joined(scatter: Schedule, gather: Schedule) -> Schedule:
    """Return both at once, each at its own steps."""
    columns = {name: np.concatenate([getattr(part, name) for part in (scatter, gather)]) for name in ROW_COLUMNS}
    return Schedule.from_columns(
        gather.topology, gather.unit, **columns, collective=Collective.ALLREDUCE, ranks=gather.ranks
    )


def _pruned_backwards(schedule: Schedule) -> Schedule:
    """Return a reduction without what nodes send that take no part and have received nothing."""
    if not schedule.num_rows:
        return schedule
    last = schedule.num_steps
    backwards = _pruned(reverse(schedule))
    there = reverse(backwards)
    return replace(there, topology=schedule.topology, step=(there.step + np.int16(last - backwards.num_steps)))


def _pruned(schedule: Schedule) -> Schedule:
    """Return a gathering without what comes to nodes that take no part and do not pass it on."""
    forwards = schedule.ranks.rank_of < 0
    tail, head = (forwards[end[schedule.link]] for end in (schedule.topology.tail, schedule.topology.head))
    some = np.flatnonzero(tail | head)
    if not head.any():
        return schedule
    ends = np.unique(np.concatenate([schedule.lo[some], schedule.hi[some]]))
    cells = _Cells(schedule, ends)
    for step in np.unique(schedule.step[some])[::-1].tolist():
        now = some[schedule.step[some] == step]
        for row in now[head[now]].tolist():
            cells.keep_needed(row)
        for row in now[tail[now]].tolist():
            cells.need(row)
    return cells.left(np.flatnonzero(~head))


class _Cells:
    """What nodes that only forward pass on later, cell by cell of a shard, from the last step to the first."""

    def __init__(self, schedule: Schedule, ends: Ints) -> None:
        self.schedule, self.ends = schedule, ends
        self.needed: dict[tuple[int, int], Rows] = {}
        self.kept: dict[int, Rows] = {}

    def _span(self, row: int) -> tuple[int, int]:
        lo, hi = np.searchsorted(self.ends, [self.schedule.lo[row], self.schedule.hi[row]])
        return int(lo), int(hi)

    def _at(self, row: int, node: int) -> Rows:
        key = int(self.schedule.source[row]), node
        return self.needed.setdefault(key, np.zeros(self.ends.size - 1, np.bool_))

    def keep_needed(self, row: int) -> None:
        """Keep of a row what its head passes on at a later step."""
        lo, hi = self._span(row)
        needed = self._at(row, int(self.schedule.topology.head[self.schedule.link[row]]))
        self.kept[row] = np.zeros_like(needed)
        self.kept[row][lo:hi] = needed[lo:hi]

    def need(self, row: int) -> None:
        """Note that the tail passes a row on, or what of it is kept."""
        lo, hi = self._span(row)
        needed = self._at(row, int(self.schedule.topology.tail[self.schedule.link[row]]))
        needed[lo:hi] |= True if row not in self.kept else self.kept[row][lo:hi]

    def left(self, whole: Ints) -> Schedule:
        """Return the rows that are kept, some ``whole``, of others the neighbouring cells together."""
        rows, lo, hi = [whole], [self.schedule.lo[whole]], [self.schedule.hi[whole]]
        for row, kept in self.kept.items():
            edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]])))
            rows.append(np.full(edges.size // 2, row))
            lo.append(self.ends[edges[::2]])
            hi.append(self.ends[edges[1::2]])
        at, one = np.concatenate(rows), self.schedule
        return Schedule.from_columns(
            one.topology, one.unit, one.source[at], np.concatenate(lo), np.concatenate(hi), one.link[at], one.step[at],
            one.collective, one.ranks,
        )  # fmt: skip
