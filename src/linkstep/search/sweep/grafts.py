"""Search for grafts: from a good graph of nearly N nodes, put in or take out a few, then swap links until the diameter
is what is wanted. For sizes without a good lift, such as primes.

What is found is a recipe that lists its changes, so that it is built without a search. Exact costs of what is found are
for the caller to work out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.grafts import _draw, _focus, _mend, _missed, _polish
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology, distance_profiles
from linkstep.costs import moore_steps
from linkstep.expansions.grafts import Change
from linkstep.families import family_written
from linkstep.recipe import Insert, Member, Recipe, Remove, Swap
from linkstep.search.sweep.job import Job

MOST_SWAPS = 120
"""Swaps that a recipe lists at most."""

CHOICES = 60
"""Ways to put in or take out a node that are compared."""

FEWER, MORE = 8, 4
"""How far from N bases are looked for."""

STARTS, KEPT = 6, 2
"""Bases that get nodes put in or taken out, and those of them that are then improved."""

EACH = 40
"""Pairs too far apart that a node put in or taken out costs, roughly: to order bases by."""

HOPELESS = 600
"""Pairs too far apart with which a graph is not worth improving: a swap mends a few."""

Bases = Callable[[int, int, bool], list[Recipe]]
Table = NDArray[np.uint32]
_FAR = np.int64(1) << 60


@dataclass(frozen=True)
class _Graph:
    """A regular graph as the kernels have it: heads and tails of links, a row for each node."""

    out: Table
    into: Table
    degree: int
    both: bool
    """Whether links come in edges, both ways."""

    @classmethod
    def of(cls, topology: Topology) -> _Graph:
        n, d = topology.num_nodes, topology.degree
        width = max(4, -(-d // 4) * 4)
        out = np.repeat(np.arange(n, dtype=np.uint32)[:, None], width, axis=1)
        into = out.copy()
        out[:, :d], into[:, :d] = topology.head.reshape(n, d), topology.in_tail.reshape(n, d)
        return cls(out, into, d, topology.is_bidirectional)

    def copy(self, more: int = 0) -> _Graph:
        """Return a copy, with so many nodes more, which have no links yet."""
        n, width = self.out.shape
        own = np.repeat(np.arange(n, n + more, dtype=np.uint32)[:, None], width, axis=1)
        return _Graph(np.vstack([self.out, own]), np.vstack([self.into, own]), self.degree, self.both)

    def turn(self, a: int, old: int, new: int) -> None:
        """Let a link of a lead to another node, seen from a alone."""
        self.out[a, self.out[a].tolist().index(old)] = new

    def turn_back(self, b: int, old: int, new: int) -> None:
        """Let a link that leads to b come from another node, seen from b alone."""
        self.into[b, self.into[b].tolist().index(old)] = new

    def split(self, a: int, b: int, v: int) -> None:
        """Turn a -> b into a -> v -> b, or the edge a - b into a - v - b."""
        for x, y in [(a, b), (b, a)] if self.both else [(a, b)]:
            self.turn(x, y, v)
            self.turn_back(y, x, v)
            self.turn(v, v, y)
            self.turn_back(v, v, x)

    def join(self, a: int, u: int, b: int) -> None:
        """Turn a -> u -> b into a -> b, or a - u - b into the edge a - b; u is to lose all its links."""
        for x, y in [(a, b), (b, a)] if self.both else [(a, b)]:
            self.turn(x, u, y)
            self.turn_back(y, u, x)

    def isolate(self, u: int) -> None:
        self.out[u] = self.into[u] = u

    def missed(self, steps: int, limit: int = int(_FAR)) -> int:
        """Return how many ordered pairs are farther apart than that, or some number above the limit."""
        n = len(self.out)
        work = np.empty((2, n, 16), np.uint64)
        return int(_missed(self.out, self.into, n, steps, limit, work[0], work[1]))

    def links(self) -> Counter[tuple[int, int]]:
        """Count the links by their ends."""
        heads = self.out[:, : self.degree].tolist()
        return Counter((u, v) for u, row in enumerate(heads) for v in row)


class _Draws:
    """Random numbers that are the same everywhere, the kernels' own."""

    def __init__(self, *seed: int) -> None:
        mixed = 0x9E3779B97F4A7C15
        for number in seed:
            mixed = ((mixed ^ (number + 1)) * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) % 2**64
            mixed ^= mixed >> 29
        self.state = np.array([mixed or 1], np.uint64)
        for _ in range(8):
            self.below(2)

    def below(self, count: int) -> int:
        """Return a number in [0, count)."""
        return int(_draw(self.state, count))

    def shuffled(self, items: list[int]) -> list[int]:
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
        return items


