"""What is found in a runtime's file: broken rules, things a runtime does silently, and what cannot be decided."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field

from linkstep.core.errors import FileError

SHOWN = 10
"""Findings of one rule that are kept; the rest are counted."""
SEVERITIES = ("error", "unknown", "warning")
"""What refutes a file, what keeps it from being verified although it may be right, and what does neither."""


class UnverifiableError(FileError):
    """A file that may be right, but asks for more than can be followed here."""


@dataclass(frozen=True)
class Finding:
    """One thing that was found, and where.

    ``threadblock`` and ``step`` are as the file numbers them; None where no single one is to blame.
    """

    severity: str
    """"error": it refutes the file; "unknown": it cannot be followed; or "warning"."""
    rule: str
    """What was looked at, in a word."""
    message: str
    """What was found."""
    rank: int | None = None
    """Where."""
    threadblock: int | None = None
    """As the file numbers them."""
    step: int | None = None
    """As the file numbers them."""

    def _row_(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        named = (("rank", self.rank), ("tb", self.threadblock), ("step", self.step))
        place = " ".join(f"{name} {value}" for name, value in named if value is not None)
        return f"{self.severity}: {self.rule}: {place + ': ' if place else ''}{self.message}"


@dataclass
class Findings:
    """Collects findings, at most a few of each rule so that a hostile file cannot make a long report."""

    kept: list[Finding] = field(default_factory=list)
    count: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        """Add a finding; beyond a few of its rule it is only counted."""
        key = finding.severity, finding.rule
        self.count[key] += 1
        if self.count[key] <= SHOWN:
            self.kept.append(finding)

    def error(
        self, rule: str, message: str, rank: int | None = None, threadblock: int | None = None, step: int | None = None
    ) -> None:
        """Add what refutes the file."""
        self.add(Finding("error", rule, message, rank, threadblock, step))

    def more_errors(self, rule: str, number: int) -> None:
        """Count errors beyond those that are kept, without a word for each."""
        self.count["error", rule] += max(number, 0)

    def unknown(
        self, rule: str, message: str, rank: int | None = None, threadblock: int | None = None, step: int | None = None
    ) -> None:
        """Add what cannot be followed, so that the file cannot be verified."""
        self.add(Finding("unknown", rule, f"cannot be verified: {message}", rank, threadblock, step))

    def warn(
        self, rule: str, message: str, rank: int | None = None, threadblock: int | None = None, step: int | None = None
    ) -> None:
        """Add what does not refute it."""
        self.add(Finding("warning", rule, message, rank, threadblock, step))

    def _num(self, *severities: str) -> int:
        return sum(n for (severity, _), n in self.count.items() if severity in severities)

    def num_errors(self) -> int:
        """How many errors were added, kept or not."""
        return self._num("error")

    def num_obstacles(self) -> int:
        """How many findings keep the file from being verified: errors and what cannot be followed."""
        return self._num("error", "unknown")

    def extend(self, other: Findings) -> None:
        """Add another's findings."""
        self.kept.extend(other.kept)
        self.count.update(other.count)

    def listed(self) -> list[Finding]:
        """The kept findings, errors first, and a line for each rule of which some were left out."""
        more = [
            Finding(severity, rule, f"{n - SHOWN} more of this kind")
            for (severity, rule), n in self.count.items()
            if n > SHOWN
        ]
        return sorted(self.kept + more, key=lambda f: SEVERITIES.index(f.severity))
