"""Where nodes stand in a picture: on a grid, on a ring, along a walk, by springs, or in columns by distance.

Not here: what is drawn at these places (``linkstep.pictures.topology`` and ``broadcast``). Every layout is centred on
the origin and fits a box of side 2; the same topology always gets the same places.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.distances import distances_from
from linkstep.core.topology import Ints, Topology

Points = NDArray[np.float64]
Hops = NDArray[np.float32]
"""Hops between every two nodes; in 32 bits, since springs read the whole table in every sweep."""

_RING = 24
"""The most nodes that stand on a circle even if it does not suit them."""
_SPRUNG = 2500
"""The most nodes whose springs settle within seconds."""
_SWEEPS = 60
_PRODUCTS = 20
_SCATTER = 0.1
_SETTLED = 1e-3
"""Springs are settled when a sweep takes off less than this part of the stress."""
_WHOLE = 2 / 3
"""A grid with this part of its cables is still drawn as one: a mesh, a torus with cables cut."""


@dataclass(frozen=True)
class Layout:
    """A place for every node. A ``ring`` leaves the space outside every node free; ``dims`` are those of a grid."""

    place: Points
    ring: bool = False
    dims: tuple[int, ...] = ()


def lay_out(topology: Topology) -> Layout:
    """Return where to draw the nodes: each kind of graph as people know it.

    Tori and grids (numbered row by row, some cables missing perhaps) stand on a grid, circulants on a ring. Others
    stand on a circle in the order of their numbers, small bidirectional ones along a walk where that is much shorter.
    Larger ones of which a circle shows nothing, because most links join near neighbours on it, are laid out by springs.
    """
    n = topology.num_nodes
    dims = grid_dims(topology)
    if dims is not None:
        return Layout(_on_grid(dims), dims=dims)
    circle = on_circle(n)
    if n <= _RING and not is_circulant(topology) and topology.is_bidirectional:
        walked = np.empty_like(circle)
        walked[_walk_order(topology)] = circle
        shorter = _mean_length(topology, walked) < 0.85 * _mean_length(topology, circle)
        return Layout(walked if shorter else circle, ring=True)
    if _RING < n <= _SPRUNG and not is_circulant(topology) and _mean_length(topology, circle) < 0.7:
        return Layout(by_springs(topology))
    return Layout(circle, ring=True)


def on_circle(num_nodes: int) -> Points:
    """Place nodes clockwise on the unit circle, node 0 at the top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(num_nodes) / num_nodes
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * (num_nodes > 1)


def is_circulant(topology: Topology) -> bool:
    """Say whether every node's links make the same jumps in the numbers, as rings and circulants do.

    >>> is_circulant(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    True
    """
    n = topology.num_nodes
    if not topology.num_links or not (np.diff(topology.out_ptr) == topology.num_links / n).all():
        return False
    jumps = np.sort(((topology.head - topology.tail) % n).reshape(n, -1), axis=1)
    return bool((jumps == jumps[0]).all())


def cables(topology: Topology) -> Ints:
    """Return the pairs (u, w), u < w, that one or more links join, sorted."""
    pairs = np.sort(np.stack([topology.tail, topology.head], axis=1).astype(np.int64), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).reshape(-1, 2)


def grid_dims(topology: Topology) -> tuple[int, ...] | None:
    """Return the two to four dimensions of a torus or grid, last coordinate fastest; None if it is neither.

    The name tells, or else the links: all join neighbours of a torus, and most of the torus's cables are there.

    >>> tail, head = [0, 1, 2, 0, 1, 3, 4, 5, 3, 4, 5, 2], [3, 4, 5, 1, 2, 4, 5, 2, 0, 1, 4, 1]
    >>> grid_dims(Topology.from_links(6, tail, head))
    (2, 3)
    """
    n = topology.num_nodes
    named = re.fullmatch(r"(?:Twisted)?Torus\((\d{1,4}(?:,\d{1,4}){1,3})\)", topology.name)
    if named:
        dims = tuple(int(dim) for dim in named[1].split(","))
        if prod(dims) == n and min(dims) > 1:
            return dims
    if not topology.num_links or is_circulant(topology):
        return None
    pairs = cables(topology)
    shares = [(_share(pairs, dims), -sum(dims), dims) for dims in _factorisations(n)]
    share, _, best = max(shares, default=(0.0, 0, ()))
    return best if share >= _WHOLE else None


