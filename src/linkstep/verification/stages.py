"""How much of a verification is done, for a caller that shows it."""

from __future__ import annotations

from linkstep.core.progress import Progress


class Stages:
    """Counts stages: reading, checking rules and making events, then one for each rank's memory."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._done, self._total = progress, 0, 0

    def expect(self, more: int) -> None:
        """Announce more to do."""
        self._total += more

    def advance(self) -> None:
        """Say that one more is done."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, max(self._total, self._done))
