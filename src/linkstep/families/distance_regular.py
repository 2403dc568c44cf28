"""The distance-regular graphs of degree 4 of tab:exampledistreg, by their number of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from linkstep.core.distances import distances_from
from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ids, Topology
from linkstep.families._common import duplex_links, exchanged, knowing, out_links
from linkstep.families._family import Args, Family, always
from linkstep.families.complete import complete_bipartite
from linkstep.families.cubes import hypercube
from linkstep.families.paley import paley
from linkstep.families.polygons import (
    affine_plane,
    generalized_hexagon,
    generalized_quadrangle,
    projective_plane,
)
from linkstep.families.subsets import doubled_odd, johnson, odd_graph
from linkstep.symmetry import Symmetry, declare, known_symmetry
from linkstep.symmetry.carried import same_nodes

DEGREE = 4


def line_graph(topology: Topology) -> Topology:
    """Return the undirected line graph of a bidirectional graph: a node for each edge, joined if they meet.

    This is not the line graph expansion of the paper, which has a node for each link of a directed graph.

    >>> line_graph(complete_bipartite(2, 2)).num_nodes
    4
    """
    up = topology.tail < topology.head
    edges = np.stack([topology.tail[up], topology.head[up]], axis=1)
    left, right = np.triu_indices(len(edges), 1)
    meet = (edges[left, :, None] == edges[right, None, :]).any(axis=(1, 2))
    links = duplex_links(len(edges), left[meet], right[meet])
    return declare(links, lambda built: _on_edges(built, topology, edges))


def _on_edges(built: Topology, base: Topology, edges: Ids) -> Symmetry | None:
    """Return what the automorphisms of a graph do to its edges."""
    known = known_symmetry(base)
    if known is None:
        return None
    number = {frozenset(edge): e for e, edge in enumerate(edges.tolist())}
    taken = [[number[frozenset(edge)] for edge in new[edges].tolist()] for new in known.generators]
    return Symmetry.of(built, [np.array(images) for images in taken], "family")


def distance_graph(topology: Topology, distance: int) -> Topology:
    """Return the graph with a link wherever the distance is ``distance``; it must be regular.

    >>> distance_graph(hypercube(3), 3).degree
    1
    """
    nodes = range(topology.num_nodes)
    links = out_links([np.flatnonzero(distances_from(topology, u) == distance) for u in nodes])
    return declare(links, same_nodes(topology))


def crown(degree: int) -> Topology:
    """Return K_{d+1,d+1} minus a perfect matching: N = 2 (d + 1), D = 3.

    >>> crown(4).num_nodes
    10
    """
    whole = complete_bipartite(degree + 1, degree + 1)
    kept = (whole.head - whole.tail) % (degree + 1) != 0
    nodes, side = np.arange(whole.num_nodes), degree + 1
    both_sides = np.concatenate([exchanged(side, 0, 1), exchanged(side, 0, 1) + side])
    turn = np.where(nodes % side == degree, nodes - degree, nodes + 1)
    links = Topology.from_links(whole.num_nodes, whole.tail[kept], whole.head[kept])
    return knowing(links, lambda: [both_sides], lambda: [turn, (nodes + side) % whole.num_nodes])


@dataclass(frozen=True)
class DistanceRegularGraph:
    """A row of tab:exampledistreg."""

    title: str
    diameter: int
    build: Callable[[], Topology]
    vertex_transitive: bool = True


ROWS: dict[int, DistanceRegularGraph] = {
    6: DistanceRegularGraph("octahedron J(4,2)", 2, lambda: johnson(4, 2)),
    9: DistanceRegularGraph("Paley graph P9 = H(2,3)", 2, lambda: paley(9)),
    10: DistanceRegularGraph("K_{5,5} minus a perfect matching", 3, lambda: crown(4)),
    14: DistanceRegularGraph(
        "distance-3 graph of the Heawood graph", 3, lambda: distance_graph(projective_plane(2, 2), 3)
    ),
    15: DistanceRegularGraph("line graph of the Petersen graph", 3, lambda: line_graph(odd_graph(3))),
    16: DistanceRegularGraph("4-cube Q4 = H(4,2)", 4, lambda: hypercube(4)),
    21: DistanceRegularGraph("line graph of the Heawood graph", 3, lambda: line_graph(projective_plane(2, 2))),
    26: DistanceRegularGraph("incidence graph of PG(2,3)", 3, lambda: projective_plane(2, 3)),
    32: DistanceRegularGraph("incidence graph of AG(2,4) minus a parallel class", 4, lambda: affine_plane(2, 4)),
    35: DistanceRegularGraph("odd graph O4", 3, lambda: odd_graph(4)),
    45: DistanceRegularGraph("line graph of Tutte's 8-cage", 4, lambda: line_graph(generalized_quadrangle(2, 2))),
    70: DistanceRegularGraph("doubled odd graph D(O4)", 7, lambda: doubled_odd(4)),
    80: DistanceRegularGraph(
        "incidence graph of GQ(3,3)", 4, lambda: generalized_quadrangle(3, 3), vertex_transitive=False
    ),
    189: DistanceRegularGraph("line graph of Tutte's 12-cage", 6, lambda: line_graph(generalized_hexagon(2, 2))),
    728: DistanceRegularGraph("incidence graph of GH(3,3)", 6, lambda: generalized_hexagon(3, 3)),
}
"""By number of nodes. No automorphism of 80 swaps points and lines: W(3) is not isomorphic to its dual."""


def distance_regular(degree: int, size: int) -> Topology:
    """Return DistReg(4,m), the distance-regular graph of degree 4 with m nodes of tab:exampledistreg.

    Its BFB schedule is bandwidth-optimal (sec:dist-reg); D is the T_L of its row.

    >>> distance_regular(4, 32).num_nodes
    32
    """
    distance_regular_size(degree, size)
    return ROWS[size].build()


def distance_regular_size(degree: int, size: int) -> tuple[int, int]:
    """Return (N, d) of DistReg(4,m)."""
    if degree != DEGREE:
        raise RecipeError(f"DistReg(d,m): d must be {DEGREE}, not {degree}")
    if size not in ROWS:
        raise RecipeError(f"DistReg(4,m): m must be one of {', '.join(map(str, ROWS))}, not {size}")
    return size, degree


def _members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree == DEGREE and num_nodes in ROWS:
        yield (DEGREE, num_nodes)


FAMILIES = (
    Family(
        name="DistReg",
        title="distance-regular graph",
        params=("int", "int"),
        notation="DistReg(4,m)",
        coverage=f"d = {DEGREE}, N one of {', '.join(map(str, ROWS))}",
        build=distance_regular,
        size=distance_regular_size,
        members=_members,
        paper=lambda d, m: rf"\text{{DistReg}}({d},{m})",
        vertex_transitive=lambda d, m: ROWS[m].vertex_transitive,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda d, m: ROWS[m].diameter,
    ),
)
