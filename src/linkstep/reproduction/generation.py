"""Exhibits of schedule generation: tab:sccltacclbfs and fig:sccltacclbfs.

BFB and exact synthesis are run and timed here. The times of SCCL and TACCL are quoted from the paper, which took them
on another machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from linkstep.core.distances import diameter
from linkstep.costs import Cost, bandwidth_bound, cost_of
from linkstep.methods.bfb import bfb_allgather
from linkstep.methods.synthesis import synthesize
from linkstep.recipe import parse
from linkstep.reproduction.charts import Chart, ChartPanel, Curve
from linkstep.reproduction.exhibit import Exhibit, ExhibitResult
from linkstep.reproduction.figures import Cell, CellKind, Direction, Mark, cell, yes

LONG, NONE = ">10^4", "n/a"
CHUNKS = (1, 2, 3, 4)


@dataclass(frozen=True)
class _Row:
    """A row of tab:sccltacclbfs: seconds as printed, for 1 to 4 chunks."""

    recipe: str
    sccl: tuple[str, str, str, str]
    taccl: tuple[str, str, str, str]
    symmetric: tuple[str, str, str, str]
    """TACCL with symmetry."""
    bfb: str


_CUBES = (
    _Row("Q(2)", ("0.59", "0.64", "0.68", "0.72"), ("0.89", "0.50", "0.83", "0.75"), ("0.62", "0.51", "0.71", "0.60"),
         "<0.01"),
    _Row("Q(3)", ("0.86", "1.22", "1.86", "2.48"), ("96.9", "807", "63.2", "1800"), ("7.97", "645", "7.39", "1801"),
         "<0.01"),
    _Row("Q(4)", ("21.4", "48.4", "130", "573"), ("1801", "1801", "1801", "1802"), ("1801", NONE, NONE, NONE), "<0.01"),
    _Row("Q(5)", (LONG,) * 4, ("1802", NONE, NONE, NONE), (NONE,) * 4, "0.03"),
    _Row("Q(6)", (LONG,) * 4, (NONE,) * 4, (NONE,) * 4, "0.17"),
    _Row("Q(10)", (LONG,) * 4, (NONE,) * 4, (NONE,) * 4, "52.7"),
)  # fmt: skip
_TORI = (
    _Row("Torus(2,2)", ("0.61", "0.63", "0.67", "0.76"), ("0.68", "0.50", "0.82", "0.72"),
         ("0.45", "0.51", "0.76", "0.64"), "<0.01"),
    _Row("Torus(3,3)", ("1.00", "1.51", "2.22", "3.44"), ("1801", "189", "67.8", "262"),
         ("88.6", "71.1", "67.8", "105"), "<0.01"),
    _Row("Torus(4,4)", ("17.5", "60", "131", "603"), ("1801", "1801", "1801", "1802"), ("1801", "1801", "1801", NONE),
         "<0.01"),
    _Row("Torus(5,5)", ("3286", "5641", LONG, LONG), ("1802", "1802", "1803", NONE), ("1802", NONE, NONE, NONE),
         "0.01"),
    _Row("Torus(6,6)", (LONG,) * 4, (NONE,) * 4, (NONE,) * 4, "0.03"),
    _Row("Torus(50,50)", (LONG,) * 4, (NONE,) * 4, (NONE,) * 4, "61.1"),
)  # fmt: skip
_GROUPS = (("hypercube", _CUBES), ("2D torus", _TORI))
_MOST_NODES = 36
"""Up to this many nodes exact synthesis is run: in the fewest steps, as SCCL is."""
_LIMIT = 20.0
"""Seconds for one synthesis; each takes two at most."""


def _timed_bfb(recipe: str) -> tuple[float, Cost]:
    topology = parse(recipe).topology()
    begin = time.process_time()
    made = bfb_allgather(topology)
    return time.process_time() - begin, cost_of(made)


def _timed_synthesis(recipe: str, chunks: int) -> tuple[float, Fraction | None]:
    """Return how long the least T_B in as few steps as BFB's took, and that T_B; None if it was not proven in time."""
    topology = parse(recipe).topology()
    steps = _timed_bfb(recipe)[1].steps
    begin = time.perf_counter()
    found = synthesize(topology, steps, chunks, time_limit=_LIMIT)
    return time.perf_counter() - begin, found.bound if found.is_best else None


def _is_synthesized(row: _Row) -> bool:
    return parse(row.recipe).num_nodes <= _MOST_NODES


def compute_times() -> ExhibitResult:
    """Time BFB and exact synthesis beside the paper's times of SCCL, TACCL and BFB."""
    _timed_bfb("Q(2)")  # loads compiled kernels
    _timed_synthesis("Q(2)", 1)  # loads the solver
    cells: list[Cell] = []
    took: dict[str, float] = {}
    exact: dict[str, float] = {}
    for row in (*_CUBES, *_TORI):
        took[row.recipe], _ = _timed_bfb(row.recipe)
        cells.append(
            cell(row.recipe, "BFB", unit="s of CPU", paper=row.bfb, ours=took[row.recipe], better=Direction.LESS,
                 kind=CellKind.MEASURED, why="includes building all rows")
        )  # fmt: skip
        for name, times in (("SCCL", row.sccl), ("TACCL", row.taccl), ("TACCL with symmetry", row.symmetric)):
            cells += [
                cell(row.recipe, f"{name}, c = {c}", unit="s", paper=paper)
                for c, paper in zip(CHUNKS, times, strict=True)
            ]
        for c, paper in zip(CHUNKS, row.sccl, strict=True) if _is_synthesized(row) else ():
            seconds, _ = _timed_synthesis(row.recipe, c)
            exact[row.recipe] = max(seconds, exact.get(row.recipe, 0))
            cells.append(
                cell(row.recipe, f"exact synthesis here, SCCL there, c = {c}", unit="s", paper=paper, ours=seconds,
                     better=Direction.LESS, kind=CellKind.MEASURED, why="another machine, another solver")
            )  # fmt: skip
    return ExhibitResult(tuple(cells), Chart(tuple(_time_panel(*group, took, exact) for group in _GROUPS)), _NOTES)


