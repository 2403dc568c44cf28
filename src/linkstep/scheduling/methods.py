"""The methods that make schedules, as rows of a table: what each makes, when it refuses, what it would cost.

Every collective is derived from allgathers on the topology and on its transpose, and each of these is solved once. Not
here: the methods themselves (``linkstep.methods``), and choosing between them (``linkstep.scheduling.make``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.tables import NamedRows
from linkstep.core.topology import Topology
from linkstep.costs import Cost, bandwidth_bound, cost_of
from linkstep.methods.arrival import arrival_allgather, arrival_certificate
from linkstep.methods.bfb import Certificate, bfb_allgather, bfb_certificate
from linkstep.methods.exchange import all_to_all_schedule
from linkstep.methods.overlap import least_overlapped_steps, overlapped_allreduce, overlapped_cost
from linkstep.methods.relayed import relayed_allgather, relayed_cost, why_not
from linkstep.methods.rooted import best_root, rooted_allreduce, rooted_cost
from linkstep.methods.synthesis import synthesize
from linkstep.methods.transform import derive
from linkstep.recipe import Member
from linkstep.scheduling.request import Method, Offers, Request, ScheduleResult

_FOR_FREE = 0
"""Rounds of the search for arrivals where nobody asked for one: it takes a second for a few hundred nodes."""
_MORE_STEPS = 2
"""Steps beyond the diameter that are tried where a price says what they are worth."""
_TURNS = 2
"""Pieces of a shard, beyond the first, that are reduced while those before are gathered, where that may pay."""
_IN_TURN_NODES = 64
"""Nodes up to which this is tried where nobody asked for it."""


def certificate_of(request: Request) -> Certificate:
    """Return the certificate of the half that takes the most bandwidth."""
    return max(_bfb_certificates(request), key=lambda certificate: certificate.cost.bandwidth)


def _bfb_certificates(request: Request) -> list[Certificate]:
    return [bfb_certificate(topology, request.fabric, progress=request.progress) for topology in request.gathered]


def _by_bfb(request: Request) -> ScheduleResult:
    def allgather(topology: Topology) -> Schedule:
        return bfb_allgather(
            topology, request.chunks, size=request.size, fabric=request.fabric, progress=request.progress
        )

    return _from_allgathers(request, allgather, "bfb", certificate_of(request))


def _by_arrivals(request: Request) -> ScheduleResult:
    def allgather(topology: Topology) -> Schedule:
        return arrival_allgather(
            topology, request.limits(topology), size=request.size, progress=request.progress, watch=request.watch
        )

    made = _from_allgathers(request, allgather, "arrival", None)
    found = [arrival_certificate(t, request.limits(t), size=request.size) for t in request.gathered]
    return replace(made, certificate=max(found, key=lambda certificate: certificate.cost.bandwidth))


def _from_allgathers(
    request: Request, allgather: Callable[[Topology], Schedule], method: str, certificate: Certificate | None
) -> ScheduleResult:
    """Derive what is asked for from allgathers, noting what each costs: the reverse of one costs the same."""
    costs: list[Cost] = []

    def costed(topology: Topology) -> Schedule:
        made = allgather(topology)
        if request.collective is Collective.ALLREDUCE:
            costs.append(cost_of(made, request.fabric))
        return made

    made = derive(request.topology, request.collective, costed, request.root)
    return ScheduleResult(made, method, certificate, halves=tuple(costs * 2 if len(costs) == 1 else costs))


def _by_expanding(request: Request) -> ScheduleResult:
    assert request.recipe is not None
    return ScheduleResult(request.recipe.build(request.collective, request.root), "expand")


def _from_store(request: Request) -> ScheduleResult:
    assert request.recipe is not None
    return ScheduleResult(request.recipe.build(request.collective, request.root), "stored")


def _by_synthesis(request: Request) -> ScheduleResult:
    """Search for the least bandwidth in as few steps as the diameter allows."""

    def allgather(topology: Topology) -> Schedule:
        found = synthesize(topology, diameter(topology), request.chunks or 1)
        if found.schedule is None:
            raise LinkstepError(f"no schedule was synthesized: {found.reason}")
        return found.schedule

    return ScheduleResult(derive(request.topology, request.collective, allgather, request.root), "synthesized")


def _by_exchange(request: Request) -> ScheduleResult:
    assert not isinstance(request.steps, tuple)
    found = all_to_all_schedule(
        request.topology, steps=request.steps, chunks=request.chunks, progress=request.progress
    )  # fmt: skip
    least = found.bound
    if request.width is not None:
        least *= request.width / request.topology.degree  # of B as the cost is
    return ScheduleResult(found.schedule, "exchange", least_bandwidth=least)


def _by_overlap(request: Request) -> ScheduleResult:
    return ScheduleResult(overlapped_allreduce(request.topology, request.limits(), watch=request.watch), "overlapped")


def _by_relays(request: Request) -> ScheduleResult:
    return _from_allgathers(request, relayed_allgather, "relayed", None)


def _no_relays(request: Request) -> str | None:
    if request.chunks is not None:
        return "takes no chunks: it cuts shards into a cell for each port"
    if request.width is not None:
        return "knows no limit of hosts"
    return _fewest_steps(request) or why_not(request.topology)


def _by_root(request: Request) -> ScheduleResult:
    return ScheduleResult(rooted_allreduce(request.topology), "rooted")


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
    if request.collective is not Collective.ALL_TO_ALL:
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


def _bfb_cost(request: Request) -> Cost:
    return sum((certificate.cost for certificate in _bfb_certificates(request)), Cost.zero())


def _arrival_cost(request: Request) -> Cost:
    found = [arrival_certificate(t, request.limits(t), watch=request.watch) for t in request.gathered]
    return sum((certificate.cost for certificate in found), Cost.zero())


def _overlapped_cost(request: Request) -> Cost:
    return overlapped_cost(request.topology, request.limits())


def _rooted_cost(request: Request) -> Cost:
    return rooted_cost(request.topology)


def _relayed_cost(request: Request) -> Cost:
    return sum((relayed_cost(topology) for topology in request.gathered), Cost.zero())


def _recipe_cost(request: Request) -> Cost | None:
    return None if request.recipe is None else request.recipe.cost_of(request.collective)


def _not_known(request: Request) -> Cost | None:
    return None


def _try_bfb(request: Request, offers: Offers) -> Iterable[Request]:
    return [request] if _fewest_steps(request) is None else []


def _try_expanding(request: Request, offers: Offers) -> Iterable[Request]:
    """The recipe's own schedule, unless that is BFB."""
    serves = _no_recipe(request) is None and request.recipe is not None and not request.recipe.predict().is_bfb
    return [request] if serves and _nothing_stored(request) is not None else []


