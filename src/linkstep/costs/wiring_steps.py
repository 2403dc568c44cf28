"""What no allgather in a given number of steps beats on a given wiring: a flow bound, proven by a few cuts in time.

Unrolled in time, a node y must get a unit of flow from every other node; link e carries c_s rate(e) at step s. The
least sum of c_1, ..., c_T that lets it is a bound on the shard times of any schedule in T steps, for every y, and for
several that share the c_s. By duality a few *cuts in time* prove it: each says from which step on a node is inside, and
what is inside at the start must leave by links that lead out. Cuts are found one by one, each by a flow that fails, and
weighted by an exact simplex method; ``check_step_bound`` adds them up again. Not here: the bound for any number of
steps (``costs.wiring``), nor the least cost of a schedule, which may be higher.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import mul

import numpy as np

from linkstep._kernels.cuts import _arcs, _max_flow
from linkstep.core.arguments import check_integer, check_kind
from linkstep.core.collective import Collective
from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.notebook import html_table
from linkstep.core.topology import Ints, Topology, check_permanent
from linkstep.costs.cost import Cost
from linkstep.costs.wiring import Wires, wiring_bound

MANY_SINKS = 10**7
"""Up to this many arcs in time, over all nodes, flows to every node are tried; above, to few."""
FEW_SINKS = 16
_WHOLE = 2**61
"""Flows stay below this."""


@dataclass(frozen=True)
class TimeCut:
    """Node v is inside from the end of step ``since[v]`` on: 0 is from the start, and T + 1 never.

    Nodes inside from the start hold their shards there. ``sink`` is never inside and needs all of these, which leave by
    links from a node inside before a step to one not inside after it. ``weight`` is the cut's part in the proof.
    """

    sink: int
    since: tuple[int, ...]
    weight: Fraction


@dataclass(frozen=True)
class StepBound:
    """The least T_B of an allgather, or a reduce-scatter, in a number of steps, and the cuts in time that prove it.

    The cuts of a reduce-scatter are those of an allgather on the transpose. ``loads`` are shard times of the steps that
    add up to the bound, those of a reduce-scatter in the order of the allgather on the transpose. ``sinks`` are the
    nodes whose flows were looked at; where it ``is_highest``, the loads let all shards flow to any node, so that no
    flows, to whichever nodes, give a higher bound.

    >>> from linkstep import step_bound
    >>> step_bound("K_{2,2}", 2)
    <StepBound of allgather on <Topology 'K_{2,2}' N=4 d=2 links=8>: 2 alpha + 3/4 M/B>
    """

    topology: Topology
    collective: Collective
    cost: Cost
    cuts: tuple[TimeCut, ...]
    sinks: tuple[int, ...]
    loads: tuple[Fraction, ...]
    is_highest: bool

    def __repr__(self) -> str:
        return f"<StepBound of {self.collective} on {self.topology!r}: {self.cost}>"

    def _wiring_(self) -> Topology:
        return self.topology

    def _repr_html_(self) -> str:
        fields = [("steps", self.cost.steps), ("T_B at least, in M/B", self.cost.bandwidth), ("cuts", len(self.cuts))]
        return html_table(f"{self.collective} on {self.topology.name or 'a topology'}", fields)


def step_bound(topology: WiringLike, steps: int, collective: Collective | str = Collective.ALLGATHER) -> StepBound:
    """Return what no allgather (or reduce-scatter) in at most ``steps`` steps goes below on a topology, with a proof.

    It is never below ``wiring_bound``, and comes as near to it as one likes as steps become many.

    >>> ring = Topology.from_links(4, [0, 1, 2, 3, 0, 1, 2, 3], [1, 2, 3, 0, 3, 0, 1, 2])
    >>> step_bound(ring, 2).cost
    Cost(steps=2, bandwidth=Fraction(3, 4))
    """
    topology = as_topology(topology)
    wanted = Collective(check_kind("collective", collective, str))
    steps = check_integer("steps", steps)
    if wanted not in (Collective.ALLGATHER, Collective.REDUCE_SCATTER):
        raise LinkstepError(f"steps bound an allgather or a reduce-scatter, not {wanted}")
    check_permanent(topology, "the bound of steps")
    check_connected(topology)
    least = wiring_bound(topology, wanted)
    if steps < least.cost.steps:
        raise LinkstepError(f"steps must be at least the diameter, {least.cost.steps}, not {steps}")
    if topology.num_nodes == 1:
        return StepBound(topology, wanted, Cost(steps, Fraction(0)), (), (), (Fraction(0),) * steps, True)
    oriented = topology if wanted is Collective.ALLGATHER else topology.transpose()
    sinks = _sinks(oriented, steps)
    search = _Search(oriented, steps)
    search.start(least.nodes)
    search.run(sinks)
    cuts = tuple(TimeCut(sink, since, weight) for (sink, since), weight in search.weighted())
    loads = search.loads()
    bandwidth = sum(loads, Fraction(0)) * topology.degree / topology.num_nodes
    complete = not search.is_rounded and (topology.vertex_transitive or sinks.size == topology.num_nodes)
    bound = StepBound(topology, wanted, Cost(steps, bandwidth), cuts, tuple(sinks.tolist()), loads, complete)
    check_step_bound(bound)
    return bound


def _sinks(topology: Topology, steps: int) -> Ints:
    """Return nodes to try flows to, those with the least capacity into them first: all, or the first few of many."""
    if topology.vertex_transitive:
        return np.zeros(1, np.int64)
    wires, n = Wires.of(topology), topology.num_nodes
    into = np.zeros(n, np.int64)
    np.add.at(into, wires.head, wires.weight)
    order = np.argsort(into, kind="stable").astype(np.int64)
    return order if n * steps * topology.num_links <= MANY_SINKS else order[:FEW_SINKS]


class _Search:
    """Generates cuts in time until none is violated by the c_s that the cuts so far allow."""

    def __init__(self, topology: Topology, steps: int) -> None:
        self.topology, self.steps = topology, steps
        self.wires, n = Wires.of(topology), topology.num_nodes
        links, layers = self.wires.tail.size, np.arange(steps)[:, None] * n
        tail = np.concatenate([(layers + self.wires.tail).ravel(), np.arange(steps * n)])
        head = np.concatenate([(layers + n + self.wires.head).ravel(), np.arange(n, (steps + 1) * n)])
        self.num_nodes = (steps + 1) * n
        self.ptr, self.node, self.twin, place = _arcs(self.num_nodes, tail, head)
        self.sending, self.holding = place[: steps * links], place[steps * links :]
        self.weight = np.tile(self.wires.weight, steps)
        self.cuts: list[tuple[int, tuple[int, ...]]] = []
        self.program = _Program(steps)
        self.is_rounded = False

    def start(self, inside: tuple[int, ...]) -> None:
        """Begin with the cut of the wiring bound, which stands all the time."""
        within = set(inside)
        outside = next(v for v in range(self.topology.num_nodes) if v not in within)
        self._add(outside, tuple(0 if v in within else self.steps + 1 for v in range(self.topology.num_nodes)))

    def run(self, sinks: Ints) -> None:
        """Try sinks in turn; one whose cut was violated is tried again."""
        quiet, at = 0, 0
        while quiet < sinks.size:
            found = self._violated(int(sinks[at]))
            quiet = 0 if found else quiet + 1
            if found:
                self._add(int(sinks[at]), found)
            else:
                at = (at + 1) % sinks.size

    def loads(self) -> tuple[Fraction, ...]:
        """Return the c_s in shard times of the fastest link."""
        return tuple(price * self.wires.fastest for price in self.program.prices())

    def weighted(self) -> list[tuple[tuple[int, tuple[int, ...]], Fraction]]:
        """Return the cuts that count, with weights for capacities in parts of the fastest link's."""
        return [(self.cuts[i], weight * self.wires.fastest) for i, weight in self.program.weights()]

    def _add(self, sink: int, since: tuple[int, ...]) -> None:
        shards, capacity = _measure(self.wires, since, self.steps)
        self.cuts.append((sink, since))
        self.is_rounded = False
        self.program.add(capacity, shards)

    def _violated(self, sink: int) -> tuple[int, ...] | None:
        """Return a cut that asks for more than the present c_s, or None.

        Where exact capacities do not fit in 64 bits they are rounded down, and a cut that is violated only by that is
        none: the bound still holds, but may not be the highest.
        """
        prices = self.program.prices()
        n, steps = self.topology.num_nodes, self.steps
        unit = lcm(*(price.denominator for price in prices))
        highest = max(prices) * self.wires.fastest + 2 * n  # of any arc, with what its twin may give back
        if unit * highest >= _WHOLE:
            unit = int(_WHOLE / highest)
        level_caps = np.array([int(price * unit) for price in prices], np.int64)
        left = np.zeros(self.node.size, np.int64)
        left[self.sending] = np.repeat(level_caps, self.wires.tail.size) * self.weight
        left[self.holding] = unit * n
        supply = np.zeros(self.num_nodes, np.int64)
        supply[:n] = unit
        supply[sink] = 0
        level = np.full(self.num_nodes, -1, np.int64)
        queue, at, path = (np.empty(self.num_nodes, np.int64) for _ in range(3))
        target, need = steps * n + sink, unit * (n - 1)
        sent, rest = _max_flow(
            self.ptr, self.node, self.twin, left, supply, target, need, level, queue, at, path
        )  # fmt: skip
        if sent == need:
            return None
        inside = np.ones(self.num_nodes, bool)
        inside[queue[:rest]] = False
        since = tuple((steps + 1 - inside.reshape(steps + 1, n).sum(axis=0)).tolist())
        shards, capacity = _measure(self.wires, since, steps)
        short = sum((price * amount for price, amount in zip(prices, capacity, strict=True)), Fraction(0)) < shards
        self.is_rounded = self.is_rounded or not short
        return since if short else None


