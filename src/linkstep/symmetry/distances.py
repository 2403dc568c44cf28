"""The distances of a topology measured from a few nodes, where these are known to stand for all."""

from __future__ import annotations

from dataclasses import dataclass

from linkstep.core.distances import distance_counts
from linkstep.core.topology import Topology
from linkstep.symmetry.known import even_representatives


@dataclass(frozen=True)
class Distances:
    """The largest distance between two nodes, and the sum of the distances of all ordered pairs."""

    diameter: int
    total: int


def measure_distances(topology: Topology) -> Distances:
    """Measure the distances of a connected topology: from every node, or from those that stand for all.

    >>> measure_distances(Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0]))
    Distances(diameter=3, total=24)
    """
    counts = distance_counts(topology, even_representatives(topology)).tolist()
    total = sum(x * count for x, count in enumerate(counts))
    return Distances(len(counts) - 1, total * (topology.num_nodes // counts[0]))
