"""What a search may spend and what it draws from: seconds, and a state of random numbers. Not the search itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from linkstep.core.stopping import is_stopped


class OutOfTime(Exception):
    """The time allowed is used up; what was found so far stands."""


@dataclass
class Clock:
    """When to stop, and whom to tell."""

    seconds: float | None = None
    tell: Callable[[Fraction], None] | None = None
    _start: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise ``OutOfTime`` if there is no time left, or the work was stopped."""
        if is_stopped():
            raise OutOfTime
        if self.seconds is not None and time.monotonic() - self._start > self.seconds:
            raise OutOfTime

    def say(self, total: Fraction) -> None:
        """Tell of a better total time."""
        if self.tell is not None:
            self.tell(total)


def random_state(seed: int) -> NDArray[np.uint64]:
    """Return the state that the kernels draw random numbers from."""
    return np.array([(seed + 1) * 0x9E3779B97F4A7C15 % 2**64 | 1], np.uint64)
