"""Breadth-first-broadcast schedules (sec:shortestpathschedule): exact, certified, for any topology.

Each step every node receives the shards of the nodes that many hops away, over shortest paths; the only question is how
to share them out over its in-links. That is a small flow problem per node and step, solved in integers.
"""

from linkstep.methods.bfb.balanced import EqualSplit, equal_split
from linkstep.methods.bfb.cost import Certificate, StepCertificate, bfb_certificate, bfb_cost
from linkstep.methods.bfb.plain import is_plain, plain_bfb_cost
from linkstep.methods.bfb.problems import MAX_DEGREE
from linkstep.methods.bfb.schedule import bfb_allgather
from linkstep.methods.bfb.unequal import bfb_step_times, bfb_time

__all__ = [
    "MAX_DEGREE",
    "Certificate",
    "EqualSplit",
    "StepCertificate",
    "bfb_allgather",
    "bfb_certificate",
    "bfb_cost",
    "bfb_step_times",
    "bfb_time",
    "equal_split",
    "is_plain",
    "plain_bfb_cost",
]
