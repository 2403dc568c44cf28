"""What people use today: rings, tori, hypercubes and double binary trees, with the schedules in common use.

``BASELINES`` is the table; ``baselines`` lists those of its rows that exist for some N and d. Their costs and times are
formulas; of the schedules only that of shifted rings is built here, to be run beside ours.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule
from linkstep.core.units import Number, parse_size
from linkstep.costs import Cost, Fabric, bandwidth_bound, measure_distances
from linkstep.families import family_written
from linkstep.families.rings import shifted_ring_jumps
from linkstep.methods.transform import derive
from linkstep.recipe import Member
from linkstep.throughput import exact_all_to_all

Time = Callable[[Fabric, int, Number], Fraction]
"""(fabric, N, bytes) -> seconds of an allreduce."""

MEASURE_LINKS, QUICK_LINKS = 10**8, 10_000
"""Up to this many links, distances are measured, and all-to-all throughput is worked out where it is asked for."""
FEW_NODES = 4096


@dataclass(frozen=True)
class Row:
    """A row of ``BASELINES``: where it exists, what is wired, and what its usual schedule takes."""

    name: str
    exists: Callable[[int, int], bool]
    """Whether there is one with N nodes and d ports."""
    recipe: Callable[[int, int], Member] | None = None
    """The topology, where it is one that linkstep builds."""
    cost: Callable[[int, int], Cost] | None = None
    """Of its allgather; a reduce-scatter takes the same."""
    flow: Callable[[int, int], Fraction] | None = None
    """Its all-to-all throughput, where a formula gives it."""
    time: Time | None = None
    """Where no cost says it, because the schedule depends on the size."""


@dataclass(frozen=True)
class Baseline:
    """A baseline for one N and d; ``recipe``, ``cost`` and ``flow`` are None where its row has none (trees)."""

    row: Row
    num_nodes: int
    recipe: Member | None
    cost: Cost | None
    flow: Fraction | None
    is_flow_reached: bool = False
    """Whether that is its all-to-all throughput, or only what distances allow."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.row.name

    def with_flow(self) -> Baseline:
        """Return the baseline with its all-to-all throughput, exactly, where that is worked out quickly."""
        if self.is_flow_reached or self.recipe is None or self.recipe.num_nodes * self.recipe.degree > QUICK_LINKS:
            return self
        found = exact_all_to_all(copy(self.recipe).topology())
        return self if found is None else replace(self, flow=found, is_flow_reached=True)

    def allreduce_time(self, fabric: Fabric, size: Number) -> Fraction:
        """Return seconds for an allreduce of ``size`` bytes."""
        if self.cost is not None:
            return fabric.time(self.cost + self.cost, Collective.ALLREDUCE, size)
        assert self.row.time is not None
        return self.row.time(fabric, self.num_nodes, size)


def shifted_ring_schedule(degree: int, num_nodes: int, collective: Collective | str) -> Schedule:
    """Return the usual schedule on ShiftedRing(d,n): round d one-way rings, each with one d-th of every shard.

    A ring allgather takes N - 1 steps: at each, every node passes on what it received at the step before.

    >>> from linkstep.costs import cost_of
    >>> print(cost_of(shifted_ring_schedule(4, 12, "allreduce")))
    22 alpha + 11/6 M/B
    """
    wiring = Member(family_written("ShiftedRing(d,n)"), (degree, num_nodes)).topology()
    unused: dict[tuple[int, int], list[int]] = {}
    for link, ends in enumerate(zip(wiring.tail.tolist(), wiring.head.tolist(), strict=True)):
        unused.setdefault(ends, []).append(link)
    rows = []
    ways = [way for jump in shifted_ring_jumps(degree, num_nodes) for way in (jump, -jump)]
    for piece, way in enumerate(ways):
        for node in range(num_nodes):
            link = unused[node, (node + way) % num_nodes].pop()
            rows += [((node - step * way) % num_nodes, piece, link, step + 1) for step in range(num_nodes - 1)]
    source, lo, links, step = np.array(rows).T
    rings = Schedule.from_columns(wiring, degree, source, lo, lo + 1, links, step)
    return derive(wiring, Collective(collective), lambda topology: rings)