def _try_store(request: Request, offers: Offers) -> Iterable[Request]:
    return [request] if _nothing_stored(request) is None else []


def _try_arrivals(request: Request, offers: Offers) -> Iterable[Request]:
    """As few steps as possible and, where a price says if that pays, a few more; nothing where others are optimal.

    A request for a number of steps is one for arrivals.
    """
    if request.steps is not None:
        return [] if request.collective.exchanges else [request]
    if request.collective.has_root or not offers.made or _is_optimal(request, _settled(request, offers)):
        return []
    more = 0 if request.price is None else _MORE_STEPS
    least = max(bfb_certificate(topology).cost.steps for topology in request.gathered)
    plain = replace(request, rounds=_FOR_FREE)
    return [plain, *(replace(plain, steps=least + extra) for extra in range(1, more + 1))]


def _settled(request: Request, offers: Offers) -> Cost:
    """Return the cost that is to be improved on: the best one or, at a price, that of the fewest steps."""
    if request.price is None and offers.best is not None:
        return offers.best.cost
    return min((offer.cost for offer in offers.made), key=lambda cost: (cost.steps, cost.bandwidth))


def _is_optimal(request: Request, cost: Cost) -> bool:
    return cost.bandwidth <= bandwidth_bound(request.topology.num_nodes) * len(request.collective.phases)


