"""A program on a simulated fabric: how long it took, beside its schedule's cost and what bandwidth asks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar

from linkstep.core.collective import Collective
from linkstep.core.errors import TopologyError
from linkstep.core.schedule import Schedule
from linkstep.costs import Cost, Fabric, bound_if_quick, cost_of
from linkstep.reports.pricing import FabricText, Pricing
from linkstep.reports.view import TB, ClockSeconds, FieldForm, Size, View
from linkstep.reports.wiring import WiringStanding
from linkstep.simulation import Simulation, bound_time

_SAME = 5e-4
"""Up to this part of a time, two are called the same."""


@dataclass(frozen=True)
class SimulationReport(View):
    """A simulated run; times are floats, since the simulator's clock is."""

    report: ClassVar[str] = "simulation"

    recipe: str | None
    """The topology; null for one without a name."""
    file: str | None
    """The runtime's file that ran; null for a schedule that was lowered here."""
    target: str
    """The runtime."""
    collective: Collective
    """What ran."""
    ranks: int
    """How many take part."""
    num_links: int
    """Of the topology."""
    size: Size
    """Of the data in all."""
    fabric: Annotated[FabricText, FieldForm.INLINE]
    steps: int | None
    """T_L of the schedule; null for a runtime's file."""
    t_b: TB | None
    """T_B of the schedule, in M/B; null for a runtime's file."""
    predicted_seconds: ClockSeconds | None
    """What the schedule's cost says; null for a runtime's file."""
    bound_seconds: ClockSeconds | None
    """What bandwidth alone asks, on this wiring where its bound is known; null: not known."""
    wiring_bound: WiringStanding | None
    """The schedule's T_B beside what the wiring allows; null for a runtime's file, or where that takes long."""
    simulated_seconds: ClockSeconds
    """Until the last rank is done."""
    loss: float | None
    """Simulated over predicted, less one."""
    busiest_link: tuple[str, str]
    """From which host to which: by names, or by numbers where they have none."""
    utilisation: float
    """The part of the time that the busiest link is busy."""
    instructions: int
    """Of the program, on all ranks."""
    timeline: str | None
    """The file that shows when each link is busy."""

    @classmethod
    def of(
        cls,
        done: Simulation,
        fabric: Fabric,
        pricing: Pricing,
        schedule: Schedule | None = None,
        file: str | None = None,
        timeline: str | None = None,
    ) -> SimulationReport:
        """Put a simulation beside its bounds: of a schedule that was lowered, or of a runtime's file."""
        topology, program, busiest = done.topology, done.program, done.busiest
        cost = None if schedule is None else cost_of(schedule, fabric)
        everyone = schedule is not None and schedule.ranks.is_everyone  # bounds of a wiring are of all its nodes
        return cls(
            recipe=topology.name or None,
            file=file if schedule is None else None,
            target=program.dialect,
            collective=program.collective,
            ranks=program.num_ranks,
            num_links=topology.num_links,
            size=pricing.size,
            fabric=pricing.text_for(topology.degree),
            steps=None if cost is None else cost.steps,
            t_b=None if cost is None else cost.bandwidth,
            predicted_seconds=done.predicted,
            bound_seconds=_bound_seconds(done, fabric, pricing.size),
            wiring_bound=WiringStanding.of(topology, program.collective, cost, fabric) if cost and everyone else None,
            simulated_seconds=done.time,
            loss=None if schedule is None else done.loss,
            busiest_link=(topology.host(int(topology.tail[busiest])), topology.host(int(topology.head[busiest]))),
            utilisation=done.utilisation,
            instructions=program.num_instructions,
            timeline=timeline,
        )

    @property
    def cost(self) -> Cost | None:
        """T_L and T_B together."""
        return None if self.steps is None or self.t_b is None else Cost(self.steps, self.t_b)

    @property
    def is_as_predicted(self) -> bool:
        """Whether the simulated time is the predicted one, but for what nobody would notice."""
        return self.loss is not None and abs(self.loss) <= _SAME


def _bound_seconds(done: Simulation, fabric: Fabric, size: str) -> float | None:
    bound, collective = None, done.program.collective
    with suppress(TopologyError):  # a file may use links that do not connect all ranks, and do nothing right
        bound = bound_if_quick(done.topology, collective, fabric)
    if bound is not None:
        least = replace(fabric, reduction_bandwidth=None, overhead=Fraction(0))
        return float(least.time(Cost(0, bound.cost.bandwidth), collective, size))
    return bound_time(done.program, fabric, size) if done.topology.bandwidth is None else None
