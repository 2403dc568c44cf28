"""Plots of what the finder found. Needs matplotlib: ``pip install 'linkstep[plot]'``."""

from __future__ import annotations

from typing import Any

from linkstep.errors import FileError, LinkstepError
from linkstep.files import AnyPath, to_path, write_atomically
from linkstep.search import Answer

_STYLE: Any = {"svg.hashsalt": "linkstep", "svg.fonttype": "none", "font.family": "DejaVu Sans", "text.parse_math": False}


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
        options = {"format": suffix[1:], "dpi": 150, "metadata": metadata, "facecolor": "white"}
        write_atomically(path, lambda file: figure.savefig(file, **options))


def plot_frontier(answer: Answer, path: AnyPath) -> None:
    """Plot T_B over T_L: the frontier, the bounds, and today's topologies where they fit."""

    def draw(axes: Any) -> None:
        steps = [f.cost.steps for f in answer.frontier]
        bandwidth = [float(f.cost.bandwidth) for f in answer.frontier]
        axes.plot(steps, bandwidth, "o-", drawstyle="steps-post", color="#2a6fb0", label="found")
        for found, x, y in zip(answer.frontier, steps, bandwidth, strict=True):
            text = found.recipe if len(found.recipe) < 44 else found.recipe[:41] + "..."
            axes.annotate(text, (x, y), xytext=(7, 7), textcoords="offset points", fontsize=8)
        widest = max([*steps, answer.bound.steps])
        near = [b for b in answer.baselines if b.cost.steps <= 8 * widest]
        if near:
            xs, ys = [b.cost.steps for b in near], [float(b.cost.bandwidth) for b in near]
            axes.plot(xs, ys, "s", color="#8a94a6", label="today")
            for b, x, y in zip(near, xs, ys, strict=True):
                axes.annotate(b.name, (x, y), xytext=(7, 7), textcoords="offset points", fontsize=8, color="#5a6475")
        axes.axvline(answer.bound.steps, color="#d7263d", linestyle=":", label="no graph beats")
        axes.axhline(float(answer.bound.bandwidth), color="#d7263d", linestyle=":")
        axes.margins(x=0.25, y=0.2)
        axes.set_xlabel("T_L, steps")
        axes.set_ylabel("T_B, M/B")
        axes.set_title(f"N = {answer.num_nodes}, d = {answer.degree}: allgather")
        axes.legend()

    save_figure(draw, path)
