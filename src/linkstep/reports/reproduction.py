"""Tables and figures of the paper: which there are, and how one made again compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from linkstep.reports.view import View
from linkstep.reproduction import Exhibit
from linkstep.reproduction.figures import Cell, CellKind, Mark, Verdict, tally, write_value
from linkstep.reproduction.output import ShownExhibit


@dataclass(frozen=True)
class ExhibitReport(View):
    """A table or figure that can be made again."""

    report: ClassVar[str] = "exhibit"

    label: str
    """LaTeX label in the paper."""
    title: str
    """What it shows."""
    method: str
    """How its figures are found, in a sentence."""
    missing: str
    """What of it cannot be made again, and what stands in for it."""
    is_quick: bool
    """Whether it takes a few seconds at most."""
    takes: str
    """About how long it takes, where it is not quick."""
    emulates: str
    """What a testbed adds, and about how long that takes."""

    @classmethod
    def of(cls, one: Exhibit) -> ExhibitReport:
        """Take an exhibit apart."""
        return cls(one.label, one.title, one.method, one.missing, one.is_quick, one.takes, one.emulates)


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
    kind: CellKind
    """"compared", "point" (of a curve) or "measured" (on a machine)."""
    why: str
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
            kind=one.kind,
            why=one.why,
            mark=one.mark or None,
        )


@dataclass(frozen=True)
class ReproductionReport(View):
    """An exhibit made again."""

    report: ClassVar[str] = "reproduction"

    label: str
    """LaTeX label in the paper."""
    title: str
    """What it shows."""
    new: bool
    """Whether it was made just now, not by an earlier run."""
    paper_bases: Mapping[Verdict, int]
    """How many figures from the paper's bases agree and differ."""
    linkstep: Mapping[Verdict, int]
    """How many of linkstep's agree, are better and differ."""
    marked: int
    """Figures that agree and have a mark: they count in neither."""
    files: tuple[str, ...] | None
    """What was written; null where nothing was."""
    notes: tuple[str, ...]
    """What a reader should know of it."""
    cells: tuple[FigureRow, ...]

    @classmethod
    def of(cls, shown: ShownExhibit, folder: Path | None = None) -> ReproductionReport:
        """Count what agrees in an exhibit that was written to a folder, or nowhere."""
        exhibit, counts = shown.exhibit, tally(shown.result.of_kind(CellKind.COMPARED))
        return cls(
            label=exhibit.label,
            title=exhibit.title,
            new=shown.is_new,
            paper_bases=counts.bases,
            linkstep=counts.ours,
            marked=counts.marked,
            files=None if folder is None else tuple(str(path) for path in sorted(folder.glob(f"{exhibit.name}.*"))),
            notes=tuple(shown.result.notes),
            cells=tuple(FigureRow.of(one) for one in shown.result.cells),
        )
