"""Pictures of topologies: every node, and every cable between them.

Up to 64 nodes each has its number or its host's name: a plain line is a duplex link, an arrow a link one
way in the colour of the node it leaves. Beyond that nodes are dots and cables thin lines. Where nodes stand is
``linkstep.pictures.layout``'s to say; what a schedule does on a topology is drawn by ``broadcast`` and ``timeline``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.text import shortened
from linkstep.core.topology import Topology
from linkstep.files import AnyPath
from linkstep.pictures.layout import Layout, Points, cables, in_columns, lay_out
from linkstep.pictures.strokes import POINTS, Placer, Stroke, along, draw_stroke, strokes, text_size
from linkstep.pictures.style import (
    BLUE,
    INK,
    LINE,
    ORANGE,
    PALETTE,
    PURPLE,
    SKY,
    SOFT,
    VERMILLION,
    Fill,
    check_drawable,
    check_matplotlib,
    node_names,
    save_picture,
    svg_text,
)

MAX_NODES = 5000
NUMBERED = 64
"""The most nodes that get a number or a name."""

_TITLE, _LEGEND, _EDGE = 0.8, 0.45, 0.3
"""Inches above for the title, below for the legend, and on every side."""
_BULGE = 0.3
"""How far a cable that goes round a grid passes from the row or column it belongs to, in steps of the grid."""
INSIDE = 3
"""Names up to this many characters are written on the node, longer ones beside it."""
LONGEST = 18
"""Longer names are shortened to this many characters."""
_NAME = 8.0
_ROUND: Any = {"lw": 1.0, "linestyle": (0, (4, 1.5))}
"""How a link looks that goes round a grid, so that the grid itself stands out."""
_LIGHT = (ORANGE, SKY, PURPLE)
"""Colours on which white text is hard to read."""
_MIDDLE: Any = {"ha": "center", "va": "center"}


@dataclass(frozen=True)
class _Sheet:
    """A picture's measures: the places, in inches, the size of a node in points, and what is written at nodes."""

    topology: Topology
    layout: Layout
    place: Points
    node_size: float
    names: Sequence[str]
    named_outside: bool
    side: Points
    """Inches kept free on each side of the places: for names, loops and lines that go round."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        width, height = np.ptp(self.place, axis=0) + 2 * self.side
        return max(float(width), 4.6), max(float(height), 1.0) + _TITLE + _LEGEND


def node_points(num_nodes: int) -> float:
    """Return how large a numbered node is drawn, in points."""
    return 24.0 if num_nodes <= 16 else 20.0 if num_nodes <= 32 else 17.0


def _sheet(topology: Topology, root: int | None, given: Points | None = None) -> _Sheet:
    n, size = topology.num_nodes, node_points(topology.num_nodes)
    layout = Layout(given) if given is not None else None
    if layout is None:
        layout = lay_out(topology) if root is None else Layout(_columns(topology, root))
    place = layout.place
    names = [shortened(name, LONGEST) for name in node_names(topology)] if n <= NUMBERED else []
    outside = max(map(len, names), default=0) > INSIDE
    widest = max((text_size(name, _NAME)[0] for name in names), default=0.0) if outside else 0.0
    if n > NUMBERED:
        scale = 4.0
    else:
        gaps = np.linalg.norm(place[:, None] - place, axis=2) + 9 * np.eye(n)
        apart = 2.6 * size if layout.dims else 1.5 * size
        scale = float(np.clip(apart / POINTS / gaps.min(), 2.3, 5.0))
        if outside and not layout.ring:
            scale = float(np.clip(1.1 * widest / POINTS / gaps.min(), scale, 8.0))
    around = 0.45 if topology.num_self_loops and n <= NUMBERED else 0.0
    if layout.dims:
        around += _BULGE * float(np.abs(place[0] - place[1]).max()) * scale
    side = np.full(2, _EDGE + around + (widest / POINTS if layout.ring or root is not None else widest / POINTS / 2))
    return _Sheet(topology, layout, place * scale, size, names, outside, side)


def _columns(topology: Topology, root: int) -> Points:
    place, _ = in_columns(topology, root)
    return place * 2 / max(float(np.ptp(place, axis=0).max()), 1.0)


def _bend(stroke: Stroke, a: Points, b: Points, dims: tuple[int, ...]) -> float:
    """Return matplotlib's arc3 curvature for a stroke.

    On a grid, a link that goes round passes beside the nodes between its ends, above a row or left of a column. On a
    ring, a lone arrow leans to the middle, off the nodes on the rim.
    """
    length = max(float(np.hypot(*(b - a))), 1e-9)
    if dims:
        rad = 0.16 * (stroke.bend or 0.0)
        skipped = _skipped(stroke, dims)
        (dx, dy), flat = b - a, abs(b - a)[0] > abs(b - a)[1]
        turn = -1 if (dx > 0 if flat else dy > 0) else 1
        return rad + turn * 2 * _BULGE / skipped if skipped > 1 else rad
    (dx, dy), (mx, my) = b - a, a + b
    bend = stroke.bend if stroke.bend is not None else 0.8 if dx * my >= dy * mx else -0.8
    return 0.16 * bend * min(1.0, 2.5 / length)


def _inward(a: Points, b: Points) -> float:
    """Return the curvature by which a short chord of a large ring leaves the rim, on which it would not be seen."""
    radius, length = float(np.hypot(*a)), float(np.hypot(*(b - a)))
    return float(np.sign(a[1] * b[0] - a[0] * b[1])) * 1.4 if length < 0.5 * radius else 0.0


def _skipped(stroke: Stroke, dims: tuple[int, ...]) -> int:
    """Return how many grid steps apart the ends of a stroke are drawn."""
    u, w = np.array(np.unravel_index([stroke.u, stroke.w], dims)).T
    return int(np.abs(u - w).max())


def _draw_small(axes: Any, sheet: _Sheet, labels: Mapping[int, str]) -> None:
    """Draw every node with its number or name and every link by itself."""
    topology, place, size = sheet.topology, sheet.place, sheet.node_size
    hues = _hues(topology)
    loops = [0] * topology.num_nodes
    placer = Placer()
    for x, y in place * POINTS:
        placer.block(x, y, size, size)
    for stroke in sorted(strokes(topology, frozenset(labels)), key=lambda stroke: stroke.link in labels):
        lit = stroke.link in labels
        look: Any = {"color": VERMILLION if lit else LINE if stroke.link < 0 else hues[stroke.u]}
        look |= {"lw": 2.2 if lit else 1.3, "zorder": 2 if lit else 1}
        if not lit and sheet.layout.dims and _skipped(stroke, sheet.layout.dims) > 1:
            look |= _ROUND
        a, b = place[stroke.u], place[stroke.w]
        if stroke.u == stroke.w:
            loops[stroke.u] += 1
            curve = _draw_loop(axes, a, size, loops[stroke.u], look)
        else:
            rad = _bend(stroke, a, b, sheet.layout.dims) * (1.4 if lit else 1.0)
            draw_stroke(axes, a, b, rad, size=size, arrow=stroke.link >= 0, **look)
            # Not halfway first: that is where the link back has its label.
            curve = [along(a, b, rad, part) for part in (0.4, 0.5, 0.6, 0.32, 0.68, 0.25, 0.75)]
        if lit:
            _draw_label(axes, placer, curve, labels[stroke.link])
    axes.scatter(*place.T, s=size**2, c=hues, zorder=3, linewidths=1.2, edgecolors="white")
    inks = [INK if hue in _LIGHT else "white" for hue in hues]
    beyond = size + 26 * bool(sheet.layout.ring and topology.num_self_loops)  # names stand beyond loops
    outside, ring = sheet.named_outside, sheet.layout.ring
    draw_names(axes, place, sheet.names, beyond if outside else size, None if outside else inks, ring=ring)


def _hues(topology: Topology) -> list[str]:
    """Return a colour for each node: one for all where every link has a partner, else that of the links it sends."""
    if topology.is_bidirectional:
        return [BLUE] * topology.num_nodes
    return [PALETTE[node % len(PALETTE)] for node in range(topology.num_nodes)]


def _draw_loop(axes: Any, at: Points, size: float, number: int, look: Any) -> list[Points]:
    """Draw a link from a node to itself, outwards, and return where it can have its label."""
    from matplotlib.patches import Circle

    radius = size / 2 / POINTS * (0.55 + 0.4 * number)
    away = at / np.hypot(*at) if np.hypot(*at) > 1e-6 else np.array([0.0, 1.0])
    middle = at + away * (radius + 0.35 * size / POINTS)
    axes.add_patch(Circle(tuple(middle), radius, fill=False, **look))
    return [middle + away * radius]


def draw_names(
    axes: Any, place: Points, names: Sequence[str], size: float, inks: list[str] | None, *, ring: bool
) -> None:
    """Write each node's number or name on it in these colours, or beside it where there are none."""
    if inks is not None:
        look: Any = {"zorder": 4, "fontsize": 0.45 * size, "ha": "center", "va": "center_baseline"}
        for (x, y), name, ink in zip(place.tolist(), names, inks, strict=True):
            axes.text(x, y, name, color=ink, **look)
        return
    away = (0.5 * size + 3) / POINTS
    back: Any = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
    for at, name in zip(place, names, strict=True):
        if ring:  # outwards, along the radius, and never upside down
            angle = float(np.degrees(np.arctan2(at[1], at[0])))
            left = abs(angle) > 90.0001
            spot = at * (1 + away / max(float(np.hypot(*at)), 1e-9))
            look = {"rotation": angle - 180 if left else angle, "rotation_mode": "anchor"}
            look |= {"ha": "right" if left else "left", "va": "center"}
        else:
            spot, look = at - (0, away), {"ha": "center", "va": "top", "bbox": back}
        axes.text(*spot, name, fontsize=_NAME, zorder=4, color=INK, **look)


