"""Whether a program computes what its collective says: one run on symbolic data.

A value is a chunk and the set of ranks whose contributions are summed in it, so a contribution that is missing or
counted twice shows. That nothing races is proven elsewhere; then every execution carries the same data, and one run
speaks for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkstep._kernels.verify import _carry
from linkstep.core.collective import Collective, Postcondition
from linkstep.programs import Findings, Memory, Program, UnverifiableError
from linkstep.programs.columns import Ints, grouped
from linkstep.programs.memory import INPUT, KINDS, OUTPUT

MAX_WORDS = 2**26  # half a GiB of values
_SHOWN = 3  # wrong output chunks shown
_SPOILT = {-2: "adds a part that is in the sum already", -3: "adds different chunks", -4: "adds to nothing"}
"""What a chunk below -1 stands for; -1 is one that was never written."""


@dataclass(frozen=True, eq=False)
class Values:
    """What is in each cell in the end: a chunk, the bits of the ranks summed in it, and the move that spoilt it."""

    chunk: Ints
    ranks: npt.NDArray[np.uint64]
    blame: Ints

    def holds(self, cell: int, rank: int) -> bool:
        """Whether a rank's contribution is in a cell."""
        return bool(int(self.ranks[cell, rank // 64]) >> (rank % 64) & 1)


def run_on_symbols(program: Program, memory: Memory, order: Ints) -> Values:
    """Carry every rank's input along the events in an order."""
    n, events = program.num_ranks, program.events
    total, words = memory.num_cells + events.num_slots, (n + 63) // 64
    if total * (words + 2) > MAX_WORDS:
        raise UnverifiableError(f"{total} chunks in the buffers of {n} ranks are too many to follow")
    chunk, blame = np.full(total, -1, np.int64), np.full(total, -1, np.int64)
    ranks = np.zeros((total, words), np.uint64)
    for r in range(n):
        at = int(memory.base[KINDS * r + INPUT])
        chunk[at : at + memory.input_size] = np.arange(memory.input_size)
        ranks[at : at + memory.input_size, r // 64] = np.uint64(1) << np.uint64(r % 64)
    moves = events.moves
    move_ptr, _ = grouped(moves.event, moves.event, events.num_events)
    dst, src, addend = (
        memory.cells(buffer, offset)
        for buffer, offset in (
            (moves.dst, moves.dst_offset), (moves.src, moves.src_offset), (moves.addend, moves.addend_offset)
        )
    )  # fmt: skip
    _carry(order, move_ptr, dst, src, addend, moves.count, chunk, ranks, blame)
    return Values(chunk, ranks, blame)


def check_outputs(program: Program, memory: Memory, values: Values, mode: str, findings: Findings) -> None:
    """Report output chunks that are not what the collective says."""
    n, root = program.num_ranks, program.root
    if program.collective.has_root and root < 0:
        root = _guess_root(program, memory, values)
    wanted = program.collective.postcondition(n, program.chunks, root)
    cells = memory.base[KINDS * wanted.rank + OUTPUT] + wanted.index
    one = np.uint64(1)
    all_ranks = np.zeros(values.ranks.shape[1], np.uint64)
    for r in range(n):
        all_ranks[r // 64] |= one << np.uint64(r % 64)
    bits = np.tile(all_ranks, (cells.size, 1))
    single = np.flatnonzero(wanted.source >= 0)
    bits[single] = 0
    bits[single, wanted.source[single] // 64] = one << (wanted.source[single] % 64).astype(np.uint64)
    wrong = np.flatnonzero((values.chunk[cells] != wanted.chunk) | (values.ranks[cells] != bits).any(axis=1))
    for k in wrong[:_SHOWN].tolist():
        _report_output(program, wanted, k, int(cells[k]), values, mode, findings)
    if wrong.size > _SHOWN:
        findings.error("result", f"{wrong.size - _SHOWN} more output chunks are wrong{mode}")


def check_input_kept(program: Program, memory: Memory, inplace: bool, mode: str, findings: Findings) -> None:
    """Report a write to the input, but for the part that is the output in place."""
    moves = program.events.moves
    buffer, cell = moves.dst, memory.cells(moves.dst, moves.dst_offset)
    is_input = (buffer >= 0) & (buffer % KINDS == INPUT)
    if inplace:
        output = memory.base[np.maximum(buffer, 0) // KINDS * KINDS + OUTPUT]
        is_input &= (cell < output) | (cell + moves.count > output + memory.output_size)
    for move in np.flatnonzero(is_input)[:1]:
        place = program.events.place(int(moves.event[move]))
        findings.error("input-written", f"writes to the input{mode}, which the caller keeps", *place)


def _guess_root(program: Program, memory: Memory, values: Values) -> int:
    """Guess the root that a file does not name: whose data rank 0 has got, or who has the whole sum."""
    everyone = range(program.num_ranks)
    for r in everyone:
        at = int(memory.base[KINDS * r + OUTPUT])
        if program.collective is Collective.BROADCAST:
            return next((s for s in everyone if values.holds(at, s)), 0)
        if values.chunk[at] >= 0 and all(values.holds(at, s) for s in everyone):
            return r
    return 0


def _report_output(
    program: Program, wanted: Postcondition, k: int, cell: int, values: Values, mode: str, findings: Findings
) -> None:  # fmt: skip
    rank, index, chunk, source = (int(c[k]) for c in (wanted.rank, wanted.index, wanted.chunk, wanted.source))
    want = f"chunk {chunk} of " + (f"rank {source}" if source >= 0 else "all ranks")
    have, events = int(values.chunk[cell]), program.events
    place: tuple[int, int | None, int | None] = (rank, None, None)
    if have >= 0:
        held = [r for r in range(program.num_ranks) if values.holds(cell, r)]
        lacks = sorted(set(range(program.num_ranks)) - set(held)) if source < 0 and have == chunk else []
        more = f" and {len(held) - 1} more" if len(held) > 1 else ""
        says = f"lacks the part of rank {lacks[0]}" if lacks else f"has chunk {have} of rank {held[0]}{more}"
    elif have == -1:
        says = "is never written"
    else:
        event = int(events.moves.event[values.blame[cell]])
        says = f"is spoilt at {events.describe(event)}, which {_SPOILT[have]}"
        place = events.place(event)
    findings.error("result", f"o[{index}] of rank {rank}{mode} must be {want}, but {says}", *place)
