"""Any runtime's file as its events, for whoever wants to run it in time: what the verifier builds, without its proof.

Only what keeps a file from running at all is refused: it must be readable, refer to nothing that is not there, and have
an order in which it ends. Limits of a runtime, races and wrong results are for ``verify_text`` to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from linkstep.core.errors import FileError
from linkstep.programs.cpu import events as _cpu
from linkstep.programs.events import Ints, Plan
from linkstep.programs.findings import Findings
from linkstep.programs.msccl.dialects import DIALECTS, check_dialect, collective_of
from linkstep.programs.msccl.events import lift, scratch_sizes
from linkstep.programs.msccl.flow import room_in
from linkstep.programs.msccl.reader import MscclFile, read_msccl
from linkstep.programs.msccl.rules import check_rules
from linkstep.programs.mscclpp import events as _mscclpp
from linkstep.programs.mscclpp.reader import read_mscclpp
from linkstep.programs.order import Task, find_order

MAX_BYTES = 2**29
_LIMITS = ("steps", "window", "threads", "alignment")
"""Rules of MSCCL++ plans that say what fits, not what runs."""


@dataclass(frozen=True, eq=False)
class Events:
    """A file's events; ``edges`` (a, b) say that b begins after a has ended, those between ranks are messages or
    signals. ``rooms`` hold besides where connections have no more room than the verifier grants them.
    """

    dialect: str
    collective: str
    num_ranks: int
    chunks: int
    """How many chunks the data M is."""
    plan: Plan
    edges: Ints
    rooms: Ints
    is_instruction: npt.NDArray[np.bool_]
    """One event of each instruction; the others are what it sets off."""

    @property
    def num_instructions(self) -> int:
        """Instructions of all ranks."""
        return int(self.is_instruction.sum())


def _refuse(findings: Findings, but: tuple[str, ...] = ()) -> None:
    for finding in findings.listed():
        if finding.severity == "error" and finding.rule not in but:
            raise FileError(f"cannot run: {str(finding).removeprefix('error: ')}")


def _first_of_places(plan: Plan, length: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return one event for each place; a position at or beyond its block's ``length`` (the end) has none."""
    chosen = np.zeros(plan.num_events, np.bool_)
    chosen[np.unique(plan.place, axis=0, return_index=True)[1]] = True
    return chosen & (plan.place[:, 2] >= 0) & (plan.place[:, 2] < length)


def _closest_dialect(file: MscclFile) -> str:
    errors = {}
    for name, dialect in DIALECTS.items():
        findings = Findings()
        check_dialect(file, dialect, findings)
        errors[name] = findings.num_errors()
    return min(errors, key=lambda name: errors[name])


def _msccl_events(text: str, dialect: str | None) -> tuple[Events, Task]:
    file, findings = read_msccl(text), Findings()
    check_rules(file, findings)
    name = dialect or _closest_dialect(file)
    plan = None if findings.num_errors() else lift(file, room_in(name, file), False, findings)
    _refuse(findings)
    assert plan is not None
    task = Task(collective_of(file) or "", file.ngpus, file.nchunks, scratch_sizes(file))
    events = Events(
        name, task.collective, task.num_ranks, task.chunks, plan, plan.edges, plan.waits,
        np.ones(plan.num_events, np.bool_),
    )  # fmt: skip
    return events, task


def _mscclpp_events(text: str) -> tuple[Events, Task]:
    """A block's operations begin in order and packets are waited for: so say the plan's ``waits``."""
    file, findings = read_mscclpp(text), Findings()
    task = _mscclpp._check_head(file, findings)
    _refuse(findings, _LIMITS)
    made = _mscclpp._Lift(file, findings)
    made.run(1)
    _refuse(findings, _LIMITS)
    plan = made.build()
    blocks = max((len(gpu.threadblocks) for gpu in file.gpus), default=0)
    length = np.zeros((task.num_ranks, blocks + 1), np.int64)
    for rank, gpu in enumerate(file.gpus):
        length[rank, : len(gpu.threadblocks)] = [len(ops) for ops in gpu.threadblocks]
    is_instruction = _first_of_places(plan, length[plan.place[:, 0], plan.place[:, 1]])
    edges, none = np.concatenate([plan.edges, plan.waits]), np.zeros((0, 2), np.int64)
    return Events("mscclpp", task.collective, task.num_ranks, task.chunks, plan, edges, none, is_instruction), task


def _cpu_events(text: str) -> tuple[Events, Task]:
    head, ranks = _cpu._read(text)
    findings = Findings()
    task = _cpu._check_head(head, ranks, findings)
    _refuse(findings)
    for r, rank in enumerate(ranks):
        _cpu._check_rank(r, rank, task.num_ranks, findings)
    _refuse(findings)
    pairs = _cpu._match(ranks, findings)
    _refuse(findings)
    plan = _cpu._lift(ranks, pairs)
    length = np.array([len(rank.program) for rank in ranks], np.int64)[plan.place[:, 0]]
    is_instruction = _first_of_places(plan, length)
    return Events(
        "cpu", task.collective, task.num_ranks, task.chunks, plan, plan.edges, plan.waits, is_instruction
    ), task


def events_of(text: str, dialect: str | None = None) -> Events:
    """Return the events of a runtime file's text, or raise FileError in one line if it cannot run to its end.

    The dialect is guessed as ``verify_text`` does.

    >>> head = '<schedule format="linkstep-cpu" version="1" coll="reduce" ranks="1" chunks="1" inplace="0" root="0">'
    >>> copy = '<copy n="0" src="i" srcoff="0" dst="o" dstoff="0" cnt="1"/>'
    >>> events = events_of(f'{head}<rank id="0" input="1" output="1" scratch="0">{copy}</rank></schedule>')
    >>> events.dialect, events.collective, events.num_instructions
    ('cpu', 'reduce', 1)
    """
    if dialect is not None and dialect not in (*DIALECTS, "mscclpp", "cpu"):
        raise FileError(f"unknown dialect {dialect!r}: choose from {', '.join((*DIALECTS, 'mscclpp', 'cpu'))}")
    kind = dialect or guess(text)
    if kind == "mscclpp":
        events, task = _mscclpp_events(text)
    elif kind == "cpu":
        events, task = _cpu_events(text)
    else:
        events, task = _msccl_events(text, dialect)
    findings = Findings()
    find_order(task, events.plan, findings)
    _refuse(findings)
    return events


def guess(text: str) -> str:
    """Return the format that a text looks like: msccl, mscclpp or cpu."""
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return "mscclpp"
    return "cpu" if "<schedule" in text[:4096] and "<algo" not in text[:4096] else "msccl"


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
