"""Breadth-first-broadcast schedules (sec:shortestpathschedule): exact, certified, for any topology.

Each step every node receives the shards of the nodes that many hops away, over shortest paths; the only question is how
to share them out over its in-links. That is a small flow problem per node and step, solved in integers.
"""

from linkstep.methods.bfb.balanced import EqualSplit, equal_split, is_equal_split_quick
from linkstep.methods.bfb.cost import Certificate, StepCertificate, bfb_certificate, bfb_cost, certificate_of, solve
from linkstep.methods.bfb.plain import is_plain, plain_bfb_cost
from linkstep.methods.bfb.schedule import bfb_allgather, build
from linkstep.methods.bfb.unequal import bfb_step_times, bfb_time
from linkstep.methods.common.links import MAX_DEGREE

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
    "build",
    "certificate_of",
    "equal_split",
    "is_equal_split_quick",
    "is_plain",
    "plain_bfb_cost",
    "solve",
]
