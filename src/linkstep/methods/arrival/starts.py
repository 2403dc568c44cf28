"""Arrivals of shards that are not there from the beginning: each is at its node at the end of a step of its own.

Half of an allreduce that overlaps with the other is that. Not here: when shards start (``linkstep.methods.overlap``).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linkstep.core.stopping import best_so_far
from linkstep.core.topology import Ints
from linkstep.methods.arrival.best import Best
from linkstep.methods.arrival.search import ArrivalSearch, ticks_for
from linkstep.methods.arrival.solve import FEW_NODES, SearchLimits
from linkstep.methods.common.arrivals import Steps
from linkstep.methods.common.budget import Clock, OutOfTime
from linkstep.methods.common.network import MAX_LINKS, ArrivalNetwork


def find_arrivals_from(network: ArrivalNetwork, limits: SearchLimits, steps: int, start: Ints) -> tuple[Steps, int]:
    """Return arrivals, and how many pieces a shard has, where each shard is at its node at the end of a step."""
    first = int(start.min())
    begin = (start - first).astype(np.int16)
    fallback: Steps = network.dist + begin + np.int16(first)
    if int(network.near_count.max()) > MAX_LINKS or network.num_nodes == 1:
        return fallback, 1
    bound = network.least_total()
    holder = [Best(Fraction(network.num_nodes), network.dist + begin)]
    plan = [p for p in (1, 2, 1, 2)[: 1 if limits.rounds is not None else 4] if (limits.chunks or p) % p == 0]
    with best_so_far(OutOfTime):
        for number, pieces in enumerate(plan):
            parts = None if limits.chunks is None else limits.chunks // pieces
            ticks = limits.chunks or ticks_for(bound, network.num_nodes - 1)
            clock = Clock(limits.seconds)
            search = ArrivalSearch(
                network, steps - first, pieces, ticks, parts, limits.seed * len(plan) + number, clock, holder, begin
            )
            if number == 0 and (network.num_nodes <= FEW_NODES or limits.rounds != 0):
                search.run(bound)
            elif number == 0:
                search.glance(bound)
            else:
                search.improve(bound, Fraction(number % 3, 3), 40)
            if holder[0].total <= bound:
                break
    return holder[0].step + np.int16(first), holder[0].pieces
