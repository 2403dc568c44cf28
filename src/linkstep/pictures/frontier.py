"""Plots of what the finder found: T_B over T_L, beside the paper's topologies, today's, and the bound.

Marks in the plot are numbers and letters; what they stand for, with exact figures and times, is a table below, so that
names of any length never cover the plot. Not here: the search itself (``linkstep.search``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from string import ascii_letters
from typing import Any

import numpy as np

from linkstep.core.pareto import pareto
from linkstep.core.text import shortened
from linkstep.core.units import Number
from linkstep.costs import Cost, Fabric
from linkstep.files import AnyPath
from linkstep.pictures.strokes import POINTS, Placer, text_size
from linkstep.pictures.style import (
    BLACK,
    BLUE,
    INK,
    PALE,
    SOFT,
    VERMILLION,
    Fill,
    check_drawable,
    save_picture,
)
from linkstep.search import Answer

_TEXT = 9.0
_ROW, _GAP = 0.235, 0.22
"""Inches from row to row of the table, and between its columns."""
_LEFT, _RIGHT, _TOP, _PLOT, _AXIS, _FOOT = 0.85, 0.35, 1.0, 3.7, 0.85, 0.75
"""Inches: margins, the height above the plot, of the plot, of its axis, and below the table."""
_TIMES = 2.6
"""Inches across the panel of times."""
_NARROWEST = 7.5
_LONGEST = 56
_LINEAR = 12
"""Times that differ by less than this factor are drawn on a linear scale."""


@dataclass(frozen=True)
class _Series:
    """One kind of point: its name in the legend and what it looks like, told apart by shape as well as colour."""

    name: str
    look: dict[str, Any]


_FOUND = _Series("found", {"marker": "o", "markersize": 7, "color": BLUE})
_PAPER = _Series(
    "from the paper's bases", {"marker": "D", "markersize": 9, "color": VERMILLION, "markerfacecolor": "none"}
)
_TODAY = _Series("today", {"marker": "s", "markersize": 7, "color": SOFT})
_BOUND = _Series("no graph beats", {"marker": "|", "markersize": 11, "color": BLACK, "markeredgewidth": 1.5})


@dataclass(frozen=True)
class _Row:
    """A line of the table and, where it has a cost, a point of the plot."""

    group: _Series
    mark: str
    name: str
    method: str
    cost: Cost | None
    seconds: Fraction | None

    def texts(self) -> tuple[str, ...]:
        """Return the columns of the table."""
        steps, bandwidth = ("-", "-") if self.cost is None else (self.cost.steps, f"{float(self.cost.bandwidth):.4f}")
        time = () if self.seconds is None else (f"{float(self.seconds) * 1e6:,.1f}",)
        return self.mark, self.name, self.method, str(steps), bandwidth, *time


def _rows(answer: Answer, paper: Answer | None, fabric: Fabric | None, size: Number | None) -> Iterator[_Row]:
    def seconds(cost: Cost) -> Fraction | None:
        return None if fabric is None or size is None else fabric.time(cost, "allreduce", size)

    for number, row in enumerate(answer.frontier, 1):
        name = shortened(row.recipe.short, _LONGEST)
        yield _Row(_FOUND, str(number), name, row.method, row.allreduce_cost, seconds(row.allreduce_cost))
    letters = iter(ascii_letters)
    for row in () if paper is None else paper.frontier:
        name = shortened(row.recipe.short, _LONGEST)
        yield _Row(_PAPER, next(letters, ""), name, row.method, row.allreduce_cost, seconds(row.allreduce_cost))
    for today in answer.baselines:
        time = None if fabric is None or size is None else today.allreduce_time(fabric, size)
        cost = None if today.cost is None else today.cost + today.cost
        if cost is not None or time is not None:
            yield _Row(_TODAY, next(letters, ""), shortened(today.recipe.short, _LONGEST), today.name, cost, time)
    bound = answer.bound + answer.bound
    yield _Row(_BOUND, "", _BOUND.name, "", bound, seconds(bound))


@dataclass(frozen=True)
class _Sheet:
    """The whole picture's contents and measures."""

    answer: Answer
    rows: tuple[_Row, ...]
    what: str
    """What the times are of; empty if there are none."""

    @property
    def heads(self) -> tuple[str, ...]:
        """Return what the columns of the table are."""
        return "", "topology", "method", "T_L", "T_B", *(["us"] if self.what else [])

    @cached_property
    def columns(self) -> list[float]:
        """Where each column of the table ends, in inches from its left side."""
        table = [self.heads, *(row.texts() for row in self.rows)]
        widths = [max(text_size(text or " ", _TEXT)[0] for text in column) for column in zip(*table, strict=True)]
        return list(accumulate(width / POINTS + _GAP for width in widths))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        width = self.columns[-1] + (_TIMES + _GAP if self.what else 0) + _LEFT + _RIGHT
        return max(width, _NARROWEST), _TOP + _PLOT + _AXIS + self.table_height + _FOOT

    @property
    def table_height(self) -> float:
        """The table's height in inches."""
        return _ROW * (len(self.rows) + 1.6)


