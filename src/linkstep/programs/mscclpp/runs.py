"""The program of an MSCCL++ plan: one run of it, several in a row, and runs without the flushes that do not happen.

Memory is written from outside, so races are looked for in two runs, one after the other, with the callers of each rank
using its input and output before, between and after: a put may not come before its target has started nor after its
target has ended, and a second run may not disturb what is left of the first. Where runs take turns with two halves of
scratch, a third follows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkstep.programs.columns import Ints, pairs
from linkstep.programs.events import NONE, Events, Marks, Moves
from linkstep.programs.findings import Finding, Findings, UnverifiableError
from linkstep.programs.memory import INPUT, KINDS, OUTPUT, SCRATCH
from linkstep.programs.mscclpp.events import PlanEvents
from linkstep.programs.mscclpp.reader import ExecutionPlan, Op
from linkstep.programs.program import Doubt, Program, first_of_places


def build(file: ExecutionPlan, dialect: str, strict: bool, findings: Findings) -> Program | None:
    """Return the program of a plan that broke no rule, or report why there is none; connections hold no messages."""
    try:
        run = PlanEvents(file, findings)
    except UnverifiableError as error:
        findings.unknown("size", str(error))
        return None
    if findings.num_obstacles():
        return None
    events, collective = run.events(), file.collective
    assert collective is not None
    blocks = max((len(gpu.threadblocks) for gpu in file.gpus), default=0)
    length = np.zeros((len(file.gpus), blocks + 1), np.int64)
    for rank, gpu in enumerate(file.gpus):
        length[rank, : len(gpu.threadblocks)] = [len(ops) for ops in gpu.threadblocks]
    return Program(
        dialect=dialect, collective=collective, num_ranks=len(file.gpus), chunks=file.chunks,
        scratch=_scratch(file) * (2 if file.has_double_scratch else 1), modes=(file.head["inplace"],), events=events,
        is_instruction=first_of_places(events, length[events.rank, events.threadblock]),
        several_runs=lambda: several_runs(file, run, events), doubts=_doubts(file),
    )  # fmt: skip


def _scratch(file: ExecutionPlan) -> Ints:
    return np.array([gpu.size[SCRATCH] for gpu in file.gpus], np.int64)


def several_runs(file: ExecutionPlan, run: PlanEvents, events: Events) -> Events:
    """Return the events of runs one after another, with the callers of each rank before, between and after."""
    times = 3 if file.has_double_scratch and events.packets.size else 2
    n, ranks = events.num_events, len(file.gpus)
    caller = times * n + np.arange((times + 1) * ranks).reshape(-1, ranks)
    whose, nobody = np.tile(np.arange(ranks), times + 1), np.full(caller.size, -1, np.int64)
    later = np.repeat(np.arange(times), n) * events.num_chains
    calls = Marks(times * events.num_chains + whose, 1 + np.arange(caller.size) // ranks)

    def marks(of: Marks, of_callers: Marks) -> Marks:
        return Marks.concatenate([Marks.concatenate([of] * times).shifted(later), of_callers])

    def again(rows: Ints) -> Ints:
        return np.concatenate([rows + k * n for k in range(times)])

    first, last = (np.array(column, np.int64).reshape(-1, 2).T for column in (run.first, run.last))
    around = [pairs(caller[k, first[0]], first[1] + k * n) for k in range(times)]
    around += [pairs(last[1] + k * n, caller[k + 1, last[0]]) for k in range(times)]
    moves = [_moves_of_run(file, events.moves, k, n) for k in range(times)]
    moves += [_moves_of_callers(file, caller.ravel(), whose, kind) for kind in (INPUT, OUTPUT)]
    return replace(
        events,
        rank=np.concatenate([np.tile(events.rank, times), whose]),
        threadblock=np.concatenate([np.tile(events.threadblock, times), nobody]),
        step=np.concatenate([np.tile(events.step, times), nobody]),
        raises=marks(events.raises, calls), ends=marks(events.ends, calls),
        ends_elsewhere=marks(events.ends_elsewhere, Marks.none(caller.size)),
        edges=np.concatenate([again(events.edges), *around]), flags=again(events.flags), waits=again(events.waits),
        moves=Moves.concatenate(moves).sorted(), num_chains=times * events.num_chains + ranks,
    )  # fmt: skip


def _moves_of_run(file: ExecutionPlan, moves: Moves, k: int, num_events: int) -> Moves:
    """Return the moves of run k, which has the other half of scratch if the plan asks for two."""
    half = _scratch(file) * (k % 2) if file.has_double_scratch else np.zeros(len(file.gpus), np.int64)

    def shifted(buffer: Ints, offset: Ints) -> Ints:
        is_scratch = (buffer >= 0) & (buffer % KINDS == SCRATCH)
        return np.where(is_scratch, offset + half[buffer // KINDS], offset)

    return replace(
        moves, event=moves.event + k * num_events, dst_offset=shifted(moves.dst, moves.dst_offset),
        src_offset=shifted(moves.src, moves.src_offset), addend_offset=shifted(moves.addend, moves.addend_offset),
    )  # fmt: skip


def _moves_of_callers(file: ExecutionPlan, event: Ints, rank: Ints, kind: int) -> Moves:
    """Let each caller read and write one of its buffers as a whole."""
    size = np.array([gpu.size[kind] for gpu in file.gpus], np.int64)[rank]
    whole, zero = KINDS * rank + kind, np.zeros(event.size, np.int64)
    return Moves(event, whole, zero, whole, zero, zero + NONE, zero, size)


def _doubts(file: ExecutionPlan) -> tuple[Doubt, ...]:
    """Return the plan without the flushes that the executor leaves out, if it has any."""
    places = [
        (rank, t, n, why)
        for rank, gpu in enumerate(file.gpus)
        for t, ops in enumerate(gpu.threadblocks)
        for n, op in enumerate(ops)
        if (why := _left_out(op))
    ]
    if not places:
        return ()

    def events() -> Events:
        gpus = [
            replace(gpu, threadblocks=tuple(tuple(map(_as_executed, ops)) for ops in gpu.threadblocks))
            for gpu in file.gpus
        ]
        fewer = replace(file, gpus=tuple(gpus))
        run = PlanEvents(fewer, Findings())
        return several_runs(fewer, run, run.events())

    says = "this flush does not happen: {}; the input may be changed while a put still reads it"
    return (Doubt(events, tuple(Finding("warning", "flush", says.format(why), *place) for *place, why in places)),)


def _left_out(op: Op) -> str:
    """Return why the executor leaves out a flush, in the versions read (execution_kernel.hpp)."""
    if op.name == "flush" and len(op.dst) < len(op.channels):  # handleFlush goes by the number of outputs
        return f"{len(op.dst)} of {len(op.channels)} channels are flushed, one for each dst_buff (give it as many)"
    if op.name == "pwsf":  # handlePut takes the branch of pws before that of pwsf
        return "some versions run pwsf as pws (use put, signal and flush)"
    return ""


def _as_executed(op: Op) -> Op:
    if op.name == "flush":
        return op._replace(channels=op.channels[: len(op.dst)])
    return op._replace(name="pws") if op.name == "pwsf" else op
