"""Distances between the nodes of a topology, from breadth-first searches: all, counted, the largest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkstep._kernels.graph import _distance_counts, _distance_profiles, _distances
from linkstep.core.columns import frozen
from linkstep.core.errors import TopologyError
from linkstep.core.text import shown
from linkstep.core.topology import Ids, Ints, Topology

_AT_ONCE = 64
"""Targets whose distances are counted at once, and how far they may be for that to be quicker."""


def _check_node(topology: Topology, node: int, what: str) -> None:
    if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or not 0 <= node < topology.num_nodes:
        raise TopologyError(f"{what} must be a node in [0, {topology.num_nodes}), not {shown(node)}")


def distances_to(topology: Topology, target: int) -> Ids:
    """Return d(v, target) for every node v, or -1 where there is no path.

    >>> distances_to(Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0]), 0).tolist()
    [0, 3, 2, 1]
    """
    _check_node(topology, target, "target")
    dist: Ids = _distances(topology.in_ptr, topology.in_tail, target)
    return dist


def distances_from(topology: Topology, source: int) -> Ids:
    """Return d(source, v) for every node v, or -1 where there is no path."""
    _check_node(topology, source, "source")
    dist: Ids = _distances(topology.out_ptr, topology.head, source)
    return dist


def distance_profiles(topology: Topology, targets: Sequence[int] | Ints | None = None) -> Ints:
    """Return, a row for each target u (all nodes if None), |N^-_x(u)| for x = 0, 1, ...

    >>> distance_profiles(Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0]), [0]).tolist()
    [[1, 1, 1, 1]]
    """
    nodes = np.arange(topology.num_nodes) if targets is None else frozen(targets, np.int64, "targets")
    for node in (nodes.min(), nodes.max()) if nodes.size else ():
        _check_node(topology, int(node), "target")
    profiles: Ints = _distance_profiles(topology.in_ptr, topology.in_tail, nodes)
    return profiles


def distance_counts(topology: Topology, targets: Sequence[int] | Ints | None = None) -> Ints:
    """Return how many pairs of a node and a target (all nodes if None) are at distance 0, 1, 2, ...

    That is the sum of the rows of ``distance_profiles``, in a tenth of the time where targets are many and not far.

    >>> distance_counts(Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])).tolist()
    [4, 4, 4, 4]
    """
    nodes = np.arange(topology.num_nodes) if targets is None else frozen(targets, np.int64, "targets")
    for node in (nodes.min(), nodes.max()) if nodes.size else ():
        _check_node(topology, int(node), "target")
    if nodes.size < _AT_ONCE or distances_to(topology, int(nodes[0])).max() > _AT_ONCE:
        return np.asarray(distance_profiles(topology, nodes).sum(axis=0), np.int64)
    counts: Ints = np.zeros(topology.num_nodes, np.int64)
    return counts[: 1 + _distance_counts(topology.out_ptr, topology.head, nodes, counts)]


def check_connected(topology: Topology) -> None:
    """Raise unless every node reaches every other; the message names two nodes with no path.

    One search each way from node 0 decides it: all reach 0 and 0 reaches all.
    """
    for dist, message in (
        (distances_from(topology, 0), "no path from {first} to {missed}"),
        (distances_to(topology, 0), "no path from {missed} to {first}"),
    ):
        missed = np.flatnonzero(dist < 0)
        if missed.size:
            ends = {"first": topology.called(0), "missed": topology.called(int(missed[0]))}
            raise TopologyError(f"the topology is disconnected: {message.format(**ends)}")


def diameter(topology: Topology) -> int:
    """Return D(G), the largest distance between two nodes (one search per node)."""
    check_connected(topology)
    return int(distance_profiles(topology).shape[1] - 1)
