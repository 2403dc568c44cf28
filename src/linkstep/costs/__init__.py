"""Exact costs, the bounds that none of them beats, and what they are worth in seconds on a fabric, given or fitted."""

from linkstep.costs.bounds import (
    all_to_all_bound,
    bandwidth_bound,
    cut_through_steps,
    distance_flow_bound,
    is_bandwidth_optimal,
    is_moore_optimal,
    lower_bound,
    moore_levels,
    moore_steps,
)
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import Fabric, check_host_limit
from linkstep.costs.fabric_files import check_fabric_path, load_fabric, save_fabric
from linkstep.costs.fabric_inputs import FabricLike, as_fabric
from linkstep.costs.fitting import Fit, fit
from linkstep.costs.loads import Loads, loads_of
from linkstep.costs.models import MODELS, CostModel, StepLoads
from linkstep.costs.runs import Run, load_runs
from linkstep.costs.seconds import bandwidth_by_step, cost_of, cost_within, seconds_by_step, seconds_of, time_of
from linkstep.costs.usual import SIZE, usual_fabric
from linkstep.costs.wiring import WiringBound, check_wiring_bound, wiring_bound
from linkstep.costs.wiring_standing import Standing, bound_if_quick, standing
from linkstep.costs.wiring_steps import StepBound, check_step_bound, step_bound

__all__ = [
    "MODELS",
    "SIZE",
    "Cost",
    "CostModel",
    "Fabric",
    "FabricLike",
    "Fit",
    "Loads",
    "Run",
    "Standing",
    "StepBound",
    "StepLoads",
    "WiringBound",
    "all_to_all_bound",
    "as_fabric",
    "bandwidth_bound",
    "bandwidth_by_step",
    "bound_if_quick",
    "check_fabric_path",
    "check_host_limit",
    "check_step_bound",
    "check_wiring_bound",
    "cost_of",
    "cost_within",
    "cut_through_steps",
    "distance_flow_bound",
    "fit",
    "is_bandwidth_optimal",
    "is_moore_optimal",
    "load_fabric",
    "load_runs",
    "loads_of",
    "lower_bound",
    "moore_levels",
    "moore_steps",
    "save_fabric",
    "seconds_by_step",
    "seconds_of",
    "standing",
    "step_bound",
    "time_of",
    "usual_fabric",
    "wiring_bound",
]
