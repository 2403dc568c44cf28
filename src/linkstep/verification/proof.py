"""Proves or refutes a plan: it ends, nothing races, and every output is what the collective says.

Independent of formats: readers make a ``Plan``, this runs it once in a topological order. If no two accesses race,
every execution carries the same data, so one run proves them all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkstep._kernels.verify import _carry, _find_unordered, _is_reached
from linkstep.core.errors import FileError
from linkstep.programs.events import NONE, SLOT, Ints, Plan, grouped
from linkstep.programs.findings import Findings
from linkstep.programs.memory import INPUT, ROOTED, Goal, Memory, goal, memory
from linkstep.programs.order import Task, find_order, name, witness

MAX_WORDS = 2**26  # half a GiB of values
MAX_CLOCKS = 2**28  # a GiB of clocks
_DOUBTS = 2**14  # pairs of accesses of one rank's memory that are looked at one by one
_SHOWN = 3  # wrong output chunks and racing ranks shown


class _Run:
    """One plan under one layout of memory."""

    def __init__(self, task: Task, plan: Plan, where: Memory, mode: str, findings: Findings) -> None:
        self.task, self.plan, self.where, self.mode, self.findings = task, plan, where, mode, findings
        self.dst, self.src, self.also = (plan.cells(where.base, where.num_cells, column) for column in (1, 3, 5))
        self.count = plan.moves[:, 7]

    def witness(self, event: int) -> tuple[int, int | None, int | None]:
        return witness(self.plan, event)

    def name(self, event: int) -> str:
        return name(self.task, self.plan, event)

    def chunk_name(self, cell: int) -> str:
        rank = int(np.searchsorted(self.where.rank_ptr, cell, side="right")) - 1
        for buffer in (1, 0, 2):
            offset = cell - int(self.where.base[3 * rank + buffer])
            size = (self.where.input_size, self.where.output_size, 2**62)[buffer]
            if 0 <= offset < size:
                return f"{'ios'[buffer]}[{offset}] of rank {rank}"
        raise AssertionError(cell)

    def find_races(self, order: Ints) -> None:
        """Look for accesses that nothing orders; what was written must be seen, what was read must only be over."""
        plan = self.plan
        event, write, cell, count, packed = self._accesses()
        everything, none = np.ones(event.size, np.bool_), np.zeros((0, 2), np.int64)
        if not plan.flags.size:
            self._search(order, plan.edges, none, (event, cell, count, write, everything, everything))
            return
        before = self.findings.num_errors()
        self._search(order, plan.edges, plan.flags, (event, cell, count, write, ~packed, ~everything))
        if self.findings.num_errors() == before:
            edges = np.concatenate([plan.edges, plan.flags])
            self._search(order, edges, none, (event, cell, count, write, packed, everything))

    def _search(self, order: Ints, edges: Ints, flags: Ints, accesses: tuple[npt.NDArray[Any], ...]) -> None:
        """Ask for each rank's memory what the rank and the blocks that reach into it know; for the pairs left, all.

        Order seldom comes from afar, so clocks are kept for few events, and few pairs are left.
        """
        plan, n = self.plan, self.plan.num_events
        pred_ptr, pred = grouped(edges[:, 1], edges[:, 0], n)
        flag_ptr, flag = grouped(flags[:, 1], flags[:, 0], n)
        settles = plan.place[:, 2] < 0  # a caller: between two runs all that was written is seen
        graph = (pred_ptr, pred, flag_ptr, flag, settles)
        access_ptr, rows = grouped(accesses[0], np.arange(accesses[0].size), n)
        event, cell, count, write, after_write, after_read = (values[rows] for values in accesses)
        owner = np.searchsorted(self.where.rank_ptr, cell, side="right") - 1
        acc_ptr, acc_event = grouped(owner, event, self.task.num_ranks)
        near = _Near(plan, order, self.task.num_ranks)
        position, column = np.full(n, -1, np.int64), np.full(plan.num_chains, -1, np.int64)
        doubts = []
        for rank in range(self.task.num_ranks):
            users = np.unique(acc_event[acc_ptr[rank] : acc_ptr[rank + 1]])
            chains = np.unique(plan.stamps[users][:, [0, 2]])
            chains = chains[chains >= 0]
            column[chains] = np.arange(chains.size)
            for some in (near.events(rank, users), order):
                if some.size * chains.size * (2 if flags.size else 1) > MAX_CLOCKS:
                    raise FileError(f"{some.size} events in {chains.size} threadblocks are more than can be followed")
                position[some] = np.arange(some.size)
                pairs = _find_unordered(
                    some, position, pred_ptr, pred, flag_ptr, flag, settles, plan.raises, plan.stamps, column,
                    chains.size, access_ptr, cell, count, write, after_write, after_read, self.where.rank_ptr[rank],
                    self.where.rank_ptr[rank + 1], _DOUBTS,
                )  # fmt: skip
                position[some] = -1
                if len(pairs) <= _DOUBTS:
                    break
            column[chains] = -1
            doubts.append(pairs)
        doubt = np.concatenate(doubts)
        races = doubt[~_is_ordered(plan, order, graph, doubt)]
        whose = np.searchsorted(self.where.rank_ptr, races[:, 2], side="right")
        for k in np.sort(np.unique(whose, return_index=True)[1])[:_SHOWN]:
            self._refuse_race(*(int(x) for x in races[k]))

    def _accesses(self) -> tuple[Ints, npt.NDArray[np.bool_], Ints, Ints, npt.NDArray[np.bool_]]:
        parts = []
        for cells, buffer, writes in (
            (self.src, self.plan.moves[:, 3], False), (self.also, self.plan.moves[:, 5], False),
            (self.dst, self.plan.moves[:, 1], True),
        ):  # fmt: skip
            rows = np.flatnonzero((buffer != SLOT) & (buffer != NONE))
            packed = np.isin(buffer[rows], self.plan.packets)
            parts.append((self.plan.moves[rows, 0], np.full(rows.size, writes), cells[rows], self.count[rows], packed))
        event, write, cell, count, packed = (np.concatenate(x) for x in zip(*parts, strict=True))
        return event, write, cell, count, packed

    def _refuse_race(self, first: int, second: int, cell: int) -> None:
        def verb(event: int) -> str:
            rows = self.plan.moves[:, 0] == event
            hit = (self.dst[rows] <= cell) & (cell < self.dst[rows] + self.count[rows])
            return "writes" if hit.any() else "reads"

        self.findings.error(
            "race",
            f"{verb(second)} {self.chunk_name(cell)}{self.mode}, which {self.name(first)} {verb(first)}, "
            f"and nothing orders the two",
            *self.witness(second),
        )

    def carry(self, order: Ints) -> tuple[Ints, npt.NDArray[np.uint64], Ints]:
        """Run the program on symbols; return the chunk, the ranks and the blamed move of every cell."""
        n, where = self.task.num_ranks, self.where
        total, words = where.num_cells + self.plan.num_slots, (n + 63) // 64
        if total * (words + 2) > MAX_WORDS:
            raise FileError(f"{total} chunks in the buffers of {n} ranks are more than can be followed")
        chunk, blame = np.full(total, -1, np.int64), np.full(total, -1, np.int64)
        ranks = np.zeros((total, words), np.uint64)
        for r in range(n):
            at = int(where.base[3 * r + INPUT])
            chunk[at : at + where.input_size] = np.arange(where.input_size)
            ranks[at : at + where.input_size, r // 64] = np.uint64(1) << np.uint64(r % 64)
        ptr, _ = grouped(self.plan.moves[:, 0], self.plan.moves[:, 0], self.plan.num_events)
        _carry(order, ptr, self.dst, self.src, self.also, self.count, chunk, ranks, blame)
        return chunk, ranks, blame

    def check_outputs(self, chunk: Ints, ranks: npt.NDArray[np.uint64], blame: Ints) -> None:
        task = self.task
        root = task.root
        if task.collective in ROOTED and root < 0:
            root = self._root(chunk, ranks)
        wanted = goal(task.collective, task.num_ranks, task.chunks, self.where, root)
        full = np.zeros((1, ranks.shape[1]), np.uint64)
        for r in range(task.num_ranks):
            full[0, r // 64] |= np.uint64(1) << np.uint64(r % 64)
        bits = np.broadcast_to(full, (wanted.cell.size, full.shape[1])).copy()
        single = np.flatnonzero(wanted.source >= 0)
        bits[single] = 0
        bits[single, wanted.source[single] // 64] = np.uint64(1) << (wanted.source[single] % 64).astype(np.uint64)
        wrong = np.flatnonzero((chunk[wanted.cell] != wanted.chunk) | (ranks[wanted.cell] != bits).any(axis=1))
        for k in wrong[:_SHOWN]:
            self._refuse_output(wanted, int(k), chunk, ranks, blame)
        if wrong.size > _SHOWN:
            self.findings.error("result", f"{wrong.size - _SHOWN} more output chunks are wrong{self.mode}")

    def check_input_kept(self, inplace: bool) -> None:
        """No write to the input, but for the part that is the output in place."""
        buffer, cell = self.plan.moves[:, 1], self.dst
        is_input = (buffer >= 0) & (buffer % 3 == INPUT)
        if inplace:
            output = self.where.base[np.maximum(buffer, 0) // 3 * 3 + 1]
            is_input &= (cell < output) | (cell + self.count > output + self.where.output_size)
        for move in np.flatnonzero(is_input)[:1]:
            event = int(self.plan.moves[move, 0])
            self.findings.error(
                "input-written", f"writes to the input{self.mode}, which the caller keeps", *self.witness(event)
            )

    def _root(self, chunk: Ints, ranks: npt.NDArray[np.uint64]) -> int:
        """Guess the root that MSCCL XML does not name: who rank 0's data is from, or who has the whole sum."""
        for r in range(self.task.num_ranks):
            at = int(self.where.base[3 * r + 1])
            if self.task.collective == "broadcast":
                return next((s for s in range(self.task.num_ranks) if _has(ranks[at], s)), 0)
            if chunk[at] >= 0 and all(_has(ranks[at], s) for s in range(self.task.num_ranks)):
                return r
        return 0

    def _refuse_output(self, wanted: Goal, k: int, chunk: Ints, ranks: npt.NDArray[np.uint64], blame: Ints) -> None:
        rank, index, cell = int(wanted.rank[k]), int(wanted.index[k]), int(wanted.cell[k])
        what, source = int(wanted.chunk[k]), int(wanted.source[k])
        want = f"chunk {what} of " + (f"rank {source}" if source >= 0 else "all ranks")
        have = int(chunk[cell])
        place: tuple[int, int | None, int | None] = (rank, None, None)
        if have >= 0:
            held = [r for r in range(self.task.num_ranks) if _has(ranks[cell], r)]
            lacks = [r for r in range(self.task.num_ranks) if r not in held] if source < 0 and have == what else []
            says = f"lacks the part of rank {lacks[0]}" if lacks else f"has chunk {have} of rank {held[0]}" + (
                f" and {len(held) - 1} more" if len(held) > 1 else ""
            )  # fmt: skip
        elif have == -1:
            says = "is never written"
        else:
            reason = {-2: "adds a part that is in the sum already", -3: "adds different chunks", -4: "adds to nothing"}
            event = int(self.plan.moves[blame[cell], 0])
            says = f"is spoilt at {self.name(event)}, which {reason[have]}"
            place = self.witness(event)
        self.findings.error("result", f"o[{index}] of rank {rank}{self.mode} must be {want}, but {says}", *place)


