"""Runs of an MSCCL++ plan one after another, and what one operation may not do to itself.

Memory is written from outside, so races are looked for in two runs, one after the other, with the callers of each rank
using its input and output before, between and after: a put may not come before its target has started nor after its
target has ended, and a second run may not disturb what is left of the first. Where runs take turns with two halves of
scratch, a third follows.
"""

from __future__ import annotations

import numpy as np

from linkstep.programs.events import NEVER, NONE, Ints, Plan
from linkstep.programs.findings import Findings
from linkstep.programs.memory import memory
from linkstep.programs.mscclpp.reader import PlusFile
from linkstep.programs.order import Task

Pairs = list[tuple[int, int]]


def repeated(file: PlusFile, plan: Plan, opens: Pairs, ends: Pairs, times: int) -> Plan:
    """Return runs one after another, with the callers of each rank before, between and after.

    ``opens`` and ``ends`` are the (rank, event) with which the blocks of one run begin and end.
    """
    n, gpus = plan.num_events, file.gpus
    ranks = len(gpus)
    caller = times * n + np.arange((times + 1) * ranks).reshape(-1, ranks)
    whose = np.tile(np.arange(ranks), times + 1)
    raised = np.stack([times * plan.num_chains + whose, 1 + np.arange(caller.size) // ranks], axis=1)
    never = np.tile(np.array([-1, NEVER]), (caller.size, 1))
    raises, stamps = np.tile(plan.raises, (times, 1)), np.tile(plan.stamps, (times, 1))
    later = np.repeat(np.arange(times), n) * plan.num_chains
    for column in (raises[:, 0], stamps[:, 0], stamps[:, 2]):
        column += np.where(column >= 0, later, 0)
    first, last = np.array(opens, np.int64).reshape(-1, 2), np.array(ends, np.int64).reshape(-1, 2)
    around = [np.stack([caller[k, first[:, 0]], first[:, 1] + k * n], axis=1) for k in range(times)]
    around += [np.stack([last[:, 1] + k * n, caller[k + 1, last[:, 0]]], axis=1) for k in range(times)]
    moves = [_moved(file, plan.moves, k, n) for k in range(times)]
    zero = np.zeros(caller.size, np.int64)
    for buffer in range(2):
        size = np.tile(np.array([gpu.size[buffer] for gpu in gpus]), times + 1)
        whole = 3 * whose + buffer
        moves.append(np.stack([caller.ravel(), whole, zero, whole, zero, zero + NONE, zero, size], axis=1))
    all_moves = np.concatenate(moves)

    def again(rows: Ints) -> Ints:
        return np.concatenate([rows + k * n for k in range(times)])

    return Plan(
        place=np.concatenate([np.tile(plan.place, (times, 1)), np.stack([whose, zero - 1, zero - 1], axis=1)]),
        raises=np.concatenate([raises, raised]), stamps=np.concatenate([stamps, np.hstack([raised, never])]),
        edges=np.concatenate([again(plan.edges), *around]), waits=again(plan.waits),
        moves=all_moves[np.argsort(all_moves[:, 0], kind="stable")], num_chains=times * plan.num_chains + ranks,
        num_slots=0, flags=again(plan.flags), packets=plan.packets,
    )  # fmt: skip


def _moved(file: PlusFile, moves: Ints, k: int, num_events: int) -> Ints:
    """Return the moves of run k, which has the other half of scratch if the plan asks for two."""
    moves = moves.copy()
    moves[:, 0] += k * num_events
    if file.head.get("use_double_scratch_buffer", False):
        scratch = np.array([gpu.size[2] for gpu in file.gpus], np.int64)
        for column in (1, 3, 5):
            buffer = moves[:, column]
            moves[:, column + 1] += np.where((buffer >= 0) & (buffer % 3 == 2), k % 2 * scratch[buffer // 3], 0)
    return moves


def check_overlaps(task: Task, plan: Plan, inplace: bool, findings: Findings) -> None:
    """The threads of one operation do not wait for each other, so it may not read or write what it writes elsewhere."""
    where = memory(task.collective, task.num_ranks, task.chunks, task.scratch, inplace)
    dst, src, also = (plan.cells(where.base, where.num_cells, column) for column in (1, 3, 5))
    count = plan.moves[:, 7]
    bad = np.zeros(dst.size, np.bool_)
    for cells in (src, also):
        bad |= (cells >= 0) & (cells != dst) & (np.abs(cells - dst) < count)
    rows = np.flatnonzero(src != dst)  # those that go on with a sum are of one destination
    rows = rows[np.lexsort((dst[rows], plan.moves[rows, 0]))]
    a, b = rows[:-1], rows[1:]
    bad[b] |= (plan.moves[a, 0] == plan.moves[b, 0]) & (dst[a] + count[a] > dst[b])
    for row in np.flatnonzero(bad):
        place = (int(x) for x in plan.place[plan.moves[row, 0]])
        findings.error("overlap", "src and dst overlap in part, or two dst do", *place)