def _insertion(graph: _Graph, first: int, draws: _Draws) -> list[Change]:
    """Put in a node, or two linked ones where edges are many at each node; return a random tuple for each.

    The rows from ``first`` on are the new nodes'. A node is put into links whose ends are all different, if it finds
    such within some attempts.
    """
    d, changes = graph.degree, []
    added = range(first, len(graph.out))
    for v in added:
        ends: list[int] = []
        heads: list[int] = []
        tails: list[int] = []
        for _ in range(d // 2 if graph.both else d):
            for attempt in range(200):
                a = draws.below(first)
                b = int(graph.out[a, draws.below(d)])
                fresh = (a not in tails and b not in heads) or attempt > 100
                if a != b and b < first and fresh:
                    break
            else:
                raise LinkstepError(f"no link is left to put node {v} into")
            graph.split(a, b, v)
            ends += [a, b]
            tails += [a, b] if graph.both else [a]
            heads += [a, b] if graph.both else [b]
        changes.append(tuple(ends))
    if len(added) == 2:
        for v, w in (added, added[::-1]):
            graph.turn(v, v, w)
            graph.turn_back(v, v, w)
    return changes


def _removal(graph: _Graph, gone: set[int], draws: _Draws) -> list[Change] | None:
    """Take out a node, or two linked ones where d is odd; return a random tuple for each, None if it does not fit.

    What would leave self-loops or parallel links does not fit.
    """
    d = graph.degree
    u = draws.below(len(graph.out))
    going = [u]
    if graph.both and d % 2:
        going.append(int(graph.out[u, draws.below(d)]))
    if gone.intersection(going) or len(set(going)) < len(going):
        return None
    changes = []
    for w in going:
        ahead = draws.shuffled([v for v in graph.out[w, :d].tolist() if v not in going])
        behind = [v for v in graph.into[w, :d].tolist() if v not in going]
        if len(ahead) != d + 1 - len(going) or len(behind) != len(ahead):
            return None
        pairs = list(zip(ahead[::2], ahead[1::2], strict=True) if graph.both else zip(behind, ahead, strict=True))
        for a, b in pairs:
            if a == b or b in graph.out[a]:
                return None
            graph.join(a, w, b)
        changes.append((w, *(node for pair in pairs for node in pair)))
    for w in going:
        graph.isolate(w)
    return changes


def _resized(base: Recipe, num_nodes: int, steps: int, draws: _Draws) -> Recipe | None:
    """Return the base with nodes put in or taken out until there are so many, each the best of some ways to do it.

    None if no node can be taken out without leaving self-loops or parallel links, as in a small dense graph.
    """
    graph = _Graph.of(base.topology())
    more = num_nodes - base.num_nodes
    at_once = 2 if graph.both and graph.degree % 2 else 1
    changes: list[Change] = []
    gone: set[int] = set()
    for _ in range(abs(more) // at_once):
        best, least = None, int(_FAR)
        for attempt in range(20 * CHOICES):
            trial = graph.copy(at_once if more > 0 else 0)
            drawn = _insertion(trial, len(graph.out), draws) if more > 0 else _removal(trial, gone, draws)
            if drawn is not None:
                missed = trial.missed(steps, least)
                if missed < least:
                    best, least = (trial, drawn), missed
            if attempt >= CHOICES and best is not None:
                break
        if best is None:
            return None
        graph = best[0]
        changes += best[1]
        gone |= {change[0] for change in best[1]} if more < 0 else set()
    if not changes:
        return base
    return Insert(base, tuple(changes)) if more > 0 else Remove(base, tuple(changes))


def swaps_between(before: Counter[tuple[int, int]], after: Counter[tuple[int, int]], both: bool) -> list[Change]:
    """Return swaps that turn one set of links into another, in which every node has as many links.

    A swap settles one link at least, two where the other new link is wanted as well. With ``both`` links come in edges.

    >>> ring, other = Counter([(0, 1), (1, 2), (2, 0)]), Counter([(0, 2), (2, 1), (1, 0)])
    >>> swaps_between(ring, other, both=False)
    [(0, 1, 1, 2), (1, 1, 2, 0)]
    """
    surplus, wanted = before - after, after - before
    swaps: list[Change] = []

    def shift(a: int, b: int, more: int) -> None:
        """Count a link that came or went: it settles a wanted one or a surplus one, if there is such."""
        for key in [(a, b), (b, a)] if both else [(a, b)]:
            fewer, other = (wanted, surplus) if more > 0 else (surplus, wanted)
            if fewer[key] > 0:
                fewer[key] -= 1
            else:
                other[key] += 1

    while any(surplus.values()):
        a, b = min(key for key, count in surplus.items() if count > 0)
        heads = {y for (x, y), count in wanted.items() if x == a and count > 0}
        others = [(c, e) for (c, e), count in surplus.items() if e in heads and count > 0]
        c, e = min(others, key=lambda other: (wanted[other[0], b] <= 0, other[0] == b, other))
        swaps.append((a, b, c, e))
        for x, y, more in ((a, b, -1), (c, e, -1), (a, e, 1), (c, b, 1)):
            shift(x, y, more)
    return swaps


def _swapped(recipe: Recipe, graph: _Graph) -> Recipe:
    """Return the recipe with the swaps that turn its topology into a graph; as it is if there are none."""
    swaps = swaps_between(_Graph.of(recipe.topology()).links(), graph.links(), graph.both)
    return Swap(recipe, tuple(swaps)) if swaps else recipe


@dataclass(frozen=True)
class _Found:
    """A graft and what it is judged by."""

    missed: int
    """Ordered pairs farther apart than wanted."""
    recipe: Recipe
    graph: _Graph

    def rank(self) -> tuple[int, int]:
        """The diameter, then the sum of distances."""
        levels = distance_profiles(self.recipe.topology()).sum(axis=0).tolist()
        return len(levels) - 1, sum(t * width for t, width in enumerate(levels))


def _started(base: Recipe, num_nodes: int, steps: int, draws: _Draws) -> _Found | None:
    """Return the base with nodes put in or taken out, nothing swapped yet; None if that cannot be done."""
    recipe = _resized(base, num_nodes, steps, draws)
    if recipe is None:
        return None
    graph = _Graph.of(recipe.topology())
    return _Found(graph.missed(steps), recipe, graph)


def _improved(start: _Found, steps: int, evaluations: int, draws: _Draws) -> _Found:
    """Return the graph with links swapped until all pairs are within so many steps, then nearer on the mean."""
    recipe, graph = start.recipe, start.graph.copy()
    table = (graph.out, graph.into, graph.degree, graph.both)
    left = int(_mend(*table, steps, evaluations, draws.state))
    missed, left = _focus(*table, steps, max(0, left), MOST_SWAPS, draws.state)
    swapped = _swapped(recipe, graph)
    spare = MOST_SWAPS - (len(swapped.changes) if isinstance(swapped, Swap) and swapped is not recipe else 0)
    if not missed and spare > 0 and left > 0:
        _polish(*table, steps, min(int(left), evaluations // 4), spare, draws.state)
        swapped = _swapped(recipe, graph)
    return _Found(int(missed), swapped, graph)


def graft(base: Recipe, num_nodes: int, *, target: int, evaluations: int, seed: int) -> Recipe:
    """Return a graft of a base that has so many nodes and, if it can be found, at most ``target`` as its diameter.

    >>> from linkstep.recipe import parse
    >>> str(graft(parse("C(12,{1,5})"), 13, target=3, evaluations=100, seed=0))
    'Insert(C(12,{1,5}),{(6,5,7,2)})'
    """
    _check_base(base, num_nodes)
    draws = _Draws(num_nodes, base.num_nodes, base.degree, target, seed)
    start = _started(base, num_nodes, target, draws)
    if start is None:
        raise LinkstepError(f"no node of {base.short} can be taken out without self-loops or parallel links")
    evaluations -= CHOICES * abs(num_nodes - base.num_nodes)
    return _improved(start, target, max(1, evaluations), draws).recipe


def _check_base(base: Recipe, num_nodes: int) -> None:
    topology = base.topology()
    if not topology.is_regular or topology.degree < 2:
        raise LinkstepError(f"a graft needs a base of degree 2 or more, the same at every node, not {base.short}")
    if topology.is_bidirectional and topology.degree * num_nodes % 2:
        raise LinkstepError(f"no {num_nodes} nodes have {topology.degree} edges each: one of the two must be even")
    if num_nodes <= topology.degree:
        raise LinkstepError(f"a graft needs more than d = {topology.degree} nodes, not {num_nodes}")


def _known(job: Job, bases: Bases) -> list[Recipe]:
    """Return the bases close to N, those of N itself first."""
    n, d = job.num_nodes, job.degree
    found: list[Recipe] = []
    for size in sorted(range(max(d + 1, n - FEWER), n + MORE + 1), key=lambda size: (abs(size - n), size)):
        if not job.bidirectional or size * d % 2 == 0:
            found += bases(size, d, job.bidirectional)
    return list(dict.fromkeys(found))


def _kautz(job: Job) -> list[Recipe]:
    """Return generalized Kautz graphs of N nodes and nearly N: few steps, but self-loops unless d + 1 divides N."""
    if job.bidirectional:
        return []
    family = family_written("Pi_{d,m}")
    return [Member(family, (job.degree, size)) for size in range(job.num_nodes - 1, job.num_nodes + 2)]


def _search_from(job: Job, recipes: list[Recipe], most_steps: int) -> list[_Found]:
    """Return grafts of the least diameter that is reached, or of those tried last if none is.

    Diameters are tried from the Moore bound on, each with the bases that come closest to it.
    """
    n, d = job.num_nodes, job.degree
    starts = [(base, _Graph.of(base.topology())) for base in recipes if base.topology().is_regular]
    starts = [(base, graph) for base, graph in starts if graph.degree == d and graph.both >= job.bidirectional]
    found: list[_Found] = []
    left = job.budget
    for steps in range(moore_steps(n, d, bidirectional=job.bidirectional), most_steps + 1):
        if left <= 0 or any(one.missed == 0 for one in found):
            break
        draws = _Draws(n, d, job.bidirectional, steps, job.seed)
        near = sorted(starts, key=lambda start: start[1].missed(steps) + EACH * abs(start[0].num_nodes - n))
        tried = [_started(base, n, steps, draws) for base, _ in near[:STARTS]]
        left -= sum(CHOICES * abs(base.num_nodes - n) for base, _ in near[:STARTS])
        hopeful = sorted((one for one in tried if one and one.missed <= HOPELESS), key=lambda one: one.missed)[:KEPT]
        share = max(1, left // (2 * KEPT))
        found = [_improved(one, steps, share, draws) for one in hopeful]
        left -= share * len(found)
    return found


def search_grafts(job: Job, bases: Bases) -> list[Recipe]:
    """Return a few grafts, by diameter and then by the sum of distances, made from recipes known near N.

    ``bases(n, degree, bidirectional)`` gives the recipes known for n nodes. Directed generalized Kautz graphs without
    their self-loops come first where they have fewer steps; their bandwidth is poorer, so the others are kept.
    """
    n, d = job.num_nodes, job.degree
    if d < 2 or n <= d + 1 or (job.bidirectional and n * d % 2):
        return []
    known = _known(job, bases)
    tried = _search_from(job, known, n - 1)
    found = [one for one in tried if one.missed == 0] or tried
    ranks = {one.recipe: (*one.rank(), len(str(one.recipe))) for one in found}
    least = min((rank[0] for rank in ranks.values()), default=n)
    fewer = [(one.recipe, one.rank()) for one in _search_from(job, _kautz(job), least - 1) if one.missed == 0]
    ranks |= {recipe: (*rank, len(str(recipe))) for recipe, rank in fewer[:1]}
    return sorted((recipe for recipe in ranks if recipe not in known), key=lambda recipe: ranks[recipe])
