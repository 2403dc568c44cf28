"""Balance the paths of an all-to-all over links and steps, by prices.

In a given number of steps T a chunk for a node k hops away may wait T - k times, or take a longer way. So the graph is
unrolled in time: the price of a link at a step grows with its load there, and paths are rerouted along the cheapest
ways, those of a source together at first and then fewer and fewer at a time, until the sum over steps of the busiest
link's load no longer falls. For any prices that add up to 1 a step, the sum over all pairs of the cheapest way is below
every routing in T steps (LP duality): that is the bound, in exact arithmetic. Hop by hop along shortest paths is the
case without waiting.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep._kernels.exchange import _route, _tree_loads
from linkstep.core.progress import Progress
from linkstep.methods.exchange.action import WAIT, Floats, FreeAction, Paths

_WORK = 10**8
"""Links at a step that may be looked at for a number of chunks: more passes where a pass is cheap."""
_PASSES = 12, 48
"""Least and most passes."""
_ROUNDS = 40, 400
"""Least and most rounds of the relaxed problem."""
_SOFT, _STEEP = 16.0, 48.0
"""How steeply prices of the relaxed problem rise, at first and in the end."""
_PRICE, _MOST_PRICE = 2**32, 2**53
"""What 1 is in whole prices at most, and what those of all steps add up to at most."""
_WORSE, _SMALLER = 1.25, 8
"""New loads may make the busiest ones this much worse, or they count a quarter as much; quarters at most."""
_EXACT = 1.0001


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The problem with chunks as small as need be: what is below every routing, and loads that are near it."""

    bound: Fraction
    """Of the sum over steps of the busiest link's load, a piece being 1."""
    load: Floats
    """Of each class at each step."""


@dataclass(frozen=True, eq=False)
class BalancedPaths:
    """Paths, and the sum over steps of the busiest link's load, a piece being 1."""

    paths: Paths
    chunks: int
    load: Fraction


def relax(action: FreeAction, steps: int) -> Relaxation:
    """Send everything by the cheapest ways again and again, at prices that the mean of all loads so far gives.

    Means of prices give the better bounds while prices are soft; in the end they are steeper.
    """
    mean = np.zeros((steps, action.weight.size))
    price = np.full(mean.shape, 1 / action.weight.size) * action.weight
    average, best = price.copy(), _Priced(0, price)
    each = 4 * action.sources.size * steps * action.tail.size
    rounds = min(max(_ROUNDS[0], _WORK // each), _ROUNDS[1])
    for k in range(rounds):
        load = np.zeros(mean.shape)
        best = max(best, _route_at(action, price, load), key=lambda priced: priced.nearly(action))
        mean += (load - mean) * _part(action, mean, load, k)
        top = action.busiest(mean)
        if top.sum() <= _EXACT * best.nearly(action):
            break
        soft = k < rounds * 3 // 4
        steepness = (_SOFT if soft else _STEEP) / np.maximum(top, top.mean() / 1000)[:, np.newaxis]
        price = np.exp(steepness * (mean * action.weight - top[:, np.newaxis]))
        price *= action.weight / price.sum(axis=1, keepdims=True)
        if soft:
            average += (price - average) * 2 / (k + 2)
            if k % 4 == 3:
                best = max(best, _route_at(action, average, load), key=lambda priced: priced.nearly(action))
    return Relaxation(best.exactly(action), mean)


def _part(action: FreeAction, mean: Floats, load: Floats, k: int) -> float:
    """Return how much of the mean new loads replace; where rates differ, less if a slow link makes them bad."""
    usual = 2 / (k + 2)
    if k == 0 or action.rate.min() == action.rate.max():
        return usual
    most = _WORSE * float(action.busiest(mean).sum())
    parts = (usual / 4**power for power in range(_SMALLER))
    return next((part for part in parts if action.busiest(mean + (load - mean) * part).sum() <= most), 0.0)


@dataclass(frozen=True, eq=False)
class _Priced:
    """Whole prices, and what sending everything by the cheapest ways costs at them.

    A step whose busiest link carries a load of b, in units of the fastest, carries at most b r / (the fastest's rate)
    over a link of rate r. So it costs at most b times the sum of all prices there times r / (the fastest's rate).
    """

    total: int
    price: Floats

    def nearly(self, action: FreeAction) -> float:
        """The bound, to compare."""
        return self.total / float((self.price / action.weight).sum(axis=1).max())

    def exactly(self, action: FreeAction) -> Fraction:
        """The bound, rounded down where its denominator is large."""
        rates = action.rate.tolist()
        worth = max(sum(int(p) * r for p, r in zip(row, rates, strict=True)) for row in self.price.tolist())
        found = Fraction(self.total * max(rates), max(worth, 1))
        return found if found.denominator <= _PRICE else Fraction(found * _PRICE // 1, _PRICE)


def _route_at(action: FreeAction, price: Floats, load: Floats) -> _Priced:
    """Send everything by the cheapest ways at whole prices: as fine as sums along paths are exact in floats."""
    whole = np.floor(price * min(float(_PRICE), _MOST_PRICE / (len(price) * float(price.max()))))
    high, low = _tree_loads(*action.graph, whole, load)
    return _Priced((int(high) << 31) + int(low), whole)


def balance(
    action: FreeAction, relaxed: Relaxation, chunks: int, seed: int, progress: Progress | None
) -> BalancedPaths:
    """Route all paths and reroute them; keep the best."""
    n, steps = action.topology.num_nodes, len(relaxed.load)
    numbers, rng = action.sources.size * chunks, np.random.default_rng(seed)
    paths, load = np.full((numbers, n, steps), WAIT, np.int16), np.zeros(relaxed.load.shape, np.int64)
    top = np.maximum(action.busiest(relaxed.load) * chunks, 1.0)
    best, lightest = (paths, load), np.inf
    plan = _passes(n, numbers * steps * action.tail.size, float(top.max()))
    for k, (groups, sharpness) in enumerate(plan):
        if progress is not None:
            progress(k, len(plan))
        order, group = rng.permutation(numbers), rng.permutation(n) % groups
        _route(order, group, groups, k == 0, *action.graph, action.weight, sharpness, top, paths, load)
        busiest = action.busiest(load)
        top = np.maximum(busiest, 1.0)
        if busiest.sum() < lightest:
            best, lightest = (paths.copy(), load.copy()), float(busiest.sum())
        if lightest <= _EXACT * float(relaxed.bound) * chunks:
            break
    return BalancedPaths(best[0], chunks, action.exactly(best[1]) / chunks)


def _passes(num_nodes: int, each: int, top: float) -> list[tuple[int, float]]:
    """Return (groups of destinations, sharpness of prices) of each pass; a pass with one group costs ``each``."""
    steepest = max(8.0 * top, 64.0)  # one chunk more makes a difference
    finest, passes = num_nodes, _PASSES[1]
    while True:
        parts = [k / (passes - 1) for k in range(passes)]
        groups = [min(int(num_nodes ** max(1.5 * part - 0.25, 0.0)), finest) for part in parts]
        if each * sum(groups) <= _WORK or (passes == _PASSES[0] and finest <= 4):
            return [(g, _SOFT * (steepest / _SOFT) ** part) for g, part in zip(groups, parts, strict=True)]
        passes, finest = max(passes * 3 // 4, _PASSES[0]), max(finest // 2, 4)
