"""Emulated testbeds: a topology as Linux network namespaces on one machine, whose cables have real rates and delays.

Needs Linux, root and iproute2. Not here: what runs on it. docs/guides/testbed.md says what it models and what it does
not.
"""

from linkstep.engines.testbed.commands import become, run_on_all
from linkstep.engines.testbed.lifecycle import (
    Health,
    TrunkStatus,
    check_sizes,
    check_whole,
    cut,
    down,
    health,
    load,
    mend,
    scale,
    status,
    up,
)
from linkstep.engines.testbed.network import check_possible
from linkstep.engines.testbed.prediction import predict_time
from linkstep.engines.testbed.routes import Route, find_routes
from linkstep.engines.testbed.state import names
from linkstep.engines.testbed.testbed import Testbed
from linkstep.engines.testbed.trunks import Trunk, trunks_left, trunks_of

__all__ = [
    "Health",
    "Route",
    "Testbed",
    "Trunk",
    "TrunkStatus",
    "become",
    "check_possible",
    "check_sizes",
    "check_whole",
    "cut",
    "down",
    "find_routes",
    "health",
    "load",
    "mend",
    "names",
    "predict_time",
    "run_on_all",
    "scale",
    "status",
    "trunks_left",
    "trunks_of",
    "up",
]
