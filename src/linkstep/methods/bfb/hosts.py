"""Hosts whose ports share a limit: what they receive, and what they send, are one more set of links in the flow.

What a host receives at a step is known from the arrivals alone. What it sends depends on which of its neighbours serve
whom, so the problems of a step hang together: one flow goes from what is to arrive, over links, through the ports of
the hosts that send. The least load at which it fits is found by Newton's method on cuts, in whole numbers. Where all
nodes are alike the best flow can be made alike, everybody then sends as much as it receives, and no flow is needed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.cuts import _arcs, _max_flow
from linkstep.core.errors import TopologyError
from linkstep.core.topology import Ints, Topology
from linkstep.methods.bfb.problems import Block, for_each_block, max_steps
from linkstep.methods.common.arrivals import Arrivals
from linkstep.methods.common.links import Links

_WHOLE = 2**61


@dataclass(frozen=True)
class Bottleneck:
    """Why a step takes so long: ``jobs`` pieces can come only over some links, or by way of some hosts' ports."""

    load: Fraction
    """In pieces a unit of weight."""
    jobs: int
    node: int
    links: tuple[int, ...] = ()
    senders: tuple[int, ...] = ()
    receivers: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Jobs:
    """What is to arrive at one step: groups of pieces that may come over the same links, numbered as in ``Links``."""

    node: Ints
    count: Ints
    group: Ints
    """Pairs of a group and a link that may bring it."""
    link: Ints


class HostFlows:
    """The flows of all steps on a topology whose hosts keep ``width`` of the fastest links busy at most, each way."""

    def __init__(self, topology: Topology, links: Links, width: Fraction, arrivals: Arrivals | None) -> None:
        self.topology, self.links, self.width, self.arrivals = topology, links, width, arrivals
        self.limit = width * int(links.weight.max())
        """What a host lets through, in units of weight."""

    @cached_property
    def steps(self) -> list[_Jobs]:
        """What is to arrive at each step, at all nodes."""
        topology, links = self.topology, self.links
        steps = max_steps(topology, self.arrivals)
        nodes = np.arange(topology.num_nodes)
        blocks = list(for_each_block(topology, nodes, steps, _groups_of, arrivals=self.arrivals))
        node, step, mask, count = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
        found = []
        for number in range(1, int(step.max(initial=0)) + 1):
            rows = np.flatnonzero(step == number)
            pairs = [_pairs(mask[rows], k) for k in range(int(np.diff(links.ptr).max()))]
            group = np.concatenate([rows_of for rows_of, _ in pairs])
            local = np.concatenate([place for _, place in pairs])
            at = links.ptr[node[rows][group]] + local
            found.append(_Jobs(node[rows].astype(np.int64), count[rows].astype(np.int64), group, at))
        return found

    def received(self, step: int) -> Bottleneck:
        """Return the host that receives the most at a step, counted from 0, and what its ports make of it."""
        jobs = self.steps[step]
        total = np.bincount(jobs.node, weights=jobs.count, minlength=self.topology.num_nodes).astype(np.int64)
        node = int(total.argmax())
        return Bottleneck(total[node].item() / self.limit, int(total[node]), node, receivers=(node,))

    def least(self, step: int, best: Bottleneck) -> Bottleneck:
        """Raise a load, until everything fits through the links and the ports of those that send."""
        while True:
            cut = self._flow(step, best.load)[1]
            if cut is None:
                return best
            best = cut

    def link_loads(self, step: int, share: int, load: Fraction) -> Ints | None:
        """Return how many parts each link carries, if a piece is ``share`` parts and links take whole ones.

        Links and hosts carry what fits in a time of ``load``; None if not everything does.
        """
        return self._flow(step, load, share)[0]

    def grid_load(self, step: int, load: Fraction, chunks: int) -> Fraction:
        """Return the least load, from this one on, at which everything fits in whole chunks.

        A link or a host has room for one chunk more at the multiples of what a chunk takes there. Rounding up what they
        carry at ``load`` takes at most a chunk more on each link, so that all fits when hosts have room for these.
        """
        weights = [Fraction(w) for w in np.unique(self.links.weight).tolist()]
        most = int(np.bincount(self.topology.tail[self.links.id]).max())
        top = load + 1 / (chunks * min(weights)) + most / (chunks * self.limit)
        ticks = [1 / (chunks * rate) for rate in (*weights, self.limit)]
        tried = sorted({top, *(k * tick for tick in ticks for k in range(ceil(load / tick), floor(top / tick) + 1))})
        return tried[bisect_left(tried, True, key=lambda at: self.link_loads(step, chunks, at) is not None)]

    def _flow(self, step: int, load: Fraction, share: int | None = None) -> tuple[Ints | None, Bottleneck | None]:
        """Return what links carry at a load, or the cut that is in the way; with ``share``, in whole parts."""
        jobs, links = self.steps[step], self.links
        used, at = np.unique(jobs.link, return_inverse=True)
        hosts, owner = np.unique(self.topology.tail[links.id[used]], return_inverse=True)
        unit = lcm(load.denominator, (load * self.limit).denominator) if share is None else share
        room = [floor(load * unit * w) for w in links.weight[used].tolist()]
        ports = floor(load * unit * self.limit)
        need = unit * int(jobs.count.sum())
        if max(need, ports, *room) >= _WHOLE:
            raise TopologyError("the rates of links and hosts have no common measure: round them, to 1Mbps say")
        groups, middle = jobs.count.size, jobs.count.size + used.size
        sink = middle + hosts.size
        tail = np.concatenate([jobs.group, np.arange(groups, middle), np.arange(middle, sink)])
        head = np.concatenate([groups + at.reshape(-1), middle + owner.reshape(-1), np.full(hosts.size, sink)])
        ptr, node, twin, place = _arcs(sink + 1, tail, head)
        left = np.zeros(node.size, np.int64)
        left[place] = np.concatenate([np.full(jobs.group.size, need + 1), room, np.full(hosts.size, ports)])
        supply = np.zeros(sink + 1, np.int64)
        supply[:groups] = unit * jobs.count
        level = np.full(sink + 1, -1, np.int64)
        queue, next_arc, path = (np.empty(sink + 1, np.int64) for _ in range(3))
        sent, rest = _max_flow(ptr, node, twin, left, supply, sink, need, level, queue, next_arc, path)
        if sent == need:
            carried = np.zeros(links.id.size, np.int64)
            carried[used] = left[twin[place[jobs.group.size : jobs.group.size + used.size]]]
            return carried, None
        stuck = np.ones(sink + 1, bool)
        stuck[queue[:rest]] = False
        alone = stuck[groups:middle] & ~stuck[middle + owner.reshape(-1)]
        count = int(jobs.count[stuck[:groups]].sum())
        senders = hosts[stuck[middle:sink]]
        least = count / (int(links.weight[used][alone].sum()) + self.limit * senders.size)
        return None, Bottleneck(
            least, count, int(jobs.node[stuck[:groups]][0]),
            tuple(sorted(links.id[used][alone].tolist())), tuple(senders.tolist()),
        )  # fmt: skip


