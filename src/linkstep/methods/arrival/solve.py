"""Arrivals of least bandwidth for a number of steps: what is searched, in which order, and when it ends.

BFB's arrivals, the distances, are where every search starts, so nothing that comes out is worse. Not here: the search
for one number of pieces (``linkstep.methods.arrival.search``), costs and schedules (``linkstep.methods.bfb``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError
from linkstep.core.memo import Memo
from linkstep.core.stopping import best_so_far, is_stopped
from linkstep.core.topology import Ids, Topology
from linkstep.core.units import check_count
from linkstep.costs import Cost, step_bound
from linkstep.methods.arrival.alike import search_alike
from linkstep.methods.arrival.best import Best
from linkstep.methods.arrival.search import ArrivalSearch, passes_of_a_glance, ticks_for
from linkstep.methods.bfb import certificate_of
from linkstep.methods.common.arrivals import Arrivals, Steps
from linkstep.methods.common.budget import Clock, OutOfTime
from linkstep.methods.common.ladder import ladder
from linkstep.methods.common.links import Links
from linkstep.methods.common.network import MAX_LINKS, ArrivalNetwork, all_distances, most_neighbours
from linkstep.methods.common.quotient import Quotient
from linkstep.symmetry.translations import translations

Watch = Callable[[int, Fraction, Fraction], None]
"""Called with (steps, T_B so far, the bound on T_B that the nodes' links set) as a search goes on."""

MAX_STEPS = 2**12
MAX_NODES = 2**13
"""A search keeps several tables of N^2 entries."""
_PIECES = (1, 2, 1, 2, 4, 1, 2, 3, 6, 4, 6, 5)
"""Pieces of a shard in each round of a search: irregular graphs need several."""
_ROUNDS = ((64, len(_PIECES)), (300, 8))
"""Pairs (nodes, rounds): the rounds up to that many nodes; ``_FEW_ROUNDS`` above."""
_FEW_ROUNDS = 3
FEW_NODES = 150
"""Up to here the first round takes a second at most, so it is never cut short."""
_WORK = 2 * 10**8
_PASSES = 40, 1200
"""Passes of a round: as many as do this much work (nodes times pieces times steps), within these limits."""
_ALIKE_ENOUGH = 1024
"""Nodes up to which arrivals that differ from node to node are tried where alike ones miss the bound."""


@dataclass(frozen=True)
class SearchLimits:
    """How far a search may go."""

    steps: int | None = None
    """The most steps; None: the diameter."""
    chunks: int | None = None
    """Chunks that a shard will be cut into; None: any number."""
    seconds: float | None = None
    seed: int = 0
    rounds: int | None = None
    """Rounds of the search; None: as many as there are, 0: only the beginning of the first."""
    width: Fraction | None = None
    """How many of the fastest links a host keeps busy at once, each way (``Fabric.width``); None: all it has. What
    hosts receive counts in the search, what they send in the cost of what it finds."""

    def in_fewer_steps(self, least: int) -> list[SearchLimits]:
        """Return what to ask for, with fewer steps first, so that more are taken only where they save bandwidth.

        Where time is limited the others have a quarter of it, and no more than the beginning of a search.
        """
        assert self.steps is not None
        *fewer, most = ladder(least, self.steps)
        short, last = self, replace(self, steps=most)
        if self.seconds is not None:
            short = replace(self, rounds=0, seconds=self.seconds / (4 * max(1, len(fewer))))
            last = replace(last, seconds=self.seconds * 3 / 4)
        return [*(replace(short, steps=steps) for steps in fewer), last]


_FOUND: Memo[Arrivals] = Memo()


def find_arrivals(topology: Topology, limits: SearchLimits, *, watch: Watch | None = None) -> Arrivals:
    """Return arrivals within a number of steps that take as little bandwidth as a search finds; kept with the topology.

    Stopped by time, or by a ``KeyboardInterrupt``, it returns the best so far.
    """
    check_connected(topology)
    return _FOUND.find(topology, lambda: _find(topology, limits, watch), limits)


def _find(topology: Topology, limits: SearchLimits, watch: Watch | None) -> Arrivals:
    if topology.num_nodes == 1:
        return Arrivals(np.zeros((1, 1), np.int16))
    task = Task(topology, limits.width)
    best = task.search(limits, watch)
    return Arrivals(_without_gaps(best.everywhere()), best.pieces, best.group)


def arrival_costs(topology: Topology, steps: Sequence[int], enough: Fraction = Fraction(1)) -> list[Cost]:
    """Return what a short search finds for each number of steps, in the order given, exactly.

    It ends with the first that reaches what the links of some node need at least, or ``enough`` times that. The costs
    are those of ``arrival_cost`` with as many steps and no rounds.

    >>> square = Topology.from_links(4, [0, 0, 1, 1, 2, 2, 3, 3], [1, 3, 0, 2, 1, 3, 0, 2])
    >>> arrival_costs(square, [2, 3])
    [Cost(steps=2, bandwidth=Fraction(3, 4))]
    """
    check_connected(topology)
    if topology.num_nodes == 1:
        return [Cost.zero()]
    task, found = Task(topology), []
    if task.network is None:
        return [task.certificate.cost]
    for number in steps:
        best = task.search(SearchLimits(number, rounds=0))
        found.append(Cost(best.num_steps, best.total * task.scale))
        if best.total <= enough * task.bound:
            break
    return found


class Task:
    """A topology to search arrivals for, with what does not depend on the number of steps."""

    def __init__(self, topology: Topology, width: Fraction | None = None) -> None:
        if topology.num_nodes > MAX_NODES:
            raise LinkstepError(f"arrival times are searched for up to {MAX_NODES} nodes, not {topology.num_nodes}")
        self.topology = topology
        links = Links.of(topology, width)
        self.fastest = int(links.weight.max())
        self.is_even = int(links.weight.min()) == self.fastest and width is None
        self.certificate = certificate_of(topology, width)
        ports = Fraction(topology.degree) if width is None else width
        self.scale = ports * self.fastest / topology.num_nodes
        """T_B of one shard a unit of weight."""
        self.network = ArrivalNetwork.of(topology, width) if most_neighbours(topology) <= MAX_LINKS else None
        self.bound = Fraction(0) if self.network is None else self.network.least_total()
        """What a search aims at and stops at, in shards a unit of weight."""

    def search(self, limits: SearchLimits, watch: Watch | None = None) -> Best:
        """Return the best arrivals found within limits."""
        chunks = None if limits.chunks is None else check_count("chunks", limits.chunks, 1, 10**6)
        least = self.certificate.cost.steps
        steps = least if limits.steps is None else check_count("steps", limits.steps, 1, MAX_STEPS)
        if steps < least:
            raise LinkstepError(
                f"steps must be at least the diameter, {least}: a shard moves one link a step, not {steps}"
            )
        loads = [step.load / self.fastest for step in self.certificate.steps]
        # Where chunks take longer on some links than on others, arrivals are compared as if shards were cut at will.
        whole = chunks if self.is_even else None
        if whole is not None:
            loads = [Fraction(ceil(load * whole), whole) for load in loads]
        total = sum(loads, Fraction(0))
        if self.network is None:
            return Best(total, all_distances(self.topology))

        def tell(total: Fraction) -> None:
            if watch is not None:
                watch(steps, total * self.scale, self.bound * self.scale)

        tell(total)
        asked = replace(limits, steps=steps)
        return _search(self.network, asked, whole, self.bound, Clock(limits.seconds, tell), self._breadth_first(total))

    def _breadth_first(self, total: Fraction) -> Best:
        """Return BFB's arrivals, the distances."""
        assert self.network is not None
        group = translations(self.topology) if total > self.bound else None
        return Best(total, Quotient.of(self.network, group).dist, 1, group)


def _search(
    network: ArrivalNetwork, limits: SearchLimits, whole: int | None, bound: Fraction, clock: Clock, best: Best
) -> Best:
    assert limits.steps is not None
    if best.total <= bound or is_stopped():
        return best
    group, holder = best.group, [best]  # what stands when the search is interrupted
    with best_so_far(OutOfTime):
        if group is not None:
            if len(group) == network.num_nodes:
                search_alike(network, group, limits.steps, limits.chunks, whole, bound, limits.seed, clock, holder)
            else:
                _search_in_rounds(network, limits, whole, bound, clock, holder, group)
            enough = limits.rounds is not None or network.num_nodes > _ALIKE_ENOUGH
            if holder[0].total <= bound or enough:
                return holder[0]
        n = network.num_nodes
        if limits.rounds != 0 or passes_of_a_glance(n, limits.steps, network.weight.shape[1], n):
            _search_in_rounds(network, limits, whole, bound, clock, holder)
    return holder[0]


def _search_in_rounds(
    network: ArrivalNetwork,
    limits: SearchLimits,
    whole: int | None,
    bound: Fraction,
    clock: Clock,
    holder: list[Best],
    group: Ids | None = None,
) -> None:
    """Search with one piece a shard, then with several in turn, until the bound is reached or the rounds are over."""
    n, steps, chunks = network.num_nodes, limits.steps, limits.chunks
    assert steps is not None
    plan = [pieces for pieces in _PIECES if chunks is None or chunks % pieces == 0]
    most = next((rounds for nodes, rounds in _ROUNDS if n <= nodes), _FEW_ROUNDS)
    for number, pieces in enumerate(plan[: most if limits.rounds is None else max(1, limits.rounds)]):
        parts = None if whole is None else whole // pieces
        ticks = ticks_for(bound, n - 1) * (1 if number < 2 else 2) if whole is None else whole
        seed = limits.seed * len(_PIECES) + number
        search = ArrivalSearch(network, steps, pieces, ticks, parts, seed, clock, holder, group=group)
        if number == 0 and (search.rows.num_rows * n <= FEW_NODES**2 or limits.rounds != 0):
            search.run(bound, lambda: _least_in_steps(network, steps))
        elif number == 0:
            search.glance(bound, lambda: _least_in_steps(network, steps))
        else:
            passes = int(np.clip(_WORK // (n * n * pieces * steps), *_PASSES))
            search.improve(bound, Fraction(number % 3, 3), passes)
        if holder[0].total <= bound:
            return


def _least_in_steps(network: ArrivalNetwork, steps: int) -> Fraction:
    """Return the time, in shards a unit of weight, that no schedule of ``steps`` steps goes below."""
    topology = network.topology
    bound = step_bound(topology, steps).cost.bandwidth
    return bound * topology.num_nodes / (topology.degree * int(Links.of(topology, network.width).weight.max()))


def _without_gaps(step: Steps) -> Steps:
    """Number the steps at which anything arrives 1, 2, ...: an empty step would only take time."""
    used = np.bincount(step.ravel().astype(np.int64)) > 0
    number = (np.cumsum(used) - 1).astype(np.int16)
    renumbered: Steps = number[step]
    return renumbered
