"""What the library knows besides the catalog: members of families and what the finder expands, to be scored in full.

A catalog that has scored them all answers for them, so that ``find`` needs neither to build nor to cost them. Only what
may be worth an entry is listed: what no entry equals or beats already, were its schedules as good as they can be.
"""

from __future__ import annotations

from fractions import Fraction

from linkstep.costs import Cost, bandwidth_bound, distance_flow_bound
from linkstep.recipe import Line, Member, Recipe
from linkstep.search.bases import family_bases
from linkstep.search.catalog import load_catalog
from linkstep.search.choice import Choice
from linkstep.search.entry import Entry
from linkstep.search.finders import finder
from linkstep.search.scoring import flow_of
from linkstep.search.sweep.job import SweepJob
from linkstep.symmetry.distances import measure_distances


def search_members(job: SweepJob) -> list[Recipe]:
    """Return the recipes that may have a schedule, or an all-to-all, that no entry of the catalog equals or beats."""
    size = job.num_nodes, job.degree
    known = load_catalog().entries(*size, job.bidirectional)
    candidates = [
        *finder("paper", job.bidirectional).frontier(*size),
        *finder("all", job.bidirectional).pool(*size),
        *family_bases(*size),
    ]
    there = {entry.recipe for entry in known}
    kind = {str(c.recipe): c for c in candidates if c.is_bidirectional == job.bidirectional and not _is_twin(c.recipe)}
    return [choice.recipe for text, choice in kind.items() if text not in there and _may_be_worth_it(choice, known)]


def _is_twin(recipe: Recipe) -> bool:
    """Whether it is a member under another name: L(Pi_{d,m}) is Pi_{d,dm} (thm:genkautzlatency)."""
    return isinstance(recipe, Line) and isinstance(recipe.base, Member) and recipe.base.family.name == "Pi"


def _may_be_worth_it(choice: Choice, known: list[Entry]) -> bool:
    """Whether no entry beats what the schedules of a choice may cost at best, together with its all-to-all."""
    topology = choice.recipe.topology()
    distances = measure_distances(topology)
    half = Cost(distances.diameter, bandwidth_bound(choice.num_nodes))
    as_good = [entry for entry in known if any(cost.is_within(half + half) for cost in entry.costs)]
    most = max((entry.flow or Fraction(0) for entry in as_good), default=Fraction(0))
    if not as_good or distance_flow_bound(topology, distances.total) <= most:
        return not as_good
    flow = flow_of(topology)
    return flow is not None and flow[0] > most
