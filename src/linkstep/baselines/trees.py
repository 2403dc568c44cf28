"""Schedules over double binary trees: half of the data goes over each of the two trees, in a pipeline.

NCCL reduces to a root and broadcasts from it. In a schedule of linkstep each shard is reduced at its own node and sent
out from there, so here the half of a shard that a tree carries is reduced along the tree towards its node, and goes out
from it the same way backwards; the two together load every link as NCCL's do. A link sends what it has, first come
first served, at most ceil(N / k) half shards a step, where k is the depth of the pipeline: many small steps for large
data, few large ones for small data. A link is never idle while it has something to send, so the order does not change
the cost. ``double_tree_time`` is the time of the algorithm as published, with roots.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from linkstep.baselines.routes import find_links
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.core.units import Number, parse_size
from linkstep.costs import Cost, Fabric
from linkstep.families.trees import tree_parents

DEGREE = 4


def double_tree_time(fabric: Fabric, num_nodes: int, size: Number) -> Fraction:
    """Return seconds for an allreduce over two binary trees as published: to the roots, then from the roots.

    Each tree carries half of the data in k chunks, one after the other, over links of bandwidth B/d: a pass takes
    2h - 1 + k steps for trees of height h = log2 N, each alpha and a chunk long; k is the best whole number. The paper
    prints no formula; for N = 1024, 1MiB, it gives 1434us, this 1430us. Nodes send to one tree and then to the other in
    this count; with all ports at once, as elsewhere in linkstep, the same trees take fewer steps (``tree_cost``).
    """
    height = max(1, (num_nodes - 1).bit_length())
    whole = 8 * parse_size(size) / 2 / fabric.link_bandwidth

    def one_pass(chunks: int) -> Fraction:
        return (2 * height - 1 + chunks) * (fabric.alpha + whole / chunks)

    best = max(1, round(float((2 * height - 1) * whole / fabric.alpha) ** 0.5)) if fabric.alpha else 10**6
    return fabric.overhead + 2 * min(one_pass(k) for k in range(max(1, best - 1), best + 2))


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
    """Return the links of one tree both ways; where both trees have a link between two nodes, each has its own."""
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