def _draw_label(axes: Any, placer: Placer, curve: list[Points], text: str) -> None:
    text = shortened(text, 24)
    width, height = text_size(text, 8)
    spots = [tuple((spot * POINTS).tolist()) for spot in curve]
    x, y = placer.place(spots, width + 8, height + 8)
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": VERMILLION, "linewidth": 0.6}
    axes.text(x / POINTS, y / POINTS, text, color=INK, fontsize=8, zorder=5, bbox=box, **_MIDDLE)


def _draw_large(axes: Any, sheet: _Sheet, labels: Mapping[int, str]) -> None:
    """Draw nodes as dots and cables as thin lines, one for both directions and for parallels."""
    from matplotlib.collections import LineCollection

    topology, place, n = sheet.topology, sheet.place, sheet.topology.num_nodes
    pairs = cables(topology)
    parts = np.linspace(0, 1, 13)
    lines = []
    for u, w in pairs.tolist():
        rad = _bend(Stroke(u, w, -1), place[u], place[w], sheet.layout.dims)
        if sheet.layout.ring:
            rad = _inward(place[u], place[w])
        lines.append([along(place[u], place[w], rad, part) for part in parts] if rad else [place[u], place[w]])
    alpha = float(np.clip(1200 / max(len(pairs), 1), 0.22, 0.75))
    look: Any = {"linewidths": 0.9 if len(pairs) <= 3000 else 0.5, "alpha": alpha, "zorder": 1}
    found = LineCollection(lines, array=pairs[:, 0], cmap="viridis", clim=(0, n - 1), **look)
    found.set_rasterized(len(pairs) > 20_000)  # an SVG of more lines opens slowly
    axes.add_collection(found)
    size = float(np.clip(4000 / n, 1.5, 30))
    dots = axes.scatter(*place.T, s=size, c=np.arange(n), cmap="viridis", vmin=0, vmax=n - 1, zorder=3, linewidths=0)
    for e in sorted(labels):
        ends = place[[topology.tail[e], topology.head[e]]]
        axes.plot(*ends.T, color=VERMILLION, linewidth=1.6, zorder=2)
        _draw_label(axes, Placer(), [ends.mean(axis=0)], labels[e])
    _, height = sheet.size
    strip = axes.figure.add_axes((0.3, 0.24 / height, 0.4, 0.09 / height))
    bar = axes.figure.colorbar(dots, cax=strip, orientation="horizontal", ticks=[0, n - 1])
    bar.outline.set_visible(False)
    strip.tick_params(labelsize=8, length=0)
    strip.set_title("node number", fontsize=8, color=SOFT, pad=3)


