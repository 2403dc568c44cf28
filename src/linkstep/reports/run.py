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
from linkstep.reports.view import View

_FORMAT = "linkstep-run"


@dataclass(frozen=True)
class RunRow:
    """What was measured for one size; times are floats, as clocks are."""

    size: int
    """Bytes of data in all."""
    count: int
    """Elements of a rank's input."""
    repetitions: int
    """How often it ran."""
    min_: float
    """Seconds of the fastest repetition."""
    median: float
    """Seconds of the median repetition."""
    p99: float
    """Seconds of the 99th percentile."""
    algbw: float
    """Bytes of data in a second, by the median."""
    busbw: float
    """What of that each rank had to send at least, whatever the algorithm: comparable between collectives."""
    wrong: int
    """Elements that were wrong, on all ranks together."""
    own_median: float | None
    """Seconds of the engine's own collective; null: not measured."""
    predicted: float | None
    """Seconds by a fabric, or by the testbed; null where neither is known."""
    cables: tuple[float, float] | None
    """The least and the most that a cable of a testbed carried, over what the schedule says; null: not counted."""

    @classmethod
    def of(cls, row: Measurement) -> RunRow:
        """Take a measured row apart."""
        return cls(
            size=row.size,
            count=row.count,
            repetitions=row.repetitions,
            min_=row.minimum,
            median=row.median,
            p99=row.p99,
            algbw=row.algbw,
            busbw=row.busbw,
            wrong=row.wrong,
            own_median=row.own_median,
            predicted=row.predicted,
            cables=row.cables,
        )


@dataclass(frozen=True)
class RunReport(View):
    """A collective that an engine ran, measured and checked: a file of measured runs."""

    report: ClassVar[str] = "run"

    format: str
    """"linkstep-run", by which ``linkstep fit`` knows the file."""
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
    bandwidth: Fraction | None
    """T_B, in M/B; null where no one schedule is known."""
    loads: tuple[tuple[int, Fraction, Fraction], ...] | None
    """Numbers of steps, and what the busiest link and the busiest host carry in each of them, parts of M; null where
    no one schedule is known."""
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

    @classmethod
    def of(cls, result: BenchResult) -> RunReport:
        """Put what was measured beside what it was to cost."""
        prepared = result.prepared
        schedule, cost = prepared.schedule, prepared.cost
        return cls(
            format=_FORMAT,
            what=result.name,
            collective=prepared.collective,
            engine=result.engine,
            ranks=prepared.num_ranks,
            forwarders=prepared.num_nodes - prepared.num_ranks,
            degree=prepared.degree,
            steps=None if cost is None else cost.steps,
            bandwidth=None if cost is None else cost.bandwidth,
            loads=None
            if schedule is None
            else tuple((load.steps, load.link, load.host) for load in step_loads(schedule)),
            type_=result.type_name,
            operation=result.operation,
            testbed=result.testbed,
            unswitched=prepared.is_switched,
            rows=tuple(map(RunRow.of, result.rows)),
        )

    @property
    def cost(self) -> Cost | None:
        """T_L and T_B together."""
        return None if self.steps is None or self.bandwidth is None else Cost(self.steps, self.bandwidth)
