"""Ranks: who takes part in a collective, and in which order. The other nodes of a topology may only forward.

A rank is a number in [0, R), a node one in [0, N). Where everyone takes part in node order the two are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkstep.core.arguments import check_kind
from linkstep.core.columns import MAX_NODES, frozen
from linkstep.core.errors import TopologyError
from linkstep.core.notebook import MAX_ROWS, html_table
from linkstep.core.text import shown
from linkstep.core.topology import Ids, Topology
from linkstep.core.units import check_count


@dataclass(frozen=True, eq=False)
class Ranks:
    """Rank r sits at node ``nodes[r]``; nodes that are not among them take no part and may forward.

    >>> ring = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    >>> Ranks.of(ring, [3, 1]).rank_of.tolist()
    [-1, 1, -1, 0]
    """

    num_nodes: int
    nodes: Ids

    def __post_init__(self) -> None:
        check_count("num_nodes", self.num_nodes, 1, MAX_NODES)
        nodes = frozen(self.nodes, np.int32, "ranks")
        object.__setattr__(self, "nodes", nodes)
        if not nodes.size:
            raise TopologyError("ranks must have at least one node")
        if nodes.min() < 0 or nodes.max() >= self.num_nodes:
            r = int(np.flatnonzero((nodes < 0) | (nodes >= self.num_nodes))[0])
            raise TopologyError(f"rank {r}: must sit at a node in [0, {self.num_nodes}), not {nodes[r]}")
        if (np.diff(nodes) > 0).all():
            return
        order = np.argsort(nodes, kind="stable")
        twice = np.flatnonzero(np.diff(nodes[order]) == 0)
        if twice.size:
            first, second = order[twice[0] : twice[0] + 2].tolist()
            raise TopologyError(f"ranks {first} and {second} both sit at node {nodes[first]}: a node is one rank")

    @classmethod
    def of(cls, topology: Topology, nodes: ArrayLike | Iterable[str]) -> Ranks:
        """Return the ranks at these nodes, by number or by name, in this order.

        >>> pair = Topology.from_links(2, [0, 1], [1, 0], labels=["ant", "bee"])
        >>> Ranks.of(pair, ["bee"])
        <Ranks 1 of 2 nodes>
        """
        check_kind("topology", topology, Topology)
        if isinstance(nodes, str) or not isinstance(nodes, Iterable) or np.ndim(nodes) == 0:  # type: ignore[arg-type]
            raise TopologyError(f"ranks must be a list of nodes, not {shown(nodes)}")
        if isinstance(nodes, np.ndarray) and nodes.dtype.kind != "U":
            return cls(topology.num_nodes, nodes)
        wanted: list[Any] = list(nodes)
        numbers = [topology.node_named(node) if isinstance(node, str) else node for node in wanted]
        return cls(topology.num_nodes, frozen(numbers, np.int32, "ranks"))

    @classmethod
    def everyone(cls, topology: Topology) -> Ranks:
        """Return all nodes in their order."""
        check_kind("topology", topology, Topology)
        return cls(topology.num_nodes, np.arange(topology.num_nodes, dtype=np.int32))

    @property
    def num_ranks(self) -> int:
        """R, how many take part."""
        return int(self.nodes.size)

    @cached_property
    def rank_of(self) -> Ids:
        """The rank at each node, -1 where it only forwards."""
        ranks = np.full(self.num_nodes, -1, np.int32)
        ranks[self.nodes] = np.arange(self.num_ranks, dtype=np.int32)
        ranks.flags.writeable = False
        return ranks

    @cached_property
    def node_order(self) -> Ids:
        """All nodes: those of the ranks in their order, then those that only forward, ascending.

        >>> Ranks(4, np.array([3, 1])).node_order.tolist()
        [3, 1, 0, 2]
        """
        order = np.concatenate([self.nodes, np.flatnonzero(self.rank_of < 0).astype(np.int32)])
        order.flags.writeable = False
        return order

    @cached_property
    def is_everyone(self) -> bool:
        """Whether rank r is node r, for all nodes."""
        return self.num_ranks == self.num_nodes and bool((np.diff(self.nodes) > 0).all())

    @property
    def has_forwarders(self) -> bool:
        """Whether some nodes take no part."""
        return self.num_ranks < self.num_nodes

    def without_ranks(self, nodes: ArrayLike) -> Ranks:
        """Return the ranks after these nodes have lost theirs and only forward; the rest close up.

        >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
        >>> Ranks.everyone(ring).without_ranks([1]).nodes.tolist()
        [0, 2]
        """
        gone = self._checked(nodes)
        return Ranks(self.num_nodes, self.nodes[~np.isin(self.nodes, gone)])

    def without_nodes(self, nodes: ArrayLike) -> Ranks:
        """Return the ranks on ``Topology.without_nodes`` of these nodes: they are gone, and the rest are renumbered.

        >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
        >>> Ranks.of(ring, [2, 1]).without_nodes([1]).nodes.tolist()
        [1]
        """
        gone = self._checked(nodes)
        stays = np.ones(self.num_nodes, bool)
        stays[gone] = False
        number = np.cumsum(stays) - 1
        return Ranks(int(stays.sum()), number[self.without_ranks(gone).nodes].astype(np.int32))

    def _checked(self, nodes: ArrayLike) -> Ids:
        gone = frozen(nodes, np.int32, "nodes")
        if gone.size and not 0 <= gone.min() <= gone.max() < self.num_nodes:
            raise TopologyError(f"nodes must lie in [0, {self.num_nodes}), not {gone.min()}..{gone.max()}")
        return gone

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranks):
            return NotImplemented
        return self.num_nodes == other.num_nodes and bool(np.array_equal(self.nodes, other.nodes))

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.nodes.tobytes()))

    def __repr__(self) -> str:
        return f"<Ranks {self.num_ranks} of {self.num_nodes} nodes>"

    def _repr_html_(self) -> str:
        rows = [(f"rank {rank}", f"node {node}") for rank, node in enumerate(self.nodes[:MAX_ROWS].tolist())]
        return html_table(f"{self.num_ranks} ranks of {self.num_nodes} nodes", rows)
