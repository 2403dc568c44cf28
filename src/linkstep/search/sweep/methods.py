"""The ways to search for topologies, as rows of one table: each returns the recipes of the few best graphs it found.

Best is what has the least diameter, then the shortest distances; schedules are scored exactly by ``entry_of``, the same
for all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from linkstep.core.errors import LinkstepError
from linkstep.core.stopping import best_so_far, is_stopped
from linkstep.costs import moore_steps
from linkstep.recipe import Line, Recipe
from linkstep.search.sweep.cayley import search_cayley
from linkstep.search.sweep.expansions import search_expansions
from linkstep.search.sweep.grafts import search_grafts
from linkstep.search.sweep.job import LISTED, SweepJob
from linkstep.search.sweep.lifts import has_lifts, search_lifts
from linkstep.search.sweep.lines import bases, has_lines, search_lines
from linkstep.search.sweep.members import search_members
from linkstep.symmetry.distances import measure_distances


@dataclass(frozen=True)
class Sweep:
    """A way to search for topologies of given N, d and kind."""

    name: str
    title: str
    applies: Callable[[SweepJob], bool]
    """Whether it may find something; without searching."""
    search: Callable[[SweepJob], list[Recipe]]
    share: int
    """Its share of the budget in ``search_best``, relative to those of the other rows; 0: it takes no part there."""
    weight: Callable[[SweepJob], int] = lambda job: 1
    """The time that it takes to try one graph, in units of the time for one lift."""
    quick: Callable[[SweepJob], bool] = lambda job: True
    """Whether it starts without a delay of seconds, which listing the groups of a large order takes."""
    is_scored_whole: bool = False
    """Whether everything it finds is scored; else scoring ends at the first that is optimal in steps and bandwidth."""


SWEEPS = (
    Sweep(
        name="cayley",
        title="Cayley digraphs of the groups with N elements",
        applies=lambda job: True,
        search=search_cayley,
        share=1,
        weight=lambda job: max(1, 2**job.degree // 200),  # schedules are scored, over sets of links
        quick=lambda job: job.num_nodes <= 256,
    ),
    Sweep(
        name="lift",
        title="lifts over cyclic and semidirect groups",
        applies=has_lifts,
        search=search_lifts,
        share=16,
    ),
    Sweep(
        name="line",
        title="line graphs of lifts and Cayley digraphs",
        applies=has_lines,
        search=search_lines,
        share=8,
        quick=lambda job: job.num_nodes <= 256 * job.degree,
    ),
    Sweep(
        name="graft",
        title="nodes put in or taken out of what is known near N, then links swapped",
        applies=lambda job: job.degree > 1 and not (job.bidirectional and job.num_nodes * job.degree % 2),
        search=search_grafts,
        share=4,
        weight=lambda job: 4,
    ),
    Sweep(
        name="expansion",
        title="what the finder expands smaller topologies to",
        applies=lambda job: True,
        search=search_expansions,
        share=0,
    ),
    Sweep(
        name=LISTED,
        title="members of families and expansions that the catalog does not beat yet",
        applies=lambda job: True,
        search=search_members,
        share=0,
        is_scored_whole=True,
    ),
)


def search_best(job: SweepJob) -> list[Recipe]:
    """Return what all rows that apply, and start at once, find with their shares of the budget."""
    rows = [row for row in SWEEPS if row.share and row.applies(job) and row.quick(job)]
    parts = sum(row.share for row in rows)
    found: list[Recipe] = []
    with best_so_far():
        for row in rows:
            budget = max(1, job.budget * row.share // (parts * row.weight(job)))
            found += row.search(replace(job, budget=budget, method=row.name))
            if is_stopped():
                break
    return list(dict.fromkeys(found))


KNOWN_NODES = 1024
"""Up to this many nodes what line graphs start from is known, and the finder expands it."""
GRAFTED_NODES = 2**14
"""Up to this many nodes grafts are tried; to cost one takes seconds there, since no node stands for another."""
NEAR = 3
"""Steps above the Moore bound within which a lift needs no graft beside it."""
GRAFT_PART = 10
"""One graft is tried for this many lifts."""


def search_large(job: SweepJob) -> list[Recipe]:
    """Return the best lift of many nodes found, the best line graphs of smaller ones, and grafts where these are far.

    Unlike ``search_best`` no groups are listed, and of lifts nothing is measured from every node.
    """
    sizes = [(0, job.num_nodes), *((times, nodes) for times, nodes in bases(job) if nodes > KNOWN_NODES)]
    found: list[Recipe] = []
    for times, nodes in sizes:
        lifts = search_lifts(replace(job, num_nodes=nodes, budget=max(1, job.budget // len(sizes))))
        found += [Line(lift, times) if times else lift for lift in lifts[:1]]
        if is_stopped():
            return found
    enough = moore_steps(job.num_nodes, job.degree, bidirectional=job.bidirectional) + NEAR
    is_near = any(measure_distances(recipe.topology()).diameter <= enough for recipe in found)
    if not is_near and job.num_nodes <= GRAFTED_NODES:
        found += search_grafts(replace(job, budget=max(1, job.budget // GRAFT_PART)))
    return found


_BY_NAME = {row.name: row.search for row in SWEEPS} | {"best": search_best}
METHODS = tuple(_BY_NAME)
SCORED_WHOLE = frozenset(row.name for row in SWEEPS if row.is_scored_whole)


def check_method(job: SweepJob) -> None:
    """Raise unless a job's method is a row of the table."""
    if job.method not in METHODS:
        raise LinkstepError(f"method must be one of {', '.join(METHODS)}, not {job.method!r}")


def recipes_of(job: SweepJob) -> list[Recipe]:
    """Run a job's search."""
    check_method(job)
    return _BY_NAME[job.method](job)
