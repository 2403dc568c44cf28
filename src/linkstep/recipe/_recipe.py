"""A recipe: how a topology is constructed, as a value.

Frozen and hashable; knows N and d without building anything. ``str`` gives the notation ``linkstep.parse`` reads,
``paper`` the paper's LaTeX. Trees are shallow, so plain recursion walks them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from linkstep.errors import RecipeError, TopologyError
from linkstep.expand import cartesian_power, cartesian_product, degree_expand, line_graph, to_bidirectional
from linkstep.families import Family
from linkstep.topology import Topology

MAX_LINKS = 2**27
"""The largest topology we build: 10^8 links are about 1 GB of columns."""


MAX_BITS = 10_000
"""No recipe may speak of more nodes than 2 to this: keeps N and d quick to compute."""


class Recipe(ABC):
    """How a topology is constructed: a family's member, or an expansion of recipes."""

    binds = 2
    """How tightly the notation holds together: 0 ``x``, 1 ``^`` and ``*``, 2 a word or a call."""

    @property
    @abstractmethod
    def num_nodes(self) -> int:
        """N of the topology."""

    @property
    @abstractmethod
    def degree(self) -> int:
        """Ports per node, d."""

    @abstractmethod
    def _construct(self) -> Topology: ...

    @abstractmethod
    def paper(self) -> str:
        """Return the paper's notation (LaTeX, without dollar signs)."""

    @property
    def is_vertex_transitive(self) -> bool:
        """Whether it is known, without a search, that every node looks like every other."""
        return False

    @property
    def is_reverse_symmetric(self) -> bool:
        """Whether it is known, without a search, that the topology is isomorphic to its transpose."""
        return False

    def topology(self) -> Topology:
        """Build the topology and check it against what the recipe promised."""
        if self.num_nodes * self.degree > MAX_LINKS:
            raise RecipeError(
                f"{self} has N={self.num_nodes}, d={self.degree}: more than the {MAX_LINKS} links linkstep builds"
            )
        built = replace(self._construct(), name=str(self), vertex_transitive=self.is_vertex_transitive)
        if (built.num_nodes, built.degree) != (self.num_nodes, self.degree):  # a family that lies is a bug of ours
            raise AssertionError(f"{self}: promised N={self.num_nodes} d={self.degree}, built {built!r}")
        return built

    def _grouped(self, tightness: int, *, latex: bool = False) -> str:
        """Return the notation, in parentheses if it holds together less than ``tightness``."""
        text = self.paper() if latex else str(self)
        return text if self.binds >= tightness else f"({text})"


@dataclass(frozen=True)
class Member(Recipe):
    """A member of a family: ``C(16,{3,4})``."""

    family: Family
    args: tuple[Any, ...]

    def __post_init__(self) -> None:
        self.family.size(*self.args)

    @property
    def num_nodes(self) -> int:
        return self.family.size(*self.args)[0]

    @property
    def degree(self) -> int:
        return self.family.size(*self.args)[1]

    @property
    def is_vertex_transitive(self) -> bool:
        return self.family.vertex_transitive(*self.args)

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.family.reverse_symmetric(*self.args)

    def _construct(self) -> Topology:
        return self.family.build(*self.args)

    def __str__(self) -> str:
        return self.family.format(*self.args)

    def paper(self) -> str:
        if self.family.paper is not None:
            return self.family.paper(*self.args)
        escaped = str(self).replace("{", r"\{").replace("}", r"\}")
        return rf"\text{{{escaped}}}"


@dataclass(frozen=True)
class _Expansion(Recipe):
    base: Recipe


@dataclass(frozen=True)
class _Repeated(_Expansion):
    times: int

    def __post_init__(self) -> None:
        if self.times < 1:
            raise RecipeError(f"{self}: n must be at least 1, not {self.times}")
        growth = max(self.base.num_nodes, self.base.degree)
        if self.times > 10**9 or growth.bit_length() * self.times > MAX_BITS:
            raise RecipeError(f"{self} has more than 2^{MAX_BITS} nodes")


