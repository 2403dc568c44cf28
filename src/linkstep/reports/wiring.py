"""A cost beside what its wiring allows, with the proof: the tightest cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from linkstep.core.collective import Collective
from linkstep.core.topology import Topology
from linkstep.costs import Cost, Fabric, WiringBound, standing
from linkstep.reports.view import TB, FieldForm


@dataclass(frozen=True)
class WiringCut:
    """What no schedule on a wiring goes below, and why."""

    steps: int
    """The fewest steps, T_L."""
    t_b: TB
    """The least T_B, in M/B."""
    halves: tuple[WiringHalf, ...]
    """Of an allreduce: the bounds of its reduce-scatter and its allgather."""
    cut_hosts: tuple[str, ...]
    """Hosts inside the cut that proves it; none where all links count."""
    cut_links: tuple[tuple[str, str], ...]
    """The links across the cut, from which host to which."""
    limited_hosts: tuple[str, ...]
    """Hosts whose ports have a limit together that counts in place of their links."""
    proof: str
    """The proof in words."""

    @classmethod
    def of(cls, bound: WiringBound) -> WiringCut:
        """Name the hosts of a bound."""
        topology = bound.topology
        links = bound.links if bound.nodes else ()
        return cls(
            bound.cost.steps,
            bound.cost.bandwidth,
            tuple(WiringHalf(half.collective, cls.of(half)) for half in bound.halves),
            tuple(topology.host(node) for node in bound.nodes),
            tuple((topology.host(int(topology.tail[e])), topology.host(int(topology.head[e]))) for e in links),
            tuple(topology.host(node) for node in bound.hosts),
            bound.explain(),
        )


@dataclass(frozen=True)
class WiringHalf:
    """The bound of one half of an allreduce."""

    collective: Collective
    """Which half."""
    cut: Annotated[WiringCut, FieldForm.INLINE]


@dataclass(frozen=True)
class WiringStanding:
    """How a schedule's T_B stands beside the least that its wiring allows."""

    cut: Annotated[WiringCut, FieldForm.INLINE]
    t_b_bound_in_steps: TB | None
    """The least T_B in as many steps as the schedule has, in M/B; null: not known."""
    optimal: bool
    """Whether the schedule reaches the least."""
    verdict: str
    """The same in a few words."""
    summary: str | None
    """Verdict, bounds and proof in a line; null where T_B is what N alone asks for, whatever the wiring."""

    @classmethod
    def of(
        cls, topology: Topology, collective: Collective, cost: Cost, fabric: Fabric | None = None
    ) -> WiringStanding | None:
        """Look for the tightest cut; None where that would take long. The cost counts a limit of the fabric's hosts."""
        found = standing(topology, collective, cost, fabric)
        if found is None:
            return None
        cut = WiringCut.of(found.bound)
        return cls(cut, found.in_steps, found.is_optimal, found.verdict, found.summary)
