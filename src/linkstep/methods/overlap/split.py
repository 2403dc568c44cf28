"""Both halves of an allreduce over the links at once: what each step takes at least, and rows that take no more.

Given when pieces reach nodes in either half, what a node receives in the gathering at a step may come over some of its
in-links, and what it sends in the reduction may go over some of its out-links. A link serves both, so the loads of a
step are one transportation problem over all links. Its least load is a ratio of whole numbers, found by Newton's method
with maximum flows, and a flow in whole numbers at that ratio says which chunks go where. Not here: how arrivals are
chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, lcm

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.cuts import _arcs, _max_flow
from linkstep.core.collective import Collective
from linkstep.core.errors import ScheduleError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints, Topology
from linkstep.costs import Cost
from linkstep.methods.common.arrivals import Steps
from linkstep.methods.common.links import Links

MAX_UNIT = 2**31
_MANY_PIECES = 2**10
"""More than a shard is ever cut into, and both halves: flows of 64 bits must hold what all pieces take."""
_FINE = 5040
"""Parts of a piece where the least loads of all steps have no common measure below ``MAX_UNIT``."""


@dataclass(frozen=True)
class Wiring:
    """The links of a topology as either half sees them: those that bring a node what it lacks."""

    topology: Topology
    weight: Ints
    """Relative bandwidth of each link; that of self-loops is 0, nothing goes over them."""

    @classmethod
    def of(cls, topology: Topology) -> Wiring:
        """Collect the links, refusing degrees and bandwidths that flows cannot hold."""
        Links.of(topology.transpose())
        links = Links.of(topology)
        weight = np.zeros(topology.num_links, np.int64)
        weight[links.id] = links.weight
        if topology.num_nodes**2 * _MANY_PIECES * sum(weight.tolist()) >= 2**62:
            raise TopologyError("the bandwidths of links have no common measure: round them, to 1Mbps say")
        return cls(topology, weight)

    @property
    def fastest(self) -> int:
        """The largest weight."""
        return int(self.weight.max(initial=1))

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """How links serve the reduction, from their heads to their tails backwards in time, and the gathering."""
        head, tail = self.topology.head, self.topology.tail
        return Side.of(tail, head, self.topology.num_nodes), Side.of(head, tail, self.topology.num_nodes)


@dataclass(frozen=True)
class Side:
    """The links at each node in one half: row u of ``link`` lists them, ``other`` the nodes at their other ends."""

    link: Ints
    other: Ints
    count: Ints

    @classmethod
    def of(cls, at: NDArray[np.int32], other: NDArray[np.int32], num_nodes: int) -> Side:
        """List links by node, self-loops left out."""
        kept = np.flatnonzero(at != other)
        ids = kept[np.argsort(at[kept], kind="stable")]
        count = np.bincount(at[ids], minlength=num_nodes)
        place = np.arange(ids.size) - np.repeat(np.cumsum(count) - count, count)
        table = np.zeros((num_nodes, int(count.max(initial=1))), np.int64)
        far = table.copy()
        table[at[ids], place] = ids
        far[at[ids], place] = other[ids]
        return cls(table, far, count)

    def masks(self, step: Steps) -> NDArray[np.uint64]:
        """Return which links may bring each piece to each node: those from nodes that have it before."""
        mask = np.zeros(step.shape, np.uint64)
        for k in range(self.link.shape[1]):
            has = (step[self.other[:, k]] < step) & (k < self.count)[:, np.newaxis]
            mask |= has.astype(np.uint64) << np.uint64(k)
        return mask


@dataclass(frozen=True)
class Timetable:
    """When pieces reach nodes in both halves of an allreduce.

    Piece q is piece ``q % pieces`` of node v = ``q // pieces``, complete there at the end of step ``gather[v, q]``; it
    reaches node u at step ``gather[u, q]``. Node u adds its part of it to that of another node at step
    ``steps + 1 - reduce[u, q]``: reductions are arrivals on the transpose, backwards, and
    ``reduce[v, q] = steps - gather[v, q]``.
    """

    steps: int
    pieces: int
    reduce: Steps
    gather: Steps

    @property
    def halves(self) -> tuple[Steps, Steps]:
        """The reduction and the gathering."""
        return self.reduce, self.gather

    @property
    def owner(self) -> Ints:
        """The node of each piece."""
        return np.arange(self.gather.shape[1]) // self.pieces


@dataclass(frozen=True)
class Groups:
    """What goes at one step: groups of pieces that the same links of a node may carry in one half, in a row."""

    step: int
    source: Ints
    """The pieces, group by group."""
    count: Ints
    half: Ints
    """0 for groups that are reduced, 1 for those that are gathered."""
    arc_group: Ints
    """Arc a says that group ``arc_group[a]`` may go over link ``arc_link[a]``; sorted by group."""
    arc_link: Ints


def groups_of(wiring: Wiring, plan: Timetable) -> Iterator[Groups]:
    """Yield what each step carries; steps that carry nothing are left out."""
    columns: list[list[NDArray[np.int64]]] = []
    masks: list[NDArray[np.uint64]] = []
    for half, (side, step) in enumerate(zip(wiring.sides, plan.halves, strict=True)):
        node, piece = np.nonzero(plan.owner[np.newaxis, :] != np.arange(len(step))[:, np.newaxis])
        at = step[node, piece].astype(np.int64)
        columns.append([at if half else plan.steps + 1 - at, np.full(node.size, half), node, piece])
        masks.append(side.masks(step)[node, piece])
    at, half_of, node, piece = (np.concatenate(column) for column in zip(*columns, strict=True))
    mask = np.concatenate(masks)
    order = np.lexsort((piece, mask, node, half_of, at))
    at, half_of, node, piece = (column[order] for column in (at, half_of, node, piece))
    mask = mask[order]
    new = np.ones(at.size, bool)
    new[1:] = (np.diff(at) != 0) | (np.diff(half_of) != 0) | (np.diff(node) != 0) | (mask[1:] != mask[:-1])
    first = np.flatnonzero(new)
    count = np.diff(first, append=at.size)
    group, link = _arcs_of(wiring, half_of[first], node[first], mask[first])
    for s in np.unique(at).tolist():
        a, b = np.searchsorted(at[first], [s, s + 1])
        c, d = np.searchsorted(group, [a, b])
        items = slice(int(first[a]), int(first[a] + count[a:b].sum()))
        yield Groups(s, piece[items], count[a:b], half_of[first[a:b]], group[c:d] - a, link[c:d])


def _arcs_of(wiring: Wiring, half: Ints, node: Ints, mask: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Return (group, link) for every link that may carry a group, sorted by group."""
    groups, links = [], []
    for number, side in enumerate(wiring.sides):
        for k in range(side.link.shape[1]):
            found = np.flatnonzero((half == number) & (mask >> np.uint64(k) & np.uint64(1)).astype(bool))
            groups.append(found)
            links.append(side.link[node[found], k])
    group, link = np.concatenate(groups), np.concatenate(links)
    order = np.lexsort((link, group))
    return group[order], link[order]


