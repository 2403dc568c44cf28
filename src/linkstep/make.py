"""Make a schedule: the one place where a topology, a collective and a method meet.

``METHODS`` is the table of ways to do it; ``schedule`` runs one of them, or the best. Every collective is derived from
allgathers on the topology and on its transpose, and each of these is solved once. What is made is checked before it is
returned. Not here: the methods themselves (``linkstep.methods``) and recipes (``linkstep.recipe``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from linkstep.core.arguments import check_integer, check_kind, check_seconds
from linkstep.core.collective import Collective
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError
from linkstep.core.progress import Progress
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.text import shown
from linkstep.core.topology import Topology, check_permanent
from linkstep.core.units import Number
from linkstep.correctness import check
from linkstep.costs import Cost, Fabric, bandwidth_bound, check_host_limit, cost_of
from linkstep.methods.arrival import Watch, Wish, arrival_allgather, arrival_certificate
from linkstep.methods.bfb import Certificate, bfb_allgather, bfb_certificate
from linkstep.methods.exchange import all_to_all_schedule
from linkstep.methods.overlap import least_overlapped_steps, overlapped_allreduce, overlapped_cost
from linkstep.methods.rooted import best_root, rooted_allreduce, rooted_cost
from linkstep.methods.synthesis import synthesize
from linkstep.methods.transform import check_root, derive
from linkstep.recipe import Member, Recipe, resolve

BEST = "best"
MAX_ROWS = 2**30 // 5
"""The most rows that a file holds; an allgather has at least N (N - 1)."""


@dataclass(frozen=True)
class Made:
    """A schedule, the method that made it, and why no BFB schedule takes less bandwidth (None if BFB was not solved).

    A certificate of method arrival speaks of schedules with the same arrivals. Of an allreduce the certificate is that
    of the half that takes more; for a reduce-scatter, and for that half of an allreduce, it speaks of the transpose, on
    which the steps run backwards.
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
        return f"<Made {self.schedule!r} by {self.method}: {self.cost}>"

    @property
    def cost(self) -> Cost:
        """T_L and T_B of the schedule; where hosts have a limit, T_B counts it."""
        return cost_of(self.schedule, self.fabric)


Steps = int | tuple[int, int] | None
"""Of each half of an allreduce, or of its reduce-scatter and of its allgather; None: as few as there can be."""

Price = Callable[[Cost], Fraction]
"""What a cost is worth, in seconds say."""


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

    def wish(self, topology: Topology | None = None) -> Wish:
        """Return what is asked of a search for arrivals on the topology or on its transpose; None: on either."""
        steps = self.steps
        if isinstance(steps, tuple):
            steps = steps[topology is self.topology]
        return Wish(steps, self.chunks, self.seconds, self.seed, self.rounds, self.width)

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
        turned = self.topology if self.topology.is_bidirectional else self.topology.transpose()
        return [turned] * self.collective.reduces + [self.topology] * self.collective.gathers


@dataclass(frozen=True)
class Method:
    """A way to make schedules: a row of ``METHODS``."""

    name: str
    title: str
    make: Callable[[Request], Made]
    refuse: Callable[[Request], str | None]
    """Return why it cannot serve a request, or None if it can."""


def _certificate(request: Request) -> Certificate:
    """Return the certificate of the half that takes the most bandwidth."""
    found = [bfb_certificate(topology, request.fabric, progress=request.progress) for topology in request.gathered]
    return max(found, key=lambda certificate: certificate.cost.bandwidth)


def _by_bfb(request: Request) -> Made:
    def allgather(topology: Topology) -> Schedule:
        return bfb_allgather(
            topology, request.chunks, size=request.size, fabric=request.fabric, progress=request.progress
        )

    return _from_allgathers(request, allgather, "bfb", _certificate(request))


def _by_arrivals(request: Request) -> Made:
    def allgather(topology: Topology) -> Schedule:
        return arrival_allgather(
            topology, request.wish(topology), size=request.size, progress=request.progress, watch=request.watch
        )

    made = _from_allgathers(request, allgather, "arrival", None)
    found = [arrival_certificate(t, request.wish(t), size=request.size) for t in request.gathered]
    return replace(made, certificate=max(found, key=lambda certificate: certificate.cost.bandwidth))


def _from_allgathers(
    request: Request, allgather: Callable[[Topology], Schedule], method: str, certificate: Certificate | None
) -> Made:
    """Derive what is asked for from allgathers, noting what each costs: the reverse of one costs the same."""
    costs: list[Cost] = []

    def costed(topology: Topology) -> Schedule:
        made = allgather(topology)
        if request.collective is Collective.ALLREDUCE:
            costs.append(cost_of(made, request.fabric))
        return made

    made = derive(request.topology, request.collective, costed, request.root)
    return Made(made, method, certificate, halves=tuple(costs * 2 if len(costs) == 1 else costs))


