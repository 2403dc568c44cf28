"""What an exhibit is: a table or figure of the paper that can be made again here. A row of ``EXHIBITS``.

Its ``compute`` returns a ``ExhibitResult``: cells, what to plot, and notes. Not here: any one exhibit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkstep.files import AnyPath
from linkstep.reproduction.charts import Chart
from linkstep.reproduction.figures import Cell, CellKind


@dataclass(frozen=True)
class ExhibitResult:
    """What an exhibit shows: its cells in order, a picture where one makes sense, and what a reader should know."""

    cells: tuple[Cell, ...]
    picture: Chart | Callable[[AnyPath], None] | None = None
    """A chart, or a function that draws to a .svg or .png file."""
    notes: tuple[str, ...] = ()

    def of_kind(self, *kinds: CellKind) -> tuple[Cell, ...]:
        """Return the cells of some kinds."""
        return tuple(cell for cell in self.cells if cell.kind in kinds)


@dataclass(frozen=True)
class Exhibit:
    """One table or figure: its LaTeX label in the paper, and how it is made again."""

    label: str
    title: str
    compute: Callable[[], ExhibitResult]
    method: str
    """How the figures are found, in a sentence."""
    missing: str = ""
    """What of it cannot be made again here, and what stands in for it."""
    is_quick: bool = True
    """Whether it takes a few seconds at most; the generated page of results is tested for those."""
    needs: tuple[str, ...] = ()
    """Modules of linkstep's extras without which it cannot be computed."""
    takes: str = ""
    """About how long it takes on two cores, where it is not quick."""
    emulate: Callable[[], tuple[Cell, ...]] | None = None
    """What builds a testbed of network namespaces and runs on it: done only where it is asked for (``--testbed``)."""
    emulates: str = ""
    """What ``emulate`` adds, and about how long that takes."""

    @property
    def name(self) -> str:
        """The label as the name of a file, which cannot hold a colon everywhere."""
        return self.label.replace(":", "-")
