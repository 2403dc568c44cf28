"""Isomorphisms of topologies, and what follows from the whole automorphism group: which nodes are alike?

A library finds them (``symmetry.libraries``); without one isomorphisms are found by an own search
(``symmetry.refinement``), and automorphisms that no recipe knows of stay unused: every node counts as unlike the
others.
"""

from __future__ import annotations

import numpy as np

from linkstep.core.errors import TopologyError
from linkstep.core.extras import missing
from linkstep.core.topology import Ids, Topology
from linkstep.symmetry.libraries import Library, find_library
from linkstep.symmetry.refinement import GaveUp, Pair
from linkstep.symmetry.search import (
    Pairs,
    Signature,
    encode,
    is_available,
    pairs_of,
    plain,
    searched_symmetry,
    symmetry_of,
)


def node_orbits(topology: Topology) -> Ids:
    """Return, for each node, the least node that some automorphism maps it to: of all there are, where that is found.

    >>> node_orbits(Topology.from_links(4, [0, 1, 2], [1, 2, 3])).tolist()
    [0, 1, 2, 3]
    """
    found = searched_symmetry(topology) if is_available() else symmetry_of(topology)
    return found.node_orbits


def isomorphism(left: Topology, right: Topology) -> Ids | None:
    """Return f with f[u] the node of ``right`` for node u of ``left``, or None if there is none.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> ring.relabel(isomorphism(ring, ring.transpose())) == ring.transpose()
    True
    """
    if (left.num_nodes, left.num_links) != (right.num_nodes, right.num_links):
        return None
    library = find_library(isomorphisms=True)
    pairs = pairs_of(left), pairs_of(right)
    mapping = (
        _by_refinement(*pairs, left.num_nodes) if library is None else _by_library(library, *pairs, left.num_nodes)
    )
    if mapping is None:
        return None
    nodes: Ids = np.array(mapping, np.int32)
    return nodes if left.relabel(nodes) == right else None


def _by_library(library: Library, left: Pairs, right: Pairs, num_nodes: int) -> list[int] | None:
    assert library.isomorphism is not None
    codes = plain(left)
    one, other = (encode(pairs, num_nodes, codes) for pairs in (left, right))
    if sorted(one.colours) != sorted(other.colours) or len(one.edges) != len(other.edges):
        return None
    found = library.isomorphism(one, other)
    return None if found is None else found[:num_nodes]


def _by_refinement(left: Pairs, right: Pairs, num_nodes: int) -> list[int] | None:
    codes: dict[Signature, int] = {}
    rows = [
        (u + shift, w + shift, codes.setdefault(signature, len(codes)))
        for shift, pairs in ((0, left), (num_nodes, right))
        for (u, w), signature in pairs.items()
    ]
    tail, head, code = np.array(rows, np.int64).reshape(-1, 3).T
    try:
        mapping = Pair(num_nodes, tail, head, code).match(np.zeros(2 * num_nodes, np.int64))
    except GaveUp:
        need = missing("deciding it", "pybliss or igraph", "symmetry")
        raise TopologyError(f"no isomorphism was found and none ruled out for {num_nodes} nodes: {need}") from None
    return None if mapping is None else [int(x) for x in mapping]


def is_reverse_symmetric(topology: Topology) -> bool:
    """Whether the topology is isomorphic to its transpose."""
    return topology.is_bidirectional or isomorphism(topology, topology.transpose()) is not None
