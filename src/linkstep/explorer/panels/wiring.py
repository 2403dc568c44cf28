"""The wiring view's data: links to draw, and what ``linkstep show`` says of them."""

from __future__ import annotations

from typing import Any

from linkstep.argument import TopologyArgument
from linkstep.description import Watch, describe
from linkstep.explorer.document import Panel
from linkstep.explorer.wires import wires_of
from linkstep.reports.pricing import Pricing
from linkstep.reports.topology import TopologyReport
from linkstep.scheduling import METHODS


def _unwatched(label: str) -> Any:
    from contextlib import nullcontext

    return nullcontext(lambda done, total: None)


def wiring_panel(given: TopologyArgument, pricing: Pricing, argument: str = "", watch: Watch = _unwatched) -> Panel:
    """Return the panel of a topology; with faults, what it was without them stands beside.

    ``argument`` is what it was called by, so that a page can ask for it again.
    """
    report = topology_report(given, pricing, watch)
    wires = wires_of(given.topology)
    data: dict[str, Any] = {
        "argument": argument or (str(given.recipe) if given.recipe else given.topology.name),
        "wires": wires,
        "facts": report.to_json(),
        "method": None if report.best is None else method_title(report.best.method),
    }
    if given.whole is not None:
        data["whole"] = wires_of(given.whole.topology, orbits=False)
    return Panel("wiring", given.called(argument), data)


def method_title(name: str) -> str:
    """Return what a method does, in a few words; its name where that is all there is."""
    row = METHODS.get(name)
    return name if row is None else f"{row.title} ({name})"


def topology_report(given: TopologyArgument, pricing: Pricing, watch: Watch = _unwatched) -> TopologyReport:
    """Return what ``linkstep show`` says."""
    fabric = pricing.fabric_for(given.topology.degree)
    found = describe(given.topology if given.recipe is None else given.recipe, watch, fabric)
    whole = None if given.whole is None else describe(given.whole.recipe or given.whole.topology, watch, fabric)
    return TopologyReport.of(found, pricing, given.recipe, given.faults, whole)
