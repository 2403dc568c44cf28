"""What the page shows: a document of panels, each a view's facts and columns.

A panel's ``kind`` names the view that shows it; its data are what JSON takes, with numpy arrays where there are many
numbers. Facts come from ``linkstep.reports``, so that the page and the commands say the same. Not here: what a kind's
data are made of (``linkstep.explorer.panels``) and how a document travels (``linkstep.explorer.packing``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS = ("choose", "wiring", "schedule", "file", "time", "cabling", "runs")
"""The views, in the order of the page's tabs."""


@dataclass(frozen=True)
class Panel:
    """What one view shows."""

    kind: str
    """One of ``KINDS``."""
    title: str
    """What it is of, in a few words: a tab's name where a document has several of a kind."""
    data: Mapping[str, Any]
    """JSON, and numpy arrays."""

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind


@dataclass(frozen=True)
class Document:
    """A page's content.

    >>> Document("K_3", (Panel("wiring", "K_3", {}),)).panels[0].kind
    'wiring'
    """

    title: str
    panels: tuple[Panel, ...]
