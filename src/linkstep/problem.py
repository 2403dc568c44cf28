"""A question as a value: what is there or wanted, what runs on it, by what answers are judged, what they must meet.

``find`` takes a ``Problem`` of N servers with d ports, ``schedule`` one of a wiring; their short calls make one. An
``Objective`` turns what a candidate costs into seconds: everything that ranks (rows of ``find``, windows of sizes, the
methods of ``schedule``, training jobs) asks one. A ``Requirement`` says what is not an answer at all. Not here: the
objective of a training job (``linkstep.simulation.training``), and searching.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from types import NoneType
from typing import ClassVar, Protocol, TypeVar

from linkstep.core.arguments import check_integer, check_kind
from linkstep.core.collective import Collective
from linkstep.core.distances import diameter, distance_counts
from linkstep.core.errors import LinkstepError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import COLLECTIVES
from linkstep.core.text import shown
from linkstep.core.topology import Ids, Topology
from linkstep.core.units import Number, check_count, parse_size
from linkstep.costs import Cost, Fabric, usual_fabric
from linkstep.methods.bfb import MAX_DEGREE
from linkstep.recipe import Recipe, parse, resolve

MAX_NODES = 10**7
"""The most servers that a problem may ask for."""

Price = Callable[[Cost], Fraction]
"""What the cost of a collective is worth, in seconds say."""


class Candidate(Protocol):
    """What an objective judges: a row of ``find``, a bound, or what a method would make."""

    @property
    def num_nodes(self) -> int:
        """N."""

    @property
    def flow(self) -> Fraction | None:
        """The all-to-all throughput: what every pair gets at once when a link carries 1; None: not known."""

    def cost_of(self, collective: Collective) -> Cost | None:
        """Return what a collective costs; None: not known."""


@dataclass(frozen=True)
class Figures:
    """A candidate that is nothing but its figures."""

    num_nodes: int
    costs: tuple[tuple[Collective, Cost], ...] = ()
    flow: Fraction | None = None

    def cost_of(self, collective: Collective) -> Cost | None:
        """Return what a collective costs; None: not known."""
        return dict(self.costs).get(collective)


class Objective(Protocol):
    """What answers are judged by: less seconds are better."""

    @property
    def exchanges(self) -> bool:
        """Whether all-to-all throughput counts."""

    def seconds(self, candidate: Candidate, fabric: Fabric) -> Fraction | None:
        """Return what it takes, exactly; None where a figure that counts is not known."""


@dataclass(frozen=True)
class Call:
    """One call of a collective of ``size`` bytes in all; of an all-to-all, of what each server sends.

    Candidates by an all-to-all of any size are candidates by all-to-all throughput.

    >>> ring = Figures(4, ((Collective.ALLREDUCE, Cost(6, Fraction(3, 2))),), Fraction(1, 2))
    >>> fabric = Fabric.of("1us", "8Gbps", 2)
    >>> [int(Call(kind, 1000).seconds(ring, fabric) * 10**9) for kind in ("allreduce", "all-to-all")]
    [7500, 1000]
    """

    collective: Collective | str
    size: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "collective", _collective(self.collective))
        object.__setattr__(self, "size", parse_size(self.size))

    @property
    def exchanges(self) -> bool:
        """Whether all-to-all throughput counts."""
        return Collective(self.collective).exchanges

    def seconds(self, candidate: Candidate, fabric: Fabric) -> Fraction | None:
        """Return seconds of the call; of an all-to-all without a schedule, what its throughput allows."""
        collective = Collective(self.collective)
        cost, flow = candidate.cost_of(collective), candidate.flow
        if cost is not None:
            return fabric.time(cost, collective, self.size)
        if flow is None or not collective.exchanges:
            return None
        return fabric.all_to_all_time(flow, candidate.num_nodes, self.size)


Sizes = tuple[tuple[Fraction, Fraction], ...]
"""(bytes, how often)."""


@dataclass(frozen=True)
class Workload:
    """What a job communicates: allreduces and all-to-alls by bytes, each with how often it happens."""

    allreduce: Sizes
    all_to_all: Sizes = ()

    def __post_init__(self) -> None:
        for name in ("allreduce", "all_to_all"):
            object.__setattr__(self, name, tuple(_counted(name, row) for row in getattr(self, name)))
        if not self.allreduce and not self.all_to_all:
            raise LinkstepError("a workload must have an allreduce or an all-to-all")

    @classmethod
    def of(cls, size: Number, *, all_to_all: bool = False) -> Workload:
        """One allreduce of this size, or one all-to-all."""
        one = ((parse_size(size), Fraction(1)),)
        return cls((), one) if all_to_all else cls(one)

    @property
    def exchanges(self) -> bool:
        """Whether all-to-all throughput counts."""
        return bool(self.all_to_all)

    def seconds(self, candidate: Candidate, fabric: Fabric) -> Fraction | None:
        """Return seconds of all calls together."""
        total = Fraction(0)
        for collective, calls in ((Collective.ALLREDUCE, self.allreduce), (Collective.ALL_TO_ALL, self.all_to_all)):
            for size, count in calls:
                seconds = Call(collective, size).seconds(candidate, fabric)
                if seconds is None:
                    return None
                total += count * seconds
        return total


C = TypeVar("C", bound=Candidate)


@dataclass(frozen=True)
class SizeRange:
    """A call of a collective at each of some sizes; ``windows`` says who is the fastest at every size between them."""

    sizes: tuple[int, ...]
    collective: Collective | str = Collective.ALLREDUCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "collective", _collective(self.collective))
        object.__setattr__(self, "sizes", tuple(check_count("a size", size, 0, 2**62) for size in self.sizes))
        if not self.sizes:
            raise LinkstepError("a range must have a size")

    @property
    def exchanges(self) -> bool:
        """Whether all-to-all throughput counts."""
        return Collective(self.collective).exchanges

    def seconds(self, candidate: Candidate, fabric: Fabric) -> Fraction | None:
        """Return seconds of the calls of all sizes together."""
        found = [Call(self.collective, size).seconds(candidate, fabric) for size in self.sizes]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known, Fraction(0)) if len(known) == len(found) else None

    def windows(self, candidates: Iterable[C], fabric: Fabric) -> Iterator[tuple[C, int, int]]:
        """List the fastest candidate with its first and last size, from the least size of all to the largest.

        What a call takes grows evenly with its size, so two candidates change places at one size at most, and that size
        is exact. At a size at which both take the same, the one that was faster before stays.

        >>> allreduce = Collective.ALLREDUCE
        >>> rows = [Figures(8, ((allreduce, Cost(*cost)),)) for cost in ((2, Fraction(3)), (4, Fraction(2)))]
        >>> [(first, last) for _, first, last in SizeRange((1, 10**6)).windows(rows, Fabric.of("1us", "8Gbps", 2))]
        [(1, 2000), (2001, 1000000)]
        """
        lines = [(candidate, *line) for candidate in candidates if (line := self._line(candidate, fabric)) is not None]
        at, last = min(self.sizes), max(self.sizes)
        while lines and at <= last:
            fastest, start, slope = min(lines, key=lambda line: (line[1] + at * line[2], line[2]))
            ends = [floor((later - start) / (slope - less)) for _, later, less in lines if less < slope]
            end = min([last, *ends])
            yield fastest, at, end
            at = end + 1

    def _line(self, candidate: Candidate, fabric: Fabric) -> tuple[Fraction, Fraction] | None:
        """Return seconds of a call without data, and of each byte more."""
        start, more = (Call(self.collective, size).seconds(candidate, fabric) for size in (0, 1))
        return None if start is None or more is None else (start, more - start)


@dataclass(frozen=True)
class PriceObjective:
    """A price of one's own: any function of what a collective costs."""

    price: Price
    collective: Collective
    exchanges = False

    def seconds(self, candidate: Candidate, fabric: Fabric) -> Fraction | None:
        """Return the price."""
        cost = candidate.cost_of(self.collective)
        return None if cost is None else self.price(cost)


