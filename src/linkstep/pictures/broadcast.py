"""Pictures of how one node's shard spreads: which links carry it, at which steps.

Nodes stand in columns by their distance from the root, and a link's colour is the step at which it first carries the
shard. Works for every schedule: rows of the root's shard are drawn, whatever the others are. Not here: when links are
busy in a simulation (``timeline``), and topologies by themselves (``topology``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.core.text import shortened
from linkstep.core.topology import Ints
from linkstep.files import AnyPath
from linkstep.pictures.layout import Points, in_columns
from linkstep.pictures.strokes import POINTS, Placer, Stroke, along, draw_stroke, strokes, text_size
from linkstep.pictures.style import (
    BLUE,
    DASHES,
    INK,
    PALE,
    SOFT,
    Fill,
    check_drawable,
    node_names,
    save_picture,
    shades,
)
from linkstep.pictures.topology import INSIDE, LONGEST, NUMBERED, check_size, draw_names, draw_title, node_points

_FEW = 24
"""Up to this many links that carry the shard, each has its steps written on it; up to four times as many links in all,
those that do not carry it are drawn too."""
_HEAD, _FOOT, _SIDE = 1.1, 0.55, 0.45
"""Inches above (title and columns' heads), below (legend) and on either side."""
_TALLEST = {True: 24.0, False: 10.0}
"""The most inches of a column, with numbers and without."""
_TEXT = 8.0
_RIM = 1.2
"""Points of the line round a hollow node."""
_HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": BLUE, "markeredgewidth": _RIM}
"""A node that takes no part, among markers of matplotlib."""
_MOST_STEPS = 12
"""The most steps in the legend; of more, every second or third has an entry."""


def carried(schedule: Schedule, root: int) -> dict[int, dict[int, Fraction]]:
    """Return, for each link that carries the root's shard, the steps at which it does and how much of it then.

    >>> import linkstep
    >>> carried(linkstep.parse("UniRing(1,3)").build(), 0)
    {0: {1: Fraction(1, 1)}, 1: {2: Fraction(1, 1)}}
    """
    rows = np.flatnonzero(schedule.source == root)
    found: dict[int, dict[int, Fraction]] = {}
    sizes = (schedule.hi - schedule.lo)[rows].tolist()
    for link, step, size in zip(schedule.link[rows].tolist(), schedule.step[rows].tolist(), sizes, strict=True):
        steps = found.setdefault(link, {})
        steps[step] = steps.get(step, Fraction(0)) + Fraction(size, schedule.unit)
    return {link: dict(sorted(found[link].items())) for link in sorted(found)}


def _text(steps: dict[int, Fraction]) -> str:
    """Return a link's steps in words: ``2``, or ``2 (1/2)`` where it carries half the shard then."""
    return ", ".join(f"{step}" if part == 1 else f"{step} ({part})" for step, part in steps.items())


@dataclass(frozen=True)
class _Sheet:
    """A picture's measures: places in inches, the size of a node in points, and the columns."""

    schedule: Schedule
    root: int
    carried: dict[int, dict[int, Fraction]]
    place: Points
    column: Ints
    node_size: float
    names: list[str]
    """What is written at nodes, or nothing."""

    @property
    def named_inside(self) -> bool:
        """Whether names fit on the nodes."""
        return max(map(len, self.names), default=0) <= INSIDE

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        (width, height), widest = np.ptp(self.place, axis=0), 0.0
        if not self.named_inside:
            widest = max(text_size(name, _TEXT)[0] for name in self.names) / POINTS
        return max(float(width) + 2 * _SIDE + widest, 5.6), max(float(height), 0.3) + 2 * _SIDE + _HEAD + _FOOT


def _sheet(schedule: Schedule, root: int) -> _Sheet:
    topology = schedule.topology
    if not 0 <= root < schedule.num_ranks:
        who = "node" if schedule.ranks.is_everyone else "rank"
        raise ScheduleError(f"root must be a {who} in [0, {schedule.num_ranks}), not {root}")
    links = carried(schedule, root)
    place, column = in_columns(topology, int(schedule.ranks.nodes[root]), links)
    largest, numbered = int(np.bincount(column).max()), topology.num_nodes <= NUMBERED
    size = node_points(topology.num_nodes) if numbered else 3.0
    row = 2.2 * size / POINTS if numbered else 0.12
    names = [shortened(name, LONGEST) for name in node_names(topology)] if numbered else []
    if max(map(len, names), default=0) > INSIDE:
        row += 1.4 * _TEXT / POINTS
    row = min(max(row, 1.1) if largest <= 6 else row, _TALLEST[numbered] / largest)
    # Wide enough that lines over the whole height are not too steep to follow.
    across = float(np.clip(0.3 * row * largest, 1.7, 4.0))
    return _Sheet(schedule, root, links, place * (across, row), column, size, names)


def _draw_heads(axes: Any, sheet: _Sheet) -> None:
    """Write above each column how far from the root its nodes are."""
    top = float(sheet.place[:, 1].max()) + 0.4
    far = int(sheet.column.max())
    for t in range(far + 1):
        x = float(sheet.place[sheet.column == t, 0][0])
        text = "root" if not t else "1 hop" if t == 1 else f"{t} hops"
        axes.text(x, top, text, fontsize=9, color=SOFT, ha="center", va="bottom")


def _rad(stroke: Stroke, sheet: _Sheet) -> float:
    """Return how far a stroke bends: forward ones as little as they must, those within a column or back much."""
    forward = abs(int(sheet.column[stroke.w] - sheet.column[stroke.u]))
    if forward == 0:
        return 0.35
    bend = 0.1 * (stroke.bend or 0.0)
    return bend if forward == 1 else bend + 0.4 / forward


def _strokes(sheet: _Sheet, lit_only: bool) -> list[Stroke]:
    """Return the lines to draw; if only of links that carry the shard, bent only where these lie on each other."""
    found = [s for s in strokes(sheet.schedule.topology, sheet.carried.keys()) if s.u != s.w]
    if not lit_only:
        return found
    lit = [s for s in found if s.link in sheet.carried]
    shared = Counter(frozenset((s.u, s.w)) for s in lit)
    return [s if shared[frozenset((s.u, s.w))] > 1 else replace(s, bend=0.0) for s in lit]


def _draw_strokes(axes: Any, sheet: _Sheet) -> None:
    """Draw every link that carries the shard as an arrow in the colour of its step; of few, the others pale."""
    topology, place, size = sheet.schedule.topology, sheet.place, sheet.node_size
    few = len(sheet.carried) <= _FEW
    placer = Placer()
    for x, y in place * POINTS:
        placer.block(x, y, size, size)
    for stroke in _strokes(sheet, lit_only=not few or topology.num_links > 4 * _FEW):
        a, b, rad = place[stroke.u], place[stroke.w], _rad(stroke, sheet)
        steps = sheet.carried.get(stroke.link)
        if steps is None:
            draw_stroke(axes, a, b, rad, size=size, arrow=stroke.link >= 0, color=PALE, lw=1.0, zorder=1)
            continue
        look = _look(sheet, min(steps))
        width = 1.8 if max(steps.values()) == 1 else 0.9
        draw_stroke(axes, a, b, rad, size=size, arrow=True, lw=width, zorder=2, **look)
        if few:
            curve = [along(a, b, rad, part) * POINTS for part in (0.42, 0.55, 0.3, 0.68, 0.22, 0.78)]
            _draw_text(axes, placer, curve, _text(steps), look["color"])


def _draw_lines(axes: Any, sheet: _Sheet) -> None:
    """Draw every link that carries the shard as a thin straight line in the colour of its step."""
    from matplotlib.collections import LineCollection

    topology, by_step = sheet.schedule.topology, defaultdict(list)
    for link, steps in sheet.carried.items():
        by_step[min(steps)].append(sheet.place[[topology.tail[link], topology.head[link]]])
    for step, lines in sorted(by_step.items()):
        axes.add_collection(LineCollection(lines, lw=0.6, zorder=2, colors=_look(sheet, step)["color"]))


def _look(sheet: _Sheet, step: int) -> dict[str, Any]:
    """Return colour and line style of a step."""
    return {"color": shades(sheet.schedule.num_steps)[step - 1], "linestyle": DASHES[(step - 1) % len(DASHES)]}


def _draw_text(axes: Any, placer: Placer, curve: list[Points], text: str, colour: Any) -> None:
    width, height = text_size(text, _TEXT)
    x, y = placer.place([(float(x), float(y)) for x, y in curve], width + 8, height + 8)
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8}
    axes.text(x / POINTS, y / POINTS, text, fontsize=_TEXT, color=INK, zorder=5, bbox=box, ha="center", va="center")


