"""What one runtime of MSCCL XML refuses, and what would make it skip a file or waste memory without a word.

What all of them need is in ``rules``; this is asked of every file that can be read, right or wrong.
"""

from __future__ import annotations

import numpy as np

from linkstep.core.collective import Collective
from linkstep.programs.findings import Findings
from linkstep.programs.msccl.dialects import (
    DEFAULT_MAX_BYTES,
    DIALECTS,
    MAX_NODES,
    MAX_PEERS,
    Dialect,
    max_bytes_of,
)
from linkstep.programs.msccl.reader import MAX_RANKS, TYPES, MscclFile, long_integer

_WARP = 32
_MAX_SCRATCH = 2**30
"""Bytes of scratch on a rank that nobody is surprised by; files share one buffer, as large as the largest asks for."""


def check_dialect(file: MscclFile, name: str, findings: Findings) -> None:
    """Report what the runtime of a dialect refuses, and what would make it skip the file without a word."""
    dialect = DIALECTS[name]
    for attribute in dialect.required:
        if attribute not in file.algo:
            findings.error("attribute", f"algo has no {attribute}, which {name} requires")
    if file.collective is Collective.REDUCE_SCATTER and file.algo["coll"] != dialect.reduce_scatter:
        findings.error(
            "coll", f"{name} calls reduce-scatter {dialect.reduce_scatter!r} and refuses {file.algo['coll']!r}"
        )
    if dialect.counts_chunks:
        _check_chunks(file, dialect, findings)
    if "nthreads" in file.algo and not dialect.required and long_integer(file.algo, "nthreads") % _WARP:
        findings.error("attribute", f"nthreads must be a multiple of {_WARP}, not {file.algo['nthreads']}")
    _check_limits(file, dialect, findings)
    _check_peers(file, findings)
    _check_types(file, dialect, findings)
    _check_window(file, dialect, findings)
    _check_selection(file, dialect, findings)
    if dialect.allocates_at_start:
        _check_scratch(file, dialect, findings)


