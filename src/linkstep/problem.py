"""A question as a value: what is there or wanted, what runs on it, by what answers are judged, what they must meet.

``find`` takes a ``Problem`` of N servers with d ports, ``schedule`` one of a wiring; their short calls make one. An
``Objective`` turns what a candidate costs into seconds: everything that ranks (rows of ``find``, windows of sizes, the
methods of ``schedule``, training jobs) asks one. Not here: what answers must meet (``linkstep.requirements``), the
objective of a training job (``linkstep.simulation.training``), and searching.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from numbers import Real
from types import NoneType
from typing import Any, Protocol, TypeVar

from linkstep.core.arguments import check_flag, check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.frames import frame_of
from linkstep.core.inputs import WiringLike, as_topology, as_wiring
from linkstep.core.notebook import html_rows, html_table
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import COLLECTIVES
from linkstep.core.text import shown
from linkstep.core.topology import Topology
from linkstep.core.units import Number, check_count, parse_size
from linkstep.costs import SIZE, Cost, Fabric, as_fabric, usual_fabric
from linkstep.methods.bfb import MAX_DEGREE
from linkstep.recipe import Recipe, resolve
from linkstep.requirements import Duplex, Requirement

MAX_NODES = 10**7
"""The most servers that a problem may ask for."""

Price = Callable[[Cost], Any]
"""What the cost of a collective is worth, in seconds say: any function to numbers, of which less are better."""


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


def check_candidate(value: object) -> None:
    """Refuse what no objective can judge."""
    if isinstance(value, type) or not callable(getattr(value, "cost_of", None)) or not hasattr(value, "flow"):
        raise LinkstepError(f"a candidate must be a row of `find`, or say its costs as one does, not {shown(value)}")


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
    """What answers are judged by: less seconds are better.

    >>> objective: Objective = Call("all-to-all", "1MB")
    >>> objective.exchanges
    True
    """

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

    def _repr_html_(self) -> str:
        return html_table("call", [("collective", self.collective), ("bytes", self.size)])

    @property
    def exchanges(self) -> bool:
        """Whether all-to-all throughput counts."""
        return Collective(self.collective).exchanges

    def seconds(self, candidate: Candidate, fabric: Fabric) -> Fraction | None:
        """Return seconds of the call; of an all-to-all without a schedule, what its throughput allows."""
        collective, fabric = Collective(self.collective), as_fabric(fabric)
        check_candidate(candidate)
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
    """What a job communicates: allreduces and all-to-alls by bytes, each with how often it happens.

    >>> Workload.of("25MB").allreduce
    ((Fraction(25000000, 1), Fraction(1, 1)),)
    """

    allreduce: Sizes
    all_to_all: Sizes = ()

    def __post_init__(self) -> None:
        for name in ("allreduce", "all_to_all"):
            rows = check_kind(name, getattr(self, name), tuple, list)
            object.__setattr__(self, name, tuple(_counted(name, row) for row in rows))
        if not self.allreduce and not self.all_to_all:
            raise LinkstepError("a workload must have an allreduce or an all-to-all")

    @classmethod
    def of(cls, size: Number, *, all_to_all: bool = False) -> Workload:
        """One allreduce of this size, or one all-to-all."""
        one = ((parse_size(size), Fraction(1)),)
        return cls((), one) if check_flag("all_to_all", all_to_all) else cls(one)

    def to_frame(self) -> Any:
        """Return a row for each size, as a DataFrame of pandas or polars."""
        return frame_of({name: [row[name] for row in self._rows()] for name in ("collective", "bytes", "count")})

    def _rows(self) -> list[dict[str, Any]]:
        calls = ((Collective.ALLREDUCE, self.allreduce), (Collective.ALL_TO_ALL, self.all_to_all))
        return [{"collective": one, "bytes": size, "count": n} for one, rows in calls for size, n in rows]

    def __repr__(self) -> str:
        return f"<Workload of {len(self.allreduce)} allreduces and {len(self.all_to_all)} all-to-alls>"

    def _repr_html_(self) -> str:
        return html_rows("workload", self._rows())

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
    """A call of a collective at each of some sizes; ``windows`` says who is the fastest at every size between them.

    >>> SizeRange((1024, 2**20))
    <SizeRange of allreduce, 1024 to 1048576 bytes>
    """

    sizes: tuple[int, ...]
    collective: Collective | str = Collective.ALLREDUCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "collective", _collective(self.collective))
        check_kind("sizes", self.sizes, tuple, list, range)
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

    def __repr__(self) -> str:
        return f"<SizeRange of {self.collective}, {min(self.sizes)} to {max(self.sizes)} bytes>"

    def _repr_html_(self) -> str:
        return html_table(
            str(self.collective), [("sizes", len(self.sizes)), ("from", min(self.sizes)), ("to", max(self.sizes))]
        )

    def windows(self, candidates: Iterable[C], fabric: Fabric) -> Iterator[tuple[C, int, int]]:
        """List the fastest candidate with its first and last size, from the least size of all to the largest.

        What a call takes grows evenly with its size, so two candidates change places at one size at most, and that size
        is exact. At a size at which both take the same, the one that was faster before stays.

        >>> allreduce = Collective.ALLREDUCE
        >>> rows = [Figures(8, ((allreduce, Cost(*cost)),)) for cost in ((2, Fraction(3)), (4, Fraction(2)))]
        >>> [(first, last) for _, first, last in SizeRange((1, 10**6)).windows(rows, Fabric.of("1us", "8Gbps", 2))]
        [(1, 2000), (2001, 1000000)]
        """
        try:
            several = tuple(candidates)
        except TypeError:
            raise LinkstepError(f"candidates must be a list, not {shown(candidates)}") from None
        lines = [(candidate, *line) for candidate in several if (line := self._line(candidate, fabric)) is not None]
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
        return None if cost is None else self.worth(cost)

    def worth(self, cost: Cost) -> Any:
        """Return the price of a cost; LinkstepError if the function fails or returns what is no number.

        >>> PriceObjective(lambda cost: "cheap", Collective.ALLREDUCE).worth(Cost(2, Fraction(1)))
        Traceback (most recent call last):
        linkstep.core.errors.LinkstepError: price must return a number, not 'cheap' as for 2 alpha + 1 M/B
        """
        try:
            found = self.price(cost)
        except LinkstepError:
            raise
        except Exception as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise LinkstepError(f"price fails for {cost}: {what}") from error
        is_number = isinstance(found, (Real, Decimal)) and not isinstance(found, bool)
        if not is_number or found != found:  # nan is not itself
            raise LinkstepError(f"price must return a number, not {shown(found)} as for {cost}")
        return found


def as_objective(value: object, size: Number | None = None) -> Objective | None:
    """Return an objective: as it is, or a call of a collective by its name, of ``size`` bytes (1MB unless given).

    A size alone means an allreduce; without either there is none.

    >>> as_objective("all-to-all", "1KB"), as_objective(None) is None
    (Call(collective=<Collective.ALL_TO_ALL: 'all-to-all'>, size=Fraction(1000, 1)), True)
    """
    if value is None or isinstance(value, str):
        if value is None and size is None:
            return None
        return Call(Collective.ALLREDUCE if value is None else value, SIZE if size is None else size)
    if isinstance(value, type) or not callable(getattr(value, "seconds", None)):
        raise LinkstepError(f"objective must be the name of a collective or an Objective, not {shown(value)}")
    if size is not None:
        raise LinkstepError("size goes with the name of a collective: an Objective says its own sizes")
    return value  # type: ignore[return-value]


def ranked(candidates: Iterable[C], objective: Objective, fabric: Fabric) -> list[tuple[Fraction, C]]:
    """Return candidates with their seconds, the least first, the earlier of equals; without those not known."""
    timed = [(objective.seconds(candidate, fabric), candidate) for candidate in candidates]
    return sorted(((s, candidate) for s, candidate in timed if s is not None), key=lambda pair: pair[0])


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A question: of N servers with d ports that are to be wired (``find``), or of a ``wiring`` (``schedule``).

    What is to be wired has duplex cables; ``directed`` allows one-way fibres. ``ranks`` are the nodes of a wiring that
    take part, None: all; the others forward. ``collectives`` are what runs. ``fabric`` is what steps and bytes take:
    the usual one where seconds count and none is given. Without an ``objective`` nothing is ranked, and costs decide.

    >>> Problem(num_nodes=12, degree=4).is_duplex, Problem(num_nodes=12, degree=4, directed=True).is_duplex
    (True, False)
    >>> small = Problem(wiring="Pi_{4,17}", collectives="allreduce", objective=Call("allreduce", "1KB"))
    >>> float(small.price()(Cost(4, Fraction(2))) * 10**6)
    40.16
    """

    num_nodes: int | None = None
    degree: int | None = None
    directed: bool = False
    wiring: WiringLike | None = None
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
            object.__setattr__(self, "wiring", as_wiring(self.wiring))
        if check_kind("ranks", self.ranks, Ranks, NoneType) is not None and self.wiring is None:
            raise LinkstepError("ranks are nodes of a wiring: what is to be wired has none yet")
        object.__setattr__(self, "fabric", None if self.fabric is None else as_fabric(self.fabric))
        object.__setattr__(self, "objective", as_objective(self.objective))
        object.__setattr__(self, "requirements", tuple(check_kind("requirements", self.requirements, tuple, list)))
        for requirement in self.requirements:
            if not isinstance(requirement, Requirement):
                raise LinkstepError(f"requirements must be Requirements, such as MaxSteps, not {shown(requirement)}")
        if check_flag("directed", self.directed) and any(isinstance(one, Duplex) for one in self.requirements):
            raise LinkstepError("directed allows one-way fibres, which Duplex() rules out: leave out one of the two")

    def __repr__(self) -> str:
        what = f"N={self.num_nodes} d={self.degree}" if self.wiring is None else f"on {self.wiring!r}"
        by = "" if self.objective is None else f" by {type(self.objective).__name__}"
        return f"<Problem {what}: {', '.join(self.collectives)}{by}>"

    def _wiring_(self) -> Any:
        if self.wiring is None:
            raise LinkstepError("the problem is of N and d, and has no wiring: `find` has wirings")
        return self.wiring

    def _repr_html_(self) -> str:
        asked = [("N", self.num_nodes), ("d", self.degree)] if self.wiring is None else [("wiring", repr(self.wiring))]
        fields = [("collectives", ", ".join(self.collectives)), ("fabric", self.fabric), ("objective", self.objective)]
        must = [("requirement", requirement) for requirement in self.requirements]
        return html_table("problem", [(n, v) for n, v in [*asked, *fields, *must] if v is not None])

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
        """Whether what is to be wired has duplex cables: searches then look at nothing else."""
        return not self.directed

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

    def arrange(self, topology: WiringLike) -> Topology:
        """Return a wiring with each of its nodes where the requirements want it, of which one at most says where.

        >>> Problem(num_nodes=5, degree=4).arrange("K_5").num_nodes
        5
        """
        topology = as_topology(topology)
        placed = [places for one in self.requirements if (places := one.arrange(topology)) is not None]
        if len(placed) > 1:
            raise LinkstepError("two requirements say where nodes go: a wiring can be arranged by one")
        return topology.relabel(placed[0]) if placed else topology

    def price(self, topology: WiringLike | None = None) -> Price | None:
        """Return what a cost of the collective is worth on the wiring, by the objective; None if there is none.

        Where links have latencies of their own, every step takes the largest.
        """
        if self.objective is None:
            return None
        objective, collective = self.objective, self.collective
        wired = self.resolved()[0] if topology is None else as_topology(topology)
        wires = (self.fabric or usual_fabric(max(wired.degree, 1))).slowest_on(wired)
        if isinstance(objective, PriceObjective):
            objective.worth(Cost(1, Fraction(1)))  # so that what returns no numbers is refused now
            return objective.worth

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