class TransportationProblem:
    """The transportation problem of one step: groups go over links that may carry them."""

    def __init__(self, wiring: Wiring, groups: Groups) -> None:
        self.groups = groups
        self.num_groups = groups.count.size
        self.links, self.place = np.unique(groups.arc_link, return_inverse=True)
        self.weight = wiring.weight[self.links]
        self.sink = self.num_groups + self.links.size
        ends = np.arange(self.links.size) + self.num_groups
        tail = np.concatenate([groups.arc_group, ends])
        head = np.concatenate([self.place.reshape(-1) + self.num_groups, np.full(ends.size, self.sink)])
        self.graph = _arcs(self.sink + 1, tail, head)

    def flow(self, share: int, capacity: Ints) -> tuple[Ints, NDArray[np.bool_] | None]:
        """Send ``share`` parts of every piece over links of these capacities; return what each arc carries.

        If not all fits, return also the groups that have too few links between them.
        """
        ptr, node, twin, place = self.graph
        arcs = self.groups.arc_link.size
        left = np.zeros(node.size, np.int64)
        left[place[:arcs]] = share * self.groups.count[self.groups.arc_group] + 1  # never full: no limit of its own
        left[place[arcs:]] = capacity
        supply = np.zeros(self.sink + 1, np.int64)
        supply[: self.num_groups] = share * self.groups.count
        need = int(supply.sum())
        level = np.full(self.sink + 1, -1, np.int64)
        queue, at, path = (np.zeros(self.sink + 1, np.int64) for _ in range(3))
        sent, rest = _max_flow(ptr, node, twin, left, supply, self.sink, need, level, queue, at, path)
        carried: Ints = left[twin[place[:arcs]]]
        if sent == need:
            return carried, None
        beyond = np.ones(self.sink + 1, bool)
        beyond[queue[:rest]] = False
        return carried, beyond[: self.num_groups]

    def least_load(self) -> Fraction:
        """Return the least time, in pieces a unit of weight, in which all links together carry all groups."""
        arc_weight = self.weight[self.place.reshape(-1)]
        alone = np.bincount(self.groups.arc_group, arc_weight, self.num_groups).astype(np.int64)
        worst = int(np.argmax(self.groups.count / alone))
        load = Fraction(int(self.groups.count[worst]), int(alone[worst]))
        while True:
            _, beyond = self.flow(load.denominator, load.numerator * self.weight)
            if beyond is None:
                return load
            links = np.unique(self.place.reshape(-1)[beyond[self.groups.arc_group]])
            found = Fraction(int(self.groups.count[beyond].sum()), int(self.weight[links].sum()))
            assert found > load, "a flow that fails names groups whose links are too few"
            load = found

    def least_on_grid(self, least: Fraction, parts: int) -> Fraction:
        """Return the least time in which links carry whole parts, ``parts`` a piece; it is at least ``least``."""
        load = least
        while True:
            _, beyond = self.flow(parts, self.capacity(load, parts))
            if beyond is None:
                return load
            load = min(Fraction(floor(load * parts * w) + 1, parts * w) for w in np.unique(self.weight).tolist())

    def capacity(self, load: Fraction, parts: int) -> Ints:
        """Return how many parts links carry within a time."""
        return self.weight * parts * load.numerator // load.denominator


