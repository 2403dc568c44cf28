"""Tables and figures of the paper: which there are, and how one made again compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from linkstep.reports.view import View
from linkstep.reproduction import Exhibit
from linkstep.reproduction.figures import Cell, CellKind, Mark, Verdict, tally, write_value
from linkstep.reproduction.output import ShownExhibit


@dataclass(frozen=True)
class ExhibitRow:
    """A table or figure that can be made again."""

    label: str
    """LaTeX label in the paper."""
    title: str
    """What it shows."""
    how: str
    """How its figures are found, in a sentence."""
    missing: str
    """What of it cannot be made again, and what stands in for it."""
    quick: bool
    """Whether it takes a few seconds at most."""
    takes: str
    """About how long it takes, where it is not quick."""
    emulates: str
    """What a testbed adds, and about how long that takes."""

    @classmethod
    def of(cls, one: Exhibit) -> ExhibitRow:
        """Take an exhibit apart."""
        return cls(one.label, one.title, one.method, one.missing, one.is_quick, one.takes, one.emulates)


@dataclass(frozen=True)
class ExhibitsReport(View):
    """The tables and figures that can be made again."""

    report: ClassVar[str] = "exhibits"

    exhibits: tuple[ExhibitRow, ...]

    @classmethod
    def of(cls, found: Iterable[Exhibit]) -> ExhibitsReport:
        """Take exhibits apart."""
        return cls(tuple(map(ExhibitRow.of, found)))


@dataclass(frozen=True)
class FigureRow:
    """One figure in three columns."""

    item: str
    """What it is a figure of."""
    quantity: str
    """What is counted or measured."""
    unit: str
    """Empty for a number without one."""
    paper: str | None
    """As the paper prints it; null where it prints none."""
    paper_bases: str | None
    """From the paper's own bases and schedules."""
    paper_bases_verdict: Verdict | None
    """"same" or "differs"."""
    linkstep: str | None
    """What linkstep has."""
    linkstep_verdict: Verdict | None
    """"same", "better" or "differs"."""
    cell_kind: CellKind
    """"compared", "point" (of a curve) or "measured" (on a machine)."""
    reason: str
    """Where a difference comes from."""
    mark: Mark | None
    """Why a figure that agrees does not count."""

    @classmethod
    def of(cls, one: Cell) -> FigureRow:
        """Write a cell's values."""
        return cls(
            item=one.item,
            quantity=one.quantity,
            unit=one.unit,
            paper=one.paper,
            paper_bases=write_value(one.bases) or None,
            paper_bases_verdict=one.bases_verdict or None,
            linkstep=write_value(one.ours) or None,
            linkstep_verdict=one.ours_verdict or None,
            cell_kind=one.kind,
            reason=one.why,
            mark=one.mark or None,
        )


@dataclass(frozen=True)
class ReproducedExhibit:
    """An exhibit made again."""

    label: str
    """LaTeX label in the paper."""
    title: str
    """What it shows."""
    new: bool
    """Whether it was made just now, not by an earlier run."""
    paper_bases_counts: Mapping[Verdict, int]
    """How many figures from the paper's bases agree and differ."""
    linkstep_counts: Mapping[Verdict, int]
    """How many of linkstep's agree, are better and differ."""
    marked: int
    """Figures that agree and have a mark: they count in neither."""
    outputs: tuple[str, ...] | None
    """What was written; null where nothing was."""
    notes: tuple[str, ...]
    """What a reader should know of it."""
    cells: tuple[FigureRow, ...]

    @classmethod
    def of(cls, shown: ShownExhibit, folder: Path | None = None) -> ReproducedExhibit:
        """Count what agrees in an exhibit that was written to a folder, or nowhere."""
        exhibit, counts = shown.exhibit, tally(shown.result.of_kind(CellKind.COMPARED))
        return cls(
            label=exhibit.label,
            title=exhibit.title,
            new=shown.is_new,
            paper_bases_counts=counts.bases,
            linkstep_counts=counts.ours,
            marked=counts.marked,
            outputs=None if folder is None else tuple(str(path) for path in sorted(folder.glob(f"{exhibit.name}.*"))),
            notes=tuple(shown.result.notes),
            cells=tuple(FigureRow.of(one) for one in shown.result.cells),
        )


@dataclass(frozen=True)
class ReproductionReport(View):
    """Exhibits made again."""

    report: ClassVar[str] = "reproduction"

    results: tuple[ReproducedExhibit, ...]
    """In the order in which they were asked for."""

    @classmethod
    def of(cls, shown: Iterable[ShownExhibit], folder: Path | None = None) -> ReproductionReport:
        """Count what agrees in exhibits that were written to a folder, or nowhere."""
        return cls(tuple(ReproducedExhibit.of(one, folder) for one in shown))
