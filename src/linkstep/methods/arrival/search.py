"""The search for arrivals: greedy passes under cap profiles, repaired, for the least total time.

It is counted in passes and rounds, not in seconds, so a seed gives the same arrivals everywhere; ``seconds`` only stops
it early. Not here: the kernels (``linkstep._kernels.arrival``) and topologies whose nodes are all alike
(``linkstep.methods.arrival.alike``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.arrival import _deadlines, _draw, _greedy, _repair, _worst_loads
from linkstep.core.topology import Ids
from linkstep.methods.arrival.network import Network
from linkstep.methods.arrival.profiles import Caps, Shape
from linkstep.methods.arrival.quotient import Orbits, Quotient, Steps


@dataclass(frozen=True)
class Effort:
    """How much work an attempt is worth."""

    profiles: int
    """Profiles that are worked on after the first pass."""
    trades: int
    """Passes spent on trading ticks between steps of one of these."""
    repairs: int
    rounds_each: int
    """Rounds of a repair for each piece too many, besides ``_ROUNDS``."""


_THOROUGH = Effort(profiles=2, trades=60, repairs=3, rounds_each=40)
_LIGHT = Effort(profiles=1, trades=1, repairs=1, rounds_each=2)
_ROUNDS = 4000
_TRIES, _TENURE = 4, 5
_HOPELESS = 2, 1000
"""A pass is given up once its excess is above so many times the best one and so many more."""


_GLANCES = tuple(Fraction(x, 100) for x in (100, 101, 103, 110))
"""How much of the bound is attempted in a short search."""
_LEGS = 6
"""Profiles that a walk over profiles starts from."""
_SLACK = 2
_PASSES_A_REPAIR = 12
_SHORT = 1500
"""Rounds of a repair on such a walk."""


class OutOfTime(Exception):
    """The time allowed is used up; what was found so far stands."""


@dataclass
class Clock:
    """When to stop, and whom to tell."""

    seconds: float | None = None
    tell: Callable[[Fraction], None] | None = None
    _start: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise ``OutOfTime`` if there is no time left."""
        if self.seconds is not None and time.monotonic() - self._start > self.seconds:
            raise OutOfTime

    def say(self, total: Fraction) -> None:
        """Tell of a better total time."""
        if self.tell is not None:
            self.tell(total)


@dataclass
class Best:
    """The arrivals of least total time so far, in shards a unit of weight."""

    total: Fraction
    step: Steps
    """Rows for all nodes, or for the representatives of the group's orbits."""
    pieces: int = 1
    group: Ids | None = None
    """What arrivals look the same under, where such a group is known."""

    def everywhere(self) -> Steps:
        """Return the arrivals at all nodes."""
        if self.group is None or len(self.step) == self.group.shape[1]:
            return self.step
        return Orbits.of(self.group).expand(self.step, self.pieces)


def random_state(seed: int) -> NDArray[np.uint64]:
    """Return the state that the kernels draw random numbers from."""
    return np.array([(seed + 1) * 0x9E3779B97F4A7C15 % 2**64 | 1], np.uint64)


