"""Search for lifts: a few orbits turned by Z_m, improved by local search. For sizes whose groups are poor, like 3p.

Not vertex-transitive in general, so each orbit is scored; the figures of what is found are recomputed from its recipe.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from linkstep._kernels.lifts import _anneal, _anneal_pairs
from linkstep.cost import moore_steps
from linkstep.search._groups import divisors
from linkstep.search._unit import Unit
from linkstep.search.catalog import Entry, best, recompute
from linkstep.topology import Ints

MAX_ORBITS = 8
MAX_FREE = 32
"""Up to this prime N, digraphs without any symmetry are tried: their recipes list every link."""

HOT = 2.0
HEAVY = 2
MOST_TRIES = 30_000
"""Exchanges of one descent."""


def orbit_counts(num_nodes: int) -> list[int]:
    """Return how many orbits to try.

    >>> orbit_counts(30), orbit_counts(31), orbit_counts(37)
    ([2, 3, 5, 6], [31], [])
    """
    counts = [k for k in divisors(num_nodes) if 2 <= k <= MAX_ORBITS and k < num_nodes]
    return counts or [num_nodes] * (num_nodes <= MAX_FREE)


def lift_recipe(to: Ints, by: Ints, m: int) -> str:
    """Return the recipe of a lift; ``to[i, c]`` and ``by[i, c]`` are orbit and shift of link c of orbit i."""
    table = to.T if m == 1 else np.stack([to.T, by.T], axis=2).reshape(to.shape[1], -1)
    shown = ",".join(f"({','.join(map(str, row))})" for row in sorted(table.tolist()))
    return f"Lift({m},{{{shown}}})"


def _descend(rng: np.random.Generator, k: int, m: int, degree: int, steps: int, tries: int) -> tuple[Ints, Ints, bool]:
    """Start from a random lift and improve it; return it, and whether it has no more than so many steps."""
    goal = lcm(*range(1, degree + 1)) // degree * (k * m - 1)
    to = np.stack([rng.permutation(k) for _ in range(degree)], axis=1).astype(np.int64)
    by = rng.integers(0, m, (k, degree))
    _, far, _ = _anneal(to, by, m, steps, goal, tries, HOT, HEAVY, int(rng.integers(2**62)))
    return to, by, far == 0


def _descend_pairs(
    rng: np.random.Generator, k: int, m: int, degree: int, steps: int, tries: int
) -> tuple[Ints, Ints, bool]:
    """As ``_descend``, with links both ways: the ports of all orbits are joined in pairs.

    With an odd number of ports m is even, and the last port leads to the other side of its own orbit.
    """
    goal = lcm(*range(1, degree + 1)) // degree * (k * m - 1)
    ports, drawn = rng.permutation(k * degree), rng.integers(0, m, k * degree)
    partner, shift = np.empty(k * degree, np.int64), np.empty(k * degree, np.int64)
    for p, q in zip(ports[::2].tolist(), [*ports[1::2].tolist(), *ports[-1:].tolist()], strict=False):
        partner[p], partner[q] = q, p
        shift[p], shift[q] = drawn[p], -drawn[p] % m
        if p == q:
            shift[p] = m // 2
    to, by = (partner // degree).reshape(k, degree), shift.reshape(k, degree)
    _, far, _ = _anneal_pairs(to, by, m, partner, steps, goal, tries, HOT, HEAVY, int(rng.integers(2**62)))
    return to, by, far == 0


def search_lifts(unit: Unit) -> list[Entry]:
    """Return the best lifts found with as many steps as the Moore bound, or one more where those are not optimal."""
    n, d = unit.num_nodes, unit.degree
    if unit.bidirectional and n * d % 2:
        return []
    least = moore_steps(n, d, bidirectional=unit.bidirectional)
    counts = orbit_counts(n)
    rng = np.random.default_rng([n, d, unit.bidirectional, unit.seed])
    descend = _descend_pairs if unit.bidirectional else _descend
    found: list[Entry] = []
    for steps in (least, least + 1):
        for k in counts:
            left = unit.budget // (2 * len(counts))
            tries = min(MOST_TRIES, max(1, left // 3))
            while left > 0:
                left -= tries
                to, by, reached = descend(rng, k, n // k, d, steps, tries)
                if reached:
                    recipe = lift_recipe(to, by, n // k)
                    entry = recompute(Entry(n, d, False, recipe, steps, Fraction(0), Fraction(0), Fraction(0)))
                    found = best([*found, entry])
        if any(entry.is_bandwidth_optimal for entry in found):
            break
    return [entry for entry in found if entry.bidirectional == unit.bidirectional]
