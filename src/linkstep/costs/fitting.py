"""Fit a fabric to measured runs: which alpha, overhead and B explain the times best (sec:cost-model).

The model is ``time = overhead + alpha T_L + T_B M / B``. The paper fits alpha and the overhead at the smallest size and
B at the largest, where the other part is negligible; here one least-squares fit takes all sizes at once and each time
counts relative to itself, so small sizes weigh as much as large ones. No part is negative. A link has one rate, B/d,
whatever the number of ports of the topologies that ran. Which parts the rows can tell apart is decided exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import Fabric
from linkstep.costs.runs import Run

DIGITS = 6
"""Significant digits that are kept of a fitted value; no measurement has more."""
ALPHA, PER_BIT, OVERHEAD = range(3)
"""The columns, in the order in which the rows must tell them apart: what comes last is left out first."""


@dataclass(frozen=True)
class Point:
    """One measured time: what ran, its cost and ports, the bytes in all, and seconds."""

    what: str
    collective: Collective
    cost: Cost
    degree: int
    size: int
    seconds: float

    @property
    def columns(self) -> tuple[Fraction, ...]:
        """What alpha, the seconds a bit takes on a link, and the overhead are multiplied by."""
        return Fraction(self.cost.steps), 8 * self.size * self.cost.bandwidth / self.degree, Fraction(1)


@dataclass(frozen=True)
class Fit:
    """A fabric, the times it was fitted to, and what a reader should know of how that went."""

    fabric: Fabric
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Fit to {len(self.points)} times: average error {self.mean_error:.2%}, at most {self.max_error:.2%}>"

    def seconds(self, point: Point) -> float:
        """Return what the fabric predicts where a time was measured."""
        fabric = self.fabric.with_degree(point.degree)
        return float(fabric.time(point.cost, point.collective, point.size))

    def error(self, point: Point) -> float:
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


def fit(runs: Iterable[Run]) -> Fit:
    """Return the fabric that explains measured runs best, with every part at least 0.

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
        several = tuple(runs)
    except TypeError:
        raise LinkstepError(f"runs must be a list of runs, not {shown(runs)}") from None
    for run in several:
        check_kind("a run", run, Run)
    _check_alike(several)
    points, notes = _points(several)
    told = _tellable(points)
    notes += _untold(points, told)
    values = _least_squares(points, told)
    if not values[PER_BIT]:
        raise LinkstepError("times do not grow with the size, so that no bandwidth can be told: measure larger sizes")
    degree = max(point.degree for point in points)
    alpha, overhead, bandwidth = (_rounded(x) for x in (values[ALPHA], values[OVERHEAD], degree / values[PER_BIT]))
    return Fit(Fabric(alpha, bandwidth, degree, overhead=overhead), points, tuple(notes))


def _check_alike(runs: Sequence[Run]) -> None:
    """Raise if the runs cannot have had the same alpha and B."""
    if not runs:
        raise LinkstepError("there are no runs to fit: give files that `linkstep run --json` wrote")
    engines = sorted({run.engine for run in runs})
    if len(engines) > 1:
        raise LinkstepError(f"runs of different engines have no alpha in common: fit {' and '.join(engines)} apart")
    if len({run.testbed is None for run in runs}) > 1:
        raise LinkstepError("runs in a testbed and outside have no wires in common: fit them apart")


def _points(runs: Sequence[Run]) -> tuple[tuple[Point, ...], list[str]]:
    """Return the rows that can be fitted, and what was left out."""
    points, wrong = [], []
    for run in runs:
        wrong += [f"{run.what} at {row.size} bytes" for row in run.rows if row.wrong]
        if run.cost is not None:
            right = (row for row in run.rows if not row.wrong)
            points += [Point(run.what, run.collective, run.cost, run.degree, r.size, r.median) for r in right]
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


def _tellable(points: Sequence[Point]) -> list[int]:
    """Return the columns that the rows tell apart; raise if the bandwidth is not among them."""
    lines = list(dict.fromkeys(point.columns for point in points))
    told: list[int] = []
    for column in (ALPHA, PER_BIT, OVERHEAD):
        if _rank([[line[c] for c in (*told, column)] for line in lines]) > len(told):
            told.append(column)
    if PER_BIT not in told:
        raise LinkstepError("the rows do not tell the bandwidth from the latency: measure several sizes")
    return told


def _untold(points: Sequence[Point], told: Sequence[int]) -> list[str]:
    if OVERHEAD in told:
        return []
    steps = sorted({point.cost.steps for point in points})
    why = f"all runs take {steps[0]} steps" if len(steps) == 1 else "the rows are too few"
    return [f"{why}, which does not tell the overhead of a call from alpha: it is taken as 0"]


def _least_squares(points: Sequence[Point], told: Sequence[int]) -> NDArray[np.float64]:
    """Return the best value at least 0 of each column, 0 for those not told apart.

    The best is the plain least-squares solution on the columns in which it is positive; of three columns there are
    seven such sets, so all are tried.
    """
    table = np.array([[float(x) for x in point.columns] for point in points])
    table /= np.array([[point.seconds] for point in points])  # errors relative to each time
    scale = np.linalg.norm(table, axis=0)
    best, least = np.zeros(table.shape[1]), np.inf
    for count in range(1, len(told) + 1):
        for columns in map(list, combinations(told, count)):
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