def _check_chunks(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    if file.ngpus < 1 or file.collective is None:
        return
    size_in, size_out = file.collective.num_chunks(file.ngpus, file.nchunks)
    gpus = file.gpus
    for column, word, size in ((gpus.input, "i_chunks", size_in), (gpus.output, "o_chunks", size_out)):
        for row in np.flatnonzero((column != 0) & (column != size)):
            findings.error(
                "chunks", f"{word} must be {size} for {file.algo['coll']} with nchunksperloop {file.nchunks}, or 0 if "
                f"never used, or {dialect.name} refuses the file: not {column[row]}", int(gpus.rank[row]),
            )  # fmt: skip


def _check_limits(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    tbs, n = file.tbs, min(max(file.ngpus, 1), MAX_RANKS)
    if not 1 <= file.nchannels <= dialect.max_channels:
        findings.error("channels", f"nchannels must be 1 to {dialect.max_channels}, not {file.nchannels}")
    for t in np.flatnonzero(tbs.num_steps > dialect.max_steps):
        findings.error(
            "steps", f"{tbs.num_steps[t]} steps, {dialect.name} takes at most {dialect.max_steps}",
            int(tbs.rank[t]), int(tbs.id[t]), dialect.max_steps,
        )  # fmt: skip
    valid = (tbs.rank >= 0) & (tbs.rank < n)
    count = np.bincount(tbs.rank[valid], minlength=n)
    for r in np.flatnonzero(count > dialect.max_threadblocks):
        findings.error(
            "threadblocks", f"{count[r]} threadblocks, {dialect.name} takes at most {dialect.max_threadblocks}", int(r)
        )
    for r in np.flatnonzero((count > dialect.max_resident) & (count <= dialect.max_threadblocks)):
        findings.warn(
            "threadblocks", f"{count[r]} threadblocks hang on a GPU that cannot run them all at once; "
            f"at most {dialect.max_resident} are safe", int(r),
        )  # fmt: skip
    steps = np.bincount(tbs.rank[valid], weights=tbs.num_steps[valid], minlength=n).astype(np.int64)
    nodes = 1 + n + count + steps
    for r in np.flatnonzero(nodes > MAX_NODES):
        findings.error("nodes", f"{nodes[r]} XML elements concern this rank, at most {MAX_NODES} are read", int(r))


def _check_peers(file: MscclFile, findings: Findings) -> None:
    tbs = file.tbs
    valid = (tbs.rank >= 0) & (tbs.rank < min(max(file.ngpus, 1), MAX_RANKS))
    for peer, word in ((tbs.send, "send"), (tbs.recv, "receive")):
        used = np.flatnonzero(valid & (peer >= 0))
        ends, number = np.unique(np.stack([tbs.rank[used], tbs.chan[used]]), axis=1, return_counts=True)
        for k in np.flatnonzero(number > MAX_PEERS):
            rank, chan = (int(x) for x in ends[:, k])
            findings.error("peers", f"{number[k]} threadblocks {word} on channel {chan}, at most {MAX_PEERS} may", rank)


def _check_types(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    refused = [k for k, name in enumerate(TYPES) if name in dialect.refused_types]
    for row in np.flatnonzero(np.isin(file.steps.type, refused)):
        findings.error(
            "type", f"{dialect.name} refuses {TYPES[file.steps.type[row]]} when it runs: only s, r, cpy, re and nop",
            *file.place(int(row)),
        )  # fmt: skip


def _check_window(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    """Data from minBytes to maxBytes; microsoft/msccl leaves maxBytes itself out."""
    name, high = dialect.name, max_bytes_of(file)
    low = long_integer(file.algo, "minBytes") if "minBytes" in file.algo else 0
    if low < 0 or high < 0:
        findings.error("window", f"minBytes and maxBytes must not be negative: {low}, {high}")
    elif high == 0 and dialect.zero_is_unlimited:
        pass
    elif low > high:
        report = findings.warn if dialect.zero_is_unlimited else findings.error
        report("window", f"minBytes {low} is greater than maxBytes {high}: {name} never selects this file")
    elif low == high and dialect.excludes_max_bytes:
        findings.warn(
            "window", f"{name} selects files for minBytes <= bytes < maxBytes, and both are {low}: it never selects "
            "this file; write a greater maxBytes",
        )  # fmt: skip
    if "maxBytes" not in file.algo and not dialect.required:
        findings.warn(
            "window", f"no maxBytes: {name} selects this file only below {DEFAULT_MAX_BYTES} bytes (exclusive)"
        )


def _check_selection(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    algo, name, collective = file.algo, dialect.name, file.collective
    if dialect.reads_outofplace and algo["inplace"] == "0" and algo.get("outofplace") == "0":
        findings.warn("window", f"neither inplace nor outofplace is 1: {name} never selects this file")
    if not dialect.reads_outofplace and algo["inplace"] == "1" and algo.get("outofplace") == "1":
        findings.warn("window", f"{name} ignores outofplace: with inplace=1 it skips calls out of place")
    if collective is not None and collective.has_root:
        findings.warn(
            "root", f"{name} selects this file whatever the root of a call is, and the result is for one root"
        )
    if file.nchunks > 0 and file.nchunks & (file.nchunks - 1):
        times = f", times {file.ngpus} ranks," if collective is not None and collective.is_divided else ""
        findings.warn(
            "divisible", f"{name} skips this file unless the element count{times} is a multiple of {file.nchunks}"
        )
    for attribute in file.unknown:
        findings.warn("attribute", f"no runtime reads {attribute}")


def _check_scratch(file: MscclFile, dialect: Dialect, findings: Findings) -> None:
    """Scratch is allocated when the communicator starts, for calls of maxBytes, whatever is ever sent."""
    high, chunks = max_bytes_of(file), file.nchunks
    if not len(file.gpus) or chunks < 1:
        return
    row = int(np.argmax(file.gpus.scratch))
    scratch = int(file.gpus.scratch[row])
    wanted = -(-high * scratch // chunks)
    if wanted > _MAX_SCRATCH:
        findings.warn(
            "scratch", f"{dialect.name} allocates {wanted} bytes ({wanted / 2**30:.1f} GiB) of scratch on this rank as "
            f"soon as the communicator starts (maxBytes {high} * s_chunks {scratch} / nchunksperloop {chunks}); "
            f"a maxBytes of at most {_MAX_SCRATCH * chunks // scratch} keeps it to 1 GiB", int(file.gpus.rank[row]),
        )  # fmt: skip
