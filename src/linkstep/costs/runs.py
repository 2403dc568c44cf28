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

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.core.frames import Table, frame_of
from linkstep.core.notebook import html_table
from linkstep.core.schedule import Schedule
from linkstep.core.text import shown
from linkstep.core.units import parse_fraction
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import MAX_DEGREE
from linkstep.costs.loads import loads_of
from linkstep.files.disk import AnyPath
from linkstep.files.documents import VERSION, naming, read_documents, renamed

_KIND = "run"
_OLDER = {"bandwidth": "t_b", "loads": "step_loads"}
_OLDER_ROW = {
    "min": "min_seconds", "median": "median_seconds", "p99": "p99_seconds", "own_median": "own_median_seconds",
    "predicted": "predicted_seconds", "cables": "cables_over_schedule",
}  # fmt: skip
"""What version 1 calls members, and what they are called now."""
_LOADS = ("steps", "link_load", "host_load")
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
    """A schedule that ran: its topology or file, what it costs where that is known, where it ran, and its times.

    >>> Run("K_{4,4}", Collective.ALLREDUCE, "mpi", 4, Cost(4, Fraction(7, 4)), (Timing(1000, 0.0016),))
    <Run of allreduce on K_{4,4} by mpi: 1 sizes>
    """

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
    method: str | None = None
    """What made the schedule; None where that is not known, or sizes differ in it."""

    def __post_init__(self) -> None:
        for row in check_kind("rows", self.rows, tuple, list):
            check_kind("a row", row, Timing)

    def __repr__(self) -> str:
        return f"<Run of {self.collective} on {self.what} by {self.engine}: {len(self.rows)} sizes>"

    def to_frame(self) -> Any:
        """Return a row for each size, as a DataFrame of pandas or polars."""
        return Runs((self,)).to_frame()

    def _row_(self) -> dict[str, Any]:
        sizes = [row.size for row in self.rows]
        return {
            "what": self.what, "collective": self.collective, "engine": self.engine, "cost": self.cost,
            "smallest": min(sizes, default=None), "largest": max(sizes, default=None),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        return html_table("run", self._row_().items())


class Runs(Table[Run]):
    """Runs, one after the other; as a frame, a row for each size of each."""

    __slots__ = ()
    title = "runs"

    def to_frame(self) -> Any:
        """Return a row for each size of each run, as a DataFrame of pandas or polars."""
        rows = [(run, row) for run in self for row in run.rows]
        return frame_of({
            "what": [run.what for run, _ in rows], "collective": [run.collective for run, _ in rows],
            "engine": [run.engine for run, _ in rows], "size": [row.size for _, row in rows],
            "median": [row.median for _, row in rows], "wrong": [row.wrong for _, row in rows],
        })  # fmt: skip


def load_runs(path: AnyPath) -> Runs:
    """Return the runs in a file that ``linkstep run --json`` wrote, or in a list of such; FileError if it has none.

    >>> import json, pathlib, tempfile
    >>> row = {"size": 1000, "median_seconds": 0.0016, "wrong": 0}
    >>> run = {"format": "linkstep/run", "version": 2, "what": "K_{4,4}", "collective": "allreduce", "engine": "mpi",
    ...        "degree": 4, "steps": 4, "t_b": "7/4", "testbed": None, "rows": [row]}
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = pathlib.Path(here, "runs.json").write_text(json.dumps(run))
    ...     load_runs(pathlib.Path(here, "runs.json"))
    (<Run of allreduce on K_{4,4} by mpi: 1 sizes>,)
    """
    documents = read_documents(path, _KIND)
    with naming(path):
        return Runs(_run(current_run(document)) for document in documents)


def current_run(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run as it is written today, whatever version it is of.

    >>> current_run({"version": 1, "bandwidth": "3/2", "rows": [{"size": 4, "median": 0.1}]})
    {'version': 2, 't_b': '3/2', 'rows': [{'size': 4, 'median_seconds': 0.1}], 'format': 'linkstep/run'}
    """
    if document.get("version") != 1:
        return dict(document)
    run = renamed(document, _OLDER) | {"version": VERSION, "format": f"linkstep/{_KIND}"}
    if isinstance(run.get("rows"), list):
        run["rows"] = [renamed(row, _OLDER_ROW) if isinstance(row, Mapping) else row for row in run["rows"]]
    if isinstance(run.get("step_loads"), list):
        run["step_loads"] = [_named(row) for row in run["step_loads"]]
    return run


def _named(row: object) -> object:
    """Return a row of version 1 as an object; what is none as it is, to be refused."""
    return dict(zip(_LOADS, row, strict=True)) if isinstance(row, list) and len(row) == len(_LOADS) else row


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
    cost, loads = _cost(members), _loads(members.get("step_loads"))
    if cost is not None and sum(load.steps for load in loads) > cost.steps:
        raise FileError(f"step_loads are of more steps than the {cost.steps} that the run has")
    return Run(
        what=_text(members, "what"),
        collective=Collective(_text(members, "collective")),
        engine=_text(members, "engine"),
        degree=_integer(members, "degree", 1, MAX_DEGREE),
        cost=cost,
        rows=tuple(_timing(row) for row in rows),
        testbed=None if members.get("testbed") is None else _text(members, "testbed"),
        loads=loads,
        method=None if members.get("method") is None else _text(members, "method"),
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
    if not isinstance(value, list) or not all(isinstance(row, dict) and row.keys() >= {*_LOADS} for row in value):
        raise FileError(f"step_loads must be a list of objects with {', '.join(_LOADS)}, not {shown(value)}")
    found = []
    for row in value:
        count = _integer(row, "steps", 1, _MOST_STEPS)
        link, host = (parse_fraction(_text(row, name), name) for name in _LOADS[1:])
        if not 0 < link <= host <= _WIDEST:
            raise FileError(f"step_loads must be parts of M, a host's no less than a link's, not {shown(row)}")
        found.append(StepLoad(count, link, host))
    return tuple(found)


def _cost(members: Mapping[str, Any]) -> Cost | None:
    if members.get("steps") is None or members.get("t_b") is None:
        return None
    bandwidth = parse_fraction(_text(members, "t_b"), "t_b")
    if not Fraction(1, _WIDEST) <= bandwidth <= _WIDEST:
        raise FileError(f"t_b, T_B in M/B, must lie in [1e-9, 1e9], not {shown(members['t_b'])}")
    return Cost(_integer(members, "steps", 1, _MOST_STEPS), bandwidth)


def _timing(row: Mapping[str, Any]) -> Timing:
    median = row.get("median_seconds")
    if isinstance(median, bool) or not isinstance(median, int | float) or not _SHORTEST <= median <= _LONGEST:
        raise FileError(f"median_seconds must be seconds, from {_SHORTEST:g} to {_LONGEST:g}, not {shown(median)}")
    return Timing(_integer(row, "size", 1), float(median), _integer(row, "wrong", 0))
