"""A collective that ran for real: what it was, what it was to cost, and what was measured for each size.

Its JSON is a file of measured runs, which ``linkstep fit`` and ``linkstep.costs.load_runs`` read.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from linkstep.core.collective import Collective
from linkstep.costs import Cost
from linkstep.costs.runs import step_loads
from linkstep.engines.bench.measure import Measurement
from linkstep.engines.bench.preparation import BenchResult
from linkstep.reports.view import TB, ByteCount, ClockSeconds, View


@dataclass(frozen=True)
class RunRow:
    """What was measured for one size; times are floats, as clocks are."""

    size: ByteCount
    """Bytes of data in all."""
    count: int
    """Elements of a rank's input."""
    repetitions: int
    """How often it ran."""
    min_seconds: ClockSeconds
    """Seconds of the fastest repetition."""
    median_seconds: ClockSeconds
    """Seconds of the median repetition."""
    p99_seconds: ClockSeconds
    """Seconds of the 99th percentile."""
    algbw: float
    """Bytes of data in a second, by the median."""
    busbw: float
    """What of that each rank had to send at least, whatever the algorithm: comparable between collectives."""
    wrong: int
    """Elements that were wrong, on all ranks together."""
    own_median_seconds: ClockSeconds | None
    """Seconds of the engine's own collective; null: not measured."""
    predicted_seconds: ClockSeconds | None
    """Seconds by a fabric, or by the testbed; null where neither is known."""
    cables_over_schedule: tuple[float, float] | None
    """The least and the most that a cable of a testbed carried, over what the schedule says; null: not counted."""
    method: str | None = None
    """What made the schedule of this size; null where that is not known."""

    @classmethod
    def of(cls, row: Measurement, method: str | None = None) -> RunRow:
        """Take a measured row apart."""
        return cls(
            size=row.size,
            count=row.count,
            repetitions=row.repetitions,
            min_seconds=row.minimum,
            median_seconds=row.median,
            p99_seconds=row.p99,
            algbw=row.algbw,
            busbw=row.busbw,
            wrong=row.wrong,
            own_median_seconds=row.own_median,
            predicted_seconds=row.predicted,
            cables_over_schedule=row.cables,
            method=method,
        )


@dataclass(frozen=True)
class StepLoadRow:
    """Steps that are alike in what they put on links and hosts."""

    steps: int
    """How many."""
    link_load: Fraction
    """What the busiest link carries in each of them, a part of M."""
    host_load: Fraction
    """What the busiest host carries in each of them, a part of M."""


@dataclass(frozen=True)
class RunReport(View):
    """A collective that an engine ran, measured and checked: a file of measured runs."""

    report: ClassVar[str] = "run"

    what: str
    """What ran: the topology or the file."""
    collective: Collective
    """What it did."""
    engine: str
    """By what."""
    ranks: int
    """How many took part."""
    forwarders: int
    """How many nodes passed data on and took no part."""
    degree: int
    """Ports that a rank needs."""
    steps: int | None
    """T_L; null where no one schedule is known."""
    t_b: TB | None
    """T_B, in M/B; null where no one schedule is known."""
    step_loads: tuple[StepLoadRow, ...] | None
    """What steps put on links and hosts; null where no one schedule is known."""
    type_: str
    """Of the elements."""
    operation: str
    """By which they were combined."""
    testbed: str | None
    """The emulated cluster that it ran on; null: none."""
    unswitched: bool
    """Whether the schedule has links that open later or close: in the run they were there all the time."""
    rows: tuple[RunRow, ...]
    """One for each size."""
    method: str | None = None
    """What made the schedule, such as "bfb"; null where that is not known, or not the same for all sizes."""
    trace: str | None = None
    """The file that says what each rank did when; null: none."""

    @classmethod
    def of(cls, result: BenchResult, trace: str | None = None) -> RunReport:
        """Put what was measured beside what it was to cost."""
        prepared = result.prepared
        methods = [prepared.method_of(source) for source in prepared.sources]
        schedule, cost = prepared.schedule, prepared.cost
        return cls(
            what=result.name,
            collective=prepared.collective,
            engine=result.engine,
            ranks=prepared.num_ranks,
            forwarders=prepared.num_nodes - prepared.num_ranks,
            degree=prepared.degree,
            steps=None if cost is None else cost.steps,
            t_b=None if cost is None else cost.bandwidth,
            step_loads=None if schedule is None else tuple(StepLoadRow(*load) for load in step_loads(schedule)),
            type_=result.type_name,
            operation=result.operation,
            testbed=result.testbed,
            unswitched=prepared.is_switched,
            rows=tuple(map(RunRow.of, result.rows, methods)),
            method=methods[0] if len(set(methods)) == 1 else None,
            trace=trace,
        )

    @property
    def cost(self) -> Cost | None:
        """T_L and T_B together."""
        return None if self.steps is None or self.t_b is None else Cost(self.steps, self.t_b)
