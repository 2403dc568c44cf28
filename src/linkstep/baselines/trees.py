"""Schedules over double binary trees: half of the data goes over each of the two trees, in a pipeline.

An allreduce is NCCL's: reduced to the root of its tree, broadcast from there, both trees at once and in as many pieces
as the size wants; while later pieces go up, earlier ones come down. The other collectives bring each shard to or from
its own node over the same trees: a link sends what it has, first come first served, at most ceil(N / k) half shards a
step, where k is the depth of the pipeline. ``double_tree_time`` is the time of the allreduce as the paper counts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt

import numpy as np

from linkstep.baselines.routes import find_links
from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.core.units import Number, check_count
from linkstep.costs import Cost, Fabric
from linkstep.families.trees import tree_parents

DEGREE = 4
MOST_PIECES = 2**14
"""Of a tree's data; more steps than a schedule has beyond that."""


def double_tree_time(fabric: Fabric, num_nodes: int, size: Number) -> Fraction:
    """Return seconds for an allreduce over two binary trees as published: to the roots, then from the roots.

    Each tree carries half of the data in k chunks, one after the other, over links of bandwidth B/d: a pass takes
    2h - 1 + k steps for trees of height h = log2 N, each alpha and a chunk long; k is the best whole number. The paper
    prints no formula; for N = 1024, 1MiB, it gives 1434us, this 1430us. Nodes send to one tree and then to the other in
    this count, and the second pass waits for the first; with both trees and both passes at once the same trees take
    less (``tree_halves``).
    """
    height = max(1, (check_count("the number of nodes", num_nodes, 1, 10**9) - 1).bit_length())
    check_kind("fabric", fabric, Fabric)

    def both_passes(pieces: int) -> Cost:
        steps = 2 * (2 * height - 1 + pieces)
        return Cost(steps, steps * Fraction(fabric.degree, 2 * pieces))

    near = _near_best(fabric, 2 * height - 1, fabric.degree, size)
    return min(fabric.time(both_passes(pieces), Collective.ALLREDUCE, size) for pieces in near)


@lru_cache(maxsize=1024)
def tree_height(num_nodes: int) -> int:
    """Return the most links from a node to the root of its tree.

    >>> [tree_height(size) for size in (8, 10, 12, 64, 1024)]
    [3, 4, 4, 6, 10]
    """
    return int(_depths_and_heights(tree_parents(num_nodes)[0])[0].max())


def _depths_and_heights(parents: Ints) -> tuple[Ints, Ints]:
    """Return of every node the links to the root, and the links to the farthest node below it."""
    num_nodes = parents.size
    depth, height, at = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64), np.arange(num_nodes)
    while (at >= 0).any():
        inside = at >= 0
        np.maximum.at(height, at[inside], depth[inside])  # all start one link further down each time round
        at = np.where(inside, parents[at], -1)
        depth += at >= 0
    return depth, height


def tree_halves(num_nodes: int, pieces: int) -> tuple[Cost, Cost]:
    """Return what ``tree_allreduce`` costs: until the last piece is complete at its root, and from there on.

    A piece goes up h links and down h, the next one a step behind it, and a step lasts as long as a piece takes over a
    link: 1 / 2k of the data. So there are 2h + k - 1 steps in all, and T_B tends to 2 M/B.

    >>> [str(cost) for cost in tree_halves(8, 1)], [str(cost) for cost in tree_halves(8, 100)]
    (['3 alpha + 6 M/B', '3 alpha + 6 M/B'], ['102 alpha + 51/25 M/B', '3 alpha + 3/50 M/B'])
    """
    height = tree_height(num_nodes)
    step = Fraction(DEGREE, 2 * pieces)
    up = height + pieces - 1
    return Cost(up, up * step), Cost(height, height * step)


def best_pieces(num_nodes: int, fabric: Fabric, size: Number) -> int:
    """Return the number of pieces that makes ``tree_allreduce`` of ``size`` bytes the fastest."""

    def time(pieces: int) -> Fraction:
        up, down = tree_halves(num_nodes, pieces)
        return fabric.time(up + down, Collective.ALLREDUCE, size)

    return min(_near_best(fabric, 2 * tree_height(num_nodes) - 1, DEGREE, size), key=time)


def _near_best(fabric: Fabric, lead: int, degree: int, size: Number) -> tuple[int, ...]:
    """Return the numbers of pieces one of which is the best of a pipeline of ``lead`` + k steps of half the data / k.

    (lead + k)(alpha + d M / 2kB) is convex in k and least at the root of lead d M / (2 B alpha).
    """

    def taken(cost: Cost) -> Fraction:
        return fabric.time(cost, Collective.ALLREDUCE, size) - fabric.overhead

    step, whole = taken(Cost(1, Fraction(0))), taken(Cost(0, Fraction(degree, 2)))
    if not step:
        return (MOST_PIECES,)
    best = isqrt(int(lead * whole / step))
    return tuple(min(max(1, k), MOST_PIECES) for k in (best, best + 1))


