"""Rings: every node passes on, link after link, what it received at the step before.

The schedule of NCCL's rings, one-way and duplex, of shifted rings and of a ring through a hypercube. Several rings
over the same nodes each carry an equal part of every shard.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkstep.baselines.routes import NO_LINK, find_links
from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.families.rings import shifted_ring_jumps


def along_cycles(topology: Topology, cycles: Sequence[Ints]) -> Schedule:
    """Return the allgather round these cycles, each with an equal part of every shard: N - 1 steps.

    A cycle is all nodes in the order in which it visits them; where cycles share two nodes, each has a link of its own.
    """
    n = topology.num_nodes
    used = np.zeros(topology.num_links, np.int64)
    sources, links = [], []
    for order in cycles:
        first = find_links(topology, order, np.roll(order, -1))
        link = first + used[first]
        used[first] += 1
        if (first == NO_LINK).any() or not np.array_equal(topology.tail[link % topology.num_links], order):
            raise ScheduleError(f"{topology.name or 'the topology'} has no links for one of the rings")
        at, step = np.indices((n, n - 1))
        sources.append(order[(at - step) % n].ravel())
        links.append(np.repeat(link, n - 1))
    steps = np.tile(np.arange(1, n), n * len(cycles))
    piece = np.repeat(np.arange(len(cycles)), n * (n - 1))
    columns = np.concatenate(sources), piece, piece + 1, np.concatenate(links), steps
    return Schedule.from_columns(topology, len(cycles), *columns)


def one_way_cycles(topology: Topology, degree: int, size: int) -> list[Ints]:
    """Return the d parallel rings of UniRing(d,m), or of its transpose."""
    way = 1 if find_links(topology, np.zeros(1, np.int64), np.ones(1, np.int64) % size)[0] != NO_LINK else -1
    return [np.arange(size) * way % size] * degree


def two_way_cycles(topology: Topology, degree: int, size: int) -> list[Ints]:
    """Return the rings of BiRing(d,m), half of them each way."""
    return [np.arange(size) * way % size for way in (1, -1) for _ in range(degree // 2)]


def shifted_cycles(topology: Topology, degree: int, size: int) -> list[Ints]:
    """Return the rings of ShiftedRing(d,n): each of its d / 2 rings in both directions."""
    return [np.arange(size) * jump * way % size for jump in shifted_ring_jumps(degree, size) for way in (1, -1)]


def cube_cycle(topology: Topology, dimension: int) -> list[Ints]:
    """Return one ring through all nodes of Q(n) or TwistedHypercube(n): the Gray code.

    Its first links are 0-1-3-2; where these are twisted to 0-3 and 1-2, nodes 1 and 3 change places.

    >>> from linkstep.families.cubes import hypercube, twisted_hypercube
    >>> [cube_cycle(build(3), 3)[0].tolist() for build in (hypercube, twisted_hypercube)]
    [[0, 1, 3, 2, 6, 7, 5, 4], [0, 3, 1, 2, 6, 7, 5, 4]]
    """
    order = np.arange(2**dimension) ^ np.arange(2**dimension) >> 1
    if find_links(topology, np.zeros(1, np.int64), np.ones(1, np.int64))[0] == NO_LINK:
        order[[1, 2]] = order[[2, 1]]
    return [order]


def snake_cycles(topology: Topology, *dims: int) -> list[Ints]:
    """Return one ring through all nodes of a mesh, both ways: out along one row, back like a snake through the others.

    The row is a dimension of even size, and rows follow each other as a snake through the other dimensions.

    >>> from linkstep.families.mesh import mesh
    >>> snake_cycles(mesh(3, 4), 3, 4)[0].tolist()
    [0, 1, 2, 3, 7, 11, 10, 6, 5, 9, 8, 4]
    """
    axis = next(k for k, dim in enumerate(dims) if dim % 2 == 0)
    grid = np.moveaxis(np.arange(topology.num_nodes).reshape(dims), axis, -1)
    rows = grid.reshape(-1, dims[axis])[_snake(grid.shape[:-1])]
    back = [column[1:] if k % 2 == 0 else column[:0:-1] for k, column in enumerate(rows.T[::-1])]
    ring = np.concatenate([rows[0], *back])
    return [ring, ring[::-1]]


def _snake(dims: Sequence[int]) -> Ints:
    """Return the nodes of a mesh in an order in which each is next to the one before.

    >>> _snake((2, 3)).tolist()
    [0, 1, 2, 5, 4, 3]
    """
    order = np.zeros(1, np.int64)
    for dim in dims:
        ways = [np.arange(dim)[:: 1 - 2 * (k % 2)] for k in range(order.size)]
        order = (order[:, None] * dim + np.stack(ways)).ravel()
    return order
