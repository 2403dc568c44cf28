"""Automorphisms that nobody declared: the one place that searches, by a library or by an own search.

Where a builder knows symmetry that is used, and no library is asked, so that results do not depend on what is
installed. Parallel links, self-loops and per-link columns count: an automorphism maps links to as many links, alike in
bandwidth, alpha and lifetime; hosts and racks are names and do not count. Libraries take simple coloured digraphs, so a
pair of nodes joined in an unusual way gets a coloured node in between.
"""

from __future__ import annotations

import logging
from collections import Counter
from functools import cache

import numpy as np

from linkstep.core.columns import LINK_COLUMNS
from linkstep.core.extras import missing
from linkstep.core.memo import Memo
from linkstep.core.topology import Ids, Topology
from linkstep.symmetry.known import known_symmetry
from linkstep.symmetry.libraries import ColouredGraph, find_library
from linkstep.symmetry.permutations import is_automorphism, orbits_of
from linkstep.symmetry.refinement import GaveUp, Pair
from linkstep.symmetry.value import Symmetry

Signature = tuple[tuple[int, ...], ...]
Pairs = dict[tuple[int, int], Signature]

SEED = 0
BUDGET = 500
"""Refinements that the own search may take: it is for graphs that need few."""
MANY_NODES = 4096
"""Above this, symmetries are searched for only where nodes are known to be alike: then there are some to find."""

_FOUND: Memo[Symmetry] = Memo()


@cache
def is_available() -> bool:
    """Whether automorphisms that nobody declared can be searched for; says once how, if not."""
    if find_library() is not None:
        return True
    need = missing("finding them", "pybliss or igraph", "symmetry")
    logging.getLogger("linkstep").warning(f"linkstep: symmetries that no recipe knows of stay unused: {need}")
    return False


def symmetry_of(topology: Topology) -> Symmetry:
    """Return what is known of a topology's symmetry; where nothing is, search for all automorphisms.

    Where nothing is declared but all nodes are known to be alike, an own search finds automorphisms that take any to
    any other, whatever is installed. Otherwise a library is asked.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> symmetry_of(ring).node_orbits.tolist(), symmetry_of(ring).origin
    ([0, 0, 0], 'searched')
    """
    return _FOUND.find(topology, lambda: known_symmetry(topology) or _search(topology))


def _search(topology: Topology) -> Symmetry:
    if topology.vertex_transitive:
        own = _by_refinement(topology)
        if own is not None:
            return Symmetry.of(topology, own, "searched")
    elif topology.num_nodes > MANY_NODES:
        return Symmetry(topology, (), "none known")
    if not is_available():
        return Symmetry(topology, (), "none known")
    return searched_symmetry(topology)


def searched_symmetry(topology: Topology) -> Symmetry:
    """Return the whole automorphism group, by a library, whatever was declared; nothing where there is no library."""
    return Symmetry.of(topology, automorphism_generators(topology), "searched")


def pairs_of(topology: Topology) -> Pairs:
    """Return, for each ordered pair of nodes with links, what those links are like."""
    blank = np.zeros(topology.num_links, np.int64)
    found: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    columns = [topology.columns.get(what, blank).tolist() for what in LINK_COLUMNS]
    for u, w, *link in zip(topology.tail.tolist(), topology.head.tolist(), *columns, strict=True):
        found.setdefault((u, w), []).append(tuple(link))
    return {pair: tuple(sorted(links)) for pair, links in found.items()}


def encode(pairs: Pairs, num_nodes: int, codes: dict[Signature, int]) -> ColouredGraph:
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
    return ColouredGraph(colours, edges)


def plain(pairs: Pairs) -> dict[Signature, int]:
    """Number the most frequent signature of a pair of distinct nodes 0."""
    counts = Counter(s for (u, w), s in pairs.items() if u != w)
    return {counts.most_common(1)[0][0]: 0} if counts else {}


def automorphism_generators(topology: Topology) -> list[Ids]:
    """Return permutations of the nodes that generate all automorphisms; none if there is only the identity.

    Without a library none are found.

    >>> [new.tolist() for new in automorphism_generators(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))]
    [[1, 2, 0]]
    """
    library = find_library()
    if library is None:
        return []
    pairs = pairs_of(topology)
    found = library.automorphisms(encode(pairs, topology.num_nodes, plain(pairs)))
    return [np.array(generator[: topology.num_nodes], np.int32) for generator in found]


def _by_refinement(topology: Topology) -> list[Ids] | None:
    """Return automorphisms that take node 0 to all others; None where they stay hidden."""
    n = topology.num_nodes
    pairs = pairs_of(topology)
    codes: dict[Signature, int] = {}
    rows = [(u, w, codes.setdefault(signature, len(codes))) for (u, w), signature in pairs.items()]
    tail, head, code = np.array(rows, np.int64).reshape(-1, 3).T
    pair = Pair(n, np.append(tail, tail + n), np.append(head, head + n), np.append(code, code), BUDGET)
    found: list[Ids] = []
    orbit = np.arange(n, dtype=np.int32)
    random = np.random.default_rng(SEED)
    while (orbit != 0).any():
        target = int(random.choice(np.flatnonzero(orbit != 0)))
        colour = np.zeros(2 * n, np.int64)
        colour[[0, n + target]] = 1
        try:
            mapping = pair.match(colour)
        except GaveUp:
            return None
        if mapping is None or not is_automorphism(topology, mapping):
            return None
        found.append(mapping.astype(np.int32))
        orbit = orbits_of(n, found)
    return found