class _Near:
    """Events in their order, by block and by rank."""

    def __init__(self, plan: Plan, order: Ints, num_ranks: int) -> None:
        self.order, self.home = order, plan.place[:, 0]
        tb = np.maximum(plan.place[:, 1], -1) + 1  # callers and events without a block are in block 0
        self.width = int(tb.max(initial=0)) + 1
        self.block = self.home * self.width + tb
        self.ptr, self.where = grouped(self.block[order], np.arange(order.size), num_ranks * self.width)

    def events(self, rank: int, users: Ints) -> Ints:
        """Return the part of the order that a rank and the blocks of those who use its memory make."""
        ranks = np.unique(np.append(self.home[users], rank))
        first = ranks * self.width  # the callers' block and the first, at which barriers meet
        own = rank * self.width + np.arange(self.width)
        blocks = np.unique(np.concatenate([self.block[users], first, first + min(self.width - 1, 1), own]))
        near: Ints = np.concatenate([self.where[self.ptr[k] : self.ptr[k + 1]] for k in blocks.tolist()])
        return np.asarray(self.order[np.sort(near)], np.int64)


def _is_ordered(plan: Plan, order: Ints, graph: tuple[npt.NDArray[Any], ...], pairs: Ints) -> npt.NDArray[np.bool_]:
    """Tell for each pair whether one of the earlier event's stamps is reached before the later event."""
    pred_ptr, pred, flag_ptr, flag, settles = graph
    position = np.empty(plan.num_events, np.int64)
    position[order] = np.arange(order.size)
    raisers = order[plan.raises[order, 0] >= 0]
    keys = plan.raises[raisers] @ np.array([2**32, 1])
    sorting = np.argsort(keys, kind="stable")
    raisers, keys = raisers[sorting], keys[sorting]
    answer = np.zeros(len(pairs), np.bool_)
    for stamp in (plan.stamps[pairs[:, 0], :2], plan.stamps[pairs[:, 0], 2:]):
        at = np.searchsorted(keys, stamp @ np.array([2**32, 1]))
        rows = np.flatnonzero((stamp[:, 0] >= 0) & (at < keys.size))
        rows = rows[plan.raises[raisers[at[rows]], 0] == stamp[rows, 0]]
        start, which = np.unique(position[raisers[at[rows]]], return_inverse=True)
        ptr, rows = grouped(which, rows, start.size)
        answer[rows] |= _is_reached(
            order, position, pred_ptr, pred, flag_ptr, flag, settles, order[start], ptr, pairs[rows, 1]
        )
    return answer


