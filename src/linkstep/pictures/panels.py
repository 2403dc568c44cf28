"""Several pictures side by side in one, each with its caption. Not here: what each shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from linkstep.files import AnyPath
from linkstep.pictures.strokes import POINTS, text_size
from linkstep.pictures.style import Fill, save_picture

_TITLE, _CAPTION = 0.45, 0.4
"""Inches above all panels for the title, and below each for its caption."""
_POINTS = 14
"""The size of the title's letters."""


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture with its size in inches, as ``topology_picture`` and ``broadcast_picture`` return both."""

    caption: str
    picture: tuple[Fill, tuple[float, float]]


def draw_panels(panels: Sequence[CaptionedPicture], title: str, path: AnyPath) -> None:
    """Draw panels in a row, with (a), (b), ... before their captions, into a .svg or .png file."""
    sizes = [panel.picture[1] for panel in panels]
    tallest, side_by_side = max(size[1] for size in sizes), sum(size[0] for size in sizes)
    width = max(side_by_side, text_size(title, _POINTS)[0] / POINTS + _CAPTION)
    height = tallest + _TITLE + _CAPTION

    def fill(figure: Any) -> None:
        figure.text(0.5, 1 - _TITLE / 2 / height, title, fontsize=_POINTS, ha="center", va="center")
        # Panels keep their own sizes, which cells of a grid would not let them.
        grid = figure.add_gridspec(1, len(panels))
        left = (width - side_by_side) / 2
        for number, (panel, (wide, tall)) in enumerate(zip(panels, sizes, strict=True)):
            part = figure.add_subfigure(grid[0, number])
            low = _CAPTION + (tallest - tall) / 2
            part.bbox_relative.p0 = left / width, low / height
            part.bbox_relative.p1 = (left + wide) / width, (low + tall) / height
            panel.picture[0](part)
            caption = panel.caption if len(panels) == 1 else f"({ascii_lowercase[number]}) {panel.caption}"
            figure.text(
                (left + wide / 2) / width, _CAPTION / 2 / height, caption, fontsize=10, ha="center", va="center"
            )
            left += wide

    save_picture(fill, path, (width, height))
