"""Permutations of a topology's nodes: whether they keep its links, where they take them, which orbits they make.

A permutation g is a column, ``g[u]`` being the node that node u is taken to. Not here: where permutations come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ids, Ints, Topology

Mask = NDArray[np.bool_]

_BATCH = 2**20
"""Links times permutations that are looked at together: much faster than one by one, and a few dozen MiB."""


def is_permutation(new: Ids | Ints, size: int) -> bool:
    """Whether every number below ``size`` occurs once."""
    if new.shape != (size,) or not size or new.min() < 0 or new.max() >= size:
        return new.shape == (size,) and not size
    return bool((np.bincount(new, minlength=size) == 1).all())


def link_images(topology: Topology, new: Ids | Ints) -> Ints | None:
    """Return where a permutation of the nodes takes each link; None if it is no automorphism.

    An automorphism takes links to links with the same columns, as many from any node to any other. Of links between the
    same nodes with the same columns it takes the first to the first, the second to the second and so on.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> link_images(ring, np.array([1, 2, 0])).tolist(), link_images(ring, np.array([1, 0, 2]))
    ([1, 2, 0], None)
    """
    if not is_permutation(new, topology.num_nodes):
        return None
    n = np.int64(topology.num_nodes)
    keys = new[topology.tail] * n + new[topology.head]
    columns = list(topology.columns.values())
    order = np.lexsort((*columns, keys)) if columns else np.argsort(keys, kind="stable")
    if not np.array_equal(keys[order], topology.tail * n + topology.head):
        return None
    if not all(np.array_equal(column[order], column) for column in columns):
        return None
    images = np.empty(order.size, np.int64)
    images[order] = np.arange(order.size)
    return images


def is_automorphism(topology: Topology, new: Ids | Ints) -> bool:
    """Whether renaming nodes leaves all links, with their columns, as they are."""
    if not topology.num_links or not is_permutation(new, topology.num_nodes):
        return not topology.num_links and is_permutation(new, topology.num_nodes)
    here = np.sort(new[topology.head[: topology.out_ptr[1]]])
    there = topology.head[topology.out_ptr[new[0]] : topology.out_ptr[new[0] + 1]]
    if not np.array_equal(here, there):
        return False  # one node's links tell most apart
    if topology.bandwidth is not None or topology.alpha is not None:
        return link_images(topology, new) is not None
    n = np.int64(topology.num_nodes)
    return np.array_equal(np.sort(new[topology.tail] * n + new[topology.head]), topology.tail * n + topology.head)


def wire_images(wires: Topology, permutations: Sequence[Ids | Ints]) -> list[Ints] | None:
    """Return ``link_images`` of each permutation, of wires without parallel links; None unless all are automorphisms.

    >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    >>> [images.tolist() for images in wire_images(ring, [np.array([1, 2, 0]), np.array([2, 0, 1])])]
    [[1, 2, 0], [2, 0, 1]]
    """
    if any(new.shape != (wires.num_nodes,) for new in permutations):
        return None
    found: list[Ints] = []
    keys = _keys(wires, np.arange(wires.num_nodes))
    for rows in _batches(wires, permutations):
        if not _are_permutations(rows).all():
            return None
        taken = _keys(wires, rows)
        # Different wires have different keys and are taken to different wires: where all of these are there, all are.
        images = np.searchsorted(keys, taken).clip(max=max(0, keys.size - 1))
        if not (keys[images] == taken).all():
            return None
        if not all((column[images] == column).all() for column in wires.columns.values()):
            return None
        found.extend(images)
    return found


def first_wrong(topology: Topology, permutations: Sequence[Ids | Ints]) -> Ids | Ints | None:
    """Return the first permutation that is no automorphism; None if all are: ``is_automorphism`` of many at once."""
    if topology.columns or any(new.shape != (topology.num_nodes,) for new in permutations):
        return next((new for new in permutations if not is_automorphism(topology, new)), None)
    keys = _keys(topology, np.arange(topology.num_nodes))
    for rows in _batches(topology, permutations):
        right = _are_permutations(rows)
        right[right] = (np.sort(_keys(topology, rows[right])) == keys).all(axis=1)
        if not right.all():
            wrong: Ints = rows[right.argmin()]
            return wrong
    return None


def _batches(topology: Topology, permutations: Sequence[Ids | Ints]) -> Iterator[Ints]:
    """Yield the permutations in order, as rows of tables that are not too large."""
    size = max(1, _BATCH // max(1, topology.num_links, topology.num_nodes))
    for begin in range(0, len(permutations), size):
        yield np.stack(permutations[begin : begin + size]).astype(np.int64)


def _are_permutations(rows: Ints) -> Mask:
    """Whether every number below its length occurs once, of each row."""
    return np.asarray((np.sort(rows) == np.arange(rows.shape[1])).all(axis=1))


def _keys(topology: Topology, new: Ints) -> Ints:
    """Return a number for the ends of each link, once nodes have the numbers ``new``; a row for each row of these."""
    return np.asarray(new[..., topology.tail] * topology.num_nodes + new[..., topology.head])


def orbits_of(size: int, permutations: Sequence[Ids | Ints]) -> Ids:
    """Return, for each number below ``size``, the least that products of permutations take it to.

    >>> orbits_of(5, [np.array([1, 0, 2, 4, 3])]).tolist()
    [0, 0, 2, 3, 3]
    """
    least = np.arange(size, dtype=np.int32)
    while permutations and least.any():  # all 0: there is one orbit
        before = least
        for new in permutations:
            joined = np.minimum(least, least[new])
            joined[new] = np.minimum(joined[new], joined)
            least = joined[joined]  # a number's least is in its orbit, and so is that number's
        if np.array_equal(least, before):
            break
    return least
