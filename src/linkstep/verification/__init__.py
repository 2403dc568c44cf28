"""The verifier of runtime files: reads what a runtime would run, ours or foreign, and proves or refutes it.

Shares no code with what writes such files. It is stricter than the runtimes: whatever one of them would skip, hang on
or compute wrongly is reported with a witness (rank, threadblock, step). What it cannot follow it calls unknown, neither
verified nor refuted. A text that is no runtime file at all is answered by a FileError.
"""

from __future__ import annotations

from collections.abc import Hashable
from os import PathLike

from linkstep.core.arguments import check_callable, check_kind
from linkstep.core.errors import FileError
from linkstep.core.progress import Progress
from linkstep.programs import (
    DIALECTS,
    Finding,
    Findings,
    Format,
    HasText,
    Program,
    read_text,
    sniff,
    text_of,
)
from linkstep.programs.format import RuntimeFile
from linkstep.verification.names import Names
from linkstep.verification.proof import prove
from linkstep.verification.report import Report
from linkstep.verification.stages import Stages

__all__ = [
    "CAPACITIES",
    "DIALECTS",
    "Finding",
    "Names",
    "Report",
    "verify",
    "verify_file",
    "verify_program",
    "verify_text",
]

CAPACITIES = ("1", "runtime")
"""How many messages a connection of MSCCL XML holds in the proof: one, or as many as in the runtime."""


def verify(
    what: str | PathLike[str] | Program | HasText,
    dialect: str | None = None,
    capacity: str = "1",
    progress: Progress | None = None,
) -> Report:
    """Verify what was lowered, or a runtime's file by its path, its text (anything of several lines) or its program.

    >>> import linkstep
    >>> linkstep.verify(linkstep.lower("K_4", "msccl")).status
    'verified'
    """
    check_callable("progress", progress)
    if isinstance(what, Program):
        return verify_program(what, progress)
    text = text_of(what)
    if text is not None:
        return verify_text(text, dialect, capacity, progress)
    if isinstance(what, str) and "\n" in what:
        return verify_text(what, dialect, capacity, progress)
    path = check_kind("what", what, str, PathLike)
    return verify_file(path, dialect, capacity, progress)


def verify_file(
    path: str | PathLike[str], dialect: str | None = None, capacity: str = "1", progress: Progress | None = None
) -> Report:  # fmt: skip
    """Verify a file; see ``verify_text``. Raises FileError if it cannot be read."""
    text = read_text(path)
    try:
        return verify_text(text, dialect, capacity, progress)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def verify_text(
    text: str, dialect: str | None = None, capacity: str = "1", progress: Progress | None = None
) -> Report:  # fmt: skip
    """Verify the text of a runtime file as one dialect, or as the dialects it may be.

    Without a dialect all runtimes of its format are tried, and the first that accepts the file is reported. A program
    of MSCCL XML must end where a connection holds one message; with ``capacity`` "runtime", where it holds as many as
    in the runtime. ``progress`` is called now and then with how much is done, and of how much.
    """
    format = sniff(text, dialect)
    if check_kind("capacity", capacity, str) not in CAPACITIES:
        raise FileError(f"unknown capacity {capacity!r}: choose from {', '.join(CAPACITIES)}")
    stages = Stages(progress)
    stages.expect(2)
    file = format.read(text)
    stages.advance()
    results = _findings(format, file, [dialect] if dialect else list(format.dialects), capacity == "1", stages)
    accepted = tuple(name for name, findings in results.items() if not findings.num_obstacles())
    chosen = accepted[0] if accepted else min(results, key=lambda name: results[name].num_errors())
    what = file.summary
    return Report(
        dialect=chosen, collective=what.collective, ranks=what.num_ranks, chunks=what.chunks,
        findings=results[chosen].listed(), dialects=accepted, instructions=what.num_instructions, name=what.name,
        forwarders=what.num_forwarders,
    )  # fmt: skip


def _findings(
    format: Format, file: RuntimeFile, dialects: list[str], strict: bool, stages: Stages
) -> dict[str, Findings]:
    """Return what is found for each dialect: rules are the same for all, limits and what connections hold are not."""
    common = Findings()
    format.check_rules(file, common)
    stages.advance()
    results: dict[str, Findings] = {}
    proven: dict[Hashable, Findings] = {}
    for name in dialects:
        results[name] = Findings()
        format.check_dialect(file, name, results[name])
        results[name].extend(common)
        if common.num_obstacles():
            continue
        variant = format.variant(file, name)
        if variant not in proven:
            proven[variant] = _prove_file(format, file, name, strict, stages)
        results[name].extend(proven[variant])
    return results


def _prove_file(
    format: Format, file: RuntimeFile, dialect: str, strict: bool, stages: Stages
) -> Findings:  # fmt: skip
    findings = Findings()
    stages.expect(1)
    program = format.build(file, dialect, strict, findings)
    stages.advance()
    if program is not None:
        prove(program, findings, stages)
    return findings


def verify_program(program: Program, progress: Progress | None = None) -> Report:
    """Verify a program that was read already: that it is right, not that its runtime takes the file."""
    findings = Findings()
    prove(program, findings, Stages(progress))
    return Report(
        dialect=program.dialect, collective=program.collective.value, ranks=program.num_ranks, chunks=program.chunks,
        findings=findings.listed(), dialects=() if findings.num_obstacles() else (program.dialect,),
        instructions=program.num_instructions, forwarders=program.num_forwarders,
    )  # fmt: skip
