"""Pictures of topologies, broadcasts, schedules, frontiers, simulations and fits, as ``.svg`` or ``.png`` files.

``draw`` takes any of these. ``style`` holds what they share: colours, fonts, and how a file is written. matplotlib is
imported only when something is drawn, and nothing here decides what is drawn on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.costs import Fit
from linkstep.files import AnyPath
from linkstep.pictures.broadcast import draw_broadcast
from linkstep.pictures.fit import plot_fit
from linkstep.pictures.frontier import plot_frontier
from linkstep.pictures.schedule import draw_schedule
from linkstep.pictures.style import check_drawable
from linkstep.pictures.timeline import save_timeline
from linkstep.pictures.topology import draw_topology
from linkstep.recipe import Recipe
from linkstep.search import Answer
from linkstep.simulation import Simulation

__all__ = [
    "check_drawable",
    "draw",
    "draw_broadcast",
    "draw_schedule",
    "draw_topology",
    "plot_fit",
    "plot_frontier",
    "save_timeline",
]

_DRAWERS: tuple[tuple[type, Callable[[Any, AnyPath], None]], ...] = (
    (Topology, draw_topology),
    (Recipe, lambda recipe, path: draw_topology(recipe.topology(), path)),
    (Schedule, draw_schedule),
    (Answer, plot_frontier),
    (Simulation, save_timeline),
    (Fit, plot_fit),
)
"""What can be drawn, and by what."""


def draw(thing: Topology | Recipe | Schedule | Answer | Simulation | Fit, path: AnyPath) -> None:
    """Draw a topology, the loads of a schedule, a frontier, a timeline or a fit into a .svg or .png file.

    >>> import linkstep, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     linkstep.draw(linkstep.parse("K_5"), pathlib.Path(folder, "k5.svg"))
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['k5.svg']
    """
    for kind, drawer in _DRAWERS:
        if isinstance(thing, kind):
            return drawer(thing, path)
    raise LinkstepError(f"a {type(thing).__name__} cannot be drawn: only {', '.join(k.__name__ for k, _ in _DRAWERS)}")
