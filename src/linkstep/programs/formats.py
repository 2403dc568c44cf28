"""The formats of runtime files as rows of one table, and how a text becomes a ``Program``.

A format is added as a package of its own and one row of ``FORMATS``.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Protocol, TypeGuard

from linkstep.core.arguments import check_kind
from linkstep.core.errors import FileError
from linkstep.core.inputs import hook
from linkstep.files import is_runtime_file, wrong_kind
from linkstep.programs.cpu import CPU
from linkstep.programs.findings import Findings
from linkstep.programs.format import Format, RuntimeFile
from linkstep.programs.msccl import MSCCL
from linkstep.programs.mscclpp import MSCCLPP
from linkstep.programs.order import find_order
from linkstep.programs.program import Program

FORMATS: tuple[Format, ...] = (MSCCLPP, MSCCL, CPU)
DIALECTS = tuple(dialect for format in FORMATS for dialect in format.dialects)
"""The runtimes whose files can be read; ``rccl`` serves releases of RCCL before 2026, which removed MSCCL."""
MAX_BYTES = 2**29
_MARKS = (b'"gpus"', b"<algo", b"<schedule")
"""Some of which every runtime's file has."""


def sniff(text: str, dialect: str | None = None) -> Format:
    """Return the format of a dialect, or the one that a text looks like.

    >>> sniff("{}").name, sniff("<algo/>").name, sniff("", "cpu").name
    ('mscclpp', 'msccl', 'cpu')
    """
    check_kind("the text of a runtime's file", text, str)
    check_kind("dialect", dialect, str, NoneType)
    if dialect is None:
        return next(format for format in FORMATS if format.looks_like(text))
    for format in FORMATS:
        if dialect in format.dialects:
            return format
    raise FileError(f"unknown dialect {dialect!r}: choose from {', '.join(DIALECTS)}")


class HasText(Protocol):
    """What was lowered: it has the text of a runtime's file."""

    def _text_(self) -> tuple[str, str]:
        """Return the ending of the file's name, and its text."""


def text_of(what: object) -> str | None:
    """Return the text that something lowered has; None for whatever else."""
    own = hook(what, "_text_")
    return None if own is None else str(own()[1])


def read_program(text: str | PathLike[str] | HasText | Program, dialect: str | None = None) -> Program:
    """Return the program of a runtime's file, by its text, its path or what was lowered.

    FileError says in one line why it cannot run to its end. Only what keeps a file from running at all is refused: it
    must be readable, refer to nothing that is not there, and have an order in which it ends. Limits of a runtime, races
    and wrong results are for ``linkstep.verification`` to find. Without a dialect, it is read for the runtime that has
    the least against it.

    >>> head = '<schedule format="linkstep-cpu" version="1" coll="reduce" ranks="1" chunks="1" inplace="0" root="0">'
    >>> copy = '<copy n="0" src="i" srcoff="0" dst="o" dstoff="0" cnt="1"/>'
    >>> program = read_program(f'{head}<rank id="0" input="1" output="1" scratch="0">{copy}</rank></schedule>')
    >>> program.dialect, program.collective.value, program.num_instructions
    ('cpu', 'reduce', 1)
    """
    if isinstance(text, Program):
        return text
    whole = text_of(text)
    if whole is None:
        whole = read_text(text) if _is_path(text) else check_kind("the text of a runtime's file", text, str)
    format = sniff(whole, dialect)
    file = format.read(whole)
    return _built(format, file, dialect or _closest_dialect(format, file))


def _is_path(text: object) -> TypeGuard[str | PathLike[str]]:
    """Whether it names a runtime's file, and is not the text of one."""
    if isinstance(text, PathLike):
        return True
    return isinstance(text, str) and not text.lstrip().startswith(("<", "{")) and is_runtime_file(text)


def build_program(file: RuntimeFile, dialect: str) -> Program:
    """Return the program of a file as the reader of the dialect's format returns it; FileError as ``read_program``."""
    return _built(sniff("", dialect), file, dialect)


def _built(format: Format, file: RuntimeFile, dialect: str) -> Program:
    findings = Findings()
    format.check_rules(file, findings)
    _refuse(findings)
    program = format.build(file, dialect, False, findings)
    _refuse(findings)
    assert program is not None
    find_order(program.events, findings)
    _refuse(findings)
    return program


def _closest_dialect(format: Format, file: RuntimeFile) -> str:
    errors = {}
    for name in format.dialects:
        findings = Findings()
        format.check_dialect(file, name, findings)
        errors[name] = findings.num_errors()
    return min(errors, key=lambda name: errors[name])


def _refuse(findings: Findings) -> None:
    if findings.num_obstacles():
        worst = findings.listed()[0]
        raise FileError(f"cannot run: {str(worst).removeprefix(f'{worst.severity}: ')}")


def runtime_text(name: str | PathLike[str]) -> str | None:
    """Return the text of a runtime's file, read once; None if the name is that of a recipe or of a file of ours."""
    return read_text(name) if is_runtime_file(str(name)) else None


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a runtime's file, or raise FileError if there is none, too much, or something else in it."""
    check_kind("a runtime's file", path, str, PathLike)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise FileError(f"{path}: {why.lower()}") from None
    if len(data) > MAX_BYTES:
        raise FileError(f"{path}: more than {MAX_BYTES} bytes")
    if data.strip() and not any(mark in data for mark in _MARKS):
        other = wrong_kind(path, "a runtime's file")
        if other is not None:
            raise other
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: not a text file: byte {error.start} is no UTF-8") from None
