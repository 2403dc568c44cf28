"""Proves or refutes a plan: it ends, nothing races, and every output is what the collective says.

Independent of formats: readers make a ``Plan``, this runs it once in a topological order. If no two accesses race,
every execution carries the same data, so one run proves them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkstep._kernels.verify import _carry, _find_race, _topological_order
from linkstep.errors import FileError
from linkstep.verify._collectives import INPUT, ROOTED, Goal, Memory, goal, memory
from linkstep.verify._plan import NONE, SLOT, Ints, Plan, grouped
from linkstep.verify._report import Findings

MAX_WORDS = 2**26  # half a GiB of values
MAX_CLOCKS = 2**28  # a GiB of clocks
_SHOWN = 3  # wrong output chunks and racing ranks shown


@dataclass(frozen=True)
class Task:
    """What a program is to do: its collective, over how many ranks and chunks, and the words for its parts."""

    collective: str
    num_ranks: int
    chunks: int
    scratch: Ints
    root: int = -1
    part: str = "tb"


class _Run:
    """One plan under one layout of memory."""

    def __init__(self, task: Task, plan: Plan, where: Memory, mode: str, findings: Findings) -> None:
        self.task, self.plan, self.where, self.mode, self.findings = task, plan, where, mode, findings
        self.dst, self.src, self.also = (plan.cells(where.base, where.num_cells, column) for column in (1, 3, 5))
        self.count = plan.moves[:, 7]

    def witness(self, event: int) -> tuple[int, int | None, int | None]:
        rank, tb, step = (int(x) for x in self.plan.place[event])
        return rank, (tb if tb >= 0 else None), (step if step >= 0 else None)

    def name(self, event: int) -> str:
        rank, tb, step = self.witness(event)
        if step is None:
            return f"the caller of rank {rank} before or after the run"
        return f"rank {rank}{'' if tb is None else f' {self.task.part} {tb}'} step {step}"

    def chunk_name(self, cell: int) -> str:
        rank = int(np.searchsorted(self.where.rank_ptr, cell, side="right")) - 1
        for buffer in (1, 0, 2):
            offset = cell - int(self.where.base[3 * rank + buffer])
            size = (self.where.input_size, self.where.output_size, 2**62)[buffer]
            if 0 <= offset < size:
                return f"{'ios'[buffer]}[{offset}] of rank {rank}"
        raise AssertionError(cell)

    def find_races(self, order: Ints) -> None:
        """Ask for each rank's memory, first with what its own events know, then with what all know."""
        plan, n = self.plan, self.plan.num_events
        event, write, cell, count = self._accesses()
        pred_ptr, pred = grouped(plan.edges[:, 1], plan.edges[:, 0], n)
        access_ptr, rows = grouped(event, np.arange(event.size), n)
        cell, count, write, event = cell[rows], count[rows], write[rows], event[rows]
        owner = np.searchsorted(self.where.rank_ptr, cell, side="right") - 1
        home = plan.place[:, 0]
        own_ptr, own = grouped(home[order], order, self.task.num_ranks)
        acc_ptr, acc_event = grouped(owner, event, self.task.num_ranks)
        everywhere = np.empty(n, np.int64)
        everywhere[order] = np.arange(n)
        nowhere = np.full(n, -1, np.int64)
        column = np.full(plan.num_chains, -1, np.int64)
        races = 0
        for rank in range(self.task.num_ranks):
            users = np.unique(acc_event[acc_ptr[rank] : acc_ptr[rank + 1]])
            chains = np.unique(plan.stamps[users][:, [0, 2]])
            chains = chains[chains >= 0]
            column[chains] = np.arange(chains.size)
            lo, hi = self.where.rank_ptr[rank], self.where.rank_ptr[rank + 1]
            rest = (column, chains.size, access_ptr, cell, count, write, lo, hi)
            mine = own[own_ptr[rank] : own_ptr[rank + 1]]
            race = np.zeros(3, np.int64)
            if (home[users] == rank).all():
                nowhere[mine] = np.arange(mine.size)
                race = _find_race(mine, nowhere, pred_ptr, pred, plan.raises, plan.stamps, *rest)
                nowhere[mine] = -1
            if race[0] >= 0:
                if order.size * chains.size > MAX_CLOCKS:
                    raise FileError(f"{order.size} events in {chains.size} threadblocks are more than can be followed")
                race = _find_race(order, everywhere, pred_ptr, pred, plan.raises, plan.stamps, *rest)
            column[chains] = -1
            if race[0] >= 0:
                self._refuse_race(*(int(x) for x in race))
                races += 1
                if races == _SHOWN:
                    return

    def _accesses(self) -> tuple[Ints, npt.NDArray[np.bool_], Ints, Ints]:
        parts = []
        for cells, buffer, writes in (
            (self.src, self.plan.moves[:, 3], False), (self.also, self.plan.moves[:, 5], False),
            (self.dst, self.plan.moves[:, 1], True),
        ):  # fmt: skip
            rows = np.flatnonzero((buffer != SLOT) & (buffer != NONE))
            parts.append((self.plan.moves[rows, 0], np.full(rows.size, writes), cells[rows], self.count[rows]))
        event, write, cell, count = (np.concatenate(x) for x in zip(*parts, strict=True))
        return event, write, cell, count

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


