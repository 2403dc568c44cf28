"""What ``find`` answers: the frontier, what no graph beats, what is wired today, and which row is the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from linkstep.baselines import Baseline
from linkstep.core.collective import Collective
from linkstep.costs import Cost, Fabric, bandwidth_bound, bound_if_quick, lower_bound
from linkstep.reports.halves import Halves, OurSchedule
from linkstep.reports.pricing import FabricText, Pricing
from linkstep.reports.sizes import SizeRow, sizes_of_answer
from linkstep.reports.training import JobRanking
from linkstep.reports.view import TB, BitRate, ByteCount, FieldForm, Ratio, Seconds, Size, View
from linkstep.search import Answer, Choice, Workload
from linkstep.search.windows import Window

_SMALL_TREE = 64
_WIRING_LINKS = 10_000
"""Up to this many links, rows that are not bandwidth-optimal are compared with what their wirings allow."""


KINDS = {False: "duplex", True: "directed"}
"""What a wiring is made of, by whether one-way fibres are allowed."""


@dataclass(frozen=True)
class FoundRow:
    """A topology of the frontier; T_L and T_B are of an allreduce and of each of its halves."""

    recipe: str
    """How it is constructed."""
    name: str
    """The same in short."""
    method: str
    """What makes its schedule."""
    origin: str | None
    """Where it is from, if not from families and expansions."""
    exact: bool
    """Whether the costs are what its schedules cost; if not, they cost at most so much."""
    halves: Annotated[Halves, FieldForm.INLINE]
    allreduce_seconds: Seconds
    """Of an allreduce of ``size``."""
    allreduce_at_most: bool
    """Whether it takes at most that: theorems say so or, under a limit of hosts, links are all taken to run slower."""
    allreduce_over_bound: Ratio
    """That over what no graph beats."""
    diameter: int | None
    """The most hops between two servers; null: not known."""
    all_to_all: Fraction | None
    """The part of a link's rate that every pair gets at once, where it is proven to be reached."""
    all_to_all_bound: Fraction | None
    """What that is at most, where it is not proven to be reached."""
    all_to_all_seconds: Seconds | None
    """Of an all-to-all in which every server sends ``size``; at least, where only a bound is known."""
    all_to_all_bandwidth: BitRate | None
    """What a server sends to all others together in it; at most, where only a bound is known."""
    all_to_all_at_most: bool
    """Whether it takes at most that: under a limit of hosts, links are all taken to run slower."""
    bandwidth_optimal: bool
    """Whether both halves have T_B = (N-1)/N."""
    wiring_t_b_bound: TB | None
    """The least T_B, in M/B, that both halves can have on this wiring; null: not looked at."""
    moore_optimal: bool
    """Whether no graph of this N and d has schedules in fewer steps."""
    duplex: bool
    """Whether all links are duplex (both ways)."""
    twice_allgather_seconds: Annotated[Seconds, FieldForm.UNWRITTEN]
    """What an allreduce would take if its reduce-scatter cost what its allgather does, as the paper counts."""

    @classmethod
    def of(cls, choice: Choice, half: Cost, fabric: Fabric, size: str, *, look: bool = True) -> FoundRow:
        """Price a row of an answer beside the bound of a half; ``look`` at what its wiring allows, if that is quick."""
        time, bound = (_allreduce(fabric, cost, size) for cost in (choice.allreduce_cost, half + half))
        return cls(
            recipe=str(choice.recipe),
            name=choice.recipe.short,
            method=choice.method,
            origin=choice.origin or None,
            exact=choice.is_exact,
            halves=Halves.of(choice.reduce_scatter, choice.cost),
            allreduce_seconds=time,
            allreduce_at_most=not choice.is_exact,
            allreduce_over_bound=time / bound,
            diameter=choice.diameter,
            all_to_all=choice.flow if choice.is_flow_reached else None,
            all_to_all_bound=None if choice.is_flow_reached else choice.flow,
            all_to_all_seconds=_all_to_all(fabric, choice.flow, choice.num_nodes, size),
            all_to_all_bandwidth=_exchange_rate(fabric, choice.flow, choice.num_nodes),
            all_to_all_at_most=_is_exchange_at_most(choice, fabric),
            bandwidth_optimal=choice.is_bandwidth_optimal,
            wiring_t_b_bound=_wiring_bandwidth(choice, look),
            moore_optimal=choice.worse_half.steps == half.steps,
            duplex=choice.is_bidirectional,
            twice_allgather_seconds=_allreduce(fabric, choice.cost + choice.cost, size),
        )

    @property
    def is_bandwidth_least(self) -> bool:
        """Whether no schedule has less T_B: on any wiring of this N, or on this one as far as that was looked at."""
        return self.bandwidth_optimal or self.worse_bandwidth == self.wiring_t_b_bound

    @property
    def worse_bandwidth(self) -> Fraction:
        """T_B of the half that has more."""
        return max(half.bandwidth for half in self.halves.costs)


