"""All the best trade-offs between steps and bandwidth of a small topology."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.errors import LinkstepError
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.stopping import best_so_far, is_stopped, stoppable
from linkstep.core.topology import Topology
from linkstep.correctness import check_allgather
from linkstep.costs import Cost, cost_of
from linkstep.methods.synthesis.attempts import SynthesisSearch, check_limits
from linkstep.methods.synthesis.case import Case


@dataclass(frozen=True)
class ParetoPoint:
    """A schedule that no other one found dominates.

    ``proven``: none with as many steps and at most the chunks asked for has a lower T_B, and none with fewer steps
    is as good.
    """

    cost: Cost
    schedule: Schedule
    proven: bool

    def _schedule_(self) -> Schedule:
        return self.schedule

    def _row_(self) -> dict[str, object]:
        return {"T_L": self.cost.steps, "T_B": self.cost.bandwidth, "proven": self.proven}


def pareto(
    topology: Topology,
    max_steps: int,
    max_chunks: int,
    *,
    time_limit: float = 60.0,
    seed: int = 0,
    symmetric: bool = True,
    progress: Progress | None = None,
) -> list[ParetoPoint]:
    """Return the Pareto-optimal schedules in equal chunks within a limit of steps, fewest steps first.

    The time is shared between the pairs of steps and chunks that could still improve on what is known. ``progress`` is
    called with how many of these pairs are done.
    """
    check_limits(time_limit, seed)
    case = Case.of(topology, max_steps, max_chunks)
    if topology.num_nodes == 1:
        raise LinkstepError("one node has nothing to gather: pareto needs at least two")
    if case.steps < case.diameter:
        raise LinkstepError(f"max_steps must be at least {case.diameter}, the diameter, not {max_steps}")
    least = Fraction(case.topology.degree * (topology.num_nodes - 1), topology.num_nodes * min(case.in_degree))
    deadline = time.monotonic() + time_limit
    points: list[ParetoPoint] = []
    best: Schedule | None = None
    bound_before: Fraction | None = None
    with stoppable(), best_so_far(has_best=lambda: bool(points)):
        for steps in range(case.diameter, case.steps + 1):
            rows_left = case.steps + 1 - steps
            share = max(0.0, deadline - time.monotonic()) / rows_left
            before = (steps - case.diameter) * case.chunks

            def report(done: int, before: int = before) -> None:
                if progress is not None:
                    progress(before + done, (case.steps + 1 - case.diameter) * case.chunks)

            better, bound = _best_of_row(topology, steps, case.chunks, best, share, seed, symmetric, report)
            if better is not None:
                check_allgather(better)
                best, cost = better, cost_of(better)
                proven = bound >= cost.bandwidth and (bound_before is None or bound_before > cost.bandwidth)
                points.append(ParetoPoint(cost, better, proven))
            if best is not None and cost_of(best).bandwidth == least:
                break
            bound_before = bound
    return points


def _best_of_row(
    topology: Topology,
    steps: int,
    max_chunks: int,
    known: Schedule | None,
    seconds: float,
    seed: int,
    symmetric: bool,
    report: Callable[[int], None],
) -> tuple[Schedule | None, Fraction]:
    """Return a schedule in ``steps`` steps better than ``known``, and the T_B that none of this row is below.

    ``report`` is called with how many counts of chunks are done.
    """
    deadline = time.monotonic() + seconds
    better: Schedule | None = None
    bounds: list[Fraction] = []
    for chunks in range(1, max_chunks + 1):
        case = Case.of(topology, steps, chunks)
        if known is None:
            below = case.sure_load + 1
        else:
            below = math.ceil(cost_of(known).bandwidth * topology.num_nodes * chunks / topology.degree)
        low = case.least_load
        if low < below and not is_stopped():
            share = max(0.0, deadline - time.monotonic()) / (max_chunks + 1 - chunks)
            search = SynthesisSearch.of(case, share, seed, symmetric, progress=lambda *_, done=chunks - 1: report(done))
            found, low = search.minimise(below)
            if found is not None:
                better = known = found
        bounds.append(case.bandwidth(low))
    return better, min(bounds)