def _draw_plot(figure: Any, sheet: _Sheet) -> None:
    """Draw T_B over T_L: a point for each row that has a cost, and the bound as two lines."""
    from matplotlib.lines import Line2D

    width, height = sheet.size
    box = (_LEFT / width, 1 - (_TOP + _PLOT) / height, 1 - (_LEFT + _RIGHT) / width, _PLOT / height)
    axes = figure.add_axes(box)
    costed = [(row, row.cost) for row in sheet.rows if row.cost is not None]
    steps = [cost.steps for _, cost in costed]
    bandwidth = [float(cost.bandwidth) for _, cost in costed]
    axes.set_xscale("log")
    spread = max(steps) / min(steps)
    axes.set_xlim(min(steps) / spread**0.06 / 1.08, max(steps) * spread**0.06 * 1.08)
    span = max(bandwidth) - min(bandwidth) or 0.1 * max(bandwidth)
    axes.set_ylim(min(bandwidth) - 0.12 * span, max(bandwidth) + 0.14 * span)
    _draw_ticks(axes, steps, (width - _LEFT - _RIGHT) * POINTS)
    bound = sheet.answer.bound + sheet.answer.bound
    dotted: Any = {"color": BLACK, "linestyle": (0, (1.2, 1.8)), "linewidth": 1.2, "zorder": 1}
    axes.axvline(bound.steps, **dotted)
    axes.axhline(float(bound.bandwidth), **dotted)
    marks = []
    for group in (_FOUND, _PAPER, _TODAY):
        found = [cost for row, cost in costed if row.group is group]
        if found:
            look = group.look | {"linestyle": "none", "zorder": 4 if group is _PAPER else 3}
            marks += axes.plot(*zip(*map(_place, found), strict=True), label=group.name, **look)
        if found and group is _FOUND:  # a row that others beat here is among them for its all-to-all
            stairs = zip(*pareto(map(_place, found), figures=lambda place: place, tie=str), strict=True)
            axes.plot(*stairs, color=BLUE, linewidth=1.2, drawstyle="steps-post", zorder=2)
    _draw_marks(axes, [(row, cost) for row, cost in costed if row.mark])
    axes.set_xlabel("T_L of both halves, steps (times alpha), log scale")
    axes.set_ylabel("T_B of both halves, in M/B")
    marks.append(Line2D([], [], label=_BOUND.name, **dotted))
    place: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.55 / height)}
    figure.legend(handles=marks, ncols=len(marks), frameon=False, fontsize=_TEXT, **place)


def _place(cost: Cost) -> tuple[int, float]:
    return cost.steps, float(cost.bandwidth)


def _draw_ticks(axes: Any, steps: Sequence[int], points: float) -> None:
    """Put ticks where points are, leaving out those whose numbers would touch."""
    low, high = np.log(axes.get_xlim())
    ticks: list[int] = []
    for step in sorted(set(steps)):
        near = (text_size(str(step), 10)[0] + 8) / points * (high - low)
        if not ticks or np.log(step / ticks[-1]) > near:
            ticks.append(step)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()


def _draw_marks(axes: Any, costed: Sequence[tuple[_Row, Cost]]) -> None:
    """Write each point's number or letter beside it, where nothing else is."""
    scale = POINTS / axes.figure.dpi
    spots = [axes.transData.transform((cost.steps, float(cost.bandwidth))) * scale for _, cost in costed]
    placer = Placer()
    for x, y in spots:
        placer.block(x, y, 9, 9)
    angles = np.radians([45, 315, 135, 225, 75, 15, 345, 90])
    for (row, _), (x, y) in zip(costed, spots, strict=True):
        width, height = text_size(row.mark, _TEXT)
        around = [
            (x + float(np.cos(a)) * far * 1.1, y + float(np.sin(a)) * far) for far in (12, 18, 25, 33) for a in angles
        ]
        at = placer.place(around, width + 2, height + 2)
        look: Any = {"fontsize": _TEXT, "weight": "bold", "color": row.group.look["color"], "zorder": 5}
        offset = (at[0] - x, at[1] - y)
        axes.annotate(
            row.mark, axes.transData.inverted().transform((x / scale, y / scale)), xytext=offset,
            textcoords="offset points", ha="center", va="center", **look,
        )  # fmt: skip


