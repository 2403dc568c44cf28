"""Translations: automorphisms that act freely, so that what is made for one node serves all that they take it to.

They are known where a builder declared them, as Cayley graphs, lifts and abelian families do, and for what is made from
these. Otherwise they are grown from automorphisms (``symmetry.free_groups``), but only where all nodes are known to be
alike: elsewhere that would mostly be in vain.
"""

from __future__ import annotations

from linkstep.core.memo import Memo
from linkstep.core.topology import Ids, Topology
from linkstep.symmetry.free_groups import MAX_NODES, elements, free_group
from linkstep.symmetry.known import known_symmetry

_FOUND: Memo[Ids | None] = Memo()


def translations(topology: Topology) -> Ids | None:
    """Return a group of automorphisms that acts freely, the identity first, or None where none is known.

    A row for each element, in order of where it takes node 0. The group has one orbit where it takes any node to any
    other, and several otherwise.

    >>> from linkstep.families.rings import unidirectional_ring
    >>> translations(unidirectional_ring(1, 3)).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    if not 2 <= topology.num_nodes <= MAX_NODES:
        return None
    found = _FOUND.find(topology, lambda: _translations(topology))
    return None if found is None or len(found) == 1 else found


def _translations(topology: Topology) -> Ids | None:
    known = known_symmetry(topology)
    declared = None
    if known is not None and known.translations is not None:
        declared = elements(topology.num_nodes, known.translations)
    if topology.vertex_transitive and (declared is None or len(declared) < topology.num_nodes):
        return free_group(topology)
    return declared
