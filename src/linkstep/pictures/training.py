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
from linkstep.simulation.training import Comparison, Event, Iteration
from linkstep.simulation.training.comparison import BOUND, OURS, TODAY
from linkstep.simulation.training.streams import ALL_TO_ALL, ALLREDUCE, BACKWARD, FORWARD

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


def draw_iteration(iteration: Iteration, path: AnyPath, name: str = "") -> None:
    """Draw what both streams do in an iteration, in milliseconds: the forward pass above the backward pass.

    The passes differ: only in the backward pass there are allreduces. Each has its own axis, from its start to its end,
    and its title says how long that is.
    """
    turn = min((event.start for event in iteration.events if event.kind == BACKWARD), default=iteration.time)
    passes = [
        ("forward", 0.0, float(turn)),
        ("backward", float(turn), float(iteration.time)),
    ]

    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        shown = [(what, start, end) for what, start, end in passes if end > start]
        for axes, (what, start, end) in zip(figure.subplots(len(shown), squeeze=False)[:, 0], shown, strict=True):
            inside = [e for e in iteration.events if float(e.end) > start and float(e.start) < end and e.duration]
            _draw_pass(axes, inside, start, end)
            title = f"{what} pass: {1e3 * (end - start):.4g} ms, on a scale of its own"
            axes.set_title(title, fontsize=9, loc="left", color=SOFT)
        axes.set_xlabel("time, ms")
        figure.suptitle(f"{shortened(name or 'an iteration', 90)}: {1e3 * float(iteration.time):.4g} ms", fontsize=10)
        _draw_legend(figure, iteration)

    save_picture(fill, path, (10.0, 4.6))


def _draw_pass(axes: Any, events: list[Event], start: float, end: float) -> None:
    rows = {"compute": 0, "communication": 1}
    edge = 0.5 if len(events) <= _MOST_EDGES else 0.0
    for event in events:
        colour, pattern = _KINDS[event.kind]
        first, last = max(float(event.start), start), min(float(event.end), end)
        look: Any = {"color": colour, "hatch": pattern, "edgecolor": "white", "linewidth": edge}
        if last - first < _THIN * (end - start):
            look = {"color": colour, "edgecolor": colour, "linewidth": 0.5}
        axes.barh(rows[event.stream], 1e3 * (last - first), left=1e3 * first, height=0.8, **look)
        if last - first >= _NAMED * (end - start):
            centre: Any = {"ha": "center", "va": "center", "fontsize": 6, "clip_on": True}
            box: Any = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
            text = shortened(event.name, max(4, int(90 * (last - first) / (end - start))))
            axes.text(500 * (first + last), rows[event.stream], text, color=INK, bbox=box, **centre)
    axes.set_xlim(1e3 * start, 1e3 * end)
    axes.set_ylim(1.6, -0.6)
    axes.set_yticks(list(rows.values()), list(rows), fontsize=8)
    axes.tick_params(axis="y", length=0)


def _draw_legend(figure: Any, iteration: Iteration) -> None:
    from matplotlib.patches import Patch

    used = {event.kind for event in iteration.events if event.duration}
    marks = [
        Patch(facecolor=colour, hatch=pattern, edgecolor="white", linewidth=0, label=kind)
        for kind, (colour, pattern) in _KINDS.items()
        if kind in used
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