def _by_expanding(request: Request) -> Made:
    assert request.recipe is not None
    return Made(request.recipe.build(request.collective, request.root), "expand")


def _from_store(request: Request) -> Made:
    assert request.recipe is not None
    return Made(request.recipe.build(request.collective, request.root), "stored")


def _by_synthesis(request: Request) -> Made:
    """Search for the least bandwidth in as few steps as the diameter allows."""

    def allgather(topology: Topology) -> Schedule:
        found = synthesize(topology, diameter(topology), request.chunks or 1)
        if found.schedule is None:
            raise LinkstepError(f"no schedule was synthesized: {found.reason}")
        return found.schedule

    return Made(derive(request.topology, request.collective, allgather, request.root), "synthesized")


def _by_exchange(request: Request) -> Made:
    assert not isinstance(request.steps, tuple)
    found = all_to_all_schedule(
        request.topology, steps=request.steps, chunks=request.chunks, progress=request.progress
    )  # fmt: skip
    least = found.bound * request.ports / request.topology.degree
    return Made(found.schedule, "exchange", least_bandwidth=least)


def _by_overlap(request: Request) -> Made:
    return Made(overlapped_allreduce(request.topology, request.wish(), watch=request.watch), "overlapped")


def _by_root(request: Request) -> Made:
    return Made(rooted_allreduce(request.topology), "rooted")


def _no_root(request: Request) -> str | None:
    if request.collective is Collective.ALLREDUCE and request.steps is not None:
        return _fewest_steps(request)
    if request.chunks is not None:
        return "takes no chunks: the ways to and from the root decide how the data is cut"
    return "makes allreduce schedules only" if request.collective is not Collective.ALLREDUCE else None


def _only_allreduce(request: Request) -> str | None:
    return "makes allreduce schedules only" if request.collective is not Collective.ALLREDUCE else _one_number(request)


def _one_number(request: Request) -> str | None:
    return "takes one number of steps, not two" if isinstance(request.steps, tuple) else None


def _only_exchange(request: Request) -> str | None:
    if not request.collective.exchanges:
        return "makes all-to-all schedules only"
    return "takes no size: it searches for steps and bandwidth" if request.size is not None else _one_number(request)


def _no_exchange(request: Request) -> str | None:
    return "makes no all-to-all schedules: method exchange does" if request.collective.exchanges else None


def _fewest_steps(request: Request) -> str | None:
    if request.steps is not None:
        return (
            "takes as many steps as it needs: steps can be chosen for methods arrival and overlapped, and for an "
            "all-to-all"
        )
    return _no_exchange(request)


def _no_recipe(request: Request) -> str | None:
    if request.collective.exchanges:
        return _no_exchange(request)
    if request.steps is not None:
        return _fewest_steps(request)
    if request.recipe is None:
        return "needs a recipe: a topology alone does not say what it was expanded from"
    if request.chunks is not None or request.size is not None:
        return "takes neither chunks nor size: the recipe decides how shards are cut"
    return None


def _nothing_stored(request: Request) -> str | None:
    is_stored = isinstance(request.recipe, Member) and not request.recipe.predict().is_bfb
    return _no_recipe(request) or (None if is_stored else f"has nothing for {request.recipe}")


def _no_sizes(request: Request) -> str | None:
    if request.collective.exchanges or request.steps is not None:
        return _fewest_steps(request)
    return "takes no size: it searches for steps and bandwidth" if request.size is not None else None


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("bfb", "breadth-first broadcast", _by_bfb, _fewest_steps),
        Method("arrival", "arrival times", _by_arrivals, _no_exchange),
        Method("overlapped", "overlapping halves", _by_overlap, _only_allreduce),
        Method("rooted", "a reduction to one root and a broadcast from it", _by_root, _no_root),
        Method("expand", "expanded from its base", _by_expanding, _no_recipe),
        Method("stored", "from the store of schedules", _from_store, _nothing_stored),
        Method("synthesized", "exact search (small topologies)", _by_synthesis, _no_sizes),
        Method("exchange", "paths balanced step by step", _by_exchange, _only_exchange),
    )
}


_FOR_FREE = 0
"""Rounds of the search for arrivals where nobody asked for one: it takes a second for a few hundred nodes."""
_MORE_STEPS = 2
"""Steps beyond the diameter that are tried where a price says what they are worth."""
_TURNS = 2
"""Pieces of a shard, beyond the first, that are reduced while those before are gathered, where that may pay."""
_IN_TURN_NODES = 64
"""Nodes up to which this is tried where nobody asked for it."""


