"""Search for Cayley digraphs whose BFB schedule takes few steps and little bandwidth: all generator sets of a group
where they are few enough, random ones improved by exchanges where not.

The score of a set is exact: T_L and T_B of its best BFB allgather and reduce-scatter, and the sum of distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb

import numpy as np

from linkstep._kernels.cayley import _climb, _scan, _score
from linkstep.core.topology import Ints
from linkstep.costs import Cost
from linkstep.groups.tables import TableGroup, groups_of_order
from linkstep.recipe import Recipe, parse
from linkstep.search.catalog import best_entries
from linkstep.search.entry import Entry, Option
from linkstep.search.sweep.job import SweepJob

PATIENCE = 60
"""Exchanges that fail in a row before a climb starts afresh."""


def score(group: TableGroup, generators: Sequence[int]) -> Entry | None:
    """Return the entry of a Cayley digraph, by BFB alone, or None if the generators do not generate the group."""
    gens = np.array(generators, np.int64)
    steps, forth, other, total, scale = _score(group.back, gens, group.inverse)
    if steps < 0:
        return None
    unit = Fraction(gens.size, group.order * scale)
    bidirectional = sorted(group.inverse[gens].tolist()) == sorted(gens.tolist())
    forward, backward = (
        (Option(Cost(int(steps), int(bandwidth) * unit), "bfb"),) for bandwidth in (forth, other)
    )  # fmt: skip
    recipe = group.recipe(generators)
    return Entry(group.order, gens.size, bidirectional, recipe, Fraction(int(total)), forward, backward)


def _shapes(group: TableGroup, job: SweepJob) -> Iterator[tuple[Ints, Ints, int, int, int]]:
    """List (pairs, singles, number of pairs, number of singles, how many sets there are).

    A directed set is of singles alone; a bidirectional one of pairs {g, g^-1} and of involutions.
    """
    nodes = np.arange(1, group.order)
    inverse = group.inverse[1:]
    if not job.bidirectional:
        yield nodes[:0], nodes, 0, job.degree, comb(nodes.size, job.degree)
        return
    pairs, involutions = nodes[nodes < inverse], nodes[nodes == inverse]
    for p in range(job.degree // 2 + 1):
        q = job.degree - 2 * p
        sets = comb(pairs.size, p) * comb(involutions.size, q)
        if sets:
            yield pairs, involutions, p, q, sets


def search_cayley(job: SweepJob) -> list[Recipe]:
    """Return the best digraphs found; in a directed search some may turn out to be bidirectional."""
    n, d = job.num_nodes, job.degree
    records = np.full((3, n + 1), np.iinfo(np.int64).max)
    parts = [(group, shape) for group in groups_of_order(n) for shape in _shapes(group, job)]
    entries: list[Entry] = []
    left = job.budget
    parts.sort(key=lambda part: part[1][4])  # what is not used of a share goes to the larger groups
    for i, (group, (pairs, singles, p, q, sets)) in enumerate(parts):
        found = np.zeros((3, n + 1, d), np.int64)
        share = max(1, left // (len(parts) - i))
        if sets <= share:
            if job.seed:  # seed 0 has tried them all
                continue
            left -= sets
            _scan(group.back, group.inverse, pairs, singles, p, q, records, found)
        else:
            left -= share
            seed = (job.seed * 2654435761 + i * 40503 + n * 97 + d) % 2**63
            _climb(group.back, group.inverse, pairs, singles, p, q, share, PATIENCE, seed, records, found)
        for slot, steps in np.argwhere(found[:, :, 0] > 0).tolist():
            entry = score(group, found[slot, steps].tolist())
            assert entry is not None
            entries.append(entry)
    return [parse(entry.recipe) for entry in best_entries(entries)]