def _measure(wires: Wires, since: tuple[int, ...], steps: int) -> tuple[int, list[int]]:
    """Return how many shards a cut in time holds and the capacity out of it at each step."""
    begin = np.array(since)
    first, last = begin[wires.tail] + 1, begin[wires.head] - 1  # link e leads out at steps first..last
    change = np.zeros(steps + 2, np.int64)
    leads = first <= last
    np.add.at(change, first[leads], wires.weight[leads])
    np.add.at(change, last[leads] + 1, -wires.weight[leads])
    return int((begin == 0).sum()), np.cumsum(change)[1 : steps + 1].tolist()


class _Program:
    """Least sum of prices c >= 0 with capacity_i . c >= shards_i for rows added one by one, in exact arithmetic.

    Solved as its dual, most sum of shards_i y_i with sum over i of capacity_i y_i <= 1 at each step, by the revised
    simplex method with Bland's rule: a new row is a new column there, and what was found stays feasible.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.rows: list[tuple[list[int], int]] = []
        self.basis = [-1 - s for s in range(steps)]  # column i >= 0 is row i; -1 - s is the slack of step s
        self.inverse = [[Fraction(int(r == s)) for s in range(steps)] for r in range(steps)]

    def add(self, capacity: list[int], shards: int) -> None:
        """Add a row and solve again."""
        self.rows.append((capacity, shards))
        while self._pivot():
            pass

    def prices(self) -> list[Fraction]:
        """Return c."""
        worth = [self.rows[j][1] if j >= 0 else 0 for j in self.basis]
        return [
            sum((w * row[s] for w, row in zip(worth, self.inverse, strict=True) if w), Fraction(0))
            for s in range(self.steps)
        ]

    def weights(self) -> list[tuple[int, Fraction]]:
        """Return the rows with positive y, and y."""
        found = [(j, sum(row, Fraction(0))) for j, row in zip(self.basis, self.inverse, strict=True) if j >= 0]
        return sorted((j, y) for j, y in found if y)

    def _entering(self) -> int | None:
        """Return the first column, by ``_order``, that would raise the sum."""
        prices = self.prices()
        unit = lcm(*(price.denominator for price in prices))
        whole = [int(price * unit) for price in prices]  # integers: rows are many
        for s, price in enumerate(whole):
            if price < 0:
                return -1 - s
        for i in range(len(self.rows) - 1, -1, -1):
            capacity, shards = self.rows[i]
            if sum(map(mul, whole, capacity)) < shards * unit:
                return i
        return None

    def _order(self, column: int) -> int:
        """Bland's rule holds for any order that stays: slacks first, then the latest rows, which matter most."""
        return -1 - column if column < 0 else self.steps + len(self.rows) - column

    def _pivot(self) -> bool:
        entering = self._entering()
        if entering is None:
            return False
        if entering >= 0:
            capacity = self.rows[entering][0]
            column = [sum(map(mul, row, capacity), Fraction(0)) for row in self.inverse]
        else:
            column = [row[-1 - entering] for row in self.inverse]
        values = [sum(row, Fraction(0)) for row in self.inverse]
        able = [r for r in range(self.steps) if column[r] > 0]
        assert able, "cuts in time leave out no sink within reach"
        r = min(able, key=lambda r: (values[r] / column[r], self._order(self.basis[r])))
        self.basis[r] = entering
        pivot = [x / column[r] for x in self.inverse[r]]
        self.inverse = [
            pivot if k == r else [x - column[k] * p for x, p in zip(row, pivot, strict=True)] if column[k] else row
            for k, row in enumerate(self.inverse)
        ]
        return True


