"""Exact throughput where few classes of links couple the flows: column generation with prices of classes.

Whatever the prices, sending everything by the cheapest routes gives an upper bound on f, and one more load vector to
mix. ``Master`` finds the best mixture of those known and the prices at which it could not be better; routes that are
cheaper under these prices improve it, and if there are none it is the best there is. Routes need not be shortest in
hops: prices decide. Everything that counts is in whole numbers and fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from linkstep._kernels.routing import _tree_flow
from linkstep.core.topology import Ints
from linkstep.throughput.master import Master
from linkstep.throughput.problem import FlowProblem, Routes
from linkstep.throughput.result import Flow
from linkstep.throughput.watch import Watch

COARSE = 2**20
"""Prices in between are rounded to this many parts: any prices give a bound and a column."""
FINE = 2**40
"""Prices that have no common denominator of this size are rounded to it, and the bound is not quite reached."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A flow, and prices with the bound they give."""

    flow: Flow
    prices: tuple[int, ...]
    bound: Fraction


def _rounded(prices: tuple[Fraction, ...], parts: int) -> tuple[int, ...]:
    largest = max(prices)
    return tuple(round(p * parts / largest) for p in prices)


def _whole(problem: FlowProblem, prices: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Return prices as whole numbers: exactly where distances fit into 64 bits, nearly otherwise."""
    scale = lcm(*(p.denominator for p in prices))
    exact = [int(p * scale) for p in prices]
    common = gcd(*exact)
    whole = tuple(p // common for p in exact)
    return whole if problem.fits(whole) else _rounded(prices, min(FINE, 2**60 // problem.wires.num_nodes))


class _Search:
    """Columns found so far, and the best bound with its prices."""

    def __init__(self, problem: FlowProblem) -> None:
        self.problem = problem
        self.master = Master(problem.capacities)
        self.routes: list[Routes] = []
        self.bound: Fraction | None = None
        self.prices: tuple[int, ...] = ()

    @property
    def value(self) -> Fraction:
        """The flow of the best mixture so far."""
        return 1 / (self.master.value_and_prices()[0] * self.problem.fastest)

    def try_prices(self, prices: tuple[int, ...]) -> Routes:
        """Take the bound that prices give, if it is better, and return their routes."""
        routes = self.problem.route(prices)
        if routes.total:  # 0 if all routes avoid what has a price: that bounds nothing
            bound = self.problem.bound(prices, routes.total)
            if self.bound is None or bound < self.bound:
                self.bound, self.prices = bound, prices
        return routes

    def improves(self, routes: Routes) -> bool:
        """Take routes into the mixture, if they are cheaper than it is under the master's prices."""
        if self.routes:
            least, prices = self.master.value_and_prices()
            if sum((p * load for p, load in zip(prices, routes.loads, strict=True)), Fraction(0)) >= least:
                return False
        self.routes.append(routes)
        self.master.add(routes.loads)
        return True

    def between(self) -> tuple[int, ...]:
        """Return prices half way from the best so far to the master's: those alone swing from side to side."""
        prices = self.master.value_and_prices()[1]
        worth = sum(p * c for p, c in zip(self.prices, self.problem.capacities, strict=True))
        return _rounded(tuple((p + Fraction(q, worth)) / 2 for p, q in zip(prices, self.prices, strict=True)), COARSE)

    def solution(self) -> Solution:
        """Return the best mixture as a flow."""
        assert self.bound is not None
        return Solution(_mixture(self.problem, self.routes, self.master.weights()), self.prices, self.bound)


def solve_by_columns(problem: FlowProblem, watch: Watch) -> Solution:
    """Return the largest flow exactly, or the best so far when time is up."""
    search = _Search(problem)
    search.improves(search.try_prices((1,) * problem.num_classes))
    while True:
        assert search.bound is not None
        if search.value == search.bound or watch.is_up(search.value, search.bound):
            return search.solution()
        if not search.improves(search.try_prices(search.between())):
            exact = _whole(problem, search.master.value_and_prices()[1])
            if not search.improves(search.try_prices(exact)):
                return search.solution()


def _mixture(problem: FlowProblem, routes: list[Routes], weights: tuple[Fraction, ...]) -> Flow:
    """Return the weighted sum of route trees, in whole numbers."""
    unit = lcm(*(weight.denominator for weight in weights))
    wires, sources = problem.wires, problem.orbits.sources
    dtype = np.int64 if unit * wires.num_nodes < 2**62 else object
    amounts: Ints = np.zeros((sources.size, wires.num_links), dtype)
    for weight, tree in zip(weights, routes, strict=True):
        if weight:
            for i, source in enumerate(sources.tolist()):
                flow = np.zeros(wires.num_links, np.int64)
                _tree_flow(tree.parents[i], source, wires.tail, flow)
                amounts[i] += flow.astype(dtype) * int(weight * unit)
    return Flow(problem, unit, amounts)
