"""What an answer must meet: requirements, each a class with one rule.

A ``Problem`` has some. ``schedule`` refuses a wiring that one of them does not admit; ``find`` looks for wirings that
all of them admit; searches swap links until none has an excess. Not here: searching (``linkstep.search``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Protocol

from linkstep.core.arguments import check_integer
from linkstep.core.distances import diameter, distance_counts
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.text import shown
from linkstep.core.topology import Ids, Topology


class ScheduledWiring(Protocol):
    """A wiring with schedules, as requirements see it: a row of ``find``, or what a method would make."""

    @property
    def half_steps(self) -> int:
        """Steps of a reduce-scatter, an allgather or whatever else is one phase."""

    @property
    def is_bidirectional(self) -> bool:
        """Whether all links are duplex."""

    def topology(self) -> Topology:
        """Build the wiring."""


Links = tuple[Ids, Ids]
"""Tails and heads: the links of a graph that a search is changing, in any order."""


class Requirement(ABC):
    """What an answer must meet: one rule, with its own class."""

    is_of_frontiers: ClassVar[bool] = False
    """Whether it admits whatever equals or beats a wiring that it admits, so that a frontier tells all there is."""

    @abstractmethod
    def admits(self, topology: Topology) -> str | None:
        """Return why a wiring cannot meet it, to follow its name, or None if it can."""

    def keeps(self, wired: ScheduledWiring) -> bool:
        """Whether a wiring with schedules meets it; builds the wiring, unless a requirement knows better."""
        return self.admits(wired.topology()) is None

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


def _graph_of(links: Links) -> Topology:
    tail, head = links
    return Topology.from_links(int(max(tail.max(initial=0), head.max(initial=0))) + 1, tail, head)


@dataclass(frozen=True)
class Duplex(Requirement):
    """All links are duplex (both ways)."""

    is_of_frontiers = True  # searches look at nothing else

    def admits(self, topology: Topology) -> str | None:
        """Return why not."""
        return None if topology.is_bidirectional else "has links that go one way"

    def keeps(self, wired: ScheduledWiring) -> bool:
        """Whether they do."""
        return wired.is_bidirectional

    def excess(self, links: Links) -> int:
        """Return how many links have none back.

        >>> import numpy as np
        >>> Duplex().excess((np.array([0, 1, 2, 1]), np.array([1, 2, 0, 0])))
        2
        """
        pairs = Counter(zip(*(end.tolist() for end in links), strict=True))
        return sum(max(0, count - pairs[head, tail]) for (tail, head), count in pairs.items())


@dataclass(frozen=True)
class MaxSteps(Requirement):
    """No reduce-scatter and no allgather, each of them half of an allreduce, takes more than ``most`` steps."""

    most: int
    is_of_frontiers = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", check_integer("max_steps", self.most))
        if self.most < 1:
            raise LinkstepError(f"max_steps must be at least 1, not {shown(self.most)}")

    def admits(self, topology: Topology) -> str | None:
        """Return why not: nothing takes fewer steps than the diameter."""
        least = diameter(topology)
        return None if least <= self.most else f"takes {least} steps at least, more than {self.most}"

    def keeps(self, wired: ScheduledWiring) -> bool:
        """Whether they do."""
        return wired.half_steps <= self.most

    def excess(self, links: Links) -> int:
        """Return how many ordered pairs of nodes are farther apart, those without a path too.

        >>> import numpy as np
        >>> MaxSteps(2).excess((np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])))
        4
        """
        graph = _graph_of(links)
        return graph.num_nodes**2 - int(distance_counts(graph)[: self.most + 1].sum())