def ranked(candidates: Iterable[C], objective: Objective, fabric: Fabric) -> list[tuple[Fraction, C]]:
    """Return candidates with their seconds, the least first, the earlier of equals; without those not known."""
    timed = [(objective.seconds(candidate, fabric), candidate) for candidate in candidates]
    return sorted(((s, candidate) for s, candidate in timed if s is not None), key=lambda pair: pair[0])


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

        Unless a requirement counts, 1 for all that is refused, which does not tell a search where to go.
        """
        return int(self.admits(_graph_of(links)) is not None)

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

        >>> MaxSteps(2).excess((np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])))
        4
        """
        graph = _graph_of(links)
        return graph.num_nodes**2 - int(distance_counts(graph)[: self.most + 1].sum())


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A question: of N servers with d ports that are to be wired (``find``), or of a ``wiring`` (``schedule``).

    ``ranks`` are the nodes of a wiring that take part, None: all; the others forward. ``collectives`` are what runs.
    ``fabric`` is what steps and bytes take: the usual one where seconds count and none
    is given. Without an ``objective`` nothing is ranked, and costs alone decide.

    >>> Problem(num_nodes=12, degree=4, requirements=(Duplex(),)).is_duplex
    True
    >>> small = Problem(wiring="Pi_{4,17}", collectives="allreduce", objective=Call("allreduce", "1KB"))
    >>> float(small.price()(Cost(4, Fraction(2))) * 10**6)
    40.16
    """

    num_nodes: int | None = None
    degree: int | None = None
    wiring: Topology | Recipe | str | None = None
    ranks: Ranks | None = None
    collectives: tuple[Collective | str, ...] | Collective | str = Collective.ALLREDUCE
    fabric: Fabric | None = None
    objective: Objective | None = None
    requirements: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        wanted = tuple(self.collectives) if isinstance(self.collectives, (tuple, list)) else (self.collectives,)
        if not wanted:
            raise LinkstepError("a problem must have a collective")
        object.__setattr__(self, "collectives", tuple(_collective(one) for one in wanted))
        if self.wiring is None:
            object.__setattr__(self, "num_nodes", check_count("the number of nodes", self.num_nodes, 2, MAX_NODES))
            object.__setattr__(self, "degree", check_count("the degree", self.degree, 1, MAX_DEGREE))
        elif self.num_nodes is not None or self.degree is not None:
            raise LinkstepError("a problem has a wiring, or N and d that are to be wired, not both")
        else:
            wiring = check_kind("topology", self.wiring, Topology, Recipe, str)
            object.__setattr__(self, "wiring", parse(wiring) if isinstance(wiring, str) else wiring)
        if check_kind("ranks", self.ranks, Ranks, NoneType) is not None and self.wiring is None:
            raise LinkstepError("ranks are nodes of a wiring: what is to be wired has none yet")
        check_kind("fabric", self.fabric, Fabric, NoneType)
        if self.objective is not None and not callable(getattr(self.objective, "seconds", None)):
            raise LinkstepError(f"objective must be an Objective, such as Call, not {shown(self.objective)}")
        object.__setattr__(self, "requirements", tuple(check_kind("requirements", self.requirements, tuple, list)))
        for requirement in self.requirements:
            if not isinstance(requirement, Requirement):
                raise LinkstepError(f"requirements must be Requirements, such as MaxSteps, not {shown(requirement)}")

    @property
    def size(self) -> tuple[int, int]:
        """N and d of what is to be wired."""
        if self.num_nodes is None or self.degree is None:
            raise LinkstepError("`find` answers problems of N and d, not of a wiring: `schedule` does")
        return self.num_nodes, self.degree

    @property
    def collective(self) -> Collective:
        """What runs, where that is one."""
        if len(self.collectives) != 1:
            raise LinkstepError(f"a schedule is of one collective, not of {', '.join(self.collectives)}")
        return Collective(self.collectives[0])

    @property
    def is_duplex(self) -> bool:
        """Whether links must be duplex: searches then look at nothing else."""
        return any(isinstance(requirement, Duplex) for requirement in self.requirements)

    @property
    def wires(self) -> Fabric:
        """The fabric that seconds are for, with the d ports of what is to be wired."""
        degree = self.size[1]
        return usual_fabric(degree) if self.fabric is None else self.fabric.with_degree(degree)

    def resolved(self) -> tuple[Topology, Recipe | None]:
        """Return the wiring that is given, built, and its recipe where there is one; it meets the requirements."""
        if self.wiring is None:
            raise LinkstepError("a schedule is of a wiring, not of N and d: `find` has wirings")
        topology, recipe = resolve(self.wiring)
        if self.ranks is not None and self.ranks.num_nodes != topology.num_nodes:
            raise LinkstepError(f"ranks are of {self.ranks.num_nodes} nodes, the wiring has {topology.num_nodes}")
        for requirement in self.requirements:
            why = requirement.admits(topology)
            if why is not None:
                raise LinkstepError(f"{topology.name or 'the wiring'} {why}")
        return topology, recipe

    def arrange(self, topology: Topology) -> Topology:
        """Return a wiring with each of its nodes where the requirements want it, of which one at most says where.

        >>> Problem(num_nodes=5, degree=4).arrange(parse("K_5").topology()).num_nodes
        5
        """
        placed = [places for one in self.requirements if (places := one.arrange(topology)) is not None]
        if len(placed) > 1:
            raise LinkstepError("two requirements say where nodes go: a wiring can be arranged by one")
        return topology.relabel(placed[0]) if placed else topology

    def price(self, topology: Topology | None = None) -> Price | None:
        """Return what a cost of the collective is worth on the wiring, by the objective; None if there is none.

        Where links have latencies of their own, every step takes the largest.
        """
        if self.objective is None:
            return None
        objective, collective, wired = self.objective, self.collective, topology or self.resolved()[0]
        wires = (self.fabric or usual_fabric(max(wired.degree, 1))).slowest_on(wired)
        if isinstance(objective, PriceObjective):
            return objective.price

        def worth(cost: Cost) -> Fraction:
            seconds = objective.seconds(Figures(wired.num_nodes, ((collective, cost),)), wires)
            if seconds is None:
                raise LinkstepError(f"the objective needs more than what {collective} costs, which is all there is")
            return seconds

        worth(Cost.zero())  # so that what does not fit is refused now
        return worth


def _collective(value: object) -> Collective:
    if check_kind("collective", value, str) not in COLLECTIVES:
        raise LinkstepError(f"collective must be one of {', '.join(COLLECTIVES)}, not {str(value)!r}")
    return Collective(str(value))


def _counted(what: str, row: object) -> tuple[Fraction, Fraction]:
    if not isinstance(row, tuple) or len(row) != 2:
        raise LinkstepError(f"{what} must be pairs of a size and how often, not {shown(row)}")
    count = check_kind("how often", row[1], Fraction, int)
    if count < 0:
        raise LinkstepError(f"how often must be at least 0, not {shown(count)}")
    return parse_size(row[0]), Fraction(count)
