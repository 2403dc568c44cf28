"""A plot of runs: time over size, both on scales of powers, as measured, by the engine's own collective, and predicted.

Every run has a colour, which a list below explains, so that names of any length never cover the plot. The median is a
line with marks; an upright line goes from the fastest repetition to the 99th percentile. Not here: running anything
(``linkstep run``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, log2, log10
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.core.text import shortened
from linkstep.core.units import format_time, write_size
from linkstep.costs.runs import current_run
from linkstep.files import AnyPath
from linkstep.pictures.strokes import POINTS, text_size
from linkstep.pictures.style import DASHES, INK, PALE, SOFT, save_picture, shades

_TEXT = 9.0
_WIDTH, _LEFT, _RIGHT = 8.0, 0.85, 0.35
"""Inches across: the picture and its margins."""
_TOP, _PLOT, _AXIS, _ROW, _FOOT = 0.85, 4.2, 0.75, 0.24, 0.2
"""Inches from the top: to the plot, of the plot, of its axis, of a row of the list, below it."""
_LONGEST = 80
_MOST_TICKS = 8
_EDGE = 1.35
"""How far axes go beyond the data, as a factor."""
_LINES = (
    ("measured", "median_seconds", "o", 1.8),
    ("the engine's own", "own_median_seconds", "s", 1.2),
    ("predicted", "predicted_seconds", "x", 1.2),
)
"""What is drawn of every run where it is known: its name, its member of a row, its mark and its width."""


def _points(run: Mapping[str, Any], member: str) -> tuple[list[float], list[float]]:
    rows = [row for row in run["rows"] if row.get(member)]
    return [row["size"] for row in rows], [row[member] for row in rows]


def _spread(first: int, last: int) -> range:
    """Return exponents from first to last, so few that their names fit beside each other."""
    return range(first, last + 1, max(1, ceil((last - first + 1) / _MOST_TICKS)))


def _set_axes(axes: Any, sizes: Sequence[int], times: Sequence[float]) -> None:
    axes.set(xscale="log", yscale="log", xlabel="data in all", ylabel="time")
    axes.set(xlim=(min(sizes) / _EDGE, max(sizes) * _EDGE), ylim=(min(times) / _EDGE, max(times) * _EDGE))
    low, high = axes.get_xlim()
    powers = _spread(max(ceil(log2(low)), 0), floor(log2(high)))
    marked = [2**k for k in powers]
    if len(marked) < 2:  # too close together for powers of two to say where they are
        marked = [min(sizes), max(sizes)] if max(sizes) > 1.2 * min(sizes) else [max(sizes)]
    axes.set_xticks(marked, [write_size(size) for size in marked])
    low, high = axes.get_ylim()
    tens = _spread(ceil(log10(low)), floor(log10(high)))
    ticks = [Fraction(10) ** k for k in tens]
    if len(ticks) < 2:
        ticks = [step * Fraction(10) ** k for k in range(floor(log10(low)), tens.stop + 1) for step in (1, 2, 3, 5, 7)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks([float(tick) for tick in ticks], [format_time(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)


def _draw_run(axes: Any, run: Mapping[str, Any], colour: Any) -> None:
    rows = [row for row in run["rows"] if row.get("min_seconds") and row.get("p99_seconds")]
    ends = ([row[member] for row in rows] for member in ("size", "min_seconds", "p99_seconds"))
    axes.vlines(*ends, color=colour, alpha=0.45, linewidth=1.2)
    for (_, member, mark, width), dash in zip(_LINES, DASHES, strict=False):
        axes.plot(*_points(run, member), color=colour, marker=mark, markersize=4, linewidth=width, linestyle=dash)


def _draw_legend(axes: Any, runs: Sequence[Mapping[str, Any]]) -> None:
    """Say which line is what, in grey: colours tell runs apart."""
    engines = {run["engine"] for run in runs}
    for (name, member, mark, width), dash in zip(_LINES, DASHES, strict=False):
        if any(_points(run, member)[0] for run in runs):
            name = f"{engines.copy().pop()}'s own" if member == "own_median_seconds" and len(engines) == 1 else name
            axes.plot([], [], color=SOFT, marker=mark, markersize=4, linewidth=width, linestyle=dash, label=name)
    axes.legend(frameon=False, fontsize=_TEXT, ncols=3, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderpad=0.1)


def _name(run: Mapping[str, Any]) -> str:
    where = "" if run.get("testbed") is None else f" on {run['testbed']}"
    methods = dict.fromkeys(row.get("method") or run.get("method") for row in run["rows"])
    how = "".join(f", {method}" for method in methods if method)
    ranks = f"{run['ranks']} ranks{where}"
    return shortened(f"{run['what']}: {run['collective']} by {run['engine']}{how}, {ranks}", _LONGEST)


def _draw_list(figure: Any, names: Sequence[str], colours: Sequence[Any], columns: int, height: float) -> None:
    """Write which colour is which run, column by column."""
    rows = ceil(len(names) / columns)
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        x = _LEFT + (k // rows) * (_WIDTH - _LEFT - _RIGHT) / columns
        y = (_FOOT + (rows - 0.5 - k % rows) * _ROW) / height
        figure.add_artist(_stroke((x / _WIDTH, (x + 0.25) / _WIDTH), y, colour))
        figure.text((x + 0.35) / _WIDTH, y, name, fontsize=_TEXT, va="center", color=INK)


def _stroke(ends: tuple[float, float], y: float, colour: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D(ends, (y, y), color=colour, linewidth=2.5)


def plot_runs(results: Sequence[Mapping[str, Any]], path: AnyPath) -> None:
    """Draw runs to a .svg or .png file: ``results`` are as ``linkstep run --json`` prints them, or printed them."""
    runs = [current_run(run) for run in results if run["rows"]]
    if not runs:
        raise LinkstepError("there is nothing to plot: no run has a row")
    names, colours = [_name(run) for run in runs], shades(len(runs))
    columns = max(1, int((_WIDTH - _LEFT - _RIGHT) * POINTS / (max(text_size(n, _TEXT)[0] for n in names) + 40)))
    height = _TOP + _PLOT + _AXIS + _FOOT + _ROW * ceil(len(names) / columns)
    sizes = [row["size"] for run in runs for row in run["rows"]]
    members = (*(member for _, member, _, _ in _LINES), "min_seconds", "p99_seconds")
    times = [row[member] for run in runs for row in run["rows"] for member in members if row.get(member)]

    def fill(figure: Any) -> None:
        box = (_LEFT / _WIDTH, (height - _TOP - _PLOT) / height, 1 - (_LEFT + _RIGHT) / _WIDTH, _PLOT / height)
        axes = figure.add_axes(box)
        figure.text(_LEFT / _WIDTH, 1 - 0.3 / height, "time over size", fontsize=12, va="center", color=INK)
        _set_axes(axes, sizes, times)
        for run, colour in zip(runs, colours, strict=True):
            _draw_run(axes, run, colour)
        _draw_legend(axes, runs)
        _draw_list(figure, names, colours, columns, height)

    save_picture(fill, path, (_WIDTH, height))
