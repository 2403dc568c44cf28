"""A topology as the balancing of paths sees it: one source of each orbit, links by head and by orbit, no self-loops.

Where automorphisms are known that move every node (``symmetry.free_groups``), only one source of each of their orbits
is routed, and the others do as it does: a link then carries what its whole orbit carries for those sources. Otherwise
every node and every link is an orbit of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.exchange import _fill_rows
from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.symmetry.free_groups import free_group, images_of_links

Floats = NDArray[np.float64]
Paths = NDArray[np.int16]

WAIT = -1
"""In paths, as in ``_kernels/exchange.py``."""


@dataclass(frozen=True, eq=False)
class FreeAction:
    """A topology and a group that acts freely on it."""

    topology: Topology
    node_image: Ids
    link_image: Ints
    """Where each element of the group takes each node and each link."""
    sources: Ids
    """The least node of each orbit."""
    in_ptr: Ints
    link_at: Ids
    """Links sorted by heads: those into u are ``link_at[in_ptr[u]:in_ptr[u + 1]]``."""
    tail: Ids
    kind: Ints
    """Tails and classes of ``link_at``; a class is an orbit of links."""
    rate: Ints
    """The bandwidth of each class."""

    @classmethod
    def of(cls, topology: Topology, seed: int) -> FreeAction:
        """Look for symmetries, and sort links."""
        group = free_group(topology, seed)
        images = images_of_links(topology, group)
        carries = topology.tail != topology.head
        link_at = topology.in_link[carries[topology.in_link]]
        kind = np.unique(images.min(axis=0)[link_at], return_inverse=True)[1].reshape(-1)
        in_ptr = np.searchsorted(topology.head[link_at], np.arange(topology.num_nodes + 1))
        rate = np.ones(int(kind.max(initial=-1)) + 1, np.int64)
        if topology.bandwidth is not None:
            rate[kind] = topology.bandwidth[link_at]
        sources = np.flatnonzero(group.min(axis=0) == np.arange(topology.num_nodes)).astype(np.int32)
        return cls(topology, group, images, sources, in_ptr, link_at, topology.tail[link_at], kind, rate)

    @cached_property
    def weight(self) -> Floats:
        """How much slower each class is than the fastest, nearly."""
        found: Floats = self.rate.max(initial=1) / self.rate
        return found

    @property
    def graph(self) -> tuple[Ids, Ints, Ids, Ints]:
        """What kernels want to know."""
        return self.sources, self.in_ptr, self.tail, self.kind

    def busiest(self, load: Ints | Floats) -> Floats:
        """Return the load of the busiest link of each step, counted as if it were a fastest one."""
        found: Floats = (load * self.weight).max(axis=1)
        return found

    def exactly(self, load: Ints) -> Fraction:
        """Return the sum over steps of the busiest link's load, as ``busiest`` counts it, exactly."""
        rates = self.rate.tolist()
        busiest = (max(Fraction(x, r) for x, r in zip(row, rates, strict=True)) for row in load.tolist())
        total: Fraction = sum(busiest, Fraction(0)) * max(rates)
        return total

    def schedule(self, paths: Paths) -> Schedule:
        """Return the rows of all paths and their images, joined where neighbouring chunks go together."""
        size = int((paths != WAIT).sum()) * len(self.node_image)
        columns = np.empty((4, size), np.int64)
        images = self.node_image, self.link_image
        _fill_rows(paths, self.sources, self.in_ptr, self.tail, self.link_at, *images, columns)
        source, chunk, link, step = columns[:, np.lexsort((columns[1], columns[0], columns[2], columns[3]))]
        new = np.ones(size, np.bool_)
        if size:
            same = (source[1:] == source[:-1]) & (link[1:] == link[:-1]) & (step[1:] == step[:-1])
            new[1:] = ~(same & (chunk[1:] == chunk[:-1] + 1))
        first = np.flatnonzero(new)
        last = np.append(first[1:], size)[: first.size] - 1
        unit = self.topology.num_nodes * (paths.shape[0] // self.sources.size)
        return Schedule.from_columns(
            self.topology, unit, source[first], chunk[first], chunk[last] + 1, link[first], step[first],
            Collective.ALL_TO_ALL,
        )  # fmt: skip
