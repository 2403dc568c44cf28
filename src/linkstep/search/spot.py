"""A search on the spot, for sizes that the catalog does not have: a few seconds instead of a ring.

What is asked for in seconds is turned into a number of graphs to try, from how long one takes on a usual machine, so
that the answer depends on the seed and on nothing else. Up to some thousand nodes every way to search takes part;
above, lifts and their line graphs, a few nodes of which stand for all, and grafts of those. Not here: the searches
themselves (``linkstep.search.sweep``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from linkstep.core.arguments import check_integer, check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.problem import Problem
from linkstep.recipe import Recipe
from linkstep.requirements import Requirement
from linkstep.search.added import default_folder
from linkstep.search.catalog import add_entries
from linkstep.search.choice import Choice
from linkstep.search.entry import Entry
from linkstep.search.finders import forget_catalog
from linkstep.search.scoring import entry_of, score_best, with_flow
from linkstep.search.sweep.job import MAX_DEGREE, SweepJob

EVERY_WAY, MAX_NODES = 4096, 200_000
"""Up to the first, in nodes, every way to search takes part; above the second, none."""
SCORED, MANY_LINKS = 2, 2**12
"""How many of the graphs that a search finds are scheduled; only one where it has this many links or more."""
_GRAPHS_A_SECOND = 5 * 10**7
"""Graphs times nodes that are tried in a second."""

_REQUIRED = 15
"""Graphs that are tried in the time in which requirements judge one."""


@dataclass(frozen=True)
class Spot:
    """How long to search, and the seed of it; no time at all is no search."""

    seconds: float = 4.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= check_kind("seconds", self.seconds, float, int, Fraction) <= 10**6:  # nan too
            raise LinkstepError(f"seconds must lie in [0, 1000000], not {shown(self.seconds)}")
        if not 0 <= check_integer("seed", self.seed) < 2**32:
            raise LinkstepError(f"seed must lie in [0, 2^32), not {shown(self.seed)}")

    def budget(self, num_nodes: int) -> int:
        """Return how many graphs to try."""
        return max(1000, int(self.seconds * _GRAPHS_A_SECOND / num_nodes))


def search_now(num_nodes: int, degree: int, bidirectional: bool, spot: Spot) -> list[Entry]:
    """Return entries found by a short search; none where the search does not go."""
    if spot.seconds == 0 or not 3 <= degree <= MAX_DEGREE or not degree + 1 < num_nodes <= MAX_NODES:
        return []
    from linkstep.search.sweep.methods import (  # here: their kernels import numba, which most finds do not need
        search_best,
        search_large,
    )

    job = SweepJob(num_nodes, degree, bidirectional, spot.seed, spot.budget(num_nodes), "best")
    search = search_best if num_nodes <= EVERY_WAY else search_large
    return score_best(search(job), SCORED if num_nodes * degree < MANY_LINKS else 1)


def search_required_now(
    problem: Problem, requirements: Sequence[Requirement], starts: Sequence[Recipe], spot: Spot
) -> list[Entry]:
    """Return an entry of a wiring that requirements admit, found from others by a short search; none where it fails."""
    num_nodes, degree = problem.size
    if spot.seconds == 0 or not 2 <= degree <= MAX_DEGREE or not degree + 1 < num_nodes <= EVERY_WAY:
        return []
    from linkstep.search.sweep.required import search_required  # here: its kernels import numba

    budget = max(1000, spot.budget(num_nodes) // _REQUIRED)
    job = SweepJob(num_nodes, degree, problem.is_duplex, spot.seed, budget, "required")
    return score_best(search_required(job, requirements, starts))


def keep_choices(choices: Iterable[Choice]) -> Path:
    """Add what was found to the user's own catalog, whole, and return where that is."""
    recipes = {str(choice.recipe): choice.recipe for choice in choices}
    folder = default_folder()
    add_entries([with_flow(entry_of(recipe)) for recipe in recipes.values()], folder)
    forget_catalog()
    return folder
