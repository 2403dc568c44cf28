"""Schedules by arrival times: shards may reach nodes later than over shortest paths, which spreads them over links.

Give every shard (or piece of one) and every node a step of arrival; a node receives it at that step from in-neighbours
that have it already. Any split over those links is legal, so costs, certificates and integral flows are those of BFB
(``linkstep.methods.bfb``) with arrivals in place of distances. Here arrivals are chosen.
"""

from linkstep.methods.arrival.schedule import arrival_allgather, arrival_certificate, arrival_cost
from linkstep.methods.arrival.solve import MAX_STEPS, SearchLimits, Watch, arrival_costs, find_arrivals
from linkstep.methods.arrival.starts import find_arrivals_from

__all__ = [
    "MAX_STEPS",
    "SearchLimits",
    "Watch",
    "arrival_allgather",
    "arrival_certificate",
    "arrival_cost",
    "arrival_costs",
    "find_arrivals",
    "find_arrivals_from",
]
