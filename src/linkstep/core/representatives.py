"""Nodes that stand for all nodes of a topology, where whoever built it knew automorphisms.

What is the same for nodes that an automorphism takes to each other, such as distances and what BFB costs a node, need
only be worked out for these. Nothing is searched for here: ``linkstep.core.symmetry`` does that.
"""

from __future__ import annotations

import numpy as np

from linkstep.core.topology import Ints, Topology

REPRESENTATIVES = "representatives"
"""Where a builder leaves one node of each orbit (``Topology.derived``); the orbits must be equally large."""


def known_representatives(topology: Topology) -> Ints | None:
    """Return nodes of which each stands for equally many, itself among them; None where none are known.

    A transpose has the automorphisms of what it was made from. In a line graph the links out of representatives stand
    for all links: an automorphism that takes a node to another takes the links out of the one to those of the other.

    >>> from dataclasses import replace
    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> known_representatives(ring), known_representatives(replace(ring, vertex_transitive=True)).tolist()
    (None, [0])
    """
    if topology.vertex_transitive:
        return np.zeros(1, np.int64)
    known = topology.derived
    if REPRESENTATIVES in known:
        nodes: Ints = known[REPRESENTATIVES]
        return nodes
    if "transpose_of" in known:
        return known_representatives(known["transpose_of"])
    if "line_of" in known:
        base: Topology = known["line_of"]
        firsts = known_representatives(base)
        if firsts is not None and base.is_regular:
            return np.concatenate([np.arange(*base.out_ptr[node : node + 2]) for node in firsts])
    return None
