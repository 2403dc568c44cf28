"""Other schedules of the same wires: what people run on them today, and plain BFB where ours is made otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from linkstep.baselines import Baseline, baselines_on
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.explorer.panels.schedule import Beside
from linkstep.recipe import Recipe, parse
from linkstep.reports.pricing import Pricing
from linkstep.scheduling import ScheduleResult, schedule

_MOST_NODES = 1024
"""Hosts up to which other schedules are made where nobody asked for them: seconds each."""
_MOST_ROWS = 3 * 10**6
"""Rows of all of them together: a browser holds those of a page, and they are made in seconds."""


def beside_of(made: ScheduleResult, pricing: Pricing, recipe: Recipe | None = None) -> tuple[Beside, ...]:
    """Return others of the same wires and collective, the one in common use first.

    >>> from linkstep.explorer.documents import usual_pricing
    >>> [one.name for one in beside_of(schedule("Torus(4,4)"), usual_pricing())]
    ['torus rings', 'Swing', 'Bruck']
    """
    mine = made.schedule
    if mine.collective.exchanges or not mine.ranks.is_everyone or not 1 < mine.topology.num_nodes <= _MOST_NODES:
        return ()
    found: list[Beside] = []
    left = _MOST_ROWS
    for one in _others(made, pricing, recipe or _recipe_of(mine.topology)):
        other = one.schedule
        if other is None or other.num_rows > left:
            found.append(replace(one, schedule=None))
        elif _same_links(other.topology, mine.topology):
            found.append(replace(one, schedule=replace(other, topology=mine.topology)))
            left -= other.num_rows
    return tuple(found)


def _same_links(one: Topology, other: Topology) -> bool:
    return np.array_equal(one.tail, other.tail) and np.array_equal(one.head, other.head)


def _others(made: ScheduleResult, pricing: Pricing, recipe: Recipe | None) -> Iterator[Beside]:
    mine, root = made.schedule, _root(made.schedule)
    for row in () if recipe is None else baselines_on(recipe):
        if not row.row.is_ours and row.row.key != mine.method:
            yield Beside(row.row.key, row.name, _traditional(row, made, pricing, root))
    if made.method != "bfb":
        try:
            plain = schedule(mine.topology, mine.collective, method="bfb", root=root, fabric=made.fabric)
        except LinkstepError:
            return
        yield Beside("bfb", "breadth-first broadcast", plain.schedule)


def _traditional(row: Baseline, made: ScheduleResult, pricing: Pricing, root: int) -> Schedule | None:
    """Return a baseline's schedule of the collective, as deep as the size wants; None where it may have too many rows.

    Those that use all ports cut a shard into a part for each: that is how many rows they have, and it is known before.
    """
    collective, n = made.schedule.collective, row.num_nodes
    if n * (n - 1) * row.recipe.degree * len(collective.phases) > _MOST_ROWS:
        return None
    depth, is_rooted = row.pipeline_for(pricing.fabric_for(row.recipe.degree), pricing.size, collective)
    return row.schedule(collective, root=root, depth=depth, is_rooted=is_rooted)


def _recipe_of(topology: Topology) -> Recipe | None:
    """Return the recipe that a topology is named by, if that builds these links."""
    try:
        return parse(topology.name) if topology.name else None
    except LinkstepError:
        return None


def _root(mine: Schedule) -> int:
    return int(mine.source[0]) if mine.collective.has_root and mine.num_rows else 0
