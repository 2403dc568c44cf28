"""Costs and schedules by arrival times, and the trade-off between steps and bandwidth on one wiring."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import Number
from linkstep.costs import Cost, cost_of
from linkstep.methods.arrival.network import all_distances
from linkstep.methods.arrival.solve import Watch, Wish, find_arrivals
from linkstep.methods.bfb import Certificate, bfb_step_times
from linkstep.methods.bfb.cost import solve
from linkstep.methods.bfb.problems import Arrivals, Links, Progress
from linkstep.methods.bfb.schedule import build

_PLAIN = Wish()


def arrival_certificate(
    topology: Topology, wish: Wish = _PLAIN, *, size: Number | None = None, watch: Watch | None = None
) -> Certificate:
    """Return, for the arrivals that a search finds, what decides each step's load: no split of them takes less.

    Where links differ, distances take their place if a schedule of ``size`` bytes, or of so many chunks, is as fast
    with these.

    >>> ring = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
    >>> arrival_certificate(ring).cost
    Cost(steps=1, bandwidth=Fraction(2, 3))
    """
    links = Links.of(topology)
    found = solve(topology, links, arrivals=find_arrivals(topology, wish, watch=watch))
    by_time = size is not None and topology.alpha is not None
    if topology.num_nodes == 1 or not (by_time or (wish.chunks is not None and np.ptp(links.weight) > 0)):
        return found
    breadth_first = solve(topology, links, arrivals=Arrivals(all_distances(topology)))

    def price(certificate: Certificate) -> Fraction:
        if by_time:
            assert size is not None
            return sum(bfb_step_times(topology, size, certificate.arrivals), Fraction(0))
        return cost_of(build(topology, certificate, wish.chunks)).bandwidth

    return min([breadth_first, found], key=price)


def arrival_cost(topology: Topology, wish: Wish = _PLAIN, *, watch: Watch | None = None) -> Cost:
    """Return the cost of the schedule that ``arrival_allgather`` makes where shards may be cut at will."""
    return arrival_certificate(topology, wish, watch=watch).cost


def arrival_allgather(
    topology: Topology,
    wish: Wish = _PLAIN,
    *,
    size: Number | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Schedule:
    """Return an allgather of little bandwidth within a number of steps, the diameter unless the wish says more.

    ``size`` counts where links differ in latency, as in ``bfb_allgather``: arrivals are chosen by bandwidth, and then
    compared with distances by time.

    >>> path = Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])
    >>> arrival_allgather(path)
    <Schedule allgather on N=3: 6 rows, 2 steps, unit 1>
    """
    certificate = arrival_certificate(topology, wish, size=size, watch=watch)
    return build(topology, certificate, wish.chunks, size, progress)
