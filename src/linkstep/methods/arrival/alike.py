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
from linkstep.methods.arrival.best import Best
from linkstep.methods.common.budget import Clock, random_state
from linkstep.methods.common.network import ArrivalNetwork

_PIECES = (1, 1, 2, 1, 2, 4, 3)
"""Pieces of a shard in each run."""
_ROUNDS, _ROUNDS_EACH = 100_000, 400
"""Rounds of a run, and for each piece; each run takes half as many again as the one before."""
_HOT, _COLD = 0.5, 0.02


def search_alike(
    network: ArrivalNetwork,
    group: Ids,
    steps: int,
    chunks: int | None,
    whole: int | None,
    bound: Fraction,
    seed: int,
    clock: Clock,
    holder: list[Best],
) -> None:
    """Look for arrivals that look the same from every node; what is better than ``holder[0]`` takes its place.

    The number of pieces divides ``chunks``; a link carries whole ones of ``whole`` parts of a shard.
    """
    inverse = np.argsort(group, axis=1).astype(np.int32)
    element = np.empty(network.num_nodes, np.int64)
    element[group[:, 0]] = np.arange(len(group))  # the one that takes node 0 there
    near = element[network.near[0, : network.near_count[0]]]
    weight = network.weight[network.kind[0], : 1 << near.size]
    for run, pieces in enumerate(_PIECES):
        if chunks is not None and chunks % pieces:
            continue
        clock.check()
        parts = None if whole is None else whole // pieces
        before, beyond = (_pieces_of(table[near], pieces).T.copy() for table in (inverse, group))
        arrive = np.repeat(network.dist[0], pieces).astype(np.int64)
        target = float(bound * pieces) if parts is None else ceil(bound * pieces * parts) / parts
        rounds = int((_ROUNDS + _ROUNDS_EACH * arrive.size) * 1.5**run)
        state = random_state(seed * len(_PIECES) + run)
        numbers = pieces, weight.astype(np.float64), steps, parts or 0, target, rounds, _HOT, _COLD, state
        _anneal(arrive, before, beyond, *numbers)
        total = _total(arrive, before, pieces, weight, steps, parts)
        if total < holder[0].total:
            holder[0] = Best(total, arrive.astype(np.int16)[np.newaxis, :], pieces, group)
            clock.say(total)
        if holder[0].total <= bound:
            break


def _pieces_of(nodes: Ids, pieces: int) -> Ids:
    """Return rows of nodes as rows of their pieces."""
    table = nodes[:, :, np.newaxis] * pieces + np.arange(pieces)
    return table.reshape(len(nodes), -1).astype(np.int32)


def _total(
    arrive: NDArray[np.int64], before: Ids, pieces: int, weight: NDArray[np.int64], steps: int, parts: int | None
) -> Fraction:
    """Return the sum of the worst loads, exactly, in shards."""
    links = before.shape[1]
    masks = ((arrive[before] < arrive[:, np.newaxis]) << np.arange(links)).sum(axis=1)
    total = Fraction(0)
    for s in range(1, steps + 1):
        counts = np.bincount(masks[arrive == s], minlength=1 << links)
        for k in range(links):
            halves = counts.reshape(-1, 2, 1 << k)
            halves[:, 1] += halves[:, 0]
        load = max(Fraction(c, w) for c, w in zip(counts.tolist()[1:], weight.tolist()[1:], strict=True))
        total += load if parts is None else Fraction(ceil(load * parts), parts)
    return total / pieces
