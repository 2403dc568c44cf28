"""Recipes that graft: a base with a few nodes put in or taken out, or a few links swapped, each change written down.

They cover sizes that no family covers well. Nothing expands a base's schedule to a graft: schedules are made for the
graph that results, as for a member of a family. How good changes are found is the business of ``linkstep.search``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from linkstep.core.errors import RecipeError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.expansions import insert_nodes, remove_nodes, swap_links
from linkstep.expansions.grafts import Change, written
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.recipe.member import Prediction, Recipe, transpose_if


@dataclass(frozen=True, repr=False)
class Graft(Recipe):
    """A base and changes to it, in order."""

    base: Recipe
    changes: tuple[Change, ...]

    word: ClassVar[str]

    def __post_init__(self) -> None:
        if not self.changes:
            raise RecipeError(f"{self.word}: needs at least one tuple")
        lengths = self._lengths
        for change in self.changes:
            if len(change) not in lengths:
                wanted = " or ".join(map(str, lengths))
                self._fail(change, f"a tuple must have {wanted} numbers at degree {self.degree}")
            if len(change) != len(self.changes[0]):
                self._fail(change, f"tuples must be equally long, {len(self.changes[0])} numbers like the first")
        self._check()

    @property
    @abstractmethod
    def _lengths(self) -> tuple[int, ...]:
        """How many numbers a tuple may have."""

    @abstractmethod
    def _check(self) -> None:
        """Raise if the tuples cannot be right, whatever the links of the base."""

    @abstractmethod
    def _changed(self, topology: Topology) -> Topology: ...

    def _fail(self, change: Change, rule: str) -> NoReturn:
        raise RecipeError(f"{self.word}: tuple {written(change)}: {rule}")

    def _check_nodes(self, change: Change, num_nodes: int) -> None:
        for node in change:
            if not 0 <= node < num_nodes:
                self._fail(change, f"nodes must lie in [0, {num_nodes}), not {node}")

    @property
    def parts(self) -> tuple[Recipe, ...]:
        return (self.base,)

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes

    @property
    def degree(self) -> int:
        return self.base.degree

    @property
    def is_reverse_symmetric(self) -> bool:
        return self.topology().is_bidirectional

    def _construct(self) -> Topology:
        base = self.base.topology()
        if not base.is_regular:
            raise RecipeError(f"{self.word}: every node of the base must have {self.degree} links in and out")
        try:
            return self._changed(base)
        except TopologyError as error:
            raise RecipeError(f"{self.word}: {error}") from None

    def _prediction(self, transposed: bool) -> Prediction:
        return Prediction(bfb_cost(transpose_if(self.topology(), transposed)), True, True)

    def _allgather(self, transposed: bool) -> Schedule:
        return bfb_allgather(transpose_if(self.topology(), transposed))

    @property
    def _tuples(self) -> str:
        return ",".join(map(written, self.changes))

    def __str__(self) -> str:
        return f"{self.word}({self.base},{{{self._tuples}}})"

    def paper(self) -> str:
        return rf"\text{{{self.word}}}({self.base.paper()},\{{{self._tuples}\}})"


@dataclass(frozen=True, repr=False)
class _Resized(Graft):
    """Nodes put in or taken out: with a tuple of links each, or of edges, which are half as many."""

    has_node: ClassVar[int]
    """1 if a tuple begins with the node it is about."""

    @property
    def _lengths(self) -> tuple[int, ...]:
        edges, links = self.degree // 2 * 2, 2 * self.degree
        return tuple(self.has_node + ends for ends in (edges, links) if ends)

    @property
    def _edges(self) -> bool:
        """Whether the tuples speak of edges, duplex links: their length tells."""
        return len(self.changes[0]) - self.has_node < self.degree + 1

    def _check_twos(self) -> None:
        if self._edges and self.degree % 2 and len(self.changes) % 2:
            rule = f"at degree {self.degree}, an odd one, edges need an even number of tuples, not {len(self.changes)}"
            self._fail(self.changes[-1], rule)


@dataclass(frozen=True, repr=False)
class Insert(_Resized):
    """``Insert(G,{(a,b,c,e,...),...})``: a node for each tuple, numbered N, N + 1, ..., put into links or edges.

    2 d numbers are d links: a -> b becomes a -> v -> b, and so on. d numbers (d - 1 if d is odd, and nodes then come
    in twos, linked to each other) are edges of a bidirectional G: a - b becomes a - v - b.
    """

    word = "Insert"
    has_node = 0

    def _check(self) -> None:
        self._check_twos()
        for node, change in enumerate(self.changes, self.base.num_nodes):
            self._check_nodes(change, node)

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes + len(self.changes)

    def _changed(self, topology: Topology) -> Topology:
        return insert_nodes(topology, self.changes, edges=self._edges)


@dataclass(frozen=True, repr=False)
class Remove(_Resized):
    """``Remove(G,{(u,a,b,c,e,...),...})``: node u goes, for each tuple, and its links or edges are joined.

    u and 2 d numbers are links: a -> u -> b becomes a -> b, and so on. u and d numbers (d - 1 if d is odd, and nodes
    then go in twos that are linked to each other) are edges of a bidirectional G: a - u - b becomes a - b. Nodes are
    numbered as in G; those that stay then close up in order.
    """

    word = "Remove"
    has_node = 1

    def _check(self) -> None:
        self._check_twos()
        gone: set[int] = set()
        for change in self.changes:
            self._check_nodes(change, self.base.num_nodes)
            again = gone.intersection(change)
            if again:
                self._fail(change, f"node {min(again)} is gone by then")
            gone.add(change[0])
        if len(gone) >= self.base.num_nodes:
            self._fail(self.changes[-1], f"no node is left of the {self.base.num_nodes}")

    @property
    def num_nodes(self) -> int:
        return self.base.num_nodes - len(self.changes)

    def _changed(self, topology: Topology) -> Topology:
        return remove_nodes(topology, self.changes, edges=self._edges)


@dataclass(frozen=True, repr=False)
class Swap(Graft):
    """``Swap(G,{(a,b,c,e),...})``: for each tuple, in order, links a -> b, c -> e become a -> e, c -> b.

    Of a bidirectional G the links the other way go along: edges a - b, c - e become a - e, c - b.
    """

    word = "Swap"

    @property
    def _lengths(self) -> tuple[int, ...]:
        return (4,)

    def _check(self) -> None:
        for change in self.changes:
            self._check_nodes(change, self.num_nodes)

    def _changed(self, topology: Topology) -> Topology:
        return swap_links(topology, self.changes)


GRAFTS: tuple[type[Graft], ...] = (Insert, Remove, Swap)
