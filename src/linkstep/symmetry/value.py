"""``Symmetry``: automorphisms of a topology as a value, by generators, with where they come from.

Not here: which topology has which (``symmetry.known``), and how automorphisms are searched for (``symmetry.search``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from linkstep.core.topology import Ids, Ints, Topology
from linkstep.symmetry.permutations import first_wrong, link_images, orbits_of

Origin = Literal["family", "group", "lift", "recipe", "line graph", "product", "searched", "none known"]
"""Who says so: a family's builder; a group that acts on its own Cayley graph, or on a lift; an expansion that carries
what its base has; a search."""


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Automorphisms of one topology: every product of ``generators``, the translations first.

    Two nodes or links are in one orbit if some of these products takes one to the other. There may be automorphisms
    besides: a symmetry says what is known, not all there is.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> turn = Symmetry(ring, (np.array([1, 2, 0], np.int32),), "family")
    >>> turn.node_orbits.tolist(), turn.link_orbits.tolist(), turn.representatives.tolist()
    ([0, 0, 0], [0, 0, 0], [0])
    """

    topology: Topology
    generators: tuple[Ids, ...]
    origin: Origin
    translations: tuple[Ids, ...] | None = None
    """Generators of a group that acts *freely*: its elements other than the identity move every node. None: no such
    group is known, though products of ``generators`` may well make one."""

    @classmethod
    def of(
        cls,
        topology: Topology,
        generators: Iterable[Ids | Ints],
        origin: Origin,
        translations: Iterable[Ids | Ints] | None = None,
    ) -> Symmetry:
        """Check that generators are automorphisms, and leave out the identity; who claims a wrong one is at fault."""
        moves = None if translations is None else _different(translations)
        found = _different([*(moves or ()), *generators])
        wrong = first_wrong(topology, found)
        if wrong is not None:
            raise AssertionError(f"{topology!r}: not an automorphism, though the {origin} says so: {wrong}")
        return cls(topology, found, origin, moves)

    @property
    def others(self) -> tuple[Ids, ...]:
        """The generators that are not among ``translations``."""
        return self.generators[len(self.translations or ()) :]

    @cached_property
    def node_orbits(self) -> Ids:
        """For each node, the least node of its orbit."""
        return orbits_of(self.topology.num_nodes, self.generators)

    @cached_property
    def link_orbits(self) -> Ids:
        """For each link, the least link of its orbit."""
        images = [link_images(self.topology, new) for new in self.generators]
        return orbits_of(self.topology.num_links, [image for image in images if image is not None])

    @cached_property
    def representatives(self) -> Ints:
        """The least node of each orbit: what is worked out for these is the same for all others."""
        return np.unique(self.node_orbits).astype(np.int64)


def _different(permutations: Iterable[Ids | Ints]) -> tuple[Ids, ...]:
    """Return permutations once each, in the order given, without the identity."""
    found: dict[bytes, Ids] = {}
    for new in permutations:
        column = np.ascontiguousarray(new, np.int32)
        column.flags.writeable = False
        if (column != np.arange(column.size)).any():
            found.setdefault(column.tobytes(), column)
    return tuple(found.values())
