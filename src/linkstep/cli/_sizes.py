"""``--sizes A:B``: a table of times over sizes, ours beside what is run today and the bound, and its plot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from linkstep.cli._output import print_table, print_text, time_text
from linkstep.core.units import format_time, write_size
from linkstep.reports.sizes import SizeRow

_TODAY = ("ring", "tree", "torus", "other")


def print_sizes(rows: Sequence[SizeRow], here: Collection[str] | None = None) -> None:
    """Print a line for each size; a column of today only where there is such a wiring.

    ``here`` are the kinds of today that run on the wiring that is looked at; None where none is.
    """
    kinds = [kind for kind in _TODAY if any(kind in row.today for row in rows)]
    ours = {"wiring": [row.name for row in rows], "method": [row.method for row in rows]}
    changing = {head: column for head, column in ours.items() if len(set(column)) > 1}
    numbers = ("size", "ours", *kinds, "bound", *(("speed-up",) if kinds else ()))
    lines = ((*_line(row, kinds), *which) for row, *which in zip(rows, *changing.values(), strict=True))
    print_table((*numbers, *changing), lines, right=range(len(numbers)))
    if kinds:
        print_text(_today(kinds, here))


def _today(kinds: Sequence[str], here: Collection[str] | None) -> str:
    if here is None:
        return f"{', '.join(kinds)}: the fastest of today's; speed-up: what that takes over ours"
    these = [kind for kind in kinds if kind in here]
    others = [kind for kind in kinds if kind not in here]
    said = [f"{', '.join(these)}: today's schedules on these cables"] if these else []
    own = [f"{', '.join(others)}: today's, on as many servers and ports wired as they need"] if others else []
    return "; ".join([*said, *own, "speed-up: what the fastest of these takes over ours"])


def _line(row: SizeRow, kinds: Sequence[str]) -> tuple[str, ...]:
    today = [format_time(row.today[kind]) if kind in row.today else "-" for kind in kinds]
    gain = [f"{float(row.speed_up):.2f}x" if row.speed_up is not None else "-"] if kinds else []
    ours = time_text(row.seconds, row.seconds_at_most)
    return write_size(row.size), ours, *today, format_time(row.bound_seconds), *gain


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
