"""Which nodes and which links look alike: orbits under automorphisms that are checked here, wherever they come from.

An automorphism maps links to links of the same rate, so a flow's image is a flow, and the average of a flow over a
group of automorphisms loads all links of an orbit alike. One source of each orbit of nodes, and one capacity for each
orbit of links, is all that is left of the throughput problem. Not here: how automorphisms are found
(``core.symmetry``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.routing import _flatten, _join
from linkstep.core.refinement import GaveUp, Pair
from linkstep.core.symmetry import automorphism_generators, is_available
from linkstep.core.topology import Ids, Ints, Topology

MANY_NODES = 4096
"""Above this, symmetries are searched for only where the nodes are known to be alike: then there are some to find."""
SEED = 0


def link_images(wires: Topology, permutation: Ids) -> Ints | None:
    """Return where a permutation of the nodes takes each link of a topology without parallel links.

    None if some link has no image of its own rate: then it is no automorphism.
    """
    n = np.int64(wires.num_nodes)
    if not np.array_equal(np.sort(permutation), np.arange(wires.num_nodes)):
        return None
    keys = wires.tail.astype(np.int64) * n + wires.head
    wanted = permutation[wires.tail].astype(np.int64) * n + permutation[wires.head]
    image: Ints = np.searchsorted(keys, wanted)
    image[image == keys.size] = 0
    if not np.array_equal(keys[image], wanted):
        return None
    if wires.bandwidth is not None and not np.array_equal(wires.bandwidth[image], wires.bandwidth):
        return None
    return image


@dataclass(frozen=True, eq=False)
class Orbits:
    """Orbits of nodes and links under the group that ``generators`` generate; each is called by its least member."""

    wires: Topology
    generators: tuple[Ids, ...]
    node_orbit: Ids
    """For each node, the least node of its orbit."""
    link_class: Ids
    """For each link, the number of its orbit; orbits are numbered by their least links."""

    @classmethod
    def of(cls, wires: Topology, generators: tuple[Ids, ...]) -> Orbits:
        """Work out orbits; raises unless every generator is an automorphism."""
        nodes, links = np.arange(wires.num_nodes, dtype=np.int32), np.arange(wires.num_links, dtype=np.int32)
        for generator in generators:
            images = link_images(wires, generator)
            if images is None:
                raise AssertionError("a symmetry that was found is no automorphism")
            _join(nodes, generator)
            _join(links, images)
        _flatten(nodes)
        _flatten(links)
        link_class = np.unique(links, return_inverse=True)[1].reshape(-1).astype(np.int32)
        return cls(wires, generators, nodes, link_class)

    @property
    def num_classes(self) -> int:
        """Number of orbits of links."""
        return int(self.link_class.max(initial=-1)) + 1

    @cached_property
    def sources(self) -> Ids:
        """The least node of each orbit of nodes."""
        return np.unique(self.node_orbit)

    @cached_property
    def weights(self) -> Ints:
        """How many nodes are like each of ``sources``."""
        return np.unique(self.node_orbit, return_counts=True)[1].astype(np.int64)

    @cached_property
    def _steps(self) -> dict[int, tuple[int, int]]:
        """For each node but the sources: the node before it on the way from its source, and the generator to take."""
        found: dict[int, tuple[int, int]] = {}
        queue = self.sources.tolist()
        seen = set(queue)
        images = [generator.tolist() for generator in self.generators]
        for node in queue:
            for number, image in enumerate(images):
                if image[node] not in seen:
                    seen.add(image[node])
                    found[image[node]] = (node, number)
                    queue.append(image[node])
        return found

    def carrier(self, node: int) -> Ids:
        """Return an automorphism that takes the source of a node's orbit to that node."""
        mapping = np.arange(self.wires.num_nodes, dtype=np.int32)
        while node in self._steps:
            node, number = self._steps[node]
            mapping = mapping[self.generators[number]]
        return mapping


def find_orbits(wires: Topology) -> Orbits:
    """Return the orbits of a topology without parallel links, under all automorphisms that are found quickly.

    >>> square = Topology.from_links(4, [0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3])
    >>> find_orbits(square).sources.tolist(), find_orbits(square).num_classes
    ([0], 1)
    """
    return Orbits.of(wires, tuple(_search(wires)))


def find_fixing(orbits: Orbits, source: int) -> Orbits:
    """Return the orbits under automorphisms that fix a source."""
    wires = orbits.wires
    if not orbits.generators:
        return orbits
    if not is_available():
        return Orbits.of(wires, tuple(_loops(orbits, source)))
    tail, head = np.append(wires.tail, source), np.append(wires.head, source)
    rates = None if wires.bandwidth is None else np.append(wires.bandwidth, 1)
    marked = Topology.from_links(wires.num_nodes, tail, head, bandwidth=rates)  # a self-loop tells the node apart
    return Orbits.of(wires, tuple(np.array(g, np.int32) for g in automorphism_generators(marked)))


def _loops(orbits: Orbits, source: int) -> list[Ids]:
    """Return automorphisms that generate all those in the group that fix a source (Schreier's lemma)."""
    found: dict[bytes, Ids] = {}
    for node in np.flatnonzero(orbits.node_orbit == source).tolist():
        there = orbits.carrier(node)
        for generator in orbits.generators:
            back = np.argsort(orbits.carrier(int(generator[node]))).astype(np.int32)
            loop: Ids = back[generator[there]]
            found.setdefault(loop.tobytes(), loop)
    return list(found.values())


def _search(wires: Topology) -> list[Ids]:
    if wires.num_nodes > MANY_NODES and not wires.vertex_transitive:
        return []
    if is_available():
        found = automorphism_generators(wires)
        return [np.array(g, np.int32) for g in found]
    return _by_refinement(wires) if wires.vertex_transitive else []


def _by_refinement(wires: Topology) -> list[Ids]:
    """Return automorphisms that take node 0 to others, until all nodes are one orbit; none where they stay hidden."""
    n = wires.num_nodes
    rates = np.zeros(wires.num_links, np.int64) if wires.bandwidth is None else wires.bandwidth
    code = np.unique(rates, return_inverse=True)[1].reshape(-1).astype(np.int64)
    tail, head = (np.concatenate([ids, ids + n]).astype(np.int64) for ids in (wires.tail, wires.head))
    pair = Pair(n, tail, head, np.concatenate([code, code]))
    found: list[Ids] = []
    orbit: NDArray[np.int32] = np.arange(n, dtype=np.int32)
    random = np.random.default_rng(SEED)
    while (orbit != 0).any():
        target = int(random.choice(np.flatnonzero(orbit != 0)))
        colour = np.zeros(2 * n, np.int64)
        colour[[0, n + target]] = 1
        try:
            mapping = pair.match(colour)
        except GaveUp:
            return found
        if mapping is None or link_images(wires, mapping.astype(np.int32)) is None:
            return found
        found.append(mapping.astype(np.int32))
        _join(orbit, found[-1])
        _flatten(orbit)
    return found