def _draw_legend(figure: Any, sheet: _Sheet, lit: bool) -> None:
    """Say what a line and an arrow are, where a picture has them."""
    from matplotlib.lines import Line2D

    found, dims = strokes(sheet.topology), sheet.layout.dims
    kinds = {stroke.link >= 0 for stroke in found}
    marks = []
    if False in kinds:
        marks.append(Line2D([], [], color=LINE, lw=1.3, label="cable: a link each way"))
    if True in kinds:
        arrow: Any = {"marker": ">", "markersize": 5, "markevery": [1]}
        marks.append(Line2D([0, 1], [0, 0], color=BLUE, lw=1.3, label="link one way, coloured as its sender", **arrow))
    if dims and any(_skipped(stroke, dims) > 1 for stroke in found):
        marks.append(Line2D([], [], color=LINE, label="goes round the grid", **_ROUND))
    if lit:
        marks.append(Line2D([], [], color=VERMILLION, lw=2.2, label="labelled"))
    if marks:
        figure.legend(handles=marks, loc="lower center", ncols=len(marks), frameon=False, fontsize=8)


def draw_title(figure: Any, topology: Topology, inches: tuple[float, float], what: str = "") -> None:
    """Write a topology's name and sizes at the top of a picture of this width and height; without a name, the sizes."""
    width, height = inches
    sizes = f"N = {topology.num_nodes}, d = {topology.degree}{what}"
    name = shortened(topology.name, max(16, int(width * 5.2)))
    if name:
        figure.text(0.5, 1 - 0.27 / height, name, fontsize=14, **_MIDDLE)
    figure.text(0.5, 1 - (0.57 if name else 0.4) / height, sizes, fontsize=10, color=SOFT, **_MIDDLE)


