"""Swing (De Sensi et al., NSDI 2024): recursive halving and doubling whose partners stay close on a torus.

At the s-th exchange in a dimension, a node with an even coordinate exchanges with the one rho(s) further, a node with
an odd coordinate with the one rho(s) back, where rho(s) = (1 - (-2)^(s+1)) / 3: 1, -1, 3, -5, 11, ... Dimensions take
turns; one that is done is left out. The multi-port form here cuts shards into 2D parts: part i starts at dimension i,
once as said and once in the mirror (even back, odd further), so that all ports are at work. Dimensions must be powers
of two. The reduce-scatter goes through the exchanges in this order, the allgather backwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod

import numpy as np

from linkstep.baselines.routes import Turn
from linkstep.baselines.tori import coordinates, moved, torus_routes, ways
from linkstep.core.topology import Topology
from linkstep.costs import Cost


def swing_distance(exchange: int) -> int:
    """Return rho(s).

    >>> [swing_distance(s) for s in range(6)]
    [1, -1, 3, -5, 11, -21]
    """
    return int((1 - (-2) ** (exchange + 1)) // 3)


def has_swing(dims: Sequence[int]) -> bool:
    """Whether every dimension is a power of two."""
    return all(dim & (dim - 1) == 0 for dim in dims)


def _exchanges(dims: Sequence[int], start: int) -> list[tuple[int, int]]:
    """Return the (dimension, rho) of the part that starts at this dimension, in the order of the allgather."""
    found = []
    for s in range(max(dims).bit_length() - 1):
        for turn in range(len(dims)):
            axis = (start + turn) % len(dims)
            if 2**s < dims[axis]:
                found.append((axis, swing_distance(s)))
    return found[::-1]


def swing_parts(topology: Topology, dims: Sequence[int]) -> list[list[Turn]]:
    """Return the rounds of Swing's allgather for each of the 2D parts."""
    return [
        [_turn(topology, dims, axis, mirror * rho, 2**k) for k, (axis, rho) in enumerate(_exchanges(dims, start))]
        for start in range(len(dims))
        for mirror in (1, -1)
    ]


def _turn(topology: Topology, dims: Sequence[int], axis: int, far: int, count: int) -> Turn:
    to = moved(dims, axis, np.where(coordinates(dims)[axis] % 2 == 0, far, -far))
    return Turn(to, torus_routes(topology, dims, to), count)


def swing_cost(dims: Sequence[int]) -> Cost:
    """Return what Swing's allgather costs, stored and forwarded: alpha a hop.

    A part and its mirror load all links of their dimension alike at every hop.

    >>> print(swing_cost((4, 4)))
    4 alpha + 15/16 M/B
    """
    steps, total = 0, 0
    for count, exchanges in _rounds(dims):
        longest = max(far for _, far in exchanges)
        steps += longest
        for hop in range(longest):
            total += count * _busiest(dims, [(axis, far > hop) for axis, far in exchanges])
    return Cost(steps, _bandwidth(dims, total))


def swing_cut_through_cost(dims: Sequence[int]) -> Cost:
    """Return the same where messages cut through: alpha a round."""
    rounds = list(_rounds(dims))
    return Cost(len(rounds), _bandwidth(dims, sum(count * _busiest(dims, exchanges) for count, exchanges in rounds)))


def _rounds(dims: Sequence[int]) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """List the rounds: shards a message, and (dimension, hops) of the part that starts at each dimension."""
    starts = [_exchanges(dims, start) for start in range(len(dims))]
    for k, exchanges in enumerate(zip(*starts, strict=True)):
        yield 2**k, [(axis, abs(rho)) for axis, rho in exchanges]


def _busiest(dims: Sequence[int], loads: Sequence[tuple[int, int]]) -> int:
    """Return the most messages on a link; where a dimension has one link, a part and its mirror share it."""
    total = [0] * len(dims)
    for axis, load in loads:
        total[axis] += load * (2 // ways(dims[axis]))
    return max(total)


def _bandwidth(dims: Sequence[int], load: int) -> Fraction:
    return Fraction(load * sum(map(ways, dims)), 2 * len(dims) * prod(dims))