def double_tree_time(fabric: Fabric, num_nodes: int, size: Number) -> Fraction:
    """Return seconds for an allreduce over two binary trees: a reduction up each, then a broadcast down.

    Each tree carries half of the data in k chunks, one after the other, over links of bandwidth B/d: a pass takes
    2h - 1 + k steps for trees of height h = log2 N, each alpha and a chunk long; k is the best whole number.
    """
    height = max(1, (num_nodes - 1).bit_length())
    whole = 8 * parse_size(size) / 2 / fabric.link_bandwidth

    def one_pass(chunks: int) -> Fraction:
        return (2 * height - 1 + chunks) * (fabric.alpha + whole / chunks)

    best = max(1, round(float((2 * height - 1) * whole / fabric.alpha) ** 0.5)) if fabric.alpha else 10**6
    return fabric.overhead + 2 * min(one_pass(k) for k in range(max(1, best - 1), best + 2))


BASELINES: tuple[Row, ...] = (
    Row(  # round one ring after another
        name="shifted rings",
        exists=lambda n, d: d % 2 == 0 and n >= 3,
        recipe=lambda n, d: Member(family_written("ShiftedRing(d,n)"), (d, n)),
        cost=lambda n, d: Cost(n - 1, bandwidth_bound(n)),
    ),
    Row(  # round the rings of one dimension after another (sec:generateivetopo)
        name="2D torus",
        exists=lambda n, d: d == 4 and n >= 9 and isqrt(n) ** 2 == n,
        recipe=lambda n, d: Member(family_written("Torus(d1,d2,...)"), (isqrt(n), isqrt(n))),
        cost=lambda n, d: Cost(2 * (isqrt(n) - 1), bandwidth_bound(n)),
        flow=lambda n, d: Fraction(2, isqrt(n) * (n // 4)),  # 2 links against N / a times the distances round a ring
    ),
    Row(  # doubling dimension by dimension, one link of d at a time
        name="hypercube",
        exists=lambda n, d: n == 2**d and d <= 20,
        recipe=lambda n, d: Member(family_written("Q(n)"), (d,)),
        cost=lambda n, d: Cost(d, d * bandwidth_bound(n)),
        flow=lambda n, d: Fraction(2, n),  # all links are alike
    ),
    Row(  # three links where a node is inside a tree and one where it is a leaf: four ports
        name="double binary tree",
        exists=lambda n, d: d == 4 and n >= 4,
        time=double_tree_time,
    ),
)


def _baseline(row: Row, num_nodes: int, degree: int) -> Baseline:
    recipe = None if row.recipe is None else row.recipe(num_nodes, degree)
    flow = None if row.flow is None else row.flow(num_nodes, degree)
    reached = flow is not None
    if flow is None and recipe is not None and num_nodes * degree <= MEASURE_LINKS:
        flow = Fraction(degree * num_nodes, _distance_total(recipe))
    cost = None if row.cost is None else row.cost(num_nodes, degree)
    return Baseline(row, num_nodes, recipe, cost, flow, reached)


def _distance_total(recipe: Member) -> int:
    """Return the sum of all distances; for few nodes that are alike in plain Python, which needs nothing compiled."""
    topology = copy(recipe).topology()  # of a copy: a recipe holds what it builds, and this may be large
    if topology.num_nodes > FEW_NODES or not topology.vertex_transitive:
        return measure_distances(topology).total
    heads = topology.head.reshape(topology.num_nodes, -1).tolist()
    reached, front, steps, total = {0}, [0], 0, 0
    while front:
        total += steps * len(front)
        front = list({head for node in front for head in heads[node]} - reached)
        reached.update(front)
        steps += 1
    return total * topology.num_nodes


def baselines(num_nodes: int, degree: int) -> tuple[Baseline, ...]:
    """Return the baselines that exist for N nodes and d ports.

    >>> [(b.name, b.recipe and str(b.recipe)) for b in baselines(16, 4)]  # doctest: +NORMALIZE_WHITESPACE
    [('shifted rings', 'ShiftedRing(4,16)'), ('2D torus', 'Torus(4,4)'), ('hypercube', 'Q(4)'),
     ('double binary tree', None)]
    """
    return tuple(_baseline(row, num_nodes, degree) for row in BASELINES if row.exists(num_nodes, degree))
