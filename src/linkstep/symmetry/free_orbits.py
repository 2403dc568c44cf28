"""Orbits of a group that acts freely: which node stands for each, and which element takes it there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ids

Table = NDArray[np.int16]


@dataclass(frozen=True)
class FreeOrbits:
    """Which orbit each node is in, and how its representative gets there."""

    nodes: Ids
    """The representatives: the least node of each orbit."""
    orbit: Ids
    """orbit[v]: the number of v's orbit, its place in ``nodes``."""
    element: Ids
    """element[v]: the number of the element that takes the representative to v."""
    inverse: Ids
    """inverse[g, v]: where the inverse of element g takes v."""

    @classmethod
    def of(cls, group: Ids) -> FreeOrbits:
        """Sort nodes into orbits; ``group`` has a permutation for each element, the identity first."""
        order, n = group.shape
        inverse = np.empty_like(group)
        np.put_along_axis(inverse, group, np.arange(n, dtype=np.int32)[np.newaxis, :], axis=1)
        nodes, orbit = np.unique(group.min(axis=0), return_inverse=True)
        element = np.empty(n, np.int32)
        for node in nodes.tolist():
            element[group[:, node]] = np.arange(order)
        return cls(nodes.astype(np.int32), orbit.reshape(-1).astype(np.int32), element, inverse)

    def expand(self, rows: Table, pieces: int) -> Table:
        """Return a row for every node, given those of the representatives, of a table with columns for nodes.

        Column v * pieces + p is about piece p of node v, as seen from the row's node.
        """
        table = rows.reshape(len(rows), -1, pieces)
        found: Table = table[self.orbit[:, np.newaxis], self.inverse[self.element]]
        return found.reshape(self.orbit.size, -1)
