"""A fabric fitted to measured runs, and how well it explains each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from linkstep.core.collective import Collective
from linkstep.costs import Fit, Run
from linkstep.reports.pricing import FabricText
from linkstep.reports.view import TB, ByteCount, ClockSeconds, FieldForm, View, to_members


@dataclass(frozen=True)
class FitRow:
    """A time that was measured, and what the fabric says it takes; both floats, as clocks are."""

    what: str
    """What ran: the topology or the file."""
    collective: Collective
    """What it did."""
    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    degree: int
    """Ports of a node, d."""
    size: ByteCount
    """Bytes of data in all."""
    measured_seconds: ClockSeconds
    """The median, by a clock."""
    fitted_seconds: ClockSeconds
    """By the fabric."""
    relative_error: float
    """Fitted over measured, less one."""
    method: str | None = None
    """What made the schedule, such as "bfb"; null where that is not known."""


@dataclass(frozen=True)
class FitSource:
    """Where the figures of a fabric are from, as its file keeps it."""

    fitted_to: tuple[str, ...]
    """The files of runs."""
    engine: str
    """What ran."""
    testbed_names: tuple[str, ...]
    """Emulated clusters that it ran on."""
    mean_relative_error: float
    """Of all rows, signs aside."""
    max_relative_error: float
    """Of all rows, its sign aside."""
    notes: tuple[str, ...]
    """What a reader should know of how the fit went."""
    rows: tuple[FitRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what a fabric file keeps."""
        return to_members(self)


@dataclass(frozen=True)
class FitReport(View):
    """A fabric: what a step, a byte and a call take."""

    report: ClassVar[str] = "fit"

    fabric: Annotated[FabricText, FieldForm.INLINE]
    degree: int
    """Ports of the node that the bandwidth is of."""
    source: Annotated[FitSource, FieldForm.INLINE]
    output: str | None
    """Where the fabric was saved."""
    plot: str | None
    """The file with a plot of measured and fitted times."""

    @classmethod
    def of(
        cls, found: Fit, runs: Sequence[Run], files: Sequence[str], file: str | None = None, plot: str | None = None
    ) -> FitReport:
        """Put a fit beside what it was made from."""
        fabric = found.fabric
        rows = tuple(
            FitRow(
                what=point.what,
                collective=point.collective,
                steps=point.cost.steps,
                t_b=point.cost.bandwidth,
                degree=point.degree,
                size=point.size,
                measured_seconds=point.seconds,
                fitted_seconds=found.seconds(point),
                relative_error=found.error(point),
                method=point.method,
            )
            for point in found.points
        )
        testbeds = sorted({run.testbed for run in runs if run.testbed is not None})
        return cls(
            fabric=FabricText.of(fabric),
            degree=fabric.degree,
            source=FitSource(
                tuple(files), runs[0].engine, tuple(testbeds), found.mean_error, found.max_error, found.notes, rows
            ),
            output=file,
            plot=plot,
        )

    @property
    def num_topologies(self) -> int:
        """How many different things ran."""
        return len({row.what for row in self.source.rows})
