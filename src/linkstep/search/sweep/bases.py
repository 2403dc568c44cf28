"""What grafts start from: graphs of nearly N nodes, from the catalog, or searched for where that has none."""

from __future__ import annotations

from dataclasses import replace

from linkstep.costs import moore_steps
from linkstep.families import family_written
from linkstep.recipe import Member, Recipe, parse
from linkstep.search.catalog import load_catalog
from linkstep.search.sweep.job import SweepJob
from linkstep.search.sweep.lifts import has_lifts, search_lifts

FEWER, MORE = 8, 4
"""How far from N bases are looked for."""

KNOWN = 2
"""Recipes of the catalog that are looked at for each number of nodes."""

LIFTED = 2
"""Numbers of nodes near N for which lifts are searched for."""

_GRAFTS = ("Swap(", "Insert(", "Remove(")


def _sizes(job: SweepJob) -> list[int]:
    """Return the numbers of nodes near N, the closest first."""
    n, d = job.num_nodes, job.degree
    near = sorted(range(max(d + 1, n - FEWER), n + MORE + 1), key=lambda size: (abs(size - n), size))
    return [size for size in near if not job.bidirectional or size * d % 2 == 0]


def known_bases(job: SweepJob) -> list[Recipe]:
    """Return the recipes of least diameter that the catalog has for each number of nodes near N.

    No grafts, and none that has more than a step above the Moore bound: a lift that is found now has fewer.
    """
    catalog = load_catalog()
    found: list[Recipe] = []
    for size in _sizes(job):
        most = moore_steps(size, job.degree, bidirectional=job.bidirectional) + 1
        listed = catalog.listed(size, job.degree)
        entries = [e for e in listed if e.bidirectional == job.bidirectional and e.diameter <= most]
        entries.sort(key=lambda entry: (entry.diameter, entry.distance_sum))
        found += [parse(e.recipe) for e in entries if not e.recipe.startswith(_GRAFTS)][:KNOWN]
    return list(dict.fromkeys(found))


def lifted_bases(job: SweepJob) -> list[Recipe]:
    """Return lifts of nearly N nodes that are found now."""
    jobs = [replace(job, num_nodes=size, method="lift") for size in _sizes(job) if size != job.num_nodes]
    chosen = [other for other in jobs if has_lifts(other)][:LIFTED]
    found = [recipe for other in chosen for recipe in search_lifts(replace(other, budget=job.budget // LIFTED))]
    return list(dict.fromkeys(found))


def kautz_bases(job: SweepJob) -> list[Recipe]:
    """Return the directed generalized Kautz graphs of N nodes and nearly N.

    They have few steps, but self-loops unless d + 1 divides their number of nodes, and reduce at poor bandwidth.
    """
    if job.bidirectional:
        return []
    family = family_written("Pi_{d,m}")
    return [Member(family, (job.degree, size)) for size in range(job.num_nodes - 1, job.num_nodes + 2)]
