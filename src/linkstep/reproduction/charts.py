"""Charts of exhibits: what is to be drawn as plain values, and the one function that draws it.

Lines over numbers, and bars over names, side by side in panels. Colours and fonts are those of ``pictures.style``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import Any

from linkstep.files import AnyPath
from linkstep.pictures.style import DASHES, INK, PALE, PALETTE, SOFT, save_picture

Number = int | float | Fraction


@dataclass(frozen=True)
class Curve:
    """A curve."""

    name: str
    x: Sequence[Number]
    y: Sequence[Number]
    is_marked: bool = False
    """Whether its points are marked: where they are few."""
    is_scattered: bool = False
    """Whether its points are drawn as dots that nothing joins: where they jump."""
    is_bound: bool = False
    """Drawn dashed in grey: what nothing beats."""


@dataclass(frozen=True)
class Bars:
    """A part of every bar, or a bar of every group: a height for each of the panel's ``names``."""

    name: str
    heights: Sequence[Number | None]


@dataclass(frozen=True)
class ChartPanel:
    """One pair of axes: lines over numbers, or bars over ``names``."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Curve, ...] = ()
    names: tuple[str, ...] = ()
    bars: tuple[Bars, ...] = ()
    is_stacked: bool = False
    log_x: bool = False
    log_y: bool = False
    x_is_bytes: bool = False
    """Whether x is a number of bytes, to be written as 10KB."""

    @property
    def legend(self) -> tuple[str, ...]:
        """The names of all that is drawn."""
        return (*(line.name for line in self.lines), *(bars.name for bars in self.bars))


@dataclass(frozen=True)
class Chart:
    """Panels side by side, with one legend for all."""

    panels: tuple[ChartPanel, ...]
    columns: int = 3
    shares_y: bool = False
    """Whether all panels have the same y axis, to compare them by eye."""


_WIDTH, _HEIGHT = 4.6, 3.6
_ALONE = 7.0
"""Inches of a panel, and the width of one by itself."""
_ENTRY, _LETTER, _LINE = 0.55, 0.068, 0.19
"""Inches of the legend: a stroke with its margins, a letter, a line."""
_MARKERS = "osD^vPX"
"""With the dashes they tell curves apart in grey, and where one lies on another."""
_TITLE, _BOLDEST = 0.6, 11.0
"""The width of a letter over its height, and the largest letters of a title in points."""


def draw_chart(chart: Chart, title: str, path: AnyPath) -> None:
    """Draw a chart to a .svg or .png file, whole or not at all."""
    columns = min(chart.columns, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    names = list(dict.fromkeys(name for panel in chart.panels for name in panel.legend))
    width = _ALONE if columns == 1 else columns * _WIDTH
    per_line = max(1, int(width / (_ENTRY + _LETTER * max(map(len, names)))))
    below = 0.15 + _LINE * -(-len(names) // per_line)
    size = (width, rows * _HEIGHT + 0.45 + below)
    letters = min(_BOLDEST, 72 * width / (_TITLE * len(title)))

    def fill(figure: Any) -> None:
        top, bottom = 1 - 0.45 / size[1], below / size[1]
        figure.set_layout_engine("constrained", rect=(0, bottom, 1, top - bottom))
        figure.text(0.5, 1 - 0.22 / size[1], title, ha="center", va="center", fontsize=letters, color=INK)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=chart.shares_y).flatten()
        for spare in grid[len(chart.panels) :]:
            spare.set_axis_off()
        handles: dict[str, Any] = {}
        bounds = {line.name for panel in chart.panels for line in panel.lines if line.is_bound}
        coloured = [name for name in names if name not in bounds]
        for axes, panel in zip(grid, chart.panels, strict=False):
            _draw_panel(axes, panel, coloured, handles)
        figure.legend(
            handles.values(), handles.keys(), loc="lower center", ncols=min(per_line, len(names)), frameon=False,
            fontsize=8, bbox_to_anchor=(0.5, 0.0),
        )  # fmt: skip

    save_picture(fill, path, size)


def _draw_panel(axes: Any, panel: ChartPanel, names: Sequence[str], handles: dict[str, Any]) -> None:
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(panel.x_label, fontsize=8.5)
    axes.set_ylabel(panel.y_label, fontsize=8.5)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    for line in panel.lines:
        handles.setdefault(line.name, _draw_line(axes, line, 0 if line.is_bound else names.index(line.name)))
    if panel.bars:
        _draw_bars(axes, panel, names, handles)
    _plain_numbers(axes, panel)


def _plain_numbers(axes: Any, panel: ChartPanel) -> None:
    """Write numbers on logarithmic axes in full where they are not too many digits; put no tick between whole steps."""

    def text(value: float, _: Any) -> str:
        if panel.x_is_bytes and value >= 1:
            power = min(3, (len(f"{value:.0f}") - 1) // 3)
            return f"{value / 1000**power:g}{('B', 'KB', 'MB', 'GB')[power]}"
        return f"{value:g}" if 1e-3 <= value < 1e5 else f"$10^{{{round(log10(value))}}}$"

    for is_log, axis, label in ((panel.log_x, axes.xaxis, panel.x_label), (panel.log_y, axes.yaxis, panel.y_label)):
        if is_log:
            axis.set_major_formatter(text)
            low, high = axis.get_view_interval()
            axis.set_minor_formatter(text if high < 8 * low else lambda value, _: "")
        elif label.endswith("in steps"):
            axis.get_major_locator().set_params(integer=True)


def _colour(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def _draw_line(axes: Any, line: Curve, index: int) -> Any:
    x, y = [float(v) for v in line.x], [float(v) for v in line.y]
    if line.is_bound:
        return axes.plot(x, y, color=SOFT, linestyle=(0, (4, 2)), linewidth=1.4)[0]
    if line.is_scattered:
        axes.plot(x, y, color=_colour(index), linestyle="none", marker=".", markersize=2.2)
        return axes.plot([], [], color=_colour(index), linestyle="none", marker=".", markersize=8)[0]  # for the legend
    style: Any = DASHES[index % len(DASHES)] if line.is_marked else "solid"
    marker = _MARKERS[index % len(_MARKERS)] if line.is_marked else None
    return axes.plot(
        x, y, color=_colour(index), linestyle=style, linewidth=1.4, marker=marker, markersize=4.5,
        markerfacecolor="none" if index % 2 else None,
    )[0]  # fmt: skip


def _draw_bars(axes: Any, panel: ChartPanel, names: Sequence[str], handles: dict[str, Any]) -> None:
    width = 0.7 if panel.is_stacked else 0.8 / len(panel.bars)
    floor = [0.0] * len(panel.names)
    for k, bars in enumerate(panel.bars):
        heights = [float(h) if h is not None else 0.0 for h in bars.heights]
        shift = 0.0 if panel.is_stacked else (k - (len(panel.bars) - 1) / 2) * width
        x = [i + shift for i in range(len(heights))]
        base = floor if panel.is_stacked else None
        drawn = axes.bar(
            x, heights, width, bottom=base, color=_colour(names.index(bars.name)), edgecolor="white", linewidth=0.4
        )
        handles.setdefault(bars.name, drawn)
        if panel.is_stacked:
            floor = [a + b for a, b in zip(floor, heights, strict=True)]
        for at, given in zip(x, bars.heights, strict=True):
            if given is None:
                axes.text(at, axes.get_ylim()[0], "none", rotation=90, ha="center", va="bottom", fontsize=6, color=SOFT)
    axes.set_xticks(range(len(panel.names)), panel.names)
    if sum(map(len, panel.names)) > 42:
        axes.tick_params(axis="x", labelrotation=35)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
