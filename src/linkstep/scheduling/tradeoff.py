"""What a wiring allows at best: steps against bandwidth, from the fewest steps on.

``trade_off`` considers BFB, arrival times in more and more steps, and what a recipe says, and keeps what no other
equals or beats. Not here: making the schedules (``linkstep.scheduling.make``); a point says by which method and in how
many steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from linkstep.core.arguments import check_callable, check_integer, check_kind, check_seconds
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.frames import Table
from linkstep.core.inputs import WiringLike
from linkstep.core.notebook import cell_text, html_table
from linkstep.core.pareto import pareto
from linkstep.core.stopping import is_stopped, stoppable
from linkstep.core.topology import Topology
from linkstep.core.units import check_count
from linkstep.costs import Cost, bandwidth_bound, bound_if_quick, step_bound
from linkstep.methods.arrival import SearchLimits, Watch, arrival_cost
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import resolve

MORE_STEPS = 4
"""Steps beyond the diameter that are looked at, in each half of an allreduce."""
MAX_MORE_STEPS = 1000
_QUICK = 2 * 10**5
"""Links times steps up to which the bound for a number of steps is found in a second or two."""


@dataclass(frozen=True)
class Point:
    """A cost, the method that reaches it, and what no schedule in as many steps goes below (None: not known)."""

    cost: Cost
    method: str
    halves: tuple[Cost, ...] = ()
    """Of an allreduce: its reduce-scatter and its allgather."""
    least: Fraction | None = None

    def _row_(self) -> dict[str, Any]:
        return {"T_L": self.cost.steps, "T_B": self.cost.bandwidth, "method": self.method, "T_B_least": self.least}

    def _repr_html_(self) -> str:
        return html_table("point", [(name, cell_text(cell)) for name, cell in self._row_().items()])


class TradeOff(Table[Point]):
    """Pareto-optimal points, fewest steps first."""

    topology: Topology
    collective: Collective

    @classmethod
    def of(cls, topology: Topology, collective: Collective, points: Iterable[Point]) -> TradeOff:
        """Return the points that were found for a collective on a topology."""
        found = cls(points)
        found.topology, found.collective = topology, collective
        return found

    @property
    def name(self) -> str:
        """What the points are of."""
        return f"{self.topology.name or f'N={self.topology.num_nodes}'}: {self.collective}"

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the table says above its rows."""
        return f"{self.name}, steps against bandwidth"

    @property
    def bound(self) -> Fraction:
        """T_B that no graph of this N goes below."""
        return bandwidth_bound(self.topology.num_nodes) * len(self.collective.phases)

    def _wiring_(self) -> Topology:
        return self.topology

    def __repr__(self) -> str:
        return f"<TradeOff of {len(self)} points: {', '.join(str(point.cost) for point in self[:3])}>"


def trade_off(
    topology: WiringLike,
    collective: Collective | str = Collective.ALLREDUCE,
    *,
    more_steps: int = MORE_STEPS,
    seconds: float | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> TradeOff:
    """Return the Pareto-optimal costs found on a wiring, fewest steps first; ``seconds`` limit each search.

    >>> [str(point.cost) for point in trade_off("BiRing(2,5)", "allgather")]
    ['2 alpha + 4/5 M/B']
    """
    check_callable("watch", watch)
    wanted = Collective(check_kind("collective", collective, str))
    if wanted.has_root or wanted.exchanges:
        raise LinkstepError(f"a frontier is of an allgather, a reduce-scatter or an allreduce, not of {wanted}")
    more_steps = check_count("more_steps", more_steps, 0, MAX_MORE_STEPS)
    seconds = None if seconds is None else check_seconds("seconds", seconds)
    limits = SearchLimits(seconds=seconds, seed=check_integer("seed", seed))
    graph, recipe = resolve(topology)
    transpose = graph if graph.is_bidirectional else graph.transpose()
    sides = [transpose] * wanted.reduces + [graph] * wanted.gathers
    with stoppable():
        points = list(_of_arrivals(sides, limits, more_steps, watch))
    if recipe is not None and not recipe.predict().is_bfb:
        points.append(Point(recipe.cost_of(wanted), "expand"))
    kept = pareto(points, figures=lambda p: (p.cost.steps, p.cost.bandwidth), tie=lambda p: p.method != "bfb")
    return TradeOff.of(graph, wanted, (_with_least(graph, wanted, point) for point in kept))


def _of_arrivals(sides: list[Topology], limits: SearchLimits, more_steps: int, watch: Watch | None) -> Iterator[Point]:
    """Yield what arrival times reach in each number of steps, from the diameter on, until all reach their bounds."""
    bounds = [bound_if_quick(side, Collective.ALLGATHER) for side in sides]
    least = [bandwidth_bound(sides[0].num_nodes) if b is None else b.cost.bandwidth for b in bounds]
    plain = [bfb_cost(side) for side in sides]
    for steps in range(plain[0].steps, plain[0].steps + more_steps + 1):
        costs = [arrival_cost(side, replace(limits, steps=steps), watch=watch) for side in sides]
        method = "bfb" if costs == plain else "arrival"
        yield Point(sum(costs, Cost.zero()), method, tuple(costs) if len(costs) > 1 else ())
        if is_stopped() or all(cost.bandwidth <= bound for cost, bound in zip(costs, least, strict=True)):
            return


def _with_least(topology: Topology, collective: Collective, point: Point) -> Point:
    """Add the bound for the point's steps; of an allreduce there is none that is worth printing."""
    if point.halves or collective is Collective.ALLREDUCE or topology.num_nodes == 1:
        return point
    if point.cost.steps * topology.num_links > _QUICK:
        return point
    least = step_bound(topology, point.cost.steps, collective).cost.bandwidth
    return Point(point.cost, point.method, least=least)
