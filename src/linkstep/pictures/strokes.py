"""Lines between nodes and texts beside them: which links share a line, how lines bend, and where texts fit.

Not here: where nodes stand (``linkstep.pictures.layout``) and what a colour means (the pictures themselves).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np

from linkstep.core.topology import Topology
from linkstep.pictures.layout import Points

POINTS = 72
"""To the inch: sizes of texts and nodes are in points."""


@dataclass(frozen=True)
class Stroke:
    """One line of a picture from node u to node w; ``link`` is -1 for a duplex link.

    ``bend`` is how far it leans to the right of its way, None where it may lean either way.
    """

    u: int
    w: int
    link: int
    bend: float | None = 0.0


def strokes(topology: Topology, apart: Collection[int] = ()) -> list[Stroke]:
    """Pair up duplex links, keep the rest one-way, and bend those that would lie on each other.

    Links in ``apart`` are never paired.
    """
    by_pair: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for e, (u, w) in enumerate(zip(topology.tail.tolist(), topology.head.tolist(), strict=True)):
        there, back = by_pair.setdefault((min(u, w), max(u, w)), ([], []))
        (there if u <= w else back).append(e)
    found = []
    for (u, w), (there, back) in by_pair.items():
        if u == w:
            found += [Stroke(u, u, e) for e in there]
            continue
        free = min(len([e for e in there if e not in apart]), len([e for e in back if e not in apart]))
        one_way = [(u, w, e) for e in sorted(there, key=lambda e: e not in apart)[: len(there) - free]]
        one_way += [(w, u, e) for e in sorted(back, key=lambda e: e not in apart)[: len(back) - free]]
        ways = [(u, w, -1)] * free + one_way
        if len(ways) == 1:
            found.append(Stroke(*ways[0], bend=0.0 if free else None))
            continue
        for i, (a, b, e) in enumerate(ways):
            bend = i - (len(ways) - 1) / 2
            found.append(Stroke(a, b, e, bend if a == u else -bend))
    return found


def along(a: Points, b: Points, rad: float, part: float) -> Points:
    """Return the point of matplotlib's arc3 curve from a to b at ``part`` of the way."""
    dx, dy = b - a
    control = (a + b) / 2 + rad * np.array([dy, -dx])
    return np.asarray((1 - part) ** 2 * a + 2 * part * (1 - part) * control + part**2 * b)


def draw_stroke(axes: Any, a: Points, b: Points, rad: float, *, size: float, arrow: bool, **look: Any) -> None:
    """Draw a line or an arrow between two nodes of ``size`` points, bent by ``rad`` (matplotlib's arc3)."""
    from matplotlib.patches import FancyArrowPatch

    stroke = FancyArrowPatch(
        tuple(a), tuple(b), arrowstyle="-|>" if arrow else "-", connectionstyle=f"arc3,rad={rad:.6f}",
        shrinkA=size / 2, shrinkB=size / 2 + arrow, mutation_scale=min(11.0, 0.4 * size + 2), joinstyle="miter", **look,
    )  # fmt: skip
    axes.add_patch(stroke)


@cache
def _text_paths() -> Any:
    from matplotlib.textpath import TextToPath

    return TextToPath()


@lru_cache(maxsize=4096)
def text_size(text: str, points: float) -> tuple[float, float]:
    """Return the width and height of a line of text in points."""
    from matplotlib.font_manager import FontProperties

    width, height, _ = _text_paths().get_text_width_height_descent(text, FontProperties(size=points), ismath=False)
    return width * POINTS / _text_paths().DPI, height * POINTS / _text_paths().DPI


Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def _overlap(a: Box, b: Box) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


@dataclass
class Placer:
    """Finds spots for texts that lie on nothing placed before; all in points."""

    taken: list[Box] = field(default_factory=list)

    def block(self, x: float, y: float, width: float, height: float) -> None:
        """Keep a box, given by its middle, free of texts."""
        self.taken.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))

    def place(self, spots: Iterable[tuple[float, float]], width: float, height: float) -> tuple[float, float]:
        """Take the first of some spots at which a box of this size lies free, or the one with least below it."""
        best, least = (0.0, 0.0), np.inf
        for x, y in spots:
            box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            covered = sum(_overlap(box, other) for other in self.taken)
            if covered < least:
                best, least = (x, y), covered
            if not covered:
                break
        self.block(*best, width, height)
        return best
