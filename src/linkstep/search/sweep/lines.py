"""Search for line graphs: L^t of a good digraph of degree d with N / d^t nodes has N nodes and t steps more.

A line graph of a digraph whose diameter is the Moore bound has that property too, and what is searched is far smaller.
Directed graphs alone: a line graph of duplex links has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linkstep.recipe import Line, Recipe
from linkstep.search.sweep.cayley import search_cayley
from linkstep.search.sweep.job import SweepJob
from linkstep.search.sweep.lifts import search_lifts
from linkstep.symmetry.distances import measure_distances

CAYLEY_SHARE = 16
"""One in this many graphs evaluated is a Cayley digraph: lifts include most of them."""

MOST = 3
"""Recipes that a search returns."""


def bases(job: SweepJob) -> Iterator[tuple[int, int]]:
    """List (t, n) with n d^t = N, for digraphs of n > d nodes.

    >>> list(bases(SweepJob(480, 4, False))), list(bases(SweepJob(480, 4, True)))
    ([(1, 120), (2, 30)], [])
    """
    times, nodes = 1, job.num_nodes
    while not job.bidirectional and job.degree > 1 and nodes % job.degree == 0 and nodes // job.degree > job.degree:
        nodes //= job.degree
        yield times, nodes
        times += 1


def has_lines(job: SweepJob) -> bool:
    """Whether N is d times a size to start from."""
    return any(bases(job))


def search_lines(job: SweepJob) -> list[Recipe]:
    """Return the best line graphs found, at most three: by diameter, and of different t before several of one."""
    sizes = list(bases(job))
    ranked: list[tuple[int, int, int, Recipe]] = []
    for times, nodes in sizes:
        found: list[tuple[int, int, Recipe]] = []
        for recipe in _digraphs(replace(job, num_nodes=nodes, budget=max(1, job.budget // len(sizes)))):
            line = Line(recipe, times)
            distances = measure_distances(line.topology())
            found.append((distances.diameter, distances.total, line))
        found.sort(key=lambda row: row[:2])
        ranked += [(steps, place, total, line) for place, (steps, total, line) in enumerate(found)]
    ranked.sort(key=lambda row: row[:3])
    return [line for steps, *_, line in ranked[:MOST] if steps == ranked[0][0]]


def _digraphs(job: SweepJob) -> list[Recipe]:
    """Return the best digraphs found to start from."""
    few = max(1, job.budget // CAYLEY_SHARE)
    return [*search_lifts(replace(job, budget=max(1, job.budget - few))), *search_cayley(replace(job, budget=few))]
