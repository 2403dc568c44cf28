"""The search for arrivals: greedy passes under cap profiles, repaired, for the least total time.

It is counted in passes and rounds, not in seconds, so a seed gives the same arrivals everywhere; ``seconds`` only stops
it early. Not here: the kernels (``linkstep._kernels.arrival``) and topologies whose nodes are all alike
(``linkstep.methods.arrival.alike``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.arrival import _draw, _repair, _worst_loads
from linkstep._kernels.arrival_greedy import _deadlines, _greedy
from linkstep.core.topology import Ids
from linkstep.methods.arrival.best import Best, Bits, packed
from linkstep.methods.arrival.profiles import Caps, ProfileShape
from linkstep.methods.common.arrivals import Steps
from linkstep.methods.common.budget import Clock, random_state
from linkstep.methods.common.network import ArrivalNetwork
from linkstep.methods.common.quotient import Quotient


@dataclass(frozen=True)
class Effort:
    """The budget of a search. A profile divides the time that is attempted among the steps: a cap for each.

    Excess is how many pieces arrivals have above the caps.
    """

    attempts: int
    """Total times that are attempted, the bound included."""
    looks: int
    """Profiles that are tried in an attempt, by one greedy pass each."""
    feedback: int
    """Further passes for each of these, with the time that no link used given to other steps."""
    profiles: int
    """Profiles of least excess that an attempt then works on."""
    trades: int
    """Passes for each of those in which two steps trade time."""
    repairs: int
    """Repairs for each of those."""
    rounds_each: int
    """Rounds of a repair for each excess piece, beyond ``_ROUNDS``."""
    mended: Fraction = Fraction(1, 2)
    """The largest excess for each row that is worth a repair."""


_THOROUGH = Effort(
    attempts=100, looks=100, feedback=3, profiles=2, trades=60, repairs=3, rounds_each=40, mended=Fraction(10**6)
)
_SHORT_OF = (
    (3 * 10**5, Effort(attempts=6, looks=24, feedback=3, profiles=2, trades=30, repairs=2, rounds_each=10)),
    (2 * 10**7, Effort(attempts=5, looks=8, feedback=2, profiles=1, trades=12, repairs=1, rounds_each=2)),
)
"""Budgets of short searches, by the most work of a pass (rows times pieces times steps); above, ``_LEAST``."""
_LEAST = Effort(attempts=3, looks=4, feedback=2, profiles=1, trades=1, repairs=1, rounds_each=2)
_ROUNDS = 4000
_TRIES, _TENURE = 4, 5
_MOST_WORK = 2 * 10**8
"""Words of 64 bits that all passes of a short search read together: a second or two."""
_FANS = 7
"""Counts of out-neighbours farther on that are told apart, at most."""
_HOPELESS = 2, 4
"""A pass is abandoned once its excess is above 2 times the least so far plus 4 for each row."""
_NEARLY = 16
"""Arrivals with at most one excess piece for 16 rows are repaired at once."""
_LEGS = 6
"""Profiles that ``wander`` starts from."""
_SLACK = 2
"""Excess above that of the walk at which a pass of ``wander`` is abandoned."""
_PASSES_A_REPAIR = 12
_SHORT = 1500
"""Rounds of a repair in ``wander``, and of one that is made at once."""


class Trial(NamedTuple):
    """Caps and the excess of arrivals over them; ``number``, the order in which they were tried, breaks ties."""

    excess: int
    number: int
    caps: Caps


@dataclass
class ArrivalSearch:
    """The state of a search in which every shard is cut into pieces with arrivals of their own."""

    network: ArrivalNetwork
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
        self.shape = ProfileShape.of(self.rows, self.steps, self.pieces, self.ticks)
        self.neighbours = self.rows.neighbours(self.pieces)
        self.owner = self.rows.owners(self.pieces)
        self.begin = np.zeros(total, np.int16) if self.start is None else np.repeat(self.start, self.pieces)
        self.state = random_state(self.seed)
        self.arrive = np.empty((0, total), np.int16)
        self.tabu = np.empty((n, total), np.int32)
        self.load = np.zeros((n, self.steps + 1, net.weight.shape[1]), np.int32)
        self.excess = np.zeros((n, self.steps + 1), np.int32)
        self.got = np.zeros((self.steps + 1, n, -(-total // 64)), np.uint64)
        self.is_packed = False
        """Whether the present arrivals are in ``got``, and not in ``arrive`` yet."""
        self.passes_left = 1 << 40
        self.new_deadlines()

    @property
    def best(self) -> Best:
        """The best arrivals so far."""
        return self.holder[0]

    def new_deadlines(self) -> None:
        """Draw new trees of shortest paths."""
        net, rows = self.network, self.rows
        deadline, beyond = (np.empty((rows.num_rows * self.pieces, net.num_nodes), np.int16) for _ in range(2))
        _deadlines(
            rows.far, net.near, net.near_count, net.after, net.after_count, self.pieces, self.steps,
            self.state, deadline, beyond,
        )  # fmt: skip
        deadline, beyond = (rows.turned(table, self.pieces) for table in (deadline, beyond))
        self.due = np.array([packed(deadline <= t) for t in range(self.steps + 1)])
        self.onward = np.array([packed(beyond >= j) for j in range(min(_FANS, int(beyond.max())), -1, -1)])

    def limits(self, caps: Caps) -> NDArray[np.int32]:
        """Return how many pieces every set of links carries at each step."""
        weight = self.network.weight[:, np.newaxis, :] * self.pieces
        limit: NDArray[np.int32] = (caps[np.newaxis, :, np.newaxis] * weight // self.ticks).astype(np.int32)
        return limit

    def greedy(self, caps: Caps, give_up: int = 1 << 40) -> int:
        """Run one greedy pass; return by how much it exceeds the caps."""
        self.clock.check()
        self.passes_left -= 1
        near, near_count, near_turn, *_, turns = self.neighbours
        state = (
            near, near_count, near_turn, turns, self.owner, self.begin, self.rows.kind, self.limits(caps),
            self.due, self.onward, self.got, self.load, self.excess, give_up, self.state,
        )  # fmt: skip
        self.is_packed = True
        return int(_greedy(*state))

    def present(self) -> Steps | Bits:
        """Return the present arrivals, as they are."""
        return Bits(self.got.copy(), self.owner, self.begin) if self.is_packed else self.arrive.copy()

    def repair(self, caps: Caps, rounds: int) -> int:
        """Move pieces until nothing exceeds the caps, ``rounds`` at most; return the excess that is left."""
        self.clock.check()
        if self.is_packed:
            self.arrive, self.is_packed = Bits(self.got, self.owner, self.begin).unpack(), False
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
            self.holder[0] = Best(total, self.present(), self.pieces, self.group)
            self.clock.say(total)

    def attempt(self, ticks: int, effort: Effort = _THOROUGH) -> int:
        """Look for arrivals within ``ticks`` in all; return by how much the best still exceed the caps."""
        ranked = self._look(ticks, effort)
        least = ranked[0].excess
        for tried in ranked[: effort.profiles if least and self.passes_left > 0 else 0]:
            excess, caps = self.trade(tried.excess, tried.caps, effort.trades)
            self.greedy(caps)
            self.keep()
            for _ in range(effort.repairs if excess <= effort.mended * self.rows.num_rows else 0):
                excess = self.repair(caps, _ROUNDS + effort.rounds_each * excess)
                if excess == 0:
                    break
            self.keep()
            if excess == 0:
                return 0
        return least

    def _look(self, ticks: int, effort: Effort) -> list[Trial]:
        """Run a pass under each profile, and more as feedback has it, until all fits; return the best first."""
        ranked: list[Trial] = []
        for first in self.shape.profiles(ticks)[: effort.looks]:
            caps: Caps | None = first
            for _ in range(effort.feedback + 1):
                if caps is None or (ranked and self.passes_left <= 0):
                    break
                least = ranked[0].excess if ranked else 1 << 40
                give_up = _HOPELESS[0] * least + _HOPELESS[1] * self.rows.num_rows
                excess = self.greedy(caps, give_up)
                if excess > give_up:
                    break
                self.keep()
                following = self.fed_back(caps)
                if 0 < excess < least and excess <= self.rows.num_rows // _NEARLY:
                    excess = self.repair(caps, _SHORT)
                    self.keep()
                ranked = sorted([*ranked, Trial(excess, len(ranked), caps)], key=lambda tried: tried[:2])
                if excess == 0:
                    return ranked
                caps = following
        return ranked

    def fed_back(self, caps: Caps) -> Caps | None:
        """Return other caps of the same sum: what links had no use for in the last pass goes to other steps.

        None: there was nothing of that kind.
        """
        rows, steps = self.rows, self.steps
        most = (1 << rows.near_count.astype(np.int64)) - 1
        place = np.arange(rows.num_rows)[:, np.newaxis], np.arange(steps + 1), most[:, np.newaxis]
        idle = self.limits(caps).astype(np.int64)[rows.kind[:, np.newaxis], place[1], place[2]] - self.load[place]
        weight = self.network.weight[rows.kind, most] * self.pieces
        unused = (-(-idle * self.ticks // weight[:, np.newaxis])).max(axis=0).tolist()
        moved, freed = caps.copy(), 0
        for s in range(2, steps):
            amount = min(unused[s], int(caps[s]) - 1)
            if amount > 0:
                moved[s] -= amount
                freed += amount
        if not freed:
            return None
        busy = [s for s in range(3, steps) if moved[s] == caps[s]] + [steps]
        shares = np.maximum(caps[busy], 1)
        more = freed * shares // shares.sum()
        moved[busy] += more
        moved[steps] += freed - int(more.sum())
        return moved

    def trade(self, excess: int, caps: Caps, trades: int) -> tuple[int, Caps]:
        """Move ticks from the steps that exceed their caps least to those that do most, while that helps."""
        if trades <= 1:
            return excess, caps
        seen: dict[bytes, int] = {caps.tobytes(): self.greedy(caps)}
        amount = max(1, int(caps.max()) // 8)
        over = self.excess.sum(axis=0)
        trades = min(trades, self.passes_left)
        while excess > 0 and len(seen) < trades:
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
                found = seen[moved.tobytes()] = self.greedy(moved, excess - 1)
                if found < excess:
                    excess, caps, better = found, moved, True
                    over = self.excess.sum(axis=0)
            if not better:
                if amount == 1:
                    break
                amount = max(1, amount // 2)
        return excess, caps

    def wander(self, ticks: int, passes: int) -> bool:
        """Walk at random over profiles of this sum and return whether arrivals fit one of them.

        A step of the walk moves ticks between two caps and stays there unless the excess rises; arrivals of nearly
        the least excess so far are repaired. The passes are divided among ``_LEGS`` walks, each from another of the
        profiles of least excess and with new deadlines.
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

    def run(self, bound: Fraction, least: Callable[[], Fraction] | None = None) -> None:
        """Attempt the bound, then times between it and the best, until none is left between them.

        Where the bound is far away, ``least`` is asked for a higher one, that of schedules with this number of steps.
        """
        self._close_in(bound, _THOROUGH, least)

    def glance(self, bound: Fraction, least: Callable[[], Fraction] | None = None) -> None:
        """As ``run``, but only a few times are attempted, without much work on any."""
        work = self.rows.num_rows * self.owner.size * self.steps
        self.passes_left = max(1, passes_of_a_glance(*self.load.shape, self.owner.size))
        effort = next((effort for most, effort in _SHORT_OF if work <= most), _LEAST)
        self._close_in(bound, effort, least)

    def _close_in(self, bound: Fraction, effort: Effort, least: Callable[[], Fraction] | None) -> None:
        low = ceil(bound * self.ticks)
        excess = self.attempt(low, effort)
        if excess >= self.rows.num_rows and least is not None:
            low = max(low, ceil(least() * self.ticks) - 1)
        for _ in range(effort.attempts - 1):
            high = ceil(self.best.total * self.ticks)
            if high - low <= 1 or self.passes_left <= 0:
                return
            middle = (low + high) // 2 if high - low < 12 else low + (high - low) // 3
            self.attempt(middle, effort)
            if self.best.total * self.ticks > middle:
                low = middle

    def improve(self, bound: Fraction, share: Fraction, passes: int) -> None:
        """Walk at a time between the bound and the best, ``share`` of the way, again while that succeeds."""
        low = ceil(bound * self.ticks)
        while True:
            high = ceil(self.best.total * self.ticks) - 1
            if high < low or not self.wander(low + int((high - low) * share), passes):
                return


def passes_of_a_glance(rows: int, steps: int, sets: int, pieces: int) -> int:
    """Return how many passes a short search has; none where one alone takes long, for many nodes with many links.

    >>> passes_of_a_glance(1000, 8, 2**4, 1000), passes_of_a_glance(4093, 6, 2**10, 4093)
    (97, 0)
    """
    return _MOST_WORK // (rows * steps * sets * -(-pieces // 64))


def ticks_for(bound: Fraction, items: int) -> int:
    """Return the ticks of a shard's time for which the bound is a whole number of ticks, at least ``items``."""
    return bound.denominator * max(1, ceil(Fraction(items, bound.numerator)))
