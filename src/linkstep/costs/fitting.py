"""Fit a fabric to measured runs: which alpha, overhead and B explain the times best (sec:cost-model).

The model is ``time = overhead + alpha T_L + T_B M / B``. The paper fits alpha and the overhead at the smallest size and
B at the largest, where the other part is negligible; here one least-squares fit takes all sizes at once and each time
counts relative to itself, so small sizes weigh as much as large ones. No part is negative. A link has one rate, B/d,
whatever the number of ports of the topologies that ran. Which parts the rows can tell apart is decided exactly.

Where runs say what their steps put on links and hosts, a limit of hosts is tried too: a step then takes its link's time
or its host's. Which steps wait for hosts depends on the limit alone, over the rate of a link, so that there are few
cases, each a fit as before. It is kept if it explains the times clearly better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import log
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.frames import Table, frame_of_rows
from linkstep.core.notebook import html_table
from linkstep.core.text import shown
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import Fabric
from linkstep.costs.models import StepLoads, step_seconds
from linkstep.costs.runs import Run, StepLoad, load_runs
from linkstep.files.disk import AnyPath

Values = NDArray[np.float64]
Rows = Sequence[tuple[Fraction, ...]]
"""A row for each time, a column for each value."""

DIGITS = 6
"""Significant digits that are kept of a fitted value; no measurement has more."""
ALPHA, PER_BIT, OVERHEAD, PER_HOST_BIT = range(4)
"""The columns, in the order in which the rows must tell them apart: what comes last is left out first."""
_CLEARLY = 2
"""By how many times what one more value is worth by the Bayesian criterion a limit of hosts must be better."""
_EXACT = 1e-6
"""Times that are explained as well as this need no other explanation."""


@dataclass(frozen=True)
class Observation:
    """One measured time: what ran, its cost and ports, the bytes in all, and seconds."""

    what: str
    collective: Collective
    cost: Cost
    degree: int
    size: int
    seconds: float
    loads: tuple[StepLoad, ...] = ()
    method: str | None = None
    """What made the schedule, where that is known."""

    @property
    def name(self) -> str:
        """What ran, and by which method."""
        return self.what if self.method is None else f"{self.what} by {self.method}"

    @property
    def columns(self) -> tuple[Fraction, ...]:
        """What alpha, the seconds a bit takes on a link, and the overhead are multiplied by."""
        return Fraction(self.cost.steps), 8 * self.size * self.cost.bandwidth / self.degree, Fraction(1)

    def limited(self, width: Fraction) -> tuple[Fraction, ...]:
        """Return the columns, and the bits of hosts, where steps wait for hosts with more than ``width`` links busy."""
        link, host = Fraction(0), Fraction(0)
        for load in self.loads:
            if load.host > width * load.link:
                host += load.steps * load.host
            else:
                link += load.steps * load.link
        return Fraction(self.cost.steps), 8 * self.size * link, Fraction(1), 8 * self.size * host


@dataclass(frozen=True)
class FittedTime:
    """A measured time and what the fitted fabric predicts."""

    point: Observation
    predicted: float

    def _row_(self) -> dict[str, Any]:
        point = self.point
        return {
            "what": point.what, "collective": point.collective, "size": point.size, "T_L": point.cost.steps,
            "T_B": point.cost.bandwidth, "seconds": point.seconds, "predicted": self.predicted,
        }  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """A fabric, the times it was fitted to, and what a reader should know of how that went.

    >>> from linkstep import Fabric
    >>> Fit(Fabric.of("10us", "100Gbps", 4), (), ("all runs take 4 steps",)).notes
    ('all runs take 4 steps',)
    """

    fabric: Fabric
    points: tuple[Observation, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Fit to {len(self.points)} times: average error {self.mean_error:.2%}, at most {self.max_error:.2%}>"

    def _fabric_(self) -> Fabric:
        return self.fabric

    def to_frame(self) -> Any:
        """Return a row for each time, measured and predicted, as a DataFrame of pandas or polars."""
        return frame_of_rows(self._points())

    def _points(self) -> Table[FittedTime]:
        return Table(FittedTime(point, self.seconds(point)) for point in self.points)

    def _repr_html_(self) -> str:
        fields = [
            ("fabric", str(self.fabric)), ("times", len(self.points)),
            ("average error", f"{self.mean_error:.2%}"), ("largest error", f"{self.max_error:.2%}"),
        ]  # fmt: skip
        return html_table("fit", [*fields, *(("note", note) for note in self.notes)])

    def seconds(self, point: Observation) -> float:
        """Return what the fabric predicts where a time was measured."""
        fabric = self.fabric.with_degree(point.degree)
        if fabric.host_bandwidth is None:
            return float(fabric.time(point.cost, point.collective, point.size))
        bits, alpha, rate = 8 * point.size, fabric.alpha, fabric.link_bandwidth
        idle = point.cost.steps - sum(one.steps for one in point.loads)
        total = fabric.overhead + idle * step_seconds(StepLoads(), fabric)
        for one in point.loads:
            loads = StepLoads(((alpha, rate, 1, bits * one.link),), ((alpha, bits * one.host),))
            total += one.steps * step_seconds(loads, fabric)
        return float(total)

    def error(self, point: Observation) -> float:
        """Return by what part of the measured time the prediction lies above it."""
        return self.seconds(point) / point.seconds - 1

    @property
    def mean_error(self) -> float:
        """The average relative error, signs aside."""
        return float(np.mean([abs(self.error(point)) for point in self.points]))

    @property
    def max_error(self) -> float:
        """The largest relative error, its sign aside."""
        return max(abs(self.error(point)) for point in self.points)


def fit(runs: Iterable[Run] | AnyPath) -> Fit:
    """Return the fabric that explains measured runs, or those in a file, best, with every part at least 0.

    >>> from linkstep.costs.runs import Timing
    >>> fabric = Fabric.of("12us", "200Mbps", 4, overhead="30us")
    >>> costs = {"K_{4,4}": Cost(4, Fraction(7, 4)), "ShiftedRing(4,8)": Cost(14, Fraction(7, 4))}
    >>> def run(what):
    ...     times = {size: float(fabric.time(costs[what], "allreduce", size)) for size in (1000, 10**6)}
    ...     rows = tuple(Timing(size, time) for size, time in times.items())
    ...     return Run(what, Collective.ALLREDUCE, "mpi", 4, costs[what], rows)
    >>> fit(run(what) for what in costs).fabric == fabric
    True
    """
    try:
        several = load_runs(runs) if isinstance(runs, str | PathLike) else tuple(runs)
    except TypeError:
        raise LinkstepError(f"runs must be a list of runs, not {shown(runs)}") from None
    for run in several:
        check_kind("a run", run, Run)
    _check_alike(several)
    points, notes = _points(several)
    rows = [point.columns for point in points]
    identified = _identifiable(rows)
    if PER_BIT not in identified:
        raise LinkstepError("the rows do not tell the bandwidth from the latency: measure several sizes")
    notes += _unidentified(points, identified)
    values = _solved(rows, points, identified)
    if not values[PER_BIT]:
        raise LinkstepError("times do not grow with the size, so that no bandwidth can be fitted: measure larger sizes")
    host = None
    limited = _with_hosts(points, values)
    if limited is not None:
        values, rate, note = limited
        host = _rounded(rate)
        notes.append(note)
    degree = max(point.degree for point in points)
    alpha, overhead, bandwidth = (_rounded(x) for x in (values[ALPHA], values[OVERHEAD], degree / values[PER_BIT]))
    return Fit(Fabric(alpha, bandwidth, degree, overhead=overhead, host_bandwidth=host), points, tuple(notes))


def _with_hosts(points: Sequence[Observation], plain: Values) -> tuple[Values, float, str] | None:
    """Return values, bit/s of a host and what to say, where a limit of hosts explains times clearly better; or None.

    Sorted by how many links their hosts keep busy, the steps beyond the limit wait for hosts. Either the limit lies
    between two such numbers, or it is one of them and leaves one rate to find.
    """
    if not all(point.loads for point in points):
        return None
    numbers = sorted({load.host / load.link for point in points for load in point.loads})
    found: list[tuple[float, Values, float, Fraction]] = []
    for width, above in pairwise(numbers):
        rows = [point.limited(width) for point in points]
        tied = [(steps, link + host / width, one) for steps, link, one, host in rows]
        for table, several in ((rows, True), (tied, False)):
            identified = _identifiable(table)
            if PER_BIT not in identified or (several and PER_HOST_BIT not in identified):
                continue
            values = _solved(table, points, identified)
            if values[PER_BIT] <= 0 or (several and values[PER_HOST_BIT] <= 0):
                continue
            ratio = values[PER_BIT] / values[PER_HOST_BIT] if several else float(width)
            if width <= ratio <= above or not several:
                found.append((_rest(table, points, values), values, ratio / values[PER_BIT], width))
    if not found:
        return None
    rest, values, rate, width = min(found, key=lambda one: one[0])
    before, count = _rest([point.columns for point in points], points, plain), len(points)
    if before <= _EXACT * count**0.5 or (rest and count * log((before / rest) ** 2) <= _CLEARLY * log(count)):
        return None
    note = "hosts are slower than all their ports: a limit of theirs explains the times better than links alone"
    if width == numbers[0] and rate <= float(width) / values[PER_BIT]:
        note += ", and links may be faster than they are said to be"
    return values, rate, note


def _check_alike(runs: Sequence[Run]) -> None:
    """Raise if the runs cannot have had the same alpha and B."""
    if not runs:
        raise LinkstepError("there are no runs to fit: give files that `linkstep run --json` wrote")
    engines = sorted({run.engine for run in runs})
    if len(engines) > 1:
        raise LinkstepError(f"runs of different engines have no alpha in common: fit {' and '.join(engines)} apart")
    if len({run.testbed is None for run in runs}) > 1:
        raise LinkstepError("runs in a testbed and outside have no wires in common: fit them apart")


def _points(runs: Sequence[Run]) -> tuple[tuple[Observation, ...], list[str]]:
    """Return the rows that can be fitted, and what was left out."""
    points, wrong = [], []
    for run in runs:
        wrong += [f"{run.what} at {row.size} bytes" for row in run.rows if row.wrong]
        if run.cost is not None:
            right = (row for row in run.rows if not row.wrong)
            what = run.what, run.collective, run.cost, run.degree
            points += [Observation(*what, row.size, row.median, run.loads, run.method) for row in right]
    notes = []
    if wrong:
        rest = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        notes.append(f"left out, as results were wrong: {', '.join(wrong[:3])}{rest}")
    unknown = sorted({run.what for run in runs if run.cost is None})
    if unknown:
        notes.append(f"left out, as T_L or T_B is not known: {', '.join(unknown)}")
    if not points:
        raise LinkstepError(f"there are no rows to fit{''.join(f'; {note}' for note in notes)}")
    return tuple(points), notes


def _rank(rows: list[list[Fraction]]) -> int:
    """Return the rank of a small matrix, by elimination."""
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            part = rows[r][column] / rows[rank][column]
            rows[r] = [x - part * y for x, y in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


def _identifiable(rows: Rows) -> list[int]:
    """Return the columns that the rows tell apart."""
    lines = list(dict.fromkeys(rows))
    found: list[int] = []
    for column in (ALPHA, PER_BIT, PER_HOST_BIT, OVERHEAD):
        if column < len(lines[0]) and _rank([[line[c] for c in (*found, column)] for line in lines]) > len(found):
            found.append(column)
    return found


def _unidentified(points: Sequence[Observation], identified: Sequence[int]) -> list[str]:
    if OVERHEAD in identified:
        return []
    steps = sorted({point.cost.steps for point in points})
    why = f"all runs take {steps[0]} steps" if len(steps) == 1 else "the rows are too few"
    return [f"{why}, which does not tell the overhead of a call from alpha: it is taken as 0"]


def _relative(rows: Rows, points: Sequence[Observation]) -> Values:
    """Return rows over the time of each, so that errors are relative to it."""
    table: Values = np.array([[float(x) for x in row] for row in rows])
    table /= np.array([[point.seconds] for point in points])
    return table


def _rest(rows: Rows, points: Sequence[Observation], values: Values) -> float:
    """Return the norm of all relative errors."""
    return float(np.linalg.norm(_relative(rows, points) @ values - 1))


def _solved(rows: Rows, points: Sequence[Observation], identified: Sequence[int]) -> Values:
    """Return the best value at least 0 of each column, 0 for those not identified.

    The best is the plain least-squares solution on the columns in which it is positive; of four columns there are
    fifteen such sets, so all are tried.
    """
    table = _relative(rows, points)
    scale = np.linalg.norm(table, axis=0)
    best, least = np.zeros(table.shape[1]), np.inf
    for count in range(1, len(identified) + 1):
        for columns in map(list, combinations(identified, count)):
            part = np.linalg.lstsq(table[:, columns] / scale[columns], np.ones(len(points)), rcond=None)[0]
            if (part < 0).any():
                continue
            values = np.zeros_like(best)
            values[columns] = part / scale[columns]
            rest = float(np.linalg.norm(table @ values - 1))
            if rest < least:
                best, least = values, rest
    return best


def _rounded(value: float) -> Fraction:
    return Fraction(f"{value:.{DIGITS}g}")
