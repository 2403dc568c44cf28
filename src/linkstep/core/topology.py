"""Topologies: which server is wired to which. An immutable directed multigraph in columns.

Not here: how columns are checked (``linkstep.core.columns``), families of graphs (``linkstep.families``), expansions
(``linkstep.expansions``) and automorphisms (``linkstep.symmetry``). The columns and their rules are in
docs/concepts/data-model.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkstep.core.columns import (
    LINK_COLUMNS,
    MAX_NODES,
    checked_columns,
    checked_labels,
    checked_places,
    frozen,
    link_keys,
    pointers,
)
from linkstep.core.columns import Ids as Ids
from linkstep.core.columns import Ints as Ints
from linkstep.core.errors import TopologyError
from linkstep.core.frames import frame_of
from linkstep.core.memo import Memo
from linkstep.core.networkx_graphs import graph_of, links_of
from linkstep.core.notebook import html_picture, html_table, svg_of
from linkstep.core.text import shown

_MANY_NAMES = 10_000  # comparing a misspelt name with more would take longer than it helps


@dataclass(frozen=True, eq=False)
class Topology:
    """A directed multigraph: link ``e`` runs from ``tail[e]`` to ``head[e]``.

    Links are sorted by (tail, head) and then by their columns, so equal topologies have equal columns. Parallel links
    are separate links; a self-loop occupies a port and carries nothing. ``bandwidth`` (bit/s) and ``alpha`` (ns) are
    per-link columns, or None where all links are alike. So are ``opens`` and ``closes``, the first and the last step at
    which a link exists: None where all are there from the first step on, or to the end.

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
    """What people call the nodes, all different; None where they have numbers only."""
    opens: Ints | None = None
    closes: Ints | None = None
    hosts: tuple[str, ...] | None = None
    """The machine that each node is a part of, where nodes are GPUs; None where every node is a host of its own."""
    racks: tuple[str, ...] | None = None
    """Where each node stands; None where nobody said."""

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
        opens: ArrayLike | None = None,
        closes: ArrayLike | None = None,
        hosts: Sequence[str] | None = None,
        racks: Sequence[str] | None = None,
    ) -> Topology:
        """Check, sort and freeze a list of links; the only way in from outside."""
        if isinstance(num_nodes, bool) or not isinstance(num_nodes, (int, np.integer)):
            raise TopologyError(f"num_nodes must be an integer, not {shown(num_nodes)}")
        if not 1 <= num_nodes <= MAX_NODES:
            raise TopologyError(f"num_nodes must lie in [1, {MAX_NODES}], not {shown(num_nodes)}")
        if not isinstance(name, str):
            raise TopologyError(f"the name of a topology must be text, not {shown(name)}")
        tails, heads = frozen(tail, np.int32, "tail"), frozen(head, np.int32, "head")
        if tails.size != heads.size:
            raise TopologyError(f"tail and head must be equally long, not {tails.size} and {heads.size}")
        for what, ids in (("tail", tails), ("head", heads)):
            bad = np.flatnonzero((ids < 0) | (ids >= num_nodes))
            if bad.size:
                raise TopologyError(f"link {bad[0]}: {what} must be a node in [0, {num_nodes}), not {ids[bad[0]]}")
        given = checked_columns(
            {"bandwidth": bandwidth, "alpha": alpha, "opens": opens, "closes": closes}, tails.size
        )  # fmt: skip
        if given:
            order = np.lexsort((*given.values(), heads, tails))
            given = {what: frozen(column[order], np.int64, what) for what, column in given.items()}
            tails, heads = frozen(tails[order], np.int32, "tail"), frozen(heads[order], np.int32, "head")
        else:
            keys = np.sort(link_keys(tails, heads, num_nodes))  # several times faster than an order of links
            tails, heads = (frozen(ids, np.int32, "links") for ids in np.divmod(keys, num_nodes))
        names = None if labels is None else checked_labels(labels, int(num_nodes))
        return cls(
            int(num_nodes), tails, heads, name, given.get("bandwidth"), given.get("alpha"), labels=names,
            opens=given.get("opens"), closes=given.get("closes"),
            hosts=checked_places(hosts, int(num_nodes), "hosts"), racks=checked_places(racks, int(num_nodes), "racks"),
        )  # fmt: skip

    @property
    def columns(self) -> dict[str, Any]:
        """The columns by which links differ, those of ``LINK_COLUMNS`` that there are, in that order."""
        found = {what: getattr(self, what) for what in LINK_COLUMNS}
        return {what: column for what, column in found.items() if column is not None}

    @property
    def has_lifetimes(self) -> bool:
        """Whether some link opens after the first step or closes before the last."""
        return self.opens is not None or self.closes is not None

    @cached_property
    def host_of(self) -> Ids:
        """The host of each node as a number: that of its first node, so the node's own where it shares none."""
        first: dict[str, int] = {}
        names = map(str, range(self.num_nodes)) if self.hosts is None else self.hosts
        return frozen([first.setdefault(name, node) for node, name in enumerate(names)], np.int32, "hosts")

    @property
    def shares_hosts(self) -> bool:
        """Whether several nodes are parts of one host."""
        return self.hosts is not None and len(set(self.hosts)) < self.num_nodes

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
        if not isinstance(text, str):
            raise TopologyError(f"the name of a host must be text, not {shown(text)}")
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
        return pointers(self.tail, self.num_nodes)

    @cached_property
    def in_link(self) -> Ids:
        """Links sorted by (head, tail): those into u are ``in_link[in_ptr[u]:in_ptr[u + 1]]``."""
        links = np.argsort(self.head, kind="stable").astype(np.int32)
        links.flags.writeable = False
        return links

    @cached_property
    def in_ptr(self) -> Ints:
        """Offsets into ``in_link``."""
        return pointers(self.head, self.num_nodes)

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
        if not self.columns:
            back = link_keys(self.head, self.tail, self.num_nodes)
            return bool(np.array_equal(link_keys(self.tail, self.head, self.num_nodes), np.sort(back)))
        return self._transposed_links() == self

    @property
    def num_self_loops(self) -> int:
        """Number of links from a node to itself."""
        return int((self.tail == self.head).sum())

    @cached_property
    def num_parallel(self) -> int:
        """Number of links beyond the first between their two nodes."""
        return int(((np.diff(self.tail) == 0) & (np.diff(self.head) == 0)).sum())

    def transpose(self) -> Topology:
        """Return the transpose, which has every link the other way round; always the same object."""
        return _TRANSPOSE.find(self, self._transposed)

    def _transposed(self) -> Topology:
        name = f"T({self.name})" if self.name else ""
        transposed = replace(self._transposed_links(), vertex_transitive=self.vertex_transitive)
        transposed = replace(transposed, name=name, labels=self.labels, hosts=self.hosts, racks=self.racks)
        COPY_OF.keep(transposed, (self, None))
        return transposed

    def _transposed_links(self) -> Topology:
        return Topology.from_links(self.num_nodes, self.head, self.tail, **self.columns)

    def without_links(self, links: ArrayLike) -> Topology:
        """Return the topology with these links (numbers) gone: a cable cut, a port down. The rest are renumbered."""
        gone = frozen(links, np.int64, "links")
        if gone.size and not 0 <= gone.min() <= gone.max() < self.num_links:
            raise TopologyError(f"links must lie in [0, {self.num_links}), not {gone.min()}..{gone.max()}")
        keep = np.ones(self.num_links, bool)
        keep[gone] = False
        return self._with_links(keep, np.ones(self.num_nodes, bool), self.labels)

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
        labels = tuple(self.host(u) for u in np.flatnonzero(stays).tolist())
        return self._with_links(stays[self.tail] & stays[self.head], stays, labels)

    def _with_links(
        self, keep: NDArray[np.bool_], stays: NDArray[np.bool_], labels: tuple[str, ...] | None
    ) -> Topology:
        """Return some links between the nodes that stay, which are numbered again."""
        number = np.cumsum(stays) - 1
        nodes = np.flatnonzero(stays).tolist()
        hosts, racks = (None if names is None else [names[u] for u in nodes] for names in (self.hosts, self.racks))
        columns = {what: column[keep] for what, column in self.columns.items()}
        return Topology.from_links(
            len(nodes), number[self.tail[keep]], number[self.head[keep]],
            labels=labels, hosts=hosts, racks=racks, **columns,
        )  # fmt: skip

    def with_bandwidth(self, bandwidth: ArrayLike) -> Topology:
        """Return the topology with these rates (bit/s), one a link; links between the same nodes sort by them."""
        columns = {**self.columns, "bandwidth": bandwidth}
        made = Topology.from_links(self.num_nodes, self.tail, self.head, self.name, labels=self.labels, **columns)
        return replace(made, hosts=self.hosts, racks=self.racks)

    def permanent(self) -> Topology:
        """Return the topology with all links there at every step.

        >>> Topology.from_links(2, [0, 1], [1, 0], opens=[1, 2]).permanent().has_lifetimes
        False
        """
        return replace(self, opens=None, closes=None) if self.has_lifetimes else self

    def with_places(self, hosts: Sequence[str] | None = None, racks: Sequence[str] | None = None) -> Topology:
        """Return the topology with these hosts, or racks, of its nodes; what is None stays as it is.

        >>> pair = Topology.from_links(2, [0, 1], [1, 0]).with_places(hosts=["a", "a"], racks=["r1", "r1"])
        >>> pair.shares_hosts, pair.racks
        (True, ('r1', 'r1'))
        """
        return replace(
            self,
            hosts=self.hosts if hosts is None else checked_places(hosts, self.num_nodes, "hosts"),
            racks=self.racks if racks is None else checked_places(racks, self.num_nodes, "racks"),
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
            self.num_nodes, names[self.tail], names[self.head], self.name, **self.columns
        )  # fmt: skip
        old = np.argsort(names).tolist()
        labels, hosts, racks = (
            None if column is None else tuple(column[u] for u in old)
            for column in (self.labels, self.hosts, self.racks)
        )
        renamed = replace(
            renamed, vertex_transitive=self.vertex_transitive, labels=labels, hosts=hosts, racks=racks
        )  # fmt: skip
        COPY_OF.keep(renamed, (self, names))
        return renamed

    def to_frame(self) -> Any:
        """Return a row for each link, as a DataFrame of pandas or polars; hosts by name where they have names."""
        names = range(self.num_nodes) if self.labels is None else self.labels
        ends = {what: [names[u] for u in ids.tolist()] for what, ids in (("from", self.tail), ("to", self.head))}
        return frame_of({**ends, **self.columns})

    def to_networkx(self) -> Any:
        """Return a ``networkx.MultiDiGraph`` whose nodes are the labels, or 0..N-1 (needs networkx installed)."""
        return graph_of(self)

    @classmethod
    def from_networkx(cls, graph: Any, name: str = "") -> Topology:
        """Take any networkx graph: nodes in its own order become 0..N-1, an undirected edge two links.

        Nodes that are not the numbers 0..N-1 in order give the hosts their labels.

        >>> import networkx as nx
        >>> Topology.from_networkx(nx.petersen_graph()).num_links
        30
        """
        if not isinstance(name, str):
            raise TopologyError(f"the name of a topology must be text, not {shown(name)}")
        num_nodes, tail, head, columns = links_of(graph)
        name = name or str(graph.graph.get("name", ""))
        return cls.from_links(num_nodes, tail, head, name, **columns)

    def __eq__(self, other: object) -> bool:
        """Compare node count, links and their columns; names, of the topology, nodes, hosts and racks, do not count."""
        if not isinstance(other, Topology):
            return NotImplemented
        columns, others = self.columns, other.columns
        return (
            self.num_nodes == other.num_nodes
            and np.array_equal(self.tail, other.tail)
            and np.array_equal(self.head, other.head)
            and columns.keys() == others.keys()
            and all(np.array_equal(column, others[what]) for what, column in columns.items())
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


def check_permanent(topology: Topology, who: str) -> None:
    """Refuse a topology with links that are not there all the time, for those who do not count steps by them."""
    if topology.has_lifetimes:
        raise TopologyError(f"{who} knows no links that open later or close")