@dataclass(frozen=True)
class Line(_Repeated):
    """``L^n(G)``: the line graph taken n times (def:linegraph)."""

    @property
    def num_nodes(self) -> int:
        return int(self.base.num_nodes * self.base.degree**self.times)

    @property
    def degree(self) -> int:
        return self.base.degree

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.base.is_reverse_symmetric  # L(G)^T = L(G^T)

    def _construct(self) -> Topology:
        topology = self.base._construct()
        for _ in range(self.times):
            topology = line_graph(topology)
        return topology

    def __str__(self) -> str:
        return f"L({self.base})" if self.times == 1 else f"L^{self.times}({self.base})"

    def paper(self) -> str:
        power = "" if self.times == 1 else f"^{{{self.times}}}" if self.times > 9 else f"^{self.times}"
        return f"L{power}({self.base.paper()})"


@dataclass(frozen=True)
class Degree(_Repeated):
    """``G*n``: degree expansion (def:degreeexp)."""

    binds = 1

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MAX_LINKS:
            raise RecipeError(f"{self}: n must lie in [1, {MAX_LINKS}], not {self.times}")

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes * self.times

    @property
    def degree(self) -> int:
        return self.base.degree * self.times

    @property
    def is_vertex_transitive(self) -> bool:
        return self.base.is_vertex_transitive

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.base.is_reverse_symmetric

    def _construct(self) -> Topology:
        return degree_expand(self.base._construct(), self.times)

    def topology(self) -> Topology:
        try:
            return super().topology()
        except TopologyError as error:
            raise RecipeError(f"{self}: {error}") from None

    def __str__(self) -> str:
        return f"{self.base._grouped(1)}*{self.times}"

    def paper(self) -> str:
        return f"{self.base._grouped(1, latex=True)}*{self.times}"


@dataclass(frozen=True)
class Power(_Repeated):
    """``G^n``: Cartesian power."""

    binds = 1

    @property
    def num_nodes(self) -> int:
        return int(self.base.num_nodes**self.times)

    @property
    def degree(self) -> int:
        return self.base.degree * self.times

    @property
    def is_vertex_transitive(self) -> bool:
        return self.base.is_vertex_transitive

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.base.is_reverse_symmetric

    def _construct(self) -> Topology:
        return cartesian_power(self.base._construct(), self.times)

    def __str__(self) -> str:
        return f"{self.base._grouped(1)}^{self.times}"

    def paper(self) -> str:
        return rf"{self.base._grouped(1, latex=True)}^{{\square {self.times}}}"


@dataclass(frozen=True)
class Product(Recipe):
    """``G x H x ...``: Cartesian product (def:cartesianprodtopodef)."""

    factors: tuple[Recipe, ...]

    binds = 0

    def __post_init__(self) -> None:
        if len(self.factors) < 2:
            raise RecipeError(f"a product needs at least two factors, not {len(self.factors)}")

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
        product = self.factors[0]._construct()
        for factor in self.factors[1:]:
            product = cartesian_product(product, factor._construct())
        return product

    def __str__(self) -> str:
        return " x ".join(f._grouped(1) for f in self.factors)

    def paper(self) -> str:
        return r"\square ".join(f._grouped(1, latex=True) for f in self.factors)


@dataclass(frozen=True)
class Bidirectional(_Expansion):
    """``Bi(G)``: G and its transpose together (sec:unitobidirectional)."""

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes

    @property
    def degree(self) -> int:
        return 2 * self.base.degree

    @property
    def is_vertex_transitive(self) -> bool:
        return self.base.is_vertex_transitive

    @property
    def is_reverse_symmetric(self) -> bool:
        return True

    def _construct(self) -> Topology:
        return to_bidirectional(self.base._construct())

    def __str__(self) -> str:
        return f"Bi({self.base})"

    def paper(self) -> str:
        text = self.base._grouped(2, latex=True)
        return rf"{text}\cup {text}^T"


@dataclass(frozen=True)
class Transpose(_Expansion):
    """``T(G)``: every link turned round."""

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes

    @property
    def degree(self) -> int:
        return self.base.degree

    @property
    def is_vertex_transitive(self) -> bool:
        return self.base.is_vertex_transitive

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.base.is_reverse_symmetric

    def _construct(self) -> Topology:
        return self.base._construct().transpose()

    def __str__(self) -> str:
        return f"T({self.base})"

    def paper(self) -> str:
        return f"{self.base._grouped(2, latex=True)}^T"
