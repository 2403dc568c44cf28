"""What a topology is and how far from the best possible: distances, symmetries, bounds, and what BFB costs on it.

``describe`` works all of it out; commands and notebooks only print it. What would take very long on a large topology
is left out and says so (None).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep.core.arguments import check_callable
from linkstep.core.distances import check_connected, distance_profiles
from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import WiringLike
from linkstep.core.notebook import html_table
from linkstep.core.progress import Progress
from linkstep.core.topology import Ints, Topology, check_permanent
from linkstep.costs import Cost, FabricLike, as_fabric, distance_flow_bound
from linkstep.methods.bfb import MAX_DEGREE, Certificate, EqualSplit, bfb_certificate, equal_split, is_equal_split_quick
from linkstep.recipe import Recipe, resolve
from linkstep.symmetry.isomorphisms import is_reverse_symmetric, node_orbits
from linkstep.symmetry.search import is_available

LARGE = 20_000
"""Above this many nodes a search for symmetries takes long: only what the recipe knows is said."""
MANY = 10**9
"""Above nodes times links, the BFB cost of all nodes takes long."""
_BLOCK = 10**8
"""Link visits between two reports of progress."""

Watch = Callable[[str], AbstractContextManager[Progress]]
"""Opens a progress bar with this label."""


def _unwatched(label: str) -> AbstractContextManager[Progress]:
    return nullcontext(lambda done, total: None)


@dataclass(frozen=True)
class Description:
    """What is known of a topology; None where it was not determined.

    >>> from linkstep import describe
    >>> found = describe("K_{2,2}")
    >>> found.diameter, found.vertex_transitive
    (2, True)
    """

    topology: Topology
    vertex_transitive: bool | None
    reverse_symmetric: bool | None
    diameter: int
    profile: Ints | None
    """Nodes at distance 0, 1, ... where every node sees the same."""
    mean_profile: tuple[Fraction, ...]
    """The same, averaged over nodes."""
    certificate: Certificate | None
    """Of the best BFB allgather."""
    reduce_scatter: Cost | None
    """Of the best BFB reduce-scatter."""
    equal_split: EqualSplit | None
    """Proof that BFB is bandwidth-optimal where shards split equally; None if they do not, or it was not looked at."""
    all_to_all_bound: Fraction | None
    """The most flow a pair can get by the distances alone; None for a single node."""

    @property
    def mean_distance(self) -> Fraction:
        """Over ordered pairs of different nodes."""
        n = self.topology.num_nodes
        total = sum((step * count for step, count in enumerate(self.mean_profile)), Fraction(0))
        return total / (n - 1) if n > 1 else Fraction(0)

    def _wiring_(self) -> Topology:
        return self.topology

    def __repr__(self) -> str:
        cost = "" if self.certificate is None else f", BFB {self.certificate.cost}"
        return f"<Description of {self.topology!r}: diameter {self.diameter}{cost}>"

    def _repr_html_(self) -> str:
        known = {True: "yes", False: "no", None: "not known"}
        fields = [
            ("N", self.topology.num_nodes),
            ("d", self.topology.degree),
            ("diameter", self.diameter),
            ("mean distance", f"{float(self.mean_distance):.6g}"),
            ("all nodes alike", known[self.vertex_transitive]),
            ("like its transpose", known[self.reverse_symmetric]),
            ("BFB allgather", self.certificate and self.certificate.cost),
            ("BFB reduce-scatter", self.reduce_scatter),
        ]
        return html_table(self.topology.name or "topology", [(name, value) for name, value in fields if value])


def _representatives(topology: Topology) -> tuple[Ints, Ints]:
    """Return one node of each class of alike nodes and the size of each class."""
    n = topology.num_nodes
    if topology.vertex_transitive:
        return np.zeros(1, np.int64), np.array([n])
    if n > LARGE:
        return np.arange(n), np.ones(n, np.int64)
    nodes, sizes = np.unique(node_orbits(topology), return_counts=True)
    return nodes.astype(np.int64), sizes.astype(np.int64)


def _profiles(topology: Topology, nodes: Ints, progress: Progress) -> Ints:
    """Return ``distance_profiles``, block by block."""
    size = max(1, _BLOCK // max(topology.num_links, 1))
    blocks = []
    for begin in range(0, nodes.size, size):
        blocks.append(distance_profiles(topology, nodes[begin : begin + size]))
        progress(min(begin + size, nodes.size), nodes.size)
    width = max(block.shape[1] for block in blocks)
    return np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks])


def _is_reverse_symmetric(topology: Topology, recipe: Recipe | None) -> bool | None:
    if topology.is_bidirectional or (recipe is not None and recipe.is_reverse_symmetric):
        return True
    return None if topology.num_nodes > LARGE else is_reverse_symmetric(topology)


def _can_be_solved(topology: Topology) -> bool:
    few = topology.vertex_transitive or topology.num_nodes * topology.num_links <= MANY
    return bool(few and topology.num_nodes > 1 and np.diff(topology.in_ptr).max() <= MAX_DEGREE)


def describe(topology: WiringLike, watch: Watch = _unwatched, fabric: FabricLike | None = None) -> Description:
    """Work out what there is to know of a topology, or of the one a recipe describes, which must be connected.

    Costs count the limit of a fabric's hosts, if these have one.

    >>> found = describe("Torus(3,4)")
    >>> found.diameter, found.profile.tolist(), found.certificate.cost, found.mean_distance
    (3, [1, 4, 5, 2], Cost(steps=3, bandwidth=Fraction(11, 12)), Fraction(20, 11))
    """
    if watch is None:
        raise LinkstepError("watch must be a function, not None")
    check_callable("watch", watch)
    graph, recipe = resolve(topology)
    wires = None if fabric is None else as_fabric(fabric)
    check_permanent(graph, "a description")
    with watch("symmetries"):
        check_connected(graph)
        nodes, weights = _representatives(graph)
        reverse_symmetric = _is_reverse_symmetric(graph, recipe)
    with watch("distances") as progress:
        profiles = _profiles(graph, nodes, progress)
    summed = (profiles * weights[:, None]).sum(axis=0).tolist()
    total = sum(step * count for step, count in enumerate(summed))
    certificate, scatter = None, None
    if _can_be_solved(graph):
        with watch("costs") as progress:
            certificate = bfb_certificate(graph, wires, progress=progress)
            transpose = graph if reverse_symmetric else graph.transpose()
            scatter = bfb_certificate(transpose, wires, progress=progress).cost
    known = graph.num_nodes <= LARGE and is_available()
    return Description(
        topology=graph,
        vertex_transitive=True if nodes.size == 1 else False if known else None,
        reverse_symmetric=reverse_symmetric,
        diameter=profiles.shape[1] - 1,
        profile=profiles[0] if (profiles == profiles[0]).all() else None,
        mean_profile=tuple(Fraction(int(count), graph.num_nodes) for count in summed),
        certificate=certificate,
        reduce_scatter=scatter,
        equal_split=equal_split(graph) if graph.num_nodes > 1 and is_equal_split_quick(graph) else None,
        all_to_all_bound=distance_flow_bound(graph, total) if graph.num_nodes > 1 else None,
    )
