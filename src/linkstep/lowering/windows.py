"""The window of a file: the bytes of data it is for, and the scratch that a runtime allocates because of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from linkstep.lowering.targets import Target
from linkstep.lowering.values import BufferSizes

MAX_BYTES = 2**40
"""The upper end of a window by default, where memory allows it: some runtimes never select a file that says 0."""
MAX_SCRATCH = 2**30
"""Bytes of scratch that a default window may make a runtime allocate on each rank, whatever is really sent."""


class SelectionWindow(NamedTuple):
    """Bytes of data for which the runtime selects the file, both ends included."""

    smallest: int
    largest: int


@dataclass(frozen=True)
class FileOptions:
    """What a file says besides its program."""

    proto: str
    min_bytes: int
    max_bytes: int | None
    """None for the default: ``MAX_BYTES``, or less where scratch would be more than ``MAX_SCRATCH``."""


def most_scratch(sizes: tuple[BufferSizes, ...]) -> int:
    """Return the chunks of scratch of the rank that has most of it."""
    return max(size.scratch for size in sizes)


def scratch_bytes(scratch_chunks: int, num_chunks: int, max_bytes: int) -> int:
    """Return the scratch of a rank when the data is ``max_bytes``, rounded up.

    >>> scratch_bytes(3, 8, 2**30) / 2**30
    0.375
    """
    return -(-max_bytes * scratch_chunks // num_chunks)


def allocated_scratch(scratch_chunks: int, input_chunks: int, max_bytes: int, alignment: int) -> int:
    """Return the scratch that MSCCL++ allocates on a rank whose send buffer lies in an allocation of ``max_bytes``.

    It takes the allocation for the input, so in an allgather this is N times what the data itself would need.

    >>> allocated_scratch(16, 4, 2**28, 16) / 2**30
    1.0
    """
    chunk = -(-max_bytes // input_chunks)
    return -(-chunk * scratch_chunks // alignment) * alignment


def window_of(options: FileOptions, target: Target, scratch_chunks: int, num_chunks: int) -> SelectionWindow:
    """Return the window asked for, or the default: the largest that is safe with this much scratch."""
    if options.max_bytes is not None:
        return SelectionWindow(options.min_bytes, options.max_bytes)
    largest = MAX_BYTES
    if target.scratch_at_start and scratch_chunks:
        largest = min(largest, MAX_SCRATCH * num_chunks // scratch_chunks - target.excludes_largest)
    return SelectionWindow(options.min_bytes, max(largest, options.min_bytes + 1))
