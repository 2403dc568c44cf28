"""What is known of a topology's symmetry without a search, because its builder knew.

A builder declares what it knows as a function, which runs when somebody asks; every permutation is then checked to be
an automorphism. Transposes, and topologies with other names or numbers, have the automorphisms of what they were made
from; expansions declare what they carry over (``symmetry.carried``). No library is asked here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkstep.core.memo import Memo
from linkstep.core.topology import COPY_OF, Ids, Ints, Topology
from linkstep.symmetry.permutations import orbits_of
from linkstep.symmetry.value import Symmetry

Declaration = Callable[[Topology], Symmetry | None]
"""Makes the symmetry of the topology that it is given; None if, after all, nothing is known."""

_DECLARED: Memo[Declaration] = Memo()
_KNOWN: Memo[Symmetry | None] = Memo()


def declare(topology: Topology, declaration: Declaration) -> Topology:
    """Keep what a builder knows; return the topology."""
    _DECLARED.keep(topology, declaration)
    return topology


def known_symmetry(topology: Topology) -> Symmetry | None:
    """Return the symmetry that a topology was built with, checked; None where nothing was declared."""
    return _KNOWN.find(topology, lambda: _known(topology))


def _known(topology: Topology) -> Symmetry | None:
    declared = _DECLARED.get(topology)
    if declared is not None:
        return declared(topology)
    original, numbers = COPY_OF.get(topology) or (None, None)
    known = None if original is None else known_symmetry(original)
    if known is None:
        return None
    generators = tuple(_renumbered(new, numbers) for new in known.generators)  # checked there, and so right here
    moves = None if known.translations is None else generators[: len(known.translations)]
    return Symmetry(topology, generators, known.origin, moves)


def _renumbered(new: Ids, numbers: Ids | None) -> Ids:
    """Return what a permutation is when its nodes have other numbers."""
    if numbers is None:
        return new
    found = np.empty_like(new)
    found[numbers] = numbers[new]
    return found


def known_representatives(topology: Topology) -> Ints | None:
    """Return nodes that between them look like every node; None where nothing is known.

    >>> from dataclasses import replace
    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> known_representatives(ring), known_representatives(replace(ring, vertex_transitive=True)).tolist()
    (None, [0])
    """
    if topology.vertex_transitive:
        return np.zeros(1, np.int64)
    known = known_symmetry(topology)
    return None if known is None else known.representatives


def even_representatives(topology: Topology) -> Ints | None:
    """Return nodes of which each stands for equally many, itself among them; None where none are known.

    Orbits of a group that acts freely are all as large as the group.
    """
    if topology.vertex_transitive:
        return np.zeros(1, np.int64)
    known = known_symmetry(topology)
    if known is None or known.translations is None:
        return None
    return np.unique(orbits_of(topology.num_nodes, known.translations)).astype(np.int64)
