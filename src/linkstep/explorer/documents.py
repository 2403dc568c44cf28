"""Documents of whatever people have: a recipe, a file, or a value of the library.

``document_of`` asks the rows of ``SOURCES`` in order; the first that knows the thing makes its panels. A new kind of
thing is a function and a row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkstep.argument import TopologyArgument, exists, read_argument
from linkstep.cabling import Cabling, wire
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.text import shown
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import Fabric
from linkstep.costs.runs import Run, Runs
from linkstep.costs.usual import ALPHA, BANDWIDTH
from linkstep.explorer.beside import beside_of
from linkstep.explorer.document import Document, Panel
from linkstep.explorer.panels.cabling import cabling_panel
from linkstep.explorer.panels.choose import best_choice, choose_panel
from linkstep.explorer.panels.file import file_panel, program_panel
from linkstep.explorer.panels.runs import KIND as RUN_FILES
from linkstep.explorer.panels.runs import runs_panel
from linkstep.explorer.panels.schedule import schedule_panel, unplayable_panel
from linkstep.explorer.panels.time import time_panel
from linkstep.explorer.panels.timed import comparison_panel, iteration_panel, simulation_panel
from linkstep.explorer.panels.wiring import wiring_panel
from linkstep.explorer.rows import MAX_ROWS
from linkstep.files.kinds import kind_of
from linkstep.lowering import Lowered
from linkstep.methods.transform import in_rank_order
from linkstep.problem import Problem
from linkstep.programs import Program, runtime_text
from linkstep.recipe import Recipe
from linkstep.reports.pricing import Pricing
from linkstep.scheduling import ScheduleResult, schedule
from linkstep.search import Answer, Choice, find
from linkstep.simulation import Simulation
from linkstep.simulation.training import Comparison, Iteration
from linkstep.timelines import Timeline
from linkstep.timelines.chrome_reading import read_trace

SIZE = "1MB"
MAX_WIRED = 2**13
"""The most links of a wiring whose cables stand beside it: a larger plan is asked for by itself."""
_SERVERS = re.compile(r"\s*\d{1,9}\s+\d{1,9}\s*", re.ASCII)

MAX_DRAWN = 2**14
"""The most servers whose best wiring is in the page of an answer: of more, making and drawing it takes minutes."""

Panels = tuple[Panel, ...]


def usual_pricing() -> Pricing:
    """Return what times are for where nobody said."""
    return Pricing(SIZE, Fabric.of(ALPHA, BANDWIDTH, 1))


@dataclass(frozen=True)
class DocumentSource:
    """A row of ``SOURCES``: a kind of thing that a document is made of."""

    what: str
    """What it is called in messages."""
    panels: Callable[[Any, Pricing], tuple[str, Panels] | None]
    """A title and panels; None where it is another kind of thing."""


def document_of(thing: object, pricing: Pricing | None = None) -> Document:
    """Return the document of a thing.

    >>> [panel.kind for panel in document_of("K_3").panels]
    ['wiring', 'schedule', 'cabling']
    """
    if isinstance(thing, Document):
        return thing
    priced = usual_pricing() if pricing is None else pricing
    for source in SOURCES:
        found = source.panels(thing, priced)
        if found is not None:
            return Document(found[0], found[1])
    known = ", ".join(source.what for source in SOURCES)
    raise LinkstepError(f"a page shows {known}, not {shown(thing)}")


def of_argument(given: TopologyArgument, pricing: Pricing, argument: str) -> tuple[str, Panels]:
    """Return the panels of what RECIPE|FILE named: a wiring with its best allreduce, or a schedule with its wiring."""
    title = given.called(argument)
    if given.schedule is not None:
        check(given.schedule)
        made = ScheduleResult(given.schedule, given.schedule.method or "file")
        return title, (playing(made, pricing, argument), wiring_panel(given, pricing, argument))
    wiring = wiring_panel(given, pricing, argument)
    if given.topology.num_nodes == 1:
        return title, (wiring,)
    why = why_unplayable(given, Collective.ALLREDUCE)
    if why is not None:
        played = unplayable_panel(why, argument)
    else:
        played = playing(best_schedule(given, pricing), pricing, argument, given.recipe)
    if given.topology.num_links > MAX_WIRED:
        return title, (wiring, played)
    return title, (wiring, played, plan_panel(given, argument))


def plan_panel(given: TopologyArgument, argument: str, other: TopologyArgument | None = None, name: str = "") -> Panel:
    """Return the panel of the plan that ``linkstep wire`` makes, and of what it takes to come to an ``other``."""
    return cabling_panel(
        _wired(given), given.topology, given.called(argument), given.faults,
        other=None if other is None else (_wired(other), other.topology),
        other_argument="" if other is None else other.called(name),
    )  # fmt: skip


def _wired(given: TopologyArgument) -> Cabling:
    return wire(given.topology, None if given.whole is None else given.whole.topology)


def best_schedule(given: TopologyArgument, pricing: Pricing, collective: str = Collective.ALLREDUCE) -> ScheduleResult:
    """Return the schedule that ``linkstep schedule`` makes."""
    fabric = pricing.fabric_for(given.topology.degree)
    return schedule(given.recipe or given.topology, collective, ranks=given.ranks, fabric=fabric)


def playing(made: ScheduleResult, pricing: Pricing, argument: str = "", recipe: Recipe | None = None) -> Panel:
    """Return the panel of a schedule, with others of the same wires beside it."""
    return schedule_panel(made, pricing, argument, beside_of(made, pricing, recipe))


def why_unplayable(given: TopologyArgument, collective: Collective) -> str | None:
    """Return why no page plays any schedule of a collective there, which is known before one is made; None if it may.

    >>> why_unplayable(read_argument("Torus(64,64)")[0], Collective.ALLREDUCE)
    'a schedule of 4,096 hosts (allreduce) has 33,546,240 rows or more; a page plays 8,000,000 at most'
    """
    least = least_rows(given, collective)
    if least <= MAX_ROWS:
        return None
    ranks = given.topology.num_nodes if given.ranks is None else given.ranks.num_ranks
    rows = f"a schedule of {ranks:,} hosts ({collective}) has {least:,} rows or more"
    return f"{rows}; a page plays {MAX_ROWS:,} at most"


def least_rows(given: TopologyArgument, collective: Collective) -> int:
    """Return how many rows any schedule of a collective has at least there.

    >>> least_rows(read_argument("K_4")[0], Collective.ALLREDUCE)
    24
    """
    ranks = given.topology.num_nodes if given.ranks is None else given.ranks.num_ranks
    return (ranks - 1) * (1 if collective.has_root else ranks) * len(collective.phases)


def _text(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if not isinstance(thing, (str, Path)):
        return None
    return of_argument(read_argument(str(thing))[0], pricing, str(thing))


def _runtime_file(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    text = runtime_text(thing) if isinstance(thing, (str, Path)) else None
    if text is None:
        return None
    panel = file_panel(text, Path(str(thing)).name, pricing)
    return panel.title, (panel,)


def _lowered(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if not isinstance(thing, Lowered):
        return None
    made = in_rank_order(thing.placement.schedule)
    name = f"{made.collective} on {made.topology.name or 'this wiring'} for {thing.target.name}"
    panel = file_panel(thing.text, name, pricing, made.topology)
    return panel.title, (panel,)


def _program(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if not isinstance(thing, Program):
        return None
    panel = program_panel(thing, f"{thing.collective} for {thing.dialect}", pricing)
    return panel.title, (panel,)


def _recipe(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if not isinstance(thing, Recipe):
        return None
    return of_argument(TopologyArgument(thing.topology(), recipe=thing), pricing, str(thing))


def _topology(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if not isinstance(thing, Topology):
        return None
    return of_argument(TopologyArgument(thing), pricing, thing.name or "wiring")


def _schedule(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if isinstance(thing, ScheduleResult):
        made = thing
    elif isinstance(thing, Schedule):
        check(thing)
        made = ScheduleResult(thing, thing.method or "file")
    else:
        return None
    given = TopologyArgument(made.schedule.topology)
    title = f"{made.schedule.collective} on {made.schedule.topology.name or 'this wiring'}"
    return title, (playing(made, pricing), wiring_panel(given, pricing))


def _cabling(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if not isinstance(thing, Cabling):
        return None
    given = TopologyArgument(thing._wiring_())
    plan, wiring = cabling_panel(thing), wiring_panel(given, pricing)
    return plan.title, (plan, wiring)


def of_answer(answer: Answer, pricing: Pricing) -> tuple[str, Panels]:
    """Return the panels of what ``find`` answers: all of it, and the best wiring, its schedule and its cables."""
    title = f"{answer.num_nodes} servers with {answer.degree} ports"
    choice = best_row(answer, pricing)
    if choice is None or answer.num_nodes > MAX_DRAWN:
        return title, (choose_panel(answer, pricing),)
    name, recipe = choice.recipe.short, choice.recipe
    given = TopologyArgument(recipe.topology(), recipe=recipe)
    panels = [choose_panel(answer, pricing, shown={name: 1}), wiring_panel(given, pricing, name)]
    # An allreduce is a row at least for each shard and each server that it comes to, and for each that it is summed at.
    if 2 * answer.num_nodes * (answer.num_nodes - 1) <= MAX_ROWS:
        fabric = pricing.fabric_for(answer.degree)
        made = schedule(recipe, Collective.ALLREDUCE, fabric=fabric, **choice.how)
        panels.append(playing(made, pricing, name, recipe))
    if given.topology.num_links <= MAX_WIRED:
        panels.append(plan_panel(given, name))
    return title, tuple(panels)


def best_row(answer: Answer, pricing: Pricing) -> Choice | None:
    """Return the first row where rows are ranked, else the one whose allreduce takes the least."""
    return answer.frontier[0] if answer.is_ranked and answer.frontier else best_choice(answer, pricing)


def _answer(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    return of_answer(thing, pricing) if isinstance(thing, Answer) else None


def _servers(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    """Take N and d: two numbers, or text with both."""
    if isinstance(thing, str) and _SERVERS.fullmatch(thing) and not exists(thing):
        nodes, degree = map(int, thing.split())
    elif isinstance(thing, tuple) and len(thing) == 2 and all(type(one) is int for one in thing):
        nodes, degree = thing
    else:
        return None
    problem = Problem(num_nodes=nodes, degree=degree)
    return of_answer(find(nodes, degree, fabric=pricing.fabric_for(problem.size[1])), pricing)


def _file(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    """Return the panels of a file of measurements: trace events, or runs."""
    if not isinstance(thing, (str, Path)) or Path(thing).suffix.lower() != ".json" or not os.path.isfile(thing):  # noqa: PTH113
        return None  # Path.is_file raises where a name is longer than a file's can be
    kind = kind_of(thing).name
    if kind == "trace":
        panel = time_panel(read_trace(thing))
        return panel.title, (panel,)
    return (Path(thing).name, (runs_panel(thing),)) if kind == RUN_FILES else None


def _simulation(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if not isinstance(thing, Simulation):
        return None
    panel = simulation_panel(thing)
    wiring = () if thing.topology.num_nodes < 2 else (wiring_panel(TopologyArgument(thing.topology), pricing),)
    return panel.title, (panel, *wiring)


def _training(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if isinstance(thing, Comparison):
        panel = comparison_panel(thing)
    elif isinstance(thing, Iteration):
        panel = iteration_panel(thing, "an iteration of training")
    else:
        return None
    return panel.title, (panel,)


def _timeline(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    return (thing.title, (time_panel(thing),)) if isinstance(thing, Timeline) else None


def _runs(thing: object, pricing: Pricing) -> tuple[str, Panels] | None:
    if isinstance(thing, Run):
        return f"{thing.collective} on {thing.what}, measured", (runs_panel([thing]),)
    return ("measured runs", (runs_panel(thing),)) if isinstance(thing, Runs) else None


SOURCES = (
    DocumentSource("servers and ports such as 64 4", _servers),
    DocumentSource("measured runs or a trace", _file),
    DocumentSource("a runtime's file", _runtime_file),
    DocumentSource("a recipe or a file", _text),
    DocumentSource("a recipe", _recipe),
    DocumentSource("a topology", _topology),
    DocumentSource("a schedule", _schedule),
    DocumentSource("a lowered schedule", _lowered),
    DocumentSource("a program", _program),
    DocumentSource("a cabling plan", _cabling),
    DocumentSource("an answer of find", _answer),
    DocumentSource("a simulation", _simulation),
    DocumentSource("an iteration of training", _training),
    DocumentSource("a timeline", _timeline),
    DocumentSource("runs", _runs),
)
"""All kinds of things, in the order in which they are asked."""
