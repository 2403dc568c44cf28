"""Dragonflies: complete graphs of complete graphs, as supercomputers are wired. Here every router is a server."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, duplex_links, knowing
from linkstep.families._family import Args, Family, always


def dragonfly(size: int, ports: int) -> Topology:
    """Return Dragonfly(a,h): N = a (a h + 1), d = a - 1 + h, D = 3 at most.

    a h + 1 groups of a nodes (Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology",
    ISCA 2008). Within a group every two nodes are linked; h links of each node lead to other groups, one between every
    two groups. Node r of group g is number g a + r, and its links lead to groups g + r h + 1, ..., g + r h + h.

    >>> dragonfly(4, 2).num_nodes, dragonfly(4, 2).degree
    (36, 5)
    """
    num_nodes, _ = buildable(dragonfly_size(size, ports))
    groups = num_nodes // size
    nodes = np.arange(num_nodes).reshape(groups, size)
    one, other = np.triu_indices(size, 1)
    # Port p of a group leads p + 1 groups on, where it is port a h - 1 - p: each such link once, from the group before.
    port = np.arange(size * ports)
    group, there = np.nonzero(np.arange(groups)[:, None] < (np.arange(groups)[:, None] + port + 1) % groups)
    left = [nodes[:, one].ravel(), nodes[group, there // ports]]
    right = [nodes[:, other].ravel(), nodes[(group + there + 1) % groups, (size * ports - 1 - there) // ports]]
    links = duplex_links(num_nodes, np.concatenate(left), np.concatenate(right))
    return knowing(links, lambda: _mirrored(nodes), lambda: [np.roll(nodes, -1, axis=0).ravel()])


def _mirrored(nodes: Ints) -> Iterator[Ints]:
    """Yield the mirror, which turns the order of groups and that of the nodes in each."""
    yield np.roll(nodes[::-1, ::-1], 1, axis=0).ravel()


def dragonfly_size(size: int, ports: int) -> tuple[int, int]:
    """Return (N, d) of Dragonfly(a,h)."""
    check_at_least("Dragonfly(a,h)", "a", size, 2)
    check_at_least("Dragonfly(a,h)", "h", ports, 1)
    return size * (size * ports + 1), size - 1 + ports


def _members(num_nodes: int, degree: int) -> Iterator[Args]:
    for size in range(2, min(degree, num_nodes) + 1):
        if size * (size * (degree - size + 1) + 1) == num_nodes:
            yield size, degree - size + 1


FAMILIES = (
    Family(
        name="Dragonfly",
        title="dragonfly",
        params=("int", "int"),
        notation="Dragonfly(a,h)",
        coverage="N = a (a h + 1), d = a - 1 + h, a at least 2",
        build=dragonfly,
        size=dragonfly_size,
        members=_members,
        reverse_symmetric=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        is_searched=False,  # there to compare with
    ),
)
