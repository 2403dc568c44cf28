"""A program on a simulated fabric: how long it took, beside its schedule's cost and what bandwidth asks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar

from linkstep.core.collective import Collective
from linkstep.core.errors import TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.costs import Cost, Fabric, bound_if_quick, cost_of
from linkstep.reports.pricing import FabricText, Pricing
from linkstep.reports.view import FieldForm, View
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
    to: str
    """The runtime."""
    collective: Collective
    """What ran."""
    ranks: int
    """How many take part."""
    links: int
    """Of the topology."""
    size: str
    """Of the data in all."""
    fabric: Annotated[FabricText, FieldForm.INLINE]
    cost: str | None
    """Of the schedule, T_L and T_B in words; null for a runtime's file."""
    predicted_seconds: float | None
    """What the schedule's cost says; null for a runtime's file."""
    bound_seconds: float | None
    """What bandwidth alone asks, on this wiring where its bound is known; null: not known."""
    wiring_bound: WiringStanding | None
    """The schedule's T_B beside what the wiring allows; null for a runtime's file, or where that takes long."""
    simulated_seconds: float
    """Until the last rank is done."""
    loss: float | None
    """Simulated over predicted, less one."""
    busiest_link: tuple[int | str, int | str]
    """From which host to which: by name where hosts have names."""
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
            to=program.dialect,
            collective=program.collective,
            ranks=program.num_ranks,
            links=topology.num_links,
            size=pricing.size,
            fabric=pricing.text_for(topology.degree),
            cost=None if cost is None else str(cost),
            predicted_seconds=done.predicted,
            bound_seconds=_bound_seconds(done, fabric, pricing.size),
            wiring_bound=WiringStanding.of(topology, program.collective, cost, fabric) if cost and everyone else None,
            simulated_seconds=done.time,
            loss=None if schedule is None else done.loss,
            busiest_link=(_end(topology, int(topology.tail[busiest])), _end(topology, int(topology.head[busiest]))),
            utilisation=done.utilisation,
            instructions=program.num_instructions,
            timeline=timeline,
        )

    @property
    def is_as_predicted(self) -> bool:
        """Whether the simulated time is the predicted one, but for what nobody would notice."""
        return self.loss is not None and abs(self.loss) <= _SAME


def _end(topology: Topology, node: int) -> int | str:
    return node if topology.labels is None else topology.labels[node]


def _bound_seconds(done: Simulation, fabric: Fabric, size: str) -> float | None:
    bound, collective = None, done.program.collective
    with suppress(TopologyError):  # a file may use links that do not connect all ranks, and do nothing right
        bound = bound_if_quick(done.topology, collective, fabric)
    if bound is not None:
        least = replace(fabric, reduction_bandwidth=None, overhead=Fraction(0))
        return float(least.time(Cost(0, bound.cost.bandwidth), collective, size))
    return bound_time(done.program, fabric, size) if done.topology.bandwidth is None else None