_NOTES = (
    "SCCL and TACCL are quoted from the paper: neither was measured here. At small sizes SCCL runs from a checkout "
    "of its public source (python -m benchmarks.sccl FOLDER). Exact synthesis is linkstep's own, by OR-tools and with "
    "the topology's symmetry, in the fewest steps and with the least bandwidth, proven.",
)


def _time_panel(name: str, rows: tuple[_Row, ...], took: dict[str, float], exact: dict[str, float]) -> ChartPanel:
    def line(called: str, seconds: dict[str, float]) -> Curve:
        kept = [row.recipe for row in rows if row.recipe in seconds]
        return Curve(called, [parse(r).num_nodes for r in kept], [seconds[r] for r in kept], is_marked=True)

    lines = (
        line("SCCL, c = 1 (paper)", {row.recipe: float(row.sccl[0]) for row in rows if row.sccl[0] != LONG}),
        line("TACCL, c = 1 (paper)", {row.recipe: float(row.taccl[0]) for row in rows if row.taccl[0] != NONE}),
        line("BFB (paper)", {row.recipe: float(row.bfb.lstrip("<")) for row in rows}),
        line("BFB (here)", took),
        line("exact synthesis, slowest of c = 1 to 4 (here)", exact),
    )
    return ChartPanel(name, "nodes N", "seconds to generate", lines, log_x=True, log_y=True)


def compute_costs() -> ExhibitResult:
    """Hold the costs of generated schedules against the optimum of their topologies."""
    cells: list[Cell] = []
    panels: list[ChartPanel] = []
    for name, rows in _GROUPS:
        sizes = [parse(row.recipe).num_nodes for row in rows]
        bfb = [_timed_bfb(row.recipe)[1] for row in rows]
        exact = [_best_synthesized(row.recipe) for row in rows if _is_synthesized(row)]
        hops = [diameter(parse(row.recipe).topology()) for row in rows]
        for row, cost, least_steps in zip(rows, bfb, hops, strict=True):
            cells += _optimal_cells(row, cost, least_steps)
        steps = (
            Curve("BFB", sizes, [cost.steps for cost in bfb], is_marked=True),
            Curve("no schedule on it beats", sizes, hops, is_bound=True),
        )
        ratios = (
            _ratio_line("BFB", sizes, [cost.bandwidth for cost in bfb]),
            _ratio_line("exact synthesis, 1 chunk", sizes, [one[1] for one in exact]),
            _ratio_line("exact synthesis, best of 1 to 4 chunks", sizes, [min(one.values()) for one in exact]),
            Curve("no schedule on it beats", sizes, [1] * len(sizes), is_bound=True),
        )
        panels.append(ChartPanel(name, "nodes N", "T_L in steps", steps, log_x=True))
        panels.append(ChartPanel(name, "nodes N", "T_B / T_B*", ratios, log_x=True))
    return ExhibitResult(
        tuple(cells), Chart(tuple(panels), columns=2), (*_NOTES, "The paper prints no figures of this plot.")
    )


@cache
def _best_synthesized(recipe: str) -> dict[int, Fraction]:
    """Return the least T_B in as few steps as the diameter by the number of chunks."""
    found = {c: _timed_synthesis(recipe, c)[1] for c in CHUNKS}
    return {c: bandwidth for c, bandwidth in found.items() if bandwidth is not None}


def _ratio_line(name: str, sizes: list[int], bandwidths: list[Fraction]) -> Curve:
    """Return the curve of T_B over its bound at the first of these sizes, as many as there are."""
    kept = sizes[: len(bandwidths)]
    ratios = [bandwidth / bandwidth_bound(n) for n, bandwidth in zip(kept, bandwidths, strict=True)]
    return Curve(name, kept, ratios, is_marked=True)


def _optimal_cells(row: _Row, cost: Cost, hops: int) -> list[Cell]:
    """Compare with what the paper says: that BFB and SCCL, at its best number of chunks, can both be optimal."""
    least = bandwidth_bound(parse(row.recipe).num_nodes)
    cells = [
        cell(row.recipe, "T_L of BFB is the diameter", paper="yes", bases=yes(cost.steps == hops), mark=Mark.WORDS),
        cell(row.recipe, "T_B of BFB is (N-1)/N", paper="yes", bases=yes(cost.bandwidth == least), mark=Mark.WORDS),
        cell(row.recipe, "T_L of BFB", unit="steps", bases=cost.steps),
    ]
    if _is_synthesized(row):
        found = _best_synthesized(row.recipe)
        cells += [
            cell(row.recipe, f"least T_B with {c} chunk{'s' * (c > 1)} in as many steps", unit="M/B", ours=bandwidth)
            for c, bandwidth in found.items()
        ]
    return cells


EXHIBITS = (
    Exhibit(
        "tab:sccltacclbfs", "Time to generate a schedule", compute_times,
        "BFB and exact synthesis are timed here, the times of SCCL and TACCL are those that the paper prints.",
        "runs of SCCL and TACCL.", is_quick=False, needs=("ortools",), takes="10 s",
    ),
    Exhibit(
        "fig:sccltacclbfs", "Costs of generated schedules", compute_costs,
        "Schedules are generated and costed exactly.", "schedules of SCCL and TACCL.", needs=("ortools",),
    ),
)  # fmt: skip
