"""A recipe: how a topology is constructed, as a value; and the simplest one, a member of a family.

Frozen and hashable; knows N, d and the cost of its schedule without building anything large. ``str`` gives the notation
``linkstep.parse`` reads, ``paper`` the paper's LaTeX. Trees are shallow, so plain recursion walks them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective
from linkstep.core.errors import RecipeError
from linkstep.core.notebook import html_table
from linkstep.core.schedule import COLLECTIVES, Schedule
from linkstep.core.topology import COPY_OF, Topology
from linkstep.costs import Cost, cost_of
from linkstep.families import Family
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.methods.exchange import all_to_all_schedule
from linkstep.methods.stored import stored_schedule
from linkstep.methods.transform import derive
from linkstep.recipe.names import LONG, name_of

MAX_LINKS = 2**27
"""The largest topology we build: 10^8 links are about 1 GB of columns."""

MAX_BITS = 10_000
"""No recipe may speak of more nodes than 2 to this: keeps N and d quick to compute."""


@dataclass(frozen=True)
class Prediction:
    """What the theorems say of a schedule before it is built."""

    cost: Cost
    is_exact: bool
    """Whether T_L and T_B are proven to be just that, rather than at most that."""
    is_bfb: bool
    """Whether the schedule is the best BFB schedule of its topology."""


class Recipe(ABC):
    """How a topology and its schedule are constructed: a family's member, or an expansion of recipes.

    >>> from linkstep import parse
    >>> recipe = parse("L(K_{2,2})")
    >>> recipe.num_nodes, recipe.degree, str(recipe.cost)
    (8, 2, '3 alpha + 1 M/B')
    """

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
    def _prediction(self, transposed: bool) -> Prediction:
        """Predict the allgather on the topology or on its transpose."""

    @abstractmethod
    def _allgather(self, transposed: bool) -> Schedule:
        """Build the allgather on the topology or on its transpose, nodes numbered as in the topology."""

    @abstractmethod
    def paper(self) -> str:
        """Return the paper's notation (LaTeX, without dollar signs)."""

    @property
    def parts(self) -> tuple[Recipe, ...]:
        """The recipes that it is made from; none for a member of a family."""
        return ()

    @property
    def short(self) -> str:
        """The notation, with the catalog's names, such as ``Cat(47,3,12345)``, for what is long in it and has one."""
        text = str(self)
        if len(text) <= LONG:
            return text
        name = name_of(text, self.num_nodes, self.degree)
        if name is not None:
            return name
        for part in self.parts:
            text = text.replace(str(part), part.short)
        return text

    @property
    def is_regular(self) -> bool:
        """Whether every node has d links in and d out."""
        return all(part.is_regular for part in self.parts)

    @property
    def is_vertex_transitive(self) -> bool:
        """Whether it is known, without a search, that every node looks like every other."""
        return False

    @property
    def is_reverse_symmetric(self) -> bool:
        """Whether it is known, without a search, that the topology is isomorphic to its transpose."""
        return False

    @property
    def cost(self) -> Cost:
        """The predicted cost of the allgather that ``build`` makes; at most that if not ``cost_is_exact``."""
        return self.predict().cost

    @property
    def cost_is_exact(self) -> bool:
        """Whether the theorems give T_L and T_B of the built schedule exactly."""
        return self.predict().is_exact

    @property
    def reduce_scatter_cost(self) -> Cost:
        """The predicted cost of the reduce-scatter that ``build`` makes: an allgather's on the transpose."""
        return self.predict(transposed=True).cost

    def predict(self, transposed: bool = False) -> Prediction:
        """Return what the theorems say of the allgather on the topology, or on its transpose; worked out once."""
        if transposed not in self._predictions:
            self._predictions[transposed] = self._prediction(transposed)
        return self._predictions[transposed]

    @cached_property
    def _predictions(self) -> dict[bool, Prediction]:
        return {}

    def cost_of(self, collective: Collective) -> Cost:
        """Return the predicted cost of a collective that ``build`` makes, of all the data for one with a root."""
        cost, collective = Cost.zero(), Collective(check_kind("collective", collective, str))
        for transposed in [True] * collective.reduces + [False] * collective.gathers:
            cost += self.predict(transposed).cost
        return cost

    def topology(self, *, keep: bool = True) -> Topology:
        """Build the topology and check it against what the recipe promised; built once, and kept with the recipe.

        Unless it is not to ``keep``: it may be large, and a table has many recipes.
        """
        return self._topology if keep or "_topology" in vars(self) else self._built()

    @cached_property
    def _topology(self) -> Topology:
        return self._built()

    def _built(self) -> Topology:
        self._check_size()
        constructed = self._construct()
        built = replace(constructed, name=self.short, vertex_transitive=self.is_vertex_transitive)
        COPY_OF.keep(built, (constructed, None))
        if (built.num_nodes, built.degree) != (self.num_nodes, self.degree):  # a family that lies is a bug of ours
            raise AssertionError(f"{self}: promised N={self.num_nodes} d={self.degree}, built {built!r}")
        return built

    def build(self, collective: Collective | str = Collective.ALLGATHER, root: int = 0) -> Schedule:
        """Build the schedule that the recipe describes: its base's, expanded step by step.

        A reduce-scatter is the reverse of an allgather built on the transpose (thm:scheduleswitchfunc), an allreduce
        both in a row; a broadcast or a reduce keeps one root's rows. An all-to-all is routed on the topology as it is.
        """
        if check_kind("collective", collective, str) not in COLLECTIVES:
            raise RecipeError(f"collective must be one of {', '.join(COLLECTIVES)}, not {str(collective)!r}")
        topology = self.topology()
        if Collective(collective).exchanges:
            return all_to_all_schedule(topology).schedule

        def allgather(on: Topology) -> Schedule:
            schedule = self._allgather(on is not topology)
            assert schedule.topology == on, f"built on {schedule.topology!r}, not on {on!r}"
            return schedule

        return derive(topology, Collective(collective), allgather, root)

    def _check_size(self) -> None:
        if self.num_nodes * self.degree > MAX_LINKS:
            raise RecipeError(
                f"{self} has N={self.num_nodes}, d={self.degree}: more than the {MAX_LINKS} links linkstep builds"
            )

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    def _wiring_(self) -> Recipe:
        return self

    def _repr_html_(self) -> str:
        fields = [("recipe", str(self)), ("N", self.num_nodes), ("d", self.degree)]
        return html_table(self.short, fields)

    def _grouped(self, tightness: int, *, latex: bool = False) -> str:
        """Return the notation, in parentheses if it holds together less than ``tightness``."""
        text = self.paper() if latex else str(self)
        return text if self.binds >= tightness else f"({text})"


def transpose_if(topology: Topology, transposed: bool) -> Topology:
    """Return the topology or its transpose."""
    return topology.transpose() if transposed else topology


@dataclass(frozen=True, repr=False)
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
    def is_regular(self) -> bool:
        return self.family.regular(*self.args)

    @property
    def is_vertex_transitive(self) -> bool:
        return self.family.vertex_transitive(*self.args)

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.family.reverse_symmetric(*self.args)

    def _construct(self) -> Topology:
        return self.family.build(*self.args)

    def _prediction(self, transposed: bool) -> Prediction:
        stored = stored_schedule(str(self), transposed)
        if stored is not None:
            return Prediction(cost_of(stored), True, False)
        return Prediction(bfb_cost(transpose_if(self.topology(), transposed)), True, True)

    def _allgather(self, transposed: bool) -> Schedule:
        stored = stored_schedule(str(self), transposed)
        return bfb_allgather(transpose_if(self.topology(), transposed)) if stored is None else stored

    def __str__(self) -> str:
        return self.family.format(*self.args)

    def paper(self) -> str:
        if self.family.paper is not None:
            return self.family.paper(*self.args)
        escaped = str(self).replace("{", r"\{").replace("}", r"\}")
        return rf"\text{{{escaped}}}"
