"""What a verification says of a file: verified, refuted or unknown, and the findings that say why."""

from __future__ import annotations

from dataclasses import dataclass

from linkstep.programs import Finding


@dataclass(frozen=True)
class Report:
    """What was found in a runtime file, read as one dialect."""

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
