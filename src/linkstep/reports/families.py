"""The families of topologies, and their members of a given size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linkstep.families import FAMILIES
from linkstep.reports.view import View


@dataclass(frozen=True)
class FamilyRow:
    """A family of topologies."""

    name: str
    """As recipes call it."""
    title: str
    """What it is, in words."""
    notation: str
    """How its members are written."""
    coverage: str
    """For which N and d it has members."""


@dataclass(frozen=True)
class MemberRow:
    """A member of a family."""

    recipe: str
    """How it is written."""
    family: str
    """The family's title."""


@dataclass(frozen=True)
class FamiliesReport(View):
    """The families of topologies."""

    report: ClassVar[str] = "families"

    families: tuple[FamilyRow, ...]
    """In the order of their table."""

    @classmethod
    def of_all(cls) -> FamiliesReport:
        """List the families."""
        return cls(tuple(FamilyRow(one.name, one.title, one.notation, one.coverage) for one in FAMILIES))


@dataclass(frozen=True)
class MembersReport(View):
    """What families have of a size."""

    report: ClassVar[str] = "members"

    nodes: int
    """N."""
    degree: int
    """Ports of a node, d."""
    members: tuple[MemberRow, ...]
    """None where no family has any."""

    @classmethod
    def of(cls, num_nodes: int, degree: int) -> MembersReport:
        """List what families have of a size.

        >>> [row.recipe for row in MembersReport.of(5, 4).members][:3]
        ['K_5', 'K(4,0)', 'Pi_{4,5}']
        """
        rows = ((one.format(*args), one.title) for one in FAMILIES for args in one.members(num_nodes, degree))
        return cls(num_nodes, degree, tuple(MemberRow(*row) for row in rows))
