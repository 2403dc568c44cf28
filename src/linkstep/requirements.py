"""What an answer must meet: requirements, each a class with one rule.

A ``Problem`` has some. ``schedule`` refuses a wiring that one of them does not admit; ``find`` looks for wirings that
all of them admit; searches swap links until none has an excess. Not here: searching (``linkstep.search``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from linkstep.core.arguments import check_integer
from linkstep.core.columns import frozen
from linkstep.core.distances import diameter, distance_counts
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.notebook import html_table
from linkstep.core.text import shown
from linkstep.core.topology import Ids, Topology


class ScheduledWiring(Protocol):
    """A wiring with schedules, as requirements see it: a row of ``find``, or what a method would make."""

    @property
    def steps(self) -> int:
        """Steps of the collective, both halves of an allreduce counted."""

    @property
    def is_bidirectional(self) -> bool:
        """Whether all links are duplex."""

    def topology(self) -> Topology:
        """Build the wiring."""


def check_wired(wired: ScheduledWiring) -> ScheduledWiring:
    """Return a wiring with schedules; LinkstepError if it is none."""
    if isinstance(wired, type) or not hasattr(wired, "steps"):
        raise LinkstepError(f"a requirement judges a wiring with schedules, such as a Choice, not {shown(wired)}")
    return wired


Links = tuple[Ids, Ids]
"""Tails and heads: the links of a graph that a search is changing, in any order."""


class Requirement(ABC):
    """What an answer must meet: one rule, with its own class.

    >>> from linkstep import parse
    >>> requirement: Requirement = Duplex()
    >>> requirement.admits(parse("K_{2,2}").topology()) is None
    True
    """

    is_of_frontiers: ClassVar[bool] = False
    """Whether it admits whatever equals or beats a wiring that it admits, so that a frontier tells all there is."""

    @abstractmethod
    def admits(self, topology: Topology) -> str | None:
        """Return why a wiring cannot meet it, to follow its name, or None if it can."""

    def keeps(self, wired: ScheduledWiring) -> bool:
        """Whether a wiring with schedules meets it; builds the wiring, unless a requirement knows better."""
        return self.admits(check_wired(wired).topology()) is None

    def _repr_html_(self) -> str:
        return html_table("requirement", [(type(self).__name__, repr(self))])

    def excess(self, links: Links) -> int:
        """Return by how much links miss it, 0 if and only if they are admitted: what searches add to their energy.

        Unless a requirement counts, 1 for all that is refused, which does not tell a search where to go; what is in
        two parts and cannot be judged is refused.
        """
        try:
            return int(self.admits(_graph_of(links)) is not None)
        except TopologyError:
            return 1

    def arrange(self, topology: Topology) -> Ids | None:
        """Return the place of each node of a wiring that it admits, a permutation; None if any will do."""
        return None


def checked_links(links: object) -> Links:
    """Return tails and heads as columns; LinkstepError if they are none."""
    if not isinstance(links, tuple | list) or len(links) != 2:
        raise LinkstepError(f"links must be a pair of columns, tails and heads, not {shown(links)}")
    tail, head = (frozen(end, np.int32, what) for end, what in zip(links, ("tail", "head"), strict=True))
    if tail.size != head.size or min(tail.min(initial=0), head.min(initial=0)) < 0:
        raise LinkstepError("links must be as many tails as heads, all of them nodes from 0 on")
    return tail, head


def _graph_of(links: Links) -> Topology:
    tail, head = checked_links(links)
    return Topology.from_links(int(max(tail.max(initial=0), head.max(initial=0))) + 1, tail, head)


@dataclass(frozen=True)
class Duplex(Requirement):
    """All links are duplex (both ways).

    >>> from linkstep import parse
    >>> Duplex().admits(parse("UniRing(1,4)").topology())
    'has links that go one way'
    """

    is_of_frontiers = True  # searches look at nothing else

    def admits(self, topology: WiringLike) -> str | None:
        """Return why not."""
        return None if as_topology(topology).is_bidirectional else "has links that go one way"

    def keeps(self, wired: ScheduledWiring) -> bool:
        """Whether they do."""
        return check_wired(wired).is_bidirectional

    def excess(self, links: Links) -> int:
        """Return how many links have none back.

        >>> import numpy as np
        >>> Duplex().excess((np.array([0, 1, 2, 1]), np.array([1, 2, 0, 0])))
        2
        """
        pairs = Counter(zip(*(end.tolist() for end in checked_links(links)), strict=True))
        return sum(max(0, count - pairs[head, tail]) for (tail, head), count in pairs.items())


@dataclass(frozen=True)
class MaxSteps(Requirement):
    """The collective takes at most ``most`` steps: an allreduce, which rows of ``find`` are, both halves together.

    >>> from linkstep import parse
    >>> MaxSteps(3).admits(parse("UniRing(1,8)").topology())
    'takes 7 steps at least, more than 3'
    """

    most: int
    is_of_frontiers = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", check_integer("max_steps", self.most))
        if self.most < 1:
            raise LinkstepError(f"max_steps must be at least 1, not {shown(self.most)}")

    def admits(self, topology: WiringLike) -> str | None:
        """Return why not: no collective takes fewer steps than the diameter."""
        least = diameter(as_topology(topology))
        return None if least <= self.most else f"takes {least} steps at least, more than {self.most}"

    def keeps(self, wired: ScheduledWiring) -> bool:
        """Whether it does."""
        return check_wired(wired).steps <= self.most

    def excess(self, links: Links) -> int:
        """Return how many ordered pairs of nodes are farther apart, those without a path too.

        >>> import numpy as np
        >>> MaxSteps(2).excess((np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])))
        4
        """
        graph = _graph_of(links)
        return graph.num_nodes**2 - int(distance_counts(graph)[: self.most + 1].sum())
