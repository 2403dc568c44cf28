"""Throughput by a linear program on HiGHS (the extra ``flow``): eq:mcflp with one source of each orbit of nodes.

A solver's answer proves nothing here. Its flow becomes whole numbers that arrive exactly and its duals whole prices, as
those of ``throughput.prices`` do, and value and bound follow from these.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.throughput.columns import Solution
from linkstep.throughput.prices import whole_flow, whole_prices
from linkstep.throughput.problem import FlowProblem
from linkstep.throughput.watch import Watch

MAX_COLUMNS = 30_000
"""Interior point takes a second or two up to here, and minutes at ten times as many."""


def is_available() -> bool:
    """Whether HiGHS is installed."""
    return find_spec("highspy") is not None


def num_columns(problem: FlowProblem) -> int:
    """Return the size of the program: a variable for each wire and source."""
    return int(problem.orbits.sources.size) * problem.wires.num_links


def _model(problem: FlowProblem) -> Any:
    """Return the program: the least t so that a unit from each source to each node loads class j at most t C_j.

    Columns: wire e of source i at i E + e, and t last. Rows: what each node keeps of each source's flow, then classes.
    """
    highspy: Any = import_module("highspy")
    wires, orbits = problem.wires, problem.orbits
    m, n, links, classes = orbits.sources.size, wires.num_nodes, wires.num_links, problem.num_classes
    size = m * links
    base = np.repeat(np.arange(m) * n, links)
    into, out = base + np.tile(wires.head, m), base + np.tile(wires.tail, m)
    row = np.stack([into, out, m * n + np.tile(orbits.link_class, m)], axis=1)
    scale = float(orbits.weights.sum())  # keeps coefficients near 1
    share = np.repeat(orbits.weights / scale, links)
    entry = np.stack([np.ones(size), -np.ones(size), share], axis=1)
    capacity = np.array(problem.capacities, float)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = size + 1, m * n + classes
    lp.col_cost_ = np.append(np.zeros(size), 1.0)
    lp.col_lower_, lp.col_upper_ = np.zeros(size + 1), np.full(size + 1, highspy.kHighsInf)
    kept = np.ones(m * n)
    lower = np.append(kept, np.full(classes, -highspy.kHighsInf))
    upper = np.append(kept, np.zeros(classes))
    lower[np.arange(m) * n + orbits.sources] = -highspy.kHighsInf  # a source only sends: its row follows from the rest
    upper[np.arange(m) * n + orbits.sources] = highspy.kHighsInf
    lp.row_lower_, lp.row_upper_ = lower, upper
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = np.append(np.arange(size + 1) * 3, 3 * size + classes)
    matrix.index_ = np.append(row.reshape(-1), m * n + np.arange(classes))
    matrix.value_ = np.append(entry.reshape(-1), -capacity / capacity.mean())
    return lp


def solve(problem: FlowProblem, solver: str, seconds: float) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return a flow and prices of classes in floats, by one of HiGHS's solvers; None if it found none in time."""
    highspy: Any = import_module("highspy")
    highs = highspy.Highs()
    for option, value in (
        ("output_flag", False), ("solver", solver), ("run_crossover", "off"), ("time_limit", max(seconds, 0.1)),
    ):  # fmt: skip
        highs.setOptionValue(option, value)
    highs.passModel(_model(problem))
    highs.run()
    found = highs.getSolution()
    if not found.value_valid or not found.dual_valid:
        return None
    m, links = problem.orbits.sources.size, problem.wires.num_links
    amounts = np.maximum(np.array(found.col_value)[:-1].reshape(m, links), 0.0)
    prices = np.maximum(-np.array(found.row_dual)[m * problem.wires.num_nodes :], 0.0)
    return amounts, prices


def solve_by_lp(problem: FlowProblem, watch: Watch, solver: str = "ipx") -> Solution | None:
    """Return flow and prices of the linear program, made exact; None where the solver gave nothing to work with."""
    left = watch.seconds - (monotonic() - watch.started)
    found = solve(problem, solver, left / 2)  # the rest is for prices, if this comes to nothing
    if found is None or not found[1].any():
        return None
    prices = whole_prices(problem, found[1])
    total = problem.route(prices).total
    flow = whole_flow(problem, found[0])
    if not total or flow is None:
        return None
    return Solution(flow, prices, problem.bound(prices, total))
