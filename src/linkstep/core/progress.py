"""How work that takes long reports how far it is, to a caller that shows it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int | None], None]
"""Is called now and then with how much is done, and of how much in all, as far as that is known: it may grow, and
is None where nobody knows."""
