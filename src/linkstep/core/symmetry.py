"""Automorphisms and isomorphisms of topologies, by BLISS (through igraph, the extra ``symmetry``).

Without igraph isomorphisms are found by an own search (``linkstep.core.refinement``), and automorphisms that no recipe
knows of stay unused: every node counts as unlike the others. Parallel links, self-loops and per-link columns count: an
automorphism maps links to as many links, alike in bandwidth, alpha and lifetime. Hosts and racks are names and do not
count. BLISS works on simple coloured digraphs, so a pair of nodes joined in an unusual way gets a coloured node in
between.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np

from linkstep.core.errors import TopologyError
from linkstep.core.refinement import GaveUp, Pair
from linkstep.core.topology import LINK_COLUMNS, Ids, Topology

Signature = tuple[tuple[int, ...], ...]


@cache
def is_available() -> bool:
    """Whether automorphisms can be searched for; says once how, if not."""
    if find_spec("igraph") is not None:
        return True
    logging.getLogger("linkstep").warning(
        "linkstep: igraph is not installed, so symmetries that no recipe knows of stay unused "
        "(pip install '.[symmetry]' in a clone adds it)"
    )
    return False


def _graph_class() -> Any:
    """Return igraph's compiled graph class by itself: 10 ms, where ``import igraph`` pulls in pyplot for a second.

    The module is left where a later ``import igraph`` finds it; it can be initialised only once.
    """
    name = "igraph._igraph"
    if name not in sys.modules:
        package = find_spec("igraph")
        assert package is not None and package.submodule_search_locations is not None
        spec = PathFinder.find_spec(name, list(package.submodule_search_locations))
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name].GraphBase


def _pairs(topology: Topology) -> dict[tuple[int, int], Signature]:
    """Return, for each ordered pair of nodes with links, what those links are like."""
    blank = np.zeros(topology.num_links, np.int64)
    found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    columns = [topology.columns.get(what, blank).tolist() for what in LINK_COLUMNS]
    for u, w, *link in zip(topology.tail.tolist(), topology.head.tolist(), *columns, strict=True):
        found.setdefault((u, w), []).append(tuple(link))
    return {pair: tuple(sorted(links)) for pair, links in found.items()}


def _encode(
    pairs: dict[tuple[int, int], Signature], num_nodes: int, codes: dict[Signature, int]
) -> tuple[Any, list[int]]:
    """Return a simple digraph and vertex colours; ``codes`` numbers signatures, 0 being the plain one."""
    colours = [0] * num_nodes
    edges = []
    for (u, w), signature in pairs.items():
        code = codes.setdefault(signature, len(codes))
        if u == w:
            colours[u] = 2 * code + 1
        elif code == 0:
            edges.append((u, w))
        else:
            edges += [(u, len(colours)), (len(colours), w)]
            colours.append(2 * code)
    return _graph_class()(n=len(colours), edges=edges, directed=True), colours


def _plain(pairs: dict[tuple[int, int], Signature]) -> dict[Signature, int]:
    """Number the most frequent signature of a pair of distinct nodes 0."""
    counts = Counter(s for (u, w), s in pairs.items() if u != w)
    return {counts.most_common(1)[0][0]: 0} if counts else {}


def automorphism_generators(topology: Topology) -> list[list[int]]:
    """Return permutations of the nodes that generate all automorphisms; none if there is only the identity.

    Without igraph none are known.

    >>> automorphism_generators(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    [[1, 2, 0]]
    """
    if not is_available():
        return []
    pairs = _pairs(topology)
    graph, colours = _encode(pairs, topology.num_nodes, _plain(pairs))
    return [generator[: topology.num_nodes] for generator in graph.automorphism_group(color=colours)]


def node_orbits(topology: Topology) -> Ids:
    """Return, for each node, the least node that some automorphism maps it to.

    >>> node_orbits(Topology.from_links(4, [0, 1, 2], [1, 2, 3])).tolist()
    [0, 1, 2, 3]
    """
    parent = list(range(topology.num_nodes))

    def find(u: int) -> int:
        while parent[u] != u:
            parent[u] = parent[parent[u]]
            u = parent[u]
        return u

    for generator in automorphism_generators(topology):
        for u in range(topology.num_nodes):
            a, b = find(u), find(generator[u])
            parent[max(a, b)] = min(a, b)
    return np.array([find(u) for u in range(topology.num_nodes)], np.int32)


def is_vertex_transitive(topology: Topology) -> bool:
    """Whether some automorphism maps any node to any other; False, too, where igraph is not there to find it."""
    return bool((node_orbits(topology) == 0).all())


def isomorphism(left: Topology, right: Topology) -> Ids | None:
    """Return f with f[u] the node of ``right`` for node u of ``left``, or None if there is none.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> ring.relabel(isomorphism(ring, ring.transpose())) == ring.transpose()
    True
    """
    if (left.num_nodes, left.num_links) != (right.num_nodes, right.num_links):
        return None
    search = _by_bliss if find_spec("igraph") is not None else _by_refinement
    mapping = search(_pairs(left), _pairs(right), left.num_nodes)
    if mapping is None:
        return None
    nodes: Ids = np.array(mapping, np.int32)
    return nodes if left.relabel(nodes) == right else None


Pairs = dict[tuple[int, int], Signature]


def _by_bliss(left: Pairs, right: Pairs, num_nodes: int) -> list[int] | None:
    codes = _plain(left)
    (g, g_colours), (h, h_colours) = (_encode(pairs, num_nodes, codes) for pairs in (left, right))
    if sorted(g_colours) != sorted(h_colours) or g.ecount() != h.ecount():
        return None
    # Not by canonical_permutation: igraph 1.0 turned round what it returns; mapping_12 stayed as it was.
    found, mapping, _ = g.isomorphic_bliss(h, return_mapping_12=True, color1=g_colours, color2=h_colours)
    return list(mapping[:num_nodes]) if found else None


def _by_refinement(left: Pairs, right: Pairs, num_nodes: int) -> list[int] | None:
    codes: dict[Signature, int] = {}
    rows = [
        (u + shift, w + shift, codes.setdefault(signature, len(codes)))
        for shift, pairs in ((0, left), (num_nodes, right))
        for (u, w), signature in pairs.items()
    ]
    tail, head, code = np.array(rows, np.int64).reshape(-1, 3).T
    try:
        mapping = Pair(num_nodes, tail, head, code).match(np.zeros(2 * num_nodes, np.int64))
    except GaveUp:
        raise TopologyError(
            f"no isomorphism was found and none ruled out for {num_nodes} nodes: igraph decides it "
            "(pip install '.[symmetry]' in a clone)"
        ) from None
    return None if mapping is None else [int(x) for x in mapping]


def is_reverse_symmetric(topology: Topology) -> bool:
    """Whether the topology is isomorphic to its transpose."""
    return topology.is_bidirectional or isomorphism(topology, topology.transpose()) is not None
