"""A network as seen from one node of each orbit of a group: enough where arrivals look the same under the group.

The group acts freely, so every node is what exactly one element makes of its orbit's representative, and the step at
which v's shard reaches g u is the one at which that of g^-1 v reaches u. Not here: how groups are found
(``linkstep.symmetry.translations``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkstep.core.distances import distances_from, distances_to
from linkstep.core.topology import Ids
from linkstep.methods.common.arrivals import Steps
from linkstep.methods.common.network import ArrivalNetwork
from linkstep.symmetry.free_orbits import FreeOrbits


@dataclass(frozen=True)
class Quotient:
    """Neighbours of representatives; the columns are described in ``linkstep._kernels.arrival``."""

    near: Ids
    near_count: Ids
    near_turn: Ids
    after: Ids
    after_count: Ids
    after_turn: Ids
    after_bit: Ids
    kind: Ids
    turns: Ids
    """turns[t, v]: where the inverse of the element number t among those that links need takes node v."""
    network: ArrivalNetwork
    orbits: FreeOrbits | None
    """None: there is no group, and every node is its own representative."""

    @classmethod
    def of(cls, network: ArrivalNetwork, group: Ids | None) -> Quotient:
        """Collect the neighbours of one node of each orbit."""
        if group is None:
            none = np.zeros_like(network.near), np.zeros_like(network.after)
            return cls(
                network.near, network.near_count, none[0], network.after, network.after_count, none[1],
                network.after_bit, network.kind, np.arange(network.num_nodes, dtype=np.int32)[np.newaxis, :],
                network, None,
            )  # fmt: skip
        orbits = FreeOrbits.of(group)
        rows = orbits.nodes
        near, after = network.near[rows], network.after[rows]
        # What a link of u leads to is g r; there, u is a neighbour of g r, so that g^-1 u is one of r.
        element, back = orbits.element[after], network.near[orbits.nodes[orbits.orbit[after]]]
        seen = orbits.inverse[element, rows[:, np.newaxis]]
        bit = (back == seen[:, :, np.newaxis]).argmax(axis=2)
        used = np.unique([0, *orbits.element[near].flat, *element.flat])
        near_turn: Ids = np.searchsorted(used, orbits.element[near]).astype(np.int32)
        after_turn: Ids = np.searchsorted(used, element).astype(np.int32)
        return cls(
            orbits.orbit[near], network.near_count[rows], near_turn,
            orbits.orbit[after], network.after_count[rows], after_turn,
            bit.astype(np.int32), network.kind[rows], orbits.inverse[used], network, orbits,
        )  # fmt: skip

    @property
    def nodes(self) -> Ids:
        """The representatives."""
        return np.arange(self.network.num_nodes, dtype=np.int32) if self.orbits is None else self.orbits.nodes

    @property
    def num_rows(self) -> int:
        """Number of representatives."""
        return int(self.near_count.size)

    @cached_property
    def dist(self) -> Steps:
        """dist[i, v]: the distance from node v to representative i."""
        if self.orbits is None:
            return self.network.dist
        topology = self.network.topology
        return np.array([distances_to(topology, u) for u in self.nodes.tolist()], np.int16)

    @cached_property
    def far(self) -> Steps:
        """far[i, v]: the distance from representative i to node v."""
        if self.orbits is None:
            return np.ascontiguousarray(self.network.dist.T)
        topology = self.network.topology
        return np.array([distances_from(topology, u) for u in self.nodes.tolist()], np.int16)

    def turned(self, by_source: Steps, pieces: int) -> Steps:
        """Return a row for each representative of what is given by source.

        ``by_source[i * pieces + p, u]`` is about piece p of representative i at node u.
        """
        if self.orbits is None:
            return np.ascontiguousarray(by_source.T)
        orbits = self.orbits
        seen = orbits.inverse[orbits.element[np.newaxis, :], orbits.nodes[:, np.newaxis]]
        source = orbits.orbit[:, np.newaxis] * pieces + np.arange(pieces)
        found: Steps = by_source[source[np.newaxis], seen[:, :, np.newaxis]]
        return found.reshape(self.num_rows, -1)

    def neighbours(self, pieces: int) -> tuple[Ids, ...]:
        """The columns that the kernels take after the arrivals of ``pieces`` pieces a shard."""
        turns = (self.turns[:, :, np.newaxis] * pieces + np.arange(pieces)).astype(np.int32)
        return (
            self.near, self.near_count, self.near_turn, self.after, self.after_count, self.after_turn, self.after_bit,
            turns.reshape(len(turns), -1),
        )  # fmt: skip

    def owners(self, pieces: int) -> Ids:
        """Return the row of the representative that each piece is of, -1 for those of other nodes."""
        owner = np.full(self.network.num_nodes, -1, np.int32)
        owner[self.nodes] = np.arange(self.num_rows)
        return np.repeat(owner, pieces)