def _has(row: npt.NDArray[np.uint64], rank: int) -> bool:
    return bool(int(row[rank // 64]) >> (rank % 64) & 1)


def _joined(plan: Plan) -> tuple[Ints, Ints]:
    """Return each event's group, made of joint events, and the edges and waits that are not inside a joint pair."""
    group = np.arange(plan.num_events)
    edges = np.concatenate([plan.edges, plan.waits])
    if not plan.joint.size:
        return group, edges

    def find(event: int) -> int:
        while group[event] != event:
            group[event] = group[group[event]]
            event = int(group[event])
        return event

    for a, b in plan.joint.tolist():
        group[find(a)] = find(b)
    group = np.array([find(e) for e in range(plan.num_events)], np.int64)
    inside = np.isin(edges @ [plan.num_events, 1], plan.joint @ [plan.num_events, 1])
    return group, edges[~inside]


def _order(edges: Ints, num_events: int) -> tuple[Ints, Ints, Ints]:
    """Return an order as long as it goes, and the predecessors (ptr, items) of each event."""
    pred_ptr, pred = grouped(edges[:, 1], edges[:, 0], num_events)
    succ_ptr, succ = grouped(edges[:, 0], edges[:, 1], num_events)
    return _topological_order(pred_ptr, succ_ptr, succ), pred_ptr, pred


def find_order(task: Task, plan: Plan, findings: Findings) -> Ints | None:
    """Return an order of the events in which all ends, or report a cycle of events that wait for each other."""
    n = plan.num_events
    group, edges = _joined(plan)
    order, pred_ptr, pred = _order(group[edges], n)
    if order.size == n:
        return _order(np.concatenate([plan.edges, plan.waits]), n)[0]
    done = np.zeros(n, bool)
    done[order] = True
    event = int(np.flatnonzero(~done)[0])
    seen: dict[int, int] = {}
    path: list[int] = []
    while event not in seen:
        seen[event] = len(path)
        path.append(event)
        event = next(int(p) for p in pred[pred_ptr[event] : pred_ptr[event + 1]] if not done[p])
    cycle = path[seen[event] :]
    run = _Run(task, plan, memory(task.collective, task.num_ranks, task.chunks, task.scratch, False), "", findings)
    names = list(dict.fromkeys(run.name(e) for e in cycle))
    shown = ", which waits for ".join(names[1:5] + (["..."] if len(names) > 5 else []) + names[:1])
    findings.error("deadlock", f"waits for {shown}", *run.witness(cycle[0]))
    return None


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
