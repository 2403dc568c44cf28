"""The verifier of runtime files: reads what a runtime would run, ours or foreign, and proves or refutes it.

Shares no code with what writes such files. It is stricter than the runtimes: whatever one of them would skip, hang on
or compute wrongly is reported with a witness (rank, threadblock, step). Hostile input is answered by a FileError.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from linkstep.errors import FileError
from linkstep.verify._cpu import verify_cpu
from linkstep.verify._dialects import DIALECTS as _MSCCL
from linkstep.verify._dialects import check_dialect, collective_of, modes_of
from linkstep.verify._engine import Task, check_plan
from linkstep.verify._flow import Room, room_in
from linkstep.verify._lift import lift, scratch_sizes
from linkstep.verify._msccl import MscclFile, read_msccl
from linkstep.verify._mscclpp import verify_mscclpp
from linkstep.verify._program_events import Events, events_of
from linkstep.verify._report import Finding, Findings, Report
from linkstep.verify._rules import check_rules

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
MAX_BYTES = 2**29


def verify_file(path: str | PathLike[str], dialect: str | None = None, capacity: str = "1") -> Report:
    """Verify a file; see ``verify_text``. Raises FileError if it cannot be read."""
    text = read_text(path)
    try:
        return verify_text(text, dialect, capacity)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def read_text(path: str | PathLike[str]) -> str:
    """Return a file's text, or raise FileError if there is none or too much of it."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    if len(data) > MAX_BYTES:
        raise FileError(f"{path}: more than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: not a text file: byte {error.start} is no UTF-8") from None


def verify_text(text: str, dialect: str | None = None, capacity: str = "1") -> Report:
    """Verify the text of a runtime file as one dialect, or as the dialects it may be.

    Without a dialect all MSCCL runtimes are tried, and the first that accepts the file is reported. Their programs must
    end where a connection has room for one message; with ``capacity`` "runtime", for as many as the runtime has.
    """
    if dialect is not None and dialect not in DIALECTS:
        raise FileError(f"unknown dialect {dialect!r}: choose from {', '.join(DIALECTS)}")
    if capacity not in CAPACITIES:
        raise FileError(f"unknown capacity {capacity!r}: choose from {', '.join(CAPACITIES)}")
    kind = dialect or _guess(text)
    if kind == "mscclpp":
        return verify_mscclpp(text)
    if kind == "cpu":
        return verify_cpu(text)
    return _verify_msccl(read_msccl(text), dialect, capacity == "1")


def _guess(text: str) -> str:
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return "mscclpp"
    return "cpu" if "<schedule" in text[:4096] and "<algo" not in text[:4096] else "msccl"


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
