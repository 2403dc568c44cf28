"""What the lowest rooms need of those above them: functions by what they do, filled in from above.

``linkstep`` itself, which stands above all rooms, fills it in as it is imported; so this imports next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable

ABOVE: dict[str, Callable[..., object]] = {}
"""``cost``: of a schedule. ``picture``: of a topology, as an SVG element; refused where nothing can draw it.
``read``: what a text names, a topology, a schedule or a recipe. ``schedule``: the allreduce made on a wiring."""
