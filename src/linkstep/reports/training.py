"""An iteration of training on topologies: what ``train-sim`` compares, and how ``find`` ranks by a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

from linkstep.core.units import format_time
from linkstep.reports.pricing import FabricText, Pricing
from linkstep.reports.view import ByteCount, Bytes, FieldForm, Ratio, Seconds, View

if TYPE_CHECKING:  # simulating takes a while to import, and most answers of `find` simulate nothing
    from linkstep.simulation.training import Comparison, Job, Model, Outcome

_PARTS = (("compute", "compute"), ("exposed allreduce", "exposed_allreduce"), ("all-to-all", "all_to_all"))
"""What an iteration is made of: the name and the property."""


@dataclass(frozen=True)
class IterationRow:
    """The best iteration of a job on one topology."""

    name: str
    """What the topology is called in tables."""
    recipe: str | None
    """How it is constructed; null for what is not ours."""
    method: str | None
    """What makes its schedule; null for what is not ours."""
    role: str
    """"ours", "today" (in use) or "bound" (no topology beats it)."""
    seconds: Seconds
    """Of an iteration."""
    compute_seconds: Seconds
    """Forward and backward passes."""
    exposed_allreduce_seconds: Seconds
    """Of averaging gradients, what no computation hides."""
    allreduce_seconds: Seconds
    """Of averaging gradients in all."""
    all_to_all_seconds: Seconds
    """Of exchanges between experts."""
    bucket_bytes: ByteCount
    """Of a bucket of gradients, the best one."""
    all_to_all: Fraction | None
    """The part of a link's rate that every pair gets at once in an all-to-all."""
    reached: bool
    """Whether that is proven; if not, the iteration takes at least so long."""
    bucket: Annotated[Fraction, FieldForm.UNWRITTEN]
    """Bytes of a bucket, exactly."""

    @classmethod
    def of(cls, outcome: Outcome) -> IterationRow:
        """Take an outcome apart."""
        done, choice = outcome.iteration, outcome.choice
        return cls(
            name=outcome.name,
            recipe=None if choice is None else str(choice.recipe),
            method=None if choice is None else choice.method,
            role=outcome.role,
            seconds=outcome.time,
            compute_seconds=done.compute,
            exposed_allreduce_seconds=done.exposed_allreduce,
            allreduce_seconds=done.allreduce,
            all_to_all_seconds=done.all_to_all,
            bucket_bytes=int(done.bucket),
            all_to_all=outcome.network.flow,
            reached=outcome.is_reached,
            bucket=Fraction(done.bucket),
        )


@dataclass(frozen=True)
class JobRanking:
    """The rows of a frontier by the time of a job's iteration."""

    model: str
    """What is trained."""
    reason: str | None
    """Why the first is the first: what dominates its iteration, and by what the next loses; null without rows."""
    rows: tuple[IterationRow, ...]
    """The best first."""

    @classmethod
    def of(cls, job: Job, ranked: Sequence[Outcome]) -> JobRanking:
        """Say why the first outcome is the best."""
        rows = tuple(IterationRow.of(outcome) for outcome in ranked)
        return cls(job.model, _reason(ranked) if ranked else None, rows)


def _reason(ranked: Sequence[Outcome]) -> str:
    best, done = ranked[0], ranked[0].iteration
    shares = {name: float(getattr(done, member) / done.time) for name, member in _PARTS}
    dominant = max(shares, key=lambda name: shares[name])
    said = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share)
    text = f"{said}: {dominant} dominates"
    others = [outcome for outcome in ranked[1:] if outcome.name != best.name] or list(ranked[1:])
    if not others:
        return f"{text}; there is no other row"
    return f"{text}; {_against(best, others[0])}"


def _against(best: Outcome, other: Outcome) -> str:
    """Say what an iteration takes on another row, and where the difference comes from."""
    more = other.time - best.time
    there = "with the next schedule on the same wires" if other.name == best.name else f"on {other.name}"
    if not more:
        return f"{there} it takes the same"
    least = "" if other.is_reached else "at least "
    changes = {name: getattr(other.iteration, member) - getattr(best.iteration, member) for name, member in _PARTS[1:]}
    where = max(changes, key=lambda name: changes[name])
    return f"{there} it takes {least}{format_time(more)} more, by its {where}"


@dataclass(frozen=True)
class TrainingReport(View):
    """An iteration of a model on our best topology, on those in use today, and at least."""

    report: ClassVar[str] = "training"

    model: str
    """What is trained."""
    parameters: int
    """How many the model has."""
    nodes: int
    """Servers, N."""
    degree: int
    """Ports of a server, d."""
    fabric: Annotated[FabricText, FieldForm.INLINE]
    batch: Annotated[Fraction | None, FieldForm.NUMBER]
    """Samples that a server trains on in an iteration; null where the model does not say."""
    gradient_bytes: Bytes
    """Averaged in each iteration."""
    all_to_alls: int
    """Exchanges between experts in an iteration."""
    memory_bytes: Bytes
    """Of parameters, gradients and optimizer state on a server."""
    rows: tuple[IterationRow, ...]
    """Ours first, the bound last."""
    plot: str | None
    """The file with a plot of the rows."""
    timeline: str | None
    """The file that shows our iteration in time."""
    is_measured: Annotated[bool, FieldForm.UNWRITTEN]
    """Whether compute times were measured, not worked out from FLOP/s."""
    peak_flops: Annotated[Fraction | None, FieldForm.UNWRITTEN]
    """FLOP/s of a server at most; None where it is not known."""
    utilisation: Annotated[Ratio, FieldForm.UNWRITTEN]
    """The part of that which is reached."""

    @classmethod
    def of(
        cls, found: Comparison, model: Model, degree: int, pricing: Pricing,
        plot: str | None = None, timeline: str | None = None,
    ) -> TrainingReport:  # fmt: skip
        """Put a comparison beside what was asked."""
        job, hardware = found.job, model.hardware
        return cls(
            model=job.model,
            parameters=model.num_parameters,
            nodes=job.num_nodes,
            degree=degree,
            fabric=pricing.text_for(degree),
            batch=None if job.batch is None else Fraction(job.batch),
            gradient_bytes=job.gradient_bytes,
            all_to_alls=job.num_all_to_alls,
            memory_bytes=job.memory,
            rows=tuple(IterationRow.of(outcome) for outcome in found.outcomes),
            plot=plot,
            timeline=timeline,
            is_measured=model.is_measured or hardware.peak_flops is None,
            peak_flops=hardware.peak_flops,
            utilisation=hardware.utilisation,
        )

    @property
    def ours(self) -> IterationRow:
        """Our best topology."""
        return self.rows[0]

    @property
    def over_bound(self) -> Fraction:
        """Our iteration over what no topology beats, less one."""
        return self.ours.seconds / self.rows[-1].seconds - 1
