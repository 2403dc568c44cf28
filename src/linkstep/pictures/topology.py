"""Pictures of topologies, as ``.svg`` or ``.png``. Needs matplotlib: ``pip install 'linkstep[plot]'``.

Up to 64 nodes every node has its number: a plain line is a pair of links both ways, an arrow a link one way
in the colour of the node it leaves. Beyond that nodes are dots and links thin lines. The same topology always
gives the same bytes (with the same matplotlib).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import igraph
import numpy as np
from numpy.typing import NDArray

from linkstep.core.errors import FileError, LinkstepError, TopologyError
from linkstep.core.topology import Topology, distances_from
from linkstep.files import AnyPath, to_path, write_atomically

MAX_NODES = 5000

Points = NDArray[np.float64]

_NUMBERED = 64  # most nodes that get a number
_RING = 24  # most nodes that always stand on a circle
_SPRUNG = 2500  # most nodes for which springs settle in seconds
_PLAIN = "#8a94a6"
_LIT = "#d7263d"
_STYLE: Any = {
    "svg.hashsalt": "linkstep",
    "svg.fonttype": "none",  # node numbers stay text
    "font.family": "DejaVu Sans",
    "text.parse_math": False,  # a $ in a name is a $
    "text.usetex": False,
    "savefig.bbox": None,
    "savefig.transparent": False,
}
_MIDDLE: Any = {"ha": "center", "va": "center"}


def _circle(num_nodes: int) -> Points:
    """Place nodes clockwise on the unit circle, node 0 at the top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(num_nodes) / num_nodes
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * (num_nodes > 1)


def _mean_length(topology: Topology, place: Points) -> float:
    if not topology.num_links:
        return 0.0
    return float(np.linalg.norm(place[topology.tail] - place[topology.head], axis=1).mean())


def _walk_order(topology: Topology) -> list[int]:
    """Return the nodes along a depth-first walk, the least unvisited neighbour first."""
    order: list[int] = []
    seen = [False] * topology.num_nodes
    for root in range(topology.num_nodes):
        stack = [root]
        while stack:
            u = stack.pop()
            if not seen[u]:
                seen[u] = True
                order.append(u)
                near = topology.head[topology.out_ptr[u] : topology.out_ptr[u + 1]]
                stack += near[::-1].tolist()
    return order