def _best(request: Request) -> Made:
    """Choose between BFB, the recipe's own schedule and arrivals.

    BFB, if it is no worse in either part than the recipe's own, or that; arrivals if they are no worse in either part
    than this choice and better in one. Where there is a price, the cheapest of all, the first of these if several are.
    """
    if request.collective.exchanges:
        return _run(METHODS["exchange"], request)
    if request.steps is not None:
        return _by_arrivals(request)
    options: list[tuple[Cost, Callable[[Request], Made]]] = [(_bfb_cost(request), _by_bfb)]
    recipe = request.recipe
    if _no_recipe(request) is None and recipe is not None and not recipe.predict().is_bfb:
        make = _from_store if _nothing_stored(request) is None else _by_expanding
        own = (recipe.cost_of(request.collective), make)
        options = [*options, own] if options[0][0].is_within(own[0]) else [own, *options]
    chosen = options[0]
    settled = min(options, key=lambda option: (option[0].steps, option[0].bandwidth))[0] if request.price else chosen[0]
    if not request.collective.has_root and not _is_optimal(request, settled):
        options += [(_arrival_cost(asked), _makes(asked)) for asked in _with_arrivals(request)]
        better = [option for option in options[1:] if option[0] != chosen[0] and option[0].is_within(chosen[0])]
        chosen = min([chosen, *better], key=lambda option: (option[0].steps, option[0].bandwidth))
    if request.price is not None:
        price = request.price
        chosen = min(options, key=lambda option: price(option[0]))
        for asked in _with_overlap(request, chosen[0], price):
            chosen = min(chosen, (overlapped_cost(asked.topology, asked.wish()), _overlaps(asked)), key=_priced(price))
        if _no_root(request) is None and best_root(request.topology)[1] < min(cost.steps for cost, _ in options):
            chosen = min(chosen, (rooted_cost(request.topology), _by_root), key=_priced(price))
    made = chosen[1](request)
    return made if made.certificate is not None else replace(made, certificate=_certificate(request))


def _makes(asked: Request) -> Callable[[Request], Made]:
    return lambda request: _by_arrivals(asked)


def _overlaps(asked: Request) -> Callable[[Request], Made]:
    return lambda request: _by_overlap(asked)


def _priced(price: Price) -> Callable[[tuple[Cost, Callable[[Request], Made]]], Fraction]:
    return lambda option: price(option[0])


def _with_overlap(request: Request, chosen: Cost, price: Price) -> Iterator[Request]:
    """Yield requests for overlapping halves, in some numbers of steps for which they may be cheaper than the choice."""
    topology = request.topology
    if request.collective is not Collective.ALLREDUCE or topology.num_nodes == 1:
        return
    least, each = least_overlapped_steps(topology), diameter(topology)
    bandwidth = 2 * (topology.num_nodes - 1) * request.ports / _rates(topology)
    in_turn = range(2 * each, 2 * each + _TURNS * (each + 1) + 1, each + 1)
    for steps in sorted({least, *(in_turn if topology.num_nodes <= _IN_TURN_NODES else ())}):
        helps = steps < 2 * each or bandwidth < chosen.bandwidth
        if helps and price(Cost(steps, bandwidth)) < price(chosen):
            yield replace(request, steps=steps, rounds=_FOR_FREE)


def _rates(topology: Topology) -> Fraction:
    """Return the bandwidth of all links but self-loops, in units of the fastest."""
    links = topology.tail != topology.head
    if topology.bandwidth is None:
        return Fraction(int(links.sum()))
    rates = topology.bandwidth[links].tolist()
    return Fraction(sum(rates), max(rates))


def _bfb_cost(request: Request) -> Cost:
    found = [bfb_certificate(t, request.fabric, progress=request.progress) for t in request.gathered]
    return sum((certificate.cost for certificate in found), Cost.zero())


def _arrival_cost(request: Request) -> Cost:
    found = [arrival_certificate(t, request.wish(t), watch=request.watch) for t in request.gathered]
    return sum((certificate.cost for certificate in found), Cost.zero())


def _is_optimal(request: Request, cost: Cost) -> bool:
    return cost.bandwidth <= bandwidth_bound(request.topology.num_nodes) * len(request.collective.phases)


def _with_arrivals(request: Request) -> list[Request]:
    """Return requests for arrivals in as few steps as possible and, where a price says if that pays, in a few more."""
    more = 0 if request.price is None else _MORE_STEPS
    least = max(bfb_certificate(topology).cost.steps for topology in request.gathered)
    plain = replace(request, rounds=_FOR_FREE)
    return [plain, *(replace(plain, steps=least + extra) for extra in range(1, more + 1))]


