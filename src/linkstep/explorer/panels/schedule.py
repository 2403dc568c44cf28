"""The schedule view's data: rows in columns, costs, the certificate, and perhaps another schedule of the same wires."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.correctness import split_phases
from linkstep.explorer.document import Panel
from linkstep.explorer.wires import wires_of
from linkstep.reports.pricing import Pricing
from linkstep.reports.schedule import ScheduleReport
from linkstep.scheduling import ScheduleResult

MAX_ROWS = 8 * 10**6
"""The most rows that a page plays: a browser holds some hundred megabytes."""


def schedule_panel(
    made: ScheduleResult, pricing: Pricing, argument: str = "", beside: Sequence[tuple[str, Schedule]] = ()
) -> Panel:
    """Return the panel of a schedule; ``beside`` are others of the same wires, by name, to be played in lockstep."""
    report = ScheduleReport.of(made, pricing)
    topology = made.schedule.topology
    data: dict[str, Any] = {
        "argument": argument or topology.name,
        "wires": wires_of(topology, orbits=False),
        "facts": report.to_json(),
        "schedule": columns_of(made.schedule),
        "certificate": _certificate(made),
        "beside": [{"name": name, "schedule": columns_of(other)} for name, other in beside],
    }
    return Panel("schedule", f"{report.collective} on {topology.name or argument or 'this wiring'}", data)


def columns_of(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule's rows, sorted by step and link: what the page replays.

    ``reduces`` says of each row whether the receiver adds what comes to its own.
    """
    if schedule.num_rows > MAX_ROWS:
        raise LinkstepError(f"the schedule has {schedule.num_rows} rows, a page plays {MAX_ROWS} at most")
    reduces, _ = split_phases(schedule)
    return {
        "collective": str(schedule.collective),
        "method": schedule.method,
        "unit": schedule.unit,
        "steps": schedule.num_steps,
        "shards": schedule.collective.num_shards(schedule.num_ranks),
        "node": schedule.ranks.nodes,
        "source": schedule.source,
        "lo": schedule.lo,
        "hi": schedule.hi,
        "link": schedule.link,
        "step": schedule.step,
        "reduces": reduces,
    }


def _certificate(made: ScheduleResult) -> dict[str, Any] | None:
    """Return why no such schedule takes less: for each step a host, the links that limit it and what these carry."""
    found = made.certificate
    if found is None:
        return None
    return {
        "cost": str(found.cost),
        "why": found.explain_bandwidth(),
        "is_transposed": found.topology is not made.schedule.topology and found.topology != made.schedule.topology,
        "steps": [
            {
                "step": one.step, "node": one.node, "links": list(one.links), "sources": one.sources,
                "load": str(one.load), "senders": list(one.senders), "receivers": list(one.receivers),
            }
            for one in found.steps
        ],
    }  # fmt: skip
