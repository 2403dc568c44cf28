"""Names of plans that are used together: MSCCL++ keeps what it has set up by name, so they must differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from linkstep.programs import Finding
from linkstep.verification.report import Report

_SHOWN = 100


class Names:
    """The names of the files of one set, in the order they are given."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def check(self, file: str, report: Report) -> Report:
        """Return the report of a file, refuted if another file of the set has its name, with an equal program too.

        Contexts are found by name and buffers, algorithms by collective and name: the second would run the program of
        the first, or on its channels.
        """
        if not report.name:
            return report
        first = self._first.setdefault(report.name, file)
        if Path(first).resolve() == Path(file).resolve():
            return report
        quoted = repr(report.name)
        name = quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]}..."
        why = (
            f"{name} is the name of {first} too, and MSCCL++ knows plans by their names only: it would run one in "
            "place of the other; lower them again, or give each a name of its own"
        )
        return replace(report, findings=[Finding("error", "name", why), *report.findings], dialects=())
