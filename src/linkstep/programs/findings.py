"""What a verification says: findings, each with a witness, and the report that holds them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_SHOWN = 10  # findings kept of one rule; the rest are counted


@dataclass(frozen=True)
class Finding:
    """One broken rule (``error``) or one thing a runtime would do silently (``warning``), and where.

    ``threadblock`` and ``step`` are as the file numbers them; None where no single one is to blame.
    """

    severity: str
    rule: str
    message: str
    rank: int | None = None
    threadblock: int | None = None
    step: int | None = None

    def __str__(self) -> str:
        named = (("rank", self.rank), ("tb", self.threadblock), ("step", self.step))
        place = " ".join(f"{name} {value}" for name, value in named if value is not None)
        return f"{self.severity}: {self.rule}: {place + ': ' if place else ''}{self.message}"


@dataclass(frozen=True)
class Report:
    """What was found in a runtime file; it is verified if no finding is an error."""

    dialect: str
    collective: str
    ranks: int
    chunks: int
    findings: list[Finding]
    dialects: tuple[str, ...] = ()
    """All dialects whose runtimes accept the file."""
    instructions: int = 0

    @property
    def errors(self) -> list[Finding]:
        """The findings that refute the file."""
        return [f for f in self.findings if f.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        """The findings that do not."""
        return [f for f in self.findings if f.severity == "warning"]

    @property
    def is_verified(self) -> bool:
        """Whether the file is proven right."""
        return not self.errors


@dataclass
class Findings:
    """Collects findings, at most a few of each rule so that a hostile file cannot make a long report."""

    kept: list[Finding] = field(default_factory=list)
    count: Counter[tuple[str, str]] = field(default_factory=Counter)

    def _add(self, severity: str, rule: str, message: str, place: tuple[int | None, ...]) -> None:
        self.count[severity, rule] += 1
        if self.count[severity, rule] <= _SHOWN:
            rank, threadblock, step = place
            self.kept.append(Finding(severity, rule, message, rank, threadblock, step))

    def error(
        self, rule: str, message: str, rank: int | None = None, threadblock: int | None = None, step: int | None = None
    ) -> None:
        """Add what refutes the file."""
        self._add("error", rule, message, (rank, threadblock, step))

    def warn(
        self, rule: str, message: str, rank: int | None = None, threadblock: int | None = None, step: int | None = None
    ) -> None:
        """Add what does not refute it."""
        self._add("warning", rule, message, (rank, threadblock, step))

    def num_errors(self) -> int:
        """How many errors were added, kept or not."""
        return sum(n for (severity, _), n in self.count.items() if severity == "error")

    def extend(self, other: Findings) -> None:
        """Take over another's findings."""
        self.kept.extend(other.kept)
        self.count.update(other.count)

    def listed(self) -> list[Finding]:
        """The kept findings, errors first, and a line for each rule of which some were left out."""
        more = [
            Finding(severity, rule, f"{n - _SHOWN} more of this kind")
            for (severity, rule), n in self.count.items()
            if n > _SHOWN
        ]
        return sorted(self.kept + more, key=lambda f: f.severity != "error")
