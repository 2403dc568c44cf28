"""Arrivals where a group takes any node to any other in one way, as in Cayley graphs: one node's serve all.

a(v, u) then depends only on where v lies as seen from u, so the search has N numbers to choose instead of N^2.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.arrival_alike import _anneal
from linkstep.core.topology import Ids
from linkstep.methods.arrival.network import Network
from linkstep.methods.arrival.search import Best, Clock, random_state

_RUNS = 4
_ROUNDS, _ROUNDS_EACH = 50_000, 400
"""Rounds of a run at first, and for each node; later runs take twice as many, and so on."""
_SLICE = 20_000
_HOT, _COLD = 0.5, 0.02


def search_alike(
    network: Network, group: Ids, steps: int, parts: int | None, bound: Fraction, seed: int, clock: Clock, best: Best
) -> Best:
    """Return better arrivals than ``best`` that look the same from every node, or ``best`` if none are found."""
    inverse = np.argsort(group, axis=1).astype(np.int32)
    element = np.empty(network.num_nodes, np.int64)
    element[group[:, 0]] = np.arange(len(group))  # the one that takes node 0 there
    near = element[network.near[0, : network.near_count[0]]]
    before, beyond = inverse[near].T.copy(), group[near].T.copy()
    weight = network.weight[network.kind[0]].astype(np.float64)
    target = float(bound) if parts is None else ceil(bound * parts) / parts
    for run in range(_RUNS):
        clock.check()
        state = random_state(seed * _RUNS + run)
        arrive = network.dist[0].astype(np.int64)
        rounds = (_ROUNDS + _ROUNDS_EACH * network.num_nodes) << run
        _anneal(arrive, before, beyond, weight, steps, parts or 0, target, rounds, _HOT, _COLD, state)
        loads = _loads(arrive, before, network.weight[network.kind[0]], steps, parts)
        total = sum(loads, Fraction(0))
        if total < best.total:
            best = Best(total, _spread(arrive, group, inverse, element), 1, group)
            clock.say(total)
        if best.total <= bound:
            break
    return best


def _loads(
    arrive: NDArray[np.int64], before: Ids, weight: NDArray[np.int64], steps: int, parts: int | None
) -> list[Fraction]:
    """Return the worst load of each step, exactly."""
    links = before.shape[1]
    masks = ((arrive[before] < arrive[:, np.newaxis]) << np.arange(links)).sum(axis=1)
    found = []
    for s in range(1, steps + 1):
        counts = np.bincount(masks[arrive == s], minlength=1 << links)
        for k in range(links):
            halves = counts.reshape(-1, 2, 1 << k)
            halves[:, 1] += halves[:, 0]
        load = max(Fraction(int(c), int(w)) for c, w in zip(counts[1:], weight[1:], strict=False))
        found.append(load if parts is None else Fraction(ceil(load * parts), parts))
    return found


def _spread(arrive: NDArray[np.int64], group: Ids, inverse: Ids, element: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return the arrivals at every node from those at node 0."""
    return arrive.astype(np.int16)[inverse[element]]
