"""Data to check a run with: every rank, position and repetition has a number of its own, and sums of them are exact.

The numbers are pseudo-random but small enough that every sum is one that the element type can hold, so results are
compared without tolerance. What a rank must end with is worked out from the definition of the collective alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.engines.plans.layout import BufferLayout

EXACT = {
    "float64": 2**53, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8, "int64": 2**62, "int32": 2**31 - 1,
}  # fmt: skip
"""Up to which integers each element type is exact."""
_BLOCK = 2**20
_COMBINE = {"sum": np.add, "min": np.minimum, "max": np.maximum, "prod": np.multiply}

Ints = NDArray[np.int64]


def numbers(rank: Any, index: Any, repetition: int, num_ranks: int, operation: str, type_name: str) -> Ints:
    """Return the numbers at positions of ranks' inputs; ``rank`` and ``index`` may be arrays.

    >>> numbers(0, np.arange(4), 0, 8, "sum", "float32").tolist()
    [1950865, 369884, 246908, 292705]
    """
    if type_name not in EXACT:
        raise LinkstepError(f"the element type must be one of {', '.join(EXACT)}, not {type_name!r}")
    limit = EXACT[type_name] // (num_ranks if operation == "sum" else 1)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is wanted: the finalizer of splitmix64
        mixed = np.asarray(index, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed + np.asarray(rank, np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = mixed + np.uint64(repetition) * np.uint64(0x94D049BB133111EB) + np.uint64(0x2545F4914F6CDD1D)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed = mixed ^ (mixed >> np.uint64(31))
    if operation == "prod":
        return 1 - 2 * (mixed % np.uint64(2)).astype(np.int64)
    return (mixed % np.uint64(limit)).astype(np.int64)


def expected(
    collective: Collective, layout: BufferLayout, rank: int, index: Ints, repetition: int, num_ranks: int,
    operation: str, type_name: str, root: int,
) -> Ints:  # fmt: skip
    """Return what positions of a rank's output must hold."""
    source, position = index // layout.section, index % layout.section
    own = rank * layout.section if collective.ends_apart else 0
    if collective.reduces:
        parts = (numbers(r, index + own, repetition, num_ranks, operation, type_name) for r in range(num_ranks))
        total = next(parts)
        for part in parts:
            total = _COMBINE[operation](total, part)
        return total
    if collective.has_root:
        return numbers(root, index + own, repetition, num_ranks, operation, type_name)
    return numbers(source, position + own, repetition, num_ranks, operation, type_name)


def fill(array: Any, rank: int, repetition: int, num_ranks: int, operation: str, type_name: str) -> None:
    """Set a flat array to a rank's input."""
    for start in range(0, len(array), _BLOCK):
        index = np.arange(start, min(start + _BLOCK, len(array)))
        array[start : start + _BLOCK] = _like(array, numbers(rank, index, repetition, num_ranks, operation, type_name))


def count_wrong(
    array: Any, collective: Collective, layout: BufferLayout, rank: int, repetition: int, num_ranks: int,
    operation: str, type_name: str, root: int,
) -> int:  # fmt: skip
    """Return how many elements of a rank's flat output are not what they must be."""
    if collective.ends_at_root and rank != root:
        return 0
    wrong = 0
    for start in range(0, len(array), _BLOCK):
        index = np.arange(start, min(start + _BLOCK, len(array)))
        wanted = expected(collective, layout, rank, index, repetition, num_ranks, operation, type_name, root)
        wrong += int((array[start : start + _BLOCK] != _like(array, wanted)).sum())
    return wrong


def _like(array: Any, values: Ints) -> Any:
    if isinstance(array, np.ndarray):
        return values.astype(array.dtype)
    import torch

    return torch.from_numpy(values).to(array)
