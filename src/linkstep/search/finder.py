"""The finder: every way to reach N nodes with d ports from bases by expansions, by predicted cost (sec:topofinder).

Top down with a memory: the frontier of (N, d) comes from bases with that N and d and from the frontiers of divisors.
Line graph, degree expansion and Cartesian power add or multiply the same to every candidate of one (N, d), so only its
Pareto-optimal ones can lead to Pareto-optimal ones; a product needs bandwidth-optimal factors, of fewest steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from linkstep.costs import Cost, bandwidth_bound
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import Bidirectional, Degree, Line, Power, Product, Recipe
from linkstep.search.bases import Candidate

Bases = Callable[[int, int], Iterable[Candidate]]

FASTEST = 4
EXTRA = 6
"""How many candidates of fewest steps ``Finder.pool`` looks at, and how many it keeps beside the frontier."""

RESOLVE_NODES = 64
RESOLVE_DEGREE = 16
"""Up to these, a degree expansion or power is scheduled by BFB too: it may take fewer steps."""


def pareto(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return those that no other beats, by steps; of equal cost the one that serves best as a base, or is shortest."""
    best: list[Candidate] = []
    for candidate in sorted(candidates, key=_order):
        if not best or candidate.cost.bandwidth < best[-1].cost.bandwidth:
            best.append(candidate)
    return best


def _order(c: Candidate) -> tuple[object, ...]:
    return c.cost.steps, c.cost.bandwidth, c.method != "expand", not c.is_factor, c.has_loops, _length(c)


def _one_way_first(c: Candidate) -> tuple[object, ...]:
    return c.cost.bandwidth, c.is_bidirectional, _order(c)


def _length(candidate: Candidate) -> tuple[int, str]:
    text = str(candidate.recipe)
    return len(text), text


