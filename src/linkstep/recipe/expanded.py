"""Recipes made from recipes: line graphs, degree expansion, Cartesian powers and products, duplex graphs, transposes.

Each knows its topology, what the theorems predict for its schedule, and how to build that from its base's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from linkstep.core.errors import RecipeError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.costs import Cost, bandwidth_bound
from linkstep.expansions import (
    MAX_PROOF_NODES,
    cartesian_power,
    cartesian_power_schedule,
    cartesian_product,
    degree_expand,
    degree_expand_schedule,
    line_graph,
    line_graph_keeps_bfb,
    line_graph_schedule,
    to_bidirectional,
    to_bidirectional_schedule,
)
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.methods.transform import relabel
from linkstep.recipe.member import (
    MAX_BITS,
    MAX_LINKS,
    Prediction,
    Recipe,
    transpose_if,
)
from linkstep.symmetry.isomorphisms import isomorphism


@dataclass(frozen=True, repr=False)
class _Expansion(Recipe):
    base: Recipe

    @property
    def parts(self) -> tuple[Recipe, ...]:
        return (self.base,)

    @property
    def is_vertex_transitive(self) -> bool:
        return self.base.is_vertex_transitive

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.base.is_reverse_symmetric


def _check_regular(recipe: Recipe) -> None:
    """Raise if a part is not regular: the definitions and theorems of expansions are of regular graphs."""
    for part in recipe.parts:
        if not part.is_regular:
            raise RecipeError(f"{recipe}: expands regular topologies, and {part} has nodes with fewer than d links")


@dataclass(frozen=True, repr=False)
class _Repeated(_Expansion):
    times: int

    def __post_init__(self) -> None:
        if self.times < 1:
            raise RecipeError(f"{self}: n must be at least 1, not {self.times}")
        _check_regular(self)
        growth = max(self.base.num_nodes, self.base.degree)
        if self.times > 10**9 or growth.bit_length() * self.times > MAX_BITS:
            raise RecipeError(f"{self} has more than 2^{MAX_BITS} nodes")


@dataclass(frozen=True, repr=False)
class Line(_Repeated):
    """``L^n(G)``: the line graph taken n times (def:linegraph)."""

    @property
    def num_nodes(self) -> int:
        return int(self.base.num_nodes * self.base.degree**self.times)

    @property
    def degree(self) -> int:
        return self.base.degree

    @property
    def is_vertex_transitive(self) -> bool:
        return False  # not in general: L(G) is where all links of G are alike

    def _construct(self) -> Topology:
        topology = self.base.topology()
        for _ in range(self.times):
            topology = line_graph(topology)
        return topology

    def _prediction(self, transposed: bool) -> Prediction:
        """thm:linegraphconclusion; equality where thm:shortestpathlinegraph holds at every turn."""
        base, n, d = self.base.predict(transposed), self.base.num_nodes, self.degree
        more = sum((Fraction(1, n * d**i) for i in range(self.times)), Fraction(0))
        is_bfb = base.is_bfb and self._keeps_bfb(transposed)
        return Prediction(
            Cost(base.cost.steps + self.times, base.cost.bandwidth + more), base.is_exact and is_bfb, is_bfb
        )

    def _keeps_bfb(self, transposed: bool) -> bool:
        """Whether each line graph is proven to turn the best BFB schedule into the best; False if too large to tell."""
        if self.num_nodes > 4 * MAX_PROOF_NODES:
            return False
        topology = transpose_if(self.base.topology(), transposed)
        for turn in range(self.times):
            if turn:
                topology = line_graph(topology)
            if not line_graph_keeps_bfb(topology):
                return False
        return True

    def _allgather(self, transposed: bool) -> Schedule:
        schedule = self.base._allgather(transposed)
        for _ in range(self.times):
            before = schedule.topology
            schedule = line_graph_schedule(schedule)
            if transposed:  # nodes are links of G^T, sorted as such: give them the numbers they have as links of G
                schedule = relabel(schedule, before.transpose().in_link)
        return schedule

    def __str__(self) -> str:
        return f"L({self.base})" if self.times == 1 else f"L^{self.times}({self.base})"

    def paper(self) -> str:
        power = "" if self.times == 1 else f"^{{{self.times}}}" if self.times > 9 else f"^{self.times}"
        return f"L{power}({self.base.paper()})"


@dataclass(frozen=True, repr=False)
class Degree(_Repeated):
    """``G*n``: degree expansion (def:degreeexp)."""

    binds = 1

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MAX_LINKS:
            raise RecipeError(f"{self}: n must lie in [1, {MAX_LINKS}], not {self.times}")
        _check_regular(self)

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes * self.times

    @property
    def degree(self) -> int:
        return self.base.degree * self.times

    def _construct(self) -> Topology:
        try:
            return degree_expand(self.base.topology(), self.times)
        except TopologyError as error:
            raise RecipeError(f"{self}: {error}") from None

    def _prediction(self, transposed: bool) -> Prediction:
        """thm:degexp."""
        base, n = self.base.predict(transposed), self.base.num_nodes
        more = Fraction(self.times - 1, self.times * n)
        last_step = 1 if self.times > 1 else 0
        return Prediction(Cost(base.cost.steps + last_step, base.cost.bandwidth + more), base.is_exact, False)

    def _allgather(self, transposed: bool) -> Schedule:
        try:
            return degree_expand_schedule(self.base._allgather(transposed), self.times)
        except TopologyError as error:
            raise RecipeError(f"{self}: {error}") from None

    def __str__(self) -> str:
        return f"{self.base._grouped(1)}*{self.times}"

    def paper(self) -> str:
        return f"{self.base._grouped(1, latex=True)}*{self.times}"


@dataclass(frozen=True, repr=False)
class Power(_Repeated):
    """``G^n``: Cartesian power."""

    binds = 1

    @property
    def num_nodes(self) -> int:
        return int(self.base.num_nodes**self.times)

    @property
    def degree(self) -> int:
        return self.base.degree * self.times

    def _construct(self) -> Topology:
        return cartesian_power(self.base.topology(), self.times)

    def _prediction(self, transposed: bool) -> Prediction:
        """thm:cartesianpowperformance."""
        base, n = self.base.predict(transposed), self.base.num_nodes
        grown = base.cost.bandwidth * Fraction(n, n - 1) * Fraction(n**self.times - 1, n**self.times)
        is_bfb = base.is_bfb and self.times == 1
        return Prediction(Cost(base.cost.steps * self.times, grown), base.is_exact, is_bfb)

    def _allgather(self, transposed: bool) -> Schedule:
        return cartesian_power_schedule(self.base._allgather(transposed), self.times)

    def __str__(self) -> str:
        return f"{self.base._grouped(1)}^{self.times}"

    def paper(self) -> str:
        return rf"{self.base._grouped(1, latex=True)}^{{\square {self.times}}}"


@dataclass(frozen=True, repr=False)
class Product(Recipe):
    """``G x H x ...``: Cartesian product (def:cartesianprodtopodef)."""

    factors: tuple[Recipe, ...]

    binds = 0

    @property
    def parts(self) -> tuple[Recipe, ...]:
        return self.factors

    def __post_init__(self) -> None:
        if len(self.factors) < 2:
            raise RecipeError(f"a product needs at least two factors, not {len(self.factors)}")
        _check_regular(self)

    @property
    def num_nodes(self) -> int:
        return prod(f.num_nodes for f in self.factors)

    @property
    def degree(self) -> int:
        return sum(f.degree for f in self.factors)

    @property
    def is_vertex_transitive(self) -> bool:
        return all(f.is_vertex_transitive for f in self.factors)

    @property
    def is_reverse_symmetric(self) -> bool:
        return all(f.is_reverse_symmetric for f in self.factors)

    def _construct(self) -> Topology:
        product = self.factors[0].topology()
        for factor in self.factors[1:]:
            product = cartesian_product(product, factor.topology())
        return product

    def _prediction(self, transposed: bool) -> Prediction:
        """thm:spathcartesianexpopt where it applies; otherwise BFB on the product, which must be built to know."""
        factors = [factor.predict(transposed) for factor in self.factors]
        if all(map(_is_bandwidth_optimal_bfb, self.factors, factors)):
            steps = sum(factor.cost.steps for factor in factors)
            return Prediction(Cost(steps, bandwidth_bound(self.num_nodes)), True, True)
        return Prediction(bfb_cost(transpose_if(self.topology(), transposed)), True, True)

    def _allgather(self, transposed: bool) -> Schedule:
        return bfb_allgather(transpose_if(self.topology(), transposed))

    def __str__(self) -> str:
        return " x ".join(f._grouped(1) for f in self.factors)

    def paper(self) -> str:
        return r"\square ".join(f._grouped(1, latex=True) for f in self.factors)


@dataclass(frozen=True, repr=False)
class Bidirectional(_Expansion):
    """``Bi(G)``: G and its transpose together (sec:unitobidirectional)."""

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes

    @property
    def degree(self) -> int:
        return 2 * self.base.degree

    @property
    def is_reverse_symmetric(self) -> bool:
        return True

    def _construct(self) -> Topology:
        return to_bidirectional(self.base.topology())

    def _prediction(self, transposed: bool) -> Prediction:
        """sec:unitobidirectional: nothing is lost."""
        base = self.base.predict()
        return Prediction(base.cost, base.is_exact, False)

    def _allgather(self, transposed: bool) -> Schedule:
        schedule = self.base._allgather(False)
        mapping = isomorphism(schedule.topology, schedule.topology.transpose())
        if mapping is None:
            raise RecipeError(f"{self}: {self.base} is not isomorphic to its transpose (sec:unitobidirectional)")
        return to_bidirectional_schedule(schedule, mapping)

    def __str__(self) -> str:
        return f"Bi({self.base})"

    def paper(self) -> str:
        text = self.base._grouped(2, latex=True)
        return rf"{text}\cup {text}^T"


@dataclass(frozen=True, repr=False)
class Transpose(_Expansion):
    """``T(G)``: the transpose, every link the other way round."""

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes

    @property
    def degree(self) -> int:
        return self.base.degree

    def _construct(self) -> Topology:
        return self.base.topology().transpose()

    def _prediction(self, transposed: bool) -> Prediction:
        return self.base.predict(not transposed)

    def _allgather(self, transposed: bool) -> Schedule:
        return self.base._allgather(not transposed)

    def __str__(self) -> str:
        return f"T({self.base})"

    def paper(self) -> str:
        return f"{self.base._grouped(2, latex=True)}^T"


def _is_bandwidth_optimal_bfb(recipe: Recipe, predicted: Prediction) -> bool:
    """Whether thm:spathcartesianexpopt may use this factor: simple, nontrivial, its best BFB bandwidth-optimal."""
    if recipe.num_nodes < 2 or predicted.cost.bandwidth != bandwidth_bound(recipe.num_nodes) or not predicted.is_bfb:
        return False
    topology = recipe.topology()
    return not topology.num_self_loops and not topology.num_parallel
