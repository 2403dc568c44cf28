"""Collectives as the sizes of their buffers, how these share memory in place, and what must be where in the end.

Chunk c of rank r's input is the contribution (r, c). The outputs of every collective are either one rank's
contribution or the sum of all ranks' contributions of one chunk, so a value is a chunk and a set of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

NAMES = ("allgather", "reduce-scatter", "allreduce", "all-to-all", "broadcast", "reduce")
ROOTED = ("broadcast", "reduce")
_SCATTERED = ("allgather", "reduce-scatter", "all-to-all")
INPUT, OUTPUT, SCRATCH = range(3)


def is_divided(collective: str) -> bool:
    """Whether the collective cuts the data into a shard a rank, so that N must divide the chunks."""
    return collective in _SCATTERED


def sizes(collective: str, num_ranks: int, chunks: int) -> tuple[int, int]:
    """Return the chunks of the input and of the output; ``chunks`` is the larger of the two.

    >>> sizes("allgather", 4, 8), sizes("reduce-scatter", 4, 8), sizes("allreduce", 4, 8)
    ((2, 8), (8, 2), (8, 8))
    """
    shard = chunks // num_ranks
    return (shard if collective == "allgather" else chunks), (shard if collective == "reduce-scatter" else chunks)


@dataclass(frozen=True, eq=False)
class Memory:
    """Where the buffers lie: chunk x of buffer b of rank r is cell ``base[3 r + b] + x``; rank r's cells are
    ``rank_ptr[r]`` to ``rank_ptr[r + 1]``.
    """

    base: Ints
    rank_ptr: Ints
    input_size: int
    output_size: int

    @property
    def num_cells(self) -> int:
        """The cells of all ranks."""
        return int(self.rank_ptr[-1])


def memory(collective: str, num_ranks: int, chunks: int, scratch: Ints, inplace: bool) -> Memory:
    """Lay the buffers out; in place, the smaller of input and output is rank r's part of the larger."""
    i, o = sizes(collective, num_ranks, chunks)
    ranks = np.arange(num_ranks)
    data = max(i, o) if inplace else i + o
    rank_ptr = np.concatenate([[0], np.cumsum(data + scratch)]).astype(np.int64)
    start = rank_ptr[:-1]
    at_input = start + (ranks * i if inplace and i < o else 0)
    at_output = start + (0 if inplace and i <= o else ranks * o if inplace else i)
    base = np.stack([at_input, at_output, start + data], axis=1).reshape(-1)
    return Memory(base.astype(np.int64), rank_ptr, i, o)


@dataclass(frozen=True, eq=False)
class Goal:
    """What must be in the end: ``cell`` of ``rank`` (output chunk ``index``) holds ``chunk`` of rank ``source``,
    or the sum over all ranks where the source is -1.
    """

    rank: Ints
    index: Ints
    cell: Ints
    chunk: Ints
    source: Ints


def goal(collective: str, num_ranks: int, chunks: int, where: Memory, root: int = -1) -> Goal:
    """Return the postcondition; the root matters to a broadcast and a reduce only."""
    shard = max(chunks // num_ranks, 1)
    rank = np.repeat(np.arange(num_ranks), where.output_size)
    index = np.tile(np.arange(where.output_size), num_ranks)
    source = np.full(rank.size, -1)
    chunk = index
    if collective == "allgather":
        source, chunk = index // shard, index % shard
    elif collective == "all-to-all":
        source, chunk = index // shard, rank * shard + index % shard
    elif collective == "reduce-scatter":
        chunk = rank * shard + index
    elif collective == "broadcast":
        source = np.full(rank.size, root)
    keep = rank == root if collective == "reduce" else np.ones(rank.size, bool)
    cell = where.base[3 * rank + OUTPUT] + index
    return Goal(rank[keep], index[keep], cell[keep], chunk[keep], source[keep])
