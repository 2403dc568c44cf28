"""The finder: every way to reach N nodes with d ports from bases by expansions, by predicted cost (sec:topofinder).

Top down with a memory: the frontier of (N, d) comes from bases with that N and d and from the frontiers of divisors.
Line graph, degree expansion and Cartesian power add or multiply the same to every choice of one (N, d), so only its
Pareto-optimal ones can lead to Pareto-optimal ones; a product needs bandwidth-optimal factors, of fewest steps. Choices
are ranked by what an allreduce costs, its reduce-scatter and its allgather. Arrival times are not expanded: what they
do for an expanded topology is found on that (``linkstep.search.sweep``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from linkstep.core.pareto import pareto
from linkstep.costs import Cost, bandwidth_bound
from linkstep.groups.tables import divisors
from linkstep.recipe import Bidirectional, Degree, Line, Power, Product, Recipe
from linkstep.search.choice import Choice

Bases = Callable[[int, int], Iterable[Choice]]

FASTEST = 4
EXTRA = 6
"""How many choices of fewest steps ``Finder.pool`` looks at, and how many it keeps beside the frontier."""

RESOLVE_NODES = 64
RESOLVE_DEGREE = 16
"""Up to these, a degree expansion or power is scheduled by BFB too: it may take fewer steps."""


def best_choices(choices: Iterable[Choice]) -> list[Choice]:
    """Return those that no other beats, by steps; of equal cost the one that serves best as a base, or is shortest."""
    return pareto(choices, figures=_figures, tie=_preference)


def _figures(choice: Choice) -> tuple[int, Fraction]:
    return choice.allreduce_cost.steps, choice.allreduce_cost.bandwidth


def _preference(c: Choice) -> tuple[object, ...]:
    return not c.follows_recipe, not c.is_factor, not c.is_loop_free, *length(c)


def _order(c: Choice) -> tuple[object, ...]:
    return _figures(c), _preference(c)


def _one_way_first(c: Choice) -> tuple[object, ...]:
    return c.allreduce_cost.bandwidth, c.is_bidirectional, _order(c)


def length(choice: Choice) -> tuple[int, str]:
    """Return what orders choices by how short their recipes are."""
    text = str(choice.recipe)
    return len(text), text


class Finder:
    """Frontiers by (N, d), each worked out once. ``bidirectional`` keeps to topologies that are.

    Unless ``compute``, nothing is built: expansions cost what the theorems say. ``on_work`` is called whenever one more
    (N, d) is worked out.
    """

    def __init__(self, bases: Bases, *, bidirectional: bool = False, compute: bool = True) -> None:
        self.bases = bases
        self.bidirectional = bidirectional
        self.compute = compute
        self.on_work: Callable[[], None] = _ignore
        self._known: dict[tuple[int, int], list[Choice]] = {}
        self._expanded: dict[tuple[int, int], list[Choice]] = {}
        self._fast: dict[tuple[int, int], list[Choice]] = {}
        self._pools: dict[tuple[int, int], list[Choice]] = {}
        self._factors: dict[tuple[int, int], Choice | None] = {}
        self._one_way = Finder(bases, compute=compute) if bidirectional else None

    def frontier(self, num_nodes: int, degree: int) -> list[Choice]:
        """Return the Pareto-optimal choices, fewest steps first."""
        key = (num_nodes, degree)
        if key not in self._known:
            everything = self.everything(num_nodes, degree)
            factors = [c for c in everything if c.is_factor]
            self._factors[key] = min(factors, key=lambda c: (c.cost.steps, length(c)), default=None)
            self._known[key] = best_choices(everything)
            self._expanded[key] = best_choices(c for c in everything if c.method != "arrival")
            least = min((c.allreduce_cost.steps for c in everything), default=0)
            fastest = (c for c in everything if c.allreduce_cost.steps == least)
            self._fast[key] = sorted(fastest, key=_one_way_first)[:FASTEST]
            self.on_work()
        return self._known[key]

    def everything(self, num_nodes: int, degree: int) -> list[Choice]:
        """Return all choices, those that others beat too; what they are expanded from is Pareto-optimal itself."""
        return [c for c in self._choices(num_nodes, degree) if c.is_bidirectional or not self.bidirectional]

    def bases_of(self, num_nodes: int, degree: int) -> list[Choice]:
        """Return the Pareto-optimal choices among those that can be expanded."""
        self.frontier(num_nodes, degree)
        return self._expanded[num_nodes, degree]

    def pool(self, num_nodes: int, degree: int) -> list[Choice]:
        """Return the frontier and more that take few steps: where distances count too, they may be worth it.

        Those of fewest steps, links one way first, and the line graphs of the pool of N / d: a line graph's nodes are
        the nearer to each other the longer the ways back are in its base.
        """
        key = (num_nodes, degree)
        if key not in self._pools:
            frontier = self.frontier(*key)
            more = list(self._fast[key])
            if not self.bidirectional and degree > 1 and num_nodes % degree == 0 and num_nodes // degree > 1:
                pool = self.pool(num_nodes // degree, degree)
                more += [line_of(base, num_nodes // degree) for base in pool if base.method != "arrival"]
            known = {str(c.recipe) for c in frontier}
            extra = {str(c.recipe): c for c in more if str(c.recipe) not in known}
            self._pools[key] = [*frontier, *sorted(extra.values(), key=_order)[:EXTRA]]
        return self._pools[key]

    def _factor(self, num_nodes: int, degree: int) -> Choice | None:
        """Return the choice of fewest steps that a product may use."""
        self.frontier(num_nodes, degree)
        return self._factors[num_nodes, degree]

    def _choices(self, num_nodes: int, degree: int) -> Iterator[Choice]:
        yield from self.bases(num_nodes, degree)
        if not self.bidirectional:
            yield from self._lines(num_nodes, degree)
        elif degree % 2 == 0 and self._one_way is not None:
            yield from self._duplex(self._one_way.bases_of(num_nodes, degree // 2))
        for expanded in (self._degrees, self._powers):
            for choice in expanded(num_nodes, degree):
                yield choice
                if self.compute and num_nodes <= RESOLVE_NODES and degree <= RESOLVE_DEGREE:
                    by_bfb = choice.by_bfb()
                    if not choice.allreduce_cost.is_within(by_bfb.allreduce_cost):
                        yield by_bfb
        yield from self._products(num_nodes, degree)

    def _lines(self, num_nodes: int, degree: int) -> Iterator[Choice]:
        """thm:linegraphperformance."""
        if degree < 2 or num_nodes % degree or num_nodes // degree < 2:
            return
        n = num_nodes // degree
        for base in self.bases_of(n, degree):
            yield line_of(base, n)

    def _degrees(self, num_nodes: int, degree: int) -> Iterator[Choice]:
        """thm:degexp."""
        for times in divisors(degree)[1:]:
            if num_nodes % times or num_nodes // times < 2:
                continue
            n = num_nodes // times
            more = Cost(1, Fraction(times - 1, times * n))
            for base in self.bases_of(n, degree // times):
                if base.is_loop_free and base.follows_recipe:
                    yield base.expanded(
                        Degree(base.recipe, times), method="expand", is_bfb=False,
                        cost=base.cost + more, reduce_scatter=base.reduce_scatter + more,
                    )  # fmt: skip

    def _powers(self, num_nodes: int, degree: int) -> Iterator[Choice]:
        """thm:cartesianpowperformance."""
        for times in divisors(degree)[1:]:
            n = round(num_nodes ** (1 / times))
            if n < 2 or n**times != num_nodes:
                continue
            growth = bandwidth_bound(num_nodes) / bandwidth_bound(n)
            for base in self.bases_of(n, degree // times):
                if base.follows_recipe:
                    cost, reduce_scatter = (
                        Cost(half.steps * times, half.bandwidth * growth) for half in (base.cost, base.reduce_scatter)
                    )
                    yield base.expanded(
                        Power(base.recipe, times), method="expand", is_bfb=base.is_factor,
                        cost=cost, reduce_scatter=reduce_scatter,
                    )  # fmt: skip

    def _products(self, num_nodes: int, degree: int) -> Iterator[Choice]:
        """thm:spathcartesianexpopt: bandwidth-optimal factors, fewest steps."""
        for n in divisors(num_nodes)[1:-1]:
            for d in range(1, degree):
                # Each product once: the smaller factor first, the thinner of two equals.
                if (n, d) > (num_nodes // n, degree - d):
                    continue
                left, right = self._factor(n, d), self._factor(num_nodes // n, degree - d)
                if left is None or right is None:
                    continue
                cost = Cost(left.cost.steps + right.cost.steps, bandwidth_bound(num_nodes))
                yield Choice(
                    _product(left.recipe, right.recipe), "bfb", cost, cost, is_bfb=True,
                    is_simple=True,
                    is_loop_free=True,
                    is_bidirectional=left.is_bidirectional and right.is_bidirectional,
                    is_reverse_symmetric=left.is_reverse_symmetric and right.is_reverse_symmetric,
                )  # fmt: skip

    @staticmethod
    def _duplex(choices: Iterable[Choice]) -> Iterator[Choice]:
        """sec:unitobidirectional: the reduce-scatter is the allgather backwards."""
        for base in choices:
            if base.is_reverse_symmetric and not base.is_bidirectional and base.follows_recipe:
                yield base.expanded(
                    Bidirectional(base.recipe), method="expand", reduce_scatter=base.cost, is_bfb=False,
                    is_simple=False, is_bidirectional=True,
                )  # fmt: skip


def _ignore() -> None:
    """Report nothing."""


def line_of(base: Choice, num_nodes: int) -> Choice:
    """Return the line graph of a choice with this many nodes, at a cost that is at most what the theorem says.

    Where the base is scheduled by BFB, BFB on the line graph costs no more than expanding that would.
    """
    recipe = base.recipe
    line = Line(recipe.base, recipe.times + 1) if isinstance(recipe, Line) else Line(recipe, 1)
    more = Cost(1, Fraction(1, num_nodes))
    return base.expanded(
        line, method="expand" if base.follows_recipe else "bfb", is_exact=False, is_bfb=False,
        cost=base.cost + more, reduce_scatter=base.reduce_scatter + more,
        is_simple=base.is_loop_free, is_bidirectional=False,
    )  # fmt: skip


def _product(left: Recipe, right: Recipe) -> Recipe:
    """Return G x H, flat, equal factors gathered into a power."""
    parts: list[Recipe] = []
    for recipe in (left, right):
        for factor in recipe.factors if isinstance(recipe, Product) else (recipe,):
            parts += [factor.base] * factor.times if isinstance(factor, Power) else [factor]
    counts: dict[Recipe, int] = {}
    for part in sorted(parts, key=str):
        counts[part] = counts.get(part, 0) + 1
    factors = [part if count == 1 else Power(part, count) for part, count in counts.items()]
    return factors[0] if len(factors) == 1 else Product(tuple(factors))
