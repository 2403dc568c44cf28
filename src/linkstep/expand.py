"""Expansions: larger topologies from smaller ones (sec:expansion).

Pure functions of topologies; node numbers are as each docstring says. Multi-links and self-loops follow the
definitions: each link counts by itself. Expansions take topologies whose links are all alike.
"""

from __future__ import annotations

import numpy as np

from linkstep.errors import TopologyError
from linkstep.topology import Topology


def _check_plain(topology: Topology, what: str) -> None:
    if topology.bandwidth is not None or topology.alpha is not None:
        raise TopologyError(f"{what} takes a topology whose links are all alike, not one with link columns")


def _check_times(times: int, what: str) -> None:
    if times < 1:
        raise TopologyError(f"{what}: n must be at least 1, not {times}")


def line_graph(topology: Topology) -> Topology:
    """Return L(G) (linegraphdef): node e is link e of G, and e -> f wherever e ends where f starts.

    N grows d-fold, d stays, D grows by one. A self-loop of G is a node of L(G) with a link to itself.

    >>> line_graph(Topology.from_links(2, [0, 0, 1, 1], [1, 1, 0, 0])).num_links
    8
    """
    _check_plain(topology, "L(G)")
    fan_out = np.diff(topology.out_ptr)[topology.head]
    tail = np.repeat(np.arange(topology.num_links), fan_out)
    # Links are sorted by tail, so those that leave head[e] are consecutive from out_ptr[head[e]].
    offset = np.arange(tail.size) - np.repeat(np.cumsum(fan_out) - fan_out, fan_out)
    head = np.repeat(topology.out_ptr[topology.head], fan_out) + offset
    return Topology.from_links(topology.num_links, tail, head)


def degree_expand(topology: Topology, times: int) -> Topology:
    """Return G*n (def:degreeexp): copy i of node v is v*n + i, and u_i -> v_j for every link u -> v and all i, j.

    N and d grow n-fold. G must have no self-loops.

    >>> degree_expand(Topology.from_links(2, [0, 1], [1, 0]), 2).degree
    2
    """
    _check_plain(topology, "G*n")
    _check_times(times, "G*n")
    if topology.num_self_loops:
        node = topology.tail[topology.tail == topology.head][0]
        raise TopologyError(f"G*n needs a topology without self-loops; node {node} has one (def:degreeexp)")
    copies = np.arange(times)
    shape = (topology.num_links, times, times)
    tail = np.broadcast_to(topology.tail[:, None, None] * times + copies[:, None], shape)
    head = np.broadcast_to(topology.head[:, None, None] * times + copies, shape)
    return Topology.from_links(topology.num_nodes * times, tail.ravel(), head.ravel())


def cartesian_product(left: Topology, right: Topology) -> Topology:
    """Return G x H (def:cartesianprodtopodef): node (u, w) is u * |H| + w; one coordinate moves along a link.

    Sizes multiply, degrees and diameters add.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> cartesian_product(ring, ring).degree
    2
    """
    for topology in (left, right):
        _check_plain(topology, "G x H")
    n, m = left.num_nodes, right.num_nodes
    us, ws = np.arange(n, dtype=np.int64), np.arange(m, dtype=np.int64)
    tails = [(left.tail[:, None] * np.int64(m) + ws).ravel(), (us[:, None] * m + right.tail).ravel()]
    heads = [(left.head[:, None] * np.int64(m) + ws).ravel(), (us[:, None] * m + right.head).ravel()]
    return Topology.from_links(n * m, np.concatenate(tails), np.concatenate(heads))


def cartesian_power(topology: Topology, times: int) -> Topology:
    """Return G^n, the Cartesian product of n copies of G; the first coordinate is the most significant.

    >>> cartesian_power(Topology.from_links(2, [0, 1], [1, 0]), 10).num_nodes
    1024
    """
    _check_times(times, "G^n")
    power = topology
    for _ in range(times - 1):
        power = cartesian_product(power, topology)
    return power


def to_bidirectional(topology: Topology) -> Topology:
    """Return G with its transpose added link by link (sec:unitobidirectional): d doubles, each link gets a partner.

    >>> to_bidirectional(Topology.from_links(3, [0, 1, 2], [1, 2, 0])).is_bidirectional
    True
    """
    _check_plain(topology, "Bi(G)")
    both = np.concatenate([topology.tail, topology.head])
    return Topology.from_links(topology.num_nodes, both, np.concatenate([topology.head, topology.tail]))
