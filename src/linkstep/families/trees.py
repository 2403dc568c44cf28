"""Double binary trees, the wiring of NCCL's tree collectives. Not here: their schedules (``linkstep.baselines``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, knowing
from linkstep.families._family import Args, Family, always, never

LEAST = 4
"""Below, a node has fewer than four ports."""


def tree_parents(size: int) -> tuple[Ints, Ints]:
    """Return the parent of every node in each of the two trees; -1 at a root.

    In the first the nodes in order are the tree in order: even numbers are inside and odd ones are leaves. The
    second is the first in a mirror, u to n - 1 - u, or for odd n one further round, u to u + 1 mod n: who is inside
    one tree is a leaf of the other.

    >>> [parents.tolist() for parents in tree_parents(4)]
    [[-1, 2, 0, 2], [1, 3, 1, -1]]
    """
    first = np.full(size, -1, np.int64)
    nodes = np.arange(1, size)
    lowest = nodes & -nodes
    above = (nodes ^ lowest) | lowest << 1
    first[1:] = np.where(above < size, above, nodes ^ lowest)
    moved = size - 1 - np.arange(size) if size % 2 == 0 else (np.arange(size) + 1) % size
    second = np.full(size, -1, np.int64)
    second[moved] = np.where(first < 0, -1, moved[first])
    return first, second


def double_binary_tree(size: int) -> Topology:
    """Return DoubleBinaryTree(n), the two trees of NCCL with duplex links: N = n, d = 4.

    A node inside one tree has three links there, at most, and one in the other, where it is a leaf (dbtpaper and
    ncclDBT in the paper). Not regular: a root has a child only. D is about 2 log2 n.

    >>> double_binary_tree(16).degree, double_binary_tree(16).is_regular
    (4, False)
    """
    buildable(double_binary_tree_size(size))
    child = [np.flatnonzero(parents >= 0) for parents in tree_parents(size)]
    parent = [parents[parents >= 0] for parents in tree_parents(size)]
    links = Topology.from_links(size, np.concatenate([*child, *parent]), np.concatenate([*parent, *child]))
    # Of an even number of nodes the trees are each other's mirror; otherwise nothing is claimed.
    return knowing(links, lambda: [size - 1 - np.arange(size)] if size % 2 == 0 else [])


def double_binary_tree_size(size: int) -> tuple[int, int]:
    """Return (N, d) of DoubleBinaryTree(n)."""
    check_at_least("DoubleBinaryTree(n)", "n", size, LEAST)
    return size, 4


def _members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree == 4 and num_nodes >= LEAST:
        yield (num_nodes,)


FAMILIES = (
    Family(
        name="DoubleBinaryTree",
        title="double binary tree",
        params=("int",),
        notation="DoubleBinaryTree(n)",
        coverage="any N of at least 4; d = 4, not regular",
        build=double_binary_tree,
        size=double_binary_tree_size,
        members=_members,
        reverse_symmetric=always,
        regular=never,
        bidirectional=always,
        loop_free=always,
        is_searched=False,  # a baseline
    ),
)
