"""Search for lifts: a few orbits turned by Z_m, improved by local search. For sizes whose groups are poor, like 3p.

Not vertex-transitive in general, so each orbit is scored; the figures of what is found are recomputed from its recipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np

from linkstep._kernels.lifts import _anneal, _anneal_pairs
from linkstep.core.topology import Ints
from linkstep.costs import moore_levels, moore_steps
from linkstep.families import family_written
from linkstep.groups.tables import divisors
from linkstep.recipe import Member, Recipe
from linkstep.search.catalog import best
from linkstep.search.entry import Entry
from linkstep.search.scoring import entry_of
from linkstep.search.sweep.job import Job

MAX_ORBITS = 8
MAX_FREE = 64
"""Up to this prime N, digraphs without any symmetry are tried: their recipes list every link."""

HOT = 2.0
HEAVY = 2
MORE_STEPS = 2
MOST_TRIES = 30_000
"""Exchanges of one descent."""


def orbit_counts(num_nodes: int) -> list[int]:
    """Return how many orbits to try.

    >>> orbit_counts(30), orbit_counts(31), orbit_counts(67)
    ([2, 3, 5, 6], [31], [])
    """
    counts = [k for k in divisors(num_nodes) if 2 <= k <= MAX_ORBITS and k < num_nodes]
    return counts or [num_nodes] * (num_nodes <= MAX_FREE)


def lift_recipe(to: Ints, by: Ints, m: int) -> Recipe:
    """Return the recipe of a lift; ``to[i, c]`` and ``by[i, c]`` are orbit and shift of link c of orbit i."""
    table = to.T if m == 1 else np.stack([to.T, by.T], axis=2).reshape(to.shape[1], -1)
    return Member(family_written("Lift(m,{(j,a,...),...})"), (m, tuple(map(tuple, sorted(table.tolist())))))


def is_plain(to: Ints, by: Ints) -> bool:
    """Whether no link is a self-loop or has a parallel."""
    rows = [list(zip(a, b, strict=True)) for a, b in zip(to.tolist(), by.tolist(), strict=True)]
    return all((i, 0) not in row and len(set(row)) == len(row) for i, row in enumerate(rows))


@dataclass(frozen=True)
class _Descents:
    """Descents from random lifts of k orbits of m nodes: towards so many steps, optimal T_B and short distances."""

    k: int
    m: int
    degree: int
    steps: int
    tries: int

    def _targets(self, bidirectional: bool) -> tuple[int, int]:
        """Return the kernel's T_B and sum of distances that nothing beats."""
        n, d = self.k * self.m, self.degree
        levels = moore_levels(n, d, bidirectional=bidirectional)
        return lcm(*range(1, d + 1)) // d * (n - 1), self.k * sum(t * width for t, width in enumerate(levels))

    def directed(self, rng: np.random.Generator) -> tuple[Ints, Ints, bool]:
        """Return a lift, and whether it is plain with no more steps than wanted."""
        to = np.stack([rng.permutation(self.k) for _ in range(self.degree)], axis=1).astype(np.int64)
        by = rng.integers(0, self.m, to.shape)
        seed = int(rng.integers(2**62))
        _, far, _ = _anneal(to, by, self.m, self.steps, *self._targets(False), self.tries, HOT, HEAVY, seed)
        return to, by, far == 0 and is_plain(to, by)

    def bidirectional(self, rng: np.random.Generator) -> tuple[Ints, Ints, bool]:
        """As ``directed``, with links both ways: the ports of all orbits are joined in pairs.

        With an odd number of ports m is even, and the last port leads to the other side of its own orbit.
        """
        k, m, d = self.k, self.m, self.degree
        ports, drawn = rng.permutation(k * d), rng.integers(0, m, k * d)
        partner, shift = np.empty(k * d, np.int64), np.empty(k * d, np.int64)
        for p, q in zip(ports[::2].tolist(), [*ports[1::2].tolist(), *ports[-1:].tolist()], strict=False):
            partner[p], partner[q] = q, p
            shift[p], shift[q] = drawn[p], -drawn[p] % m
            if p == q:
                shift[p] = m // 2
        to, by = (partner // d).reshape(k, d), shift.reshape(k, d)
        seed = int(rng.integers(2**62))
        _, far, _ = _anneal_pairs(to, by, m, partner, self.steps, *self._targets(True), self.tries, HOT, HEAVY, seed)
        return to, by, far == 0 and is_plain(to, by)


def search_lifts(job: Job) -> list[Entry]:
    """Return the best lifts found, with as many steps as the Moore bound or a few more until T_B is optimal."""
    n, d = job.num_nodes, job.degree
    if job.bidirectional and n * d % 2:
        return []
    least = moore_steps(n, d, bidirectional=job.bidirectional)
    counts = orbit_counts(n)
    rng = np.random.default_rng([n, d, job.bidirectional, job.seed])
    found: list[Entry] = []
    for steps in range(least, least + MORE_STEPS + 1):
        for k in counts:
            left = job.budget // ((MORE_STEPS + 1) * len(counts))
            descents = _Descents(k, n // k, d, steps, min(MOST_TRIES, max(1, left // 3)))
            descend = descents.bidirectional if job.bidirectional else descents.directed
            while left > 0:
                left -= descents.tries
                to, by, reached = descend(rng)
                if reached:
                    found = best([*found, entry_of(lift_recipe(to, by, n // k))])
        if any(entry.is_bandwidth_optimal for entry in found):
            break
    return found
