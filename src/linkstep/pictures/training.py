"""Pictures of simulated training: what iterations are made of, and the two streams of one iteration in time.

Not here: the simulation (``linkstep.simulation.training``).
"""

from __future__ import annotations

from typing import Any

from linkstep.core.text import shortened
from linkstep.files import AnyPath
from linkstep.pictures.style import (
    BLUE,
    GREEN,
    INK,
    PALE,
    SKY,
    SOFT,
    VERMILLION,
    save_figure,
    save_picture,
)
from linkstep.simulation.training import Comparison, Iteration
from linkstep.simulation.training.comparison import BOUND, OURS, TODAY
from linkstep.simulation.training.streams import ALL_TO_ALL, ALLREDUCE, BACKWARD, FORWARD
from linkstep.timelines import Span, Timeline, timeline_of
from linkstep.timelines.training import STREAMS

_PARTS = (
    ("compute", "compute", SKY, ""),
    ("exposed allreduce", "exposed_allreduce", BLUE, "//"),
    ("all-to-all", "all_to_all", VERMILLION, ".."),
)
"""The parts of a bar: name, property of an iteration, colour, and a pattern for pictures in grey."""
_KINDS = {FORWARD: (SKY, ""), BACKWARD: (GREEN, ""), ALLREDUCE: (BLUE, "//"), ALL_TO_ALL: (VERMILLION, "..")}
_ROLES = {OURS: "ours: ", TODAY: "", BOUND: "bound: "}
"""What is written before a topology's name."""
_LONGEST = 40
_MOST_EDGES = 300
_THIN = 0.003
"""The part of a pass below which an event has no white edge: it would be covered by it."""
_NAMED = 0.15
"""The part of a pass that an event must take for its name to be written on it."""


def plot_comparison(found: Comparison, path: AnyPath) -> None:
    """Draw a bar for each topology, in milliseconds: compute, exposed allreduce and all-to-all."""

    def draw(axes: Any) -> None:
        names = [f"{_ROLES[outcome.role]}{shortened(outcome.name, _LONGEST)}" for outcome in found.outcomes]
        places = range(len(names))
        left = [0.0] * len(names)
        for label, member, colour, pattern in _PARTS:
            widths = [1e3 * float(getattr(outcome.iteration, member)) for outcome in found.outcomes]
            if any(widths):
                look: Any = {"color": colour, "hatch": pattern, "edgecolor": "white", "linewidth": 0}
                axes.barh(places, widths, left=left, height=0.62, label=label, **look)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        ours = float(found.ours.time)
        for place, outcome in zip(places, found.outcomes, strict=True):
            text = f" {1e3 * float(outcome.time):.4g} ms, {float(outcome.time) / ours:.2f}x ours"
            axes.text(left[place], place, text, va="center", fontsize=8, color=INK)
        axes.set_yticks(list(places), names, fontsize=8)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.set_xlim(0, max(left) * 1.28)
        axes.set_xlabel("time of an iteration, ms")
        axes.grid(axis="x", color=PALE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title(f"{shortened(found.job.model, _LONGEST)} on {found.job.num_nodes} servers", fontsize=11)
        axes.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)

    save_figure(draw, path, (8.5, 1.7 + 0.45 * len(found.outcomes)))


def draw_iteration(what: Iteration | Timeline, path: AnyPath, name: str = "") -> None:
    """Draw what both streams do in an iteration, in milliseconds: the forward pass above the backward pass.

    The passes differ: only in the backward pass there are allreduces. Each has its own axis, from its start to its end,
    and its title says how long that is.
    """
    timeline = what if isinstance(what, Timeline) else timeline_of(what, name)
    spans, whole = list(timeline.spans), timeline.end
    turn = min((span.start for span in spans if span.kind == BACKWARD), default=whole)
    passes = [("forward", 0.0, turn), ("backward", turn, whole)]

    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        shown = [(what, start, end) for what, start, end in passes if end > start]
        for axes, (what, start, end) in zip(figure.subplots(len(shown), squeeze=False)[:, 0], shown, strict=True):
            inside = [span for span in spans if span.end > start and span.start < end and span.end > span.start]
            _draw_pass(axes, inside, start, end)
            title = f"{what} pass: {1e3 * (end - start):.4g} ms, on a scale of its own"
            axes.set_title(title, fontsize=9, loc="left", color=SOFT)
        axes.set_xlabel("time, ms")
        figure.suptitle(f"{shortened(timeline.title, 90)}: {1e3 * whole:.4g} ms", fontsize=10)
        _draw_legend(figure, spans)

    save_picture(fill, path, (10.0, 4.6))


def _draw_pass(axes: Any, spans: list[Span], start: float, end: float) -> None:
    edge = 0.5 if len(spans) <= _MOST_EDGES else 0.0
    for span in spans:
        colour, pattern = _KINDS[span.kind]
        first, last = max(span.start, start), min(span.end, end)
        look: Any = {"color": colour, "hatch": pattern, "edgecolor": "white", "linewidth": edge}
        if last - first < _THIN * (end - start):
            look = {"color": colour, "edgecolor": colour, "linewidth": 0.5}
        axes.barh(span.lane, 1e3 * (last - first), left=1e3 * first, height=0.8, **look)
        if last - first >= _NAMED * (end - start):
            centre: Any = {"ha": "center", "va": "center", "fontsize": 6, "clip_on": True}
            box: Any = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
            text = shortened(span.name, max(4, int(90 * (last - first) / (end - start))))
            axes.text(500 * (first + last), span.lane, text, color=INK, bbox=box, **centre)
    axes.set_xlim(1e3 * start, 1e3 * end)
    axes.set_ylim(1.6, -0.6)
    axes.set_yticks(range(len(STREAMS)), STREAMS, fontsize=8)
    axes.tick_params(axis="y", length=0)


def _draw_legend(figure: Any, spans: list[Span]) -> None:
    from matplotlib.patches import Patch

    used = {span.kind for span in spans if span.end > span.start}
    marks = [
        Patch(facecolor=colour, hatch=pattern, edgecolor="white", linewidth=0, label=kind)
        for kind, (colour, pattern) in _KINDS.items()
        if kind in used
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
