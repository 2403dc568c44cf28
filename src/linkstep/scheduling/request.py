"""What a method is asked for, what it offers and what it made; and what a method is, a row of a table.

Not here: the rows (``linkstep.scheduling.methods``), and choosing between them (``linkstep.scheduling.make``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from linkstep.core.collective import Collective
from linkstep.core.notebook import html_table
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import Number
from linkstep.costs import Cost, Fabric, cost_of
from linkstep.methods.arrival import SearchLimits, Watch
from linkstep.methods.bfb import Certificate
from linkstep.problem import Price
from linkstep.recipe import Recipe
from linkstep.requirements import Requirement


@dataclass(frozen=True)
class ScheduleResult:
    """A schedule, the method that made it, and why no BFB schedule takes less bandwidth (None if BFB was not solved).

    A certificate of method arrival speaks of schedules with the same arrivals. Of an allreduce the certificate is that
    of the half that takes more; for a reduce-scatter, and for that half of an allreduce, it speaks of the transpose, on
    which the steps run backwards.

    >>> from linkstep import schedule
    >>> made = schedule("K_{2,2}")
    >>> made.method, str(made.cost)
    ('bfb', '4 alpha + 3/2 M/B')
    """

    schedule: Schedule
    method: str
    certificate: Certificate | None = None
    least_bandwidth: Fraction | None = None
    """What no all-to-all in as many steps goes below; None for other collectives."""
    halves: tuple[Cost, ...] = ()
    """Of an allreduce by BFB or by arrivals: the cost of its reduce-scatter and of its allgather."""
    fabric: Fabric | None = None
    """The one it was made for, whose hosts may have a limit."""

    def __repr__(self) -> str:
        return f"<ScheduleResult {self.schedule!r} by {self.method}: {self.cost}>"

    def _wiring_(self) -> Topology:
        return self.schedule.topology

    def _schedule_(self) -> Schedule:
        return self.schedule

    def to_frame(self) -> Any:
        """Return a row for each message of the schedule, as a DataFrame of pandas or polars."""
        return self.schedule.to_frame()

    def _repr_html_(self) -> str:
        where = self.schedule.topology.name or f"N={self.schedule.topology.num_nodes}"
        fields = [("topology", where), ("method", self.method), ("cost", self.cost), ("rows", self.schedule.num_rows)]
        return html_table(f"{self.schedule.collective} schedule", fields)

    @property
    def cost(self) -> Cost:
        """T_L and T_B of the schedule; where hosts have a limit, T_B counts it."""
        return cost_of(self.schedule, self.fabric)


Steps = int | tuple[int, int] | None
"""Of each half of an allreduce, or of its reduce-scatter and of its allgather; None: as few as there can be."""


@dataclass(frozen=True)
class Request:
    """What is to be made."""

    topology: Topology
    collective: Collective
    recipe: Recipe | None = None
    chunks: int | None = None
    size: Number | None = None
    root: int = 0
    steps: Steps = None
    seconds: float | None = None
    seed: int = 0
    rounds: int | None = None
    price: Price | None = None
    fabric: Fabric | None = None
    progress: Progress | None = None
    watch: Watch | None = None
    requirements: tuple[Requirement, ...] = ()

    def limits(self, topology: Topology | None = None) -> SearchLimits:
        """Return what is asked of a search for arrivals on the topology or on its transpose; None: on either."""
        steps = self.steps
        if isinstance(steps, tuple):
            steps = steps[topology is self.topology]
        return SearchLimits(steps, self.chunks, self.seconds, self.seed, self.rounds, self.width)

    @property
    def width(self) -> Fraction | None:
        """How many of the fastest links a host keeps busy at once; None: all it has."""
        return None if self.fabric is None else self.fabric.width(self.topology)

    @property
    def ports(self) -> Fraction:
        """How many of the fastest links B stands for."""
        return self.width or Fraction(self.topology.degree)

    @property
    def gathered(self) -> list[Topology]:
        """The topologies whose allgathers it is made of: the transpose for a reduction, the topology for the rest."""
        transpose = self.topology if self.topology.is_bidirectional else self.topology.transpose()
        return [transpose] * self.collective.reduces + [self.topology] * self.collective.gathers

    def is_met(self, cost: Cost) -> bool:
        """Whether a schedule of this cost meets the requirements."""
        wired = _Scheduled(self, cost)
        return all(requirement.keeps(wired) for requirement in self.requirements)


@dataclass(frozen=True)
class _Scheduled:
    """A request and what a schedule for it costs, as requirements see it."""

    request: Request
    cost: Cost

    @property
    def steps(self) -> int:
        """T_L."""
        return self.cost.steps

    @property
    def is_bidirectional(self) -> bool:
        """Whether all links are duplex."""
        return self.request.topology.is_bidirectional

    def topology(self) -> Topology:
        """Return the wiring."""
        return self.request.topology


@dataclass(frozen=True)
class Method:
    """A way to make schedules: a row of ``METHODS``."""

    name: str
    title: str
    make: Callable[[Request], ScheduleResult]
    refuse: Callable[[Request], str | None]
    """Return why it cannot serve a request, or None if it can."""
    cost: Callable[[Request], Cost | None]
    """Return what it would cost, without making it; None where only making it tells."""
    tries: Callable[[Request, Offers], Iterable[Request]]
    """List what ``best`` is to ask it for, knowing what others offer: nothing where it cannot serve, or cannot win."""
    turn: int
    """When ``best`` asks it: first those that take no work to cost."""
    wins_ties: bool = False
    """Whether ``best`` prefers it to what costs as much and was offered before."""


@dataclass(frozen=True)
class Offer:
    """What a method would make."""

    method: Method
    request: Request

    @cached_property
    def cost(self) -> Cost:
        """What it would cost, worked out when something is compared with it."""
        cost = self.method.cost(self.request)
        assert cost is not None, "what cannot be costed is the only offer"
        return cost

    def improves_on(self, held: Offer) -> bool:
        """Whether it costs no more in either part and less in one; where there is a price, whether it is cheaper."""
        price = self.request.price
        no_worse = self.cost.is_within(held.cost)
        if price is None:
            return no_worse and (self.cost != held.cost or self.method.wins_ties)
        now, before = price(self.cost), price(held.cost)
        return now < before or (now == before and no_worse and self.method.wins_ties)


class Offers:
    """What methods offered so far, and the best of it."""

    def __init__(self) -> None:
        self.made: list[Offer] = []
        self.best: Offer | None = None

    def add(self, offer: Offer) -> None:
        """Take an offer, unless it is known not to meet what is required."""
        request = offer.request
        if request.requirements and not request.collective.exchanges and not request.is_met(offer.cost):
            return
        self.made.append(offer)
        if self.best is None or offer.improves_on(self.best):
            self.best = offer
