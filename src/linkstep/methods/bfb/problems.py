"""The problems (u, t) of a topology, block by block: what the cost and the schedule of BFB both start from."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_groups import _problems
from linkstep.core.errors import TopologyError
from linkstep.core.topology import Ids, Ints, Topology, check_connected, distances_from, distances_to

MAX_DEGREE = 64
"""In-links of a node are the bits of one machine word."""

_BLOCK = 1 << 21  # sources a block of nodes holds: some 60 MB
_SEARCH_SYMMETRY = 10**9  # link visits above which looking for alike nodes pays

PROBLEM = np.dtype(
    [(name, np.int64) for name in ("node", "step", "first_group", "end_group", "first_source", "end_source")]
)
"""The record of a problem (u, t), as ``linkstep._kernels.bfb_groups`` describes it."""

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with (nodes done, nodes in all) as work goes on."""


@dataclass(frozen=True)
class Links:
    """The in-links of each node without self-loops: those of u are ``ptr[u]:ptr[u + 1]``, local link k the k-th."""

    ptr: Ints
    id: Ids
    weight: Ints
    """Relative bandwidth, integers without a common factor; all 1 where links are alike."""
    unit: int
    """What one weight is worth in bit/s, or 1 where links are alike."""

    @classmethod
    def of(cls, topology: Topology) -> Links:
        """Collect a topology's in-links, refusing degrees and bandwidths that the kernels cannot hold."""
        keep = topology.tail[topology.in_link] != topology.head[topology.in_link]
        ids: Ids = topology.in_link[keep]
        ptr = np.zeros(topology.num_nodes + 1, np.int64)
        np.cumsum(np.bincount(topology.head[ids], minlength=topology.num_nodes), out=ptr[1:])
        most = int(np.diff(ptr).max())
        if most > MAX_DEGREE:
            node = int(np.diff(ptr).argmax())
            raise TopologyError(f"BFB takes at most {MAX_DEGREE} links into a node; {topology.called(node)} has {most}")
        unit = 1
        weight = np.ones(ids.size, np.int64)
        if topology.bandwidth is not None and ids.size:
            unit = gcd(*topology.bandwidth[ids].tolist())
            weight = topology.bandwidth[ids] // unit
        if topology.num_nodes * most * int(weight.max(initial=1)) >= 2**62:
            raise TopologyError("the bandwidths of links have no common measure: round them, to 1Mbps say")
        return cls(ptr, ids, weight, unit)

    @cached_property
    def classes(self) -> tuple[Ints, Ints]:
        """The distinct weights, ascending, and the class of each link."""
        weights, numbers = np.unique(self.weight, return_inverse=True)
        return weights, numbers.astype(np.int64)


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


def max_steps(topology: Topology) -> int:
    """Return a bound on the diameter: exact where all nodes are alike, at most twice it otherwise."""
    check_connected(topology)
    to_first = int(distances_to(topology, 0).max())
    return to_first if topology.vertex_transitive else to_first + int(distances_from(topology, 0).max())


def representatives(topology: Topology) -> Ints:
    """Return nodes that between them look like every node: one if all are alike, orbits where that pays, or all."""
    if topology.vertex_transitive:
        return np.zeros(1, np.int64)
    if topology.num_nodes * topology.num_links <= _SEARCH_SYMMETRY:
        return np.arange(topology.num_nodes)
    from linkstep.core.symmetry import node_orbits

    return np.unique(node_orbits(topology)).astype(np.int64)


def for_each_block(
    topology: Topology, nodes: Ints, steps: int, work: Callable[[Block], T], progress: Progress | None = None
) -> Iterator[T]:
    """Yield ``work(block)`` for blocks of nodes in order; all cores work at once (kernels hold no lock)."""
    size = max(1, min(_BLOCK // topology.num_nodes, -(-nodes.size // (4 * _cores()))))
    pieces = [nodes[i : i + size] for i in range(0, nodes.size, size)]

    def one(piece: Ints) -> T:
        problems = np.empty(piece.size * min(steps, topology.num_nodes - 1), PROBLEM)
        count, *columns, stuck = _problems(topology.in_ptr, topology.in_tail, piece, problems)
        assert stuck < 0, f"node {stuck} is not reached although the topology is connected"
        return work(Block(problems[:count], *columns))

    def finished() -> Iterator[tuple[int, T]]:
        if len(pieces) == 1:
            yield pieces[0].size, one(pieces[0])
            return
        from concurrent.futures import Future, ThreadPoolExecutor  # 15 ms to import, not needed for one node

        with ThreadPoolExecutor(_cores()) as pool:
            pending: deque[tuple[int, Future[T]]] = deque()  # a window, so that results nobody took do not pile up
            for piece in pieces:
                pending.append((piece.size, pool.submit(one, piece)))
                if len(pending) > 2 * _cores():
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


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
