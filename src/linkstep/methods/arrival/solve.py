"""Arrivals of least bandwidth for a number of steps: what is searched, in which order, and when it ends.

BFB's arrivals, the distances, are where every search starts, so nothing that comes out is worse. Not here: the search
for one number of pieces (``linkstep.methods.arrival.search``), costs and schedules (``linkstep.methods.bfb``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology, check_connected
from linkstep.core.units import check_count
from linkstep.costs import step_bound, wiring_bound
from linkstep.methods.arrival.alike import search_alike
from linkstep.methods.arrival.network import MAX_LINKS, Network, all_distances, most_neighbours
from linkstep.methods.arrival.search import Best, Clock, OutOfTime, Search, Steps, ticks_for
from linkstep.methods.bfb import bfb_certificate
from linkstep.methods.bfb.problems import Arrivals, Links
from linkstep.methods.bfb.translations import translations

Watch = Callable[[int, Fraction, Fraction], None]
"""Called with (steps, T_B so far, the bound on T_B that the nodes' links set) as a search goes on."""

MAX_STEPS = 2**12
MAX_NODES = 2**13
"""A search keeps several tables of N^2 entries."""
_PIECES = (1, 2, 1, 2, 4, 1, 2, 3, 6, 4, 6, 5)
"""Pieces of a shard in each round of a search: irregular graphs need several."""
_ROUNDS = ((64, len(_PIECES)), (300, 8))
"""Rounds up to so many nodes; ``_FEW_ROUNDS`` above."""
_FEW_ROUNDS = 3
_TOO_MANY = 1024
"""Above this even the shortest search takes long; only one that is asked for is run."""
_FEW_NODES = 150
"""Up to here the first round takes a second at most, so it is never cut short."""
_WORK = 2 * 10**8
_PASSES = 40, 1200
"""Passes of a round: as many as do this much work (nodes times pieces times steps), within these limits."""
_QUICK_FLOWS = 10**6
"""Nodes times links times steps up to which the bound for a number of steps is found in a second."""
_ALIKE_ENOUGH = 1024
"""Nodes up to which arrivals that differ from node to node are tried where alike ones miss the bound."""


@dataclass(frozen=True)
class Wish:
    """What is asked of a search."""

    steps: int | None = None
    """The most steps; None: the diameter."""
    chunks: int | None = None
    """Chunks that a shard will be cut into; None: any number."""
    seconds: float | None = None
    seed: int = 0
    rounds: int | None = None
    """Rounds of the search; None: as many as there are, 0: only the beginning of the first."""


def find_arrivals(topology: Topology, wish: Wish, *, watch: Watch | None = None) -> Arrivals:
    """Return arrivals within a number of steps that take as little bandwidth as a search finds; kept with the topology.

    Stopped by time, or by a ``KeyboardInterrupt``, it returns the best so far.
    """
    check_connected(topology)
    key = "arrivals", wish
    if key not in topology.derived:
        topology.derived[key] = _find(topology, wish, watch)
    found: Arrivals = topology.derived[key]
    return found


def _find(topology: Topology, wish: Wish, watch: Watch | None) -> Arrivals:
    if topology.num_nodes == 1:
        return Arrivals(np.zeros((1, 1), np.int16))
    links = Links.of(topology)
    chunks = None if wish.chunks is None else check_count("chunks", wish.chunks, 1, 10**6)
    certificate = bfb_certificate(topology)
    steps = certificate.cost.steps if wish.steps is None else check_count("steps", wish.steps, 1, MAX_STEPS)
    if steps < certificate.cost.steps:
        raise LinkstepError(
            f"steps must be at least the diameter, {certificate.cost.steps}: a shard moves one link a step, not {steps}"
        )
    fastest = int(links.weight.max())
    loads = [step.load / fastest for step in certificate.steps]
    # Where chunks take longer on some links than on others, arrivals are compared as if shards were cut at will.
    whole = chunks if int(links.weight.min()) == fastest else None
    if whole is not None:
        loads = [Fraction(ceil(load * whole), whole) for load in loads]
    if topology.num_nodes > MAX_NODES:
        raise LinkstepError(f"arrival times are searched for up to {MAX_NODES} nodes, not {topology.num_nodes}")
    if most_neighbours(topology) > MAX_LINKS:
        return Arrivals(all_distances(topology))
    network = Network.of(topology)
    best = Best(sum(loads, Fraction(0)), network.dist)
    bound = network.least_total()  # what the search aims at and stops at
    scale = Fraction(topology.degree * fastest, topology.num_nodes)

    def tell(total: Fraction) -> None:
        if watch is not None:
            watch(steps, total * scale, bound * scale)

    tell(best.total)
    asked = replace(wish, steps=steps)
    best = _search(topology, network, asked, whole, bound, Clock(wish.seconds, tell), best)
    return Arrivals(_without_gaps(best.step), best.pieces, best.group)


def _search(
    topology: Topology, network: Network, wish: Wish, whole: int | None, bound: Fraction, clock: Clock, best: Best
) -> Best:
    assert wish.steps is not None
    if best.total <= bound:
        return best
    holder = [best]  # what stands when the search is interrupted
    try:
        group = translations(topology)
        if group is not None and len(group) == network.num_nodes:
            search_alike(network, group, wish.steps, wish.chunks, whole, bound, wish.seed, clock, holder)
            enough = wish.rounds is not None or network.num_nodes > _ALIKE_ENOUGH
            if holder[0].total <= bound or enough:
                return holder[0]
        if wish.rounds == 0 and network.num_nodes > _TOO_MANY:
            return holder[0]
        _search_in_rounds(network, wish, whole, bound, clock, holder)
    except (OutOfTime, KeyboardInterrupt):
        pass
    return holder[0]


def _search_in_rounds(
    network: Network, wish: Wish, whole: int | None, bound: Fraction, clock: Clock, holder: list[Best]
) -> None:
    """Search with one piece a shard, then with several in turn, until the bound is reached or the rounds are over."""
    n, steps, chunks = network.num_nodes, wish.steps, wish.chunks
    assert steps is not None
    plan = [pieces for pieces in _PIECES if chunks is None or chunks % pieces == 0]
    most = next((rounds for nodes, rounds in _ROUNDS if n <= nodes), _FEW_ROUNDS)
    for number, pieces in enumerate(plan[: most if wish.rounds is None else max(1, wish.rounds)]):
        parts = None if whole is None else whole // pieces
        ticks = ticks_for(bound, n - 1) * (1 if number < 2 else 2) if whole is None else whole
        search = Search(network, steps, pieces, ticks, parts, wish.seed * len(_PIECES) + number, clock, holder)
        if number == 0 and (n <= _FEW_NODES or wish.rounds != 0):
            search.run(bound)
        elif number == 0:
            search.glance(bound)
        else:
            passes = int(np.clip(_WORK // (n * n * pieces * steps), *_PASSES))
            search.improve(bound, Fraction(number % 3, 3), passes)
        if holder[0].total <= bound:
            return


def _wiring_total(topology: Topology, network: Network, steps: int) -> Fraction:
    """Return the time that no schedule of so many steps goes below on this wiring, as far as that is quick to find."""
    quick = steps * topology.num_links * topology.num_nodes <= _QUICK_FLOWS
    bound = step_bound(topology, steps) if quick else wiring_bound(topology)
    return bound.cost.bandwidth * topology.num_nodes / (topology.degree * int(Links.of(topology).weight.max()))


def _without_gaps(step: Steps) -> Steps:
    """Number the steps at which anything arrives 1, 2, ...: an empty step would only take time."""
    used = np.bincount(step.ravel().astype(np.int64)) > 0
    number = (np.cumsum(used) - 1).astype(np.int16)
    renumbered: Steps = number[step]
    return renumbered
