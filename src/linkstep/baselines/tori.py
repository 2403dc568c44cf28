"""The traditional multi-port schedule of a torus: rings along one dimension after the other (multiporttorus).

Every shard is cut into as many parts as there are dimensions. Part i goes round the rings of dimension i first, then of
i + 1, and so on, half of it each way. All parts run at once and none waits for another, so T_L is the sum of di - 1. In
equal dimensions they use different links at every step and T_B is (N-1)/N; in unequal ones some links carry two parts
and others none, which is why the schedule is slow there (sec:generateivetopo).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np

from linkstep.baselines.routes import NO_LINK, find_links
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.costs import Cost


def coordinates(dims: Sequence[int]) -> Ints:
    """Return the coordinates of all nodes of a torus, a row for each dimension; the last one runs fastest."""
    return np.indices(dims).reshape(len(dims), -1)


def moved(dims: Sequence[int], axis: int, by: Ints | int) -> Ints:
    """Return for every node the one so far along a dimension; ``by`` is one number, or one for each node."""
    at = coordinates(dims)
    at[axis] += by
    nodes: Ints = np.ravel_multi_index(tuple(at), tuple(dims), mode="wrap").astype(np.int64)
    return nodes


def torus_routes(topology: Topology, dims: Sequence[int], to: Ints) -> Ints:
    """Return routes from every node u to ``to[u]``, dimension after dimension, round the short way (up, if both are).

    >>> from linkstep.families.torus import torus
    >>> torus_routes(torus(4, 4), (4, 4), (np.arange(16) + 6) % 16).shape  # one row down and two along, or two and two
    (16, 4)
    """
    here, hops = np.arange(to.size), []
    while (here != to).any():
        there = here
        for axis, dim in reversed(list(enumerate(dims))):
            far = (_coordinate(to, dims, axis) - _coordinate(here, dims, axis)) % dim
            step = np.where(far * 2 <= dim, 1, -1)
            there = np.where(far > 0, here + _shift(here, dims, axis, step), there)
        hops.append(np.where(here == there, NO_LINK, find_links(topology, here, there)))
        here = there
    return np.stack(hops, axis=1) if hops else np.full((to.size, 1), NO_LINK, np.int64)


def _coordinate(nodes: Ints, dims: Sequence[int], axis: int) -> Ints:
    return nodes // prod(dims[axis + 1 :]) % dims[axis]


def _shift(nodes: Ints, dims: Sequence[int], axis: int, step: Ints) -> Ints:
    """Return what a step along a dimension adds to a node's number."""
    at = _coordinate(nodes, dims, axis)
    return ((at + step) % dims[axis] - at) * prod(dims[axis + 1 :])


def _phases(dims: Sequence[int]) -> Iterator[tuple[int, int, list[int], int]]:
    """List (part, dimension, those that the part has done before, steps before) of every part's phases."""
    for part in range(len(dims)):
        done: list[int] = []
        before = 0
        for turn in range(len(dims)):
            axis = (part + turn) % len(dims)
            yield part, axis, list(done), before
            done.append(axis)
            before += dims[axis] - 1


def torus_rings_allgather(topology: Topology, dims: Sequence[int]) -> Schedule:
    """Return the allgather on Torus(d1,d2,...): rings along each dimension, all dimensions at once."""
    columns = []
    for part, axis, done, before in _phases(dims):
        for way in (1, -1):
            piece = 2 * part + (way < 0)
            columns.append(_ring_phase(topology, dims, axis, done, before, way, piece))
    source, lo, link, step = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Schedule.from_columns(topology, 2 * len(dims), source, lo, lo + 1, link, step)


def _ring_phase(
    topology: Topology, dims: Sequence[int], axis: int, done: Sequence[int], before: int, way: int, piece: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the rows of one part going round the rings of a dimension one way: (source, piece, link, step)."""
    n = topology.num_nodes
    link = find_links(topology, np.arange(n), moved(dims, axis, way))
    spread = [range(dims[k]) if k in done else range(1) for k in range(len(dims))]
    offsets = np.array(np.meshgrid(*spread, indexing="ij")).reshape(len(dims), -1)
    node, offset, step = (x.ravel() for x in np.indices((n, offsets.shape[1], dims[axis] - 1)))
    at = coordinates(dims)[:, node] + offsets[:, offset]
    at[axis] -= way * step
    source = np.ravel_multi_index(tuple(at), tuple(dims), mode="wrap").astype(np.int64)
    return source, np.full(node.size, piece), link[node], before + 1 + step


def torus_rings_cost(dims: Sequence[int]) -> Cost:
    """Return what ``torus_rings_allgather`` costs, from the times at which each part is on each dimension.

    >>> print(torus_rings_cost((4, 4)), "|", torus_rings_cost((3, 3, 2)))
    6 alpha + 15/16 M/B | 5 alpha + 95/54 M/B
    """
    phases = [
        (before, before + dims[axis] - 1, axis, Fraction(prod(dims[k] for k in done), len(dims) * ways(dims[axis])))
        for _, axis, done, before in _phases(dims)
    ]
    times = sorted({time for start, stop, _, _ in phases for time in (start, stop)})
    total = Fraction(0)
    for start, stop in pairwise(times):
        loads = [Fraction(0)] * len(dims)
        for first, last, axis, load in phases:
            if first <= start < last:
                loads[axis] += load
        total += (stop - start) * max(loads)
    degree = sum(ways(dim) for dim in dims)
    return Cost(times[-1], total * degree / prod(dims))


def ways(dim: int) -> int:
    """Links of a node in a dimension: a dimension of size 2 has one, and both halves go over it."""
    return 1 if dim == 2 else 2


def torus_flow(dims: Sequence[int]) -> Fraction:
    """Return the all-to-all throughput of a torus: its links of the busiest dimension, all alike, share the distances.

    >>> torus_flow((4, 4)), torus_flow((2, 8))
    (Fraction(1, 8), Fraction(1, 16))
    """
    return min(Fraction(ways(dim) * dim, prod(dims) * (dim * dim // 4)) for dim in dims)
