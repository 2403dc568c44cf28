"""What one rank did when in one call: the begin and end of every wait, every send and all work between, by its clock.

A clock is read before and after each call into the transport, into a buffer that is there before the call begins; what
was done at each time is known from the plan, so that nothing else is noted meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

WAIT, FLUSH, SEND, COMPUTE, COPY = "wait", "flush", "send", "compute", "copy"
"""Waiting for messages, for one's own to leave, starting some, adding up, bringing data to buffers and back."""
KINDS = (WAIT, FLUSH, SEND, COMPUTE, COPY)


class Act(NamedTuple):
    """Something that a rank did from ``begin`` to ``end``, in nanoseconds of its clock."""

    kind: str
    """One of ``KINDS``."""
    level: int
    """Of its plan; -1 before the first and after the last."""
    begin: int
    end: int


class Recording:
    """The clock's readings of one call, and what they mean once it is over."""

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._times: list[int] = []
        self._at = 0
        self._borders: list[int] = []
        self._order: Sequence[tuple[str, int]] = ()

    def reserve(self, order: Sequence[tuple[str, int]]) -> None:
        """Make room for what will be done, in this order: calls, and work between them."""
        self._order = order
        self._times = [0] * (2 * len(order))

    def border(self) -> None:
        """Note that the call begins, that its data is in place, that its messages are done, or that it ends."""
        self._borders.append(self._clock())

    def timed(self, call: Callable[[Sequence[Any]], None]) -> Callable[[Sequence[Any]], None]:
        """Return a call of the transport that notes when it begins and ends."""
        clock, times = self._clock, self._times

        def run(handles: Sequence[Any]) -> None:
            times[self._at] = clock()
            call(handles)
            times[self._at + 1] = clock()
            self._at += 2

        return run

    def acts(self) -> list[Act]:
        """Return what was done, in order; work is what lies between two calls where there was any."""
        if not self._borders:  # there was nothing to do
            return []
        begin, loaded, ran, end = self._borders
        calls = iter(zip(self._times[::2], self._times[1::2], strict=True))
        found, last, pending = [Act(COPY, -1, begin, loaded)], loaded, -1
        for kind, level in self._order:
            if kind == COMPUTE:
                pending = level if pending < 0 else pending
                continue
            start, stop = next(calls)
            if pending >= 0:
                found.append(Act(COMPUTE, pending, last, start))
            found.append(Act(kind, level, start, stop))
            last, pending = stop, -1
        if pending >= 0:
            found.append(Act(COMPUTE, pending, last, ran))
        return [*found, Act(COPY, -1, ran, end)]
