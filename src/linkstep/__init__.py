"""linkstep: topologies and collective schedules for clusters whose servers are wired to each other.

>>> import linkstep
>>> topology = linkstep.parse("L^3(C(16,{3,4}))").topology()
>>> topology.num_nodes, topology.degree
(1024, 4)
"""

from __future__ import annotations

from linkstep._version import __version__

TYPE_CHECKING = False  # type checkers take it for True; importing ``typing`` takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from linkstep.core import symmetry
    from linkstep.core.errors import FileError, LinkstepError, RecipeError, ScheduleError, TopologyError, UnitError
    from linkstep.core.schedule import Schedule
    from linkstep.core.topology import Topology
    from linkstep.correctness import check, check_allgather, check_allreduce, check_reduce_scatter
    from linkstep.costs import Cost, Fabric, cost_of
    from linkstep.files import load, save
    from linkstep.methods.bfb import bfb_allgather, bfb_certificate, bfb_cost
    from linkstep.recipe import Recipe, parse

_HOMES = {
    "core": ("symmetry",),
    "core.errors": ("FileError", "LinkstepError", "RecipeError", "ScheduleError", "TopologyError", "UnitError"),
    "core.schedule": ("Schedule",),
    "core.topology": ("Topology",),
    "correctness": ("check", "check_allgather", "check_allreduce", "check_reduce_scatter"),
    "costs": ("Cost", "Fabric", "cost_of"),
    "files": ("load", "save"),
    "methods.bfb": ("bfb_allgather", "bfb_certificate", "bfb_cost"),
    "recipe": ("Recipe", "parse"),
}
"""Where the public names are defined. Each is imported when it is first used: a command that needs no compiled kernels
starts without them, and an interrupt while they are imported reaches the command."""

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


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            module = import_module(f"linkstep.{home}.{name}" if home == "core" else f"linkstep.{home}")
            value = globals()[name] = module if home == "core" else getattr(module, name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