def check_step_bound(bound: StepBound) -> None:
    """Raise a ``LinkstepError`` unless the cuts of a bound prove it, by adding up links and nothing else.

    Where cut i holds b_i shards and a_is is the capacity out of it at step s, c_1 + ... + c_T is at least the sum of
    y_i b_i for all weights y_i >= 0 with sum over i of y_i a_is <= 1 at every s.
    """
    topology, steps = bound.topology, bound.cost.steps
    n = topology.num_nodes
    rates = [1] * topology.num_links if topology.bandwidth is None else topology.bandwidth.tolist()
    links = [
        (w, u, rate) if bound.collective is Collective.REDUCE_SCATTER else (u, w, rate)
        for u, w, rate in zip(topology.tail.tolist(), topology.head.tolist(), rates, strict=True)
        if u != w
    ]
    fastest = max((rate for _, _, rate in links), default=1)
    used, shards = [Fraction(0)] * (steps + 1), Fraction(0)
    for cut in bound.cuts:
        if len(cut.since) != n or min(cut.since) < 0 or cut.since[cut.sink] <= steps or cut.weight < 0:
            raise LinkstepError("not a proof of this step bound: a cut has no step for some node, or holds its sink")
        shards += cut.weight * cut.since.count(0)
        out = [0] * (steps + 1)
        for u, w, rate in links:
            for s in range(cut.since[u] + 1, min(cut.since[w] - 1, steps) + 1):
                out[s] += rate
        used = [part + cut.weight * Fraction(rate, fastest) for part, rate in zip(used, out, strict=True)]
    if max(used) > 1:
        raise LinkstepError(f"not a proof of this step bound: its cuts take {max(used)} of a step, not at most 1")
    proven = shards * topology.degree / n
    if proven != bound.cost.bandwidth:
        raise LinkstepError(f"not a proof of this step bound: its cuts prove {proven}, not {bound.cost.bandwidth}")