def _run(method: Method, request: Request) -> Made:
    why = method.refuse(request)
    if why is not None:
        raise LinkstepError(f"method {method.name} {why}")
    return method.make(request)


def _check_rows(topology: Topology, collective: Collective) -> None:
    """Raise if a schedule would have more rows than a file holds: better at once than after hours."""
    rows = topology.num_nodes * (topology.num_nodes - 1) * len(collective.phases)
    if rows > MAX_ROWS:
        raise LinkstepError(
            f"{collective} on N={topology.num_nodes} takes {rows} rows or more, above the {MAX_ROWS} of a file: "
            "`linkstep show` gives the cost"
        )


def _checked_steps(steps: Steps) -> Steps:
    if isinstance(steps, tuple) and len(steps) == 2:
        return check_integer("steps", steps[0]), check_integer("steps", steps[1])
    return None if steps is None else check_integer("steps", steps)


def schedule(
    topology: Topology | Recipe | str,
    collective: Collective | str = Collective.ALLGATHER,
    *,
    method: str = BEST,
    chunks: int | None = None,
    size: Number | None = None,
    root: int = 0,
    steps: Steps = None,
    seconds: float | None = None,
    seed: int = 0,
    rounds: int | None = None,
    price: Price | None = None,
    fabric: Fabric | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Made:
    """Make a schedule of a collective on a topology, or on the one a recipe describes, and check it.

    ``method`` is a name in ``METHODS``, or ``best``: BFB where it is no worse than what the recipe says, and arrivals
    where they improve on that; with a ``price``, a function of a cost, whatever is cheapest. ``chunks`` cuts every
    shard (of an all-to-all, every piece of it) into exactly so many chunks. ``size``, the bytes in all, matters only
    where links differ in latency; a ``fabric``, where its hosts have a limit, or where links say only their latency.

    ``steps`` is the number of steps, by default the fewest that the method can; more may take less bandwidth. Methods
    that take it: arrivals (of an allreduce it is that of each half; a pair gives the reduce-scatter's and the
    allgather's), overlapping halves (of both together) and all-to-all.

    The search for arrivals is limited by a budget that does not depend on time, so that a ``seed`` gives the same
    schedule everywhere. ``seconds`` and KeyboardInterrupt stop it earlier, with the best so far; ``watch`` is called
    with each improvement.

    >>> made = schedule("L(Paley(7))", "allreduce")
    >>> made.schedule, made.method, made.cost
    (<Schedule allreduce on L(Paley(7)): 924 rows, 6 steps, unit 3>, 'bfb', Cost(steps=6, bandwidth=Fraction(40, 21)))
    """
    if check_kind("collective", collective, str) not in COLLECTIVES:
        raise LinkstepError(f"collective must be one of {', '.join(COLLECTIVES)}, not {str(collective)!r}")
    if check_kind("method", method, str) != BEST and method not in METHODS:
        raise LinkstepError(f"method must be one of {', '.join((BEST, *METHODS))}, not {method!r}")
    graph, recipe = resolve(topology)
    seconds = None if seconds is None else check_seconds("seconds", seconds)
    root, steps = check_root(graph, root), _checked_steps(steps)
    seed = check_integer("seed", seed)
    check_kind("fabric", fabric, Fabric, type(None))
    check_permanent(graph, "making a schedule")
    check_host_limit(graph, fabric, "making a schedule")
    if price is not None and not callable(price):
        raise LinkstepError(f"price must be a function of a cost, not {shown(price)}")
    request = Request(
        graph, Collective(collective), recipe, chunks, size, root, steps, seconds, seed, rounds,
        price=price, fabric=fabric, progress=progress, watch=watch,
    )  # fmt: skip
    if isinstance(steps, tuple) and graph.is_bidirectional and steps[0] != steps[1]:
        raise LinkstepError(f"steps must be one number where links go both ways, not {steps[0]} and {steps[1]}")
    _check_rows(graph, request.collective)
    request = replace(request, topology=_with_rates(request))
    made = _best(request) if method == BEST else _run(METHODS[method], request)
    if request.topology is not graph:
        made = replace(made, schedule=replace(made.schedule, topology=graph))
    check(made.schedule)
    return replace(made, fabric=fabric)


def _with_rates(request: Request) -> Topology:
    """Return the topology; where links say only their latency and the size counts, with the fabric's rate."""
    topology, fabric = request.topology, request.fabric
    if fabric is None or request.size is None or topology.alpha is None or topology.bandwidth is not None:
        return topology
    return topology.with_bandwidth([max(round(fabric.link_bandwidth), 1)] * topology.num_links)
