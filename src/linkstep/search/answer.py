"""``find``: the best topologies for N servers with d ports, beside what people use today and what nobody can beat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from random import Random

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError, RecipeError
from linkstep.core.topology import distance_profiles
from linkstep.core.units import Number, parse_size
from linkstep.costs import Cost, Fabric, all_to_all_bound, bandwidth_bound, lower_bound, moore_steps
from linkstep.groups import Group, parse_group
from linkstep.groups.tables import divisors
from linkstep.methods.bfb import MAX_DEGREE, bfb_cost
from linkstep.recipe import Line, Member, Recipe, parse
from linkstep.search.bases import Candidate, family_bases, paper_bases
from linkstep.search.catalog import Catalog, load_catalog
from linkstep.search.finder import Finder, pareto

_RESOLVE_LINKS = 10_000
"""Up to this many links, what the theorems predict for an expanded topology is compared with BFB on it."""
_CATALOG_NODES = 2048
_TRIED_NODES = 200_000
"""Between these sizes, random Cayley digraphs are tried on the spot."""
_MEASURE_WORK = 3 * 10**8
"""Up to nodes times links, distances are measured; above, only where all nodes are alike."""


@dataclass(frozen=True)
class Found:
    """A topology on the frontier. ``diameter`` and ``flow``, the all-to-all bound d / sum of distances, are None where
    measuring them would take long.
    """

    recipe: str
    method: str
    cost: Cost
    diameter: int | None
    flow: Fraction | None
    is_bandwidth_optimal: bool
    is_moore_optimal: bool
    is_bidirectional: bool


@dataclass(frozen=True)
class Baseline:
    """What is wired today, with its usual schedule; ``cost`` is None where it depends on the size (trees)."""

    name: str
    num_nodes: int
    cost: Cost | None
    flow: Fraction | None

    def allreduce_time(self, fabric: Fabric, size: Number) -> Fraction:
        """Return seconds for an allreduce of ``size`` bytes."""
        if self.cost is not None:
            return fabric.time(self.cost + self.cost, Collective.ALLREDUCE, size)
        return double_tree_time(fabric, self.num_nodes, size)


@dataclass(frozen=True)
class Answer:
    """The frontier for one N and d, fewest steps first; the bounds; the baselines that exist there."""

    num_nodes: int
    degree: int
    bidirectional: bool
    frontier: tuple[Found, ...]
    baselines: tuple[Baseline, ...]
    bound: Cost
    flow_bound: Fraction

    def __repr__(self) -> str:
        best = ", ".join(f"{row.cost.steps} steps {float(row.cost.bandwidth):.3f} M/B" for row in self.frontier[:4])
        return f"<Answer for N={self.num_nodes} d={self.degree}: {len(self.frontier)} topologies, {best}>"


def _catalog_bases(catalog: Catalog, num_nodes: int, degree: int) -> Iterator[Candidate]:
    """Catalog entries as bases; T_B is what allgather and reduce-scatter both stay within."""
    for entry in catalog.listed(num_nodes, degree):
        recipe = parse(entry.recipe)
        if isinstance(recipe, Member) and recipe.family.name == "Cayley":
            simple = len(set(recipe.args[-1])) == len(recipe.args[-1])
        else:
            topology = recipe.topology()
            simple = not topology.num_parallel and not topology.num_self_loops
        yield Candidate(
            recipe, Cost(entry.steps, entry.both), is_simple=simple, is_bidirectional=entry.bidirectional,
            is_reverse_symmetric=entry.bidirectional or recipe.is_reverse_symmetric,
        )  # fmt: skip


@cache
def finder(families: str, bidirectional: bool) -> Finder:
    """Return the finder for ``paper`` (the paper's bases) or ``all`` (further families and the catalog too)."""
    if families == "paper":
        return Finder(paper_bases, bidirectional=bidirectional)
    catalog = load_catalog()

    def bases(num_nodes: int, degree: int) -> Iterator[Candidate]:
        yield from paper_bases(num_nodes, degree)
        yield from family_bases(num_nodes, degree)
        yield from _catalog_bases(catalog, num_nodes, degree)

    return Finder(bases, bidirectional=bidirectional)


def _check_sizes(num_nodes: int, degree: int) -> None:
    if not 2 <= num_nodes <= 10**7:
        raise LinkstepError(f"the number of nodes must lie in [2, 10000000], not {num_nodes}")
    if not 1 <= degree <= MAX_DEGREE:
        raise LinkstepError(f"the degree must lie in [1, {MAX_DEGREE}], not {degree}")


def _resolved(candidate: Candidate) -> Candidate:
    """Return the candidate by BFB on its finished topology if that is no worse: it often is where it was expanded."""
    recipe = candidate.recipe
    if candidate.is_bfb or recipe.num_nodes * recipe.degree > _RESOLVE_LINKS or isinstance(recipe, Member):
        return candidate
    topology = recipe.topology()
    cost = bfb_cost(topology)
    if not topology.is_bidirectional and not candidate.is_reverse_symmetric:
        turned = bfb_cost(topology.transpose())
        cost = Cost(cost.steps, max(cost.bandwidth, turned.bandwidth))
    if cost.steps <= candidate.cost.steps and cost.bandwidth <= candidate.cost.bandwidth:
        return replace(candidate, cost=cost, is_bfb=True, method="bfb")
    return candidate


def _measured(candidate: Candidate) -> Found:
    recipe, cost = candidate.recipe, candidate.cost
    n, d = recipe.num_nodes, recipe.degree
    diameter = flow = None
    if (n * d if recipe.is_vertex_transitive else n * n * d) <= _MEASURE_WORK:
        topology = recipe.topology()
        profiles = distance_profiles(topology, [0] if topology.vertex_transitive else None)
        total = sum(x * k for x, k in enumerate(profiles.sum(axis=0).tolist()))
        diameter, flow = profiles.shape[1] - 1, Fraction(d * len(profiles), total)
    return Found(
        str(recipe), candidate.method, cost, diameter, flow, cost.bandwidth == bandwidth_bound(n),
        cost.steps == moore_steps(n, d), candidate.is_bidirectional,
    )  # fmt: skip


def _beyond_the_catalog(num_nodes: int, degree: int) -> Iterator[Candidate]:
    """Try random Cayley digraphs on the spot, and their line graphs, where N is larger than the catalog goes.

    One node decides the cost of each, so a hundred thousand nodes take a fraction of a second. Always the same tries.
    """
    times, n = 0, num_nodes
    while degree > 2 and n > _CATALOG_NODES:
        if n <= _TRIED_NODES:
            rng = Random(n * 64 + degree)
            groups = _some_groups(n)
            for _ in range(max(3, min(24, _TRIED_NODES // n))):
                group = parse_group(rng.choice(groups))
                try:
                    recipe: Recipe = parse(f"Cayley({group},{{{','.join(_random_generators(group, degree, rng))}}})")
                except RecipeError:  # it does not generate the group
                    continue
                topology = recipe.topology()
                cost, turned = bfb_cost(topology), bfb_cost(topology.transpose())
                cost = Cost(cost.steps, max(cost.bandwidth, turned.bandwidth))
                more = sum((Fraction(1, n * degree**i) for i in range(times)), Fraction(0))
                recipe = Line(recipe, times) if times else recipe
                yield Candidate(recipe, cost + Cost(times, more), is_bfb=not times)
        if n % degree:
            break
        n //= degree
        times += 1


def _some_groups(order: int) -> list[str]:
    """Return the cyclic group and semidirect products of this order, those with a small r: enough for a few tries."""
    found = []
    for m in divisors(order):
        if 3 <= m < order:
            actions = [r for r in range(2, min(m, 1000)) if pow(r, order // m, m) == 1]
            found += [f"Z{m}:Z{order // m}[{r}]" for r in actions[:3]]
    return found or [f"Z{order}"]


def _random_generators(group: Group, degree: int, rng: Random) -> list[str]:
    """Return elements other than the identity, all different, as recipes write them."""
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < degree:
        element = tuple(rng.randrange(order) for order in group.moduli)
        if any(element):
            chosen.add(element)
    return [str(e[0]) if len(e) == 1 else "(" + ",".join(map(str, e)) + ")" for e in sorted(chosen)]


def _worth_measuring(pool: list[Candidate]) -> list[Candidate]:
    """Return the frontier, which the pool starts with, and as much more as can be measured in a second.

    What takes more steps than a bandwidth-optimal candidate is left out: its nodes are further apart too.
    """
    if not pool:
        return []
    recipe = pool[0].recipe
    optimal = [c.cost.steps for c in pool if c.cost.bandwidth == bandwidth_bound(recipe.num_nodes)]
    near = [c for c in pool if not optimal or c.cost.steps <= min(optimal)]
    return near[: 9 if recipe.num_nodes * recipe.degree <= 5000 else 5]


def _nondominated(rows: list[Found]) -> list[Found]:
    """Return rows that no other equals or beats in steps, bandwidth and all-to-all flow together."""
    kept: list[Found] = []
    for row in sorted(rows, key=lambda r: (r.cost.steps, r.cost.bandwidth, -(r.flow or 0), len(r.recipe), r.recipe)):
        if not any(
            k.cost.steps <= row.cost.steps
            and k.cost.bandwidth <= row.cost.bandwidth
            and (k.flow or 0) >= (row.flow or 0)
            for k in kept
        ):
            kept.append(row)
    return kept


def _baseline(name: str, recipe: str, cost: Cost) -> Baseline:
    measured = _measured(Candidate(parse(recipe), cost))
    return Baseline(name, parse(recipe).num_nodes, cost, measured.flow)


def double_tree_time(fabric: Fabric, num_nodes: int, size: Number) -> Fraction:
    """Return seconds for an allreduce over two binary trees: a reduction up each, then a broadcast down.

    Each tree carries half of the data in k chunks, one after the other, over links of bandwidth B/d: a pass takes
    2h - 1 + k steps for trees of height h = log2 N, each alpha and a chunk long; k is the best whole number.
    """
    height = max(1, (num_nodes - 1).bit_length())
    whole = 8 * parse_size(size) / 2 / fabric.link_bandwidth

    def one_pass(chunks: int) -> Fraction:
        return (2 * height - 1 + chunks) * (fabric.alpha + whole / chunks)

    best = max(1, round(float((2 * height - 1) * whole / fabric.alpha) ** 0.5)) if fabric.alpha else 10**6
    return 2 * min(one_pass(k) for k in range(max(1, best - 1), best + 2))


def baselines(num_nodes: int, degree: int) -> tuple[Baseline, ...]:
    """Return the rings, tori and hypercubes of this N and d with the schedules in common use.

    Rings and tori go round one ring after another: N - 1 steps on rings, sum of (size - 1) on a square torus
    (sec:generateivetopo); a hypercube doubles dimension by dimension, one link of d at a time; two binary trees fit
    four ports, three links where a node is inside a tree and one where it is a leaf.
    """
    n, d = num_nodes, degree
    found = []
    if d % 2 == 0 and n >= 3:
        found.append(_baseline("shifted rings", f"ShiftedRing({d},{n})", Cost(n - 1, bandwidth_bound(n))))
    side = round(n**0.5)
    if d == 4 and side * side == n and side >= 3:
        found.append(_baseline("2D torus", f"Torus({side},{side})", Cost(2 * (side - 1), bandwidth_bound(n))))
    if n == 2**d and d <= 20:
        found.append(_baseline("hypercube", f"Q({d})", Cost(d, d * bandwidth_bound(n))))
    if d == 4 and n >= 4:
        found.append(Baseline("double binary tree", n, None, None))
    return tuple(found)


def find(
    num_nodes: int,
    degree: int,
    *,
    families: str = "all",
    bidirectional: bool = False,
    max_steps: int | None = None,
) -> Answer:
    """Return the Pareto frontier of topologies with N nodes and d ports, by predicted or known cost.

    >>> [(f.recipe, f.cost.steps) for f in find(5, 4).frontier]
    [('K_5', 1)]
    """
    _check_sizes(num_nodes, degree)
    search = finder(families, bidirectional)
    if families == "paper":
        rows = list(map(_measured, search.frontier(num_nodes, degree)))
    elif num_nodes * degree > _RESOLVE_LINKS:
        more = [] if bidirectional else _beyond_the_catalog(num_nodes, degree)
        rows = list(map(_measured, pareto([*search.frontier(num_nodes, degree), *more])))
    else:
        rows = _nondominated([_measured(_resolved(c)) for c in _worth_measuring(search.pool(num_nodes, degree))])
    if max_steps is not None:
        rows = [row for row in rows if row.cost.steps <= max_steps]
    connected = degree > 1 or not bidirectional or num_nodes == 2
    bound = lower_bound(num_nodes, degree, bidirectional=bidirectional and connected)
    flow = all_to_all_bound(num_nodes, degree, bidirectional=bidirectional and connected)
    return Answer(num_nodes, degree, bidirectional, tuple(rows), baselines(num_nodes, degree), bound, flow)


@dataclass(frozen=True)
class Workload:
    """What a job communicates: allreduces and all-to-alls by bytes, each with how often it happens."""

    allreduce: tuple[tuple[Fraction, Fraction], ...]
    all_to_all: tuple[tuple[Fraction, Fraction], ...] = ()

    @classmethod
    def of(cls, size: Number) -> Workload:
        """One allreduce of this size."""
        return cls(((parse_size(size), Fraction(1)),))

    def time(self, fabric: Fabric, num_nodes: int, cost: Cost, flow: Fraction | None) -> Fraction | None:
        """Return seconds in all; None if there is all-to-all and its flow is not known."""
        if self.all_to_all and flow is None:
            return None
        total = sum(
            (w * fabric.time(cost + cost, Collective.ALLREDUCE, size) for size, w in self.allreduce), Fraction(0)
        )
        for size, w in self.all_to_all:
            assert flow is not None
            total += w * fabric.all_to_all_time(flow, num_nodes, size)
        return total


def pick(answer: Answer, fabric: Fabric, workload: Workload) -> Found | None:
    """Return the topology of the frontier with the least time, None if the frontier is empty."""
    timed = [(workload.time(fabric, answer.num_nodes, f.cost, f.flow), f) for f in answer.frontier]
    known = [(time, f) for time, f in timed if time is not None]
    return min(known, key=lambda pair: pair[0])[1] if known else None
