"""How the cost of a schedule stands against what its wiring allows: optimal, optimal in its steps, or how far from it.

``standing`` decides it where that is quick and answers None where it is not; commands print it. Not here: the bounds
themselves (``costs.wiring``, ``costs.wiring_steps``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.collective import Collective
from linkstep.core.distances import distances_from
from linkstep.core.text import counted
from linkstep.core.topology import Topology
from linkstep.costs.bounds import bandwidth_bound
from linkstep.costs.cost import Cost
from linkstep.costs.fabric import Fabric
from linkstep.costs.wiring import WiringBound, has_wiring_bound, wiring_bound
from linkstep.costs.wiring_steps import step_bound

MANY = 3 * 10**9
"""Up to this many nodes times links times steps across, a wiring bound takes a few seconds."""
_ARCS = 2 * 10**5
_STEPS = 16
"""Up to these links in time and these steps, a step bound takes a second or two."""


@dataclass(frozen=True)
class Standing:
    """A cost beside the wiring's bound, and beside what no schedule in as many steps goes below (None if not known)."""

    cost: Cost
    bound: WiringBound
    in_steps: Fraction | None

    @property
    def _by_halves(self) -> bool:
        """Whether an allreduce is measured by its halves: it takes as much as they, and overlapped could take less."""
        below = self.cost.bandwidth < self.bound.sequential.bandwidth
        return not below and self.bound.sequential.bandwidth > self.bound.cost.bandwidth

    @property
    def _least(self) -> tuple[Fraction, str]:
        """The T_B to measure by, and what it is the least of."""
        if self._by_halves:
            return self.bound.sequential.bandwidth, " for halves that do not overlap"
        if self.in_steps is not None and self.in_steps > self.bound.cost.bandwidth:
            return self.in_steps, f" in {counted(self.cost.steps, 'step')}"
        return self.bound.cost.bandwidth, ""

    @property
    def is_optimal(self) -> bool:
        """Whether no schedule on this wiring takes less bandwidth in as many steps, or with halves in a row."""
        return self.cost.bandwidth == self._least[0]

    @property
    def verdict(self) -> str:
        """Say in a few words how good the bandwidth is on this wiring."""
        least, what = self._least
        how = "optimal" if self.is_optimal else f"within {_above(self.cost.bandwidth, least)} of the least"
        return how + what

    @property
    def summary(self) -> str | None:
        """The verdict, the bounds and why they hold; None if T_B is what N alone asks for, whatever the wiring."""
        phases, bound = len(self.bound.collective.phases), self.bound
        usual = phases * bandwidth_bound(bound.topology.num_nodes)
        if self.cost.bandwidth == usual:
            return None
        text, why = f"{self.verdict}; {bound.sequential if self._by_halves else bound.cost} at least", bound
        if self._by_halves:
            text, why = f"{text}, overlapped {bound.cost}", max(bound.halves, key=lambda half: half.cost.bandwidth)
        elif self.in_steps is not None and self.in_steps > bound.cost.bandwidth:
            text += f", {self.in_steps} M/B in {counted(self.cost.steps, 'step')}"
        return text if why.cost.bandwidth == usual else f"{text}: {why.explain()}"


def _above(value: Fraction, least: Fraction) -> str:
    return f"{float(value / least - 1):.2%}" if least else "anything"


def bound_if_quick(topology: Topology, collective: Collective, fabric: Fabric | None = None) -> WiringBound | None:
    """Return the wiring bound of a collective; None if it has none, or finding it would take long."""
    if not has_wiring_bound(collective) or topology.num_nodes == 1 or topology.has_lifetimes:
        return None
    if fabric is not None and fabric.host_bandwidth is not None and topology.shares_hosts:
        return None
    across = 1 if topology.vertex_transitive else int(distances_from(topology, 0).max())
    work = (1 if topology.vertex_transitive else topology.num_nodes) * topology.num_links * across
    return wiring_bound(topology, collective, fabric) if work <= MANY else None


def standing(topology: Topology, collective: Collective, cost: Cost, fabric: Fabric | None = None) -> Standing | None:
    """Return how a schedule's cost stands on its wiring; None where the collective has no such bound or it takes long.

    Where the hosts of a fabric have a limit, the cost must count it. So does the bound for any number of steps, but for
    as many steps it is that of links alone.

    >>> path = Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])
    >>> standing(path, Collective.ALLGATHER, Cost(2, Fraction(4, 3))).verdict
    'optimal'
    """
    bound = bound_if_quick(topology, collective, fabric)
    if bound is None:
        return None
    small = cost.steps <= _STEPS and cost.steps * topology.num_links <= _ARCS
    in_steps = None
    if small and not bound.halves and cost.bandwidth > bound.cost.bandwidth:
        in_steps = step_bound(topology, cost.steps, collective).cost.bandwidth
        if bound.width is not None:
            in_steps *= bound.width / topology.degree  # of B as the cost is
    return Standing(cost, bound, in_steps)
