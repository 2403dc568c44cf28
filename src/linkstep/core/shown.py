"""What notebooks show of a value that only rooms above know: functions by what they tell, filled in from above.

``linkstep`` itself, which stands above all rooms, fills it in as it is imported; so this imports next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable

SHOWN: dict[str, Callable[..., object]] = {}
"""``cost``: of a schedule. ``picture``: of a topology, as an SVG element; refused where nothing can draw it."""
