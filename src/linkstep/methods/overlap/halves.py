"""Arrivals of both halves of an allreduce for a number of steps, each half searched by itself.

Shard v is complete at its node at the end of a step tau(v): what is left of the steps is for its gathering, and those
up to there are for its reduction. Not here: how both share the links (``linkstep.methods.overlap.split``).
"""

from __future__ import annotations

from dataclasses import replace
from math import lcm

import numpy as np

from linkstep.core.topology import Ints, Topology
from linkstep.methods.arrival import SearchLimits, find_arrivals, find_arrivals_from
from linkstep.methods.common.arrivals import Steps
from linkstep.methods.common.network import ArrivalNetwork
from linkstep.methods.overlap.split import Timetable

_FEW_NODES = 150
"""Nodes up to which the odd step is tried in either half: the search of one takes about a second there."""


def transpose_of(topology: Topology) -> Topology:
    """Return the transpose, the topology itself where that looks the same: what is known of it need not be found."""
    return topology if topology.is_bidirectional else topology.transpose()


class Middle:
    """How far the nodes of a topology are from others and others from them, and when shards can be complete."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.network = ArrivalNetwork.of(topology)
        self.transposed = self.network if topology.is_bidirectional else ArrivalNetwork.of(topology.transpose())
        self.before: Ints = self.transposed.dist.max(axis=0).astype(np.int64)
        """The last distance to each node: its shard cannot be complete before."""
        self.beyond: Ints = self.network.dist.max(axis=0).astype(np.int64)

    @property
    def diameter(self) -> int:
        """The largest distance."""
        return self.network.diameter

    @property
    def least_steps(self) -> int:
        """What no allreduce goes below whose shards are complete at their own nodes."""
        return int((self.before + self.beyond).max())

    def complete(self, steps: int, middle: int) -> Ints:
        """Return the step at whose end each shard is complete, as near to ``middle`` as can be."""
        found: Ints = np.clip(middle, self.before, steps - self.beyond)
        return found


def plan_halves(middle: Middle, limits: SearchLimits) -> list[Timetable]:
    """Return plans of two halves of little bandwidth each, for the steps of the limits: one, or the odd step in either.

    With enough steps for one half after the other, they are as ``arrival_allgather`` makes them.
    """
    steps = limits.steps
    assert steps is not None
    at = {steps // 2, steps - steps // 2} if len(middle.before) <= _FEW_NODES else {steps // 2}
    if steps >= 2 * middle.diameter:
        return [_one_after_the_other(middle, limits, steps, m) for m in sorted(at)]
    found = {middle.complete(steps, m).tobytes(): middle.complete(steps, m) for m in sorted(at)}
    return [_overlapping(middle, limits, steps, tau) for tau in found.values()]


def _one_after_the_other(middle: Middle, limits: SearchLimits, steps: int, first: int) -> Timetable:
    reduce = find_arrivals(transpose_of(middle.topology), replace(limits, steps=first))
    gather = find_arrivals(middle.topology, replace(limits, steps=steps - first))
    used = reduce.num_steps + gather.num_steps
    pieces = lcm(reduce.pieces, gather.pieces)
    backwards = _in_pieces(reduce.step + np.int16(gather.num_steps), reduce.pieces, pieces)
    onwards = _in_pieces(gather.step + np.int16(reduce.num_steps), gather.pieces, pieces)
    return Timetable(used, pieces, backwards, onwards)


def _overlapping(middle: Middle, limits: SearchLimits, steps: int, tau: Ints) -> Timetable:
    backwards, a = find_arrivals_from(middle.transposed, limits, steps, steps - tau)
    onwards, b = find_arrivals_from(middle.network, limits, steps, tau)
    pieces = lcm(a, b)
    return Timetable(steps, pieces, _in_pieces(backwards, a, pieces), _in_pieces(onwards, b, pieces))


def _in_pieces(step: Steps, pieces: int, wanted: int) -> Steps:
    """Cut pieces finer: their parts arrive together."""
    finer: Steps = np.repeat(step, wanted // pieces, axis=1).astype(np.int16)
    return finer
