"""Where a program's chunks lie: the input, output and scratch of every rank, and how they share memory in place.

A buffer's number is 3 rank + kind, the kind being INPUT, OUTPUT or SCRATCH; a cell is one chunk of the memory of all
ranks. What must be in which chunk in the end is the collective's to say (``Collective.postcondition``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkstep.core.collective import Collective
from linkstep.programs.columns import Ints
from linkstep.programs.events import NONE

INPUT, OUTPUT, SCRATCH = range(3)
KINDS = 3
"""Buffer ``number`` is of kind ``number % KINDS`` and of rank ``number // KINDS``."""
LETTERS = "ios"
"""What files call the kinds."""


@dataclass(frozen=True, eq=False)
class Memory:
    """Chunk x of buffer b is cell ``base[b] + x``; rank r's cells are ``rank_ptr[r]`` to ``rank_ptr[r + 1]``.

    In place, the smaller of input and output is the rank's own part of the larger.
    """

    base: Ints
    rank_ptr: Ints
    input_size: int
    output_size: int

    @classmethod
    def of(cls, collective: Collective, num_ranks: int, chunks: int, scratch: Ints, inplace: bool) -> Memory:
        """Lay out the buffers of a collective, with these chunks of scratch on each rank, and on each forwarder.

        >>> Memory.of(Collective.ALLGATHER, 2, 2, np.array([0, 3]), True).base.tolist()
        [0, 0, 2, 3, 2, 4]
        >>> Memory.of(Collective.ALLGATHER, 2, 2, np.array([0, 3, 1]), True).rank_ptr.tolist()
        [0, 2, 7, 8]
        """
        size_in, size_out = collective.num_chunks(num_ranks, chunks)
        number = np.arange(scratch.size)
        is_rank = number < num_ranks
        own = number * is_rank * min(size_in, size_out) * inplace
        data = is_rank * (max(size_in, size_out) if inplace else size_in + size_out)
        rank_ptr = np.concatenate([[0], np.cumsum(data + scratch)]).astype(np.int64)
        start = rank_ptr[:-1]
        base = np.empty((scratch.size, KINDS), np.int64)
        base[:, INPUT] = start + (own if size_in < size_out else 0)
        base[:, OUTPUT] = start + (0 if inplace else size_in * is_rank) + (own if size_out < size_in else 0)
        base[:, SCRATCH] = start + data
        return cls(base.reshape(-1), rank_ptr, size_in, size_out)

    @property
    def num_cells(self) -> int:
        """The cells of all ranks."""
        return int(self.rank_ptr[-1])

    def cells(self, buffer: Ints, offset: Ints) -> Ints:
        """Return the first cell of operands; slots come after all memory, and an absent operand is at -1."""
        cells = np.where(buffer >= 0, self.base[np.maximum(buffer, 0)] + offset, self.num_cells + offset)
        return np.where(buffer == NONE, -1, cells)

    def owner(self, cell: Ints) -> Ints:
        """Return the ranks in whose memory cells are."""
        return np.asarray(np.searchsorted(self.rank_ptr, cell, side="right") - 1, np.int64)

    def describe(self, cell: int) -> str:
        """Return the words for a cell: the output if it is in it, else the input, else scratch."""
        rank = int(np.searchsorted(self.rank_ptr, cell, side="right")) - 1
        if cell >= self.base[KINDS * rank + SCRATCH]:
            return f"{LETTERS[SCRATCH]}[{cell - self.base[KINDS * rank + SCRATCH]}] of rank {rank}"
        sizes = {OUTPUT: self.output_size, INPUT: self.input_size}
        for kind, size in sizes.items():
            offset = cell - int(self.base[KINDS * rank + kind])
            if 0 <= offset < size:
                return f"{LETTERS[kind]}[{offset}] of rank {rank}"
        raise AssertionError(cell)
