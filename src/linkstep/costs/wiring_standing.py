"""How the cost of a schedule stands against what its wiring allows: optimal, optimal in its steps, or how far from it.

``standing`` decides it where that is quick and answers None where it is not; commands print it. Not here: the bounds
themselves (``costs.wiring``, ``costs.wiring_steps``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.core.topology import Topology
from linkstep.costs.bounds import bandwidth_bound
from linkstep.costs.cost import Cost
from linkstep.costs.wiring import WiringBound, has_wiring_bound, wiring_bound
from linkstep.costs.wiring_steps import step_bound

MANY = 2 * 10**8
"""Up to so many nodes times links a wiring bound takes a second or two."""
_ARCS = 2 * 10**5
_STEPS = 16
"""Up to so many links in time, and steps, a step bound takes a second or two."""


@dataclass(frozen=True)
class Standing:
    """A cost beside the wiring's bound, and beside what no schedule in as many steps goes below (None if not known)."""

    cost: Cost
    bound: WiringBound
    in_steps: Fraction | None

    @property
    def least(self) -> WiringBound:
        """The bound to measure by: of an allreduce whose halves do not go below theirs, the half that takes more."""
        below = self.cost.bandwidth < self.bound.sequential.bandwidth
        return self.bound if below or not self.bound.halves else max(self.bound.halves, key=lambda h: h.cost.bandwidth)

    @property
    def verdict(self) -> str:
        """Say in a few words how good the bandwidth is on this wiring."""
        bandwidth = self.cost.bandwidth
        if bandwidth == self.bound.cost.bandwidth:
            return "optimal"
        least, what = self.bound.cost.bandwidth, ""
        if self.least is not self.bound:
            least, what = self.bound.sequential.bandwidth, " for halves that do not overlap"
        elif self.in_steps is not None:
            least, what = self.in_steps, f" in {self.cost.steps} steps"
        return f"optimal{what}" if bandwidth == least else f"within {_above(bandwidth, least)} of the least{what}"

    @property
    def summary(self) -> str | None:
        """The verdict, the bounds and why they hold; None if T_B is what N alone asks for, whatever the wiring."""
        topology, bound, least = self.bound.topology, self.bound.cost, self.least
        half = bandwidth_bound(topology.num_nodes)
        if self.cost.bandwidth == len(self.bound.collective.phases) * half:
            return None
        text = f"{self.verdict}; "
        if least is not self.bound:
            text += f"{self.bound.sequential} at least, overlapped {bound}"
        else:
            text += f"{bound} at least"
            if self.in_steps is not None and self.in_steps > bound.bandwidth:
                text += f", {self.in_steps} M/B in {self.cost.steps} steps"
        return text if least.cost.bandwidth == half else f"{text}: {least.explain()}"


def _above(value: Fraction, least: Fraction) -> str:
    return f"{float(value / least - 1):.2%}" if least else "anything"


def bound_if_quick(topology: Topology, collective: Collective) -> WiringBound | None:
    """Return the wiring bound of a collective; None if it has none, or finding it would take long."""
    quick = topology.vertex_transitive or topology.num_nodes * topology.num_links <= MANY
    if not (quick and has_wiring_bound(collective) and topology.num_nodes > 1):
        return None
    return wiring_bound(topology, collective)


def standing(topology: Topology, collective: Collective, cost: Cost) -> Standing | None:
    """Return how a schedule's cost stands on its wiring; None where the collective has no such bound or it takes long.

    >>> path = Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])
    >>> standing(path, Collective.ALLGATHER, Cost(2, Fraction(4, 3))).verdict
    'optimal'
    """
    bound = bound_if_quick(topology, collective)
    if bound is None:
        return None
    small = cost.steps <= _STEPS and cost.steps * topology.num_links <= _ARCS
    in_steps = None
    if small and not bound.halves and cost.bandwidth > bound.cost.bandwidth:
        in_steps = step_bound(topology, cost.steps, collective).cost.bandwidth
    return Standing(cost, bound, in_steps)
