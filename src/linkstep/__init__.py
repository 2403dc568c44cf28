"""linkstep: topologies and collective schedules for clusters whose servers are wired to each other.

>>> import linkstep
>>> topology = linkstep.parse("L^3(C(16,{3,4}))").topology()
>>> topology.num_nodes, topology.degree
(1024, 4)
"""

from linkstep import symmetry
from linkstep._version import __version__
from linkstep.bfb import bfb_allgather, bfb_certificate, bfb_cost
from linkstep.check import check, check_allgather, check_allreduce, check_reduce_scatter
from linkstep.cost import Cost, Fabric, cost_of
from linkstep.errors import FileError, LinkstepError, RecipeError, ScheduleError, TopologyError, UnitError
from linkstep.files import load, save
from linkstep.recipe import Recipe, parse
from linkstep.schedule import Schedule
from linkstep.topology import Topology

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
    "load",
    "parse",
    "save",
    "symmetry",
]
