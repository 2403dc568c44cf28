"""A choice: a topology, the method that makes its schedules, and what those cost; what the finder works with.

A choice is a value and builds nothing until ``build`` is called. Not here: where choices come from (``bases``,
``finder``) and which of them is best (``frontier``).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule
from linkstep.costs import Cost, bandwidth_bound, cost_of, distance_flow_bound, measure_distances, moore_steps
from linkstep.make import BEST, schedule
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import Member, Product, Recipe
from linkstep.search.throughputs import throughput_of
from linkstep.throughput import all_to_all

BUILD_NODES = 512
"""Up to this many nodes, an expanded schedule whose cost the theorems only bound is built to know it."""
MEASURE_WORK = 3 * 10**8
MEASURE_LINKS = 10**8
"""Up to nodes times links, distances are measured; up to so many links, where all nodes are alike."""


@dataclass(frozen=True)
class Choice:
    """A topology with its method and cost: what ``build`` makes costs exactly that, or at most if not ``is_exact``.

    ``diameter`` and ``flow``, all-to-all throughput, are None until measured.
    """

    recipe: Recipe
    method: str
    """How its schedules are made: a name in ``linkstep.make.METHODS``."""
    cost: Cost
    """Of the allgather."""
    reduce_scatter: Cost
    is_exact: bool = True
    diameter: int | None = None
    flow: Fraction | None = None
    """What every pair can get at once when a link carries 1, or if not ``is_flow_reached`` what distances allow."""
    is_flow_reached: bool = False
    is_bfb: bool = False
    """Whether no BFB schedule of the topology costs less."""
    is_simple: bool = False
    """Whether there are no parallel links and no self-loops, as far as is known."""
    is_loop_free: bool = False
    is_bidirectional: bool = False
    is_reverse_symmetric: bool = False

    def __repr__(self) -> str:
        most = "" if self.is_exact else "at most "
        other = "" if self.cost == self.reduce_scatter else f" (reduce-scatter: {self.reduce_scatter})"
        return f"<Choice {self.recipe.short} by {self.method}: {most}{self.cost}{other}>"

    @property
    def num_nodes(self) -> int:
        """N of the topology."""
        return self.recipe.num_nodes

    @cached_property
    def worse_half(self) -> Cost:
        """Steps and bandwidth that allgather and reduce-scatter both stay within: what choices are ranked by."""
        return Cost(
            max(self.cost.steps, self.reduce_scatter.steps), max(self.cost.bandwidth, self.reduce_scatter.bandwidth)
        )

    @property
    def allreduce_cost(self) -> Cost:
        """Of the reduce-scatter and the allgather, one after the other."""
        return self.reduce_scatter + self.cost

    @property
    def is_bandwidth_optimal(self) -> bool:
        """Whether allgather and reduce-scatter both reach T_B* = (N-1)/N."""
        return self.worse_half.bandwidth == bandwidth_bound(self.num_nodes)

    @property
    def is_moore_optimal(self) -> bool:
        """Whether no topology of this N and d takes fewer steps (def:mooreopt)."""
        return self.worse_half.steps == moore_steps(self.num_nodes, self.recipe.degree)

    @property
    def is_factor(self) -> bool:
        """Whether thm:spathcartesianexpopt takes it: simple, with bandwidth-optimal BFB schedules both ways."""
        return self.is_bfb and self.is_simple and self.is_bandwidth_optimal

    @property
    def follows_recipe(self) -> bool:
        """Whether its schedule is the one that expansions of its recipe expand, not BFB on something expanded."""
        return self.method != "bfb" or isinstance(self.recipe, (Member, Product))

    def build(self, collective: Collective | str = Collective.ALLGATHER, root: int = 0) -> Schedule:
        """Make the schedule of a collective, and check it.

        >>> from linkstep.recipe import parse
        >>> half = Cost(1, Fraction(2, 3))
        >>> Choice(parse("K_3"), "bfb", half, half).build("allreduce")
        <Schedule allreduce on K_3: 12 rows, 2 steps, unit 1>
        """
        method = BEST if Collective(collective).exchanges else self.method
        return schedule(self.recipe, collective, method=method, root=root).schedule

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

    def measured(self) -> Choice:
        """Return the choice with its diameter and all-to-all throughput, where measuring them is quick."""
        n, d = self.num_nodes, self.recipe.degree
        if n * d > MEASURE_LINKS or (n * n * d > MEASURE_WORK and not self.recipe.is_vertex_transitive):
            return self
        topology = copy(self.recipe).topology()  # of a copy: a recipe holds what it builds, and this may be large
        distances = measure_distances(topology)
        exact = throughput_of(self.recipe)
        flow = distance_flow_bound(topology, distances.total) if exact is None else exact
        return replace(self, diameter=distances.diameter, flow=flow, is_flow_reached=exact is not None)

    def with_flow(self, seconds: float) -> Choice:
        """Return the choice with an all-to-all throughput that is proven to be reached, found in about so long."""
        if self.is_flow_reached or self.flow is None:
            return self
        found = all_to_all(copy(self.recipe).topology(), seconds=seconds)
        return replace(self, flow=found.value, is_flow_reached=True)


def bfb_costs(recipe: Recipe, looks_alike_turned: bool) -> tuple[Cost, Cost]:
    """Return the costs of the best BFB allgather and reduce-scatter: one, if the topology looks like its transpose."""
    topology = recipe.topology()
    cost = bfb_cost(topology)
    return cost, cost if looks_alike_turned else bfb_cost(topology.transpose())