def _divisors(number: int) -> list[int]:
    small = [k for k in range(1, int(number**0.5) + 1) if number % k == 0]
    return small + [number // k for k in reversed(small) if k * k != number]


class Finder:
    """Frontiers by (N, d), each worked out once. ``bidirectional`` keeps to topologies that are."""

    def __init__(self, bases: Bases, *, bidirectional: bool = False) -> None:
        self.bases = bases
        self.bidirectional = bidirectional
        self._known: dict[tuple[int, int], list[Candidate]] = {}
        self._fast: dict[tuple[int, int], list[Candidate]] = {}
        self._pools: dict[tuple[int, int], list[Candidate]] = {}
        self._factors: dict[tuple[int, int], Candidate | None] = {}
        self._one_way = Finder(bases) if bidirectional else None

    def frontier(self, num_nodes: int, degree: int) -> list[Candidate]:
        """Return the Pareto-optimal candidates, fewest steps first."""
        key = (num_nodes, degree)
        if key not in self._known:
            everything = [
                c for c in self._candidates(num_nodes, degree) if c.is_bidirectional or not self.bidirectional
            ]
            factors = [c for c in everything if c.is_factor]
            self._factors[key] = min(factors, key=lambda c: (c.cost.steps, _length(c)), default=None)
            self._known[key] = pareto(everything)
            least = min((c.cost.steps for c in everything), default=0)
            self._fast[key] = sorted((c for c in everything if c.cost.steps == least), key=_one_way_first)[:FASTEST]
        return self._known[key]

    def pool(self, num_nodes: int, degree: int) -> list[Candidate]:
        """Return the frontier and more that take few steps: where distances count too, they may be worth it.

        Those of fewest steps, links one way first, and the line graphs of the pool of N / d: a line graph's nodes are
        the nearer to each other the longer the ways back are in its base.
        """
        key = (num_nodes, degree)
        if key not in self._pools:
            frontier = self.frontier(*key)
            more = list(self._fast[key])
            if not self.bidirectional and degree > 1 and num_nodes % degree == 0 and num_nodes // degree > 1:
                more += [_line(base, num_nodes // degree) for base in self.pool(num_nodes // degree, degree)]
            known = {str(c.recipe) for c in frontier}
            extra = {str(c.recipe): c for c in more if str(c.recipe) not in known}
            self._pools[key] = [*frontier, *sorted(extra.values(), key=_order)[:EXTRA]]
        return self._pools[key]

    def _factor(self, num_nodes: int, degree: int) -> Candidate | None:
        """Return the candidate of fewest steps that a product may use."""
        self.frontier(num_nodes, degree)
        return self._factors[num_nodes, degree]

    def _candidates(self, num_nodes: int, degree: int) -> Iterator[Candidate]:
        yield from self.bases(num_nodes, degree)
        if not self.bidirectional:
            yield from self._lines(num_nodes, degree)
        elif degree % 2 == 0 and self._one_way is not None:
            yield from self._both_ways(self._one_way.frontier(num_nodes, degree // 2))
        for expanded in (self._degrees, self._powers):
            for candidate in expanded(num_nodes, degree):
                yield candidate
                if num_nodes <= RESOLVE_NODES and degree <= RESOLVE_DEGREE:
                    yield from _resolved(candidate)
        yield from self._products(num_nodes, degree)

    def _lines(self, num_nodes: int, degree: int) -> Iterator[Candidate]:
        """thm:linegraphperformance."""
        if degree < 2 or num_nodes % degree or num_nodes // degree < 2:
            return
        n = num_nodes // degree
        for base in self.frontier(n, degree):
            yield _line(base, n)

    def _degrees(self, num_nodes: int, degree: int) -> Iterator[Candidate]:
        """thm:degexp."""
        for times in _divisors(degree)[1:]:
            if num_nodes % times or num_nodes // times < 2:
                continue
            n = num_nodes // times
            for base in self.frontier(n, degree // times):
                if not base.has_loops and base.method == "expand":
                    cost = base.cost + Cost(1, Fraction(times - 1, times * n))
                    yield replace(base, recipe=Degree(base.recipe, times), cost=cost, is_bfb=False)

    def _powers(self, num_nodes: int, degree: int) -> Iterator[Candidate]:
        """thm:cartesianpowperformance."""
        for times in _divisors(degree)[1:]:
            n = round(num_nodes ** (1 / times))
            if n < 2 or n**times != num_nodes:
                continue
            for base in self.frontier(n, degree // times):
                if base.method == "expand":
                    grown = base.cost.bandwidth * Fraction(n, n - 1) * bandwidth_bound(num_nodes)
                    cost = Cost(base.cost.steps * times, grown)
                    yield replace(base, recipe=Power(base.recipe, times), cost=cost, is_bfb=base.is_factor)

    def _products(self, num_nodes: int, degree: int) -> Iterator[Candidate]:
        """thm:spathcartesianexpopt: bandwidth-optimal factors, fewest steps."""
        for n in _divisors(num_nodes)[1:-1]:
            for d in range(1, degree):
                # Each product once: the smaller factor first, the thinner of two equals.
                if (n, d) > (num_nodes // n, degree - d):
                    continue
                left, right = self._factor(n, d), self._factor(num_nodes // n, degree - d)
                if left is None or right is None:
                    continue
                cost = Cost(left.cost.steps + right.cost.steps, bandwidth_bound(num_nodes))
                yield Candidate(
                    _product(left.recipe, right.recipe), cost,
                    is_bidirectional=left.is_bidirectional and right.is_bidirectional,
                    is_reverse_symmetric=left.is_reverse_symmetric and right.is_reverse_symmetric,
                )  # fmt: skip

    @staticmethod
    def _both_ways(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """sec:unitobidirectional."""
        for base in candidates:
            if base.is_reverse_symmetric and not base.is_bidirectional and base.method == "expand":
                recipe = Bidirectional(base.recipe)
                yield replace(base, recipe=recipe, is_bidirectional=True, is_bfb=False, is_simple=False)


def _line(base: Candidate, num_nodes: int) -> Candidate:
    """Return the line graph of a candidate with this many nodes.

    Where the base is scheduled by BFB, BFB on the line graph costs no more than expanding that would.
    """
    recipe = base.recipe
    line = Line(recipe.base, recipe.times + 1) if isinstance(recipe, Line) else Line(recipe, 1)
    cost = base.cost + Cost(1, Fraction(1, num_nodes))
    simple = not base.has_loops
    return replace(base, recipe=line, cost=cost, is_bfb=False, is_simple=simple, is_bidirectional=False)


def _resolved(candidate: Candidate) -> Iterator[Candidate]:
    """Schedule an expanded topology by BFB instead, if that is better in a part."""
    cost = bfb_cost(candidate.recipe.topology())
    if cost.steps < candidate.cost.steps or cost.bandwidth < candidate.cost.bandwidth:
        yield replace(candidate, cost=cost, is_bfb=True, method="bfb")


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
