"""How much the catalog covers, and how a graph stands beside what it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from linkstep.costs import moore_steps
from linkstep.recipe import parse
from linkstep.reports.view import View
from linkstep.search.added import Hops, RecordComparison
from linkstep.search.coverage import Coverage


@dataclass(frozen=True)
class CoverageRow:
    """What the catalog has for a degree and a range of sizes."""

    degree: int
    """Links out of a node, d."""
    duplex: bool
    """Whether all links are duplex (both ways)."""
    min_nodes: int
    """The least N that has an entry."""
    max_nodes: int
    """The largest N that has an entry."""
    num_sizes: int
    """How many N have an entry."""
    num_bandwidth_optimal: int
    """How many N have an entry whose T_B is (N - 1) / N in both halves."""
    num_moore_optimal: int
    """How many N have an entry with the diameter of the Moore bound."""
    num_both: int
    """How many N have an entry that is both."""
    mean_over_bound: tuple[float, ...]
    """Time of the best allreduce over the least that any graph could take, on average; at 1MB and at 100MB."""
    worst_over_bound: tuple[float, ...]
    """The same of the N where it is the most."""

    @classmethod
    def of(cls, row: Coverage) -> CoverageRow:
        """Take a row apart."""
        return cls(
            row.degree, row.bidirectional, row.smallest, row.largest, row.sizes, row.bandwidth_optimal,
            row.moore_optimal, row.both, row.mean_over_bound, row.worst_over_bound,
        )  # fmt: skip


@dataclass(frozen=True)
class CoverageReport(View):
    """How much the catalog covers."""

    report: ClassVar[str] = "coverage"

    ranges: tuple[CoverageRow, ...]
    """Of each degree and kind of links, ranges of N."""

    @classmethod
    def of(cls, rows: Iterable[Coverage]) -> CoverageReport:
        """Take rows apart."""
        return cls(tuple(map(CoverageRow.of, rows)))


@dataclass(frozen=True)
class HopsFacts:
    """How far apart the nodes of a graph are."""

    diameter: int
    """The most hops between two nodes."""
    mean_distance: Fraction
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
    duplex: bool
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
            duplex=both,
            moore_steps=moore_steps(n, d, bidirectional=both) if d > 1 or not both else 1,
            hops=HopsFacts.of(found.hops),
            known=None if known is None else HopsFacts.of(known),
            known_name=None if found.known is None else parse(found.known.recipe).short,
            beats=found.beats,
        )