@dataclass
class Search:
    """The state of a search in which every shard is so many pieces with arrivals of their own."""

    network: Network
    steps: int
    pieces: int
    ticks: int
    """Ticks of time that a shard takes over a link of weight 1."""
    parts: int | None
    """Parts that a piece is cut into where a link carries whole ones only; None: it is cut at will."""
    seed: int
    clock: Clock
    holder: list[Best]
    """One entry, the best so far: it outlives the search if that is interrupted."""
    start: Steps | None = None
    """The step at whose end each node has its own shard; None: all have theirs before step 1."""
    group: Ids | None = None
    """Automorphisms that act freely; arrivals are then the same under them. None: they may differ from node to node."""

    def __post_init__(self) -> None:
        net = self.network
        self.rows = Quotient.of(net, self.group)
        n, total = self.rows.num_rows, net.num_nodes * self.pieces
        self.shape = Shape.of(self.rows, self.steps, self.pieces, self.ticks)
        self.neighbours = self.rows.neighbours(self.pieces)
        self.owner = self.rows.owners(self.pieces)
        self.begin = np.zeros(total, np.int16) if self.start is None else np.repeat(self.start, self.pieces)
        self.state = random_state(self.seed)
        self.arrive = np.empty((n, total), np.int16)
        self.tabu = np.empty((n, total), np.int32)
        self.load = np.zeros((n, self.steps + 1, net.weight.shape[1]), np.int32)
        self.excess = np.zeros((n, self.steps + 1), np.int32)
        self.new_deadlines()

    @property
    def best(self) -> Best:
        """The best arrivals so far."""
        return self.holder[0]

    def new_deadlines(self) -> None:
        """Draw trees of shortest paths anew."""
        net, rows = self.network, self.rows
        deadline, rank = (np.empty((rows.num_rows * self.pieces, net.num_nodes), np.int16) for _ in range(2))
        _deadlines(
            rows.far, net.near, net.near_count, net.after, net.after_count, self.pieces, self.steps,
            self.state, deadline, rank,
        )  # fmt: skip
        self.deadline, self.rank = (rows.turned(table, self.pieces) for table in (deadline, rank))

    def limits(self, caps: Caps) -> NDArray[np.int32]:
        """Return how many pieces every set of links carries at each step."""
        weight = self.network.weight[:, np.newaxis, :] * self.pieces
        limit: NDArray[np.int32] = (caps[np.newaxis, :, np.newaxis] * weight // self.ticks).astype(np.int32)
        return limit

    def greedy(self, caps: Caps, give_up: int = 1 << 40) -> int:
        """Run one greedy pass; return by how much it exceeds the caps."""
        self.clock.check()
        near, near_count, near_turn, *_, turns = self.neighbours
        state = (
            self.arrive, near, near_count, near_turn, turns, self.owner, self.begin, self.rows.kind, self.limits(caps),
            self.deadline, self.rank, self.load, self.excess, give_up, self.state,
        )  # fmt: skip
        return int(_greedy(*state))

    def repair(self, caps: Caps, rounds: int) -> int:
        """Move pieces until nothing exceeds the caps, or so many rounds; return by how much something still does."""
        self.clock.check()
        state = (
            self.arrive, *self.neighbours, self.owner, self.rows.kind, self.limits(caps), self.load, self.excess,
            self.tabu, rounds, _TRIES, _TENURE, self.state,
        )  # fmt: skip
        return int(_repair(*state))

    def total(self) -> Fraction:
        """Return the total time that the present arrivals take."""
        num, den = np.zeros(self.steps + 1, np.int64), np.ones(self.steps + 1, np.int64)
        _worst_loads(self.load, self.rows.near_count, self.rows.kind, self.network.weight, num, den)
        loads = [Fraction(a, b) for a, b in zip(num.tolist(), den.tolist(), strict=True)]
        if self.parts is not None:
            loads = [Fraction(ceil(load * self.parts), self.parts) for load in loads]
        return sum(loads, Fraction(0)) / self.pieces

    def keep(self) -> None:
        """Keep the present arrivals if there are none better."""
        total = self.total()
        if total < self.best.total:
            self.holder[0] = Best(total, self.arrive.copy(), self.pieces, self.group)
            self.clock.say(total)

    def attempt(self, ticks: int, effort: Effort = _THOROUGH) -> None:
        """Look for arrivals within so many ticks in all: a pass under every profile, the best worked on."""
        ranked: list[tuple[int, int, Caps]] = []
        for number, caps in enumerate(self.shape.profiles(ticks)):
            hopeless = _HOPELESS[0] * ranked[0][0] + _HOPELESS[1] if ranked else 1 << 40
            excess = self.greedy(caps, hopeless)
            if excess > hopeless:
                continue
            ranked = sorted([*ranked, (excess, number, caps)], key=lambda row: row[:2])
            if excess == ranked[0][0]:
                self.keep()
            if excess == 0:
                return
        for excess, _, caps in ranked[: effort.profiles]:
            found, caps = self.trade(excess, caps, effort.trades)
            self.greedy(caps)
            self.keep()
            for _ in range(effort.repairs):
                left = self.repair(caps, _ROUNDS + effort.rounds_each * found)
                if left == 0:
                    break
            self.keep()
            if left == 0:
                return

    def trade(self, excess: int, caps: Caps, trades: int) -> tuple[int, Caps]:
        """Move ticks from the steps that exceed their caps least to those that do most, while that helps."""
        seen: dict[bytes, int] = {caps.tobytes(): excess}
        amount = max(1, int(caps.max()) // 8)
        while excess > 0 and len(seen) < trades:
            over = self.excess.sum(axis=0)
            inner = range(2, self.steps + 1)
            pairs = sorted(((a, b) for a in inner for b in inner if a != b), key=lambda p: int(over[p[0]] - over[p[1]]))
            better = False
            for a, b in pairs:
                if len(seen) >= trades or better:
                    break
                moved = caps.copy()
                moved[a] -= amount
                moved[b] += amount
                if moved[a] < 0 or moved.tobytes() in seen:
                    continue
                found = seen[moved.tobytes()] = self.greedy(moved)
                if found < excess:
                    excess, caps, better = found, moved, True
            if not better:
                if amount == 1:
                    break
                amount = max(1, amount // 2)
        return excess, caps

    def wander(self, ticks: int, passes: int) -> bool:
        """Change caps of this sum at random, keep what exceeds them less, repair what comes near; whether all fits.

        Deadlines are drawn anew and another profile is gone on from every so often.
        """
        ranked = sorted(
            ((self.greedy(caps), number, caps) for number, caps in enumerate(self.shape.profiles(ticks))),
            key=lambda row: row[:2],
        )
        least = ranked[0][0]
        legs, repairs = min(_LEGS, len(ranked)), max(_LEGS, passes // _PASSES_A_REPAIR)
        for leg in range(legs):
            self.new_deadlines()
            caps = ranked[leg][2]
            excess = self.greedy(caps)
            for _ in range(max(1, passes // legs)):
                moved = self._disturbed(caps)
                found = self.greedy(moved, excess + _SLACK)
                if found > excess + _SLACK:
                    continue  # given up, so loads are not complete
                if found < least or (found <= least + 1 and repairs > 0):
                    repairs -= 1
                    self.keep()
                    left = self.repair(moved, _SHORT) if found else 0
                    self.keep()
                    if left == 0:
                        return True
                least = min(least, found)
                if found <= excess:
                    excess, caps = found, moved
        return False

    def _disturbed(self, caps: Caps) -> Caps:
        """Move some ticks from a step to another; whole pieces in half of all cases."""
        first = 1 if self.pieces > 1 else 2  # at step 1 a link carries its own tail's shard and nothing else
        if self.steps <= first:
            return caps
        a, b = first + self._below(self.steps - first + 1), first + self._below(self.steps - first)
        b += b >= a
        unit = self.shape.grain if self._below(2) else 1
        amount = min(unit * (1 + self._below(int(caps[a]) // (4 * unit))), int(caps[a]))
        moved = caps.copy()
        moved[a] -= amount
        moved[b] += amount
        return moved

    def _below(self, bound: int) -> int:
        return int(_draw(self.state, max(1, bound)))

    def run(self, bound: Fraction) -> None:
        """Attempt the bound, then times between it and the best, halving the gap."""
        low = ceil(bound * self.ticks)
        self.attempt(low)
        high = ceil(self.best.total * self.ticks)
        while high - low > 1:
            middle = (low + high) // 2 if high - low < 12 else low + (high - low) // 3
            self.attempt(middle)
            reached = ceil(self.best.total * self.ticks)
            low, high = (low, reached) if reached <= middle else (middle, min(high, reached))

    def glance(self, bound: Fraction) -> None:
        """Attempt the bound, and a little more time, without much work on either."""
        for more in _GLANCES:
            ticks = ceil(bound * self.ticks * more)
            if ticks < self.best.total * self.ticks:
                self.attempt(ticks, _LIGHT)

    def improve(self, bound: Fraction, share: Fraction, passes: int) -> None:
        """Walk at a time between the bound and the best, ``share`` of the way, again while that succeeds."""
        low = ceil(bound * self.ticks)
        while True:
            high = ceil(self.best.total * self.ticks) - 1
            if high < low or not self.wander(low + int((high - low) * share), passes):
                return


def ticks_for(bound: Fraction, items: int) -> int:
    """Return the ticks of a shard's time for which the bound is a whole number of ticks, at least so many."""
    return bound.denominator * max(1, ceil(Fraction(items, bound.numerator)))
