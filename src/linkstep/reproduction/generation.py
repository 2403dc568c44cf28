"""Exhibits of schedule generation: tab:sccltacclbfs and fig:sccltacclbfs.

BFB and exact synthesis are run and timed here. The times of SCCL and TACCL are quoted from the paper, which took them
on another machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

from linkstep.costs import Cost, bandwidth_bound, cost_of, moore_steps
from linkstep.methods.bfb import bfb_allgather
from linkstep.methods.synthesis import synthesize
from linkstep.recipe import parse
from linkstep.reproduction.charts import Chart, Line, Panel
from linkstep.reproduction.exhibit import Exhibit, Result
from linkstep.reproduction.figures import Better, Cell, Kind, cell

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
_SYNTHESIZED = ("Q(2)", "Q(3)", "Q(4)", "Torus(2,2)", "Torus(3,3)", "Torus(4,4)")
"""What exact synthesis is run on: in the fewest steps, as SCCL is."""
_LIMIT = 20.0
"""Seconds for one synthesis."""


def _timed_bfb(recipe: str) -> tuple[float, Cost]:
    topology = parse(recipe).topology()
    begin = time.process_time()
    made = bfb_allgather(topology)
    return time.process_time() - begin, cost_of(made)


def _timed_synthesis(recipe: str, chunks: int) -> tuple[float, Fraction | None]:
    """Return how long the least T_B in as few steps as the diameter took, and that T_B; None if it was not found."""
    topology = parse(recipe).topology()
    steps = _timed_bfb(recipe)[1].steps
    begin = time.perf_counter()
    found = synthesize(topology, steps, chunks, time_limit=_LIMIT)
    took = time.perf_counter() - begin
    return took, None if found.schedule is None else cost_of(found.schedule).bandwidth


def compute_times() -> Result:
    """Time BFB and exact synthesis beside the paper's times of SCCL, TACCL and BFB."""
    _timed_bfb("Q(2)")  # loads compiled kernels
    cells: list[Cell] = []
    took: dict[str, float] = {}
    for row in (*_CUBES, *_TORI):
        took[row.recipe], _ = _timed_bfb(row.recipe)
        cells.append(
            cell(row.recipe, "BFB", unit="s of CPU", paper=row.bfb, ours=took[row.recipe], better=Better.LESS,
                 kind=Kind.MEASURED, why="includes building all rows")
        )  # fmt: skip
        for name, times in (("TACCL", row.taccl), ("TACCL with symmetry", row.symmetric)):
            cells += [
                cell(row.recipe, f"{name}, c = {c}", unit="s", paper=paper)
                for c, paper in zip(CHUNKS, times, strict=True)
            ]
        for c, paper in zip(CHUNKS, row.sccl, strict=True):
            cells.append(cell(row.recipe, f"SCCL, c = {c}", unit="s", paper=paper))
    synthesized: list[float] = []
    for recipe in _SYNTHESIZED:
        row = next(row for row in (*_CUBES, *_TORI) if row.recipe == recipe)
        for c in CHUNKS[:2] if recipe in ("Q(4)", "Torus(4,4)") else CHUNKS:
            seconds, _ = _timed_synthesis(recipe, c)
            synthesized.append(seconds)
            cells.append(
                cell(recipe, f"exact synthesis here, SCCL there, c = {c}", unit="s", paper=row.sccl[c - 1],
                     ours=seconds, better=Better.LESS, kind=Kind.MEASURED, why="another machine, another solver")
            )  # fmt: skip
    return Result(tuple(cells), Chart(tuple(_time_panel(name, rows, took) for name, rows in _GROUPS)), _NOTES)


_GROUPS = (("hypercube", _CUBES), ("2D torus", _TORI))
_NOTES = (
    "SCCL and TACCL are quoted from the paper: neither is run here. Exact synthesis is linkstep's own, by OR-tools, in "
    "the fewest steps and with the least bandwidth, proven.",
)


def _time_panel(name: str, rows: tuple[_Row, ...], took: dict[str, float]) -> Panel:
    sizes = [parse(row.recipe).num_nodes for row in rows]
    printed = [(n, float(row.sccl[0])) for n, row in zip(sizes, rows, strict=True) if row.sccl[0] != LONG]
    theirs = [(n, float(row.taccl[0])) for n, row in zip(sizes, rows, strict=True) if row.taccl[0] != NONE]
    lines = (
        Line("SCCL, c = 1 (paper)", [n for n, _ in printed], [s for _, s in printed], is_marked=True),
        Line("TACCL, c = 1 (paper)", [n for n, _ in theirs], [s for _, s in theirs], is_marked=True),
        Line("BFB (paper)", sizes, [float(row.bfb.lstrip("<")) for row in rows], is_marked=True),
        Line("BFB (here)", sizes, [took[row.recipe] for row in rows], is_marked=True),
    )
    return Panel(name, "nodes N", "seconds to generate", lines, log_x=True, log_y=True)


def compute_costs() -> Result:
    """Hold the costs of generated schedules against the optimum."""
    cells: list[Cell] = []
    panels = []
    for name, rows in _GROUPS:
        sizes, steps, ratios, bound = [], [], [], []
        for row in rows:
            _, cost = _timed_bfb(row.recipe)
            topology = parse(row.recipe)
            least = bandwidth_bound(topology.num_nodes)
            sizes.append(topology.num_nodes)
            steps.append(cost.steps)
            ratios.append(cost.bandwidth / least)
            bound.append(moore_steps(topology.num_nodes, topology.degree, bidirectional=True))
            cells += [
                cell(
                    row.recipe, "T_B of BFB is (N-1)/N", paper="yes", bases="yes" if cost.bandwidth == least else "no"
                ),
                cell(row.recipe, "T_L of BFB", unit="steps", bases=cost.steps),
            ]
        panels.append(
            Panel(name, "nodes N", "T_L of BFB in steps",
                  (Line("BFB", sizes, steps, is_marked=True),
                   Line("bidirectional Moore bound", sizes, bound, is_bound=True)),
                  log_x=True)
        )  # fmt: skip
    for recipe in _SYNTHESIZED:
        for c in (1, 2):
            _, bandwidth = _timed_synthesis(recipe, c)
            cells.append(cell(recipe, f"least T_B with {c} chunk{'s' * (c > 1)} in as many steps", unit="M/B",
                              ours=bandwidth))  # fmt: skip
    return Result(tuple(cells), Chart(tuple(panels)), (*_NOTES, "The paper prints no figures of this plot."))


EXHIBITS = (
    Exhibit(
        "tab:sccltacclbfs", "Time to generate a schedule", compute_times,
        "BFB and exact synthesis are timed here, the times of SCCL and TACCL are those that the paper prints.",
        "runs of SCCL and TACCL.", is_quick=False, needs=("ortools",),
    ),
    Exhibit(
        "fig:sccltacclbfs", "Costs of generated schedules", compute_costs,
        "Schedules are generated and costed exactly.", "schedules of SCCL and TACCL.", is_quick=False,
        needs=("ortools",),
    ),
)  # fmt: skip
