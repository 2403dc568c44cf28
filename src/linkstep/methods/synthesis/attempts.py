"""The order in which models are tried: under symmetry first, then without, then all again with more effort.

Effort counts the solver's work, not time: with the same seed and the same OR-tools the answer is the same on any
machine, unless its time runs out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from linkstep.core.arguments import check_callable, check_flag, check_integer, check_kind
from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.notebook import html_table
from linkstep.core.progress import Progress
from linkstep.core.schedule import Schedule
from linkstep.core.stopping import best_so_far, is_stopped
from linkstep.core.text import shown
from linkstep.core.units import check_quantity
from linkstep.correctness import check_allgather
from linkstep.costs import cost_of
from linkstep.methods.synthesis.automorphisms import AutomorphismGroup, find_automorphism_groups, trivial_group
from linkstep.methods.synthesis.case import Case
from linkstep.methods.synthesis.model import MAX_SENDS, Status, num_sends, solve
from linkstep.methods.synthesis.worker import WORKER

FIRST_EFFORT = 0.5
GROWTH = 4
"""Each round gives every attempt this many times the effort of the round before."""


@dataclass(frozen=True)
class Synthesis:
    """What a search found out.

    ``status`` is "found", "impossible" (proven) or "unknown" (time ran out); ``reason`` says more in words. No
    schedule with these steps and chunks has T_B below ``bound``: proven.
    """

    status: Status
    schedule: Schedule | None
    bound: Fraction
    seconds: float
    reason: str

    @property
    def is_best(self) -> bool:
        """Whether it is proven that no schedule with these steps and chunks has a lower T_B."""
        return self.schedule is not None and cost_of(self.schedule).bandwidth == self.bound

    def _schedule_(self) -> Schedule:
        if self.schedule is None:
            raise LinkstepError(f"the synthesis has no schedule ({self.status}): {self.reason}")
        return self.schedule

    def __repr__(self) -> str:
        return f"<Synthesis {self.status}: {self.reason if self.schedule is None else self.schedule!r}>"

    def _repr_html_(self) -> str:
        made = "" if self.schedule is None else repr(self.schedule)
        fields = [("status", self.status), ("schedule", made), ("T_B at least", self.bound), ("why", self.reason)]
        return html_table("synthesis", fields)


@dataclass
class SynthesisSearch:
    """One search: its models, its deadline, and what it has excluded."""

    case: Case
    groups: list[AutomorphismGroup]
    seed: int
    deadline: float
    loads: Sequence[int] | None = None
    excluded: dict[int, int] = field(default_factory=dict)
    """For groups by position: the load up to which it is proven that no schedule is invariant under the group."""
    runs: int = 0
    progress: Progress | None = None
    """Is called several times a second with how many models were tried; how many it takes is not known before."""

    @classmethod
    def of(
        cls,
        case: Case,
        seconds: float,
        seed: int,
        symmetric: bool,
        loads: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> SynthesisSearch:
        """Choose the groups whose models are small enough; the trivial one comes last."""
        WORKER.start()
        groups = find_automorphism_groups(case.topology, case.chunks, seed) if symmetric else []
        groups.append(trivial_group(case.topology))
        sizes = [num_sends(case, group) for group in groups]
        fitting = [group for group, size in zip(groups, sizes, strict=True) if size <= MAX_SENDS]
        if not fitting:
            raise LinkstepError(
                f"too large to synthesize: {min(sizes)} possible sends where {MAX_SENDS} is the most; "
                f"ask for fewer steps or chunks, or use `linkstep schedule`"
            )
        WORKER.check_ready()
        return cls(case, fitting, seed, time.monotonic() + seconds, loads, progress=progress)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; none once the work is stopped."""
        return 0.0 if is_stopped() else max(0.0, self.deadline - time.monotonic())

    def efforts(self) -> Iterator[float]:
        """Yield growing efforts while there is time and something left to run."""
        effort, before = FIRST_EFFORT, -1
        while self.seconds_left > 0 and self.runs > before:
            before = self.runs
            yield effort
            effort *= GROWTH

    def attempt(self, most: int, effort: float) -> tuple[Status, Schedule | None]:
        """Look for a schedule of load at most ``most``, once under each group."""
        for position, group in enumerate(self.groups):
            if self.excluded.get(position, -1) >= most or self.seconds_left <= 0:
                continue
            alone = group.order == 1
            # Without the linear relaxation schedules are found several times faster; many proofs need it.
            runs = [(effort, False), (effort, True)] if alone else [(effort / 2, False)]
            status, schedule = solve(
                self.case, group, most, self.loads, runs, self.seconds_left, self.seed, self.report
            )
            self.runs += 1
            if status == "impossible":
                self.excluded[position] = most
            if status == "found" or (status == "impossible" and alone):
                return status, schedule
        return "unknown", None

    def report(self) -> None:
        """Report how many models have been tried, if the caller asked for it."""
        if self.progress is not None:
            self.progress(self.runs, None)

    def decide(self, most: int) -> tuple[Status, Schedule | None]:
        """Find a schedule of load at most ``most`` or prove there is none."""
        for effort in self.efforts():
            status, schedule = self.attempt(most, effort)
            if status != "unknown":
                return status, schedule
        return "unknown", None

    def minimise(self, below: int) -> tuple[Schedule | None, int]:
        """Return the best schedule found of load under ``below``, and a load that none is under."""
        best: Schedule | None = None
        low, high = self.case.least_load, below
        with best_so_far(has_best=lambda: best is not None):
            for effort in self.efforts():
                tried, stride = low - 1, 1  # up to this load, all is excluded or tried at this effort
                while tried + 1 < high and self.seconds_left > 0:
                    # The least load is the likeliest. Then gallop up to one that works, and halve what is between.
                    load = min(tried + stride, high - 1) if best is None else (tried + high) // 2
                    status, schedule = self.attempt(load, effort)
                    stride *= 2
                    if schedule is not None:
                        best, high = schedule, total_load(schedule)
                    else:
                        tried = load
                    if status == "impossible":
                        low = load + 1
                if low >= high:
                    break
        return best, min(low, high)


