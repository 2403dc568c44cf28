"""The links of a topology as the kernels of all methods by arrival see them: into each node, with whole weights."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from linkstep.core.errors import TopologyError
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.core.weights import link_weights

MAX_DEGREE = 64
"""In-links of a node are the bits of one machine word."""


@dataclass(frozen=True)
class Links:
    """The in-links of each node without self-loops: those of u are ``ptr[u]:ptr[u + 1]``, local link k the k-th."""

    ptr: Ints
    id: Ids
    weight: Ints
    """Relative bandwidth, integers; all alike where links are."""

    @classmethod
    def of(cls, topology: Topology, width: Fraction | None = None) -> Links:
        """Collect a topology's in-links, refusing degrees and bandwidths that the kernels cannot hold.

        With a ``width`` of hosts, in links of the fastest, weights are such that it is a whole number of them.
        """
        keep = topology.tail[topology.in_link] != topology.head[topology.in_link]
        ids: Ids = topology.in_link[keep]
        ptr = np.zeros(topology.num_nodes + 1, np.int64)
        np.cumsum(np.bincount(topology.head[ids], minlength=topology.num_nodes), out=ptr[1:])
        most = int(np.diff(ptr).max())
        if most > MAX_DEGREE:
            node = int(np.diff(ptr).argmax())
            raise TopologyError(f"BFB takes at most {MAX_DEGREE} links into a node; {topology.called(node)} has {most}")
        weight, _ = link_weights(topology, ids)
        finer = 1 if width is None else width.denominator
        if topology.num_nodes * most * int(weight.max(initial=1)) * finer >= 2**62:
            raise TopologyError("the bandwidths of links have no common measure: round them, to 1Mbps say")
        return cls(ptr, ids, weight * finer)

    @cached_property
    def classes(self) -> tuple[Ints, Ints]:
        """The distinct weights, ascending, and the class of each link."""
        weights, numbers = np.unique(self.weight, return_inverse=True)
        return weights, numbers.astype(np.int64)
