"""What BFB costs on small graphs without a kernel: nothing is compiled, so that a first answer is as quick as the next.

At each node and step the worst set of in-neighbours is sought among all of them (thm:balancedbfs). Not here: many
nodes, many neighbours and links that differ (``bfb_cost``).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from linkstep.core.topology import Ints, Topology
from linkstep.costs import Cost
from linkstep.methods.bfb.problems import representatives

MOST_SETS = 2**18
"""Sets of in-neighbours, of all nodes that are looked at, up to which this takes a moment."""


def is_plain(topology: Topology) -> bool:
    """Whether ``plain_bfb_cost`` takes a moment: few nodes that differ, few in-neighbours, links alike."""
    return topology.bandwidth is None and representatives(topology).size << topology.degree <= MOST_SETS


def plain_bfb_cost(topology: Topology) -> Cost:
    """Return what ``bfb_cost`` does, of a strongly connected graph whose links are alike.

    >>> plain_bfb_cost(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    Cost(steps=2, bandwidth=Fraction(2, 3))
    """
    tails = np.repeat(np.arange(topology.num_nodes)[:, None], topology.degree, axis=1)  # padded with self-loops
    head = topology.head[topology.in_link]
    tails[head, np.arange(head.size) - topology.in_ptr[head]] = topology.in_tail

    @cache
    def distances(target: int) -> Ints:
        found = np.full(topology.num_nodes, -1)
        front, steps = np.array([target]), 0
        while front.size:
            found[front] = steps
            into = tails[front].ravel()
            front, steps = np.unique(into[found[into] < 0]), steps + 1
        return found

    worst: list[Fraction] = []
    for node in representatives(topology).tolist():
        near, links = np.unique(tails[node][tails[node] != node], return_counts=True)
        away = distances(node)
        over = sum((distances(w) == away - 1) << k for k, w in enumerate(near.tolist()))
        loads = [_load(over[away == step], links.tolist()) for step in range(1, int(away.max()) + 1)]
        shared = min(len(worst), len(loads))
        worst = [*map(max, worst, loads), *worst[shared:], *loads[shared:]]
    return Cost(len(worst), sum(worst, Fraction(0)) * topology.degree / topology.num_nodes)


def _load(over: Ints, links: list[int]) -> Fraction:
    """Return what the busiest link carries when shards, each over some set of in-neighbours, are spread at their best.

    That is the most over all sets: how many shards can come over the set alone, for each of its links.
    """
    inside = np.bincount(over, minlength=1 << len(links)).reshape((2,) * len(links))
    of_set = np.zeros(1, np.int64)
    for axis, several in enumerate(links):
        halves = np.moveaxis(inside, axis, 0)
        halves[1] += halves[0]
        of_set = np.concatenate([of_set, of_set + several])
    most = np.zeros(sum(links) + 1, np.int64)
    np.maximum.at(most, of_set, inside.ravel())
    return max(Fraction(shards, several) for several, shards in enumerate(most.tolist()) if several)
