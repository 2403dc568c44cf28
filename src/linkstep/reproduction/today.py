"""Exhibits against what is wired today at scale: fig:comparisonwithringdbt and fig:supercomp.

Times are exact costs on a stated fabric. All-to-all times are those of flows: of ours what is reached, of others what
nothing exceeds, so that nobody is shown slower than it is.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isqrt, prod

from linkstep.baselines import baseline, double_tree_time
from linkstep.baselines.tori import torus_flow
from linkstep.core.collective import Collective
from linkstep.costs import Cost, Fabric, all_to_all_bound, bandwidth_bound, lower_bound
from linkstep.families.circulant import best_two_jumps, circulant
from linkstep.families.complete import generalized_kautz
from linkstep.families.trees import double_binary_tree
from linkstep.make import schedule
from linkstep.reproduction.charts import Chart, Line, Panel
from linkstep.reproduction.emulation import emulated_cells
from linkstep.reproduction.exhibit import Exhibit, Result
from linkstep.reproduction.figures import Better, Cell, Kind, cell
from linkstep.reproduction.frontiers import best_flow
from linkstep.search import find
from linkstep.search.finders import finder
from linkstep.search.spot import Spot
from linkstep.simulation import simulate
from linkstep.throughput import all_to_all, exact_all_to_all

DEGREE, SIZE = 4, "1MiB"
FABRIC = Fabric.of("10us", "100Gbps", DEGREE)
MICRO = 10**6
NEAR = (901, 950, 1000)
"""Sizes between 900 and 1000 over which all-to-all times are averaged."""
SQUARES = (16, 36, 64, 144, 256, 484, 729, 961)
GAP, PATIENCE = Fraction(1, 100), 600.0


def _allreduce(cost: Cost) -> Fraction:
    return FABRIC.time(cost, Collective.ALLREDUCE, SIZE)


@cache
def _allreduces(num_nodes: int) -> dict[str, Fraction]:
    """Return seconds of an allreduce by who does it."""
    ring = Cost(num_nodes - 1, bandwidth_bound(num_nodes))
    bound = lower_bound(num_nodes, DEGREE)
    found = {
        "ShiftedRing": _allreduce(ring + ring),
        "double binary tree": double_tree_time(FABRIC, num_nodes, SIZE),
        "paper's bases": min(_allreduce(c.allreduce_cost) for c in finder("paper", False).frontier(num_nodes, DEGREE)),
        "linkstep": min(_allreduce(row.allreduce_cost) for row in find(num_nodes, DEGREE, spot=Spot(0)).frontier),
        "no graph beats": _allreduce(bound + bound),
    }
    side = isqrt(num_nodes)
    if side * side == num_nodes:
        grid = Cost(2 * (side - 1), bandwidth_bound(num_nodes))
        found["2D torus"] = _allreduce(grid + grid)
    return found


@cache
def _flows(num_nodes: int) -> dict[str, Fraction]:
    """Return all-to-all throughput by wiring: exact, or on the side that favours what is wired today."""
    jump = best_two_jumps(num_nodes)
    rings, best = (exact_all_to_all(circulant(num_nodes, jumps)) for jumps in ((1, 3), (jump, jump + 1)))
    assert rings is not None and best is not None
    kautz = all_to_all(generalized_kautz(DEGREE, num_nodes), gap=GAP, seconds=PATIENCE)
    trees = all_to_all(double_binary_tree(num_nodes), gap=GAP, seconds=PATIENCE)
    found = {
        "ShiftedRing": rings,
        "double binary tree": trees.bound,
        "circulant": best,
        "generalized Kautz": kautz.value,
        "linkstep": best_flow(find(num_nodes, DEGREE, spot=Spot(0))),
        "no graph beats": all_to_all_bound(num_nodes, DEGREE),
    }
    side = isqrt(num_nodes)
    if side * side == num_nodes:
        found["2D torus"] = torus_flow((side, side))
    return found


def _mean_ratio(who: str, whom: str) -> Fraction:
    """Return how much more flow one has than another, on average over sizes from 900 to 1000."""
    ratios = [_flows(n)[who] / _flows(n)[whom] for n in NEAR]
    return sum(ratios, Fraction(0)) / len(ratios)


_TREES = "the paper's own table:paretooptimal has 1434us beside 291.0us, 4.9 times, at N = 1024"


def compute_comparison() -> Result:
    """Make fig:comparisonwithringdbt again."""
    at, square = _allreduces(1000), _allreduces(961)
    more = Better.MORE
    near = f"N = {', '.join(map(str, NEAR))}, all-to-all"
    sampled = "the mean of three sizes, flows within 1%; the paper's is over all from 900 to 1000"
    cells = [
        cell(
            "N = 1000, allreduce of 1MB", f"ours before {whom}", unit="times", paper=paper,
            bases=row[whom] / row["paper's bases"], ours=row[whom] / row["linkstep"], better=more,
            within=Fraction(slack), why=why,
        )
        for whom, paper, row, slack, why in (
            ("ShiftedRing", "56", at, 1, "at N = 1000, where the paper says near 1000"),
            ("double binary tree", "10", at, "1/2", _TREES),
            ("2D torus", "4", square, "1/2", "the torus has 961 nodes"),
        )
    ]  # fmt: skip
    cells += [
        cell(
            near, f"{who} before {whom}", unit="times", paper=paper, bases=_mean_ratio(who, whom),
            ours=_mean_ratio("linkstep", whom), better=more, within=Fraction(1), why=sampled,
        )
        for who, whom, paper in (
            ("circulant", "ShiftedRing", "9"),
            ("circulant", "double binary tree", "14"),
            ("generalized Kautz", "ShiftedRing", "28"),
            ("generalized Kautz", "double binary tree", "42"),
        )
    ]  # fmt: skip
    over = [100 * (max(_flows(n)["no graph beats"] / _flows(n)[who] for n in NEAR) - 1) for who in
            ("generalized Kautz", "linkstep")]  # fmt: skip
    cells.append(
        cell(
            near, "generalized Kautz above the bound, at most", unit="%", paper="5.2", bases=over[0], ours=over[1],
            better=Better.LESS, within=Fraction(1), why=sampled,
        )
    )  # fmt: skip
    points, panels = _comparison_curves()
    notes = (
        "The paper's shifted rings are C(N,{1,3}) in its all-to-all times. linkstep's column takes its best topology "
        "for each collective; double binary trees are NCCL's two trees, links both ways.",
    )
    return Result((*cells, *points), Chart(panels), notes)


def _comparison_curves() -> tuple[list[Cell], tuple[Panel, ...]]:
    cells: list[Cell] = []
    names = ("ShiftedRing", "double binary tree", "2D torus", "paper's bases", "linkstep", "no graph beats")
    lines = []
    for name in names:
        y = [MICRO * _allreduces(n)[name] for n in SQUARES]
        lines.append(Line(name, SQUARES, y, is_marked=True, is_bound=name == "no graph beats"))
        cells += [
            cell(f"N = {n}, allreduce of 1MB", name, unit="us", bases=time, kind=Kind.POINT)
            for n, time in zip(SQUARES, y, strict=True)
        ]
    exchange = []
    wirings = ("ShiftedRing", "double binary tree", "2D torus", "circulant", "generalized Kautz", "linkstep")
    for name in (*wirings, "no graph beats"):
        y = [MICRO * FABRIC.all_to_all_time(_flows(n)[name], n, SIZE) for n in SQUARES]
        exchange.append(Line(name, SQUARES, y, is_marked=True, is_bound=name == "no graph beats"))
        cells += [
            cell(f"N = {n}, all-to-all of 1MB", name, unit="us", bases=time, kind=Kind.POINT)
            for n, time in zip(SQUARES, y, strict=True)
        ]
    return cells, (
        Panel("allreduce of 1MB, d = 4", "nodes N", "time in us", tuple(lines), log_x=True, log_y=True),
        Panel("all-to-all of 1MB, d = 4", "nodes N", "time in us", tuple(exchange), log_x=True, log_y=True),
    )


_TORI = ((3, 3, 2), (3, 3, 3), (3, 3, 3, 2))
_HOST = Fraction(100 * 10**9)
_LINK = Fraction(25 * 10**9)
_LATENCY = "10us"
"""Frontera: 25 Gbps a link, at most 100 Gbps a host; the paper gives no alpha, and 10us is what it takes elsewhere."""
_LARGE = [10**8, 3 * 10**8, 10**9]
_SMALL = [10**4, 10**5, 10**6, 10**7]


def _torus_name(dims: tuple[int, ...]) -> str:
    return f"Torus({','.join(map(str, dims))})"


def _ports(dims: tuple[int, ...]) -> int:
    return sum(1 if dim == 2 else 2 for dim in dims)


@cache
def _torus_halves(dims: tuple[int, ...]) -> tuple[Cost, Cost]:
    """Return what a half of an allreduce costs by BFB and by the traditional rings."""
    rings = baseline("torus rings", _torus_name(dims)).cost
    assert rings is not None
    return schedule(_torus_name(dims), Collective.ALLGATHER, method="bfb").cost, rings


def _torus_time(dims: tuple[int, ...], half: Cost, size: int) -> Fraction:
    """Return seconds of an allreduce: what its links take, and no less than what the host's own limit lets through."""
    ports, both = _ports(dims), half + half
    by_links = Fabric.of(_LATENCY, _LINK * ports, ports).time(both, Collective.ALLREDUCE, size)
    least = Cost(both.steps, 2 * bandwidth_bound(prod(dims)))
    return max(by_links, Fabric.of(_LATENCY, _HOST, ports).time(least, Collective.ALLREDUCE, size))


