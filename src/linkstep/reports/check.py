"""A schedule file that was checked: proven right and costed, or refuted by a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from linkstep.core.collective import Collective
from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.costs import bandwidth_bound, cost_of, seconds_of
from linkstep.reports.pricing import Pricing
from linkstep.reports.view import TB, FieldForm, Seconds, Size, View
from linkstep.reports.wiring import WiringStanding


@dataclass(frozen=True)
class CheckReport(View):
    """A schedule that is valid, and what it costs."""

    report: ClassVar[str] = "check"

    file: str
    """What was checked."""
    collective: Collective
    """What it was checked as."""
    num_rows: int
    """Of the schedule."""
    valid: bool
    """True: every rank ends with what the collective says."""
    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    size: Size
    """Of the data in all."""
    seconds: Seconds
    """Of the schedule."""
    fabric: str
    """The fabric that the time is for, in words."""
    wiring_bound: WiringStanding | None
    """T_B beside what the wiring allows; null where that takes long."""
    topology: Annotated[str | None, FieldForm.UNWRITTEN]
    """What the schedule's topology is called."""
    nodes: Annotated[int, FieldForm.UNWRITTEN]
    ranks: Annotated[int, FieldForm.UNWRITTEN]
    """Of the nodes, those that take part."""
    bandwidth_optimal: Annotated[bool, FieldForm.UNWRITTEN]
    """Whether T_B is (N-1)/N in each half, of collectives whose bound that is."""

    @classmethod
    def of(cls, file: str, schedule: Schedule, collective: Collective, pricing: Pricing) -> CheckReport:
        """Price a schedule that passed its check."""
        topology, fabric = schedule.topology, pricing.fabric_for(schedule.topology.degree)
        cost, everyone = cost_of(schedule, fabric), schedule.ranks.is_everyone  # bounds are of all nodes
        least = len(collective.phases) * bandwidth_bound(topology.num_nodes)
        has_bound = not (collective.has_root or collective.exchanges)  # one that depends on N alone
        return cls(
            file=file,
            collective=collective,
            num_rows=schedule.num_rows,
            valid=True,
            steps=cost.steps,
            t_b=cost.bandwidth,
            size=pricing.size,
            seconds=seconds_of(schedule, fabric, pricing.size),
            fabric=pricing.words_for(topology),
            wiring_bound=WiringStanding.of(topology, collective, cost, fabric) if everyone else None,
            topology=topology.name or None,
            nodes=topology.num_nodes,
            ranks=schedule.num_ranks,
            bandwidth_optimal=everyone and has_bound and cost.bandwidth == least,
        )


@dataclass(frozen=True)
class RefutationReport(View):
    """A schedule that is not valid, with a witness."""

    report: ClassVar[str] = "refutation"

    file: str
    """What was checked."""
    collective: Collective
    """What it was checked as."""
    num_rows: int
    """Of the schedule."""
    valid: bool
    """False: a row sends what is not there, or a rank ends without what it should have."""
    witness: str
    """What is wrong, in words."""
    row: int | None
    """The first row that is wrong, counted from 0; null where no single row is."""

    @classmethod
    def of(cls, file: str, schedule: Schedule, collective: Collective, error: ScheduleError) -> RefutationReport:
        """Say what a check found."""
        return cls(file, collective, schedule.num_rows, False, str(error), error.row)
