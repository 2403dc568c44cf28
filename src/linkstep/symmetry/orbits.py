"""Orbits of nodes and links of wires without parallel links, and how a source gets to any node of its orbit.

An automorphism maps links to links of the same rate, so a flow's image is a flow, and the average of a flow over a
group of automorphisms loads all links of an orbit alike. One source of each orbit of nodes, and one capacity for each
orbit of links, is all that is left of the throughput problem. Automorphisms are checked here, wherever they come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkstep.core.topology import Ids, Ints, Topology
from linkstep.symmetry.permutations import orbits_of, wire_images


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
    def of(cls, wires: Topology, generators: Iterable[Ids]) -> Orbits:
        """Work out orbits; raises unless every generator is an automorphism."""
        chosen = tuple(generators)
        images = wire_images(wires, chosen)
        if images is None:
            raise AssertionError("a symmetry that was found is no automorphism")
        links = orbits_of(wires.num_links, images)
        is_least = links == np.arange(links.size)
        link_class = (is_least.cumsum(dtype=np.int32) - 1)[links]
        return cls(wires, chosen, orbits_of(wires.num_nodes, chosen), link_class)

    @cached_property
    def num_classes(self) -> int:
        """Number of orbits of links."""
        return int(self.link_class.max(initial=-1)) + 1

    @cached_property
    def sources(self) -> Ids:
        """The least node of each orbit of nodes."""
        return np.flatnonzero(self.node_orbit == np.arange(self.node_orbit.size)).astype(np.int32)

    @cached_property
    def weights(self) -> Ints:
        """How many nodes are like each of ``sources``."""
        return np.bincount(self.node_orbit)[self.sources]

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

    def fixing(self, source: int) -> Orbits:
        """Return the orbits under those automorphisms of the group that fix a source."""
        if source not in self._fixing:
            self._fixing[source] = Orbits.of(self.wires, self._loops(source))
        return self._fixing[source]

    @cached_property
    def _fixing(self) -> dict[int, Orbits]:
        return {}

    def _loops(self, source: int) -> list[Ids]:
        """Return automorphisms that generate all those that fix a source: to a node, one step on, and back.

        That these are enough is Schreier's lemma.
        """
        found: dict[bytes, Ids] = {}
        identity = np.arange(self.wires.num_nodes, dtype=np.int32)
        there = {source: identity}
        for node, (before, number) in self._steps.items():  # in the order in which nodes are met
            if before in there:
                there[node] = self.generators[number][there[before]]
        for node, mapping in there.items():
            for generator in self.generators:
                onward = generator[mapping]
                if np.array_equal(onward, there[int(generator[node])]):
                    continue
                back = np.empty_like(identity)
                back[there[int(generator[node])]] = identity
                loop: Ids = back[onward]
                found.setdefault(loop.tobytes(), loop)
        return list(found.values())
