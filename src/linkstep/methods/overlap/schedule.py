"""Allreduce schedules whose halves overlap: the best plan that a search finds for a number of steps, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError
from linkstep.core.memo import Memo
from linkstep.core.schedule import Schedule
from linkstep.core.stopping import best_so_far, is_stopped
from linkstep.core.topology import Topology
from linkstep.core.units import check_count
from linkstep.costs import Cost
from linkstep.methods.arrival import MAX_STEPS, SearchLimits, Watch
from linkstep.methods.common.budget import Clock, OutOfTime
from linkstep.methods.common.network import MAX_LINKS
from linkstep.methods.overlap.halves import Middle, plan_halves
from linkstep.methods.overlap.improve import Joint, ScoredTimetable, score, staggered
from linkstep.methods.overlap.split import Timetable, Wiring, build, cost_of_loads

_PLAIN = SearchLimits()
_MIDDLE: Memo[Middle] = Memo()
_FOUND: Memo[ScoredTimetable] = Memo()
_FEW_NODES = 150
"""Nodes up to which shards in pieces, one after the other, are tried."""
_MORE = 2
"""Steps beyond the fewest that a piece may take where pieces go one after the other."""
_WORK, _ROUNDS = 2 * 10**6, 300
_SHORT_WORK, _SHORT_ROUNDS = 3 * 10**5, 20
"""Budgets of the search over both halves: its work (nodes times pieces of all, in each round), and rounds at most."""


def least_overlapped_steps(topology: Topology) -> int:
    """Return the fewest steps of an allreduce in which a node's shard is summed up there, and then goes to all.

    >>> least_overlapped_steps(Topology.from_links(3, [0, 1, 2], [1, 2, 0]))
    4
    """
    return 0 if topology.num_nodes == 1 else _middle(topology).least_steps


def least_total(wiring: Wiring) -> Fraction:
    """Return the time, in shards a unit of weight, that all links together take for all that must go over them."""
    n = wiring.topology.num_nodes
    return Fraction(2 * n * (n - 1), int(wiring.weight.sum()))


def overlapped_cost(topology: Topology, limits: SearchLimits = _PLAIN, *, watch: Watch | None = None) -> Cost:
    """Return the cost of what ``overlapped_allreduce`` makes.

    Where that would take more chunks than a schedule has, it makes one a little above this on a fine grid.
    """
    if topology.num_nodes == 1:
        return Cost.zero()
    wiring = Wiring.of(topology)
    found = _find(wiring, limits, watch)
    return cost_of_loads(wiring, [load / found.plan.pieces for load in found.loads if load])


def overlapped_allreduce(topology: Topology, limits: SearchLimits = _PLAIN, *, watch: Watch | None = None) -> Schedule:
    """Return an allreduce of little bandwidth in ``limits.steps`` steps in all; None: as few as the wiring allows.

    Shards that are complete early are gathered while others are still being reduced. Latencies of links do not count.

    >>> path = Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])
    >>> overlapped_allreduce(path)
    <Schedule allreduce on N=3: 12 rows, 4 steps, unit 1>
    """
    if topology.num_nodes == 1:
        return Schedule.from_columns(topology, 1, [], [], [], [], [], Collective.ALLREDUCE)
    wiring = Wiring.of(topology)
    return build(wiring, _find(wiring, limits, watch).plan, limits.chunks)


def _middle(topology: Topology) -> Middle:
    check_connected(topology)
    return _MIDDLE.find(topology, lambda: Middle(topology))


def _find(wiring: Wiring, limits: SearchLimits, watch: Watch | None) -> ScoredTimetable:
    """Return the best plan; kept with the topology. Stopped by time or a KeyboardInterrupt, the best so far."""
    topology = wiring.topology
    middle = _middle(topology)
    steps = middle.least_steps if limits.steps is None else check_count("steps", limits.steps, 1, MAX_STEPS)
    if steps < middle.least_steps:
        node = int(np.argmax(middle.before + middle.beyond))
        raise LinkstepError(
            f"steps must be at least {middle.least_steps}, not {steps}: the farthest part of {topology.called(node)}'s "
            f"shard takes {middle.before[node]} steps to it, and the sum {middle.beyond[node]} to all others"
        )
    if limits.chunks is not None:
        check_count("chunks", limits.chunks, 1, 10**6)
    limits = replace(limits, steps=steps)
    return _FOUND.find(topology, lambda: _best(wiring, middle, limits, watch), limits)


def _best(wiring: Wiring, middle: Middle, limits: SearchLimits, watch: Watch | None) -> ScoredTimetable:
    """Search in fewer steps than the limit as well: more are taken only where they save bandwidth.

    Where the limits has a number of rounds, its own steps alone are searched.
    """
    if limits.rounds is not None or limits.steps == middle.least_steps:
        return _search(wiring, middle, limits, watch)
    best: ScoredTimetable | None = None
    for asked in limits.in_fewer_steps(middle.least_steps):
        known = _FOUND.get(wiring.topology, asked) if limits.seconds is None else None
        if known is not None:
            best = known
        else:
            found = _search(wiring, middle, asked, watch)
            best = found if best is None else min(best, found, key=lambda scored: _rank(scored)[:2])
            if limits.seconds is None and not is_stopped():
                _FOUND.keep(wiring.topology, best, asked)
        assert best is not None
        if best.total <= least_total(wiring) or is_stopped():
            break
    assert best is not None
    return best


def _search(wiring: Wiring, middle: Middle, limits: SearchLimits, watch: Watch | None) -> ScoredTimetable:
    assert limits.steps is not None
    clock = Clock(limits.seconds)
    bound = least_total(wiring)
    scale = Fraction(wiring.topology.degree * wiring.fastest, wiring.topology.num_nodes)
    best: ScoredTimetable | None = None

    def better(found: ScoredTimetable) -> ScoredTimetable:
        if best is not None and _rank(best) <= _rank(found):
            return best
        if watch is not None:
            watch(found.plan.steps, found.total * scale, bound * scale)
        return found

    for plan in plan_halves(middle, limits if limits.seconds is None else replace(limits, seconds=limits.seconds / 4)):
        best = better(score(wiring, plan, limits.chunks))
    assert best is not None
    begin = [best]
    with best_so_far(OutOfTime):
        if best.total > bound and middle.network.num_nodes <= _FEW_NODES:
            for plan in _in_turn(middle, limits):
                clock.check()
                begin.append(score(wiring, plan, limits.chunks))
                best = better(begin[-1])
        for start in _starts(begin, limits.steps):
            for found in Joint(wiring, middle, start, limits.seed, clock).run(
                _rounds(middle, start.plan, limits), bound
            ):
                best = better(found)
    return best


def _starts(found: list[ScoredTimetable], steps: int) -> list[ScoredTimetable]:
    """Return the best plan and, if that leaves steps unused or does not go in turn, the best of those that do."""
    best = min(found, key=_rank)
    in_turn = [one for one in found if one.plan.steps == steps and one.plan.pieces > 1 and one.plan is not best.plan]
    if best.plan.steps == steps and best.plan.pieces > 1:
        return [best]
    return [best, *sorted(in_turn, key=_rank)[:1]]


def _rank(found: ScoredTimetable) -> tuple[Fraction, int, int]:
    return found.total, sum(map(bool, found.loads)), found.plan.pieces


def _in_turn(middle: Middle, limits: SearchLimits) -> Iterator[Timetable]:
    """Yield plans in which pieces of shards go one after the other."""
    assert limits.steps is not None
    least = middle.least_steps
    for steps in range(least, min(limits.steps, least + _MORE) + 1):
        for base in plan_halves(middle, replace(limits, steps=steps, rounds=0, seconds=None)):
            for period in range(1, min(limits.steps - base.steps, middle.diameter + 1) + 1):
                pieces = base.pieces * ((limits.steps - base.steps) // period + 1)
                if limits.chunks is None or limits.chunks % pieces == 0:
                    yield staggered(base, limits.steps, period)


def _rounds(middle: Middle, plan: Timetable, limits: SearchLimits) -> int:
    links = max(int(network.near_count.max()) for network in (middle.network, middle.transposed))
    if links > MAX_LINKS or limits.chunks is not None:
        return 0
    work, most = (_WORK, _ROUNDS) if limits.rounds is None else (_SHORT_WORK, _SHORT_ROUNDS)
    return int(min(most, work // (middle.network.num_nodes**2 * plan.pieces)))
