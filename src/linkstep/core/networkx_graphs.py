"""Topologies as graphs of networkx, and what such a graph has as columns. ``Topology`` has both as methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkstep.core.columns import LINK_COLUMNS
from linkstep.core.errors import TopologyError
from linkstep.core.extras import missing
from linkstep.core.text import shown

if TYPE_CHECKING:
    from linkstep.core.topology import Topology


def graph_of(topology: Topology) -> Any:
    """Return a ``networkx.MultiDiGraph`` whose nodes are the labels, or 0..N-1."""
    try:
        import networkx as nx
    except ImportError:
        raise TopologyError(missing("a graph of networkx", "networkx", "graphs")) from None

    graph = nx.MultiDiGraph(name=topology.name)
    names: Sequence[Any] = range(topology.num_nodes) if topology.labels is None else topology.labels
    for u, name in enumerate(names):
        known = (("host", topology.hosts), ("rack", topology.racks))
        graph.add_node(name, **{what: column[u] for what, column in known if column is not None})
    for e, (u, w) in enumerate(zip(topology.tail.tolist(), topology.head.tolist(), strict=True)):
        graph.add_edge(names[u], names[w], **{what: int(c[e]) for what, c in topology.columns.items()})
    return graph


def columns_of(links: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns that links have by name, such as ``bandwidth``: all links, or none."""
    columns: dict[str, Any] = {}
    for what in LINK_COLUMNS:
        known = [data[what] for data in links if what in data]
        if known and len(known) != len(links):
            raise TopologyError(f"{what} is given for {len(known)} of {len(links)} links: give all or none")
        if known:
            columns[what] = known
    return columns


def links_of(graph: Any) -> tuple[int, list[int], list[int], dict[str, Any]]:
    """Return N, tails, heads and columns of a graph, for ``Topology.from_links``; an undirected edge is two links."""
    if isinstance(graph, type) or not all(hasattr(graph, one) for one in ("nodes", "edges", "is_directed", "graph")):
        raise TopologyError(f"graph must be a graph of networkx, not {shown(graph)}")
    index = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(index[u], index[w], data) for u, w, data in graph.edges(data=True)]
    if not graph.is_directed():
        edges += [(w, u, data) for u, w, data in edges if u != w]
    columns = columns_of([data for _, _, data in edges])
    for what in ("host", "rack"):
        known = [str(data[what]) for _, data in graph.nodes(data=True) if what in data]
        if known and len(known) != len(index):
            raise TopologyError(f"{what} is given for {len(known)} of {len(index)} nodes: give all or none")
        if known:
            columns[f"{what}s"] = known
    tail, head = [e[0] for e in edges], [e[1] for e in edges]
    if list(index) != list(range(len(index))):
        columns["labels"] = [str(node) for node in index]
    return len(index), tail, head, columns
