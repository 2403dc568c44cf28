"""Which choice of an answer is the fastest at which sizes, as windows and as a selector's rules.

Not here: where windows end (``linkstep.problem.SizeRange``), and the file that says so (``linkstep.selector``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.costs import Fabric
from linkstep.problem import SizeRange
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
    >>> found = windows(find(20, 4, directed=True, families="paper"), Fabric.of("10us", "100Gbps", 4), (1000, 10**9))
    >>> [(str(w.choice.recipe), w.smallest, w.largest) for w in found]
    [('L(K_5)', 1000, 2500000), ('C(20,{3,4})', 2500001, 1000000000)]
    """
    if not answer.frontier:
        raise LinkstepError(f"there is no topology of {answer.num_nodes} servers and {answer.degree} ports to select")
    found = SizeRange(tuple(sizes), _SERVED).windows(answer.frontier, fabric)
    return tuple(Window(*window) for window in found)


def selector_of(found: Sequence[Window]) -> Selector:
    """Return the selector that these windows make."""
    return Selector(tuple(window.rule() for window in found))
