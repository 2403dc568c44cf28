"""Two plots of a fit: times over steps at the smallest size, and over bytes at the largest.

They are fig:latencyfit and fig:betafit for any runs. What the fitted fabric says is a line. The part of the
cost that is not on the axis is taken off each time, as fitted, so that a point's distance from the line is its error.
Points are numbered, and a list below says which topology and method is which, so that no name covers the plots.
Not here: the fit itself (``linkstep.costs.fitting``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from linkstep.core.text import shortened
from linkstep.core.units import write_bandwidth, write_time
from linkstep.costs.fitting import Fit, Observation
from linkstep.files import AnyPath
from linkstep.pictures.strokes import POINTS, Placer, text_size
from linkstep.pictures.style import BLUE, INK, LINE, SOFT, VERMILLION, save_picture

_TEXT = 9.0
_WIDTH, _LEFT, _RIGHT, _BETWEEN = 11.0, 0.85, 0.3, 0.95
"""Inches across: the picture, its margins, and what is between the plots."""
_TOP, _PLOT, _AXIS, _ROW, _FOOT = 1.15, 3.5, 0.75, 0.24, 0.25
"""Inches from the top: to the plots, of the plots, of their axis, of a row of the list, below it."""
_LONGEST = 44
_AWAY, _FAR = (11, 17, 24, 32, 42, 54, 68, 84), 20
"""Points from a mark to its number, as near as is free; and from where on a line joins them."""
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
_SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))


@dataclass(frozen=True)
class _Panel:
    """One plot: its points' places, the line as (start, slope) in the same units, and its texts."""

    title: str
    x_label: str
    y_label: str
    line_label: str
    points: tuple[Observation, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    start: float
    slope: float


def _unit(most: float, units: Sequence[tuple[str, float]]) -> tuple[str, float]:
    """Return the largest unit that leaves the largest value at least 1."""
    return next((unit for unit in units if most >= unit[1]), units[-1])


def _title(found: Fit, points: Sequence[Observation], which: str) -> str:
    errors = [abs(found.error(point)) for point in points]
    error = f"error {np.mean(errors):.2%}, at most {max(errors):.2%}"
    return f"{which} size, {points[0].size:,} bytes: {error}"


def _latency(found: Fit, points: tuple[Observation, ...]) -> _Panel:
    fabric = found.fabric
    line = [float(fabric.overhead + fabric.alpha * point.cost.steps) for point in points]
    seconds = [p.seconds - found.seconds(p) + at for p, at in zip(points, line, strict=True)]
    name, scale = _unit(max(seconds), _UNITS)
    return _Panel(
        _title(found, points, "smallest"), "T_L, steps", f"time without T_B M/B, {name}",
        f"fitted: {write_time(fabric.overhead)} a call + {write_time(fabric.alpha)} a step",
        points, tuple(float(point.cost.steps) for point in points), tuple(s / scale for s in seconds),
        float(fabric.overhead) / scale, float(fabric.alpha) / scale,
    )  # fmt: skip


def _load(found: Fit, point: Observation) -> float:
    """Return T_B M in bytes, as it would be with the ports of the fitted fabric: links are the same.

    Where hosts have a limit, what those ports would carry in the time that the fit gives.
    """
    fabric = found.fabric
    if fabric.host_bandwidth is not None:
        latency = fabric.overhead + point.cost.steps * fabric.alpha
        return (found.seconds(point) - float(latency)) * float(fabric.node_bandwidth) / 8
    return float(point.size * point.cost.bandwidth * fabric.degree / point.degree)


def _bandwidth(found: Fit, points: tuple[Observation, ...]) -> _Panel:
    fabric, loads = found.fabric, [_load(found, point) for point in points]
    seconds = [p.seconds - float(fabric.overhead + fabric.alpha * p.cost.steps) for p in points]
    name, scale = _unit(max(seconds), _UNITS)
    size_name, size_scale = _unit(max(loads), _SIZES)
    ports = f" of {fabric.degree} ports" if len({point.degree for point in found.points}) > 1 else ""
    return _Panel(
        _title(found, points, "largest"), f"T_B times M, {size_name}", f"time without latency, {name}",
        f"fitted: B = {write_bandwidth(fabric.node_bandwidth)} a server{ports}",
        points, tuple(load / size_scale for load in loads), tuple(s / scale for s in seconds),
        0.0, 8 * size_scale / float(fabric.node_bandwidth) / scale,
    )  # fmt: skip


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis: from 0, or around values that lie too close together to be told apart so."""
    least, most = min(values), max(values)
    edge = 0.15 * (most - least)
    if 0 < edge < 0.075 * most:
        return least - edge, most + edge
    return min(0.0, 1.1 * least), 1.1 * most


def _draw_panel(axes: Any, panel: _Panel, numbers: dict[str, int]) -> None:
    axes.set_title(panel.title, fontsize=_TEXT, color=SOFT, loc="left", pad=24)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.xaxis.get_major_locator().set_params(integer=all(x.is_integer() for x in panel.x))
    ends = np.array(_range(panel.x))
    line = panel.start + panel.slope * ends
    axes.set(xlim=ends, ylim=_range((*line, *panel.y)))
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        axis.set_ticks([tick for tick in axis.get_ticklocs() if low <= tick <= high])
    axes.plot(ends, line, color=VERMILLION, linewidth=1.3, label=panel.line_label, zorder=2)
    axes.plot(panel.x, panel.y, "o", color=BLUE, markersize=6, label="measured", zorder=3)
    axes.legend(frameon=False, fontsize=_TEXT, ncols=2, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderpad=0.1)
    _draw_numbers(axes, panel, numbers)


def _draw_numbers(axes: Any, panel: _Panel, numbers: dict[str, int]) -> None:
    """Write each point's number beside it, where nothing else is, with a thin line where that is far."""
    scale = POINTS / axes.figure.dpi
    spots = [axes.transData.transform(place) * scale for place in zip(panel.x, panel.y, strict=True)]
    placer = Placer()
    for x, y in spots:
        placer.block(x, y, 8, 8)
    angles = np.radians([100, 280, 45, 225, 135, 315, 0, 180])
    for point, place, (x, y) in zip(panel.points, zip(panel.x, panel.y, strict=True), spots, strict=True):
        text = str(numbers[point.name])
        width, height = text_size(text, _TEXT)
        around = [(x + float(np.cos(a)) * far, y + float(np.sin(a)) * far) for far in _AWAY for a in angles]
        at = placer.place(around, width + 2, height + 2)
        if np.hypot(at[0] - x, at[1] - y) > _FAR:
            end = axes.transData.inverted().transform((at[0] / scale, at[1] / scale))
            axes.plot(*zip(place, end, strict=True), color=LINE, linewidth=0.5, zorder=1)
        axes.annotate(
            text, place, xytext=(at[0] - x, at[1] - y), textcoords="offset points", ha="center", va="center",
            fontsize=_TEXT, color=INK, zorder=4,
        )  # fmt: skip


def _draw_list(figure: Any, names: Sequence[str], columns: int, height: float) -> None:
    """Write which number is which topology, column by column."""
    rows = ceil(len(names) / columns)
    for k, name in enumerate(names):
        x = (_LEFT + (k // rows) * (_WIDTH - _LEFT - _RIGHT) / columns) / _WIDTH
        y = (_FOOT + (rows - 0.5 - k % rows) * _ROW) / height
        figure.text(x + 0.15 / _WIDTH, y, str(k + 1), fontsize=_TEXT, va="center", ha="right", color=SOFT)
        figure.text(x + 0.25 / _WIDTH, y, name, fontsize=_TEXT, va="center", color=INK)


def plot_fit(found: Fit, path: AnyPath | None) -> Any:
    """Draw time over steps, and over bytes, with the fitted lines; return the figure, written if there is a path."""
    numbers = {name: k for k, name in enumerate(dict.fromkeys(point.name for point in found.points), 1)}
    names = [shortened(name, _LONGEST) for name in numbers]
    widest = max(text_size(name or " ", _TEXT)[0] for name in names) / POINTS + 0.45
    columns = max(1, int((_WIDTH - _LEFT - _RIGHT) / widest))
    height = _TOP + _PLOT + _AXIS + _FOOT + _ROW * ceil(len(names) / columns)
    sizes = [point.size for point in found.points]
    panels = (
        _latency(found, tuple(point for point in found.points if point.size == min(sizes))),
        _bandwidth(found, tuple(point for point in found.points if point.size == max(sizes))),
    )
    across = (_WIDTH - _LEFT - _RIGHT - _BETWEEN) / 2

    def fill(figure: Any) -> None:
        title = f"measured times and the fabric fitted to {len(found.points)} of them"
        figure.text(_LEFT / _WIDTH, 1 - 0.3 / height, title, fontsize=12, va="center", color=INK)
        for k, panel in enumerate(panels):
            left, bottom = _LEFT + k * (across + _BETWEEN), height - _TOP - _PLOT
            box = (left / _WIDTH, bottom / height, across / _WIDTH, _PLOT / height)
            _draw_panel(figure.add_axes(box), panel, numbers)
        _draw_list(figure, names, columns, height)

    return save_picture(fill, path, (_WIDTH, height))
