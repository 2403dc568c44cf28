"""``--sizes A:B``: a table of times over sizes, ours beside what is run today and the bound, and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linkstep.cli._output import print_table, print_text, time_text
from linkstep.core.units import format_time, write_size
from linkstep.reports.sizes import SizeRow

_TODAY = ("ring", "tree", "torus", "other")


def print_sizes(rows: Sequence[SizeRow]) -> None:
    """Print a line for each size; a column of today only where there is such a wiring."""
    kinds = [kind for kind in _TODAY if any(kind in row.today for row in rows)]
    changes = len({(row.name, row.method) for row in rows}) > 1
    head = (
        "size",
        "ours",
        *kinds,
        "bound",
        *(("speed-up",) if kinds else ()),
        *(("wiring, method",) if changes else ()),
    )
    print_table(head, (_line(row, kinds, changes) for row in rows), right=range(len(head) - changes))
    if kinds:
        print_text(f"{', '.join(kinds)}: the fastest of today's; speed-up: what that takes over ours")


def _line(row: SizeRow, kinds: Sequence[str], changes: bool) -> tuple[str, ...]:
    today = [format_time(row.today[kind]) if kind in row.today else "-" for kind in kinds]
    gain = [f"{float(row.speed_up):.2f}x" if row.speed_up is not None else "-"] if kinds else []
    which = [f"{row.name}, {row.method}"] if changes else []
    ours = time_text(row.seconds, row.seconds_at_most)
    return write_size(row.size), ours, *today, format_time(row.bound_seconds), *gain, *which


def plot_sizes(rows: Sequence[SizeRow], title: str, path: Path) -> None:
    """Draw the same as curves."""
    from linkstep.pictures.sizes import plot_times  # here: most calls draw nothing

    kinds = [kind for kind in _TODAY if any(kind in row.today for row in rows)]
    curves: dict[str, list[float | None]] = {
        "ours": [float(row.seconds) for row in rows],
        **{f"{kind} today": [float(row.today[kind]) if kind in row.today else None for row in rows] for kind in kinds},
        "no schedule beats": [float(row.bound_seconds) for row in rows],
    }
    plot_times([row.size for row in rows], curves, title, path)
