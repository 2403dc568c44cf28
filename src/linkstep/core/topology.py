"""Topologies: which server is wired to which. An immutable directed multigraph in columns.

Not here: families of graphs (``linkstep.families``), expansions (``linkstep.expansions``) and automorphisms
(``linkstep.symmetry``). The columns and their rules are in docs/data-model.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkstep.core.errors import TopologyError
from linkstep.core.memo import Memo
from linkstep.core.notebook import html_picture, html_table, svg_of
from linkstep.core.text import shown

Ids = NDArray[np.int32]
Ints = NDArray[np.int64]

MAX_NODES = 2**31 - 1
_MANY_NAMES = 10_000  # comparing a misspelt name with more would take longer than it helps


def frozen(values: ArrayLike, dtype: type, what: str) -> NDArray[Any]:
    """Return values as a read-only one-dimensional column of dtype, refusing any that do not fit exactly."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise TopologyError(f"{what} must hold integers, not masked values: compress it first")
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


def checked_labels(labels: Sequence[str], num_nodes: int) -> tuple[str, ...]:
    """Return names of hosts as a tuple: one for each node, all different, none empty or with line breaks."""
    try:
        names = tuple(labels)
    except TypeError:
        raise TopologyError(f"labels must be a list of names, not {shown(labels)}") from None
    if len(names) != num_nodes:
        raise TopologyError(f"labels must name all {num_nodes} hosts, not {len(names)}")
    seen: set[str] = set()
    for node, label in enumerate(names):
        if not isinstance(label, str) or not label or not label.isprintable() or label != label.strip():
            raise TopologyError(f"the label of node {node} must be one line of printable text, not {shown(label)}")
        if label in seen:
            raise TopologyError(f"two hosts are called {label!r:.60}: labels must be different")
        seen.add(label)
    return names


def _pointers(sorted_ids: Ids, num_nodes: int) -> Ints:
    ptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(sorted_ids, minlength=num_nodes), out=ptr[1:])
    ptr.flags.writeable = False
    return ptr


