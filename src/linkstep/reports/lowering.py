"""A schedule lowered to a runtime's file: what is in it, and what must hold for the runtime to pick it up."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from linkstep.core.collective import Collective
from linkstep.costs import Cost, cost_of
from linkstep.lowering import Lowered, Target
from linkstep.lowering.registration import algorithm_call, plan_of
from linkstep.reports.view import TB, ByteCount, View


@dataclass(frozen=True)
class LoweringReport(View):
    """A runtime's file, verified; null: not of this runtime."""

    report: ClassVar[str] = "lowering"

    recipe: str | None
    """The topology; null for one without a name."""
    collective: Collective
    """What the file is for."""
    target: str
    """The runtime."""
    runtime: str
    """Which releases of it, in words."""
    output: str
    """The file, as it was asked for."""
    output_path: str
    """Its whole path."""
    ranks: int
    """How many take part."""
    rank_nodes: tuple[int, ...] | None
    """The node of each rank, then those that only forward; null where rank r is node r and all take part."""
    rank_labels: tuple[str, ...] | None
    """The host of each of these, or of each rank; null where hosts have no names."""
    root: int | None
    """The rank that a collective is from or to; null where it has none."""
    inplace: bool
    """Whether input and output share memory."""
    chunks: int
    """That the data is cut into."""
    channels: int
    """Of each link."""
    messages: int
    """On all ranks."""
    threadblocks: int | None
    """The most of any rank."""
    instructions: int | None
    """On all ranks."""
    fused: int | None
    """Instructions that receive and forward."""
    scratch_chunks: int
    """Chunks of scratch on a rank."""
    scratch_bytes: ByteCount
    """The same in bytes, at the largest size."""
    scratch_at_start: bool
    """Whether the runtime allocates scratch when it starts."""
    scratch_by_allocation: bool
    """Whether it allocates scratch by the allocation that holds the send buffer."""
    scratch_share: Fraction
    """Scratch over a call's data."""
    name: str | None
    """What the runtime knows the file by."""
    registration: str | None
    """The Python that registers it."""
    steps: int
    """T_L of the schedule."""
    t_b: TB
    """T_B of the schedule, in M/B."""
    min_bytes: ByteCount
    """The smallest data it is used for."""
    max_bytes: ByteCount
    """The largest data it is used for."""
    environment: str | None
    """Variables to set."""
    shares_folder: bool
    """Whether the runtime parses all files of the folder, and there are others."""
    selector: str | None
    """The file that says what serves which size."""
    divisible_by: int
    """The data in all is a multiple of this: bytes for mscclpp, else elements."""

    @classmethod
    def of(cls, lowered: Lowered, file: str, selector: str | None = None) -> LoweringReport:
        """Take apart what was written to a file."""
        placement, blocks, target = lowered.placement, lowered.blocks, lowered.target
        path, cost = Path(file).absolute(), cost_of(placement.schedule)
        plan = plan_of(lowered, str(path)) if target.registers else None
        return cls(
            recipe=placement.schedule.topology.name or None,
            collective=placement.collective,
            target=target.name,
            runtime=target.note,
            output=file,
            output_path=str(path),
            ranks=placement.num_ranks,
            rank_nodes=lowered.nodes,
            rank_labels=placement.schedule.topology.labels,
            root=None if placement.root < 0 else placement.root,
            inplace=placement.inplace,
            chunks=placement.num_chunks,
            channels=placement.num_channels,
            messages=len(placement.messages),
            threadblocks=None if blocks is None else max(len(several) for several in blocks.ranks),
            instructions=None if blocks is None else blocks.num_instructions,
            fused=None if blocks is None else blocks.num_fused,
            scratch_chunks=lowered.scratch_chunks,
            scratch_bytes=lowered.scratch_bytes,
            scratch_at_start=target.scratch_at_start,
            scratch_by_allocation=target.scratch_by_allocation,
            scratch_share=Fraction(lowered.scratch_share),
            name=lowered.name or None,
            registration=None if plan is None else algorithm_call(plan, path),
            steps=cost.steps,
            t_b=cost.bandwidth,
            min_bytes=lowered.window.smallest,
            max_bytes=lowered.window.largest,
            environment=_environment(target, path),
            shares_folder=target.reads_folder and _has_others(path),
            selector=selector,
            divisible_by=placement.num_chunks if plan is None else plan.multiple,
        )

    @property
    def cost(self) -> Cost:
        """T_L and T_B together."""
        return Cost(self.steps, self.t_b)


def _environment(target: Target, path: Path) -> str | None:
    if not target.environment:
        return None
    return target.environment.format(file=shlex.quote(str(path)), folder=shlex.quote(str(path.parent)))


def _has_others(path: Path) -> bool:
    """Whether the file's directory holds other files."""
    return any(other.name != path.name and other.is_file() for other in path.parent.iterdir())
