"""How much the catalog covers, and how a graph stands beside what it has."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from linkstep.costs import moore_steps
from linkstep.recipe import parse
from linkstep.reports.view import FieldForm, View
from linkstep.search.added import Hops, RecordComparison
from linkstep.search.coverage import Coverage


@dataclass(frozen=True)
class CoverageReport(View):
    """What the catalog has for a degree and a range of sizes."""

    report: ClassVar[str] = "coverage"

    coverage: Annotated[Coverage, FieldForm.INLINE]


@dataclass(frozen=True)
class HopsFacts:
    """How far apart the nodes of a graph are."""

    diameter: int
    """The most hops between two nodes."""
    mean: Fraction
    """Hops, over ordered pairs of different nodes."""

    @classmethod
    def of(cls, hops: Hops) -> HopsFacts:
        """Take distances apart."""
        return cls(hops.diameter, hops.mean)


@dataclass(frozen=True)
class AdditionReport(View):
    """A graph beside the best that is known of its N, d and kind."""

    report: ClassVar[str] = "addition"

    nodes: int
    """N."""
    degree: int
    """Links out of a node, d."""
    bidirectional: bool
    """Whether all links are duplex (both ways)."""
    moore_steps: int
    """The diameter that no such graph beats."""
    hops: HopsFacts
    """Of the graph."""
    known: HopsFacts | None
    """Of the best that is known; null: nothing is."""
    known_name: str | None
    """What that is, in short."""
    beats: bool
    """Whether the graph is better, and worth adding."""

    @classmethod
    def of(cls, found: RecordComparison) -> AdditionReport:
        """Take a comparison apart."""
        topology = found.topology
        n, d, both = topology.num_nodes, topology.degree, topology.is_bidirectional
        known = found.known_hops
        return cls(
            nodes=n,
            degree=d,
            bidirectional=both,
            moore_steps=moore_steps(n, d, bidirectional=both) if d > 1 or not both else 1,
            hops=HopsFacts.of(found.hops),
            known=None if known is None else HopsFacts.of(known),
            known_name=None if found.known is None else parse(found.known.recipe).short,
            beats=found.beats,
        )
