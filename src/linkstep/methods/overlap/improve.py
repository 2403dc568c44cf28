"""A search over both halves at once: time is taken from a step, and arrivals of either half move until all fits again.

What one half carries over a link is not there for the other, so each in turn is repaired within what the other leaves.
Where nodes have fewer links than others, this lets the shards that are complete early be gathered over links that the
reduction of the others does not need. Not here: the search of a half by itself (``linkstep.methods.overlap.halves``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep._kernels.arrival import _repair
from linkstep.core.topology import Ids, Ints
from linkstep.methods.common.arrivals import Steps
from linkstep.methods.common.budget import Clock, random_state
from linkstep.methods.common.network import ArrivalNetwork
from linkstep.methods.common.quotient import Quotient
from linkstep.methods.overlap.halves import Middle
from linkstep.methods.overlap.split import Timetable, TransportationProblem, Wiring, groups_of

_TICKS = 24
"""Ticks of time in which the fastest link carries a piece."""
_REPAIR = 300
_TRIES, _TENURE = 4, 5


@dataclass(frozen=True)
class ScoredTimetable:
    """A plan, what each step of it takes, in pieces a unit of weight, and what all take in shards."""

    plan: Timetable
    loads: tuple[Fraction, ...]

    @property
    def total(self) -> Fraction:
        """The time of all steps, in shards a unit of weight."""
        return sum(self.loads, Fraction(0)) / self.plan.pieces


def score(wiring: Wiring, plan: Timetable, chunks: int | None = None) -> ScoredTimetable:
    """Find out what the steps of a plan take at least, with shards cut at will or into ``chunks`` chunks."""
    loads = [Fraction(0)] * (plan.steps + 1)
    for groups in groups_of(wiring, plan):
        step = TransportationProblem(wiring, groups)
        load = step.least_load()
        loads[groups.step] = load if chunks is None else step.least_on_grid(load, chunks // plan.pieces)
    return ScoredTimetable(plan, tuple(loads))


class Joint:
    """The state of a search: the plan it has come to, and what the kernels work on."""

    def __init__(self, wiring: Wiring, middle: Middle, begin: ScoredTimetable, seed: int, clock: Clock) -> None:
        self.wiring = wiring
        self.networks: tuple[ArrivalNetwork, ArrivalNetwork] = (middle.transposed, middle.network)
        self.now = begin
        self.rng = np.random.default_rng(seed)
        self.state = random_state(seed)
        self.clock = clock
        self.owner = begin.plan.owner.astype(np.int32)

    def run(self, rounds: int, bound: Fraction) -> Iterator[ScoredTimetable]:
        """Take time from steps, ``rounds`` times or until the bound on the total is reached; yield what is no worse."""
        for _ in range(rounds):
            if self.now.total <= bound:
                return
            self.clock.check()
            found = self._attempt(self.now, self._caps(self.now))
            if found.total <= self.now.total:
                self.now = found
                yield found

    def _caps(self, now: ScoredTimetable) -> Ints:
        """Return ticks for each step: those of a plan, some taken from one or two steps, fewer given to another."""
        caps = np.array([int(load * self.wiring.fastest * _TICKS) for load in now.loads], np.int64)
        steps = len(caps) - 1
        for _ in range(int(self.rng.integers(1, 3))):
            a, b = self.rng.integers(1, steps + 1, 2)
            amount = int(self.rng.integers(1, max(2, caps[a] // 2 + 1)))
            amount = min(amount, int(caps[a]))
            caps[a] -= amount
            if a != b:
                caps[b] += int(self.rng.integers(0, amount + 1))
        return caps

    def _attempt(self, now: ScoredTimetable, caps: Ints) -> ScoredTimetable:
        plan = now.plan
        for half in self.rng.permutation(2).tolist():
            arrive = plan.halves[half].copy()
            limit = self._limits(plan, caps, half)
            network = self.networks[half]
            load = loads_of(network, arrive, plan.owner, plan.steps)
            excess = np.zeros(load.shape[:2], np.int32)
            tabu = np.empty(arrive.shape, np.int32)
            kind = np.arange(network.num_nodes, dtype=np.int32)
            neighbours = Quotient.of(network, None).neighbours(plan.pieces)
            state = (
                arrive, *neighbours, self.owner, kind, limit, load, excess, tabu, _REPAIR, _TRIES, _TENURE, self.state,
            )  # fmt: skip
            _repair(*state)
            plan = Timetable(plan.steps, plan.pieces, *((plan.reduce, arrive) if half else (arrive, plan.gather)))
        return score(self.wiring, self._with_new_middle(plan))

    def _limits(self, plan: Timetable, caps: Ints, half: int) -> Ids:
        """Return how many pieces sets of links carry for one half at each of its steps, beside the other half."""
        wiring, network = self.wiring, self.networks[half]
        free = np.outer(caps, wiring.weight) // wiring.fastest
        for groups in groups_of(wiring, plan):
            transport = TransportationProblem(wiring, groups)
            carried, _ = transport.flow(_TICKS, caps[groups.step] * transport.weight // wiring.fastest)
            others = groups.half[groups.arc_group] != half
            np.subtract.at(free[groups.step], groups.arc_link[others], carried[others])
        if not half:
            free[1:] = free[:0:-1].copy()
        side = wiring.sides[half]
        width = network.near.shape[1]
        sums = np.zeros((plan.steps + 1, network.num_nodes, 1 << width), np.int64)
        for k in range(width):
            between = (side.other == network.near[:, k : k + 1]) & (k < network.near_count)[:, np.newaxis]
            between &= np.arange(side.link.shape[1]) < side.count[:, np.newaxis]
            rate = (free[:, side.link] * between).sum(axis=2)
            sums[:, :, 1 << k : 2 << k] = sums[:, :, : 1 << k] + rate[:, :, np.newaxis]
        limit: Ids = np.ascontiguousarray(sums.transpose(1, 0, 2) // _TICKS).astype(np.int32)
        return limit

    def _with_new_middle(self, plan: Timetable) -> Timetable:
        """Let shards be complete at any step between their last reduction and their first gathering."""
        own = plan.owner, np.arange(plan.owner.size)
        reduce, gather = plan.reduce.copy(), plan.gather.copy()
        reduce[own] = gather[own] = plan.steps + 1
        first, last = plan.steps + 1 - reduce.min(axis=0), gather.min(axis=0) - 1
        tau = self.rng.integers(first, last + 1)
        reduce[own], gather[own] = plan.steps - tau, tau
        return Timetable(plan.steps, plan.pieces, reduce, gather)


def loads_of(network: ArrivalNetwork, arrive: Steps, owner: Ints, steps: int) -> Ids:
    """Return how many pieces only the in-neighbours in each set can bring to each node at each step."""
    n, width = network.num_nodes, network.near.shape[1]
    mask = np.zeros(arrive.shape, np.int64)
    for k in range(width):
        has = (arrive[network.near[:, k]] < arrive) & (k < network.near_count)[:, np.newaxis]
        mask |= has.astype(np.int64) << k
    node, piece = np.nonzero(owner[np.newaxis, :] != np.arange(n)[:, np.newaxis])
    cell = (node * (steps + 1) + arrive[node, piece]) << width | mask[node, piece]
    counts = np.bincount(cell, minlength=n * (steps + 1) << width).reshape(-1, 1 << width)
    for k in range(width):
        halves = counts.reshape(len(counts), -1, 2, 1 << k)
        halves[:, :, 1] += halves[:, :, 0]
    return np.ascontiguousarray(counts.reshape(n, steps + 1, -1)).astype(np.int32)


def staggered(plan: Timetable, steps: int, period: int) -> Timetable:
    """Return a plan for more steps: shards in pieces, each of which does as all did, ``period`` steps after another.

    While one piece is gathered the next is reduced, so that links which one half has no use for serve the other.
    """
    late = np.arange(0, steps - plan.steps + 1, period, dtype=np.int16)
    used, count = plan.steps + int(late[-1]), late.size
    delay = np.tile(late, plan.owner.size)
    reduce, gather = (np.repeat(step, count, axis=1) for step in plan.halves)
    return Timetable(used, plan.pieces * count, reduce + (late[-1] - delay), gather + delay)
