"""Translations: automorphisms that act freely, so that what is made for one node serves all that they take it to.

Families number their nodes in mixed radix, so adding 1 to a digit is tried first: it finds the groups of circulants,
tori, hypercubes and Cayley graphs of abelian groups in no time. Otherwise automorphisms are searched for
(``linkstep.methods.exchange.free_groups``). Only where all nodes are known to be alike: elsewhere the search would
mostly be in vain, and a group is known only where a builder left it in ``topology.derived``, as that of lifts does, or
where the topology is a line graph or a transpose of one that has a group.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from linkstep.core.topology import Ids, Topology

MAX_NODES = 4096
"""Above this the elements of a group take too much memory."""


def translations(topology: Topology) -> Ids | None:
    """Return a group of automorphisms that acts freely, the identity first, or None where none is found.

    Kept with the topology. It has one orbit where it takes any node to any other, and several otherwise.

    >>> from dataclasses import replace
    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> translations(replace(ring, vertex_transitive=True)).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    if not 2 <= topology.num_nodes <= MAX_NODES:
        return None
    if "translations" not in topology.derived:
        topology.derived["translations"] = _known(topology)
    found: Ids | None = topology.derived["translations"]
    return None if found is None or len(found) == 1 else found


def _known(topology: Topology) -> Ids | None:
    """Return the group of what a topology was made from, as it acts on this one, or search for one."""
    if "lifted_by" in topology.derived:
        lifted: Ids = topology.derived["lifted_by"]()
        return lifted
    if "transpose_of" in topology.derived:
        return translations(topology.derived["transpose_of"])
    if "line_of" in topology.derived:
        return _on_links(topology.derived["line_of"])
    return _search(topology) if topology.vertex_transitive else None


def _on_links(base: Topology) -> Ids | None:
    """Return how the group of a base takes its links to links: freely, as it takes its nodes."""
    group = translations(base)
    if group is None or base.num_parallel:
        return None
    number = base.tail.astype(np.int64) * base.num_nodes + base.head
    order = np.argsort(number)
    taken = group.astype(np.int64)[:, base.tail] * base.num_nodes + group[:, base.head]
    found: Ids = order[np.searchsorted(number, taken, sorter=order)].astype(np.int32)
    return found


def _search(topology: Topology) -> Ids | None:
    radices = _radices(topology, 1)
    if radices is not None:
        return _shifts(radices)
    from linkstep.methods.exchange.free_groups import free_group

    return free_group(topology)


def _radices(topology: Topology, block: int) -> list[int] | None:
    """Return radices r, lowest digit first, such that adding 1 to any digit from ``block`` on is an automorphism."""
    left = topology.num_nodes // block
    if left == 1:
        return []
    for radix in sorted((r for r in range(2, left + 1) if left % r == 0), reverse=True):
        nodes = np.arange(topology.num_nodes)
        digit = nodes // block % radix
        if _is_automorphism(topology, nodes + ((digit + 1) % radix - digit) * block):
            rest = _radices(topology, block * radix)
            if rest is not None:
                return [radix, *rest]
    return None


def _shifts(radices: list[int]) -> Ids:
    """Return the permutations that add each number to every number, digit by digit."""
    size = int(np.prod(radices))
    nodes = np.arange(size, dtype=np.int32)
    blocks = np.cumprod([1, *radices]).tolist()
    found = np.zeros((size, size), np.int32)
    for block, end in pairwise(blocks):
        digit = nodes // block % (end // block)
        found += np.add.outer(digit, digit) % (end // block) * block
    return found


def _is_automorphism(topology: Topology, new: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
    """Whether renaming nodes leaves all links, with their columns, as they are."""
    n = np.int64(topology.num_nodes)
    ends = topology.out_ptr[:2]
    here = np.sort(new[topology.head[ends[0] : ends[1]]])
    there = topology.head[topology.out_ptr[new[0]] : topology.out_ptr[new[0] + 1]]
    if not np.array_equal(here, there):
        return False  # most are told apart by the links of one node
    columns = list(topology.columns.values())
    keys = new[topology.tail] * n + new[topology.head]
    order = np.lexsort((*columns, keys))
    same = np.array_equal(keys[order], topology.tail * n + topology.head)
    return same and all(np.array_equal(column[order], column) for column in columns)