def _draw_legend(figure: Any, sheet: _Sheet) -> None:
    """Say which colour is which step, what thin lines are, and what hollow nodes."""
    from matplotlib.lines import Line2D

    numbered = sheet.schedule.topology.num_nodes <= NUMBERED
    used = sorted({min(steps) for steps in sheet.carried.values()})
    marks = []
    for step in used[:: max(1, -(-len(used) // _MOST_STEPS))]:
        look = _look(sheet, step) | ({} if numbered else {"linestyle": "solid"})
        marks.append(Line2D([], [], lw=1.8, label=f"step {step}", **look))
    if numbered and any(max(steps.values()) < 1 for steps in sheet.carried.values()):
        marks.append(Line2D([], [], color=SOFT, lw=0.9, label="thin: a part of the shard"))
    if sheet.schedule.ranks.has_forwarders:
        marks.append(Line2D([], [], lw=0, marker="o", label="hollow: only forwards", **_HOLLOW))
    if not marks:
        return
    width, _ = sheet.size
    fits = max(2, int(width / 1.15))
    figure.legend(handles=marks, loc="lower center", ncols=min(len(marks), fits), frameon=False, fontsize=8)


def draw_broadcast(schedule: Schedule, path: AnyPath, root: int) -> None:
    """Draw into a .svg or .png file how the root's shard spreads: which links carry it, and at which steps.

    Few links have their steps written on them, and how much they carry then where it is not the whole shard; of many,
    the colour tells the step and a thin line that it is a part. Links that do not carry the shard are drawn pale, or
    not at all where there are many. Nodes that take no part and only forward are hollow; the root is a rank.
    """
    check_drawable(path)
    fill, size = broadcast_picture(schedule, root)
    save_picture(fill, path, size)


def broadcast_picture(schedule: Schedule, root: int) -> tuple[Fill, tuple[float, float]]:
    """Return what draws a broadcast, as ``draw_broadcast`` does, and the picture's width and height in inches."""
    check_size(schedule.topology)
    sheet = _sheet(schedule, root)

    def fill(figure: Any) -> None:
        topology, (width, height) = schedule.topology, sheet.size
        inner = height - _HEAD - _FOOT
        axes = figure.add_axes((0, _FOOT / height, 1, inner / height))
        axes.set_axis_off()
        middle = (sheet.place.min(axis=0) + sheet.place.max(axis=0)) / 2
        axes.set(xlim=middle[0] + np.array([-width, width]) / 2, ylim=middle[1] + np.array([-inner, inner]) / 2)
        _draw_heads(axes, sheet)
        (_draw_strokes if topology.num_nodes <= NUMBERED else _draw_lines)(axes, sheet)
        forwards = schedule.ranks.rank_of < 0
        axes.scatter(*sheet.place[~forwards].T, s=sheet.node_size**2, c=BLUE, zorder=3, linewidths=0)
        if forwards.any():  # hollow: they take no part
            look: Any = {"markersize": sheet.node_size - _RIM, "zorder": 3} | _HOLLOW
            axes.plot(*sheet.place[forwards].T, "o", **look)
        if sheet.names:
            inks = [BLUE if hollow else "white" for hollow in forwards.tolist()] if sheet.named_inside else None
            draw_names(axes, sheet.place, sheet.names, sheet.node_size, inks, ring=False)
        name = shortened(node_names(topology)[int(schedule.ranks.nodes[root])], LONGEST)
        draw_title(figure, topology, sheet.size, f": how the shard of {name} spreads")
        _draw_legend(figure, sheet)

    return fill, sheet.size
