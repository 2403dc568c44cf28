"""The schedule view's data: rows, what each step carries and takes, the certificate, and others of the same wires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import split_phases
from linkstep.costs import bandwidth_by_step, loads_of, seconds_by_step, seconds_of
from linkstep.explorer.document import Panel
from linkstep.explorer.panels.wiring import method_title
from linkstep.explorer.rows import Rows, rows_of, why_unplayable
from linkstep.explorer.wires import wires_of
from linkstep.methods.bfb import Certificate
from linkstep.methods.transform import link_numbers
from linkstep.reports.pricing import Pricing
from linkstep.reports.schedule import ScheduleReport
from linkstep.scheduling import ScheduleResult


@dataclass(frozen=True)
class Beside:
    """Another schedule of the same wires, to be played in lockstep."""

    key: str
    """What the page's address calls it."""
    name: str
    schedule: Schedule | None
    """None: too large to be played."""


def schedule_panel(
    made: ScheduleResult, pricing: Pricing, argument: str = "", beside: Sequence[Beside] = (), asked: Any = None
) -> Panel:
    """Return the panel of a schedule; ``asked`` is what a live page can ask for instead."""
    report = ScheduleReport.of(made, pricing)
    topology = made.schedule.topology
    title = f"{report.collective} on {topology.name or argument or 'this wiring'}"
    data: dict[str, Any] = {
        "argument": argument or topology.name,
        "wires": wires_of(topology, orbits=False),
        "facts": report.to_json(),
        "method": method_title(made.method),
        "asked": asked,
        "unplayable": why_unplayable(made.schedule),
    }
    if data["unplayable"] is None:
        reduces, roots = split_phases(made.schedule)
        others = [(one, one.schedule) for one in beside if one.schedule and why_unplayable(one.schedule) is None]
        data |= {
            "played": _played("", made.method, made, reduces, roots, pricing),
            "certificate": certificate_of(made, reduces),
            "beside": [
                _played(one.key, one.name, replace(made, schedule=other), *split_phases(other), pricing)
                for one, other in others
            ],
            "left_out": [one.name for one in beside if one not in [shown for shown, _ in others]],
        }
    return Panel("schedule", title, data)


def unplayable_panel(why: str, argument: str) -> Panel:
    """Return the panel of a schedule that was not made, since no page could play it."""
    return Panel("schedule", f"schedule of {argument}", {"argument": argument, "asked": None, "unplayable": why})


def _played(
    key: str, name: str, made: ScheduleResult, reduces: Rows, roots: NDArray[np.int64], pricing: Pricing
) -> dict[str, Any]:
    """Return all that is shown of a schedule as it runs."""
    schedule = made.schedule
    fabric = pricing.fabric_for(schedule.topology.degree)
    seconds = seconds_of(schedule, fabric, pricing.size)
    own = np.stack([np.arange(schedule.num_ranks), schedule.ranks.nodes], axis=1)
    return {
        "key": key,
        "name": name,
        "collective": str(schedule.collective),
        "method": schedule.method,
        "unit": schedule.unit,
        "node": schedule.ranks.nodes,
        "root": int(schedule.source[0]) if schedule.collective.has_root and schedule.num_rows else None,
        # where the sum of a chunk is complete: its shard's own host, unless these say another
        "homes": None if np.array_equal(roots[:, :2], own) else roots.ravel(),
        "rows": rows_of(schedule, reduces),
        "steps": steps_of(made, reduces, pricing),
        "halves": _halves(schedule, reduces, roots),
        "t_b": str(made.cost.bandwidth),
        "seconds": float(seconds),
        "besides": float(seconds - sum(seconds_by_step(schedule, fabric, pricing.size))),
    }


