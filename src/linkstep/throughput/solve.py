"""``all_to_all``: which method serves which topology."""

from __future__ import annotations

from fractions import Fraction

from linkstep.core.topology import Topology
from linkstep.costs import distance_flow_bound
from linkstep.throughput.columns import solve_by_columns
from linkstep.throughput.cuts import cut_bound
from linkstep.throughput.problem import Problem
from linkstep.throughput.result import Throughput
from linkstep.throughput.watch import Progress, Watch

GAP = Fraction(1, 100)
SECONDS = 60.0


def all_to_all(
    topology: Topology, *, gap: Fraction | float = GAP, seconds: float = SECONDS, progress: Progress | None = None
) -> Throughput:
    """Return the all-to-all throughput of a topology: a proven value and a proven bound.

    >>> ring = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])
    >>> all_to_all(ring).value, all_to_all(ring).bound
    (Fraction(1, 6), Fraction(1, 6))
    """
    watch = Watch(Fraction(gap), seconds, progress)
    problem = Problem.of(topology)
    found = solve_by_columns(problem, watch)
    value = problem.value(found.flow.loads(), found.flow.unit)
    return Throughput(
        topology, value, found.bound, "columns", distance_flow_bound(topology), cut_bound(problem), found.prices,
        found.flow,
    )  # fmt: skip