def _draw_table(figure: Any, sheet: _Sheet) -> None:
    """Write what each mark stands for, and its figures."""
    width, height = sheet.size
    axes = figure.add_axes((_LEFT / width, _FOOT / height, 1 - (_LEFT + _RIGHT) / width, sheet.table_height / height))
    axes.set_axis_off()
    axes.set(xlim=(0, width - _LEFT - _RIGHT), ylim=(len(sheet.rows) + 0.6, -1))
    starts = [0.0, *sheet.columns]
    for y, row in enumerate([None, *sheet.rows], -1):
        texts = sheet.heads if row is None else row.texts()
        for k, text in enumerate(texts):
            right = k >= 3  # numbers
            x = starts[k + 1] - _GAP if right else starts[k]
            look: Any = {"color": SOFT if row is None else INK, "ha": "right" if right else "left"}
            if row is not None and k == 0:
                look |= {"weight": "bold", "color": row.group.look["color"]}
            axes.text(x, y + 0.5, text, fontsize=_TEXT, va="center", **look)
    if sheet.what:
        _draw_times(figure, sheet, (starts[-1] + _LEFT) / width)


def _draw_times(figure: Any, sheet: _Sheet, left: float) -> None:
    """Draw each row's time beside it, with the bound as a line."""
    width, height = sheet.size
    axes = figure.add_axes((left, _FOOT / height, _TIMES / width, sheet.table_height / height))
    times = [float(row.seconds or 0) * 1e6 for row in sheet.rows]
    axes.set_ylim(len(sheet.rows) + 0.6, -1)
    if min(times) > 0 and max(times) / min(times) > _LINEAR:
        axes.set_xscale("log")
        spread = max(times) / min(times)
        axes.set_xlim(min(times) / spread**0.08, max(times) * spread**0.08)
        low, high = axes.get_xlim()
        ticks = [k * 10**e for e in range(-3, 12) for k in ((1,) if spread > 30 else (1, 2, 5))]
        ticks = [tick for tick in ticks if low <= tick <= high]
        axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
        axes.minorticks_off()
    else:
        axes.set_xlim(0, max(times) * 1.1 or 1)
    axes.axvline(times[-1], color=BLACK, linestyle=(0, (1.2, 1.8)), linewidth=1.2, zorder=1)
    for y, (row, time) in enumerate(zip(sheet.rows, times, strict=True)):
        axes.axhline(y + 0.5, color=PALE, linewidth=0.6, zorder=0)
        axes.plot([time], [y + 0.5], linestyle="none", **(row.group.look | {"markersize": 6}))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_xlabel(f"{sheet.what}, us", fontsize=_TEXT)


def _sheet(answer: Answer, paper: Answer | None, fabric: Fabric | None, size: Number | None) -> _Sheet:
    rows = tuple(_rows(answer, paper, fabric, size))
    return _Sheet(answer, rows, "" if fabric is None or size is None else f"allreduce of {size}")


def _fill(sheet: _Sheet) -> Fill:
    def fill(figure: Any) -> None:
        answer, (_, height) = sheet.answer, sheet.size
        both = ", one-way fibres" if answer.directed else ", duplex cables"
        title = f"N = {answer.num_nodes} servers, d = {answer.degree} ports{both}: what an allreduce costs"
        figure.text(0.5, 1 - 0.3 / height, title, fontsize=13, ha="center", va="center")
        _draw_plot(figure, sheet)
        _draw_table(figure, sheet)

    return fill


def plot_frontier(
    answer: Answer,
    path: AnyPath | None,
    *,
    paper: Answer | None = None,
    fabric: Fabric | None = None,
    size: Number | None = None,
) -> Any:
    """Plot T_B over T_L: the frontier, the bound, and today's topologies where they fit; return the figure.

    It is written to a .svg or .png file if there is a path.

    ``paper`` is the answer from the paper's bases alone, to compare with. With a fabric and a size, the table has the
    time of an allreduce of that size too.
    """
    if path is not None:
        check_drawable(path)
    sheet = _sheet(answer, paper, fabric, size)
    return save_picture(_fill(sheet), path, sheet.size)