def _fill(sheet: _Sheet, labels: Mapping[int, str]) -> Fill:
    """Return what draws the whole picture: nodes, links, title and legend."""

    def fill(figure: Any) -> None:
        width, height = sheet.size
        axes = figure.add_axes((0, _LEGEND / height, 1, (height - _TITLE - _LEGEND) / height))
        axes.set_axis_off()
        middle = (sheet.place.min(axis=0) + sheet.place.max(axis=0)) / 2
        tall = height - _TITLE - _LEGEND
        axes.set(xlim=middle[0] + np.array([-width, width]) / 2, ylim=middle[1] + np.array([-tall, tall]) / 2)
        if sheet.topology.num_nodes <= NUMBERED:
            _draw_small(axes, sheet, labels)
            _draw_legend(figure, sheet, bool(labels))
        else:
            _draw_large(axes, sheet, labels)
        draw_title(figure, sheet.topology, sheet.size)

    return fill


def check_size(topology: Topology) -> None:
    """Raise TopologyError if a topology has more nodes than pictures show."""
    if topology.num_nodes > MAX_NODES:
        raise TopologyError(f"pictures are drawn up to {MAX_NODES} nodes, not {topology.num_nodes}")


def draw_topology(
    topology: Topology, path: AnyPath | None, labels: Mapping[int, str] | None = None, root: int | None = None
) -> Any:
    """Draw a topology, into a .svg or .png file if there is a path, and return the figure.

    ``labels`` gives text for some links, by link number; those are lit and drawn apart from their partners. With a
    ``root``, nodes stand in columns by their distance from it.

    >>> import tempfile, pathlib
    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0], "UniRing(1,3)")
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = draw_topology(ring, pathlib.Path(here, "ring.svg"), labels={0: "uplink"})
    ...     "uplink" in pathlib.Path(here, "ring.svg").read_text()
    True
    """
    if path is not None:
        check_drawable(path)
    fill, size = topology_picture(topology, labels, root)
    return save_picture(fill, path, size)


def topology_picture(
    topology: Topology,
    labels: Mapping[int, str] | None = None,
    root: int | None = None,
    place: Points | None = None,
) -> tuple[Fill, tuple[float, float]]:
    """Return what draws a topology, as ``draw_topology`` does, and the picture's width and height in inches.

    ``place`` says where nodes stand, a row of x and y for each.
    """
    check_size(topology)
    labels = labels or {}
    for e in labels:
        if not 0 <= e < topology.num_links:
            raise LinkstepError(f"labels: link must lie in [0, {topology.num_links}), not {e}")
    sheet = _sheet(topology, root, place)
    return _fill(sheet, labels), sheet.size


def topology_svg(topology: Topology) -> str:
    """Return a topology's picture as an SVG element, for notebooks.

    >>> topology_svg(Topology.from_links(3, [0, 1, 2], [1, 2, 0])).startswith("<svg")
    True
    """
    check_matplotlib()
    check_size(topology)
    sheet = _sheet(topology, None)
    return svg_text(_fill(sheet, {}), sheet.size)