def steps_of(made: ScheduleResult, reduces: Rows, pricing: Pricing) -> list[dict[str, Any]]:
    """Return what each step carries and takes, exactly: loads of links in shards and their part of T_B in M/B."""
    schedule, unit, topology = made.schedule, made.schedule.unit, made.schedule.topology
    carried, steps = loads_of(schedule).links, schedule.num_steps
    least = np.full(steps, np.iinfo(np.int64).max)
    np.minimum.at(least, carried.step - 1, carried.amount)
    at_work = np.bincount(carried.step, minlength=steps + 1)[1:]
    reducing, gathering = (np.bincount(schedule.step[rows], minlength=steps + 1)[1:] for rows in (reduces, ~reduces))
    seconds = seconds_by_step(schedule, pricing.fabric_for(topology.degree), pricing.size)
    return [
        {
            "busiest": str(Fraction(busiest, unit)),
            "least": str(Fraction(int(least[k]) if at_work[k] else 0, unit)),
            "links": int(at_work[k]),
            "idle": _links_at(topology, k + 1) - int(at_work[k]),
            "reduces": bool(reducing[k]),
            "gathers": bool(gathering[k]),
            "t_b": str(bandwidth),
            "seconds": float(seconds[k]),
        }
        for k, (busiest, bandwidth) in enumerate(
            zip(carried.busiest(steps).tolist(), bandwidth_by_step(schedule, made.fabric), strict=True)
        )
    ]


def _links_at(topology: Topology, step: int) -> int:
    """Return how many links between hosts there are at a step."""
    there = topology.tail != topology.head
    if topology.opens is not None:
        there &= topology.opens <= step
    if topology.closes is not None:
        there &= topology.closes >= step
    return int(there.sum())


def _halves(schedule: Schedule, reduces: Rows, roots: NDArray[np.int64]) -> dict[str, Any] | None:
    """Return the steps and names of an allreduce's halves; None where they overlap in time, or there is one."""
    steps = schedule.step
    if not reduces.any() or reduces.all() or steps[reduces].max() >= steps[~reduces].min():
        return None
    is_at_one = np.unique(roots[:, 1]).size == 1
    names = ("reduce", "broadcast") if is_at_one else ("reduce-scatter", "allgather")
    return {"reduce": int(steps[reduces].max()), "names": names}


def certificate_of(made: ScheduleResult, reduces: Rows) -> dict[str, Any] | None:
    """Return why no such schedule takes less: for each step a host, and the links that limit it.

    A certificate is of an allgather. Of a reduction it speaks backwards: its first step is the last one, and a link
    into its host is the one out of it. Where cables are duplex it speaks of both halves of an allreduce.
    """
    found, schedule = made.certificate, made.schedule
    if found is None or made.method not in ("bfb", "arrival") or schedule.collective.has_root:
        return None
    is_same = _same_links(found.topology, schedule.topology)
    steps: list[dict[str, Any]] = []
    if reduces.any() and (schedule.topology.is_bidirectional or not is_same):
        steps += _limits(found, int(schedule.step[reduces].max()), backwards=True)
    if not reduces.all() and is_same:
        steps += _limits(found, schedule.num_steps, backwards=False)
    return {
        "method": made.method,
        "t_b": str(found.cost.bandwidth),
        "why": found.explain_bandwidth(),
        "steps": sorted(steps, key=lambda one: one["step"]),
    }


def _same_links(one: Topology, other: Topology) -> bool:
    return np.array_equal(one.tail, other.tail) and np.array_equal(one.head, other.head)


def _limits(found: Certificate, last: int, *, backwards: bool) -> list[dict[str, Any]]:
    """Return a certificate's steps as those of a schedule whose half ends with step ``last``."""
    topology, count = found.topology, len(found.steps)
    number = link_numbers(topology, topology.head, topology.tail) if backwards else np.arange(topology.num_links)
    pieces = 1 if found.arrivals is None else found.arrivals.pieces
    return [
        {
            "step": last + 1 - one.step if backwards else last - count + one.step,
            "node": one.node,
            "links": number[list(one.links)].tolist(),
            "shards": str(Fraction(one.sources, pieces)),
            "load": str(one.load),
            "sends": backwards,
            # hosts whose ports together are the limit, where they have one
            "hosts": list(one.senders or one.receivers),
        }
        for one in found.steps
    ]
