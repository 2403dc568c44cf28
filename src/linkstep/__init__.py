"""linkstep: topologies and collective schedules for clusters whose servers are wired to each other.

The verbs, in the order of a day's work: ``find`` a topology, ``wire`` it, make a ``schedule``, ``check`` and ``save``
it, ``lower`` it to a runtime, ``verify`` the file, ``simulate`` it, ``draw`` any of these. Each is imported when it is
first asked for, so that a script pays for what it uses.

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

    from linkstep.cabling import Cable, Cabling, wire
    from linkstep.core.collective import Collective
    from linkstep.core.errors import (
        EngineError,
        FileError,
        LinkstepError,
        RecipeError,
        ScheduleError,
        TopologyError,
        UnitError,
    )
    from linkstep.core.schedule import Schedule
    from linkstep.core.topology import Topology
    from linkstep.correctness import (
        check,
        check_allgather,
        check_allreduce,
        check_broadcast,
        check_reduce,
        check_reduce_scatter,
    )
    from linkstep.costs import (
        Cost,
        Fabric,
        Fit,
        Run,
        StepBound,
        WiringBound,
        cost_of,
        fit,
        load_fabric,
        load_runs,
        save_fabric,
        step_bound,
        time_of,
        wiring_bound,
    )
    from linkstep.engines import Communicator
    from linkstep.files import load, save
    from linkstep.lowering import Lowered, lower
    from linkstep.make import Made, schedule
    from linkstep.methods.bfb import Certificate, bfb_allgather, bfb_certificate, bfb_cost
    from linkstep.methods.synthesis import synthesize
    from linkstep.pictures import draw
    from linkstep.programs import Program, read_program
    from linkstep.recipe import Recipe, parse
    from linkstep.search import Answer, Choice, find
    from linkstep.selector import Rule, Selector
    from linkstep.simulation import Simulation, simulate
    from linkstep.throughput import Throughput, all_to_all
    from linkstep.verification import Report, verify

_ROOMS = {
    "linkstep.cabling": ("Cable", "Cabling", "wire"),
    "linkstep.core.collective": ("Collective",),
    "linkstep.core.errors": (
        "EngineError", "FileError", "LinkstepError", "RecipeError", "ScheduleError", "TopologyError", "UnitError",
    ),
    "linkstep.core.schedule": ("Schedule",),
    "linkstep.core.topology": ("Topology",),
    "linkstep.correctness": (
        "check", "check_allgather", "check_allreduce", "check_broadcast", "check_reduce", "check_reduce_scatter",
    ),
    "linkstep.costs": (
        "Cost", "Fabric", "Fit", "Run", "StepBound", "WiringBound", "cost_of", "fit", "load_fabric", "load_runs",
        "save_fabric", "step_bound", "time_of", "wiring_bound",
    ),
    "linkstep.engines": ("Communicator",),
    "linkstep.files": ("load", "save"),
    "linkstep.lowering": ("Lowered", "lower"),
    "linkstep.make": ("Made", "schedule"),
    "linkstep.methods.bfb": ("Certificate", "bfb_allgather", "bfb_certificate", "bfb_cost"),
    "linkstep.methods.synthesis": ("synthesize",),
    "linkstep.pictures": ("draw",),
    "linkstep.programs": ("Program", "read_program"),
    "linkstep.recipe": ("Recipe", "parse"),
    "linkstep.search": ("Answer", "Choice", "find"),
    "linkstep.selector": ("Rule", "Selector"),
    "linkstep.simulation": ("Simulation", "simulate"),
    "linkstep.throughput": ("Throughput", "all_to_all"),
    "linkstep.verification": ("Report", "verify"),
}  # fmt: skip
"""Where each public name lives."""

_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Answer",
    "Cable",
    "Cabling",
    "Certificate",
    "Choice",
    "Collective",
    "Communicator",
    "Cost",
    "EngineError",
    "Fabric",
    "FileError",
    "Fit",
    "LinkstepError",
    "Lowered",
    "Made",
    "Program",
    "Recipe",
    "RecipeError",
    "Report",
    "Rule",
    "Run",
    "Schedule",
    "ScheduleError",
    "Selector",
    "Simulation",
    "StepBound",
    "Throughput",
    "Topology",
    "TopologyError",
    "UnitError",
    "WiringBound",
    "__version__",
    "all_to_all",
    "bfb_allgather",
    "bfb_certificate",
    "bfb_cost",
    "check",
    "check_allgather",
    "check_allreduce",
    "check_broadcast",
    "check_reduce",
    "check_reduce_scatter",
    "cost_of",
    "draw",
    "find",
    "fit",
    "load",
    "load_fabric",
    "load_runs",
    "lower",
    "parse",
    "read_program",
    "save",
    "save_fabric",
    "schedule",
    "simulate",
    "step_bound",
    "synthesize",
    "time_of",
    "verify",
    "wire",
    "wiring_bound",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _ROOM_OF:
        raise AttributeError(f"module 'linkstep' has no attribute {name!r}")
    value = getattr(import_module(_ROOM_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
