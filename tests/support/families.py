"""Slow, independent answers about a topology, for the tests of families: orbits, isomorphism, BFB's T_B."""

from collections import Counter
from fractions import Fraction

import numpy as np

from linkstep.core.distances import distances_to
from linkstep.core.topology import Topology
from support import strategies  # noqa: F401  (sets hypothesis up)


def links_of(topology):
    return list(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))


def coloured(topology):
    """Return a simple digraph and a colour for each node: parallel links become one, self-loops a colour.

    Where links have different numbers of parallels, a node amid each has its number as colour.
    """
    import igraph  # takes half a second

    counts = Counter((u, w) for u, w in links_of(topology) if u != w)
    loops = Counter(u for u, w in links_of(topology) if u == w)
    colours = [loops[u] for u in range(topology.num_nodes)]
    if len(set(counts.values())) == 1:
        return igraph.Graph(topology.num_nodes, sorted(counts), directed=True), colours
    halves, most = [], topology.degree + 1
    for (u, w), count in sorted(counts.items()):
        halves += [(u, len(colours)), (len(colours), w)]
        colours.append(most + count)
    return igraph.Graph(len(colours), halves, directed=True), colours


def num_orbits(topology):
    """Return into how many orbits the automorphism group splits the nodes."""
    import igraph  # takes half a second

    graph, colours = coloured(topology)
    joined = igraph.Graph(graph.vcount())
    for generator in graph.automorphism_group(color=colours):
        joined.add_edges(list(enumerate(generator)))
    return len(set(joined.connected_components().membership[: topology.num_nodes]))


def are_isomorphic(left, right):
    (one, colours), (other, other_colours) = coloured(left), coloured(right)
    if one.vcount() != other.vcount() or sorted(colours) != sorted(other_colours):
        return False
    return one.isomorphic_bliss(other, color1=colours, color2=other_colours)


def is_reverse_symmetric(topology):
    return are_isomorphic(topology, topology.transpose())


def from_undirected(num_nodes, edges):
    return Topology.from_links(num_nodes, *zip(*edges, *[(w, u) for u, w in edges], strict=True))


def intersection_array(topology):
    """Return [(c_i, a_i, b_i)], or None if the graph is not distance-regular.

    For nodes u, v at distance i, these count the neighbours of v at distance i - 1, i, i + 1 of u.
    """
    adjacent = np.zeros((topology.num_nodes,) * 2)  # floats: small counts are exact, and products are fast
    np.add.at(adjacent, (topology.tail, topology.head), 1)
    dist = np.array([distances_to(topology, u) for u in range(topology.num_nodes)])
    near = [(dist == i) @ adjacent for i in range(-1, dist.max() + 2)]
    array = []
    for i in range(dist.max() + 1):
        counts = [set(near[i + 1 + step][dist == i].tolist()) for step in (-1, 0, 1)]
        if any(len(c) > 1 for c in counts):
            return None
        array.append(tuple(int(c.pop()) for c in counts))
    return array


def bfb_bandwidth(topology, nodes):
    """Return T_B of the best BFB schedule, counting links into these nodes only (thm:balancedbfs).

    It is d/N times the sum over steps t of the maximum, over nodes u and sets P of links into u, of the
    number of sources at distance t from which u is reached over links of P only, divided by |P|.
    """
    dist = np.array([distances_to(topology, u) for u in range(topology.num_nodes)])
    worst = Counter()
    for u in nodes:
        tails = topology.in_tail[topology.in_ptr[u] : topology.in_ptr[u + 1]]
        places = 1 << np.arange(tails.size)
        usable = (dist[tails] == dist[u] - 1).T @ places
        groups = Counter(zip(dist[u].tolist(), usable.tolist(), strict=True))
        for chosen in range(1, 1 << tails.size):
            inside = Counter()
            for (step, links), count in groups.items():
                if step and links & ~chosen == 0:
                    inside[step] += count
            for step, count in inside.items():
                worst[step] = max(worst[step], Fraction(count, chosen.bit_count()))
    return Fraction(topology.degree, topology.num_nodes) * sum(worst.values())