def _keys(tail: Ids, head: Ids, num_nodes: int) -> Ints:
    """Return a number for each link; they are in order of (tail, head)."""
    return tail.astype(np.int64) * num_nodes + head


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
    labels: tuple[str, ...] | None = None
    """What people call the hosts, all different; None where they have numbers only."""

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
        labels: Sequence[str] | None = None,
    ) -> Topology:
        """Check, sort and freeze a list of links; the only way in from outside."""
        if isinstance(num_nodes, bool) or not isinstance(num_nodes, (int, np.integer)):
            raise TopologyError(f"num_nodes must be an integer, not {shown(num_nodes)}")
        if not 1 <= num_nodes <= MAX_NODES:
            raise TopologyError(f"num_nodes must lie in [1, {MAX_NODES}], not {shown(num_nodes)}")
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
        if given:
            order = np.lexsort((*given.values(), heads, tails))
            given = {what: frozen(column[order], np.int64, what) for what, column in given.items()}
            tails, heads = frozen(tails[order], np.int32, "tail"), frozen(heads[order], np.int32, "head")
        else:
            keys = np.sort(_keys(tails, heads, num_nodes))  # several times faster than an order of links
            tails, heads = (frozen(ids, np.int32, "links") for ids in np.divmod(keys, num_nodes))
        names = None if labels is None else checked_labels(labels, int(num_nodes))
        return cls(
            int(num_nodes), tails, heads, name, given.get("bandwidth"), given.get("alpha"), labels=names
        )  # fmt: skip

    def called(self, node: int) -> str:
        """Return what to call a node in a message: its label, or ``node 7`` where it has only a number."""
        label = self.host(node)
        return f"node {label}" if label.isdecimal() else label

    def host(self, node: int) -> str:
        """Return a node's label, or its number as text: what tables, files and pictures show."""
        return str(node) if self.labels is None else self.labels[node]

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.labels or ())}

    def node_named(self, text: str) -> int:
        """Return the node with this label, or with this number if no label is a number.

        >>> Topology.from_links(2, [0, 1], [1, 0], labels=["rack2-07", "rack2-08"]).node_named("rack2-08")
        1
        """
        if text in self._number_of:
            return self._number_of[text]
        number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else self.num_nodes
        if number < self.num_nodes and not any(label.isdecimal() for label in self._number_of):
            return number
        if self.labels is None:
            raise TopologyError(f"no host is called {text!r}: hosts are the numbers 0 to {self.num_nodes - 1}")
        close = get_close_matches(text, self.labels, 1) if self.num_nodes <= _MANY_NAMES else []
        hint = f"did you mean {close[0]!r}?" if close else f"the first is {self.labels[0]!r}"
        raise TopologyError(f"no host is called {text!r}: {hint}")

    @cached_property
    def _memo(self) -> dict[Any, Any]:
        """What ``Memo`` keeps for this very topology; nobody else looks."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is kept for this very topology out of pickles and copies: it may refer to anything."""
        return {name: value for name, value in self.__dict__.items() if name != "_memo"}

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
        if self.bandwidth is None and self.alpha is None:
            there, back = (_keys(*ends, self.num_nodes) for ends in ((self.tail, self.head), (self.head, self.tail)))
            return bool(np.array_equal(there, np.sort(back)))
        return self._turned() == self

    @property
    def num_self_loops(self) -> int:
        """Number of links from a node to itself."""
        return int((self.tail == self.head).sum())

    @cached_property
    def num_parallel(self) -> int:
        """Number of links beyond the first between their two nodes."""
        return int(((np.diff(self.tail) == 0) & (np.diff(self.head) == 0)).sum())

    def transpose(self) -> Topology:
        """Return the topology with every link turned round (paper: transpose graph); always the same object."""
        return _TRANSPOSE.find(self, self._transposed)

    def _transposed(self) -> Topology:
        name = f"T({self.name})" if self.name else ""
        turned = replace(self._turned(), vertex_transitive=self.vertex_transitive)
        turned = replace(turned, name=name, labels=self.labels)
        COPY_OF.keep(turned, (self, None))
        return turned

    def _turned(self) -> Topology:
        return Topology.from_links(self.num_nodes, self.head, self.tail, bandwidth=self.bandwidth, alpha=self.alpha)

    def without_links(self, links: ArrayLike) -> Topology:
        """Return the topology with these links (numbers) gone: a cable cut, a port down. The rest are renumbered."""
        gone = frozen(links, np.int64, "links")
        if gone.size and not 0 <= gone.min() <= gone.max() < self.num_links:
            raise TopologyError(f"links must lie in [0, {self.num_links}), not {gone.min()}..{gone.max()}")
        keep = np.ones(self.num_links, bool)
        keep[gone] = False
        return self._with_links(keep, np.arange(self.num_nodes), self.labels)

    def without_nodes(self, nodes: ArrayLike) -> Topology:
        """Return the topology with these nodes and their links gone: hosts down.

        The rest are renumbered and keep their names; where they had none, their old numbers become their names.

        >>> Topology.from_links(3, [0, 1, 2, 0], [1, 2, 0, 2]).without_nodes([1]).labels
        ('0', '2')
        """
        gone = np.unique(frozen(nodes, np.int64, "nodes"))
        if gone.size and not 0 <= gone.min() <= gone.max() < self.num_nodes:
            raise TopologyError(f"nodes must lie in [0, {self.num_nodes}), not {gone.min()}..{gone.max()}")
        stays = np.ones(self.num_nodes, bool)
        stays[gone] = False
        if not stays.any():
            raise TopologyError("no host is left")
        number = np.cumsum(stays) - 1
        labels = tuple(self.host(u) for u in np.flatnonzero(stays).tolist())
        return self._with_links(stays[self.tail] & stays[self.head], number, labels)

    def _with_links(self, keep: NDArray[np.bool_], number: Ints, labels: tuple[str, ...] | None) -> Topology:
        """Return some links between nodes that now have other numbers."""
        bandwidth, alpha = (None if column is None else column[keep] for column in (self.bandwidth, self.alpha))
        return Topology.from_links(
            int(number[-1]) + 1, number[self.tail[keep]], number[self.head[keep]],
            bandwidth=bandwidth, alpha=alpha, labels=labels,
        )  # fmt: skip

    def with_bandwidth(self, bandwidth: ArrayLike) -> Topology:
        """Return the topology with these rates (bit/s), one a link; links between the same nodes sort by them."""
        return Topology.from_links(
            self.num_nodes, self.tail, self.head, self.name, bandwidth=bandwidth, alpha=self.alpha, labels=self.labels
        )

    def with_labels(self, labels: Sequence[str]) -> Topology:
        """Return the topology with these names of its hosts."""
        named = replace(self, labels=checked_labels(labels, self.num_nodes))
        COPY_OF.keep(named, (self, None))
        return named

    def relabel(self, new: ArrayLike) -> Topology:
        """Return the topology with node u renumbered ``new[u]``, a permutation of the nodes; names go along."""
        names = frozen(new, np.int32, "new")
        if names.size != self.num_nodes or not np.array_equal(np.sort(names), np.arange(self.num_nodes)):
            raise TopologyError(f"new must be a permutation of the {self.num_nodes} nodes")
        renamed = Topology.from_links(
            self.num_nodes, names[self.tail], names[self.head], self.name,
            bandwidth=self.bandwidth, alpha=self.alpha,
        )  # fmt: skip
        labels = None if self.labels is None else tuple(self.labels[u] for u in np.argsort(names).tolist())
        renamed = replace(renamed, vertex_transitive=self.vertex_transitive, labels=labels)
        COPY_OF.keep(renamed, (self, names))
        return renamed

    def to_networkx(self) -> Any:
        """Return a ``networkx.MultiDiGraph`` whose nodes are the labels, or 0..N-1 (needs networkx installed)."""
        import networkx as nx

        graph = nx.MultiDiGraph(name=self.name)
        names: Sequence[Any] = range(self.num_nodes) if self.labels is None else self.labels
        graph.add_nodes_from(names)
        for e, (u, w) in enumerate(zip(self.tail.tolist(), self.head.tolist(), strict=True)):
            columns = (("bandwidth", self.bandwidth), ("alpha", self.alpha))
            graph.add_edge(names[u], names[w], **{what: int(c[e]) for what, c in columns if c is not None})
        return graph

    @classmethod
    def from_networkx(cls, graph: Any, name: str = "") -> Topology:
        """Take any networkx graph: nodes in its own order become 0..N-1, an undirected edge two links.

        Nodes that are not the numbers 0..N-1 in order give the hosts their labels.

        >>> import networkx as nx
        >>> Topology.from_networkx(nx.petersen_graph()).num_links
        30
        """
        index = {node: i for i, node in enumerate(graph.nodes)}
        edges = [(index[u], index[w], data) for u, w, data in graph.edges(data=True)]
        if not graph.is_directed():
            edges += [(w, u, data) for u, w, data in edges if u != w]
        columns: dict[str, Any] = {}
        for what in ("bandwidth", "alpha"):
            known = [data[what] for _, _, data in edges if what in data]
            if known and len(known) != len(edges):
                raise TopologyError(f"{what} is given for {len(known)} of {len(edges)} links: give all or none")
            if known:
                columns[what] = known
        tail, head = [e[0] for e in edges], [e[1] for e in edges]
        labels = None if list(index) == list(range(len(index))) else [str(node) for node in index]
        name = name or str(graph.graph.get("name", ""))
        return cls.from_links(len(index), tail, head, name, labels=labels, **columns)

    def __eq__(self, other: object) -> bool:
        """Compare node count, links and columns; names, of the topology and of hosts, do not count."""
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

    def _repr_html_(self) -> str:
        fields: list[tuple[str, object]] = [("N", self.num_nodes), ("d", self.degree), ("links", self.num_links)]
        if self.labels is not None:
            fields.append(("hosts", ", ".join(self.labels[:3]) + (", ..." if self.num_nodes > 3 else "")))
        return html_table(self.name or "topology", fields) + html_picture(self._repr_svg_())

    def _repr_svg_(self) -> str | None:
        return svg_of(self)


_TRANSPOSE: Memo[Topology] = Memo()
COPY_OF: Memo[tuple[Topology, Ids | None]] = Memo()
"""The topology that one was made from by giving it another name, turning it round or renumbering its nodes, and the new
number of each node (None: the old one). Whatever takes links to links there does so here."""