def tree_allreduce(topology: Topology, num_nodes: int, pieces: int) -> Schedule:
    """Return the allreduce on DoubleBinaryTree(n) as NCCL's: half of every shard through each tree's root."""
    used: set[int] = set()
    cut = pieces // gcd(pieces, num_nodes)  # units of half a shard, so that all halves together are whole pieces
    width = num_nodes * cut // pieces
    ends = np.unique(np.concatenate([np.arange(num_nodes) * cut, np.arange(pieces) * width, [num_nodes * cut]]))
    source, piece = ends[:-1] // cut, ends[:-1] // width
    lo = ends[:-1] - source * cut
    hi = lo + np.diff(ends)
    columns: list[tuple[Ints, ...]] = []
    for tree, parents in enumerate(tree_parents(num_nodes)):
        links = np.array(_tree_links(topology, parents, used))
        child = np.flatnonzero(parents >= 0)
        depth, height = _depths_and_heights(parents)
        up, down = height[child] + 1, depth.max() + depth[child]
        for link, step in zip(links, np.concatenate([up, down]), strict=True):
            same = np.full(source.size, link)
            columns.append((source, tree * cut + lo, tree * cut + hi, same, piece + step))
    shard, start, stop, over, at = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Schedule.from_columns(topology, 2 * cut, shard, start, stop, over, at, Collective.ALLREDUCE)


def depths(num_nodes: int) -> tuple[int, ...]:
    """Return the depths that are tried, each about 1.4 times the one before: 1, 2, 3, 4, 6, 8, 12, ..., N - 1.

    >>> depths(16)
    (1, 2, 3, 4, 6, 8, 12, 15)
    """
    powers = [2**k for k in range(num_nodes.bit_length())]
    tried = {depth for power in powers for depth in (power, 3 * power // 2)}
    return tuple(sorted({depth for depth in tried if depth < num_nodes - 1} | {num_nodes - 1}))


def _width(num_nodes: int, depth: int) -> int:
    """Return how many half shards a link sends at a step."""
    return -(-(num_nodes - 1) // depth)


def least_steps(num_nodes: int, depth: int) -> int:
    """Return a number of steps that no pipeline of this depth goes below."""
    return -(-(num_nodes - 1) // _width(num_nodes, depth))


@lru_cache(maxsize=4096)
def tree_cost(num_nodes: int, depth: int) -> Cost:
    """Return what ``tree_allgather`` costs, by counting what each link has sent; with k = N - 1 it is N - 1 steps.

    >>> print(tree_cost(16, 1), "|", tree_cost(16, 15))
    6 alpha + 23/8 M/B | 15 alpha + 15/8 M/B
    """
    if depth == num_nodes - 1:
        return Cost(depth, Fraction(DEGREE * depth, 2 * num_nodes))
    width = _width(num_nodes, depth)
    parents = tree_parents(num_nodes)[0]
    child = np.flatnonzero(parents >= 0)
    parent = parents[child]
    up, down = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)  # sent so far, by the child's number
    steps, total = 0, 0
    while True:
        arrived = np.bincount(parent, weights=up[child], minlength=num_nodes).astype(np.int64) + down
        has_up = 1 + arrived - down
        has_down = 1 + arrived[parents] - up
        sent_up, sent_down = np.minimum(width, has_up - up), np.minimum(width, has_down - down)
        sent = max(int(sent_up[child].max()), int(sent_down[child].max()))
        if not sent:
            return Cost(steps, Fraction(DEGREE * total, 2 * num_nodes))
        up[child] += sent_up[child]
        down[child] += sent_down[child]
        steps, total = steps + 1, total + sent


def tree_allgather(topology: Topology, num_nodes: int, depth: int) -> Schedule:
    """Return the allgather on DoubleBinaryTree(n): half of every shard over one tree, half over the other."""
    used: set[int] = set()
    rows: list[tuple[int, int, int, int]] = []
    for piece, parents in enumerate(tree_parents(num_nodes)):
        links = _tree_links(topology, parents, used)
        rows += [(source, piece, link, step) for source, link, step in _pipeline(topology, links, num_nodes, depth)]
    source, lo, link, step = np.array(rows).T
    return Schedule.from_columns(topology, 2, source, lo, lo + 1, link, step)


def _tree_links(topology: Topology, parents: Ints, used: set[int]) -> list[int]:
    """Return the duplex links of one tree; where both trees have a link between two nodes, each has its own."""
    child = np.flatnonzero(parents >= 0)
    ends = np.concatenate([child, parents[child]]), np.concatenate([parents[child], child])
    found = [link + (link in used) for link in find_links(topology, *ends).tolist()]
    used.update(found)
    return found


def _pipeline(topology: Topology, links: list[int], num_nodes: int, depth: int) -> Iterator[tuple[int, int, int]]:
    """List (source, link, step): at every step each link passes on what its node has received, in that order."""
    tail, head = topology.tail.tolist(), topology.head.tolist()
    out: list[list[int]] = [[] for _ in range(num_nodes)]
    for link in links:
        out[tail[link]].append(link)
    waiting = {link: [tail[link]] for link in links}
    sent = dict.fromkeys(links, 0)
    width, step, moving = _width(num_nodes, depth), 0, True
    while moving:
        step, moving = step + 1, False
        arrived = []
        for link in links:
            now = waiting[link][sent[link] : sent[link] + width]
            sent[link] += len(now)
            moving = moving or bool(now)
            yield from ((source, link, step) for source in now)
            arrived += [(onward, now) for onward in out[head[link]] if head[onward] != tail[link]]
        for onward, now in arrived:
            waiting[onward] += now
