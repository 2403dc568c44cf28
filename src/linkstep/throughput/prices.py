"""Throughput of large topologies, to a gap: flows follow prices until the prices prove them nearly best.

Prices of links rise steeply with their load; source after source moves flow to what is cheaper now
(``_kernels/pricing.py``), and every few rounds the mean of prices gives an upper bound. All of that is in floats and
proves nothing: at the end the flow becomes whole numbers that arrive exactly, prices become whole numbers, and what
counts is computed from those.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.pricing import _cancel_cycles, _follow_prices, _whole_flow
from linkstep._kernels.routing import _send_first
from linkstep.core.topology import Ints
from linkstep.throughput.columns import Solution
from linkstep.throughput.problem import FlowProblem
from linkstep.throughput.result import Flow
from linkstep.throughput.watch import Watch

Floats = NDArray[np.float64]

ROUNDS = 4
"""Rounds of all sources between two bounds."""
FADE, LEAST_FADE = 0.1, 0.01
"""How much of the mean of prices a round replaces: less when the bound no longer improves."""
STEEP = 0.5
"""Prices are e times as high where the load is (gap of now) / (this times log of classes) higher."""
STEEPER, STEEPEST = 1.3, 2.0
WIDE = 0.5
"""A gap above this says little: trees begin with bounds that are ten times too high."""
PARTS = 2**40
"""Whole prices are at most this."""
NOTHING = 1e-9
"""What a link carries of a unit, and less, is dropped."""
SEED = 0


def whole_flow(problem: FlowProblem, amounts: Floats) -> Flow | None:
    """Return a flow in whole numbers near one in floats, which need not be conserved exactly.

    What goes round in circles is dropped, and what is next to nothing. None if some node is then reached by no link.
    """
    wires, sources = problem.wires, problem.orbits.sources
    n = wires.num_nodes
    unit = min(2**30, 2**62 // n**2)  # a source sends n units through one link at most
    whole: Ints = np.zeros(amounts.shape, np.int64)
    for i, source in enumerate(sources.tolist()):
        row = amounts[i].copy()
        _cancel_cycles(wires.out_ptr, wires.head, row, NOTHING)
        settled = _whole_flow(
            wires.out_ptr, wires.in_ptr, wires.in_link, wires.tail, wires.head, source, unit, row, whole[i]
        )  # fmt: skip
        if settled < n - 1:
            return None
    return Flow(problem, unit, whole)


def whole_prices(problem: FlowProblem, prices: Floats) -> tuple[int, ...]:
    """Return whole numbers in proportion to prices of classes, the largest as large as distances allow."""
    parts = min(PARTS, 2**60 // problem.wires.num_nodes)
    return tuple(int(p) for p in np.rint(np.maximum(prices, 0.0) * (parts / prices.max())))


class _Descent:
    """Flows of all sources, loads of classes over their capacities, and the best prices so far."""

    def __init__(self, problem: FlowProblem) -> None:
        self.problem = problem
        orbits, wires = problem.orbits, problem.wires
        self.capacity = np.array(problem.capacities, float)
        self.amounts: Floats = np.zeros((orbits.sources.size, wires.num_links))
        self.load: Floats = np.zeros(problem.num_classes)
        self.orders = np.empty((orbits.sources.size, wires.num_nodes), np.int32)
        self.prices: tuple[int, ...] = (1,) * problem.num_classes
        self.bound = problem.bound(self.prices, problem.route(self.prices).total)
        self.random = np.random.default_rng(SEED)
        self.mean: Floats = np.full(problem.num_classes, 1 / problem.num_classes)
        self.fade = FADE
        self.eta = 1e-6 / float(self.capacity.max())
        _send_first(
            wires.out_ptr, wires.tail, wires.head, orbits.link_class, self.capacity, orbits.sources, orbits.weights,
            self.eta, self.amounts, self.orders, self.load,
        )  # fmt: skip

    def round(self) -> None:
        """Let every source move flow once, and keep a mean of the prices that fades."""
        wires, orbits = self.problem.wires, self.problem.orbits
        turns = self.random.permutation(orbits.sources.size)
        _follow_prices(
            wires.in_ptr, wires.in_link, wires.tail, orbits.link_class, self.capacity, orbits.weights, turns, self.eta,
            self.amounts, self.orders, self.load,
        )  # fmt: skip
        np.maximum(self.load, 0.0, out=self.load)
        weight = np.exp(self.eta * (self.load - self.load.max()))
        self.mean += (weight / weight.sum() - self.mean) * self.fade

    @property
    def value(self) -> float:
        """The flow that the busiest class allows, nearly."""
        return float(1 / (self.load.max() * self.problem.fastest))

    def take_bound(self) -> None:
        """Try the mean prices as a bound: those of any one round lean to one side."""
        prices = whole_prices(self.problem, self.mean / self.capacity)
        total = self.problem.route(prices).total
        if total and (bound := self.problem.bound(prices, total)) < self.bound:
            self.prices, self.bound = prices, bound
        else:
            self.fade = max(LEAST_FADE, self.fade / 2)

    def sharpen(self, gap: float, before: float) -> None:
        """Make prices as steep as the gap asks for: a soft maximum is off by log(classes) / eta. More if it stalls."""
        scale = log(self.load.size + 1) / (min(max(gap, 1e-9), WIDE) * float(self.load.max()))
        if gap > 0.9 * before:
            self.eta = max(self.eta, min(self.eta * STEEPER, STEEPEST * scale))
        self.eta = max(self.eta, STEEP * scale)


def solve_by_prices(problem: FlowProblem, watch: Watch) -> Solution:
    """Return a flow and prices that are within the gap asked for, or as near as time allows."""
    descent = _Descent(problem)
    gap = inf
    while True:
        value = descent.value
        if watch.is_near(value, float(descent.bound)) or watch.is_up(Fraction(value), descent.bound):
            break
        before, gap = gap, float(descent.bound) / value - 1
        descent.sharpen(gap, before)
        for _ in range(ROUNDS):
            descent.round()
        descent.take_bound()
    flow = whole_flow(problem, descent.amounts)
    assert flow is not None, "a mixture of route trees reaches every node"
    return Solution(flow, descent.prices, descent.bound)
