"""The three runtimes that read MSCCL XML, as rows: their limits, their words, and what their connections hold.

Read from microsoft/msccl (``msccl``), Azure/msccl-executor-nccl (``msccl-azure``) and ROCm RCCL (``rccl``), which has
had no MSCCL since 2026: the dialect serves older releases. What is checked against a row is in ``limits``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linkstep.programs.msccl.reader import MscclFile, long_integer

DEFAULT_MAX_BYTES = 2**27
"""What microsoft/msccl takes for an absent maxBytes, which the others require."""
MAX_NODES = 4095
MAX_PEERS = 32
MAX_COUNT = 71


@dataclass(frozen=True)
class Capacity:
    """The slots of a connection and the bytes of data that each holds, with buffers of the default size."""

    slots: int
    slot_bytes: int


@dataclass(frozen=True)
class Dialect:
    """What one runtime takes."""

    name: str
    max_steps: int
    max_threadblocks: int
    max_resident: int
    """More threadblocks than this are accepted and may hang: all must be on the GPU at once."""
    max_channels: int
    reduce_scatter: str
    """Its word for a reduce-scatter; it refuses the other."""
    capacity: Mapping[str, Capacity]
    """By protocol."""
    required: tuple[str, ...] = ()
    """Attributes of algo that this runtime needs besides those that all need."""
    refused_types: tuple[str, ...] = ()
    counts_chunks: bool = False
    """Whether i_chunks and o_chunks must be 0 or what the collective says; if not, they are bounds for offsets."""
    reads_outofplace: bool = True
    """Whether a file may be for calls in place and out of place; if not, ``inplace`` decides between the two."""
    zero_is_unlimited: bool = True
    """Whether a maxBytes of 0 means that there is no limit; if not, the file is never selected."""
    excludes_max_bytes: bool = False
    """Whether calls of exactly maxBytes are outside of the window."""
    allocates_at_start: bool = False
    """Whether scratch for calls of maxBytes is allocated with the communicator, and not for each call."""


# Buffers have 8 steps; a slot is 4 of them (Simple, 4 MiB) or one. LL: 8 lines of 16 bytes a thread, half of it data,
# 512 threads or RCCL's 256. LL128: 120 words a thread, 15 of 16 data, 640 threads; RCCL: 28 words, 7 of 8, 256 threads.
_CAPACITY = {"Simple": Capacity(2, 2**21), "LL": Capacity(8, 2**15), "LL128": Capacity(8, 576000)}
_RCCL_CAPACITY = {"Simple": Capacity(2, 2**21), "LL": Capacity(8, 2**14), "LL128": Capacity(8, 50176)}
_WINDOW = ("outofplace", "minBytes", "maxBytes")
DIALECTS = {
    row.name: row
    for row in (
        Dialect(
            "msccl", max_steps=256, max_threadblocks=216, max_resident=108, max_channels=32,
            reduce_scatter="reduce_scatter", capacity=_CAPACITY, counts_chunks=True, reads_outofplace=False,
            zero_is_unlimited=False, excludes_max_bytes=True, allocates_at_start=True,
        ),
        Dialect(
            "msccl-azure", max_steps=64, max_threadblocks=1024, max_resident=1024, max_channels=32,
            reduce_scatter="reducescatter", capacity=_CAPACITY, required=_WINDOW,
        ),
        Dialect(
            "rccl", max_steps=64, max_threadblocks=64, max_resident=64, max_channels=128,
            reduce_scatter="reducescatter", capacity=_RCCL_CAPACITY, required=_WINDOW,
            refused_types=("rcs", "rrc", "rrs", "rrcs"),
        ),
    )
}  # fmt: skip


def capacity_of(file: MscclFile, dialect: Dialect) -> Capacity:
    """Return what a runtime's connections hold with the file's protocol."""
    return dialect.capacity[file.algo["proto"]]


def modes_of(file: MscclFile, dialect: Dialect) -> tuple[bool, ...]:
    """Return how the runtime would use the file: in place (True), out of place (False) or both."""
    inplace = file.algo["inplace"] == "1"
    if not dialect.reads_outofplace:
        return (inplace,)
    outofplace = file.algo.get("outofplace") == "1"
    return tuple(mode for mode, on in ((True, inplace), (False, outofplace)) if on) or (inplace,)


def max_bytes_of(file: MscclFile) -> int:
    """Return maxBytes, or what microsoft/msccl takes where there is none."""
    return long_integer(file.algo, "maxBytes") if "maxBytes" in file.algo else DEFAULT_MAX_BYTES
