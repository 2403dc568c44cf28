"""What stands for a wiring, or for a schedule, where a verb asks for one: the one coercion at the border.

A wiring is a ``Topology``, a recipe or its text, the path of a file, a graph of networkx or rustworkx, a list of pairs,
an adjacency matrix (``linkstep.core.foreign``), or a result that has one. Results say so themselves: ``_wiring_``
returns what a value was made on, ``_schedule_`` the schedule that it holds. A wiring stands for its allreduce, as
``linkstep.schedule`` makes it by default. Not here: reading text and files, which rooms above do
(``linkstep.core.above``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from linkstep.core.above import ABOVE
from linkstep.core.errors import LinkstepError
from linkstep.core.foreign import topology_of
from linkstep.core.schedule import Schedule
from linkstep.core.text import shown
from linkstep.core.topology import Topology

AnyPath = str | os.PathLike[str]


class HasWiring(Protocol):
    """A result that was made on a wiring, or a recipe, which is its own."""

    def _wiring_(self) -> Any:
        """Return what stands for the wiring."""


class HasSchedule(Protocol):
    """A result that holds a schedule."""

    def _schedule_(self) -> Any:
        """Return what stands for the schedule."""


class HasEdges(Protocol):
    """A graph of rustworkx. Those of networkx have no types."""

    def edge_list(self) -> Any:
        """Return pairs of nodes."""


WiringLike = Topology | Schedule | HasWiring | HasEdges | AnyPath | Sequence[Sequence[Any]] | NDArray[Any]
"""What ``as_topology`` takes."""
MadeScheduleLike = Schedule | HasSchedule | AnyPath
"""What ``as_made_schedule`` takes."""
ScheduleLike = Schedule | HasSchedule | WiringLike
"""What ``as_schedule`` takes."""

_WIRING = "a wiring (a topology, recipe, file, graph, list of pairs or matrix) or a result with one"


def as_wiring(value: Any, what: str = "topology") -> Any:
    """Return the Topology, or the Recipe, that a value stands for; LinkstepError if it stands for none.

    >>> as_wiring([("ant", "bee"), ("bee", "ant")])
    <Topology N=2 d=1 links=2>
    """
    if isinstance(value, Topology):
        return value
    if isinstance(value, Schedule):
        return value.topology
    if isinstance(value, str | os.PathLike):
        return as_wiring(ABOVE["read"](value), what)
    own = hook(value, "_wiring_")
    if own is not None:
        found = own()
        return found if found is value else as_wiring(found, what)
    graph = topology_of(value)
    if graph is None:
        raise LinkstepError(f"{what} must be {_WIRING}, not {shown(value)}")
    return graph


def as_topology(value: Any, what: str = "topology") -> Topology:
    """Return the topology that a value stands for, built where it is a recipe.

    >>> as_topology("K_{2,2}")
    <Topology 'K_{2,2}' N=4 d=2 links=8>
    """
    if isinstance(value, Topology):
        return value
    wiring = as_wiring(value, what)
    found: Topology = wiring if isinstance(wiring, Topology) else wiring.topology()
    return found


def as_schedule(value: Any, what: str = "schedule") -> Schedule:
    """Return the schedule that a value holds, or else the allreduce on the wiring that it stands for.

    >>> as_schedule("K_{2,2}")
    <Schedule allreduce on K_{2,2}: 32 rows, 4 steps, unit 2>
    """
    found = _held(value, what)
    if not isinstance(found, Schedule):
        found = ABOVE["schedule"](found)
    assert isinstance(found, Schedule)
    return found


def as_made_schedule(value: Any, what: str = "schedule") -> Schedule:
    """Return the schedule that a value holds; what is only a wiring has none.

    >>> as_made_schedule("K_{2,2}")
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: schedule: K_{2,2} is a wiring and holds no schedule: linkstep.schedule makes one
    """
    found = _held(value, what)
    if not isinstance(found, Schedule):
        name = str(getattr(found, "name", found)) or f"N={found.num_nodes}"
        raise LinkstepError(f"{what}: {name:.60} is a wiring and holds no schedule: linkstep.schedule makes one")
    return found


def holds_schedule(value: Any) -> bool:
    """Whether a value holds a schedule, and is not only a wiring on which one can be made."""
    return isinstance(value, Schedule) or hook(value, "_schedule_") is not None


def _held(value: Any, what: str) -> Any:
    """Return the schedule that a value holds, or the wiring that it stands for."""
    if isinstance(value, Schedule):
        return value
    own = hook(value, "_schedule_")
    if own is not None:
        return _held(own(), what)
    if isinstance(value, str | os.PathLike):
        return _held(ABOVE["read"](value), what)
    if isinstance(value, Topology):
        return value
    if hook(value, "_wiring_") is None and topology_of(value) is None:
        raise LinkstepError(f"{what} must be a Schedule, a result or file with one, or {_WIRING}, not {shown(value)}")
    return as_wiring(value, what)


def hook(value: object, name: str) -> Callable[[], Any] | None:
    """Return a method by which a value, not a class, says what it stands for."""
    return getattr(value, name) if callable(getattr(type(value), name, None)) else None
