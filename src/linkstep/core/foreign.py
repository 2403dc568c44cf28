"""Wirings as other libraries have them: graphs of networkx and rustworkx, lists of pairs, adjacency matrices.

Libraries are known by the names of their classes and never imported here. An undirected edge is a duplex cable, a
directed one a link. A pair is a link from its first node to its second, as in a file of pairs; in a matrix, row u and
column w say how many links go from u to w.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.errors import TopologyError
from linkstep.core.networkx_graphs import columns_of
from linkstep.core.text import shown
from linkstep.core.topology import Topology

MAX_LINKS = 2**27
"""Of a matrix: as many as linkstep builds."""


def topology_of(value: Any) -> Topology | None:
    """Return the topology that another library's value is; None if it is nothing of the kind.

    >>> topology_of([(0, 1), (1, 2), (2, 0)])
    <Topology N=3 d=1 links=3>
    >>> topology_of(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
    <Topology N=3 d=2 links=6>
    """
    if isinstance(value, list | tuple):
        return _from_pairs(value) if value and all(_is_pair(pair) for pair in value) else None
    libraries = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    if "networkx" in libraries and hasattr(value, "edges"):
        return Topology.from_networkx(value)
    if "rustworkx" in libraries and hasattr(value, "edge_list"):
        return _from_rustworkx(value)
    if "scipy" in libraries and hasattr(value, "tocoo"):
        return _from_scipy(value)
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.size:
        return _from_matrix(value)
    return None


def _is_pair(pair: object) -> bool:
    ends = pair if isinstance(pair, list | tuple) and len(pair) == 2 else ()
    return bool(ends) and all(isinstance(end, str | int | np.integer) and not isinstance(end, bool) for end in ends)


def _from_pairs(pairs: Sequence[Sequence[Any]]) -> Topology:
    """Return the links of pairs of numbers, or of names; numbers that leave some out are names too."""
    ends = [end for pair in pairs for end in pair]
    if len({isinstance(end, str) for end in ends}) > 1:
        raise TopologyError("pairs must be of numbers or of names, not of both")
    nodes: list[Any] = list(dict.fromkeys(ends))
    if not isinstance(nodes[0], str):
        nodes = sorted({int(end) for end in ends})
    labels = None if nodes == list(range(len(nodes))) else [str(node) for node in nodes]
    number = {node: u for u, node in enumerate(nodes)}
    tail, head = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    _check_ways(tail, head, nodes)
    return Topology.from_links(len(nodes), tail, head, labels=labels)


def _check_ways(tail: list[int], head: list[int], nodes: list[Any]) -> None:
    """Refuse pairs that are meant as cables: no link has one back, and some node only sends or only receives."""
    links = set(zip(tail, head, strict=True))
    if any((w, u) in links for u, w in links):
        return
    for only, way in ((set(tail) - set(head), "to"), (set(head) - set(tail), "from")):
        if only:
            raise TopologyError(
                f"pairs are links, one way each, and none goes {way} {shown(nodes[min(only)])}: give duplex cables "
                "both ways round, or as networkx.Graph(pairs)"
            )


def _from_rustworkx(graph: Any) -> Topology:
    """Return the links of a PyGraph or PyDiGraph; nodes that all are texts are the names of hosts."""
    number = {index: u for u, index in enumerate(graph.node_indices())}
    edges = [(number[u], number[w], data) for (u, w), data in zip(graph.edge_list(), graph.edges(), strict=True)]
    if not any(base.__name__ == "PyDiGraph" for base in type(graph).__mro__):
        edges += [(w, u, data) for u, w, data in edges if u != w]
    columns = columns_of([data if isinstance(data, dict) else {} for _, _, data in edges])
    names = graph.nodes()
    if names and all(isinstance(name, str) for name in names):
        columns["labels"] = names
    return Topology.from_links(len(number), [e[0] for e in edges], [e[1] for e in edges], **columns)


def _from_scipy(matrix: Any) -> Topology:
    entries = matrix.tocoo()
    if len(entries.shape) != 2:
        raise TopologyError(f"an adjacency matrix must have two dimensions, not the shape {entries.shape}")
    return _from_entries(entries.shape, entries.row, entries.col, np.asarray(entries.data))


def _from_matrix(matrix: NDArray[Any]) -> Topology:
    if np.ma.is_masked(matrix):
        raise TopologyError("an adjacency matrix must hold numbers of links, not masked values")
    plain = np.asarray(matrix)
    _check_counts(plain)
    rows, columns = np.nonzero(plain)
    return _from_entries(plain.shape, rows, columns, plain[rows, columns])


def _check_counts(counts: NDArray[Any]) -> None:
    """Refuse what are no numbers of links: a weight, a rate or a distance."""
    if counts.dtype.kind not in "biuf":
        raise TopologyError(f"an adjacency matrix must hold numbers of links, not {counts.dtype}")
    wrong = counts[~((counts >= 0) & (counts <= MAX_LINKS) & (counts == np.floor(counts)))]
    if wrong.size:
        raise TopologyError(f"an adjacency matrix must hold numbers of links, not {wrong[0]:g}")


def _from_entries(shape: tuple[int, ...], row: Any, column: Any, counts: NDArray[Any]) -> Topology:
    if shape[0] != shape[1]:
        raise TopologyError(f"an adjacency matrix must be square, not {shape[0]} by {shape[1]}")
    _check_counts(counts)
    times = counts.astype(np.int64)
    if int(times.sum()) > MAX_LINKS:
        raise TopologyError(f"has {int(times.sum())} links: an adjacency matrix may have {MAX_LINKS}")
    return Topology.from_links(int(shape[0]), np.repeat(row, times), np.repeat(column, times))
