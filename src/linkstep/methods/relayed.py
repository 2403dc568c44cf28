"""Allgather in two steps where every two nodes are linked and some of them once more: spare links relay for the others.

With d >= N ports every shard may go straight to its destination in one step, which the thinnest bundle bounds: links
beyond it idle for a part of the time. Let all ordered pairs have e links but those of an r-regular graph R, which have
e + 1, so that d = e (N - 1) + r. Cut shards into d cells. At step 1 every link carries one cell of its tail's shard,
the first links of a node different ones; at step 2 N - 2 more. A pair outside R takes e (N - 1) cells of a shard
directly, and one from each of the r nodes before it in R, which got it at step 1 by their own first link; a link of R
has room for just that. So every link carries N - 1 cells of d: T_B is (N-1)/N in two steps. Not here: d < N - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.costs import Cost

MAX_CELLS = 10**7
"""The most cells that all nodes receive together: each may be a row."""

_Row = tuple[int, int, int, int, int]
"""Source, cells from and to, link, step."""


@dataclass(frozen=True, eq=False)
class _Bundles:
    """Links between all ordered pairs: ``each`` or one more; self-loops left out."""

    first: Ints
    """The first link from u to w, by (u, w); the others follow it."""
    each: int
    has_more: Ints
    """Whether a pair has a link more, 0 or 1, by (u, w): the graph R."""
    more: int
    """Links of R out of every node, and into every node: r."""

    @property
    def cells(self) -> int:
        """What shards are cut into: a cell for each port that is in use."""
        return self.each * (len(self.first) - 1) + self.more


def why_not(topology: Topology) -> str | None:
    """Return why links of a topology do not relay for each other, or None if they do.

    >>> why_not(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    'needs a link between every two nodes, both ways'
    """
    size = topology.num_nodes
    if topology.columns:
        return "takes a topology whose links are all alike"
    if topology.num_links < size * (size - 1) or size < 3:
        return "needs a link between every two nodes, both ways" if size > 2 else "needs three nodes or more"
    if size * size * topology.degree > MAX_CELLS:
        return f"cuts shards into {topology.degree} cells: too many for {size} nodes"
    counts = _counts(topology)
    pairs = counts[~np.eye(size, dtype=bool)]
    if not pairs.min():
        return "needs a link between every two nodes, both ways"
    more = (counts > pairs.min()) & ~np.eye(size, dtype=bool)
    if pairs.max() > pairs.min() + 1 or len({*more.sum(axis=0).tolist(), *more.sum(axis=1).tolist()}) > 1:
        return "needs bundles that differ by one link at most, of each width as many at every node"
    return None if more.any() else "has nothing to relay: all bundles are alike, and one step is enough"


def _counts(topology: Topology) -> Ints:
    size = topology.num_nodes
    keys = topology.tail.astype(np.int64) * size + topology.head
    return np.bincount(keys, minlength=size * size).reshape(size, size)


def _bundles(topology: Topology) -> _Bundles:
    reason = why_not(topology)
    if reason is not None:
        raise ScheduleError(f"method relayed {reason}")
    counts = _counts(topology)
    first = (np.cumsum(counts) - counts.ravel()).reshape(counts.shape)
    apart = ~np.eye(topology.num_nodes, dtype=bool)
    each = int(counts[apart].min())
    more = ((counts > each) & apart).astype(np.int64)
    return _Bundles(first, each, more, int(more[0].sum()))


def relayed_cost(topology: Topology) -> Cost:
    """Return what ``relayed_allgather`` costs: (N-1)/N, were no port idle.

    >>> from linkstep.families.bundles import bundle
    >>> print(relayed_cost(bundle(17, 8)))
    2 alpha + 7/8 M/B
    """
    size = topology.num_nodes
    return Cost(2, Fraction((size - 1) * topology.degree, size * _bundles(topology).cells))


def relayed_allgather(topology: Topology) -> Schedule:
    """Return the allgather in which spare links relay.

    >>> from linkstep.families.bundles import bundle
    >>> relayed_allgather(bundle(4, 4)).num_steps
    2
    """
    bundles = _bundles(topology)
    rows = list(_rows(bundles))
    source, lo, hi, link, step = np.array(rows, np.int64).T
    return Schedule.from_columns(topology, bundles.cells, source, lo, hi, link, step)


def _rows(bundles: _Bundles) -> Iterator[_Row]:
    size = len(bundles.first)
    nodes = range(size)
    before = [np.flatnonzero(bundles.has_more[:, v]).tolist() for v in nodes]
    for u in nodes:
        for v in nodes:
            if u == v:
                continue
            width = bundles.each + int(bundles.has_more[u, v])
            now = [_own_cell(u, v, size), *range(size - 1, size - 2 + width)]
            for copy, cell in enumerate(now):
                yield u, cell, cell + 1, int(bundles.first[u, v]) + copy, 1
            sent = {*now} if bundles.has_more[u, v] else {*now, *(_own_cell(u, w, size) for w in before[v])}
            items = [(u, cell) for cell in range(bundles.cells) if cell not in sent]
            if bundles.has_more[u, v]:
                others = (i for i in nodes if i != v and not bundles.has_more[i, v])
                items += [(i, _own_cell(i, u, size)) for i in others]
            for at, (source, cell) in enumerate(items):
                yield source, cell, cell + 1, int(bundles.first[u, v]) + at // (size - 2), 2


def _own_cell(source: int, node: int, size: int) -> int:
    """Return the cell that a node gets at step 1 by its first link from the source: no two nodes get the same one."""
    return (node - source) % size - 1
