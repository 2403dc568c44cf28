"""What people wire and run today: its costs beside ours, and a schedule of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from linkstep.baselines import Baseline, Pipeline
from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule
from linkstep.costs import Cost, Fabric, cost_of, cut_through_steps, lower_bound, seconds_of
from linkstep.reports.find import KINDS
from linkstep.reports.halves import Halves, OurSchedule
from linkstep.reports.pricing import FabricText, Pricing
from linkstep.reports.view import TB, FieldForm, Seconds, Size, View


@dataclass(frozen=True)
class PipelineFacts:
    """How a tree is pipelined."""

    depth: int | None
    """Of each half or, through roots, pieces that follow each other; null for what is not pipelined."""
    through_roots: bool
    """Whether pieces are reduced to a root and broadcast from there, not scattered."""

    @classmethod
    def of(cls, pipeline: Pipeline | None) -> PipelineFacts:
        """Take a pipeline apart."""
        return cls(None, False) if pipeline is None else cls(pipeline.depth, pipeline.is_rooted)

    @property
    def pipeline(self) -> Pipeline | None:
        """As a value that says itself in words."""
        return None if self.depth is None else Pipeline(self.depth, self.through_roots)


@dataclass(frozen=True)
class BaselineRow:
    """A wiring with a schedule in use, and what our schedule takes on the same wires."""

    recipe: str
    """The wiring."""
    schedule: str
    """The schedule, as ``--schedule`` calls it."""
    schedule_name: str
    """The schedule, as people call it."""
    title: str
    """What it does."""
    halves: Annotated[Halves, FieldForm.INLINE]
    pipeline: Annotated[PipelineFacts, FieldForm.INLINE]
    """The best for ``size``."""
    several_hops: bool
    """Whether messages go over several links at once."""
    allreduce_seconds: Seconds
    """Of an allreduce of ``size``."""
    allreduce_at_most: bool
    """Whether it takes at most that: its links are all taken to run slower by what a host lacks."""
    ours: Annotated[OurSchedule, FieldForm.INLINE]
    is_ours: Annotated[bool, FieldForm.UNWRITTEN]
    """Whether this schedule is ours."""

    @classmethod
    def of(cls, one: Baseline, fabric: Fabric, size: str) -> BaselineRow:
        """Price a baseline."""
        return cls(
            recipe=str(one.recipe),
            schedule=one.row.key,
            schedule_name=one.name,
            title=one.row.title,
            halves=Halves.of(*one.halves_at(fabric, size)),
            pipeline=PipelineFacts.of(None if one.cost is not None else one.pipeline_for(fabric, size)),
            several_hops=one.takes_several_hops,
            allreduce_seconds=one.allreduce_time(fabric, size),
            allreduce_at_most=not one.is_time_exact(fabric, size),
            ours=OurSchedule.of(one.ours, one.num_nodes, fabric, size),
            is_ours=one.row.is_ours,
        )


@dataclass(frozen=True)
class AllreduceBound:
    """What no wiring of this N, d and kind beats by a reduce-scatter and an allgather."""

    steps: int
    """T_L of an allreduce."""
    t_b: TB
    """T_B of an allreduce, in M/B."""
    allreduce_seconds: Seconds
    """Of an allreduce of ``size``."""


@dataclass(frozen=True)
class BaselinesReport(View):
    """What is wired and run today for N servers with d ports."""

    report: ClassVar[str] = "baselines"

    nodes: int
    """Servers, N."""
    degree: int
    """Ports of a server, d."""
    kind: str
    """``duplex``: ordinary cables; ``directed``: one-way fibres are allowed."""
    fabric: Annotated[FabricText, FieldForm.INLINE]
    size: Size
    """Of the data that times are for."""
    cut_through: bool
    """Whether a message over several hops is charged one alpha, not one for each hop."""
    baselines: tuple[BaselineRow, ...]
    bounds: AllreduceBound

    @classmethod
    def of(
        cls, found: Sequence[Baseline], num_nodes: int, degree: int, pricing: Pricing, cut_through: bool,
        *, directed: bool,
    ) -> BaselinesReport:  # fmt: skip
        """Price baselines on wirings of duplex cables or, if ``directed``, of one-way fibres too."""
        fabric, has_wirings = pricing.fabric_for(degree), degree > 1 or num_nodes <= 2
        half = lower_bound(num_nodes, degree, bidirectional=has_wirings and not directed)
        if cut_through:
            half = Cost(cut_through_steps(num_nodes, degree), half.bandwidth)
        best = fabric.time(half + half, Collective.ALLREDUCE, pricing.size)
        return cls(
            nodes=num_nodes,
            degree=degree,
            kind=KINDS[directed],
            fabric=pricing.text_for(degree),
            size=pricing.size,
            cut_through=cut_through,
            baselines=tuple(BaselineRow.of(one, fabric, pricing.size) for one in found),
            bounds=AllreduceBound(2 * half.steps, 2 * half.bandwidth, best),
        )

    @property
    def has_times_at_most(self) -> bool:
        """Whether some times are what they are at most, for a limit of hosts."""
        return any(row.allreduce_at_most or row.ours.our_allreduce_at_most for row in self.baselines)

    @property
    def by_wiring(self) -> dict[str, list[BaselineRow]]:
        """The rows of each wiring."""
        found: dict[str, list[BaselineRow]] = {}
        for row in self.baselines:
            found.setdefault(row.recipe, []).append(row)
        return found


@dataclass(frozen=True)
class BaselineScheduleReport(View):
    """A schedule of a baseline that was made and checked."""

    report: ClassVar[str] = "baseline-schedule"

    recipe: str
    """The wiring."""
    schedule: str
    """The schedule, as ``--schedule`` calls it."""
    title: str
    """What it does."""
    collective: Collective
    """What it does."""
    steps: int
    """T_L."""
    t_b: TB
    """T_B of the rows of the schedule, in M/B."""
    charged_steps: int
    """T_L that the list of baselines charges."""
    charged_t_b: TB
    """T_B that the list charges, in M/B: more, where nodes are sent what they passed on before."""
    pipeline: Annotated[PipelineFacts, FieldForm.INLINE]
    """The best for ``size``."""
    seconds: Seconds
    """Of the schedule."""
    size: Size
    """Of the data in all."""
    fabric: Annotated[FabricText, FieldForm.INLINE]
    num_rows: int
    """Of the schedule."""
    output: str | None
    """Where the schedule was saved."""
    name: Annotated[str, FieldForm.UNWRITTEN]
    """The schedule, as people call it."""
    unit: Annotated[int, FieldForm.UNWRITTEN]
    """Chunks of a shard."""

    @classmethod
    def of(
        cls, one: Baseline, made: Schedule, pipeline: Pipeline, pricing: Pricing, file: str | None = None
    ) -> BaselineScheduleReport:
        """Price a schedule of a baseline."""
        degree, size, collective = one.recipe.degree, pricing.size, made.collective
        fabric, cost = pricing.fabric_for(degree), cost_of(made)
        is_whole = collective is Collective.ALLREDUCE
        halves = one.halves_at(fabric, size) if is_whole else (one.cost_at(fabric, size),)
        charged = sum(halves, Cost.zero())
        return cls(
            recipe=str(one.recipe),
            schedule=one.row.key,
            title=one.row.title,
            collective=collective,
            steps=cost.steps,
            t_b=cost.bandwidth,
            charged_steps=charged.steps,
            charged_t_b=charged.bandwidth,
            pipeline=PipelineFacts.of(None if one.cost is not None else pipeline),
            seconds=seconds_of(made, fabric, size),
            size=size,
            fabric=pricing.text_for(degree),
            num_rows=made.num_rows,
            output=file,
            name=one.name,
            unit=made.unit,
        )

    @property
    def is_charged_more(self) -> bool:
        """Whether the list charges another T_B than the rows have; of collectives with a root it is no measure."""
        return not self.collective.has_root and self.charged_t_b != self.t_b
