"""A cheap certificate of bandwidth-optimal BFB schedules: shards split equally over all last links load links alike.

A shard that is x steps away from node u may come over some of its in-links, those from nodes that are x - 1 steps away
from the shard's; let there be b(v, u) of them for node v's. If each brings 1 / b(v, u) of it, the link from w to u
carries the sum of 1 / b(v, u) over the shards that may come over it. If that is the same for all links at each step, no
link ever waits for another and nothing arrives twice: T_B = (N - 1) / N.

thm:shortestbwoptsuff is the case in which every link serves a_x shards and every shard has b_x links, as in
distance-regular graphs. It asks for two of the constants N_x, a_x and b_x and says that the third follows, which is not
so: in the circulant graph C(8, {1, 3, 4}) five links lead to each node, N_2 = 2 and b_2 = 4, but the link across has no
part in step 2, and no BFB schedule is bandwidth-optimal. Here all three must exist, or the loads be equal anyway, as in
the torus of 5 by 5 where b is 1 or 2. Links one way are as good. Not here: the best split where this one is not
balanced (``bfb_certificate``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm

import numpy as np

from linkstep.core.distances import check_connected, distances_to
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.methods.bfb.problems import representatives

QUICK = 3 * 10**7
"""Links into the nodes that are looked at, times nodes, up to which this takes a moment."""


@dataclass(frozen=True)
class EqualSplit:
    """What every link carries at each step, in shards, when shards are split equally."""

    loads: tuple[Fraction, ...]
    constants: tuple[tuple[int, int, int], ...] | None
    """(N_x, a_x, b_x) for each distance x, where these are the same for all nodes, links and shards; else None."""


def equal_split(topology: Topology) -> EqualSplit | None:
    """Return the proof that a topology has a bandwidth-optimal BFB allgather, or None: there may be one all the same.

    >>> petersen = [(u, (u + 1) % 5) for u in range(5)] + [(u, u + 5) for u in range(5)]
    >>> petersen += [(u + 5, (u + 2) % 5 + 5) for u in range(5)]
    >>> tail, head = zip(*(petersen + [(w, u) for u, w in petersen]))
    >>> equal_split(Topology.from_links(10, tail, head)).constants
    ((3, 1, 1), (6, 2, 1))
    """
    check_connected(topology)
    degree, unequal = topology.degree, topology.bandwidth is not None and len(np.unique(topology.bandwidth)) > 1
    in_degrees = np.bincount(topology.head, minlength=topology.num_nodes)
    if topology.num_nodes == 1 or unequal or topology.num_self_loops or (in_degrees != degree).any():
        return None
    tables = [_served(topology, u) for u in representatives(topology).tolist()]
    if len({table.shape[1] for table in tables}) > 1:
        return None  # nodes are not equally far from all others
    table = np.concatenate(tables)
    unit = lcm(*np.flatnonzero(table.sum(axis=(0, 1))).tolist())
    weights = np.array([0] + [unit // b for b in range(1, table.shape[2])], object)
    loads = (table[:, :, 1:].astype(object) * weights[1:]).sum(axis=2)
    if (loads != loads[0]).any():
        return None
    found = tuple(Fraction(int(load), unit) for load in loads[0])
    return EqualSplit(found, _constants(table, found, degree))


def is_equal_split_quick(topology: Topology) -> bool:
    """Whether ``equal_split`` takes a moment."""
    return representatives(topology).size * topology.degree * topology.num_nodes <= QUICK


def _served(topology: Topology, node: int) -> Ints:
    """Return table[link, step - 1, b]: the shards that may come over an in-link and have b links to come over."""
    tails = topology.tail[topology.in_link[topology.in_ptr[node] : topology.in_ptr[node + 1]]]

    @cache
    def to(target: int) -> Ids:
        return distances_to(topology, target)

    far = to(node)
    serves = np.array([to(w) == far - 1 for w in tails.tolist()]) & (far > 0)
    ways = serves.sum(axis=0)
    steps, size = int(far.max()), tails.size + 1
    keys = (far - 1) * size + ways
    rows = [np.bincount(keys[row], minlength=steps * size) for row in serves]
    return np.array(rows, np.int64).reshape(tails.size, steps, size)


def _constants(table: Ints, loads: tuple[Fraction, ...], degree: int) -> tuple[tuple[int, int, int], ...] | None:
    """Return (N_x, a_x, b_x) where shards at each distance all have b_x links; the rest then follows from the loads."""
    found = []
    for step, load in enumerate(loads):
        ways = np.flatnonzero(table[:, step].sum(axis=0)).tolist()
        if len(ways) > 1:
            return None
        found.append((int(load * degree), int(load * ways[0]), ways[0]))
    return tuple(found)
