"""Measured runs, as ``linkstep run --json`` writes them: what ran, and how long each size took.

A run is one schedule on one engine; its rows are sizes. Only what a fit needs is kept. Not here: running anything
(``linkstep run``) and the regression (``linkstep.costs.fitting``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.core.schedule import Schedule
from linkstep.core.text import shown
from linkstep.core.units import parse_fraction
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import MAX_DEGREE
from linkstep.costs.loads import loads_of
from linkstep.files.disk import AnyPath
from linkstep.files.documents import naming, read_documents

_KIND = "run"
_MOST = 2**62
_MOST_STEPS = 10**9
_SHORTEST, _LONGEST = 1e-12, 1e9
"""Seconds: nothing is measured outside, and a fit computes with squares of what it is given."""
_WIDEST = 10**9
"""No T_B is more, nor less than one part of it."""


@dataclass(frozen=True)
class Timing:
    """One size of a run: its bytes in all, the median of its times in seconds, and how many values were wrong."""

    size: int
    median: float
    wrong: int = 0


class StepLoad(NamedTuple):
    """A number of steps in which the busiest link carries ``link`` of M, and the busiest host ``host``, in or out."""

    steps: int
    link: Fraction
    host: Fraction


@dataclass(frozen=True)
class Run:
    """A schedule that ran: its topology or file, what it costs where that is known, where it ran, and its times."""

    what: str
    collective: Collective
    engine: str
    degree: int
    cost: Cost | None
    """T_L and T_B; None where they are not known, as of another tool's file."""
    rows: tuple[Timing, ...]
    testbed: str | None = None
    loads: tuple[StepLoad, ...] = ()
    """What its steps put on links and hosts; nothing where that is not known."""


def load_runs(path: AnyPath) -> tuple[Run, ...]:
    """Return the runs in a file that ``linkstep run --json`` wrote, or in a list of such; FileError if it has none."""
    documents = read_documents(path, _KIND)
    with naming(path):
        return tuple(_run(document) for document in documents)


def _integer(members: Mapping[str, Any], name: str, least: int, most: int = _MOST) -> int:
    value = members.get(name)
    if type(value) is not int or not least <= value <= most:
        raise FileError(f"{name} must be an integer in [{least}, {most}], not {shown(value)}")
    return value


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not value.isprintable():
        raise FileError(f"{name} must be one line of text, not {shown(value)}")
    return value


def _run(members: Mapping[str, Any]) -> Run:
    rows = members.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FileError(f"rows must be a list of objects, one for each size, not {shown(rows)}")
    cost, loads = _cost(members), _loads(members.get("loads"))
    if cost is not None and sum(load.steps for load in loads) > cost.steps:
        raise FileError(f"loads are of more steps than the {cost.steps} that the run has")
    return Run(
        what=_text(members, "what"),
        collective=Collective(_text(members, "collective")),
        engine=_text(members, "engine"),
        degree=_integer(members, "degree", 1, MAX_DEGREE),
        cost=cost,
        rows=tuple(_timing(row) for row in rows),
        testbed=None if members.get("testbed") is None else _text(members, "testbed"),
        loads=loads,
    )


def step_loads(schedule: Schedule) -> tuple[StepLoad, ...]:
    """Return what the steps of a schedule put on links and hosts, those that are alike together.

    >>> import linkstep
    >>> step_loads(linkstep.parse("K_4").build("allreduce"))
    (StepLoad(steps=2, link=Fraction(1, 4), host=Fraction(3, 4)),)
    """
    loads = loads_of(schedule)
    links, *hosts = (one.busiest(loads.num_steps).tolist() for one in (loads.links, loads.sent, loads.received))
    pairs = Counter((link, max(both)) for link, *both in zip(links, *hosts, strict=True))
    return tuple(
        StepLoad(count, Fraction(link, loads.whole), Fraction(host, loads.whole))
        for (link, host), count in pairs.items()
        if link
    )


def _loads(value: Any) -> tuple[StepLoad, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) == 3 for row in value):
        raise FileError(f"loads must be a list of steps, a link's and a host's part of M, not {shown(value)}")
    found = []
    for steps, *parts in value:
        count = _integer({"steps": steps}, "steps", 1, _MOST_STEPS)
        link, host = (parse_fraction(_text({"loads": part}, "loads"), "loads") for part in parts)
        if not 0 < link <= host <= _WIDEST:
            raise FileError(f"loads must be parts of M, a host's no less than a link's, not {shown(parts)}")
        found.append(StepLoad(count, link, host))
    return tuple(found)


def _cost(members: Mapping[str, Any]) -> Cost | None:
    if members.get("steps") is None or members.get("bandwidth") is None:
        return None
    bandwidth = parse_fraction(_text(members, "bandwidth"), "bandwidth")
    if not Fraction(1, _WIDEST) <= bandwidth <= _WIDEST:
        raise FileError(f"bandwidth, T_B in M/B, must lie in [1e-9, 1e9], not {shown(members['bandwidth'])}")
    return Cost(_integer(members, "steps", 1, _MOST_STEPS), bandwidth)


def _timing(row: Mapping[str, Any]) -> Timing:
    median = row.get("median")
    if isinstance(median, bool) or not isinstance(median, int | float) or not _SHORTEST <= median <= _LONGEST:
        raise FileError(f"median must be seconds, from {_SHORTEST:g} to {_LONGEST:g}, not {shown(median)}")
    return Timing(_integer(row, "size", 1), float(median), _integer(row, "wrong", 0))
