"""Recipes with more ports on the same nodes: idle ones, parallel copies of all links, unions of several wirings.

Idle ports and copies keep the base's schedule, so that what a base costs tells what they cost; on a union schedules are
made for the wiring that results, as for a member of a family.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.errors import RecipeError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.costs import Cost
from linkstep.expansions import (
    idle_ports_schedule,
    parallel_copies,
    parallel_copies_schedule,
    union,
    with_idle_ports,
)
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.recipe.member import MAX_LINKS, Prediction, Recipe, transpose_if


@dataclass(frozen=True, repr=False)
class _MorePorts(Recipe):
    base: Recipe
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_LINKS:
            raise RecipeError(f"{self}: n must lie in [1, {MAX_LINKS}], not {self.count}")

    @property
    def parts(self) -> tuple[Recipe, ...]:
        return (self.base,)

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes

    @property
    def is_vertex_transitive(self) -> bool:
        return self.base.is_vertex_transitive

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.base.is_reverse_symmetric

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.base},{self.count})"

    def paper(self) -> str:
        return rf"\text{{{type(self).__name__}}}({self.base.paper()},{self.count})"


class Idle(_MorePorts):
    """``Idle(G,n)``: G, and n ports of every node that stay idle."""

    @property
    def degree(self) -> int:
        return self.base.degree + self.count

    def at(self, cost: Cost) -> Cost:
        """Return what a schedule of the base costs here: its links run at B/d of all ports, the idle ones too.

        >>> from linkstep.recipe import parse
        >>> print(Idle(parse("K_8"), 1).at(parse("K_8").cost))
        1 alpha + 1 M/B
        """
        return Cost(cost.steps, cost.bandwidth * Fraction(self.degree, self.base.degree))

    def _construct(self) -> Topology:
        return with_idle_ports(self.base.topology(), self.count)

    def _prediction(self, transposed: bool) -> Prediction:
        base = self.base.predict(transposed)
        return Prediction(self.at(base.cost), base.is_exact, base.is_bfb)

    def _allgather(self, transposed: bool) -> Schedule:
        return idle_ports_schedule(self.base._allgather(transposed), self.count)


class Copies(_MorePorts):
    """``Copies(G,n)``: n cables in parallel for every cable of G."""

    @property
    def degree(self) -> int:
        return self.base.degree * self.count

    def _construct(self) -> Topology:
        return parallel_copies(self.base.topology(), self.count)

    def _prediction(self, transposed: bool) -> Prediction:
        """Nothing is lost; and a BFB schedule may load parallel links alike, so that none is better than the base's."""
        return self.base.predict(transposed)

    def _allgather(self, transposed: bool) -> Schedule:
        return parallel_copies_schedule(self.base._allgather(transposed), self.count)


@dataclass(frozen=True, repr=False)
class Union(Recipe):
    """``G + H``: all links of wirings on the same nodes."""

    summands: tuple[Recipe, ...]

    binds = -1

    def __post_init__(self) -> None:
        sizes = sorted({part.num_nodes for part in self.summands})
        if len(self.summands) < 2:
            raise RecipeError(f"a union needs at least two wirings, not {len(self.summands)}")
        if len(sizes) > 1:
            raise RecipeError(f"{self}: must have equally many nodes, not {' and '.join(map(str, sizes))}")
        for part in self.summands:
            if not part.is_regular:
                raise RecipeError(f"{self}: joins regular topologies, and {part} has nodes with fewer than d links")

    @property
    def parts(self) -> tuple[Recipe, ...]:
        return self.summands

    @property
    def num_nodes(self) -> int:
        return self.summands[0].num_nodes

    @property
    def degree(self) -> int:
        return sum(part.degree for part in self.summands)

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.topology().is_bidirectional

    def _construct(self) -> Topology:
        return union([part.topology() for part in self.summands])

    def _prediction(self, transposed: bool) -> Prediction:
        return Prediction(bfb_cost(transpose_if(self.topology(), transposed)), True, True)

    def _allgather(self, transposed: bool) -> Schedule:
        return bfb_allgather(transpose_if(self.topology(), transposed))

    def __str__(self) -> str:
        return " + ".join(part._grouped(0) for part in self.summands)

    def paper(self) -> str:
        return r"\cup ".join(part._grouped(0, latex=True) for part in self.summands)


WORDS: dict[str, type[_MorePorts]] = {"Idle": Idle, "Copies": Copies}
"""The recipes that are written as a word, a base and a number."""
