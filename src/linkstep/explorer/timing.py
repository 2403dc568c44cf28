"""What a live page asks of the time view: a collective on a simulated fabric, or an iteration of a model in training.

As ``linkstep simulate`` and ``linkstep train-sim`` do, but for the wiring that is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkstep.argument import TopologyArgument
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.core.units import parse_size
from linkstep.costs import Fabric, cost_of
from linkstep.costs.usual import ALPHA, BANDWIDTH
from linkstep.explorer.document import Panel
from linkstep.explorer.documents import best_schedule, least_rows
from linkstep.explorer.panels.timed import (
    comparison_table,
    iteration_panel,
    job_facts,
    simulation_panel,
    title_of,
    unsimulated_panel,
)
from linkstep.lowering import TARGETS, check_fits
from linkstep.reports.pricing import Pricing
from linkstep.reports.simulation import SimulationReport
from linkstep.reports.training import TrainingReport
from linkstep.search import find
from linkstep.search.spot import Spot
from linkstep.simulation import simulate_schedule
from linkstep.simulation.training import Job, Network, Outcome, best_iteration, compare, load_model, model_names
from linkstep.simulation.training.network import costed_network
from linkstep.throughput import all_to_all

Watching = Callable[[str, int, int | None], None]
TARGET = "msccl"
MOST_UNASKED = 500_000
"""Rows of a schedule that are simulated where nobody asked for it: half a minute."""
ROOMIEST = "cpu"
"""The runtime whose files have no limits, for schedules of more rows."""
SECONDS = 5.0
"""Of work on an all-to-all throughput that is not known yet."""


def timed_panel(
    what: str, given: TopologyArgument, pricing: Pricing, watching: Watching,
    *, to: str = "", collective: str = "", job: str = "",
) -> Panel:  # fmt: skip
    """Return the panel of a collective in time, lowered for a runtime, or of an iteration of a job."""
    if given.topology.num_nodes == 1:
        raise LinkstepError(f"{what}: one host alone has nothing to send")
    asked = {
        "what": what, "job": job, "collective": collective or str(Collective.ALLREDUCE), "to": to or TARGET,
        "size": str(pricing.size), "alpha": pricing.as_given.get("alpha", ALPHA),
        "bandwidth": pricing.as_given.get("bandwidth", BANDWIDTH),
        "jobs": list(model_names()), "collectives": [str(one) for one in Collective], "targets": list(TARGETS),
    }  # fmt: skip
    if job:
        return _trained(job, what, given, pricing, watching, asked)
    wanted = Collective(collective) if collective else Collective.ALLREDUCE
    least = least_rows(given, wanted) if given.schedule is None else given.schedule.num_rows
    if least > MOST_UNASKED and not (to or collective):
        why = f"To simulate {least:,} messages or more takes minutes: say what to simulate."
        return unsimulated_panel(given.called(what), asked | {"to": ROOMIEST}, why)
    return _simulated(what, given, pricing, watching, asked)


def _simulated(
    what: str, given: TopologyArgument, pricing: Pricing, watching: Watching, asked: dict[str, Any]
) -> Panel:
    target = asked["to"]
    if target not in TARGETS:
        raise LinkstepError(f"to: the runtimes are {', '.join(TARGETS)}, not {shown(target)}")
    if not parse_size(pricing.size):
        raise LinkstepError(f"size must be more than 0 bytes, not {pricing.size}")
    made = given.schedule
    try:
        if made is None:
            check_fits(target, given.topology, asked["collective"], channels=None, instances=1)
            watching("schedule", 0, None)
            made = best_schedule(given, pricing, asked["collective"]).schedule
        asked["collective"] = str(made.collective)
        fabric = pricing.fabric_for(made.topology.degree).on(made.topology)
        done = simulate_schedule(
            made, target, fabric, pricing.size, progress=lambda part, of: watching("simulate", part, of)
        )
    except LinkstepError as error:  # another runtime or collective can be asked for instead
        return unsimulated_panel(given.called(what), asked, str(error))
    report = SimulationReport.of(done, fabric, pricing, made, what)
    return simulation_panel(done, given.called(what), report, asked)


def _trained(
    job: str, what: str, given: TopologyArgument, pricing: Pricing, watching: Watching, asked: dict[str, Any]
) -> Panel:
    if job not in model_names():
        raise LinkstepError(f"job: the models are {', '.join(model_names())}, not {shown(job)}")
    topology = given.topology
    fabric = pricing.fabric_for(topology.degree)
    model = load_model(job)
    work = model.job(topology.num_nodes)
    watching("find", 0, None)
    answer = find(
        topology.num_nodes, topology.degree, directed=not topology.is_bidirectional, spot=Spot(), fabric=fabric,
        progress=lambda part, of: watching("find", part, of),
    )  # fmt: skip
    found = compare(work, answer, fabric, SECONDS, progress=lambda part, of: watching("train-sim", part, of))
    network = _network(given.called(what), given, pricing, fabric, work, watching)
    here = Outcome(network, best_iteration(work, network), "this")
    report = TrainingReport.of(found, model, topology.degree, pricing)
    title = title_of(found, here)
    return iteration_panel(here.iteration, title, comparison_table(found, here), job_facts(report), asked)


def _network(
    name: str, given: TopologyArgument, pricing: Pricing, fabric: Fabric, job: Job, watching: Watching
) -> Network:
    """Return the wiring as a job sees it: by the cost of its best allreduce, and its proven all-to-all throughput."""
    watching("schedule", 0, None)
    made = best_schedule(TopologyArgument(given.topology, recipe=given.recipe), pricing).schedule
    flow = None
    if job.num_all_to_alls:
        watching("all-to-all throughput", 0, None)
        flow = all_to_all(given.topology, seconds=SECONDS).value
    return costed_network(name, given.topology.num_nodes, cost_of(made), flow, fabric)
