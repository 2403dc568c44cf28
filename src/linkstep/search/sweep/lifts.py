"""Search for lifts: orbits of nodes on which a cyclic or semidirect group acts, annealed towards short distances.

Many shapes (how many orbits, which group) are annealed briefly, the best third of them further, and so on down to one.
What counts is the diameter, then the pairs at that distance, then the mean distance; schedules are scored elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from random import Random

import numpy as np

from linkstep._kernels.lifts import _anneal, _anneal_pairs, _bits, _inverse, _levels
from linkstep.core.stopping import best_so_far
from linkstep.core.topology import Ints
from linkstep.costs import moore_steps
from linkstep.families import family_written
from linkstep.groups.named import SemidirectGroup
from linkstep.groups.tables import actions, divisors
from linkstep.recipe import Member, Recipe
from linkstep.search.sweep.job import SweepJob

MAX_ORBITS = 64
MAX_SEMIDIRECT_ORBITS = 24
MAX_SEMIDIRECT = 48
"""Shapes with semidirect groups that one search tries, picked at random: some N have hundreds."""
MAX_FREE = 64
"""Up to this N graphs without any symmetry are tried too: their recipes list every link."""
MAX_TEXT = 2500
"""Characters of a recipe; catalogs hold thousands."""

FEW_SHAPES = 16
"""Where there are fewer, each is started several times."""
FEW_ORBITS = 4
"""With no more orbits than this there is little to anneal: many short runs find more than a long one."""
SHORT_RUN = 1500
"""Tries of such a run for one orbit; as many times the square of the orbits."""

HEAVY_AT_FIRST, HEAVY = 3, 6
"""How much more a pair beyond the diameter aimed at counts than one within it."""
HOT, WARM, COLD, COOL = 0.05, 0.03, 0.001, 0.005
"""Temperatures, in units of N d: first and later runs start hot and warm; long ones end cold, short ones cool."""

MOST = 3
"""Recipes that a search returns."""

Key = tuple[float, float, float]
"""(diameter, pairs at that distance for a node, sum of distances from a node): the smaller the better."""


@dataclass(frozen=True)
class LiftShape:
    """How many orbits, and the group Z_p : Z_q[r]; with q = 1 it is cyclic, with p = 1 too there is none."""

    orbits: int
    p: int
    q: int = 1
    r: int = 1

    @property
    def order(self) -> int:
        """Elements of the group."""
        return self.p * self.q

    @cached_property
    def powers(self) -> Ints:
        """r^0, r^1, ..., r^(q-1) mod p."""
        return np.array([pow(self.r, b, self.p) for b in range(self.q)], np.int64)

    @cached_property
    def _self_inverse(self) -> list[bool]:
        return [_inverse(g, self.p, self.powers) == g for g in range(self.order)]

    @cached_property
    def involutions(self) -> Ints:
        """Elements other than the identity that are their own inverse."""
        return np.flatnonzero(self._self_inverse)[1:]

    @cached_property
    def others(self) -> list[int]:
        """Elements that are not their own inverse."""
        return np.flatnonzero(np.logical_not(self._self_inverse)).tolist()

    def text_length(self, degree: int) -> int:
        """Return about how long the recipe of a lift of this shape is."""
        parts = [self.orbits, *[m for m in (self.p, self.q) if m > 1]]
        return self.orbits * degree * sum(len(str(part - 1)) + 1 for part in parts)

    def recipe(self, to: Ints, by: Ints, degree: int) -> Member:
        """Return the recipe of a lift: port i d + c, link c of orbit i, leads to orbit ``to`` with shift ``by``."""
        columns = {1: [to], 2: [to, by], 3: [to, by // self.q, by % self.q]}[1 + (self.p > 1) + (self.q > 1)]
        table = np.stack(columns, axis=1).reshape(self.orbits, degree, -1).transpose(1, 0, 2).reshape(degree, -1)
        links = tuple(sorted(map(tuple, table.tolist())))
        if self.q == 1:
            return Member(family_written("Lift(m,{(j,a,...),...})"), (self.p, links))
        group = SemidirectGroup(self.p, self.q, self.r)
        return Member(family_written("Lift(Z7:Z3[2],{(j,a,b,...),...})"), (group, links))


def shapes(job: SweepJob) -> tuple[list[LiftShape], list[LiftShape]]:
    """Return the shapes that lifts of a job's N, d and kind can have: over cyclic groups, and over semidirect ones.

    >>> [shape.orbits for shape in shapes(SweepJob(30, 4, False))[0]]
    [3, 5, 6, 10, 15, 30]
    >>> shapes(SweepJob(21, 4, True))[1]
    [LiftShape(orbits=1, p=7, q=3, r=2)]
    """
    n = job.num_nodes
    cyclic = [LiftShape(k, n // k) for k in divisors(n) if 3 <= k <= MAX_ORBITS and (k < n or n <= MAX_FREE)]
    semidirect = [
        LiftShape(k, p, n // k // p, r)
        for k in divisors(n)
        if k <= MAX_SEMIDIRECT_ORBITS
        for p in divisors(n // k)
        if 3 <= p < n // k
        for r in actions(p, n // k // p)
    ]
    return [s for s in cyclic if _applies(s, job)], [s for s in semidirect if _applies(s, job)]


def has_lifts(job: SweepJob) -> bool:
    """Whether there is a shape for a job."""
    return any(shapes(job))


def _applies(shape: LiftShape, job: SweepJob) -> bool:
    """Whether there are such lifts: an odd number of ports needs an involution where links are duplex."""
    pairs_up = not job.bidirectional or shape.orbits * job.degree % 2 == 0 or shape.order % 2 == 0
    return pairs_up and shape.text_length(job.degree) <= MAX_TEXT


class _Run:
    """A lift of one shape that is being annealed, and the best of it so far."""

    def __init__(self, shape: LiftShape, job: SweepJob, rng: Random) -> None:
        self.shape, self.job, self.rng = shape, job, rng
        self.state = np.array([rng.getrandbits(63) | 1], np.uint64)
        self.bits = _bits(shape.orbits, shape.p, shape.q)
        self.started = False
        self.key: Key = (inf, inf, inf)
        self.draw()
        self.best = self.to.copy(), self.by.copy()

    def draw(self) -> None:
        """Start from a random lift."""
        self.to, self.by, self.mate = (_random_pairs if self.job.bidirectional else _random_links)(
            self.shape, self.job.degree, self.rng
        )

    def advance(self, tries: int, target: int) -> None:
        """Anneal with a budget of ``tries``, towards a diameter."""
        hot, heavy = (WARM, HEAVY) if self.started else (HOT, HEAVY_AT_FIRST)
        self.started = True
        if self.shape.orbits > FEW_ORBITS:
            self._anneal(tries, target, heavy, hot, COLD)
            return
        while tries > 0:
            once = min(tries, SHORT_RUN * self.shape.orbits**2)
            self._anneal(once, target, heavy, HOT, COOL)
            self.draw()
            tries -= once

    def _anneal(self, tries: int, target: int, heavy: int, hot: float, cold: float) -> None:
        degree, unit = self.job.degree, float(self.job.num_nodes * self.job.degree)
        group = self.shape.p, self.shape.powers
        how = degree, target, heavy, tries, hot * unit, cold * unit, self.state, self.bits
        if self.job.bidirectional:
            _anneal_pairs(self.to, self.by, self.mate, *group, self.shape.involutions, *how)
        else:
            _anneal(self.to, self.by, *group, *how)
        key = self._key()
        if key < self.key:
            self.key, self.best = key, (self.to.copy(), self.by.copy())

    def _key(self) -> Key:
        missing = np.zeros(self.job.num_nodes + 1, np.int64)
        steps = _levels(self.to, self.by, self.shape.p, self.shape.powers, self.job.degree, self.bits, missing)
        if steps < 1:
            return inf, inf, inf
        return steps, missing[steps - 1] / self.shape.orbits, missing.sum() / self.shape.orbits

    def recipe(self) -> Member:
        return self.shape.recipe(*self.best, self.job.degree)


def _random_links(shape: LiftShape, degree: int, rng: Random) -> tuple[Ints, Ints, Ints]:
    """Return orbits and shifts of a random digraph; a third array that only pairs need."""
    k = shape.orbits
    columns = [rng.sample(range(k), k) for _ in range(degree)]
    to = np.array(columns, np.int64).T.ravel()
    by = np.array([rng.randrange(shape.order) for _ in to], np.int64)
    return to, by, by[:0]


def _random_pairs(shape: LiftShape, degree: int, rng: Random) -> tuple[Ints, Ints, Ints]:
    """Return orbits and shifts of a random graph of duplex links, and the other end of each port's edge.

    Edges within an orbit are avoided where there are others, and half edges where edges do.
    """
    ports = rng.sample(range(shape.orbits * degree), shape.orbits * degree)
    halves = [ports.pop()] if len(ports) % 2 else []
    for i in range(0, len(ports), 2):
        if ports[i] // degree == ports[i + 1] // degree:
            j = rng.randrange(len(ports))
            ports[i], ports[j] = ports[j], ports[i]
    mate = np.arange(shape.orbits * degree)
    by = np.zeros_like(mate)
    for x, y in zip(ports[::2], ports[1::2], strict=True):
        inside = x // degree == y // degree
        if inside and not shape.others and shape.involutions.size:
            halves += [x, y]
            continue
        mate[x], mate[y] = y, x
        by[x] = rng.choice(shape.others) if inside and shape.others else rng.randrange(shape.order)
        by[y] = _inverse(by[x], shape.p, shape.powers)
    for x in halves:
        by[x] = rng.choice(shape.involutions.tolist())
    return mate // degree, by, mate


def _thirds(count: int) -> list[int]:
    """Return how many runs go on in each round.

    >>> _thirds(40)
    [40, 13, 4, 1]
    """
    return [count] if count <= 1 else [count, *_thirds(max(1, count // 3))]


def search_lifts(job: SweepJob) -> list[Recipe]:
    """Return the best lifts found, at most three; none where N and d have none that a short recipe writes."""
    rng = Random(f"{job.num_nodes},{job.degree},{job.bidirectional},{job.seed}")
    cyclic, semidirect = shapes(job)
    chosen = [*cyclic, *rng.sample(semidirect, min(MAX_SEMIDIRECT, len(semidirect)))]
    if not chosen:
        return []
    runs = [_Run(shape, job, rng) for shape in chosen * max(1, FEW_SHAPES // len(chosen))]
    least = moore_steps(job.num_nodes, job.degree, bidirectional=job.bidirectional)
    rounds = _thirds(len(runs))
    target = least
    with best_so_far():
        for count in rounds:
            for run in runs[:count]:
                run.advance(max(1, job.budget // len(rounds) // count), target)
            runs.sort(key=lambda run: run.key)
            if runs[0].key[0] < inf:
                target = max(least, int(runs[0].key[0]) - 1)
    return _best(sorted(runs, key=lambda run: run.key))


def _best(runs: Sequence[_Run]) -> list[Recipe]:
    """Return the recipes of the best runs that share the least diameter, without loops or parallel links."""
    found: dict[Recipe, float] = {}
    for run in runs:
        steps = run.key[0]
        if steps == inf or len(found) == MOST or steps > min(found.values(), default=steps):
            break
        recipe = run.recipe()
        if recipe.family.simple(*recipe.args):
            found.setdefault(recipe, steps)
    return list(found)