def _has(row: npt.NDArray[np.uint64], rank: int) -> bool:
    return bool(int(row[rank // 64]) >> (rank % 64) & 1)


def check_plan(
    task: Task,
    plan: Plan,
    modes: list[bool],
    findings: Findings,
    keep_input: bool = False,
    races_in: Plan | None = None,
) -> None:
    """Check a plan in place (True) or out of place (False), or both; look for races in another plan if it is given.

    Out of place the input must be left as it was (NCCL's sendbuff is const); in place a reduce-scatter must leave the
    rest of it only if ``keep_input``.
    """
    order = find_order(task, plan, findings)
    if order is None:
        return
    for inplace in modes:
        where = memory(task.collective, task.num_ranks, task.chunks, task.scratch, inplace)
        mode = "" if len(modes) == 1 else " in place" if inplace else " out of place"
        run = _Run(task, plan, where, mode, findings)
        data = run.carry(order)
        before = findings.num_errors()
        if races_in is None:
            run.find_races(order)
        else:
            more = find_order(task, races_in, findings)
            if more is not None:
                _Run(task, races_in, where, mode, findings).find_races(more)
        if findings.num_errors() == before:
            run.check_outputs(*data)
        if not inplace or (keep_input and task.collective == "reduce-scatter"):
            run.check_input_kept(inplace)
