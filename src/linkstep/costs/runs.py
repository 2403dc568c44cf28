"""Measured runs, as ``linkstep run --json`` writes them: what ran, and how long each size took.

A run is one schedule on one engine; its rows are sizes. Only what a fit needs is kept. Not here: running anything
(``linkstep run``) and the regression (``linkstep.costs.fitting``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.core.text import shown
from linkstep.core.units import parse_fraction
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import MAX_DEGREE
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
    return Run(
        what=_text(members, "what"),
        collective=Collective(_text(members, "collective")),
        engine=_text(members, "engine"),
        degree=_integer(members, "degree", 1, MAX_DEGREE),
        cost=_cost(members),
        rows=tuple(_timing(row) for row in rows),
        testbed=None if members.get("testbed") is None else _text(members, "testbed"),
    )


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