@dataclass(frozen=True)
class FindBounds:
    """What no wiring of this N, d and kind beats by a reduce-scatter and an allgather."""

    steps: int
    """T_L of an allreduce: twice the Moore bound."""
    t_b: TB
    """T_B of an allreduce, in M/B: 2(N-1)/N."""
    all_to_all_bound: Fraction
    """The part of a link's rate that every pair can get at once."""
    allreduce_seconds: Seconds
    """Of an allreduce of ``size``."""
    all_to_all_seconds: Seconds
    """Of an all-to-all in which every server sends ``size``."""
    all_to_all_bandwidth: BitRate
    """What a server sends to all others together in it."""

    @classmethod
    def of(cls, answer: Answer, fabric: Fabric, size: str) -> FindBounds:
        """Price the bounds of an answer."""
        half, flow = answer.bound, answer.flow_bound
        exchange, both = fabric.all_to_all_time(flow, answer.num_nodes, size), half + half
        rate = _exchange_rate(fabric, flow, answer.num_nodes) or Fraction(0)
        return cls(both.steps, both.bandwidth, flow, _allreduce(fabric, both, size), exchange, rate)


@dataclass(frozen=True)
class TodayRow:
    """A wiring with a schedule that people run on it today, and what our schedule takes on the same wires."""

    schedule_name: str
    """The schedule, as people call it."""
    recipe: str
    """The wiring."""
    halves: Annotated[Halves, FieldForm.INLINE]
    allreduce_seconds: Seconds
    """Of an allreduce of ``size``."""
    allreduce_at_most: bool
    """Whether it takes at most that: under a limit of hosts, its links are all taken to run slower."""
    all_to_all: Fraction | None
    """The part of a link's rate that every pair gets at once, where it is proven to be reached."""
    all_to_all_bound: Fraction | None
    """What that is at most, where it is not proven to be reached."""
    ours: Annotated[OurSchedule, FieldForm.INLINE]
    short: Annotated[str, FieldForm.UNWRITTEN]
    """The wiring in short."""
    all_to_all_seconds: Seconds | None
    """Of an all-to-all in which every server sends ``size``; at least, where only a bound is known."""
    all_to_all_bandwidth: BitRate | None
    """What a server sends to all others together in it; at most, where only a bound is known."""
    all_to_all_at_most: bool
    """Whether it takes at most that: under a limit of hosts, links are all taken to run slower."""

    @classmethod
    def of(cls, one: Baseline, fabric: Fabric, size: str) -> TodayRow:
        """Price a baseline."""
        ours = one.ours if one.recipe.is_regular or one.num_nodes <= _SMALL_TREE else None
        return cls(
            schedule_name=one.name,
            recipe=str(one.recipe),
            halves=Halves.of(*one.halves_at(fabric, size)),
            allreduce_seconds=one.allreduce_time(fabric, size),
            allreduce_at_most=not one.is_time_exact(fabric, size),
            all_to_all=one.flow if one.is_flow_reached else None,
            all_to_all_bound=None if one.is_flow_reached else one.flow,
            ours=OurSchedule.of(ours, one.num_nodes, fabric, size),
            short=one.recipe.short,
            all_to_all_seconds=_all_to_all(fabric, one.flow, one.num_nodes, size),
            all_to_all_bandwidth=_exchange_rate(fabric, one.flow, one.num_nodes),
            all_to_all_at_most=_is_exchange_at_most(one, fabric),
        )

    @property
    def faster(self) -> tuple[Cost, Fraction] | None:
        """What our allreduce costs and its seconds, where that takes less time."""
        known = self.ours.known
        return known if known is not None and known[1] < self.allreduce_seconds else None


