"""How far lowering is: passes over the messages counted for a callback. Not a progress bar, which is the caller's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from linkstep.core.progress import Progress

_T = TypeVar("_T")
_EVERY = 1024
_PART = 1000


class Meter:
    """Reports the passes that an attempt makes, each of equal weight."""

    def __init__(self, report: Progress | None = None, passes: int = 1) -> None:
        self._report, self._per_attempt = report, passes
        self._expected = self._begun = 0

    def attempt(self) -> None:
        """Expect the passes of one more attempt."""
        self._expected = self._begun + self._per_attempt

    def finish(self) -> None:
        """Report that all is done, whatever was expected."""
        if self._report is not None:
            total = _PART * max(self._expected, self._begun)
            self._report(total, total)

    def through(self, items: Iterable[_T], size: int) -> Iterator[_T]:
        """Yield the items of one pass, of which there are ``size``, and report now and then."""
        if self._report is None:
            yield from items
            return
        done, total = _PART * self._begun, _PART * max(self._expected, self._begun + 1)
        self._begun += 1
        for k, item in enumerate(items):
            if not k % _EVERY:
                self._report(done + min(_PART * k // max(size, 1), _PART), total)
            yield item
        self._report(done + _PART, total)


SILENT = Meter()
