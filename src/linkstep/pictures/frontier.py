"""Plots of what the finder found. Needs matplotlib: ``pip install 'linkstep[plot]'``."""

from __future__ import annotations

from typing import Any

from linkstep.core.errors import FileError, LinkstepError
from linkstep.files import AnyPath, to_path, write_atomically
from linkstep.search import Answer

_STYLE: Any = {
    "svg.hashsalt": "linkstep",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "text.parse_math": False,
}


def save_figure(draw: Any, path: AnyPath, size: tuple[float, float] = (8, 5)) -> None:
    """Let ``draw(axes)`` fill one axes and write it to a .png or .svg file, whole or not at all."""
    suffix = to_path(path).suffix.lower()
    if suffix not in (".svg", ".png"):
        raise FileError(f"{path}: the name of a plot must end in .svg or .png")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise LinkstepError("plotting needs matplotlib: pip install 'linkstep[plot]'") from None
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        metadata = {"Date": None, "Creator": "linkstep"} if suffix == ".svg" else {"Software": None}
        options: dict[str, Any] = {"format": suffix[1:], "dpi": 150, "metadata": metadata, "facecolor": "white"}
        write_atomically(path, lambda file: figure.savefig(file, **options))


def plot_frontier(answer: Answer, path: AnyPath) -> None:
    """Plot T_B over T_L: the frontier, the bounds, and today's topologies where they fit."""

    def draw(axes: Any) -> None:
        steps = [f.cost.steps for f in answer.frontier]
        bandwidth = [float(f.cost.bandwidth) for f in answer.frontier]
        axes.plot(steps, bandwidth, "o-", drawstyle="steps-post", color="#2a6fb0", label="found", zorder=3)
        for number, (x, y) in enumerate(zip(steps, bandwidth, strict=True), 1):
            axes.annotate(str(number), (x, y), xytext=(6, 6), textcoords="offset points", weight="bold")
        today = {b.name: b.cost for b in answer.baselines if b.cost is not None}
        if today:
            places = [(cost.steps, float(cost.bandwidth)) for cost in today.values()]
            axes.plot(*zip(*places, strict=True), "s", color="#8a94a6", label="today")
            for name, place in zip(today, places, strict=True):
                axes.annotate(name, place, xytext=(-4, 8), textcoords="offset points", fontsize=8, ha="right")
        axes.axvline(answer.bound.steps, color="#d7263d", linestyle=":", label="no graph beats")
        axes.axhline(float(answer.bound.bandwidth), color="#d7263d", linestyle=":")
        axes.set_xscale("log")
        ticks = sorted({*steps, answer.bound.steps, *(cost.steps for cost in today.values())})
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.margins(x=0.1, y=0.25)
        key = "\n".join(f"{number}  {f.recipe}" for number, f in enumerate(answer.frontier, 1))
        axes.set_xlabel(f"T_L, steps\n\n{key}")
        axes.set_ylabel("T_B, M/B")
        axes.set_title(f"N = {answer.num_nodes}, d = {answer.degree}: allgather")
        axes.legend()

    save_figure(draw, path)
