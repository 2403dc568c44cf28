"""A runtime's file that was judged: verified, refuted, beyond what can be followed, or not readable at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linkstep.programs import Finding
from linkstep.reports.view import View
from linkstep.verification import Report


@dataclass(frozen=True)
class VerifiedFile:
    """What was found in a runtime's file, read as one dialect."""

    file: str
    """What was judged."""
    verified: bool
    """Whether it is proven right."""
    status: str
    """"verified"; "refuted": shown wrong; "unknown": it asks for more than can be followed."""
    dialect: str
    """The runtime that it was read for."""
    collective: str
    """What it does."""
    ranks: int
    """How many take part."""
    forwarders: int
    """How many pass data on and take no part."""
    chunks: int
    """That the data is cut into."""
    findings: tuple[Finding, ...]
    """What refutes it, what cannot be followed, and warnings."""
    dialects: tuple[str, ...]
    """All runtimes that accept the file."""
    instructions: int
    """On all ranks."""
    name: str | None
    """What the runtime knows the file by; null where it knows files by nothing."""

    @classmethod
    def of(cls, file: str, found: Report) -> VerifiedFile:
        """Take a verdict apart."""
        return cls(
            file=file,
            verified=found.is_verified,
            status=found.status,
            dialect=found.dialect,
            collective=found.collective,
            ranks=found.ranks,
            forwarders=found.forwarders,
            chunks=found.chunks,
            findings=tuple(found.findings),
            dialects=found.dialects,
            instructions=found.instructions,
            name=found.name or None,
        )


@dataclass(frozen=True)
class UnreadableFile:
    """A file that is no runtime's, or is not written as one."""

    file: str
    """What was to be judged."""
    verified: bool
    """False."""
    status: str
    """"unreadable"."""
    error: str
    """Why it cannot be read."""

    @classmethod
    def of(cls, file: str, error: str) -> UnreadableFile:
        """Say why a file cannot be read."""
        return cls(file, False, "unreadable", error)


@dataclass(frozen=True)
class VerificationReport(View):
    """Runtimes' files that were judged, one or several."""

    report: ClassVar[str] = "verification"

    files: tuple[VerifiedFile | UnreadableFile, ...]
    """In the order in which they were named."""
