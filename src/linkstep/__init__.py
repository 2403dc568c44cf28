"""linkstep: topologies and collective schedules for clusters whose servers are wired to each other.

>>> import linkstep
>>> topology = linkstep.parse("L^3(C(16,{3,4}))").topology()
>>> topology.num_nodes, topology.degree
(1024, 4)
"""

from linkstep._version import __version__
from linkstep.core import symmetry
from linkstep.core.errors import FileError, LinkstepError, RecipeError, ScheduleError, TopologyError, UnitError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check, check_allgather, check_allreduce, check_reduce_scatter
from linkstep.costs import Cost, Fabric, cost_of
from linkstep.files import load, save
from linkstep.methods.bfb import bfb_allgather, bfb_certificate, bfb_cost
from linkstep.recipe import Recipe, parse
from linkstep.search import find

__all__ = [
    "Cost",
    "Fabric",
    "FileError",
    "LinkstepError",
    "Recipe",
    "RecipeError",
    "Schedule",
    "ScheduleError",
    "Topology",
    "TopologyError",
    "UnitError",
    "__version__",
    "bfb_allgather",
    "bfb_certificate",
    "bfb_cost",
    "check",
    "check_allgather",
    "check_allreduce",
    "check_reduce_scatter",
    "cost_of",
    "find",
    "load",
    "parse",
    "save",
    "symmetry",
]
