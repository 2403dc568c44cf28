"""Exact costs, the bounds that none of them beats, and what they are worth in seconds on a fabric."""

from linkstep.costs.bounds import (
    all_to_all_bound,
    bandwidth_bound,
    distance_flow_bound,
    is_bandwidth_optimal,
    is_moore_optimal,
    lower_bound,
    moore_levels,
    moore_steps,
)
from linkstep.costs.cost import Cost, cost_of, time_of
from linkstep.costs.distances import Distances, measure_distances
from linkstep.costs.fabric import Fabric

__all__ = [
    "Cost",
    "Distances",
    "Fabric",
    "all_to_all_bound",
    "bandwidth_bound",
    "cost_of",
    "distance_flow_bound",
    "is_bandwidth_optimal",
    "is_moore_optimal",
    "lower_bound",
    "measure_distances",
    "moore_levels",
    "moore_steps",
    "time_of",
]
