"""Rows of ``find`` where requirements of one's own rule some out: a frontier no longer tells all there is.

What is known is looked at whole, also what others beat; where nothing of it is both admitted and as good as can be,
links are swapped until something is (``linkstep.search.sweep.required``). Not here: what requirements are
(``linkstep.requirements``).
"""

from __future__ import annotations

from linkstep.costs import lower_bound
from linkstep.problem import Problem
from linkstep.recipe import Recipe
from linkstep.requirements import Requirement
from linkstep.search.bases import entry_choices, family_bases
from linkstep.search.choice import FOUND, Choice
from linkstep.search.finders import finder
from linkstep.search.frontier import nondominated, resolved
from linkstep.search.progress import FindProgress
from linkstep.search.spot import Spot, search_required_now

EXACT_LINKS = 10_000
"""Up to this many links, BFB is tried on what the theorems speak of."""


def admitted(problem: Problem, rows: list[Choice], families: str, spot: Spot, work: FindProgress) -> list[Choice]:
    """Return the rows that requirements admit and others that these rows had beaten, without those that are beaten now.

    ``rows`` are those of the frontier without requirements. They are all there is unless a requirement may admit what
    is behind it.
    """
    rules = [one for one in problem.requirements if not one.is_of_frontiers]
    if not rules:
        return rows
    (num_nodes, degree), is_duplex = problem.size, problem.is_duplex
    every = [*rows, *finder(families, is_duplex).everything(num_nodes, degree)]
    if families != "paper":
        every += [member for member in family_bases(num_nodes, degree) if member.is_bidirectional or not is_duplex]
    known = {str(choice.recipe): choice.recipe for choice in every}
    kept = {name for name, recipe in known.items() if _is_admitted(recipe, rules)}
    choices = list(dict.fromkeys(choice for choice in every if str(choice.recipe) in kept))
    found = nondominated([row for choice in work.over(choices) for row in _exact(choice)])
    if families == "paper" or _is_optimal(found, problem):
        return found
    entries = search_required_now(problem, rules, list(known.values()), spot)
    new = (choice for entry in entries if entry.recipe not in known for choice in entry_choices(entry, FOUND))
    return nondominated([*found, *new])


def _is_admitted(recipe: Recipe, rules: list[Requirement]) -> bool:
    topology = recipe.topology(keep=False)
    return all(rule.admits(topology) is None for rule in rules)


def _exact(choice: Choice) -> list[Choice]:
    """Return what is best on a topology, with its distances."""
    small = choice.num_nodes * choice.recipe.degree <= EXACT_LINKS
    return [row.measured(flow=False) for row in (resolved(choice) if small and not choice.origin else [choice])]


def _is_optimal(rows: list[Choice], problem: Problem) -> bool:
    """Whether a row reaches what bounds any wiring, in steps and bandwidth."""
    num_nodes, degree = problem.size
    if problem.is_duplex and degree == 1:
        return True
    bound = lower_bound(num_nodes, degree, bidirectional=problem.is_duplex)
    return any(row.worse_half.is_within(bound) for row in rows)
