"""A plot of times over sizes: ours, what is run today, and what nothing beats. Not here: working them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkstep.core.text import shortened
from linkstep.core.units import format_size, format_time
from linkstep.files import AnyPath
from linkstep.pictures.style import BLUE, GREEN, ORANGE, PURPLE, SOFT, VERMILLION, save_figure

_COLOURS = (BLUE, VERMILLION, ORANGE, GREEN, PURPLE)


def plot_times(
    sizes: Sequence[int], curves: Mapping[str, Sequence[float | None]], title: str, path: AnyPath
) -> None:  # fmt: skip
    """Draw seconds over bytes to a .svg or .png file, a curve a name: the first is ours, the last the bound."""
    names = list(curves)

    def draw(axes: Any) -> None:
        for name, colour in zip(names[:-1], _COLOURS, strict=False):
            points = [(size, time) for size, time in zip(sizes, curves[name], strict=True) if time is not None]
            width = 2.4 if name == names[0] else 1.4
            axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, marker="o", markersize=3, label=name)
        axes.plot(sizes, curves[names[-1]], color=SOFT, linestyle="--", label=names[-1])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ticks = sizes[:: max(1, len(sizes) // 8)]
        axes.set_xticks(ticks, [format_size(size, binary=True) for size in ticks], fontsize=8)
        decades = [10.0**k for k in range(-9, 7)]
        low, high = axes.get_ylim()
        decades = [value for value in decades if low <= value <= high]
        axes.set_yticks(decades, [format_time(value) for value in decades])
        axes.minorticks_off()
        axes.set(xlabel="size of the data", ylabel="allreduce", title=shortened(title, 80))
        axes.legend(fontsize=8)

    save_figure(draw, path, (7.5, 4.6))
