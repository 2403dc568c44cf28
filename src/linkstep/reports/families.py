"""The families of topologies, and their members of a given size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from linkstep.families import FAMILIES
from linkstep.reports.view import View


@dataclass(frozen=True)
class FamilyReport(View):
    """A family of topologies."""

    report: ClassVar[str] = "family"

    name: str
    """As recipes call it."""
    title: str
    """What it is, in words."""
    notation: str
    """How its members are written."""
    coverage: str
    """For which N and d it has members."""


@dataclass(frozen=True)
class MemberReport(View):
    """A member of a family."""

    report: ClassVar[str] = "member"

    recipe: str
    """How it is written."""
    family: str
    """The family's title."""


def list_families() -> Iterator[FamilyReport]:
    """List the families, in the order of their table."""
    for family in FAMILIES:
        yield FamilyReport(family.name, family.title, family.notation, family.coverage)


def list_members(num_nodes: int, degree: int) -> Iterator[MemberReport]:
    """List what families have of a size.

    >>> [row.recipe for row in list_members(5, 4)][:3]
    ['K_5', 'K(4,0)', 'Pi_{4,5}']
    """
    for family in FAMILIES:
        for args in family.members(num_nodes, degree):
            yield MemberReport(family.format(*args), family.title)
