"""What went wrong, for who reads JSON: the same line that standard error has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linkstep.reports.view import View


@dataclass(frozen=True)
class ErrorReport(View):
    """A command that failed and printed no other report."""

    report: ClassVar[str] = "error"
    version: ClassVar[int] = 1

    error: str
    """What is wrong, in a line."""
    kind: str
    """Which error: "FileError", "UnitError", ... are linkstep's own; "UsageError": words and options are no command;
    "OSError", "MemoryError" and "KeyboardInterrupt" are Python's; "Failure": what ran has failed."""
    exit_code: int
    """Of the command: 2 bad input, 1 a failure, 130 interrupted."""
