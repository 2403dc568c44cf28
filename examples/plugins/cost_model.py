"""A cost model of one's own: ranks that wait for each other at the end of every step.

A fabric file says how long: {"format": "linkstep-fabric", "version": 1, "alpha": "10us", "bandwidth": "100Gbps",
"degree": 4, "sync": "3us"}; in Python, linkstep.Fabric.of("10us", "100Gbps", 4, sync="3us").

Try: `linkstep schedule 'K_{4,4}' --fabric slow.json --plugin examples/plugins/cost_model.py`.
"""

from fractions import Fraction

import linkstep
from linkstep.costs import CostModel, StepLoads


def sync(step: StepLoads, fabric: linkstep.Fabric) -> Fraction:
    """Return the seconds that every step takes besides, exactly."""
    return fabric.number("sync")


linkstep.register(CostModel("sync", "ranks that wait for each other", members=("sync",), step=sync, adds=True))
