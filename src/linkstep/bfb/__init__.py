"""Breadth-first-broadcast schedules (sec:shortestpathschedule): exact, certified, for any topology.

Each step every node receives the shards of the nodes that many hops away, over shortest paths; the only question is how
to share them out over its in-links. That is a small flow problem per node and step, solved in integers.
"""

from linkstep.bfb._cost import Certificate, StepCertificate, bfb_certificate, bfb_cost
from linkstep.bfb._hetero import bfb_step_times, bfb_time
from linkstep.bfb._problems import MAX_DEGREE
from linkstep.bfb._schedule import bfb_allgather

__all__ = [
    "MAX_DEGREE",
    "Certificate",
    "StepCertificate",
    "bfb_allgather",
    "bfb_certificate",
    "bfb_cost",
    "bfb_step_times",
    "bfb_time",
]
