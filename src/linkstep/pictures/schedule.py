"""Pictures of schedules: how much links carry at each step, the busiest beside the mean.

The busiest link's loads add up to T_B; where the mean stays below it, links have nothing to carry. Not here: where one
shard goes (``broadcast``), and what happens when a schedule runs (``timeline``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkstep.core.schedule import Schedule
from linkstep.core.text import shortened
from linkstep.core.topology import Ints
from linkstep.files import AnyPath
from linkstep.pictures.style import BLUE, ORANGE, Fill, save_picture

_MOST_TICKS = 16


def step_loads(schedule: Schedule) -> tuple[Ints, Ints]:
    """Return what the busiest link, and all links together, carry at each step, in 1 / ``unit`` of a shard.

    >>> import linkstep
    >>> busiest, all_links = step_loads(linkstep.parse("UniRing(1,3)").build())
    >>> busiest.tolist(), all_links.tolist()
    ([1, 1], [3, 3])
    """
    links, steps = schedule.topology.num_links, schedule.num_steps
    busiest, total = np.zeros(steps, np.int64), np.zeros(steps, np.int64)
    ends = np.searchsorted(schedule.step, np.arange(1, steps + 2))
    for k in range(steps):
        rows = slice(ends[k], ends[k + 1])
        loads = np.zeros(links, np.int64)
        np.add.at(loads, schedule.link[rows], schedule.hi[rows] - schedule.lo[rows])
        busiest[k], total[k] = loads.max(initial=0), loads.sum()
    return busiest, total


def _fill(schedule: Schedule) -> Fill:
    def fill(figure: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        figure.set_layout_engine("constrained")
        axes = figure.add_subplot()
        busiest, total = step_loads(schedule)
        steps = np.arange(1, schedule.num_steps + 1)
        axes.bar(steps, busiest / schedule.unit, width=0.8, color=BLUE, label="busiest link")
        mean = total / schedule.unit / max(schedule.topology.num_links, 1)
        look: Any = {"color": ORANGE, "marker": "D", "linestyle": "none", "markeredgecolor": "white"}
        axes.plot(steps, mean, label="mean over links", **look)
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS, integer=True))
        axes.set_xlabel("step")
        axes.set_ylabel("load, in shards")
        topology = schedule.topology
        name = shortened(topology.name, 40) or f"N = {topology.num_nodes}, d = {topology.degree}"
        axes.set_title(f"{name}: {schedule.collective}, {schedule.num_steps} steps", fontsize=11)
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)

    return fill


def draw_schedule(schedule: Schedule, path: AnyPath | None) -> Any:
    """Draw what each step loads the links with, into a .svg or .png file if there is a path; return the figure."""
    return save_picture(_fill(schedule), path, (8.0, 4.5))