def total_load(schedule: Schedule) -> int:
    """Return the sum, over the steps, of the chunks on the busiest link."""
    topology = schedule.topology
    return int(cost_of(schedule).bandwidth * topology.num_nodes * schedule.unit / topology.degree)


_FOREVER = 10**12
"""Seconds."""


def check_limits(time_limit: float, seed: int) -> None:
    """Refuse times and seeds that mean nothing."""
    if not isinstance(time_limit, (int, float)) or not 0 < time_limit < _FOREVER:
        raise LinkstepError(f"time_limit must be a positive number of seconds, not {shown(time_limit)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise LinkstepError(f"seed must be an integer in [0, 2^31), not {shown(seed)}")


def _most_load(case: Case, bandwidth: Fraction | None, loads: Sequence[int] | None) -> int | None:
    """Return the load that was asked for, or None if the least is wanted."""
    if bandwidth is not None and loads is not None:
        raise LinkstepError("give bandwidth or loads, not both")
    if bandwidth is not None:
        if type(bandwidth) not in (int, Fraction):
            raise LinkstepError(f"bandwidth must be a Fraction, not {bandwidth!r}")
        return case.load_within(Fraction(bandwidth))
    if loads is None:
        return None
    if len(loads) != case.steps or any(type(load) is not int or load < 0 for load in loads):
        raise LinkstepError(f"loads must be {case.steps} counts of chunks, one a step, not {loads!r}")
    return sum(loads)


def synthesize(
    topology: WiringLike,
    steps: int,
    chunks: int,
    *,
    bandwidth: Fraction | None = None,
    loads: Sequence[int] | None = None,
    time_limit: float = 60.0,
    seed: int = 0,
    symmetric: bool = True,
    progress: Progress | None = None,
) -> Synthesis:
    """Find an allgather in at most ``steps`` steps with ``chunks`` equal chunks a shard, or prove there is none.

    It has T_B at most ``bandwidth``, or at step t at most ``loads[t - 1]`` chunks on any link; without either, the
    least T_B that is found in ``time_limit`` seconds. ``symmetric=False`` skips the search for schedules that are
    invariant under automorphisms.

    >>> synthesize("UniRing(1,3)", steps=1, chunks=1).reason
    'needs at least 2 steps, the diameter'
    """
    start = time.monotonic()
    check_callable("progress", progress)
    topology = as_topology(topology)
    check_limits(time_limit, seed)
    symmetric = check_flag("symmetric", symmetric)
    if loads is not None:
        loads = [check_integer("a load", load) for load in check_kind("loads", loads, list, tuple)]
    if isinstance(bandwidth, Fraction | int):
        check_quantity(Fraction(bandwidth), "bandwidth")
    case = Case.of(topology, steps, chunks)
    if topology.num_nodes == 1:
        empty = Schedule.from_columns(topology, case.chunks, [], [], [], [], [])
        return Synthesis("found", empty, Fraction(0), 0.0, "one node has nothing to gather")
    most = _most_load(case, bandwidth, loads)
    status, schedule, low, reason = _answer(case, most, loads, time_limit, seed, symmetric, progress)
    if schedule is not None:
        check_allgather(schedule)
        assert cost_of(schedule).steps <= steps and (most is None or total_load(schedule) <= most)
    return Synthesis(status, schedule, case.bandwidth(low), time.monotonic() - start, reason)


def _answer(
    case: Case,
    most: int | None,
    loads: Sequence[int] | None,
    seconds: float,
    seed: int,
    symmetric: bool,
    progress: Progress | None,
) -> tuple[Status, Schedule | None, int, str]:
    """Return status, schedule, the load that none is under, and the reason."""
    low = case.least_load
    if case.steps < case.diameter:
        return "impossible", None, low, f"needs at least {case.diameter} steps, the diameter"
    if most is not None and most < low:
        return "impossible", None, low, f"T_B is at least {case.bandwidth(low)} with {case.chunks} chunks a shard"
    search = SynthesisSearch.of(case, seconds, seed, symmetric, loads, progress)
    if most is None:
        schedule, low = search.minimise(case.sure_load + 1)
        status: Status = "unknown" if schedule is None else "found"
    else:
        status, schedule = search.decide(most)
        if status == "impossible" and loads is None:
            low = most + 1
    return status, schedule, low, _explain(search, status, schedule, low)


def _explain(search: SynthesisSearch, status: Status, schedule: Schedule | None, low: int) -> str:
    if schedule is not None:
        best = total_load(schedule) == low
        bound = f"T_B below {search.case.bandwidth(low)} is impossible with these steps and chunks"
        return f"the best: {bound}" if best else bound
    if status == "impossible":
        return "all possibilities are excluded"
    if search.seconds_left <= 0:
        return "time ran out"
    return "no schedule is invariant under the groups tried, and without a group the model is too large"
