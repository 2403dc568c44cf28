"""A choice: a topology, the method that makes its schedules, and what those cost; what the finder works with.

A choice is a value and builds nothing until ``build`` is called. Not here: where choices come from (``bases``,
``finder``) and which of them is best (``frontier``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from linkstep.core.arguments import check_kind, check_seconds
from linkstep.core.collective import Collective
from linkstep.core.errors import ScheduleError
from linkstep.core.notebook import html_table
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.costs import Cost, Fabric, as_fabric, bandwidth_bound, cost_of, distance_flow_bound
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import Member, Product, Recipe
from linkstep.scheduling import BEST, schedule
from linkstep.search.scoring import FLOW_LINKS, ROUNDS
from linkstep.symmetry.distances import measure_distances
from linkstep.throughput import all_to_all
from linkstep.throughput.solve import GAP, exact_all_to_all

BUILD_NODES = 512
"""Up to this many nodes, an expanded schedule whose cost the theorems only bound is built to know it."""
KNOWN, FOUND = "known best", "found now"
MEASURE_WORK = 3 * 10**8
MEASURE_LINKS = 10**8
"""Distances are measured up to this work (nodes times links); where all nodes are alike, up to this many links."""


@dataclass(frozen=True)
class Choice:
    """A topology with its method and cost: what ``build`` makes costs exactly that, or at most if not ``is_exact``.

    ``diameter`` and ``flow``, all-to-all throughput, are None until measured.

    >>> from linkstep import find
    >>> row = find(5, 4).frontier[0]
    >>> row, row.build("allgather")
    (<Choice K_5 by bfb: allreduce 2 alpha + 8/5 M/B>, <Schedule allgather on K_5: 20 rows, 1 steps, unit 1>)
    """

    recipe: Recipe
    method: str
    """How its schedules are made: a name in ``linkstep.scheduling.METHODS``."""
    cost: Cost
    """Of the allgather."""
    reduce_scatter: Cost
    is_exact: bool = True
    origin: str = ""
    """Where it comes from, if that is worth saying: the catalog (``KNOWN``) or a search just now (``FOUND``)."""
    diameter: int | None = None
    flow: Fraction | None = None
    """What every pair can get at once when a link carries 1, or if not ``is_flow_reached`` what distances allow."""
    is_flow_reached: bool = False
    flow_bound: Fraction | None = None
    """What the flow is proven not to exceed; None where nobody has looked, or where ``flow`` is a bound itself."""
    is_bfb: bool = False
    """Whether no BFB schedule of the topology costs less."""
    is_simple: bool = False
    """Whether there are no parallel links and no self-loops, as far as is known."""
    is_loop_free: bool = False
    is_bidirectional: bool = False
    is_reverse_symmetric: bool = False
    fabric: Fabric | None = None
    """The one its schedules are made for, if its hosts have a limit that its costs count."""

    def __repr__(self) -> str:
        most = "" if self.is_exact else "at most "
        return f"<Choice {self.recipe.short} by {self.method}: allreduce {most}{self.allreduce_cost}>"

    def _wiring_(self) -> Recipe:
        return self.recipe

    def _schedule_(self) -> Schedule:
        return self.build(Collective.ALLREDUCE)

    def _how_(self) -> dict[str, Any]:
        return self.how

    def _row_(self) -> dict[str, Any]:
        whole, half = self.allreduce_cost, self.worse_half
        return {
            "topology": self.recipe.short, "N": self.num_nodes, "d": self.recipe.degree, "method": self.method,
            "steps": whole.steps, "bandwidth": whole.bandwidth, "half_steps": half.steps,
            "half_bandwidth": half.bandwidth, "diameter": self.diameter, "flow": self.flow,
            "duplex": self.is_bidirectional,
        }  # fmt: skip

    def _repr_html_(self) -> str:
        most = "" if self.is_exact else "at most "
        fields = [
            ("N", self.num_nodes), ("d", self.recipe.degree), ("method", self.method),
            ("allreduce", f"{most}{self.allreduce_cost}"), ("allgather", f"{most}{self.cost}"),
            ("reduce-scatter", f"{most}{self.reduce_scatter}"),
        ]  # fmt: skip
        return html_table(self.recipe.short, fields)

    @property
    def num_nodes(self) -> int:
        """N of the topology."""
        return self.recipe.num_nodes

    @cached_property
    def worse_half(self) -> Cost:
        """Steps and bandwidth that allgather and reduce-scatter both stay within."""
        return Cost(
            max(self.cost.steps, self.reduce_scatter.steps), max(self.cost.bandwidth, self.reduce_scatter.bandwidth)
        )

    @property
    def allreduce_cost(self) -> Cost:
        """Of the reduce-scatter and the allgather, one after the other: what choices are ranked by."""
        return self.reduce_scatter + self.cost

    def cost_of(self, collective: Collective) -> Cost | None:
        """Return what a collective that gathers, reduces or does both costs; None for those with a root and others."""
        return self._costs.get(Collective(check_kind("collective", collective, str)))

    @property
    def _costs(self) -> dict[Collective, Cost]:
        return {
            Collective.ALLREDUCE: self.allreduce_cost,
            Collective.ALLGATHER: self.cost,
            Collective.REDUCE_SCATTER: self.reduce_scatter,
        }

    @property
    def steps(self) -> int:
        """T_L of an allreduce."""
        return self.allreduce_cost.steps

    def topology(self) -> Topology:
        """Build the wiring, which is not kept: it may be large."""
        return self.recipe.topology(keep=False)

    @property
    def is_bandwidth_optimal(self) -> bool:
        """Whether allgather and reduce-scatter both reach T_B* = (N-1)/N."""
        return self.worse_half.bandwidth == bandwidth_bound(self.num_nodes)

    @property
    def is_factor(self) -> bool:
        """Whether thm:spathcartesianexpopt takes it: simple, BFB bandwidth-optimal on it and its transpose."""
        return self.is_bfb and self.is_simple and self.is_bandwidth_optimal

    @property
    def follows_recipe(self) -> bool:
        """Whether its schedule is the one that expansions of its recipe expand, not BFB on something expanded."""
        return self.method not in ("bfb", "arrival") or (
            self.method == "bfb" and isinstance(self.recipe, (Member, Product))
        )

    def build(self, collective: Collective | str = Collective.ALLGATHER, root: int = 0) -> Schedule:
        """Make the schedule of a collective, and check it.

        >>> from linkstep.recipe import parse
        >>> half = Cost(1, Fraction(2, 3))
        >>> Choice(parse("K_3"), "bfb", half, half).build("allreduce")
        <Schedule allreduce on K_3: 12 rows, 2 steps, unit 1>
        """
        if Collective(check_kind("collective", collective, str)).exchanges:
            return schedule(self.recipe, collective, method=BEST, root=root).schedule
        return schedule(self.recipe, collective, root=root, fabric=self.fabric, **self.how).schedule

    @property
    def how(self) -> dict[str, Any]:
        """What ``linkstep.schedule`` takes to make its schedules: the method, and the search that its costs are of."""
        if self.method != "arrival":
            return {"method": self.method}
        first, second = self.reduce_scatter.steps, self.cost.steps
        return {"method": self.method, "steps": first if first == second else (first, second), "rounds": ROUNDS}

    def expanded(self, recipe: Recipe, **changes: Any) -> Choice:
        """Return the choice that an expansion makes of this one; what was measured or known of the base is not its."""
        unknown: dict[str, Any] = {
            "origin": "", "diameter": None, "flow": None, "is_flow_reached": False, "flow_bound": None,
        }  # fmt: skip
        return replace(self, recipe=recipe, **(unknown | changes))

    def by_bfb(self) -> Choice:
        """Return BFB on the finished topology instead, its costs computed."""
        cost, reduce_scatter = bfb_costs(self.recipe, self.is_bidirectional or self.is_reverse_symmetric)
        return replace(self, method="bfb", cost=cost, reduce_scatter=reduce_scatter, is_exact=True, is_bfb=True)

    def exactly(self) -> Choice:
        """Return the choice with exact costs, where the theorems prove them or building the schedules is quick."""
        if self.is_exact:
            return self
        if self.method == "bfb":
            return self.by_bfb()
        predicted = [self.recipe.predict(transposed) for transposed in (False, True)]
        if all(half.is_exact for half in predicted):
            cost, reduce_scatter = (half.cost for half in predicted)
        elif self.num_nodes <= BUILD_NODES:
            cost, reduce_scatter = (cost_of(self.recipe.build(c)) for c in ("allgather", "reduce-scatter"))
        else:
            return self
        return replace(self, cost=cost, reduce_scatter=reduce_scatter, is_exact=True)

    def within(self, fabric: Fabric) -> Choice:
        """Return the choice with costs that count the limit of a fabric's hosts, if these have one.

        A bandwidth-optimal schedule stays one: all hosts are equally busy at every step. Where building another would
        take long its cost is what it is at most, on links that are all slower.
        """
        fabric = as_fabric(fabric)
        if not fabric.is_limited_by_hosts or self.is_bandwidth_optimal:
            return self
        if self.num_nodes > BUILD_NODES:
            return replace(self, is_exact=False)
        try:
            made = schedule(self.recipe, Collective.ALLREDUCE, fabric=fabric, **self.how)
        except ScheduleError:  # of rates that no number of chunks serves exactly
            return replace(self, is_exact=False)
        halves = made.halves or tuple(
            cost_of(schedule(self.recipe, half, fabric=fabric, **self.how).schedule, fabric)
            for half in (Collective.REDUCE_SCATTER, Collective.ALLGATHER)
        )
        return replace(self, cost=halves[1], reduce_scatter=halves[0], is_exact=True, fabric=fabric)

    def measured(self, *, flow: bool = True) -> Choice:
        """Return the choice with its diameter and all-to-all throughput, where measuring them is quick.

        Of the throughput only what distances allow, unless ``flow``.
        """
        n, d = self.num_nodes, self.recipe.degree
        if self.diameter is not None:
            return self
        if n * d > MEASURE_LINKS or (n * n * d > MEASURE_WORK and not self.recipe.is_vertex_transitive):
            return self
        topology = self.topology()
        distances = measure_distances(topology)
        exact = exact_all_to_all(topology) if flow and topology.num_links <= FLOW_LINKS else None
        value = distance_flow_bound(topology, distances.total) if exact is None else exact
        return replace(self, diameter=distances.diameter, flow=value, is_flow_reached=exact is not None)

    def with_flow(self, seconds: float) -> Choice:
        """Return the choice with an all-to-all throughput that is proven to be reached, found in about so long.

        Where one is known and may be far from the most that the wiring allows, the better of the two.
        """
        check_seconds("seconds", seconds)
        if self.flow is None or (self.is_flow_reached and not self._is_flow_loose):
            return self
        found = all_to_all(self.topology(), seconds=seconds)
        flow = max(found.value, self.flow) if self.is_flow_reached else found.value
        return replace(self, flow=flow, is_flow_reached=True, flow_bound=found.bound)

    @property
    def _is_flow_loose(self) -> bool:
        return self.flow_bound is not None and self.flow is not None and self.flow_bound > self.flow * (1 + GAP)


def bfb_costs(recipe: Recipe, looks_alike_turned: bool) -> tuple[Cost, Cost]:
    """Return the costs of the best BFB allgather and reduce-scatter: one, if the topology looks like its transpose."""
    topology = recipe.topology()
    cost = bfb_cost(topology)
    return cost, cost if looks_alike_turned else bfb_cost(topology.transpose())
