"""How much the catalog covers, and how far its best entries are from what no graph beats."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.core.units import Number, WrittenSize
from linkstep.costs import Cost, lower_bound, usual_fabric
from linkstep.problem import Call, Figures, ranked
from linkstep.search.catalog import Catalog
from linkstep.search.entry import Entry

RANGES = ((0, 63), (64, 255), (256, 1024), (1025, 10**9))
"""Ranges of N that are summed up together."""
SIZES = (WrittenSize("1MB"), WrittenSize("100MB"))


@dataclass(frozen=True)
class Coverage:
    """What the catalog has for a degree and a range of sizes, directed or bidirectional."""

    degree: int
    """Links out of a node, d."""
    bidirectional: bool
    """Whether all links are duplex."""
    smallest: int
    """The least N that has an entry."""
    largest: int
    """The largest N that has an entry."""
    sizes: int
    """How many N have an entry."""
    bandwidth_optimal: int
    """How many N have an entry whose T_B is (N - 1) / N in both halves."""
    moore_optimal: int
    """How many N have an entry with the diameter of the Moore bound."""
    both: int
    """How many N have an entry that is both."""
    mean_over_bound: tuple[float, ...]
    """Time of the best allreduce over the least that any graph could take, on average; at 1MB and at 100MB."""
    worst_over_bound: tuple[float, ...]
    """The same of the N where it is the most."""


def over_bound(costs: list[Cost], num_nodes: int, degree: int, bidirectional: bool, size: Number) -> Fraction:
    """Return the least time of these allreduces over the bound, on the usual fabric."""
    half = lower_bound(num_nodes, degree, bidirectional=bidirectional)
    rows = [Figures(num_nodes, ((Collective.ALLREDUCE, cost),)) for cost in (half + half, *costs)]
    call, fabric = Call(Collective.ALLREDUCE, size), usual_fabric(degree)
    bound, best = (ranked(some, call, fabric)[0][0] for some in (rows[:1], rows[1:]))
    return best / bound


def stats(catalog: Catalog) -> list[Coverage]:
    """Return the coverage of every degree, directed (which bidirectional graphs count for) and bidirectional."""
    rows = []
    for degree in catalog.degrees:
        for bidirectional in (False, True):
            for first, last in RANGES:
                sizes = [n for n in catalog.sizes(degree) if first <= n <= last]
                found = {n: catalog.entries(n, degree, bidirectional) for n in sizes}
                found = {n: entries for n, entries in found.items() if entries}
                if found:
                    rows.append(_row(found, degree, bidirectional))
    return rows


def _row(found: dict[int, list[Entry]], degree: int, bidirectional: bool) -> Coverage:
    ratios = [
        [
            over_bound([cost for entry in entries for cost in entry.costs], n, degree, bidirectional, size)
            for n, entries in found.items()
        ]
        for size in SIZES
    ]
    bound = {n: lower_bound(n, degree, bidirectional=bidirectional).steps for n in found}
    moore = {n: [entry for entry in entries if entry.diameter == bound[n]] for n, entries in found.items()}
    return Coverage(
        degree, bidirectional, min(found), max(found), len(found),
        sum(any(entry.is_bandwidth_optimal for entry in entries) for entries in found.values()),
        sum(map(bool, moore.values())),
        sum(any(entry.is_bandwidth_optimal for entry in entries) for entries in moore.values()),
        tuple(float(sum(row) / len(row)) for row in ratios),
        tuple(float(max(row)) for row in ratios),
    )  # fmt: skip
