"""Links that differ in latency or bandwidth (sec:heterogeneous): exact times, and schedules on a grid.

A link with latency a and rate b carries (T - a) b by time T, and nothing if T <= a: then it is simply not used, so no
second solve without it is needed. Times are exact Fractions of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.bfb_flow import _least_table_row
from linkstep._kernels.bfb_subsets import _times_by_subsets
from linkstep.core.errors import TopologyError
from linkstep.core.topology import Ints, Topology, check_permanent
from linkstep.core.units import Number, parse_size
from linkstep.methods.bfb.problems import Block, for_each_block, max_steps, representatives
from linkstep.methods.common.arrivals import Arrivals, pieces_of
from linkstep.methods.common.links import Links

MAX_SUBSET_LINKS = 16
_INSTANTS = 256
"""Times that are tried at once, for each step."""
_NS = Fraction(1, 10**9)


@dataclass(frozen=True)
class _Kinds:
    """Links by kind: (latency in seconds, rate in bit/s), and the kind of each link of ``Links``."""

    alpha: list[Fraction]
    rate: list[Fraction]
    link_class: Ints

    @classmethod
    def of(cls, topology: Topology, links: Links) -> _Kinds:
        if topology.alpha is None or topology.bandwidth is None:
            raise TopologyError("times need both link columns: alpha (ns) and bandwidth (bit/s)")
        pairs = np.stack([topology.alpha[links.id], topology.bandwidth[links.id]], axis=1)
        kinds, numbers = np.unique(pairs, axis=0, return_inverse=True)
        alphas = [int(a) * _NS for a in kinds[:, 0].tolist()]
        return cls(alphas, [Fraction(b) for b in kinds[:, 1].tolist()], numbers.reshape(-1).astype(np.int64))

    def finish(self, bits: Fraction, counts: list[int]) -> Fraction:
        """Return when counts[c] links of each kind have together carried ``bits``, starting at once."""
        amount, rate, time = bits, Fraction(0), None
        for c in sorted(range(len(counts)), key=lambda c: self.alpha[c]):
            if not counts[c]:
                continue
            if time is not None and self.alpha[c] >= time:
                break
            amount += counts[c] * self.alpha[c] * self.rate[c]
            rate += counts[c] * self.rate[c]
            time = amount / rate
        assert time is not None
        return time


def bfb_step_times(topology: Topology, size: Number, arrivals: Arrivals | None = None) -> list[Fraction]:
    """Return how long each step of the fastest BFB allgather of ``size`` bytes in all takes, in seconds, exactly.

    With ``arrivals``, of the fastest allgather that has these instead of distances. Every set of links is tried in
    floating point, then the few within one part in 10^9 of the worst are compared exactly: rounding errors are a
    thousand times smaller.
    """
    check_permanent(topology, "BFB")
    links = Links.of(topology)
    most = int(np.diff(links.ptr).max())
    if most > MAX_SUBSET_LINKS:
        raise TopologyError(f"times with latencies take at most {MAX_SUBSET_LINKS} links into a node, not {most}")
    kinds = _Kinds.of(topology, links)
    bits = 8 * parse_size(size) / (topology.num_nodes * pieces_of(arrivals))
    if bits <= 0:
        raise TopologyError("size must be positive")
    alpha, rate = np.array([float(a) for a in kinds.alpha]), np.array([float(b) for b in kinds.rate])
    steps, nodes = max_steps(topology, arrivals), representatives(topology, arrivals)

    def rough(block: Block) -> NDArray[np.float64]:
        best = np.zeros(steps)
        none = np.empty((0, 0), np.int64)
        _times_by_subsets(*block.groups, links.ptr, kinds.link_class, alpha, rate, float(bits), 0.0, best, none)
        return best

    best = np.max(list(for_each_block(topology, nodes, steps, rough, arrivals=arrivals)), axis=0)

    def close(block: Block) -> NDArray[np.int64]:
        size = 1024
        while True:
            found = np.empty((size, 2 + alpha.size), np.int64)
            rows = _times_by_subsets(
                *block.groups, links.ptr, kinds.link_class, alpha, rate, float(bits), 1e-9, best, found
            )
            if rows >= 0:
                return np.unique(found[:rows], axis=0)
            size *= 8

    times = [Fraction(0)] * int((best > 0).sum())
    found = list(for_each_block(topology, nodes, steps, close, arrivals=arrivals))
    for t, jobs, *counts in np.unique(np.concatenate(found), axis=0).tolist():
        times[t] = max(times[t], kinds.finish(jobs * bits, counts))
    return times


def bfb_time(topology: Topology, size: Number) -> Fraction:
    """Return seconds for the fastest BFB allgather of ``size`` bytes where links have their own alpha and bandwidth."""
    return sum(bfb_step_times(topology, size), Fraction(0))


def _on_grid(
    topology: Topology,
    links: Links,
    link_class: Ints,
    alpha: list[Fraction],
    tick: list[Fraction],
    least: list[Fraction],
    chunks: int,
    arrivals: Arrivals | None,
) -> NDArray[np.int64]:
    """Return the capacities in chunks, by step and class, at the least time for which integral flows exist.

    What arrives (a shard, or a piece of one) is ``chunks`` chunks.
    Class c has carried k chunks at alpha[c] + k tick[c] and not before, so the least feasible time is one of these. It
    is at least ``least[t]``, the time with shards cut at will, and at most one tick of the slowest class more: by then
    every link has carried what it carries in the best split, rounded up. Whatever fits at a time fits at every later
    one, so the span is narrowed until few of these times are left.
    """
    kinds = list(zip(alpha, tick, strict=True))
    most = chunks * topology.num_nodes * pieces_of(arrivals)
    nodes, steps = representatives(topology, arrivals), max_steps(topology, arrivals)
    spans = [(time, time + max(tick)) for time in least]
    while True:
        tried = [_instants(kinds, *span) for span in spans]
        tables = [[[_carried(at, a, b, most) for a, b in kinds] for at in times] for times, _ in tried]
        rows = max(map(len, tables))
        table = np.array([t + t[-1:] * (rows - len(t)) for t in tables], np.int64)
        work = partial(_first_rows, links=links, link_class=link_class, chunks=chunks, table=table)
        found = np.max(list(for_each_block(topology, nodes, steps, work, arrivals=arrivals)), axis=0)
        if all(is_all for _, is_all in tried):
            capacities: NDArray[np.int64] = table[np.arange(len(least)), found]
            return capacities
        spans = [
            (times[row - 1] if row else low, times[min(row, len(times) - 1)])
            for (times, _), row, (low, _) in zip(tried, found.tolist(), spans, strict=True)
        ]


def _first_rows(block: Block, *, links: Links, link_class: Ints, chunks: int, table: NDArray[np.int64]) -> Ints:
    """Return for each step the first row of its table that serves all problems of a block."""
    best = np.zeros(len(table), np.int64)
    stuck = _least_table_row(*block.groups, links.ptr, link_class, chunks, table, best)
    assert stuck < 0, f"problem {block.problems[stuck]} does not fit a tick after its least time"
    return best


def _carried(at: Fraction, alpha: Fraction, tick: Fraction, most: int) -> int:
    """Return how many chunks a link has carried by then, at most ``most``."""
    return min(max(0, (at - alpha if alpha else at) // tick), most)


def _instants(kinds: list[tuple[Fraction, Fraction]], low: Fraction, high: Fraction) -> tuple[list[Fraction], bool]:
    """Return the times from ``low`` to ``high`` at which a link has carried one chunk more, and True.

    If there are many, instead some that divide the span evenly, and False: their number does not grow with the ratio of
    the links' rates, and each round of them leaves a small part of the span.
    """
    first = [max(0, ceil((low - a) / b)) for a, b in kinds]
    last = [floor((high - a) / b) for a, b in kinds]
    if sum(max(0, k - i + 1) for i, k in zip(first, last, strict=True)) <= max(_INSTANTS, len(kinds)):
        found = (a + i * b for (a, b), f, e in zip(kinds, first, last, strict=True) for i in range(f, e + 1))
        return sorted({high, *found}), True
    return [low + (high - low) * i / _INSTANTS for i in range(1, _INSTANTS + 1)], False


def grid_capacities(
    topology: Topology, links: Links, chunks: int, size: Fraction, arrivals: Arrivals | None
) -> tuple[Ints, NDArray[np.int64], Ints]:
    """Return (share, capacities by class, class of each link) of the fastest schedule on a grid.

    A shard, or a piece of one where arrivals say so, is ``chunks`` chunks.
    """
    kinds = _Kinds.of(topology, links)
    tick = [8 * size / (topology.num_nodes * pieces_of(arrivals) * chunks) / rate for rate in kinds.rate]
    least = bfb_step_times(topology, size, arrivals)
    piece = _on_grid(topology, links, kinds.link_class, kinds.alpha, tick, least, chunks, arrivals)
    return np.full(len(least), chunks, np.int64), piece, kinds.link_class


def lift_to_grid(
    topology: Topology, links: Links, loads: list[Fraction], chunks: int, arrivals: Arrivals | None
) -> tuple[Ints, NDArray[np.int64], Ints]:
    """As ``grid_capacities`` where links differ in bandwidth only: time is then in pieces a unit of weight."""
    weights, classes = links.classes
    tick = [Fraction(1, chunks * w) for w in weights.tolist()]
    piece = _on_grid(topology, links, classes, [Fraction(0)] * len(tick), tick, loads, chunks, arrivals)
    return np.full(len(loads), chunks, np.int64), piece, classes
