"""Expanded topologies (sec:expansion).

Pure functions of topologies; node numbers are as each docstring says. Multi-links and self-loops follow the
definitions: each link counts by itself. Expansions take topologies whose links are all alike.
"""

from __future__ import annotations

import numpy as np

from linkstep.core.distances import distances_to
from linkstep.core.errors import TopologyError
from linkstep.core.topology import Ints, Topology, check_permanent
from linkstep.symmetry import declare
from linkstep.symmetry.carried import on_copies, on_links, on_product, same_nodes
from linkstep.symmetry.known import known_representatives

MAX_PROOF_NODES = 4096
"""Above this, ``line_graph_keeps_bfb`` does not look at every node."""


def check_plain(topology: Topology, what: str) -> None:
    """Raise unless all links are alike and there all the time."""
    check_permanent(topology, what)
    if topology.columns:
        raise TopologyError(f"{what} takes a topology whose links are all alike, not one with link columns")


def check_times(times: int, what: str) -> None:
    """Raise unless an expansion is taken at least once."""
    if times < 1:
        raise TopologyError(f"{what}: n must be at least 1, not {times}")


def line_graph(topology: Topology) -> Topology:
    """Return L(G) (linegraphdef): node e is link e of G, and e -> f wherever e ends where f starts.

    N grows d-fold, d stays, D grows by one. A self-loop of G is a node of L(G) with a link to itself.

    >>> line_graph(Topology.from_links(2, [0, 0, 1, 1], [1, 1, 0, 0])).num_links
    8
    """
    check_plain(topology, "L(G)")
    fan_out = np.diff(topology.out_ptr)[topology.head]
    tail = np.repeat(np.arange(topology.num_links), fan_out)
    # Links are sorted by tail, so those that leave head[e] are consecutive from out_ptr[head[e]].
    offset = np.arange(tail.size) - np.repeat(np.cumsum(fan_out) - fan_out, fan_out)
    head = np.repeat(topology.out_ptr[topology.head], fan_out) + offset
    return declare(Topology.from_links(topology.num_links, tail, head), on_links(topology))


def line_graph_keeps_bfb(topology: Topology) -> bool:
    """Whether the line graph of the best BFB schedule of G is proven to be the best BFB schedule of L(G).

    thm:shortestpathlinegraph asks only for two out-neighbours of every node. Its proof sums over all sources v with one
    out-neighbour u' of u, but also needs u' != v; that is wrong where every out-neighbour of u is itself a source of
    the same step, as in Paley(7), whose line graph has a better BFB schedule (20/21) than the theorem's best (1). So
    this asks more: no parallel links, and no node whose out-neighbours are all equally far from it, two hops or more.
    """
    if topology.num_parallel or (topology.num_nodes > MAX_PROOF_NODES and not topology.vertex_transitive):
        return False
    known = known_representatives(topology)
    for u in range(topology.num_nodes) if known is None else known.tolist():
        targets = topology.head[topology.out_ptr[u] : topology.out_ptr[u + 1]]
        targets = targets[targets != u]
        returns = distances_to(topology, u)[targets]
        if targets.size < 2 or (returns[0] > 1 and (returns == returns[0]).all()):
            return False
    return True


def sorted_numbers(tail: Ints, head: Ints) -> Ints:
    """Return the number each link gets when they are sorted by (tail, head), equal ones in the order given."""
    rank = np.empty(tail.size, np.int64)
    rank[np.lexsort((head, tail))] = np.arange(tail.size)
    return rank


def _degree_expanded(topology: Topology, times: int) -> tuple[Ints, Ints]:
    """Return tails and heads of G*n as arrays indexed by (link of G, copy of its tail, copy of its head)."""
    shape = (topology.num_links, times, times)
    copies = np.arange(times)
    tail = np.broadcast_to(topology.tail[:, None, None] * np.int64(times) + copies[:, None], shape)
    head = np.broadcast_to(topology.head[:, None, None] * np.int64(times) + copies, shape)
    return tail, head


def degree_expand(topology: Topology, times: int) -> Topology:
    """Return G*n (def:degreeexp): copy i of node v is v*n + i, and u_i -> v_j for every link u -> v and all i, j.

    N and d grow n-fold. G must have no self-loops.

    >>> degree_expand(Topology.from_links(2, [0, 1], [1, 0]), 2).degree
    2
    """
    check_plain(topology, "G*n")
    check_times(times, "G*n")
    if topology.num_self_loops:
        node = topology.tail[topology.tail == topology.head][0]
        raise TopologyError(f"G*n needs a topology without self-loops; node {node} has one (def:degreeexp)")
    tail, head = _degree_expanded(topology, times)
    expanded = Topology.from_links(topology.num_nodes * times, tail.ravel(), head.ravel())
    return declare(expanded, on_copies(topology, times))


def degree_expanded_links(topology: Topology, times: int) -> Ints:
    """Return the link of G*n from copy i to copy j along link e of G, as an array indexed by (e, i, j)."""
    tail, head = _degree_expanded(topology, times)
    return sorted_numbers(tail.ravel(), head.ravel()).reshape(tail.shape)


def cartesian_product(left: Topology, right: Topology) -> Topology:
    """Return G x H (def:cartesianprodtopodef): node (u, w) is u * |H| + w; one coordinate moves along a link.

    Sizes multiply, degrees and diameters add.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> cartesian_product(ring, ring).degree
    2
    """
    return declare(_product(left, right), on_product(left, right))


def _product(left: Topology, right: Topology) -> Topology:
    for topology in (left, right):
        check_plain(topology, "G x H")
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
    check_times(times, "G^n")
    power = topology
    for _ in range(times - 1):
        power = _product(power, topology)
    return power if times == 1 else declare(power, on_product(*[topology] * times))


def power_links(topology: Topology, times: int) -> Ints:
    """Return the links of G^n as an array indexed by (dimension, link e of G, the other coordinates as a node).

    The last index is a node number of G^n whose coordinate in that dimension is 0; other entries mean nothing.
    """
    n = topology.num_nodes
    weight = n ** np.arange(times - 1, -1, -1, dtype=np.int64)
    nodes = np.arange(n**times, dtype=np.int64)
    where, tails, heads = [], [], []
    for axis in range(times):
        rest = nodes[nodes // weight[axis] % n == 0]
        link, other = (x.ravel() for x in np.meshgrid(np.arange(topology.num_links), rest, indexing="ij"))
        where.append((axis * topology.num_links + link) * nodes.size + other)
        tails.append(other + topology.tail[link] * weight[axis])
        heads.append(other + topology.head[link] * weight[axis])
    number = np.full(times * topology.num_links * nodes.size, -1, np.int64)
    number[np.concatenate(where)] = sorted_numbers(np.concatenate(tails), np.concatenate(heads))
    return number.reshape(times, topology.num_links, nodes.size)


def to_bidirectional(topology: Topology) -> Topology:
    """Return G with its transpose added link by link (sec:unitobidirectional): d doubles, each link gets a partner.

    >>> to_bidirectional(Topology.from_links(3, [0, 1, 2], [1, 2, 0])).is_bidirectional
    True
    """
    check_plain(topology, "Bi(G)")
    both = np.concatenate([topology.tail, topology.head])
    links = Topology.from_links(topology.num_nodes, both, np.concatenate([topology.head, topology.tail]))
    return declare(links, same_nodes(topology))
