"""What a verification says of a file: verified, refuted or unknown, and the findings that say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkstep.core.frames import frame_of_rows
from linkstep.core.notebook import MAX_ROWS, html_table
from linkstep.programs import Finding


@dataclass(frozen=True)
class Report:
    """What was found in a runtime file, read as one dialect.

    >>> from linkstep import lower, verify
    >>> report = verify(lower("K_{2,2}", "msccl"))
    >>> report.status, report.is_verified
    ('verified', True)
    """

    dialect: str
    collective: str
    ranks: int
    chunks: int
    findings: list[Finding]
    dialects: tuple[str, ...] = ()
    """All dialects whose runtimes accept the file."""
    instructions: int = 0
    name: str = ""
    """What the runtime knows the file by; empty where it knows files by nothing."""
    forwarders: int = 0
    """Nodes that pass data on and take no part."""

    def __repr__(self) -> str:
        what = f"{self.collective} for {self.dialect}: {self.status}"
        return f"<Report {what}{f', {len(self.findings)} findings' if self.findings else ''}>"

    def to_frame(self) -> Any:
        """Return a row for each finding, as a DataFrame of pandas or polars."""
        return frame_of_rows(self.findings)

    def _repr_html_(self) -> str:
        fields = [
            ("status", self.status), ("ranks", self.ranks), ("chunks", self.chunks),
            ("instructions", self.instructions), *((f.severity, f.message) for f in self.findings[:MAX_ROWS]),
        ]  # fmt: skip
        return html_table(f"{self.collective} for {self.dialect}", fields)

    @property
    def errors(self) -> list[Finding]:
        """The findings that refute the file."""
        return [f for f in self.findings if f.severity == "error"]

    @property
    def unknowns(self) -> list[Finding]:
        """The findings for which the file cannot be verified, right or wrong."""
        return [f for f in self.findings if f.severity == "unknown"]

    @property
    def warnings(self) -> list[Finding]:
        """The findings that do neither."""
        return [f for f in self.findings if f.severity == "warning"]

    @property
    def status(self) -> str:
        """``verified``: proven right; ``refuted``: shown wrong; ``unknown``: it asks for more than can be followed."""
        return "refuted" if self.errors else "unknown" if self.unknowns else "verified"

    @property
    def is_verified(self) -> bool:
        """Whether the file is proven right."""
        return self.status == "verified"
