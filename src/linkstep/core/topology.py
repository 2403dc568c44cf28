"""Topologies: which server is wired to which. An immutable directed multigraph in columns.

Not here: families of graphs (``linkstep.families``), expansions (``linkstep.expansions``) and automorphisms
(``linkstep.core.symmetry``). The columns and their rules are in docs/data-model.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkstep._kernels.graph import _distance_profiles, _distances
from linkstep.core.errors import TopologyError

Ids = NDArray[np.int32]
Ints = NDArray[np.int64]

MAX_NODES = 2**31 - 1


def frozen(values: ArrayLike, dtype: type, what: str) -> NDArray[Any]:
    """Return values as a read-only one-dimensional column of dtype, refusing any that do not fit exactly."""
    try:
        raw = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise TopologyError(f"{what} must be a list of integers: {error}") from None
    if raw.ndim != 1:
        raise TopologyError(f"{what} must be one-dimensional, not of shape {raw.shape}")
    if raw.size and raw.dtype.kind not in "iu":
        raise TopologyError(f"{what} must hold integers, not {raw.dtype}")
    info = np.iinfo(dtype)
    if raw.size and (int(raw.min()) < info.min or int(raw.max()) > info.max):
        raise TopologyError(f"{what} must lie in [{info.min}, {info.max}], not {raw.min()}..{raw.max()}")
    column: NDArray[Any] = np.array(raw, dtype=dtype)
    column.flags.writeable = False
    return column


def _pointers(sorted_ids: Ids, num_nodes: int) -> Ints:
    ptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(sorted_ids, minlength=num_nodes), out=ptr[1:])
    ptr.flags.writeable = False
    return ptr


@dataclass(frozen=True, eq=False)
class Topology:
    """A directed multigraph: link ``e`` runs from ``tail[e]`` to ``head[e]``.

    Links are sorted by (tail, head) and then by their columns, so equal topologies have equal columns. Parallel links
    are separate links; a self-loop occupies a port and carries nothing. ``bandwidth`` (bit/s) and ``alpha`` (ns) are
    per-link columns, or None where all links are alike.

    >>> t = Topology.from_links(3, [2, 0, 1], [0, 1, 2])
    >>> t.tail.tolist(), t.head.tolist(), t.degree
    ([0, 1, 2], [1, 2, 0], 1)
    """

    num_nodes: int
    tail: Ids
    head: Ids
    name: str = ""
    bandwidth: Ints | None = None
    alpha: Ints | None = None
    vertex_transitive: bool = False
    """Whether all nodes are known to be alike (recipes know); work on one node then stands for all."""

    @classmethod
    def from_links(
        cls,
        num_nodes: int,
        tail: ArrayLike,
        head: ArrayLike,
        name: str = "",
        *,
        bandwidth: ArrayLike | None = None,
        alpha: ArrayLike | None = None,
    ) -> Topology:
        """Check, sort and freeze a list of links; the only way in from outside."""
        if isinstance(num_nodes, bool) or not isinstance(num_nodes, (int, np.integer)):
            raise TopologyError(f"num_nodes must be an integer, not {num_nodes!r}")
        if not 1 <= num_nodes <= MAX_NODES:
            raise TopologyError(f"num_nodes must lie in [1, {MAX_NODES}], not {num_nodes}")
        tails, heads = frozen(tail, np.int32, "tail"), frozen(head, np.int32, "head")
        if tails.size != heads.size:
            raise TopologyError(f"tail and head must be equally long, not {tails.size} and {heads.size}")
        for what, ids in (("tail", tails), ("head", heads)):
            bad = np.flatnonzero((ids < 0) | (ids >= num_nodes))
            if bad.size:
                raise TopologyError(f"link {bad[0]}: {what} must be a node in [0, {num_nodes}), not {ids[bad[0]]}")
        given: dict[str, Ints] = {}
        for what, values, least in (("bandwidth", bandwidth, 1), ("alpha", alpha, 0)):
            if values is None:
                continue
            column = frozen(values, np.int64, what)
            if column.size != tails.size:
                raise TopologyError(f"{what} must have one value a link ({tails.size}), not {column.size}")
            if column.size and column.min() < least:
                raise TopologyError(f"link {column.argmin()}: {what} must be at least {least}, not {column.min()}")
            given[what] = column
        order = np.lexsort((*given.values(), heads, tails))
        for what in given:
            given[what] = frozen(given[what][order], np.int64, what)
        tails, heads = frozen(tails[order], np.int32, "tail"), frozen(heads[order], np.int32, "head")
        return cls(int(num_nodes), tails, heads, name, given.get("bandwidth"), given.get("alpha"))

    @property
    def num_links(self) -> int:
        """Number of links, self-loops included."""
        return int(self.tail.size)

    @cached_property
    def out_ptr(self) -> Ints:
        """Links out of u are ``out_ptr[u]:out_ptr[u + 1]`` (links are sorted by tail)."""
        return _pointers(self.tail, self.num_nodes)

    @cached_property
    def in_link(self) -> Ids:
        """Links sorted by (head, tail): those into u are ``in_link[in_ptr[u]:in_ptr[u + 1]]``."""
        links = np.argsort(self.head, kind="stable").astype(np.int32)
        links.flags.writeable = False
        return links

    @cached_property
    def in_ptr(self) -> Ints:
        """Offsets into ``in_link``."""
        return _pointers(self.head, self.num_nodes)

    @cached_property
    def in_tail(self) -> Ids:
        """Tails of ``in_link``."""
        tails: Ids = self.tail[self.in_link]
        tails.flags.writeable = False
        return tails

    @cached_property
    def degree(self) -> int:
        """Ports a node needs: the largest in- or out-degree of any node, self-loops counted."""
        if not self.num_links:
            return 0
        return int(max(np.diff(self.out_ptr).max(), np.diff(self.in_ptr).max()))

    @cached_property
    def is_regular(self) -> bool:
        """Whether every node has ``degree`` links in and as many out."""
        return bool((np.diff(self.out_ptr) == self.degree).all() and (np.diff(self.in_ptr) == self.degree).all())

    @cached_property
    def is_bidirectional(self) -> bool:
        """Whether each link has a partner the other way (as many u to w as w to u), alike in its columns."""
        return self.transpose() == self

    @property
    def num_self_loops(self) -> int:
        """Number of links from a node to itself."""
        return int((self.tail == self.head).sum())

    @cached_property
    def num_parallel(self) -> int:
        """Number of links beyond the first between their two nodes."""
        return int(((np.diff(self.tail) == 0) & (np.diff(self.head) == 0)).sum())

    def transpose(self) -> Topology:
        """Return the topology with every link turned round (paper: transpose graph)."""
        turned = Topology.from_links(
            self.num_nodes, self.head, self.tail, f"T({self.name})" if self.name else "",
            bandwidth=self.bandwidth, alpha=self.alpha,
        )  # fmt: skip
        return replace(turned, vertex_transitive=self.vertex_transitive)

    def without_links(self, links: ArrayLike) -> Topology:
        """Return the topology with these links (numbers) gone: a cable cut, a port down. The rest are renumbered."""
        gone = frozen(links, np.int64, "links")
        if gone.size and not 0 <= gone.min() <= gone.max() < self.num_links:
            raise TopologyError(f"links must lie in [0, {self.num_links}), not {gone.min()}..{gone.max()}")
        keep = np.ones(self.num_links, bool)
        keep[gone] = False
        bandwidth, alpha = (None if column is None else column[keep] for column in (self.bandwidth, self.alpha))
        return Topology.from_links(self.num_nodes, self.tail[keep], self.head[keep], bandwidth=bandwidth, alpha=alpha)

    def relabel(self, new: ArrayLike) -> Topology:
        """Return the topology with node u renamed ``new[u]``, a permutation of the nodes."""
        names = frozen(new, np.int32, "new")
        if names.size != self.num_nodes or not np.array_equal(np.sort(names), np.arange(self.num_nodes)):
            raise TopologyError(f"new must be a permutation of the {self.num_nodes} nodes")
        renamed = Topology.from_links(
            self.num_nodes, names[self.tail], names[self.head], self.name,
            bandwidth=self.bandwidth, alpha=self.alpha,
        )  # fmt: skip
        return replace(renamed, vertex_transitive=self.vertex_transitive)

    def to_networkx(self) -> Any:
        """Return a ``networkx.MultiDiGraph`` with nodes 0..N-1 (needs networkx installed)."""
        import networkx as nx

        graph = nx.MultiDiGraph(name=self.name)
        graph.add_nodes_from(range(self.num_nodes))
        for e, (u, w) in enumerate(zip(self.tail.tolist(), self.head.tolist(), strict=True)):
            columns = (("bandwidth", self.bandwidth), ("alpha", self.alpha))
            graph.add_edge(u, w, **{what: int(c[e]) for what, c in columns if c is not None})
        return graph

    @classmethod
    def from_networkx(cls, graph: Any, name: str = "") -> Topology:
        """Take any networkx graph: nodes in its own order become 0..N-1, an undirected edge two links.

        >>> import networkx as nx
        >>> Topology.from_networkx(nx.petersen_graph()).num_links
        30
        """
        index = {node: i for i, node in enumerate(graph.nodes)}
        edges = [(index[u], index[w], data) for u, w, data in graph.edges(data=True)]
        if not graph.is_directed():
            edges += [(w, u, data) for u, w, data in edges if u != w]
        columns: dict[str, list[int]] = {}
        for what in ("bandwidth", "alpha"):
            known = [data[what] for _, _, data in edges if what in data]
            if known and len(known) != len(edges):
                raise TopologyError(f"{what} is given for {len(known)} of {len(edges)} links: give all or none")
            if known:
                columns[what] = known
        tail, head = [e[0] for e in edges], [e[1] for e in edges]
        return cls.from_links(len(index), tail, head, name or str(graph.graph.get("name", "")), **columns)

    def __eq__(self, other: object) -> bool:
        """Compare node count, links and columns; the name does not count."""
        if not isinstance(other, Topology):
            return NotImplemented
        pairs = ((self.bandwidth, other.bandwidth), (self.alpha, other.alpha))
        return (
            self.num_nodes == other.num_nodes
            and np.array_equal(self.tail, other.tail)
            and np.array_equal(self.head, other.head)
            and all((a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs)  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.tail.tobytes(), self.head.tobytes()))

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<Topology{name} N={self.num_nodes} d={self.degree} links={self.num_links}>"


def _check_node(topology: Topology, node: int, what: str) -> None:
    if not 0 <= node < topology.num_nodes:
        raise TopologyError(f"{what} must be a node in [0, {topology.num_nodes}), not {node}")


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
    nodes = np.arange(topology.num_nodes) if targets is None else np.asarray(targets, np.int64)
    for node in (nodes.min(), nodes.max()) if nodes.size else ():
        _check_node(topology, int(node), "target")
    profiles: Ints = _distance_profiles(topology.in_ptr, topology.in_tail, nodes)
    return profiles


def check_connected(topology: Topology) -> None:
    """Raise unless every node reaches every other; the message names two nodes with no path.

    One search each way from node 0 decides it: all reach 0 and 0 reaches all.
    """
    for dist, message in (
        (distances_from(topology, 0), "no path from node 0 to node {}"),
        (distances_to(topology, 0), "no path from node {} to node 0"),
    ):
        missed = np.flatnonzero(dist < 0)
        if missed.size:
            raise TopologyError(f"the topology is disconnected: {message.format(missed[0])}")


def diameter(topology: Topology) -> int:
    """Return D(G), the largest distance between two nodes (one search per node)."""
    check_connected(topology)
    return int(distance_profiles(topology).shape[1] - 1)