def _factorisations(num_nodes: int) -> Iterator[tuple[int, ...]]:
    """List the ways to write N as a product of two or three dimensions of at least 2, and the cube of four."""
    if num_nodes == 16:
        yield 2, 2, 2, 2
    for a in range(2, num_nodes // 2 + 1):
        if num_nodes % a == 0:
            yield a, num_nodes // a
            rest = num_nodes // a
            yield from ((a, b, rest // b) for b in range(2, rest // 2 + 1) if rest % b == 0)


def _share(pairs: Ints, dims: tuple[int, ...]) -> float:
    """Return what part of the torus's cables these are; 0 if one of them is no cable of it."""
    whole = sum(prod(dims) // (2 if dim == 2 else 1) for dim in dims)
    if not len(pairs) <= whole < 2 * len(pairs):
        return 0.0
    sizes = np.array(dims)[:, None]
    a, b = np.array(np.unravel_index(pairs[:, 0], dims)), np.array(np.unravel_index(pairs[:, 1], dims))
    apart = (b - a) % sizes
    near = (apart == 1) | (apart == sizes - 1)
    neighbours = (near.sum(axis=0) == 1) & ((apart != 0).sum(axis=0) == 1)
    return len(pairs) / whole if neighbours.all() else 0.0


def _on_grid(dims: tuple[int, ...]) -> Points:
    """Place rows downwards and columns to the right; a third dimension goes back aslant, a fourth stands beside."""
    *outer, row, column = np.unravel_index(np.arange(prod(dims)), dims)
    place = np.stack([column, -row], axis=1).astype(np.float64)
    if outer:
        # Planes must not reach each other's next node, or nodes would cover one another.
        place += outer[-1][:, None] * (min(0.36, 0.85 / dims[-3]) * np.array([1.0, 0.62]))
    if len(outer) == 2:
        place += outer[0][:, None] * np.array([float(np.ptp(place[:, 0])) + 0.9, 0.6])
    return _boxed(place)


def _boxed(place: Points) -> Points:
    """Centre places and scale them to a box of side 2."""
    low, high = place.min(axis=0), place.max(axis=0)
    return np.asarray((place - (low + high) / 2) * 2 / max(float((high - low).max()), 1e-9))


def _mean_length(topology: Topology, place: Points) -> float:
    if not topology.num_links:
        return 2.0
    return float(np.linalg.norm(place[topology.tail] - place[topology.head], axis=1).mean())


def _walk_order(topology: Topology) -> list[int]:
    """Return the nodes along a depth-first walk, the least unvisited neighbour first."""
    order: list[int] = []
    seen = [False] * topology.num_nodes
    for root in range(topology.num_nodes):
        stack = [root]
        while stack:
            u = stack.pop()
            if not seen[u]:
                seen[u] = True
                order.append(u)
                near = topology.head[topology.out_ptr[u] : topology.out_ptr[u + 1]]
                stack += near[::-1].tolist()
    return order


def hops(topology: Topology) -> Hops:
    """Return the hops between every two nodes, links taken as duplex; nodes not joined are farthest apart."""
    both = Topology.from_links(
        topology.num_nodes, np.append(topology.tail, topology.head), np.append(topology.head, topology.tail)
    )
    far = np.stack([distances_from(both, node) for node in range(topology.num_nodes)]).astype(np.float32)
    far[far < 0] = max(far.max() + 1, 1)
    return far


def _drawn(place: NDArray[Any]) -> NDArray[Any]:
    """Return how far apart every two places are."""
    squares = np.square(place).sum(axis=1)
    apart = place @ (-2 * place.T)
    apart += squares
    apart += squares[:, None]
    np.maximum(apart, 1e-9, out=apart)
    return np.asarray(np.sqrt(apart, out=apart))


def by_springs(topology: Topology) -> Points:
    """Place nodes so that distances drawn follow hops: stress majorization (Gansner, Koren and North, 2005).

    A pair's weight is 1 / hops^2. Each sweep solves the quadratic that touches the stress from above, so the stress
    only falls. Node 0 is turned to the top.
    """
    far = hops(topology)
    weight = 1 / np.square(np.maximum(far, 1))
    np.fill_diagonal(weight, 0)
    solve = np.linalg.inv(np.diag(weight.sum(axis=1)) - weight + np.float32(1 / len(far)))
    pull = weight * far
    settling, before = _projected(far), np.inf
    for _ in range(_SWEEPS):
        ratio = _drawn(settling)
        missed = ratio - far
        missed *= missed
        now = float(np.vdot(missed, weight))
        if before - now < _SETTLED * now:
            break
        before = now
        np.divide(pull, ratio, out=ratio)
        settling = solve @ (ratio.sum(axis=1)[:, None] * settling - ratio @ settling)
    place = settling.astype(np.float64)
    place -= place.mean(axis=0)
    x, y = place[0] / max(float(np.hypot(*place[0])), 1e-9)
    place = place @ np.array([[y, x], [-x, y]])
    # Rounded, so that the last bits of a sum do not decide the bytes of a picture.
    farthest = float(np.linalg.norm(place, axis=1).max())
    return np.asarray(np.round(place / max(farthest, 1e-9), 6))  # a node alone stands in the middle


def _projected(far: Hops) -> NDArray[np.float32]:
    """Return a start for the springs: hops projected to a plane in which they spread the most (classical scaling).

    Found by multiplying points often by the matrix of which that plane is the leading one. In it nodes may share a spot
    (on a torus, those that differ in a short dimension alone), so they are scattered a little.
    """
    scatter = np.random.default_rng(seed=0).normal(size=(len(far), 2)).astype(np.float32)
    squares = np.square(far)
    means = squares.mean(axis=0)
    inner = (means[:, None] + means - means.mean() - squares) / 2
    place = scatter
    for _ in range(_PRODUCTS):
        place, _ = np.linalg.qr(inner @ place)
    place = place * np.sqrt(np.abs((place * (inner @ place)).sum(axis=0)))
    return np.asarray(place + np.float32(_SCATTER * far.mean()) * scatter)


def in_columns(topology: Topology, root: int, links: Collection[int] = ()) -> tuple[Points, Ints]:
    """Return columns by the distance from the root (the last of them for nodes it cannot reach) and each node's column.

    Places are one apart in a column, columns one apart. A node stands level with the nodes of the column before from
    which it has one of these links, or else any.
    """
    column = distances_from(topology, root).astype(np.int64)
    column[column < 0] = column.max() + 1
    place = np.zeros((topology.num_nodes, 2))
    for t in range(int(column.max()) + 1):
        nodes = np.flatnonzero(column == t)
        height = np.zeros(nodes.size)
        for i, u in enumerate(nodes.tolist() if t else ()):
            near = topology.in_link[topology.in_ptr[u] : topology.in_ptr[u + 1]]
            near = near[column[topology.tail[near]] == t - 1]
            chosen = [e for e in near.tolist() if e in links] or near.tolist()
            height[i] = -place[topology.tail[chosen], 1].mean() if chosen else 0.0
        nodes = nodes[np.lexsort((nodes, height.round(9)))]
        place[nodes, 0] = t
        place[nodes, 1] = (nodes.size - 1) / 2 - np.arange(nodes.size)
    return place, column
