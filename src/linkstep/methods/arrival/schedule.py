"""Costs and schedules by arrival times, and the trade-off between steps and bandwidth on one wiring."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linkstep.core.memo import Memo
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.stopping import is_stopped
from linkstep.core.topology import Topology
from linkstep.core.units import Number, check_count
from linkstep.costs import Cost, bandwidth_bound, cost_within
from linkstep.methods.arrival.solve import MAX_NODES, MAX_STEPS, SearchLimits, Watch, find_arrivals
from linkstep.methods.bfb import Certificate, bfb_step_times, build, certificate_of, solve
from linkstep.methods.common.arrivals import Arrivals
from linkstep.methods.common.links import Links
from linkstep.methods.common.network import all_distances

_PLAIN = SearchLimits()
_FOUND: Memo[Certificate] = Memo()


def arrival_certificate(
    topology: Topology, limits: SearchLimits = _PLAIN, *, size: Number | None = None, watch: Watch | None = None
) -> Certificate:
    """Return, for the arrivals that a search finds, what decides each step's load: no split of them takes less.

    Where links differ, distances take their place if a schedule of ``size`` bytes, or of ``chunks`` chunks, is as fast
    with these. Fewer steps than the limit are searched as well, and taken if more bring nothing; with ``rounds``, the
    search is the one that these and the steps name and no other.

    >>> ring = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
    >>> arrival_certificate(ring).cost
    Cost(steps=1, bandwidth=Fraction(2, 3))
    """
    if limits.steps is None or limits.rounds is not None or topology.num_nodes > MAX_NODES:
        return _of_arrivals(topology, limits, size, watch)
    least = certificate_of(topology, limits.width).cost.steps
    if check_count("steps", limits.steps, 1, MAX_STEPS) <= least:
        return _of_arrivals(topology, limits, size, watch)
    return _FOUND.find(topology, lambda: _of_fewer_steps(topology, limits, least, size, watch), (limits, size))


def _of_fewer_steps(
    topology: Topology, limits: SearchLimits, least: int, size: Number | None, watch: Watch | None
) -> Certificate:
    """Search in fewer steps than the limit as well, so that more are taken only where they save bandwidth."""
    best, cheapest = None, Fraction(0)
    for asked in limits.in_fewer_steps(least):
        found = _of_arrivals(topology, asked, size, watch)
        price = _price(topology, found, limits, size)
        if best is None or price < cheapest:
            best, cheapest = found, price
        if is_stopped() or (size is None and cheapest <= bandwidth_bound(topology.num_nodes)):
            break
    assert best is not None
    return best


def _of_arrivals(topology: Topology, limits: SearchLimits, size: Number | None, watch: Watch | None) -> Certificate:
    """Return the certificate of one search, or of distances where these are as good for the schedule that is made."""
    links = Links.of(topology)
    found = solve(topology, links, arrivals=find_arrivals(topology, limits, watch=watch), width=limits.width)
    by_hosts, by_time = limits.width is not None, size is not None and topology.alpha is not None
    uneven = limits.chunks is not None and np.ptp(links.weight) > 0
    if topology.num_nodes == 1 or not (by_time or uneven or by_hosts):
        return found
    breadth_first = solve(topology, links, arrivals=Arrivals(all_distances(topology)), width=limits.width)
    return min([breadth_first, found], key=lambda certificate: _price(topology, certificate, limits, size))


def _price(topology: Topology, certificate: Certificate, limits: SearchLimits, size: Number | None) -> Fraction:
    """Return what the schedule of a certificate takes: seconds where links have latencies and a size, or bandwidth."""
    if size is not None and topology.alpha is not None and limits.width is None:
        return sum(bfb_step_times(topology, size, certificate.arrivals), Fraction(0))
    if limits.chunks is not None:
        return cost_within(build(topology, certificate, limits.chunks), limits.width).bandwidth
    return certificate.cost.bandwidth


def arrival_cost(topology: Topology, limits: SearchLimits = _PLAIN, *, watch: Watch | None = None) -> Cost:
    """Return the cost of the schedule that ``arrival_allgather`` makes where shards may be cut at will."""
    return arrival_certificate(topology, limits, watch=watch).cost


def arrival_allgather(
    topology: Topology,
    limits: SearchLimits = _PLAIN,
    *,
    size: Number | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Schedule:
    """Return an allgather of little bandwidth within a number of steps, the diameter unless the limits say more.

    ``size`` counts where links differ in latency, as in ``bfb_allgather``: arrivals are chosen by bandwidth, and then
    compared with distances by time.

    >>> path = Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])
    >>> arrival_allgather(path)
    <Schedule allgather on N=3: 6 rows, 2 steps, unit 1>
    """
    certificate = arrival_certificate(topology, limits, size=size, watch=watch)
    return build(topology, certificate, limits.chunks, size, progress)
