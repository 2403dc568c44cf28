"""Accesses of one chunk that nothing orders, one of them a write: races.

Asks the clocks of ``linkstep.programs.events``. What was written before must be visible, what was read before only be
complete. Order seldom comes from far away, so for each rank's memory clocks are kept for few events first, those of the
rank and of the threadblocks that reach into it; the few pairs left are decided one by one, with all events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkstep._kernels.verify import _find_unordered, _is_reached
from linkstep.programs import Events, Findings, Memory, UnverifiableError
from linkstep.programs.columns import Bools, Columns, Ints, grouped

MAX_CLOCKS = 2**28  # a GiB of clocks
_DOUBTS = 2**14  # pairs of accesses of one rank's memory that are decided one by one
_SHOWN = 3  # ranks in whose memory a race is shown


@dataclass(frozen=True, eq=False)
class _Accesses(Columns):
    """``event`` reads, or writes if ``is_write``, ``count`` cells from ``cell`` on; ``is_packed`` if these are packets.

    The two flags are 0 or 1.
    """

    event: Ints
    is_write: Ints
    cell: Ints
    count: Ints
    is_packed: Ints


@dataclass(frozen=True, eq=False)
class _Order:
    """Events in an order in which they can happen, and how knowledge passes between them.

    What is behind a pair of ``edges`` is visible, what is behind one of ``flags`` only if a caller came between.
    """

    events: Events
    order: Ints
    edges: Ints
    flags: Ints

    @property
    def graph(self) -> tuple[Ints, Ints, Ints, Ints, Bools]:
        """The predecessors by edges and by flags, as (ptr, items), and the events that settle everything."""
        n = self.events.num_events
        before, after = self.edges.T
        notified, notifies = self.flags.T[::-1]
        return (*grouped(after, before, n), *grouped(notified, notifies, n), self.events.is_caller)


class RaceSearch:
    """Looks for races in events under one layout of memory."""

    def __init__(self, events: Events, memory: Memory, mode: str, findings: Findings) -> None:
        self.events, self.memory, self.mode, self.findings = events, memory, mode, findings
        self.num_ranks = memory.rank_ptr.size - 1
        moves = events.moves
        self.dst = memory.cells(moves.dst, moves.dst_offset)
        self.src = memory.cells(moves.src, moves.src_offset)
        self.addend = memory.cells(moves.addend, moves.addend_offset)

    def find(self, order: Ints, progress: Callable[[], None]) -> None:
        """Report races; ``progress`` is called once for each rank."""
        events, accesses = self.events, self._accesses()
        everything, none = np.ones(len(accesses), np.bool_), np.zeros((0, 2), np.int64)
        if not events.flags.size:
            self._search(_Order(events, order, events.edges, none), accesses, everything, everything, progress)
            return
        before, packed = self.findings.num_errors(), accesses.is_packed.astype(np.bool_)
        visible = _Order(events, order, events.edges, events.flags)
        self._search(visible, accesses, ~packed, ~everything, lambda: None)
        if self.findings.num_errors() == before:
            complete = _Order(events, order, np.concatenate([events.edges, events.flags]), none)
            self._search(complete, accesses, packed, everything, progress)

    def find_overlaps(self) -> None:
        """The threads of one event do not wait for each other, so it may not read or write what it writes elsewhere."""
        moves, dst = self.events.moves, self.dst
        bad = np.zeros(dst.size, np.bool_)
        for cells in (self.src, self.addend):
            bad |= (cells >= 0) & (cells != dst) & (np.abs(cells - dst) < moves.count)
        rows = np.flatnonzero(self.src != dst)  # those that go on with a sum are of one destination
        rows = rows[np.lexsort((dst[rows], moves.event[rows]))]
        a, b = rows[:-1], rows[1:]
        bad[b] |= (moves.event[a] == moves.event[b]) & (dst[a] + moves.count[a] > dst[b])
        for row in np.flatnonzero(bad):
            place = self.events.place(int(moves.event[row]))
            self.findings.error("overlap", f"src and dst overlap in part{self.mode}, or two dst do", *place)

    def _accesses(self) -> _Accesses:
        moves, parts = self.events.moves, []
        for cells, buffer, is_write in (
            (self.src, moves.src, 0), (self.addend, moves.addend, 0), (self.dst, moves.dst, 1)
        ):  # fmt: skip
            rows = np.flatnonzero(buffer >= 0)
            packed = np.isin(buffer[rows], self.events.packets)
            columns = (moves.event[rows], np.full(rows.size, is_write), cells[rows], moves.count[rows], packed)
            parts.append(_Accesses.from_columns(columns))
        return _Accesses.concatenate(parts)

    def _search(
        self, order: _Order, accesses: _Accesses, after_write: Bools, after_read: Bools, progress: Callable[[], None]
    ) -> None:  # fmt: skip
        """Compare the accesses marked so with the writes, or with the reads, before them."""
        events, n = self.events, self.events.num_events
        graph = order.graph
        access_ptr, rows = grouped(accesses.event, np.arange(len(accesses)), n)
        accesses, after_write, after_read = accesses.take(rows), after_write[rows], after_read[rows]
        write = accesses.is_write.astype(np.bool_)
        user_ptr, users_of = grouped(self.memory.owner(accesses.cell), accesses.event, self.num_ranks)
        near = _Near(events, order.order, self.num_ranks)
        position, column = np.full(n, -1, np.int64), np.full(events.num_chains, -1, np.int64)
        raises, ends, elsewhere = events.raises, events.ends, events.ends_elsewhere
        doubts = []
        for rank in range(self.num_ranks):
            users = np.unique(users_of[user_ptr[rank] : user_ptr[rank + 1]])
            chains = np.unique(np.concatenate([ends.chain[users], elsewhere.chain[users]]))
            chains = chains[chains >= 0]
            column[chains] = np.arange(chains.size)
            for some in (near.events(rank, users), order.order):
                if some.size * chains.size * (2 if order.flags.size else 1) > MAX_CLOCKS:
                    raise UnverifiableError(f"{some.size} events in {chains.size} threadblocks are too many to follow")
                position[some] = np.arange(some.size)
                found = _find_unordered(
                    some, position, *graph, raises.chain, raises.number, ends.chain, ends.number, elsewhere.chain,
                    elsewhere.number, column, chains.size, access_ptr, accesses.cell, accesses.count, write,
                    after_write, after_read, self.memory.rank_ptr[rank], self.memory.rank_ptr[rank + 1], _DOUBTS,
                )  # fmt: skip
                position[some] = -1
                if len(found) <= _DOUBTS:
                    break
            column[chains] = -1
            doubts.append(found)
            progress()
        earlier, later, cell = np.concatenate(doubts).T
        races = np.flatnonzero(~_is_ordered(order, graph, earlier, later))
        _, first = np.unique(self.memory.owner(cell[races]), return_index=True)
        for k in races[np.sort(first)[:_SHOWN]]:
            self._report(int(earlier[k]), int(later[k]), int(cell[k]))

    def _report(self, first: int, second: int, cell: int) -> None:
        def verb(event: int) -> str:
            rows = self.events.moves.event == event
            hit = (self.dst[rows] <= cell) & (cell < self.dst[rows] + self.events.moves.count[rows])
            return "writes" if hit.any() else "reads"

        self.findings.error(
            "race",
            f"{verb(second)} {self.memory.describe(cell)}{self.mode}, which {self.events.describe(first)} "
            f"{verb(first)}, and nothing orders the two",
            *self.events.place(second),
        )


class _Near:
    """Events in their order, by threadblock and by rank."""

    def __init__(self, events: Events, order: Ints, num_ranks: int) -> None:
        self.order, self.rank = order, events.rank
        tb = np.maximum(events.threadblock, -1) + 1  # callers and events without a threadblock are in number 0
        self.width = int(tb.max(initial=0)) + 1
        self.block = self.rank * self.width + tb
        self.ptr, self.where = grouped(self.block[order], np.arange(order.size), num_ranks * self.width)

    def events(self, rank: int, users: Ints) -> Ints:
        """Return, in their order, the events of a rank and of the threadblocks of those who use its memory."""
        ranks = np.unique(np.append(self.rank[users], rank))
        first = ranks * self.width  # the callers' number and the first threadblock, at which barriers meet
        own = rank * self.width + np.arange(self.width)
        blocks = np.unique(np.concatenate([self.block[users], first, first + min(self.width - 1, 1), own]))
        near: Ints = np.concatenate([self.where[self.ptr[k] : self.ptr[k + 1]] for k in blocks.tolist()])
        return np.asarray(self.order[np.sort(near)], np.int64)


def _is_ordered(order: _Order, graph: tuple[Ints, Ints, Ints, Ints, Bools], earlier: Ints, later: Ints) -> Bools:
    """Tell for each pair whether the later event begins when the earlier is known to be complete."""
    events, sequence = order.events, order.order
    position = np.empty(events.num_events, np.int64)
    position[sequence] = np.arange(sequence.size)
    raises = events.raises
    raisers = sequence[raises.chain[sequence] >= 0]
    keys = raises.chain[raisers] * 2**32 + raises.number[raisers]
    sorting = np.argsort(keys, kind="stable")
    raisers, keys = raisers[sorting], keys[sorting]
    answer = np.zeros(len(earlier), np.bool_)
    for ends in (events.ends, events.ends_elsewhere):
        chain = ends.chain[earlier]
        at = np.searchsorted(keys, chain * 2**32 + ends.number[earlier])
        rows = np.flatnonzero((chain >= 0) & (at < keys.size))
        rows = rows[raises.chain[raisers[at[rows]]] == chain[rows]]
        start, which = np.unique(position[raisers[at[rows]]], return_inverse=True)
        ptr, rows = grouped(which, rows, start.size)
        answer[rows] |= _is_reached(sequence, position, *graph, sequence[start], ptr, later[rows])
    return answer