@dataclass(frozen=True)
class BestChoice:
    """The row that serves what was asked for in the least time."""

    recipe: str
    """How it is constructed."""
    name: str
    """The same in short."""
    method: str
    """What makes its schedule."""
    seconds: Seconds
    """Of what was asked for: the collective, the job's collectives, or an iteration."""
    seconds_at_most: bool
    """Whether it takes at most that, for its allreduces or all-to-alls do."""

    @classmethod
    def of(cls, choice: Choice, seconds: Fraction | None, workload: Workload, fabric: Fabric) -> BestChoice:
        """Name the choice that is the best for a workload."""
        exchange = workload.exchanges and _is_exchange_at_most(choice, fabric)
        at_most = exchange or (bool(workload.allreduce) and not choice.is_exact)
        return cls(str(choice.recipe), choice.recipe.short, choice.method, seconds or Fraction(0), at_most)


@dataclass(frozen=True)
class WindowRow:
    """The row that makes the fastest allreduce from one size to another."""

    min_bytes: ByteCount
    """Included."""
    max_bytes: ByteCount
    """Included."""
    recipe: str
    """How the topology is constructed."""
    name: str
    """The same in short."""
    method: str
    """What makes its schedule."""
    steps: int
    """T_L of the allreduce."""
    t_b: TB
    """T_B of the allreduce, in M/B."""
    min_bytes_seconds: Seconds
    """Of an allreduce of ``min_bytes``."""
    max_bytes_seconds: Seconds
    """Of an allreduce of ``max_bytes``."""
    seconds_at_most: bool
    """Whether it takes at most that, at every size."""

    @classmethod
    def of(cls, window: Window, fabric: Fabric) -> WindowRow:
        """Price both ends of a window."""
        choice, cost = window.choice, window.choice.allreduce_cost
        first, last = (_allreduce(fabric, cost, size) for size in (window.smallest, window.largest))
        return cls(
            window.smallest, window.largest, str(choice.recipe), choice.recipe.short, choice.method,
            cost.steps, cost.bandwidth, first, last, not choice.is_exact,
        )  # fmt: skip


@dataclass(frozen=True)
class OtherKind:
    """What there would be with one-way fibres instead of duplex cables, or with duplex cables instead of fibres."""

    kind: str
    """``directed`` (one-way fibres) or ``duplex``."""
    frontier: tuple[FoundRow, ...]
    """What no other row equals or beats, of what is known without a search."""

    @classmethod
    def of(cls, answer: Answer, fabric: Fabric, size: str) -> OtherKind:
        """Price the frontier of the other kind, beside what no wiring of that kind beats."""
        duplex = answer.directed and (answer.degree > 1 or answer.num_nodes == 2)
        half = lower_bound(answer.num_nodes, answer.degree, bidirectional=duplex)
        rows = (FoundRow.of(choice, half, fabric, size, look=False) for choice in answer.other)
        return cls(KINDS[not answer.directed], tuple(rows))

    @property
    def fastest(self) -> FoundRow | None:
        """The row whose allreduce takes the least time."""
        return min(self.frontier, key=lambda row: row.allreduce_seconds, default=None)