def _try_overlap(request: Request, offers: Offers) -> Iterator[Request]:
    """At a price: some numbers of steps for which overlapping halves may be cheaper than the best so far."""
    topology, price, best = request.topology, request.price, offers.best
    is_asked = request.collective is Collective.ALLREDUCE and request.steps is None and topology.num_nodes > 1
    if price is None or best is None or not is_asked:
        return
    least, each = least_overlapped_steps(topology), diameter(topology)
    bandwidth = 2 * (topology.num_nodes - 1) * request.ports / _rates(topology)
    in_turn = range(2 * each, 2 * each + _TURNS * (each + 1) + 1, each + 1)
    for steps in sorted({least, *(in_turn if topology.num_nodes <= _IN_TURN_NODES else ())}):
        helps = steps < 2 * each or bandwidth < best.cost.bandwidth
        if helps and price(Cost(steps, bandwidth)) < price(best.cost):
            yield replace(request, steps=steps, rounds=_FOR_FREE)


def _rates(topology: Topology) -> Fraction:
    """Return the bandwidth of all links but self-loops, in units of the fastest."""
    links = topology.tail != topology.head
    if topology.bandwidth is None:
        return Fraction(int(links.sum()))
    rates = topology.bandwidth[links].tolist()
    return Fraction(sum(rates), max(rates))


def _try_root(request: Request, offers: Offers) -> Iterable[Request]:
    """At a price, and where it takes fewer steps than two halves, each of which takes the diameter at least."""
    if request.price is None or _no_root(request) is not None:
        return []
    return [request] if best_root(request.topology)[1] < 2 * diameter(request.topology) else []


def _try_relays(request: Request, offers: Offers) -> Iterable[Request]:
    """At a price: a second step, where that takes bandwidth off."""
    return [request] if request.price is not None and _no_relays(request) is None else []


def _try_nothing(request: Request, offers: Offers) -> Iterable[Request]:
    return []


def _try_exchange(request: Request, offers: Offers) -> Iterable[Request]:
    return [request] if request.collective is Collective.ALL_TO_ALL else []


_NO_NAMES = {"best": "that is the best of all methods", "file": "that is a schedule from a file"}
"""What is said as a method, and is none."""

METHODS = NamedRows(
    Method,
    "method",
    (
        Method(
            "bfb", "breadth-first broadcast", _by_bfb, _fewest_steps, _bfb_cost, _try_bfb, turn=2, wins_ties=True
        ),
        Method("arrival", "arrival times", _by_arrivals, _no_exchange, _arrival_cost, _try_arrivals, turn=3),
        Method(
            "overlapped", "overlapping halves", _by_overlap, _only_allreduce, _overlapped_cost, _try_overlap, turn=4
        ),
        Method(
            "rooted", "a reduction to one root and a broadcast from it", _by_root, _no_root, _rooted_cost, _try_root,
            turn=5,
        ),
        Method(
            "relayed", "spare links of a complete wiring relay for the others", _by_relays, _no_relays, _relayed_cost,
            _try_relays, turn=3,
        ),
        Method("expand", "expanded from its base", _by_expanding, _no_recipe, _recipe_cost, _try_expanding, turn=1),
        Method("stored", "from the store of schedules", _from_store, _nothing_stored, _recipe_cost, _try_store, turn=1),
        Method(
            "synthesized", "exact search (small topologies)", _by_synthesis, _no_sizes, _not_known, _try_nothing, turn=6
        ),
        Method(
            "exchange", "paths balanced step by step", _by_exchange, _only_exchange, _not_known, _try_exchange, turn=6
        ),
    ),
    key=lambda method: method.name,
    check=lambda method: _NO_NAMES.get(method.name),
)  # fmt: skip
