"""Search for grafts: from a good graph of nearly N nodes, put in or take out a few, then swap links until the diameter
is what is wanted. For sizes without a good lift, such as primes.

What is found is a recipe that lists its changes, so that it is built without a search. Exact costs of what is found are
for the caller to work out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from linkstep._kernels.grafts import _focus, _insert, _mend, _polish
from linkstep.core.distances import distance_counts
from linkstep.costs import moore_steps
from linkstep.expansions.grafts import Change
from linkstep.recipe import Insert, Recipe, Remove, Swap
from linkstep.search.sweep.bases import kautz_bases, known_bases, lifted_bases
from linkstep.search.sweep.graphs import FAR, Draws, RegularGraph, recipe_of
from linkstep.search.sweep.job import SweepJob

MOST_SWAPS = 120
"""Swaps that a recipe lists at most."""

STARTS, IMPROVED, KEPT = 6, 8, 2
"""Bases that get nodes put in or taken out, graphs that are then improved, and those that are enough to be found."""

WAYS = 4
"""Ways to put in or take out the last node that are followed."""

LEAST_CHOICES, MOST_REMOVALS = 60, 300
"""Ways to put in or take out a node that are compared, at least and, to take one out, at most."""

EACH = 40
"""Pairs too far apart that a node put in or taken out costs, roughly: to order bases by."""

HOPELESS = 500
"""Pairs too far apart with which a graph is not worth improving: a swap mends a few."""

Bases = Callable[[SweepJob], list[Recipe]]


@dataclass(frozen=True)
class _Found:
    """A graft and what it is judged by."""

    missed: int
    """Ordered pairs farther apart than wanted."""
    base: Recipe
    recipe: Recipe
    graph: RegularGraph

    def rank(self) -> tuple[int, int]:
        """The diameter, then the sum of distances."""
        n = len(self.graph.out)
        levels = distance_counts(self.recipe.topology()).tolist()
        unreached = n * n - sum(levels)
        return (n if unreached else len(levels) - 1), sum(t * width for t, width in enumerate(levels)) + n * unreached


Way = tuple[int, "RegularGraph", list[Change]]
"""A way to put in or take out a node: pairs then too far apart, the graph that results, and the tuples for recipes."""


def _insertions(graph: RegularGraph, steps: int, tries: int, draws: Draws) -> list[Way]:
    """Return the best ways found to put in a node, or two linked ones where d is odd and links come in edges."""
    n, d = len(graph.out), graph.degree
    added = 2 if graph.both and d % 2 else 1
    larger = graph.copy(added)
    chosen = np.zeros((WAYS, added, d // 2 * 2 if graph.both else 2 * d), np.int64)
    scores = np.empty(WAYS, np.int64)
    table = (larger.out, larger.into, n, d, graph.both)
    _insert(*table, steps, tries, draws.state, chosen, scores)
    ways: list[Way] = []
    for score, rows in zip(scores.tolist(), chosen.tolist(), strict=True):
        if score < FAR:
            trial = graph.copy(added)
            for v, ends in enumerate(rows, n):
                for a, b in zip(ends[::2], ends[1::2], strict=True):
                    trial.split(a, b, v)
            if added == 2:
                trial.link(n, n + 1)
            ways.append((score, trial, [tuple(ends) for ends in rows]))
    return ways


def _removal(graph: RegularGraph, gone: set[int], draws: Draws) -> list[Change] | None:
    """Take out a node, or two linked ones where d is odd; return a random tuple for each, None if it does not fit.

    What would leave self-loops or parallel links does not fit.
    """
    d = graph.degree
    u = draws.below(len(graph.out))
    going = [u]
    if graph.both and d % 2:
        going.append(int(graph.out[u, draws.below(d)]))
    if gone.intersection(going) or len(set(going)) < len(going):
        return None
    changes = []
    for w in going:
        ahead = draws.shuffled([v for v in graph.out[w, :d].tolist() if v not in going])
        behind = [v for v in graph.into[w, :d].tolist() if v not in going]
        if len(ahead) != d + 1 - len(going) or len(behind) != len(ahead):
            return None
        pairs = list(zip(ahead[::2], ahead[1::2], strict=True) if graph.both else zip(behind, ahead, strict=True))
        for a, b in pairs:
            if a == b or b in graph.out[a]:
                return None
            graph.join(a, w, b)
        changes.append((w, *(node for pair in pairs for node in pair)))
    for w in going:
        graph.isolate(w)
    return changes


def _removals(graph: RegularGraph, gone: set[int], steps: int, tries: int, draws: Draws) -> list[Way]:
    """Return the best ways found to take out a node, or two linked ones where d is odd and links come in edges."""
    ways: list[Way] = []
    for attempt in range(20 * tries):
        if attempt >= tries and ways:
            break
        trial = graph.copy()
        drawn = _removal(trial, gone, draws)
        if drawn is not None:
            limit = ways[-1][0] if len(ways) == WAYS else int(FAR)
            ways = sorted([*ways, (trial.missed(steps, limit), trial, drawn)], key=lambda way: way[0])[:WAYS]
    return ways


def _resized(base: Recipe, num_nodes: int, steps: int, choices: int, draws: Draws) -> list[_Found]:
    """Return the base with nodes put in or taken out until there are ``num_nodes``, in the few best ways found.

    One node, or two linked ones, at a time, each time the best way; ``choices`` are compared in all. None where no node
    can be taken out without leaving self-loops or parallel links, as in a small dense graph.
    """
    graph = RegularGraph.of(base.topology())
    more = num_nodes - base.num_nodes
    if not more:
        return [_Found(graph.missed(steps), base, base, graph)]
    turns = abs(more) // (2 if graph.both and graph.degree % 2 else 1)
    tries = max(LEAST_CHOICES, choices // turns)
    changes: list[Change] = []
    ways: list[Way] = []
    for _ in range(turns):
        gone = {change[0] for change in changes}
        if more > 0:
            ways = _insertions(graph, steps, tries, draws)
        else:
            ways = _removals(graph, gone, steps, min(tries, MOST_REMOVALS), draws)
        if not ways:
            return []
        graph, taken = ways[0][1:]
        changes += taken
    before = changes[: -len(taken)]
    kind = Insert if more > 0 else Remove
    recipes = dict.fromkeys(kind(base, (*before, *drawn)) for _, _, drawn in ways)
    graphs = ((recipe, RegularGraph.of(recipe.topology())) for recipe in recipes)
    return [_Found(graph.missed(steps), base, recipe, graph) for recipe, graph in graphs]


def _improved(start: _Found, steps: int, evaluations: int, draws: Draws) -> _Found:
    """Return the graph with links swapped until all pairs are within ``steps`` steps, then nearer on the mean.

    A base that needs neither stays as it is: what it may gain on the mean is less than its symmetry is worth.
    """
    recipe, graph = start.recipe, start.graph.copy()
    topology = recipe.topology()
    if recipe is start.base and not start.missed and not topology.num_self_loops + topology.num_parallel:
        return start
    table = (graph.out, graph.into, graph.degree, graph.both)
    left = int(_mend(*table, steps, evaluations, draws.state))
    missed, left = _focus(*table, steps, max(0, left), MOST_SWAPS, draws.state)
    found = recipe_of(recipe, graph)
    spare = MOST_SWAPS - (len(found.changes) if isinstance(found, Swap) and found is not recipe else 0)
    if not missed and spare > 0 and left > 0:
        _polish(*table, steps, min(int(left), evaluations // 4), spare, draws.state)
        found = recipe_of(recipe, graph)
    return _Found(int(missed), start.base, found, graph)


def _search_from(job: SweepJob, recipes: list[Recipe], most_steps: int) -> list[_Found]:
    """Return grafts of the least diameter that is reached, or of those tried last if none is.

    Diameters are tried from the Moore bound on, each with the bases that come closest to it.
    """
    n, d = job.num_nodes, job.degree
    starts = [(base, RegularGraph.of(base.topology())) for base in recipes if base.topology().is_regular]
    starts = [(base, graph) for base, graph in starts if graph.degree == d and graph.both >= job.bidirectional]
    if d % 2:  # edges come and go with two nodes at a time
        starts = [(base, graph) for base, graph in starts if not graph.both or (n - base.num_nodes) % 2 == 0]
    found: list[_Found] = []
    left = job.budget
    for steps in range(moore_steps(n, d, bidirectional=job.bidirectional), most_steps + 1):
        if left <= 0 or any(one.missed == 0 for one in found):
            break
        draws = Draws(n, d, job.bidirectional, steps, job.seed)
        near = sorted(
            (graph.missed(steps) + EACH * abs(base.num_nodes - n), i) for i, (base, graph) in enumerate(starts)
        )
        choices = left // (4 * STARTS)
        tried: list[_Found] = []
        for far, i in near[:STARTS]:
            if far <= HOPELESS:
                tried += _resized(starts[i][0], n, steps, choices, draws)
                left -= choices
        share = max(1, left // (2 * IMPROVED))
        found = []
        for one in sorted(tried, key=lambda one: one.missed)[:IMPROVED]:
            done = {other.base for other in found if other.missed == 0}
            if one.missed <= HOPELESS and one.base not in done and len(done) < KEPT:
                found.append(_improved(one, steps, share, draws))
                left -= share
    return found


def search_grafts(job: SweepJob, bases: Bases = known_bases) -> list[Recipe]:
    """Return a few grafts, by diameter and then by the sum of distances.

    They are made from ``bases(job)``, or, where there are none, from lifts that a part of the budget finds near N, or
    from generalized Kautz graphs.
    """
    n, d = job.num_nodes, job.degree
    if d < 2 or n <= d + 1 or (job.bidirectional and n * d % 2):
        return []
    known = bases(job)
    if not known:
        budget = job.budget // 2
        known, job = lifted_bases(replace(job, budget=budget)), replace(job, budget=job.budget - budget)
    tried = _search_from(job, known or kautz_bases(job), n - 1)
    found = [one for one in tried if one.missed == 0] or tried
    ranks = {one.recipe: (*one.rank(), len(str(one.recipe))) for one in found if one.recipe not in known}
    return sorted(ranks, key=lambda recipe: ranks[recipe])