def _gain(dims: tuple[int, ...], sizes: list[int]) -> Fraction:
    """Return the mean of how many times the algorithmic bandwidth of BFB is that of the traditional rings."""
    bfb, rings = _torus_halves(dims)
    ratios = [_torus_time(dims, rings, size) / _torus_time(dims, bfb, size) for size in sizes]
    return sum(ratios, Fraction(0)) / len(ratios)


_FRONTERA = "predicted for 25 Gbps a link and 100 Gbps a host, not measured on Frontera"


def compute_tori() -> Result:
    """Predict and simulate fig:supercomp, and run it on emulated wires where that is possible."""
    cells = [
        cell(
            f"{_torus_name(dims)}, 100MB and more", "algbw of BFB above the traditional schedule's", unit="%",
            paper=paper, bases=100 * (_gain(dims, _LARGE) - 1), within=Fraction(5), why=_FRONTERA,
        )
        for dims, paper in zip(_TORI, ("29", "0", "42"), strict=True)
    ]  # fmt: skip
    small = sum((_gain(dims, _SMALL) for dims in _TORI), Fraction(0)) / len(_TORI)
    cells.append(
        cell("all three, below 100MB", "BFB before the traditional schedule", unit="times", paper="3.1", bases=small,
             within=Fraction(1, 2), why=_FRONTERA + "; sizes from 10KB to 10MB")
    )  # fmt: skip
    for dims in _TORI:
        bfb, rings = _torus_halves(dims)
        name = _torus_name(dims)
        optimal = bfb.bandwidth == bandwidth_bound(prod(dims))
        cells += [
            cell(name, "T_B of BFB is (N-1)/N", paper="yes", bases="yes" if optimal else "no"),
            cell(name, "T_L of the traditional schedule over BFB's", unit="times", paper="2",
                 bases=Fraction(rings.steps, bfb.steps), better=Better.MORE, within=Fraction(1, 2)),
            cell(name, "T_L and T_B of BFB's allreduce", bases=str(bfb + bfb)),
            cell(name, "T_L and T_B of the traditional allreduce", bases=str(rings + rings)),
        ]  # fmt: skip
    cells += _quoted() + _simulated() + emulated_cells()
    return Result((*cells, *_torus_points()), Chart(tuple(map(_torus_panel, _TORI))), _TORUS_NOTES)