def _springs(topology: Topology) -> Points:
    """Place nodes so that distances drawn follow those in the graph (Kamada-Kawai), from a circle on."""
    edges = list(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    graph = igraph.Graph(n=topology.num_nodes, edges=edges).simplify()
    start = (_circle(topology.num_nodes) * topology.num_nodes**0.5 / 2).tolist()  # of the size it settles to
    place = np.array(graph.layout_kamada_kawai(seed=start, maxiter=20 * topology.num_nodes).coords, np.float64)
    place -= place.mean(axis=0)
    place /= np.linalg.norm(place, axis=1).max()
    # Turn node 0 to the top and the numbers clockwise, as on a circle.
    x, y = place[0] / max(float(np.hypot(*place[0])), 1e-9)
    place = place @ np.array([[y, x], [-x, y]])
    after = np.roll(place, -1, axis=0)
    clockwise = (place[:, 0] * after[:, 1] - place[:, 1] * after[:, 0]).sum() < 0
    return np.asarray(place * (1 if clockwise else -1, 1))


def layout(topology: Topology) -> Points:
    """Return a place in the unit disc for every node.

    A circle, in the order of the numbers; small bidirectional graphs along a walk where that is much shorter.
    Only graphs of which a circle shows nothing, because most links join neighbours on it (tori, large
    circulants), are laid out by springs. Not by eigenvectors: on symmetric graphs many nodes share one spot.
    """
    n = topology.num_nodes
    circle = _circle(n)
    if n <= _RING and not topology.is_bidirectional:
        return circle
    if n <= _RING:
        walked = np.empty_like(circle)
        walked[_walk_order(topology)] = circle
        shorter = _mean_length(topology, walked) < 0.85 * _mean_length(topology, circle)
        return walked if shorter else circle
    ring = 2 * np.sin(np.pi / n)  # if all links are that short, a circle is what springs would give
    if n <= _SPRUNG and 1.01 * ring < _mean_length(topology, circle) < 0.7:
        return _springs(topology)
    return circle


def _by_distance(topology: Topology, root: int) -> Points:
    """Place nodes in columns by their distance from the root, each near the nodes its shortest paths come through."""
    dist = distances_from(topology, root)
    columns = [np.flatnonzero(dist == t) for t in range(int(dist.max()) + 1)]
    place = np.zeros((topology.num_nodes, 2))
    for t, column in enumerate(columns):
        height = np.zeros(column.size)
        for i, u in enumerate(column.tolist() if t else ()):
            tails = topology.tail[topology.in_link[topology.in_ptr[u] : topology.in_ptr[u + 1]]]
            height[i] = -place[tails[dist[tails] == t - 1], 1].mean()
        column = column[np.lexsort((column, height.round(9)))]
        place[column, 0] = -1 + 2 * t / max(1, len(columns) - 1)
        place[column, 1] = np.linspace(0.8, -0.8, column.size) if column.size > 1 else 0.0
    return place


@dataclass(frozen=True)
class _Line:
    """One stroke of the picture from node u to node w; ``link`` is -1 for a pair of links both ways.

    ``bend`` is how far it leans to the right of its way, None where it may lean either way.
    """

    u: int
    w: int
    link: int
    bend: float | None = 0.0


def _lines(topology: Topology, apart: frozenset[int]) -> list[_Line]:
    """Pair up links both ways, keep the rest one-way, and bend those that would lie on each other.

    Links in ``apart`` are never paired.
    """
    by_pair: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for e, (u, w) in enumerate(zip(topology.tail.tolist(), topology.head.tolist(), strict=True)):
        there, back = by_pair.setdefault((min(u, w), max(u, w)), ([], []))
        (there if u <= w else back).append(e)
    lines = []
    for (u, w), (there, back) in by_pair.items():
        if u == w:
            lines += [_Line(u, u, e) for e in there]
            continue
        free = min(len([e for e in there if e not in apart]), len([e for e in back if e not in apart]))
        one_way = [(u, w, e) for e in sorted(there, key=lambda e: e not in apart)[: len(there) - free]]
        one_way += [(w, u, e) for e in sorted(back, key=lambda e: e not in apart)[: len(back) - free]]
        strokes = [(u, w, -1)] * free + one_way
        if len(strokes) == 1:
            lines.append(_Line(*strokes[0], bend=0.0 if free else None))
            continue
        for i, (a, b, e) in enumerate(strokes):
            bend = i - (len(strokes) - 1) / 2
            lines.append(_Line(a, b, e, bend if a == u else -bend))
    return lines


def _hues(num_nodes: int) -> NDArray[np.float64]:
    """Return a colour for each node, all about equally dark, going round once."""
    from matplotlib.colors import hsv_to_rgb

    hsv = np.full((num_nodes, 3), (0.58, 0.75, 0.72))  # blue first
    hsv[:, 0] = (hsv[:, 0] + np.arange(num_nodes) / num_nodes) % 1
    return np.asarray(hsv_to_rgb(hsv))


def _draw_small(axes: Any, topology: Topology, place: Points, labels: Mapping[int, str]) -> None:
    """Draw every node with its number and every link by itself."""
    from matplotlib.patches import Circle, FancyArrowPatch

    n = topology.num_nodes
    size = 24.0 if n <= 16 else 20.0 if n <= 32 else 17.0  # of a node, in points
    hues = _hues(n)
    loops = dict.fromkeys(range(n), 0)
    for line in _lines(topology, frozenset(labels)):
        lit = line.link in labels
        color = _LIT if lit else _PLAIN if line.link < 0 else hues[line.u]
        width = 2.2 if lit else 1.3
        a, b = place[line.u], place[line.w]
        if line.u == line.w:
            loops[line.u] += 1
            radius = size / 24 * (0.05 + 0.035 * loops[line.u])
            away = a / np.hypot(*a) if np.hypot(*a) > 1e-6 else np.array([0.0, 1.0])
            middle = a + away * (radius + 0.03)
            axes.add_patch(Circle(tuple(middle), radius, fill=False, color=color, lw=width, zorder=1))
            spot = middle + away * radius
        else:
            rad = _rad(line, a, b) * (1.4 if lit else 1.0)
            arrow = line.link >= 0
            stroke = FancyArrowPatch(
                tuple(a), tuple(b), arrowstyle="-|>" if arrow else "-", connectionstyle=f"arc3,rad={rad:.6f}",
                shrinkA=size / 2, shrinkB=size / 2 + arrow, mutation_scale=11 if n <= 32 else 8,
                color=color, lw=width, zorder=2 if lit else 1, joinstyle="miter",
            )  # fmt: skip
            axes.add_patch(stroke)
            spot = _along(a, b, rad, 0.4)  # not halfway: that is where the link back has its label
        if lit:
            _label(axes, spot, labels[line.link])
    axes.scatter(*place.T, s=size**2, c=hues, zorder=3, linewidths=1.2, edgecolors="white")
    for node in range(n):
        number = {"color": "white", "fontsize": 0.45 * size, "ha": "center", "va": "center_baseline"}
        axes.text(*place[node], str(node), zorder=4, **number)


def _rad(line: _Line, a: Points, b: Points) -> float:
    """Return matplotlib's arc3 curvature; a lone arrow leans to the middle, off the nodes on the rim."""
    (dx, dy), (mx, my) = b - a, a + b
    bend = line.bend if line.bend is not None else 0.8 if dx * my >= dy * mx else -0.8
    return 0.16 * bend * min(1.0, 0.9 / max(float(np.hypot(dx, dy)), 1e-9))


def _along(a: Points, b: Points, rad: float, part: float) -> Points:
    """Return the point of matplotlib's arc3 curve from a to b at ``part`` of the way."""
    dx, dy = b - a
    control = (a + b) / 2 + rad * np.array([dy, -dx])
    return (1 - part) ** 2 * a + 2 * part * (1 - part) * control + part**2 * b


def _label(axes: Any, spot: Points, text: str) -> None:
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": _LIT, "linewidth": 0.6}
    axes.text(*spot, _printable(text), color=_LIT, fontsize=8, zorder=5, bbox=box, **_MIDDLE)


def _draw_large(axes: Any, topology: Topology, place: Points, labels: Mapping[int, str]) -> None:
    """Draw nodes as dots and links as thin lines, one for both ways and for parallels."""
    from matplotlib.collections import LineCollection

    n = topology.num_nodes
    pairs = np.sort(np.stack([topology.tail, topology.head], axis=1), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    hues = _hues(n)
    alpha = float(np.clip(1200 / max(len(pairs), 1), 0.22, 0.75))
    width = 0.9 if len(pairs) <= 3000 else 0.5
    lines = LineCollection(list(place[pairs]), colors=hues[pairs[:, 0]], linewidths=width, alpha=alpha, zorder=1)
    lines.set_rasterized(len(pairs) > 20_000)  # an SVG of more lines opens slowly
    axes.add_collection(lines)
    axes.scatter(*place.T, s=float(np.clip(4000 / n, 1.5, 30)), c=hues, zorder=3, linewidths=0)
    for e in sorted(labels):
        ends = place[[topology.tail[e], topology.head[e]]]
        axes.plot(*ends.T, color=_LIT, linewidth=1.6, zorder=2)
        _label(axes, ends.mean(axis=0), labels[e])


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _figure(topology: Topology, labels: Mapping[int, str], root: int | None) -> Any:
    """Return the whole picture: nodes, links and title."""
    from matplotlib.figure import Figure

    place = layout(topology) if root is None else _by_distance(topology, root)
    small = topology.num_nodes <= _NUMBERED
    side = 5.6 if topology.num_nodes <= _RING else 8.0
    figure = Figure(figsize=(side, side + 0.6))
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96 * side / (side + 0.6)))
    axes.set_axis_off()
    axes.set_aspect("equal")
    reach = 1.14 + (0.14 if small and topology.num_self_loops else 0)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    (_draw_small if small else _draw_large)(axes, topology, place, labels)
    name = _printable(topology.name)
    name = name if len(name) <= 60 else f"{name[:57]}..."
    size = f"N = {topology.num_nodes}, d = {topology.degree}"
    figure.text(0.5, 0.965, name or size, fontsize=2.5 * side, color="#22262e", **_MIDDLE)
    if name:
        figure.text(0.5, 0.925, size, fontsize=1.8 * side, color="#5b6474", **_MIDDLE)
    return figure


