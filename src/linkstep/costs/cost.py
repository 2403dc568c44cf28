"""What a schedule costs, exactly.

A cost is (steps, bandwidth): ``steps`` times alpha plus ``bandwidth`` times M/B seconds (sec:costmodelmain).
Both are exact. Not here: those of a schedule (``linkstep.costs.seconds``), and what they are worth (``Fabric``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.arguments import check_kind
from linkstep.core.notebook import html_table


@dataclass(frozen=True)
class Cost:
    """T_L in units of alpha and T_B in units of M/B.

    >>> Cost(2, Fraction(3, 4)).is_within(Cost(2, Fraction(1)))
    True
    """

    steps: int
    bandwidth: Fraction

    def __add__(self, other: Cost) -> Cost:
        """One after the other."""
        return Cost(self.steps + other.steps, self.bandwidth + other.bandwidth)

    @classmethod
    def zero(cls) -> Cost:
        """Nothing to do; what a sum of costs starts from."""
        return cls(0, Fraction(0))

    def is_within(self, other: Cost) -> bool:
        """Whether this is no worse in either part."""
        try:
            return self.steps <= other.steps and self.bandwidth <= other.bandwidth
        except (AttributeError, TypeError):
            check_kind("a cost", other, Cost)
            raise

    def __str__(self) -> str:
        return f"{self.steps} alpha + {self.bandwidth} M/B"

    def _repr_html_(self) -> str:
        return html_table("cost", [("T_L, steps", self.steps), ("T_B, in M/B", self.bandwidth)])