_TORUS_NOTES = (
    "algbw is M over the time of an allreduce. A host lets 100 Gbps through, less than its 5 to 7 links of 25 Gbps; a "
    "schedule that leaves links idle loses less by that.",
    "What was run on emulated wires is in the table of what was measured, where the machine allows it.",
)


def _quoted() -> list[Cell]:
    """Quote what the paper says of the two solvers."""
    return [
        cell("Torus(3,3,2), SCCL", "algbw as BFB's", paper="yes"),
        cell("Torus(3,3,3), SCCL", "schedule within 10^4 s", paper="none"),
        cell("Torus(3,3,3,2), SCCL", "schedule within 10^4 s", paper="none"),
        cell("Torus(3,3,3,2), TACCL", "schedule within 1800 s", paper="none"),
    ]


def _simulated() -> list[Cell]:
    """Simulate the lowered allreduces of the smallest torus: events, not formulas."""
    dims, size = _TORI[0], 10**8
    name, ports = _torus_name(dims), _ports(dims)
    fabric = Fabric.of(_LATENCY, _LINK * ports, ports)
    made = {
        "BFB": schedule(name, Collective.ALLREDUCE, method="bfb").schedule,
        "traditional": baseline("torus rings", name).schedule(Collective.ALLREDUCE),
    }
    return [
        cell(f"{name}, 100MB, simulated", f"algbw of {who}, links alone", unit="GB/s",
             ours=size / 1e9 / simulate(one, fabric, size, to="cpu").time)
        for who, one in made.items()
    ]  # fmt: skip


def _torus_points() -> list[Cell]:
    return [
        cell(f"{_torus_name(dims)}, {size} bytes", f"algbw, {who}", unit="GB/s",
             bases=size / 10**9 / _torus_time(dims, half, size), kind=Kind.POINT)
        for dims in _TORI
        for who, half in zip(("BFB", "traditional"), _torus_halves(dims), strict=True)
        for size in (*_SMALL, *_LARGE)
    ]  # fmt: skip


def _torus_panel(dims: tuple[int, ...]) -> Panel:
    sizes = [10**k for k in range(4, 10)]
    lines = tuple(
        Line(who, sizes, [size / 10**9 / _torus_time(dims, half, size) for size in sizes], is_marked=True)
        for who, half in zip(("BFB", "traditional torus schedule"), _torus_halves(dims), strict=True)
    )
    return Panel(_torus_name(dims), "bytes M", "algbw in GB/s, predicted", lines, log_x=True)


EXHIBITS = (
    Exhibit(
        "fig:comparisonwithringdbt", "Allreduce and all-to-all beside what is wired today", compute_comparison,
        "Exact costs for alpha = 10us and 100 Gbps a node; all-to-all by flows that are exact or within 1%.",
        is_quick=False, needs=("highspy",),
    ),
    Exhibit(
        "fig:supercomp", "Torus schedules on a supercomputer", compute_tori,
        "Built schedules, their exact costs in seconds for Frontera's links, and an event simulation.",
        "the measurements themselves, on Frontera.", is_quick=False,
    ),
)  # fmt: skip
