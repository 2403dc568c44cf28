"""Pictures of topologies, broadcasts, schedules, frontiers, simulations and fits, as ``.svg`` or ``.png`` files.

``draw`` takes any of these. ``style`` holds what they share: colours, fonts, and how a file is written. matplotlib is
imported only when something is drawn, and nothing here decides what is drawn on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from linkstep.core.inputs import ScheduleLike, as_made_schedule, as_topology, holds_schedule
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.costs import Fit
from linkstep.files import AnyPath, to_path
from linkstep.pictures.broadcast import draw_broadcast
from linkstep.pictures.fit import plot_fit
from linkstep.pictures.frontier import plot_frontier
from linkstep.pictures.schedule import draw_schedule
from linkstep.pictures.style import check_drawable
from linkstep.pictures.timeline import save_timeline
from linkstep.pictures.topology import draw_topology
from linkstep.pictures.tradeoff import plot_trade_off
from linkstep.recipe import Recipe
from linkstep.recipe.resolution import read
from linkstep.scheduling import TradeOff
from linkstep.search import Answer, Choice
from linkstep.simulation import Simulation
from linkstep.timelines import Timeline

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

_DRAWERS: tuple[tuple[type, Callable[[Any, AnyPath | None], Any]], ...] = (
    (Topology, draw_topology),
    (Recipe, lambda recipe, path: draw_topology(recipe.topology(), path)),
    (Choice, lambda choice, path: draw_topology(choice.topology(), path)),
    (Schedule, draw_schedule),
    (Answer, plot_frontier),
    (Simulation, save_timeline),
    (Timeline, save_timeline),
    (Fit, plot_fit),
    (TradeOff, lambda points, path: plot_trade_off(points, points.name, points.bound, path)),
)
"""What can be drawn, and by what; all else as the schedule that it holds, or as the wiring that it stands for."""


def draw(thing: ScheduleLike | Answer | Simulation | Timeline | Fit | TradeOff, path: AnyPath | None = None) -> Any:
    """Draw a topology, the loads of a schedule, a frontier, a trade-off, a timeline or a fit; return the figure.

    The figure is one of matplotlib. With a path it is written to a .svg or .png file too.

    >>> import linkstep, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     figure = linkstep.draw("K_5", pathlib.Path(folder, "k5.svg"))
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['k5.svg']
    """
    given: Any = read(thing) if isinstance(thing, str | PathLike) else thing
    if path is not None:
        to_path(path)
    for kind, drawer in _DRAWERS:
        if isinstance(given, kind):
            return drawer(given, path)
    if holds_schedule(given):
        return draw_schedule(as_made_schedule(given), path)
    return draw_topology(as_topology(given, "what is drawn"), path)
