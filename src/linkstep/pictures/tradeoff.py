"""A plot of what a wiring allows: T_B over T_L, as found, beside what no schedule goes below. Not here: finding it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from linkstep.core.text import shortened
from linkstep.files import AnyPath
from linkstep.pictures.style import BLUE, INK, SOFT, VERMILLION, save_figure
from linkstep.scheduling import Point


def plot_trade_off(points: Sequence[Point], title: str, bound: Fraction, path: AnyPath | None) -> Any:
    """Draw Pareto-optimal points, to a .svg or .png file if there is a path, and return the figure.

    ``bound`` is T_B that no graph of this N goes below.
    """
    steps = [point.cost.steps for point in points]
    ends = [min(steps) - 0.5, max(steps) + 0.5]

    def draw(axes: Any) -> None:
        axes.step([*steps, ends[1]], [float(p.cost.bandwidth) for p in (*points, points[-1])], where="post", color=BLUE)
        axes.plot(steps, [float(p.cost.bandwidth) for p in points], "o", color=BLUE, label="found")
        least = [(p.cost.steps, float(p.least)) for p in points if p.least is not None]
        if least:
            axes.plot(*zip(*least, strict=True), "_", color=VERMILLION, markersize=18, label="least in as many steps")
        axes.axhline(float(bound), color=SOFT, linestyle="--", label="no graph beats")
        for point in points:
            where = (point.cost.steps, float(point.cost.bandwidth))
            axes.annotate(str(point.cost.bandwidth), where, (6, 6), textcoords="offset points", fontsize=8, color=INK)
        axes.set(xlabel="T_L in steps", ylabel="T_B in M/B", xlim=ends, title=shortened(title, 80))
        axes.set_xticks(range(min(steps), max(steps) + 1))
        axes.margins(y=0.15)
        axes.legend()

    return save_figure(draw, path, (7, 4.2))
