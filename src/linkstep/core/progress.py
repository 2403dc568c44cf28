"""How work that takes long tells how far it is, to whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int | None], None]
"""Is called now and then with how much is done, and of how much in all, as far as that is known: it may grow, and
is None where nobody knows."""
