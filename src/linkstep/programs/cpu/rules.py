"""What a CPU schedule must be so that its interpreter can run it: sizes, bounds, peers, and what a sync waits for.

The format has no limits of its own, so there is nothing else to check before its events.
"""

from __future__ import annotations

from linkstep.programs.cpu.reader import CpuFile, CpuInstruction, Rank
from linkstep.programs.findings import Findings
from linkstep.programs.memory import LETTERS, SCRATCH


def check_rules(file: CpuFile, findings: Findings) -> None:
    """Report every broken rule."""
    _check_head(file, findings)
    if findings.num_errors():
        return
    for r, rank in enumerate(file.ranks):
        _check_rank(r, rank, len(file.ranks), findings)


def check_dialect(file: CpuFile, dialect: str, findings: Findings) -> None:
    """Report nothing: the interpreter takes whatever is right."""


def _check_head(file: CpuFile, findings: Findings) -> None:
    collective, n, chunks, root = file.collective, file.num_ranks, file.chunks, file.root
    if chunks < 1 or (not collective.has_root and chunks % n):
        findings.error("chunks", f"chunks must be a positive multiple of the {n} ranks, not {chunks}")
    if not (0 <= root < n if collective.has_root else root == -1):
        findings.error("root", f"root of {collective} cannot be {root}")
    for r, rank in enumerate(file.ranks):
        wanted = collective.num_chunks(n, chunks) if r < n else (0, 0)
        for size, want, word in zip(rank.size, wanted, ("input", "output"), strict=False):
            if size != want and not (size == 0 and file.is_inplace):
                findings.error("chunks", f"{word} must be {want}, not {size}", r)
        if rank.size[SCRATCH] < 0:
            findings.error("chunks", f"scratch must not be negative, not {rank.size[SCRATCH]}", r)


def covering_syncs(rank: Rank) -> dict[int, int]:
    """Return the position of the first sync that waits for each send and recv; the end of the list is a sync too."""
    pending = set[int]()
    covered: dict[int, int] = {}
    for n, x in enumerate((*rank.instructions, CpuInstruction("sync"))):
        if x.kind in ("send", "recv"):
            pending.add(n)
        elif x.kind == "sync":
            waited = pending if x.ops is None else pending.intersection(x.ops)
            covered.update(dict.fromkeys(waited, n))
            pending -= set(waited)
    return covered


def _check_rank(r: int, rank: Rank, num_nodes: int, findings: Findings) -> None:
    for n, x in enumerate(rank.instructions):
        if x.kind == "sync":
            _check_sync(r, rank, n, x.ops or (), findings)
            continue
        if x.kind in ("send", "recv"):
            if not 0 <= x.peer < num_nodes or x.peer == r:
                findings.error("peer", f"peer must be another rank, not {x.peer}", r, None, n)
            if x.chan < 0:
                findings.error("channel", f"chan must not be negative, not {x.chan}", r, None, n)
        if x.cnt < 1:
            findings.error("count", f"cnt must be at least 1, not {x.cnt}", r, None, n)
        for buffer, at in ((x.src, x.srcoff), (x.dst, x.dstoff)):
            if buffer >= 0 and not 0 <= at <= at + x.cnt <= rank.size[buffer]:
                findings.error(
                    "bounds", f"{LETTERS[buffer]}[{at}, {at + x.cnt}) is outside of the buffer's {rank.size[buffer]} "
                    "chunks", r, None, n,
                )  # fmt: skip
        if x.src == x.dst and 0 < abs(x.srcoff - x.dstoff) < x.cnt:
            findings.error("overlap", "src and dst overlap in part", r, None, n)


def _check_sync(r: int, rank: Rank, n: int, ops: tuple[int, ...], findings: Findings) -> None:
    if list(ops) != sorted(set(ops)):
        findings.error("sync", "ops must be ascending", r, None, n)
    for k in ops:
        if k >= n or rank.instructions[k].kind not in ("send", "recv"):
            findings.error("sync", f"waits for position {k}, which is no earlier send or recv", r, None, n)
