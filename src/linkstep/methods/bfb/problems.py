"""The problems (u, t) of a topology, block by block: what the cost and the schedule both start from.

A problem is what reaches node u at step t, and over which links it may come. In BFB t is the distance from the source;
``Arrivals`` say other steps. Not here: how arrivals are chosen (``linkstep.methods.arrival``).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_groups import _problems, _problems_of_arrivals
from linkstep.core.distances import check_connected, distances_from, distances_to
from linkstep.core.progress import Progress
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.methods.common.arrivals import Arrivals
from linkstep.symmetry.known import known_representatives

_BLOCK = 1 << 21  # sources a block of nodes holds: some 60 MB
_SMALL = 1 << 17  # link visits that are over before threads have started, or known symmetry is worked out
_SEARCH_SYMMETRY = 10**9  # link visits above which looking for alike nodes pays

PROBLEM = np.dtype(
    [(name, np.int64) for name in ("node", "step", "first_group", "end_group", "first_source", "end_source")]
)
"""The record of a problem (u, t), as ``linkstep._kernels.bfb_groups`` describes it."""

T = TypeVar("T")


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
