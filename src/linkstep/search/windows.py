"""Which choice of an answer is the fastest at which sizes: the lower envelope of their times over the size.

The time of a choice grows evenly with the size, so two choices change places at one size at most, and that size is
exact. Not here: the file that says so (``linkstep.selector``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.costs import Fabric
from linkstep.search.answer import Answer
from linkstep.search.choice import Choice
from linkstep.selector import Rule, Selector

_SERVED = Collective.ALLREDUCE


@dataclass(frozen=True)
class Window:
    """A choice and the sizes in bytes, both ends included, at which no other choice takes less time."""

    choice: Choice
    smallest: int
    largest: int

    def rule(self) -> Rule:
        """Return what a selector says of it."""
        return Rule(_SERVED, self.smallest, self.largest, str(self.choice.recipe), **self.choice.how)


def windows(answer: Answer, fabric: Fabric, sizes: Sequence[int]) -> tuple[Window, ...]:
    """Return which choice of an answer makes the fastest allreduce, from the smallest of some sizes to the largest.

    A window ends where the next choice becomes faster; at a size at which both take the same, the one with fewer steps
    stays.

    >>> from linkstep.search import find
    >>> found = windows(find(20, 4, families="paper"), Fabric.of("10us", "100Gbps", 4), (1000, 10**9))
    >>> [(str(w.choice.recipe), w.smallest, w.largest) for w in found]
    [('L(K_5)', 1000, 2500000), ('C(20,{3,4})', 2500001, 1000000000)]
    """
    if not answer.frontier:
        raise LinkstepError(f"there is no topology of {answer.num_nodes} servers and {answer.degree} ports to select")
    at, last = min(sizes), max(sizes)
    found: list[Window] = []
    while at <= last:
        choice = min(answer.frontier, key=lambda c: (_time(c, fabric, at), c.allreduce_cost.bandwidth))
        end = min([last, *_overtaken(choice, answer.frontier, fabric)])
        found.append(Window(choice, at, end))
        at = end + 1
    return tuple(found)


def selector_of(found: Sequence[Window]) -> Selector:
    """Return the selector that these windows make."""
    return Selector(tuple(window.rule() for window in found))


def _time(choice: Choice, fabric: Fabric, size: int) -> Fraction:
    return fabric.time(choice.allreduce_cost, _SERVED, size)


def _overtaken(choice: Choice, others: Sequence[Choice], fabric: Fabric) -> Iterator[int]:
    """List the last sizes at which a choice is no slower than each of those that take less time for a byte more."""
    start = _time(choice, fabric, 0)
    slope = _time(choice, fabric, 1) - start
    for other in others:
        other_start = _time(other, fabric, 0)
        gained = slope - (_time(other, fabric, 1) - other_start)
        if gained > 0:
            yield floor((other_start - start) / gained)
