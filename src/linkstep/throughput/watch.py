"""When to stop, and whom to tell how near we are. Not here: what is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic

from linkstep.core.stopping import is_stopped

GapProgress = Callable[[float], None]
"""Called with the gap so far, bound / value - 1, from time to time."""


@dataclass
class Watch:
    """A time limit, a gap that is small enough, and what to call with the gap."""

    gap: Fraction
    seconds: float
    progress: GapProgress | None = None
    started: float = field(default_factory=monotonic)

    def is_up(self, value: Fraction, bound: Fraction) -> bool:
        """Tell the gap; whether time is up, or the work was stopped."""
        if self.progress is not None:
            self.progress(float(bound / value - 1))
        return is_stopped() or monotonic() - self.started > self.seconds

    def is_near(self, value: float, bound: float) -> bool:
        """Whether value and bound are as near as was asked for."""
        return bound <= value * (1 + float(self.gap))
