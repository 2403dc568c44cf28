"""The verifier of runtime files: reads what a runtime would run, ours or foreign, and proves or refutes it.

Shares no code with what writes such files. It is stricter than the runtimes: whatever one of them would skip, hang on
or compute wrongly is reported with a witness (rank, threadblock, step). Hostile input is answered by a FileError.
"""

from __future__ import annotations

from os import PathLike

from linkstep.core.errors import FileError
from linkstep.programs.findings import Finding, Findings, Report
from linkstep.programs.msccl.dialects import DIALECTS as _MSCCL
from linkstep.programs.msccl.dialects import check_dialect, collective_of, modes_of
from linkstep.programs.msccl.events import lift, scratch_sizes
from linkstep.programs.msccl.flow import Room, room_in
from linkstep.programs.msccl.reader import MscclFile, read_msccl
from linkstep.programs.msccl.rules import check_rules
from linkstep.programs.order import Task
from linkstep.programs.program import Events, events_of, guess, read_text
from linkstep.verification.cpu import verify_cpu
from linkstep.verification.mscclpp import verify_mscclpp
from linkstep.verification.proof import check_plan

__all__ = [
    "CAPACITIES",
    "DIALECTS",
    "Events",
    "Finding",
    "Report",
    "events_of",
    "read_text",
    "verify_file",
    "verify_text",
]

DIALECTS = (*_MSCCL, "mscclpp", "cpu")
CAPACITIES = ("1", "runtime")


def verify_file(path: str | PathLike[str], dialect: str | None = None, capacity: str = "1") -> Report:
    """Verify a file; see ``verify_text``. Raises FileError if it cannot be read."""
    text = read_text(path)
    try:
        return verify_text(text, dialect, capacity)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def verify_text(text: str, dialect: str | None = None, capacity: str = "1") -> Report:
    """Verify the text of a runtime file as one dialect, or as the dialects it may be.

    Without a dialect all MSCCL runtimes are tried, and the first that accepts the file is reported. Their programs must
    end where a connection has room for one message; with ``capacity`` "runtime", for as many as the runtime has.
    """
    if dialect is not None and dialect not in DIALECTS:
        raise FileError(f"unknown dialect {dialect!r}: choose from {', '.join(DIALECTS)}")
    if capacity not in CAPACITIES:
        raise FileError(f"unknown capacity {capacity!r}: choose from {', '.join(CAPACITIES)}")
    kind = dialect or guess(text)
    if kind == "mscclpp":
        return verify_mscclpp(text)
    if kind == "cpu":
        return verify_cpu(text)
    return _verify_msccl(read_msccl(text), dialect, capacity == "1")


def _verify_msccl(file: MscclFile, dialect: str | None, strict: bool) -> Report:
    """Rules are the same for all runtimes; limits, modes and the room of connections are not."""
    common = Findings()
    check_rules(file, common)
    results: dict[str, Findings] = {}
    proven: dict[tuple[Room, bool, bool], Findings] = {}
    for name in [dialect] if dialect else list(_MSCCL):
        findings = Findings()
        check_dialect(file, _MSCCL[name], findings)
        findings.extend(common)
        if not common.num_errors():
            room, modes = room_in(name, file), modes_of(file, _MSCCL[name])
            key = (room, True in modes, False in modes)
            if key not in proven:
                proven[key] = Findings()
                plan = lift(file, room, strict, proven[key])
                if plan is not None:
                    check_plan(_task(file), plan, modes, proven[key])
            findings.extend(proven[key])
        results[name] = findings
    accepted = tuple(name for name, findings in results.items() if not findings.num_errors())
    chosen = accepted[0] if accepted else min(results, key=lambda name: results[name].num_errors())
    return Report(
        dialect=chosen, collective=collective_of(file) or file.algo["coll"], ranks=file.ngpus, chunks=file.nchunks,
        findings=results[chosen].listed(), dialects=accepted, instructions=len(file.steps),
    )  # fmt: skip


def _task(file: MscclFile) -> Task:
    return Task(collective_of(file) or "", file.ngpus, file.nchunks, scratch_sizes(file))