def draw_topology(
    topology: Topology, path: AnyPath, labels: Mapping[int, str] | None = None, root: int | None = None
) -> None:
    """Draw a topology into a .svg or .png file.

    ``labels`` gives text for some links, by link number; those are lit and drawn apart from their partners. With a
    ``root``, nodes stand in columns by their distance from it.

    >>> import tempfile, pathlib
    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0], "UniRing(1,3)")
    >>> with tempfile.TemporaryDirectory() as here:
    ...     draw_topology(ring, pathlib.Path(here, "ring.svg"), labels={0: "step 1"})
    ...     "step 1" in pathlib.Path(here, "ring.svg").read_text()
    True
    """
    suffix = to_path(path).suffix.lower()
    if suffix not in (".svg", ".png"):
        raise FileError(f"{path}: the name of a picture must end in .svg or .png")
    if topology.num_nodes > MAX_NODES:
        raise TopologyError(f"pictures are drawn up to {MAX_NODES} nodes, not {topology.num_nodes}")
    labels = labels or {}
    for e in labels:
        if not 0 <= e < topology.num_links:
            raise LinkstepError(f"labels: link must lie in [0, {topology.num_links}), not {e}")
    try:
        import matplotlib
    except ImportError:
        raise LinkstepError("drawing needs matplotlib: pip install 'linkstep[plot]'") from None
    with matplotlib.rc_context(_STYLE):
        figure = _figure(topology, labels, root)
        # No date and no version: the same picture is the same file.
        metadata = {"Date": None, "Creator": "linkstep"} if suffix == ".svg" else {"Software": None}
        options = {"format": suffix[1:], "dpi": 160, "metadata": metadata, "facecolor": "white"}
        write_atomically(path, lambda file: figure.savefig(file, **options))
