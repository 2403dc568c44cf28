"""The problems (u, t) of a topology, block by block: what the cost and the schedule both start from.

A problem is what reaches node u at step t, and over which links it may come. In BFB t is the distance from the source;
``Arrivals`` say other steps. Not here: how arrivals are chosen (``linkstep.methods.arrival``).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_groups import _problems, _problems_of_arrivals
from linkstep.core.distances import check_connected, distances_from, distances_to
from linkstep.core.errors import TopologyError
from linkstep.core.progress import Progress
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.core.weights import link_weights
from linkstep.symmetry.known import known_representatives

MAX_DEGREE = 64
"""In-links of a node are the bits of one machine word."""

_BLOCK = 1 << 21  # sources a block of nodes holds: some 60 MB
_SMALL = 1 << 17  # link visits that are over before threads have started, or known symmetry is worked out
_SEARCH_SYMMETRY = 10**9  # link visits above which looking for alike nodes pays

PROBLEM = np.dtype(
    [(name, np.int64) for name in ("node", "step", "first_group", "end_group", "first_source", "end_source")]
)
"""The record of a problem (u, t), as ``linkstep._kernels.bfb_groups`` describes it."""

T = TypeVar("T")


@dataclass(frozen=True)
class Links:
    """The in-links of each node without self-loops: those of u are ``ptr[u]:ptr[u + 1]``, local link k the k-th."""

    ptr: Ints
    id: Ids
    weight: Ints
    """Relative bandwidth, integers; all alike where links are."""

    @classmethod
    def of(cls, topology: Topology, width: Fraction | None = None) -> Links:
        """Collect a topology's in-links, refusing degrees and bandwidths that the kernels cannot hold.

        With a ``width`` of hosts, in links of the fastest, weights are such that it is a whole number of them.
        """
        keep = topology.tail[topology.in_link] != topology.head[topology.in_link]
        ids: Ids = topology.in_link[keep]
        ptr = np.zeros(topology.num_nodes + 1, np.int64)
        np.cumsum(np.bincount(topology.head[ids], minlength=topology.num_nodes), out=ptr[1:])
        most = int(np.diff(ptr).max())
        if most > MAX_DEGREE:
            node = int(np.diff(ptr).argmax())
            raise TopologyError(f"BFB takes at most {MAX_DEGREE} links into a node; {topology.called(node)} has {most}")
        weight, _ = link_weights(topology, ids)
        finer = 1 if width is None else width.denominator
        if topology.num_nodes * most * int(weight.max(initial=1)) * finer >= 2**62:
            raise TopologyError("the bandwidths of links have no common measure: round them, to 1Mbps say")
        return cls(ptr, ids, weight * finer)

    @cached_property
    def classes(self) -> tuple[Ints, Ints]:
        """The distinct weights, ascending, and the class of each link."""
        weights, numbers = np.unique(self.weight, return_inverse=True)
        return weights, numbers.astype(np.int64)


@dataclass(frozen=True)
class Arrivals:
    """When shards reach nodes, where that is not at the step of their distance.

    Piece q of the whole is piece ``q % pieces`` of node ``q // pieces``; it reaches node u at step ``step[u, q]``, 0 at
    its own node, over in-links from nodes that it has reached before. No step is without an arrival.
    """

    step: NDArray[np.int16]
    pieces: int = 1
    group: Ids | None = None
    """Automorphisms, the identity first, that act freely and that arrivals look the same under; None: no such are
    known."""

    @property
    def num_steps(self) -> int:
        """The last step at which anything arrives."""
        return int(self.step.max())

    @property
    def counts(self) -> Ints:
        """How many pieces reach each node at each step, from step 0."""
        return np.array([np.bincount(row, minlength=self.num_steps + 1) for row in self.step])


@dataclass(frozen=True)
class Block:
    """The problems of some nodes; the arrays are described in ``linkstep._kernels.bfb_groups``."""

    problems: NDArray[np.void]
    group_mask: NDArray[np.uint64]
    group_count: Ints
    members: Ids
    group_of: Ids

    @property
    def groups(self) -> tuple[NDArray[np.void], NDArray[np.uint64], Ints]:
        """The columns every kernel takes first."""
        return self.problems, self.group_mask, self.group_count


def pieces_of(arrivals: Arrivals | None) -> int:
    """Return how many pieces of a shard have arrivals of their own; 1 in BFB."""
    return 1 if arrivals is None else arrivals.pieces


def max_steps(topology: Topology, arrivals: Arrivals | None = None) -> int:
    """Return a bound on the steps. Of BFB: the diameter where all nodes are alike, at most twice it otherwise."""
    check_connected(topology)
    if arrivals is not None:
        return arrivals.num_steps
    to_first = int(distances_to(topology, 0).max())
    return to_first if topology.vertex_transitive else to_first + int(distances_from(topology, 0).max())


def representatives(topology: Topology, arrivals: Arrivals | None = None) -> Ints:
    """Return nodes that between them look like every node: one if all are alike, orbits where that pays, or all."""
    if arrivals is not None:
        group = arrivals.group
        return np.arange(topology.num_nodes) if group is None else np.unique(group.min(axis=0)).astype(np.int64)
    known = known_representatives(topology)
    if known is not None:
        return known
    if topology.num_nodes * topology.num_links <= _SEARCH_SYMMETRY:
        return np.arange(topology.num_nodes)
    from linkstep.symmetry.search import symmetry_of

    return symmetry_of(topology).representatives


def nodes_to_solve(topology: Topology, arrivals: Arrivals | None = None) -> Ints:
    """Return ``representatives``; or all nodes, where a kernel is done with them before their symmetry is known."""
    few = arrivals is None and topology.num_nodes * topology.num_links <= _SMALL
    if few and not topology.vertex_transitive:
        return np.arange(topology.num_nodes)
    return representatives(topology, arrivals)


def for_each_block(
    topology: Topology,
    nodes: Ints,
    steps: int,
    work: Callable[[Block], T],
    progress: Progress | None = None,
    arrivals: Arrivals | None = None,
) -> Iterator[T]:
    """Yield ``work(block)`` for blocks of nodes in order; all cores work at once (kernels hold no lock) if it pays."""
    sources = topology.num_nodes if arrivals is None else arrivals.step.shape[1]
    share = nodes.size if nodes.size * topology.num_links <= _SMALL else -(-nodes.size // (4 * cores()))
    size = max(1, min(_BLOCK // sources, share))
    pieces = [nodes[i : i + size] for i in range(0, nodes.size, size)]

    def one(piece: Ints) -> T:
        problems = np.empty(piece.size * min(steps, sources), PROBLEM)
        graph = topology.in_ptr, topology.in_tail, piece
        if arrivals is None:
            count, *columns, stuck = _problems(*graph, problems)
            assert stuck < 0, f"node {stuck} is not reached although the topology is connected"
        else:
            count, *columns, stuck = _problems_of_arrivals(*graph, arrivals.step, steps, problems)
            assert stuck < 0, f"node {stuck} is reached before its in-neighbours are"
        return work(Block(problems[:count], *columns))

    def finished() -> Iterator[tuple[int, T]]:
        if len(pieces) == 1:
            yield pieces[0].size, one(pieces[0])
            return
        from concurrent.futures import Future, ThreadPoolExecutor  # 15 ms to import, not needed for one node

        with ThreadPoolExecutor(cores()) as pool:
            pending: deque[tuple[int, Future[T]]] = deque()  # a window, so that results nobody took do not pile up
            for piece in pieces:
                pending.append((piece.size, pool.submit(one, piece)))
                if len(pending) > 2 * cores():
                    count, future = pending.popleft()
                    yield count, future.result()
            for count, future in pending:
                yield count, future.result()

    done = 0
    for count, result in finished():
        yield result
        done += count
        if progress:
            progress(done, nodes.size)


def in_parallel(work: Callable[[T], object], parts: Sequence[T]) -> None:
    """Call a kernel that holds no lock on all parts at once."""
    if len(parts) == 1:
        work(parts[0])
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(parts)) as pool:
        for _ in pool.map(work, parts):
            pass


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
