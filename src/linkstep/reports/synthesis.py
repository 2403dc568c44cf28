"""What a search for a schedule with given steps and chunks found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from linkstep.core.topology import Topology
from linkstep.costs import bandwidth_bound, cost_of, is_bandwidth_optimal
from linkstep.methods.synthesis import ParetoPoint, Synthesis
from linkstep.reports.view import TB, ClockSeconds, FieldForm, View


@dataclass(frozen=True)
class SynthesizedSchedule:
    """What a search found; these members are left out where it found nothing."""

    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    bandwidth_optimal: bool
    """Whether that is (N-1)/N."""
    proven: bool
    """Whether no schedule with these steps and chunks has a lower T_B: proven."""
    num_rows: int
    """Of the schedule."""
    output: str | None
    """Where the schedule was saved."""

    @classmethod
    def of(cls, result: Synthesis, file: str | None) -> SynthesizedSchedule | None:
        """Price what was found."""
        if result.schedule is None:
            return None
        cost = cost_of(result.schedule)
        is_optimal = is_bandwidth_optimal(result.schedule.topology, cost)
        return cls(cost.steps, cost.bandwidth, is_optimal, result.is_best, result.schedule.num_rows, file)


@dataclass(frozen=True)
class SynthesisReport(View):
    """A search for an allgather with given steps and chunks."""

    report: ClassVar[str] = "synthesis"

    recipe: str | None
    """The topology; null for one without a name."""
    status: str
    """"found", "impossible" (proven) or "unknown" (time ran out)."""
    reason: str
    """The same with its reason."""
    chunks_per_shard: int
    """As asked for."""
    t_b_at_least: TB
    """T_B, in M/B, that no schedule with these steps and chunks goes below."""
    elapsed_seconds: ClockSeconds
    """That the search took."""
    found: Annotated[SynthesizedSchedule | None, FieldForm.INLINE]
    bandwidth_bound: Annotated[Fraction, FieldForm.UNWRITTEN]
    """T_B that no schedule beats at this N, in M/B."""

    @classmethod
    def of(cls, topology: Topology, result: Synthesis, chunks: int, file: str | None = None) -> SynthesisReport:
        """Price what a search found."""
        return cls(
            recipe=topology.name or None,
            status=result.status,
            reason=result.reason,
            chunks_per_shard=chunks,
            t_b_at_least=result.bound,
            elapsed_seconds=round(result.seconds, 3),
            found=SynthesizedSchedule.of(result, file),
            bandwidth_bound=bandwidth_bound(topology.num_nodes),
        )


@dataclass(frozen=True)
class ParetoRow:
    """A schedule that no other one found dominates."""

    steps: int
    """T_L."""
    t_b: TB
    """T_B, in M/B."""
    chunks_per_shard: int
    """That a shard is cut into."""
    proven: bool
    """Whether none with as many steps and at most the chunks asked for has a lower T_B, or fewer steps and as low."""


@dataclass(frozen=True)
class ParetoReport(View):
    """The best trade-offs of steps and T_B that a search found."""

    report: ClassVar[str] = "pareto"

    recipe: str | None
    """The topology; null for one without a name."""
    max_steps: int
    """As asked for."""
    max_chunks_per_shard: int
    """As asked for."""
    points: tuple[ParetoRow, ...]
    """Fewest steps first."""

    @classmethod
    def of(cls, topology: Topology, points: Sequence[ParetoPoint], max_steps: int, max_chunks: int) -> ParetoReport:
        """Take points apart."""
        rows = tuple(ParetoRow(p.cost.steps, p.cost.bandwidth, p.schedule.unit, p.proven) for p in points)
        return cls(topology.name or None, max_steps, max_chunks, rows)