def cost_of_loads(wiring: Wiring, loads: list[Fraction]) -> Cost:
    """Return the cost of steps of these loads."""
    topology = wiring.topology
    total = sum(loads, Fraction(0)) * wiring.fastest
    return Cost(len(loads), total * topology.degree / topology.num_nodes)


def build(wiring: Wiring, plan: Timetable, chunks: int | None = None) -> Schedule:
    """Return the allreduce with these arrivals that takes the least bandwidth, or the least in ``chunks`` a shard.

    Steps that carry nothing are left out.
    """
    topology = wiring.topology
    if chunks is not None and chunks % plan.pieces:
        raise ScheduleError(f"{plan.pieces} pieces of a shard go apart: chunks must be a multiple, not {chunks}")
    steps = [TransportationProblem(wiring, groups) for groups in groups_of(wiring, plan)]
    loads = [step.least_load() for step in steps]
    parts = lcm(*(load.denominator for load in loads)) if chunks is None else chunks // plan.pieces
    if chunks is None and parts * plan.pieces > MAX_UNIT:
        parts = chunks = _FINE
    if chunks is not None:
        loads = [step.least_on_grid(load, parts) for step, load in zip(steps, loads, strict=True)]
    columns = [
        _rows(step, number, load, parts, plan.pieces, exact=chunks is None)
        for number, (step, load) in enumerate(zip(steps, loads, strict=True), 1)
    ]
    source, lo, hi, link, at = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Schedule.from_columns(topology, parts * plan.pieces, source, lo, hi, link, at, Collective.ALLREDUCE)


def _rows(
    step: TransportationProblem, number: int, load: Fraction, parts: int, pieces: int, *, exact: bool
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return the rows of a step: pieces of a group stand in a line that its links take one after the other."""
    share = load.denominator if exact else parts
    carried, beyond = step.flow(share, step.capacity(load, share))
    assert beyond is None, f"step {number} does not fit although its load is feasible"
    groups = step.groups
    ends = np.cumsum(carried)
    cuts = np.unique(np.concatenate([ends, np.arange(groups.source.size + 1) * share]))
    begin, end = cuts[:-1], cuts[1:]
    item = begin // share
    piece = groups.source[item]
    scale = parts // share
    shift = piece % pieces * parts - item * share * scale
    link = groups.arc_link[np.searchsorted(ends, begin, side="right")]
    return piece // pieces, begin * scale + shift, end * scale + shift, link, np.full(link.size, number)