@dataclass(frozen=True)
class FindReport(View):
    """The best topologies for N servers with d ports, beside bounds and what is wired today."""

    report: ClassVar[str] = "find"

    nodes: int
    """Servers, N."""
    degree: int
    """Ports of a server, d."""
    kind: str
    """``duplex``: ordinary cables; ``directed``: one-way fibres are allowed."""
    fabric: Annotated[FabricText, FieldForm.INLINE]
    size: Size
    """Of the data that times are for."""
    frontier: tuple[FoundRow, ...]
    """What no other row equals or beats: fewest steps first, or by all-to-all throughput where that was asked for."""
    fewest_steps: int | None
    """T_L of the fastest allreduce known, whatever was asked for; null: none is known."""
    bounds: FindBounds
    other: OtherKind
    baselines: tuple[TodayRow, ...]
    """What people wire and run today."""
    best: BestChoice | None
    """null where no row can do what was asked for."""
    windows: tuple[WindowRow, ...]
    """Which row is the fastest at which size, where a range of sizes was asked for."""
    sizes: tuple[SizeRow, ...]
    """What it takes at each size, where a range of sizes was asked for, beside what is run today."""
    selector: str | None
    """The file that says so for an engine."""
    job: Annotated[JobRanking | None, FieldForm.OPTIONAL]
    """The rows by the time of a training job's iteration; left out where no job was named."""
    is_limited_by_hosts: Annotated[bool, FieldForm.UNWRITTEN]
    """Whether a server carries less than its ports together."""

    @classmethod
    def of(
        cls,
        answer: Answer,
        pricing: Pricing,
        best: BestChoice | None = None,
        windows: Sequence[Window] = (),
        sizes: Sequence[int] = (),
        selector: str | None = None,
        job: JobRanking | None = None,
    ) -> FindReport:
        """Price an answer."""
        fabric, size = pricing.fabric_for(answer.degree), pricing.size
        return cls(
            nodes=answer.num_nodes,
            degree=answer.degree,
            kind=KINDS[answer.directed],
            fabric=pricing.text_for(answer.degree),
            size=size,
            frontier=tuple(FoundRow.of(choice, answer.bound, fabric, size) for choice in answer.frontier),
            fewest_steps=answer.fewest_steps,
            bounds=FindBounds.of(answer, fabric, size),
            other=OtherKind.of(answer, fabric, size),
            baselines=tuple(TodayRow.of(one, fabric, size) for one in answer.baselines),
            best=best,
            windows=tuple(WindowRow.of(window, fabric) for window in windows),
            sizes=sizes_of_answer(answer, pricing, sizes),
            selector=selector if windows else None,
            job=job,
            is_limited_by_hosts=fabric.is_limited_by_hosts,
        )

    @property
    def has_times_at_most(self) -> bool:
        """Whether some times are what they are at most, for a limit of hosts."""
        rows: tuple[FoundRow | TodayRow, ...] = (*self.frontier, *self.baselines)
        ours = any(row.ours.our_allreduce_at_most for row in self.baselines)
        return self.is_limited_by_hosts and (ours or any(r.allreduce_at_most or r.all_to_all_at_most for r in rows))


def _allreduce(fabric: Fabric, cost: Cost, size: str | int) -> Fraction:
    return fabric.time(cost, Collective.ALLREDUCE, size)


def _all_to_all(fabric: Fabric, flow: Fraction | None, num_nodes: int, size: str | int) -> Fraction | None:
    return None if flow is None else fabric.all_to_all_time(flow, num_nodes, size)


def _exchange_rate(fabric: Fabric, flow: Fraction | None, num_nodes: int) -> Fraction | None:
    return None if flow is None else fabric.all_to_all_rate(flow, num_nodes)


def _is_exchange_at_most(row: Choice | Baseline, fabric: Fabric) -> bool:
    """Whether an all-to-all takes at most what is said; by distances alone, which hosts obey too, it takes at least."""
    return fabric.is_limited_by_hosts and row.is_flow_reached


def _wiring_bandwidth(choice: Choice, look: bool) -> Fraction | None:
    """Return the least T_B that allgather and reduce-scatter both can have on a row's wiring; None if that takes long.

    Of a vertex-transitive graph without parallel links or self-loops it is (N-1)/N: no set of nodes has fewer links out
    than a node has. Where T_B is that, it is the bound too. Rows of the catalog are not looked at: they take no work.
    """
    recipe, least = choice.recipe, bandwidth_bound(choice.num_nodes)
    if choice.is_bandwidth_optimal or (recipe.is_vertex_transitive and choice.is_simple):
        return least
    if not look or choice.origin or recipe.num_nodes * recipe.degree > _WIRING_LINKS:
        return None
    topology = recipe.topology(keep=False)  # of a copy: a recipe holds what it builds
    halves = [bound_if_quick(topology, half) for half in (Collective.ALLGATHER, Collective.REDUCE_SCATTER)]
    found = [half.cost.bandwidth for half in halves if half is not None]
    return max(found) if len(found) == len(halves) else None
