"""Make a schedule: the one place where a wiring, a collective and a method meet.

``schedule`` runs a method of the table (``linkstep.scheduling.methods``), or the best one, and checks what is made
before it is returned. Not here: the question as a value (``linkstep.problem``) and recipes (``linkstep.recipe``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkstep.core.arguments import check_callable, check_integer, check_kind, check_seconds
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError, ScheduleError
from linkstep.core.inputs import WiringLike, as_wiring, hook
from linkstep.core.progress import Progress
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.core.stopping import stoppable
from linkstep.core.text import shown
from linkstep.core.topology import Topology, check_permanent
from linkstep.core.units import Number
from linkstep.correctness import check
from linkstep.costs import Fabric, FabricLike, as_fabric, check_host_limit
from linkstep.methods.arrival import Watch
from linkstep.methods.subset import for_ranks
from linkstep.methods.transform import check_root
from linkstep.problem import Price, PriceObjective, Problem
from linkstep.scheduling.methods import METHODS, certificate_of
from linkstep.scheduling.request import Method, Offer, Offers, Request, ScheduleResult, Steps

BEST = "best"
MAX_ROWS = 2**30 // 5
"""The most rows that a file holds; an allgather has at least N (N - 1)."""


def _offered(request: Request) -> Offer:
    """Ask every method what it would cost and return the best.

    The recipe's own schedule, or BFB if that is no worse in either part; arrivals if they are no worse in either part
    than this choice and better in one. Where there is a price, the cheapest of all.
    """
    offers = Offers()
    for method in sorted(METHODS.values(), key=lambda method: method.turn):
        for asked in method.tries(request, offers):
            offers.add(Offer(method, asked))
    if offers.best is None:
        raise LinkstepError("no method makes a schedule that meets the requirements")
    return offers.best


def _best(request: Request) -> ScheduleResult:
    """Make what is best."""
    offer = _offered(request)
    made = _run(offer.method, offer.request)
    if made.certificate is not None or request.collective.exchanges:
        return made
    return replace(made, certificate=certificate_of(request))


def _run(method: Method, request: Request) -> ScheduleResult:
    why = method.refuse(request)
    if why is not None:
        raise LinkstepError(f"method {method.name} {why}")
    made = method.make(request)
    return _fitting(method, request, made) if method in METHODS.added else made


def _fitting(method: Method, request: Request, made: ScheduleResult) -> ScheduleResult:
    """Return what a registered method made if it is what it was asked for; that it is right is checked as all is."""
    if not isinstance(made, ScheduleResult) or not isinstance(made.schedule, Schedule):
        raise LinkstepError(f"method {method.name} must make a ScheduleResult, not {shown(made)}")
    if (made.schedule.collective, made.schedule.topology) != (request.collective, request.topology):
        raise LinkstepError(f"method {method.name} was asked for {request.collective}, and made {made.schedule!r}")
    return replace(made, method=method.name)


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
    topology: WiringLike | Problem,
    collective: Collective | str = Collective.ALLREDUCE,
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
    fabric: FabricLike | None = None,
    ranks: Ranks | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> ScheduleResult:
    """Make a schedule of a collective on a wiring, whatever stands for one (``linkstep.core.inputs``), and check it.

    On a row of ``find``, or on the best row of its answer, it is the schedule that the row promises, unless a method
    or steps are asked for. The first argument may be a ``Problem`` instead, which says the wiring, the ranks, the
    collective, the fabric and, as its objective, the price.

    ``method`` is a name in ``METHODS``, or ``best``: BFB where it is no worse than what the recipe says, and arrivals
    where they improve on that; with a ``price``, a function of a cost, whatever is cheapest. ``chunks`` cuts every
    shard (of an all-to-all, every piece of it) into exactly this many. ``size``, the bytes in all, matters only
    where links differ in latency; a ``fabric``, where its hosts have a limit, or where links say only their latency.

    ``steps`` is the number of steps, by default the fewest that the method can; more may take less bandwidth. Methods
    that take it: arrivals (of an allreduce it is that of each half; a pair gives the reduce-scatter's and the
    allgather's), overlapping halves (of both together) and all-to-all.

    ``ranks`` are the nodes that take part; the others only forward. Such a schedule is what is left of one in which all
    take part, whose links are no busier then (``methods.subset``). ``root`` is a rank.

    The search for arrivals is limited by a budget that does not depend on time, so that a ``seed`` gives the same
    schedule everywhere. ``seconds`` and KeyboardInterrupt stop it earlier, in both halves, with the best so far;
    ``watch`` is called with each improvement.

    >>> made = schedule("L(Paley(7))", "allreduce")
    >>> made.schedule, made.method, made.cost
    (<Schedule allreduce on L(Paley(7)): 924 rows, 6 steps, unit 3>, 'bfb', Cost(steps=6, bandwidth=Fraction(40, 21)))
    """
    check_callable("progress", progress)
    check_callable("watch", watch)
    problem = _problem(topology, collective, price, fabric, ranks)
    if check_kind("method", method, str) != BEST and method not in METHODS:
        raise LinkstepError(f"method must be one of {', '.join((BEST, *METHODS))}, not {method!r}")
    if method == BEST and steps is None and rounds is None and problem.objective is None:
        method, steps, rounds = _promised(topology, problem.collective)
    graph, recipe = problem.resolved()
    seconds = None if seconds is None else check_seconds("seconds", seconds)
    root, steps = _root_node(graph, problem.ranks, root), _checked_steps(steps)
    seed = check_integer("seed", seed)
    check_permanent(graph, "making a schedule")
    check_host_limit(graph, problem.fabric, "making a schedule")
    request = Request(
        graph, problem.collective, recipe, chunks, size, root, steps, seconds, seed, rounds,
        price=problem.price(graph), fabric=problem.fabric, progress=progress, watch=watch,
        requirements=problem.requirements,
    )  # fmt: skip
    if isinstance(steps, tuple) and graph.is_bidirectional and steps[0] != steps[1]:
        raise LinkstepError(f"steps must be one number where links are duplex, not {steps[0]} and {steps[1]}")
    _check_rows(graph, request.collective)
    request = replace(request, topology=_with_rates(request))
    with stoppable():
        made = _best(request) if method == BEST else _run(METHODS[method], request)
    if request.topology is not graph:
        made = replace(made, schedule=replace(made.schedule, topology=graph))
    if problem.ranks is not None and not problem.ranks.is_everyone:
        made = ScheduleResult(for_ranks(made.schedule, problem.ranks), made.method)
    check(made.schedule)
    made = replace(made, schedule=replace(made.schedule, method=made.method), fabric=problem.fabric)
    if problem.requirements and not request.is_met(made.cost):
        raise LinkstepError(f"method {made.method} makes what does not meet the requirements: {made.cost}")
    return made


def best_offer(
    topology: WiringLike, collective: Collective, fabric: Fabric | None = None, price: Price | None = None
) -> Offer:
    """Return what ``schedule`` would make by its best method, at a price if there is one; it is costed and not made.

    >>> offer = best_offer("Cat(16,4,53548)", Collective.ALLREDUCE)
    >>> offer.method.name, offer.cost
    ('arrival', Cost(steps=6, bandwidth=Fraction(15, 8)))
    """
    problem = _problem(topology, collective, price, fabric, None)
    graph, recipe = problem.resolved()
    check_permanent(graph, "making a schedule")
    return _offered(Request(graph, problem.collective, recipe, price=problem.price(graph), fabric=fabric))


def _problem(
    topology: WiringLike | Problem,
    collective: Collective | str,
    price: Price | None,
    fabric: FabricLike | None,
    ranks: Ranks | None,
) -> Problem:
    """Return the problem that was given, or that of a short call."""
    if price is not None and not callable(price):
        raise LinkstepError(f"price must be a function of a cost, not {shown(price)}")
    if not isinstance(topology, Problem):
        wires = None if fabric is None else as_fabric(fabric)
        problem = Problem(wiring=as_wiring(topology), ranks=ranks, collectives=collective, fabric=wires)
        return problem if price is None else replace(problem, objective=PriceObjective(price, problem.collective))
    if collective != Collective.ALLREDUCE or any(given is not None for given in (price, fabric, ranks)):
        raise LinkstepError("a Problem says the ranks, the collective, the price and the fabric: give them there")
    return topology


def _promised(wiring: object, collective: Collective) -> tuple[str, Steps, int | None]:
    """Return the method, steps and rounds by which a row of ``find`` has its costs; ``best`` for all else."""
    own = hook(wiring, "_how_")
    how = {} if own is None or collective.exchanges else own()
    return how.get("method", BEST), how.get("steps"), how.get("rounds")


def _root_node(topology: Topology, ranks: Ranks | None, root: int) -> int:
    """Return the node of a root."""
    if ranks is None:
        return check_root(topology, root)
    if isinstance(root, bool) or not isinstance(root, (int, np.integer)) or not 0 <= root < ranks.num_ranks:
        raise ScheduleError(f"root must be a rank in [0, {ranks.num_ranks}), not {shown(root)}")
    return int(ranks.nodes[root])


def _with_rates(request: Request) -> Topology:
    """Return the topology; where links say only their latency and the size counts, with the fabric's rate."""
    topology, fabric = request.topology, request.fabric
    if fabric is None or request.size is None or topology.alpha is None or topology.bandwidth is not None:
        return topology
    return topology.with_bandwidth([max(round(fabric.link_bandwidth), 1)] * topology.num_links)
