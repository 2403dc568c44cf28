"""The three runtimes that read MSCCL XML: their limits, their names for collectives, and when they skip a file.

Read from microsoft/msccl (``msccl``), Azure/msccl-executor-nccl (``msccl-azure``) and ROCm RCCL (``rccl``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkstep.programs.findings import Findings
from linkstep.programs.memory import ROOTED, is_divided, sizes
from linkstep.programs.msccl.reader import (
    GPU_I,
    GPU_ID,
    GPU_O,
    MAX_RANKS,
    POS,
    RANK,
    TB,
    TB_CHAN,
    TB_ID,
    TB_RANK,
    TB_RECV,
    TB_SEND,
    TB_STEPS,
    TYPE,
    TYPES,
    MscclFile,
    long_integer,
)  # fmt: skip

DEFAULT_MAX_BYTES = 2**27
"""What microsoft/msccl takes for an absent maxBytes, which the others require."""


@dataclass(frozen=True)
class Dialect:
    """What one runtime takes."""

    name: str
    max_steps: int
    max_tbs: int
    resident_tbs: int
    """More threadblocks than this are accepted and may hang: all must be on the GPU at once."""
    max_channels: int
    reduce_scatter: str
    refused_types: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """Attributes of algo this runtime wants besides those all want."""
    counts_chunks: bool = False
    """Whether i_chunks and o_chunks must be 0 or what the collective says; if not, they are bounds for offsets."""


_AZURE = ("outofplace", "minBytes", "maxBytes")
DIALECTS = {
    d.name: d
    for d in (
        Dialect("msccl", 256, 216, 108, 32, "reduce_scatter", counts_chunks=True),
        Dialect("msccl-azure", 64, 1024, 1024, 32, "reducescatter", needs=_AZURE),
        Dialect("rccl", 64, 64, 64, 128, "reducescatter", ("rcs", "rrc", "rrs", "rrcs"), needs=_AZURE),
    )
}
_WARP = 32
MAX_NODES = 4095
MAX_PEERS = 32

_COLLECTIVES = {
    "allreduce": "allreduce", "allgather": "allgather", "alltoall": "all-to-all", "broadcast": "broadcast",
    "reduce": "reduce", "reduce_scatter": "reduce-scatter", "reducescatter": "reduce-scatter",
}  # fmt: skip


def collective_of(file: MscclFile) -> str | None:
    """Return our name of the collective, or None if there is no such one."""
    return _COLLECTIVES.get(file.algo["coll"])


def modes_of(file: MscclFile, dialect: Dialect) -> list[bool]:
    """Return how the runtime would use the file: in place (True), out of place (False) or both."""
    inplace = file.algo["inplace"] == "1"
    if not dialect.needs:
        return [inplace]
    modes = [flag for flag, on in ((True, inplace), (False, file.algo.get("outofplace") == "1")) if on]
    return modes or [inplace]


def check_dialect(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    """Report what this runtime refuses, and what would make it skip the file without a word."""
    for attribute in dialect.needs:
        if attribute not in file.algo:
            findings.error("attribute", f"algo has no {attribute}, which {dialect.name} requires")
    if file.algo["coll"] in ("reduce_scatter", "reducescatter") and file.algo["coll"] != dialect.reduce_scatter:
        findings.error(
            "coll", f"{dialect.name} calls reduce-scatter {dialect.reduce_scatter!r} and refuses {file.algo['coll']!r}"
        )
    if dialect.counts_chunks:
        _check_chunks(file, dialect, findings)
    if "nthreads" in file.algo and not dialect.needs and long_integer(file.algo, "nthreads") % _WARP:
        findings.error("attribute", f"nthreads must be a multiple of {_WARP}, not {file.algo['nthreads']}")
    _check_limits(file, dialect, findings)
    _check_types(file, dialect, findings)
    _check_selection(file, dialect, findings)


def _check_chunks(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    if file.ngpus < 1:
        return
    i, o = sizes(collective_of(file) or "", file.ngpus, file.nchunks)
    for column, word, size in ((GPU_I, "i_chunks", i), (GPU_O, "o_chunks", o)):
        for gpu in file.gpus[(file.gpus[:, column] != 0) & (file.gpus[:, column] != size)]:
            findings.error(
                "chunks", f"{word} must be {size} for {file.algo['coll']} with nchunksperloop {file.nchunks}, or 0 if "
                f"never used, or {dialect.name} refuses the file: not {gpu[column]}", int(gpu[GPU_ID]),
            )  # fmt: skip


def _check_limits(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    tbs, n = file.tbs, min(max(file.ngpus, 1), MAX_RANKS)
    if not 1 <= file.nchannels <= dialect.max_channels:
        findings.error("channels", f"nchannels must be 1 to {dialect.max_channels}, not {file.nchannels}")
    for t in np.flatnonzero(tbs[:, TB_STEPS] > dialect.max_steps):
        steps = int(tbs[t, TB_STEPS])
        findings.error(
            "steps", f"{steps} steps, {dialect.name} has room for {dialect.max_steps}", *_tb(file, int(t)),
            dialect.max_steps,
        )  # fmt: skip
    ranks = tbs[:, TB_RANK]
    valid = (ranks >= 0) & (ranks < n)
    count = np.bincount(ranks[valid], minlength=n)
    for r in np.flatnonzero(count > dialect.max_tbs):
        findings.error("threadblocks", f"{count[r]} threadblocks, {dialect.name} has {dialect.max_tbs}", int(r))
    for r in np.flatnonzero((count > dialect.resident_tbs) & (count <= dialect.max_tbs)):
        findings.warn(
            "threadblocks", f"{count[r]} threadblocks hang on a GPU that cannot run them all at once; "
            f"at most {dialect.resident_tbs} are safe", int(r),
        )  # fmt: skip
    nodes = 1 + n + count + np.bincount(ranks[valid], weights=tbs[valid, TB_STEPS], minlength=n).astype(np.int64)
    for r in np.flatnonzero(nodes > MAX_NODES):
        findings.error("nodes", f"{nodes[r]} XML elements concern this rank, at most {MAX_NODES} are read", int(r))
    for column, word in ((TB_SEND, "send"), (TB_RECV, "receive")):
        used = tbs[valid & (tbs[:, column] >= 0)]
        if used.size:
            pairs, number = np.unique(used[:, [TB_RANK, TB_CHAN]], axis=0, return_counts=True)
            for k in np.flatnonzero(number > MAX_PEERS):
                findings.error(
                    "peers", f"{number[k]} threadblocks {word} on channel {pairs[k, 1]}, at most {MAX_PEERS} may",
                    int(pairs[k, 0]),
                )  # fmt: skip


def _tb(file: MscclFile, t: int) -> tuple[int, int]:
    return int(file.tbs[t, TB_RANK]), int(file.tbs[t, TB_ID])


def _check_types(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    refused = [k for k, name in enumerate(TYPES) if name in dialect.refused_types]
    for row in np.flatnonzero(np.isin(file.steps[:, TYPE], refused)):
        step = file.steps[row]
        findings.error(
            "type", f"{dialect.name} refuses {TYPES[step[TYPE]]} when it runs: only s, r, cpy, re and nop",
            int(step[RANK]), int(file.tbs[step[TB], TB_ID]), int(step[POS]),
        )  # fmt: skip


def _check_selection(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    algo, name = file.algo, dialect.name
    low = long_integer(algo, "minBytes") if "minBytes" in algo else 0
    high = long_integer(algo, "maxBytes") if "maxBytes" in algo else DEFAULT_MAX_BYTES
    if low < 0 or high < 0:
        findings.error("window", f"minBytes and maxBytes must not be negative: {low}, {high}")
    unlimited = high == 0 and bool(dialect.needs)
    if high == 0 and not dialect.needs:
        if low > 0:
            findings.error("window", f"minBytes {low} is greater than maxBytes 0, which {name} refuses")
        else:
            findings.warn("window", f"maxBytes is 0, so {name} never selects this file: write a real number")
    elif low > high and not unlimited:
        report = findings.warn if dialect.needs else findings.error
        report("window", f"minBytes {low} is greater than maxBytes {high}: {name} never selects this file")
    if "maxBytes" not in algo and not dialect.needs:
        findings.warn("window", f"no maxBytes: {name} skips this file above {DEFAULT_MAX_BYTES} bytes")
    if dialect.needs and algo["inplace"] == "0" and algo.get("outofplace") == "0":
        findings.warn("window", f"neither inplace nor outofplace is 1: {name} never selects this file")
    if not dialect.needs and algo["inplace"] == "1" and algo.get("outofplace") == "1":
        findings.warn("window", f"{name} ignores outofplace: with inplace=1 it skips calls out of place")
    if collective_of(file) in ROOTED:
        findings.warn(
            "root", f"{name} selects this file whatever the root of a call is, and the result is for one root"
        )
    if file.nchunks > 0 and file.nchunks & (file.nchunks - 1):
        times = f", times {file.ngpus} ranks," if is_divided(collective_of(file) or "") else ""
        findings.warn(
            "divisible", f"{name} skips this file unless the element count{times} is a multiple of {file.nchunks}"
        )
    for attribute in file.unknown:
        findings.warn("attribute", f"no runtime reads {attribute}")