def _groups_of(block: Block) -> tuple[NDArray[Any], ...]:
    """Return (node, step, mask, count) of every group of a block."""
    size = (block.problems["end_group"] - block.problems["first_group"]).astype(np.int64)
    begin = np.repeat(block.problems["first_group"] - np.cumsum(size) + size, size)
    group = begin + np.arange(int(size.sum()))
    node, step = (np.repeat(block.problems[what], size) for what in ("node", "step"))
    return node, step, block.group_mask[group], block.group_count[group]


def _pairs(mask: NDArray[np.uint64], bit: int) -> tuple[Ints, Ints]:
    """Return the groups that may come over this local link, and it beside each."""
    groups = np.flatnonzero(mask >> np.uint64(bit) & np.uint64(1)).astype(np.int64)
    return groups, np.full(groups.size, bit, np.int64)


def all_send_alike(topology: Topology, arrivals: Arrivals | None) -> bool:
    """Whether everybody can send as much as it receives at every step: where any node is taken to any other."""
    if arrivals is None:
        return topology.vertex_transitive
    return arrivals.group is not None and len(arrivals.group) == topology.num_nodes


def share_of(load: Fraction, links: Links, limit: Fraction) -> int:
    """Return how many parts a piece must have for links and hosts to carry whole ones of them."""
    rates = [Fraction(w) for w in np.unique(links.weight).tolist()]
    return lcm(*((load * rate).denominator for rate in (*rates, limit)))
