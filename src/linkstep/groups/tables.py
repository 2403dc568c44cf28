"""Which groups have N elements: the abelian ones, semidirect products of cyclic groups, and permutation groups.

A group here is its multiplication table, whatever it came from, with the recipe notation of its elements. Not every
group of order N is listed: those that the notation writes shortly and that are known to make dense Cayley digraphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import gcd, isqrt

import numpy as np
from numpy.typing import NDArray

from linkstep.groups.named import AbelianGroup, Group, SemidirectGroup

Permutation = tuple[int, ...]
Table = NDArray[np.uint16]

MAX_ORDER = 4096
"""Tables have N^2 entries: 32 MiB at this order."""

MAX_FACTORS = 4
MAX_POINTS = 40
"""Recipes write a permutation as the list of its images; longer ones would not be readable."""


@dataclass(frozen=True, eq=False)
class TableGroup:
    """A group as a table: ``times[x, g]`` numbers the product x g, the identity is 0."""

    name: str
    """Its notation in recipes; empty for a permutation group, whose elements say it all."""
    times: Table
    elements: Sequence[tuple[int, ...]]

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.elements)

    @cached_property
    def inverse(self) -> NDArray[np.int64]:
        """The number of each element's inverse."""
        return np.asarray(np.argmin(self.times, axis=1), np.int64)

    @property
    def back(self) -> Table:
        """``back[g, x]`` numbers x g^-1, as the kernels want it; made afresh, a search holds many groups."""
        return np.ascontiguousarray(self.times.T[self.inverse])

    @cached_property
    def fingerprint(self) -> bytes:
        """What isomorphic groups share: counts of elements by order, centraliser and number of square roots."""
        nodes = np.arange(self.order)
        order, power = np.ones(self.order, np.int64), nodes.copy()
        while power.any():
            order += power != 0
            power = np.where(power != 0, self.times[power, nodes], 0)
        centraliser = (self.times == self.times.T).sum(axis=1)
        squares = self.times[nodes, nodes]
        roots = np.bincount(squares, minlength=self.order)
        rows = np.stack([order, centraliser, roots, order[squares], centraliser[squares]], axis=1)
        return rows[np.lexsort(rows.T)].tobytes()

    def recipe(self, generators: Sequence[int]) -> str:
        """Return the recipe of a Cayley digraph, generators in the notation's own order."""
        chosen = sorted(self.elements[g] for g in generators)
        if self.name and len(chosen[0]) == 1:
            return f"Cayley({self.name},{{{','.join(str(e[0]) for e in chosen)}}})"
        shown = ",".join(f"({','.join(map(str, e))})" for e in chosen)
        return f"Cayley({self.name},{{{shown}}})" if self.name else f"Cayley({{{shown}}})"


def named_group(group: Group) -> TableGroup:
    """Return the table of a group that the recipe notation names."""
    nodes = np.arange(group.order)
    elements = [tuple(int(c) for c in e) for e in product(*map(range, group.moduli))]
    columns = [group.times(nodes, e) for e in elements]
    return TableGroup(str(group), np.stack(columns, axis=1).astype(np.uint16), elements)


def permutation_group(generators: Sequence[Permutation], max_order: int = MAX_ORDER) -> TableGroup | None:
    """Return the group that permutations generate (x g is x first, then g), or None if it has more than max_order.

    >>> permutation_group([(1, 2, 0), (1, 0, 2)]).order
    6
    """
    points = len(generators[0])
    tables = [bytes(g).ljust(256, b"\0") for g in generators]
    number = {bytes(range(points)): 0}
    found = list(number)
    parent: list[tuple[int, int]] = [(0, 0)]  # (x, s): the element is x times generator s
    rows: list[list[int]] = []
    for x in found:
        row = []
        for s, table in enumerate(tables):
            y = x.translate(table)
            if y not in number:
                if len(found) == max_order:
                    return None
                parent.append((number[x], s))
                number[y] = len(found)
                found.append(y)
            row.append(number[y])
        rows.append(row)
    step = np.array(rows, np.uint16)
    times = np.empty((len(found), len(found)), np.uint16)
    times[:, 0] = np.arange(len(found))
    for g, (before, s) in enumerate(parent[1:], 1):
        times[:, g] = step[:, s][times[:, before]]
    return TableGroup("", times, [tuple(e) for e in found])


def divisors(n: int) -> list[int]:
    """Return the divisors of n, ascending."""
    small = [k for k in range(1, isqrt(n) + 1) if n % k == 0]
    return small + [n // k for k in reversed(small) if k * k != n]


def _chains(n: int, least: int, length: int) -> Iterator[tuple[int, ...]]:
    """List the ways to write n as m1 m2 ... with every m a multiple of the one before (invariant factors)."""
    if n % least == 0 and n > 1:
        yield (n,)
    if length > 1:
        for m in divisors(n):
            if m > 1 and m % least == 0 and m * m <= n:
                yield from ((m, *rest) for rest in _chains(n // m, m, length - 1))


def actions(m: int, n: int) -> list[int]:
    """Return one r > 1 for each cyclic group of units mod m whose order divides n: r and r^k with k prime to n agree.

    >>> actions(16, 2), actions(7, 3), actions(9, 6)
    ([7, 9, 15], [2], [2, 4, 8])
    """
    seen: set[frozenset[int]] = set()
    found = []
    for r in range(2, m):
        if gcd(r, m) == 1 and pow(r, n, m) == 1:
            powers, x = {1}, r
            while x != 1:
                powers.add(x)
                x = x * r % m
            if frozenset(powers) not in seen:
                seen.add(frozenset(powers))
                found.append(r)
    return found


def named_groups(order: int) -> list[Group]:
    """Return the abelian groups (up to four factors) and semidirect products Zm:Zn[r] of this order.

    >>> [str(group) for group in named_groups(12)]
    ['Z12', 'Z2xZ6', 'Z3:Z4[2]', 'Z6:Z2[5]']
    """
    found: list[Group] = [AbelianGroup(chain) for chain in _chains(order, 1, MAX_FACTORS)]
    for m in divisors(order):
        if 3 <= m < order:
            found += [SemidirectGroup(m, order // m, r) for r in actions(m, order // m)]
    return found


def _matrices(p: int, k: int, n: int) -> list[tuple[tuple[int, ...], ...]]:
    """Return companion matrices over Z_p, k by k, whose n-th power is the identity and no smaller one (k > 1)."""
    found = []
    for last in product(range(p), repeat=k):
        if last[0] == 0:
            continue
        matrix = np.zeros((k, k), np.int64)
        matrix[1:, :-1] = np.eye(k - 1, dtype=np.int64)
        matrix[:, -1] = last
        power, steps = matrix.copy(), 1
        while steps <= n and not np.array_equal(power, np.eye(k)):
            power, steps = power @ matrix % p, steps + 1
        if steps == n:
            found.append(tuple(map(tuple, matrix.tolist())))
    return found


def _affine(p: int, k: int, n: int) -> Iterator[list[Permutation]]:
    """List generators of Z_p^k : Z_n, translations and a matrix of order n, as permutations of the p^k vectors."""
    vectors = list(product(range(p), repeat=k))
    place = {v: i for i, v in enumerate(vectors)}
    moves = [tuple(place[tuple((a + (i == j)) % p for i, a in enumerate(v))] for v in vectors) for j in range(k)]
    for matrix in _matrices(p, k, n):
        turned = [tuple(int(a) for a in np.array(matrix) @ v % p) for v in vectors]
        yield [*moves, tuple(place[v] for v in turned)]


def _beside(left: Sequence[Permutation], right: Sequence[Permutation]) -> list[Permutation]:
    """Return generators of the direct product, acting on the points of both."""
    a, b = len(left[0]), len(right[0])
    both = [(*g, *range(a, a + b)) for g in left]
    return both + [(*range(a), *(a + x for x in g)) for g in right]


def _cycle(n: int) -> list[Permutation]:
    return [tuple((i + 1) % n for i in range(n))]


def _semidirect(m: int, n: int, r: int) -> list[Permutation]:
    """Return Zm:Zn[r] on m + n points; the n may be left out where Z_n acts faithfully on Z_m."""
    faithful = all(pow(r, n // q, m) != 1 for q in divisors(n) if q > 1)
    turn = tuple(i * r % m for i in range(m))
    if faithful:
        return [*_cycle(m), turn]
    return [(*_cycle(m)[0], *range(m, m + n)), (*turn, *(m + (i + 1) % n for i in range(n)))]


_CLASSICAL: tuple[list[Permutation], ...] = (
    [(1, 2, 0, 3), (0, 2, 3, 1)],  # A4
    [(1, 2, 3, 0), (1, 0, 2, 3)],  # S4
    [(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)],  # A5
    [(1, 2, 3, 4, 0), (1, 0, 2, 3, 4)],  # S5
    [(1, 2, 0, 3, 4, 5), (0, 2, 3, 4, 5, 1)],  # A6
    [(1, 2, 3, 4, 5, 0), (1, 0, 2, 3, 4, 5)],  # S6
    [(1, 2, 3, 4, 5, 6, 0), (0, 2, 1, 5, 4, 3, 6)],  # PSL(2,7)
    [(1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)],  # Q8
)


def _permutations(order: int) -> Iterator[list[Permutation]]:
    """List generators of permutation groups that may have this order; the caller counts."""
    yield from _CLASSICAL
    for p in (2, 3, 5, 7):
        k = 2
        while p**k <= MAX_POINTS:
            if order % p**k == 0 and order > p**k:
                yield from _affine(p, k, order // p**k)
            k += 1
    for a in divisors(order)[1:]:
        rest = order // a
        for m in divisors(rest):
            n = rest // m
            if 3 <= m < rest and a + m + n <= MAX_POINTS:
                yield from (_beside(_cycle(a), _semidirect(m, n, r)) for r in actions(m, n))
    for a in divisors(order // 4) if order % 4 == 0 else ():  # dihedral times dihedral
        b = order // 4 // a
        if 3 <= a <= b and a + b <= MAX_POINTS:
            yield _beside(_semidirect(a, 2, a - 1), _semidirect(b, 2, b - 1))
    for classical in _CLASSICAL:
        yield from (_beside(_cycle(a), classical) for a in divisors(order)[1:] if a <= 12)


def groups_of_order(order: int) -> Iterator[TableGroup]:
    """List groups of this order that differ from each other: named ones first, then permutation groups."""
    seen: set[bytes] = set()
    for named in named_groups(order):
        group = named_group(named)
        if group.fingerprint not in seen:
            seen.add(group.fingerprint)
            yield group
    for generators in _permutations(order):
        found = permutation_group(generators, order)
        if found is not None and found.order == order and found.fingerprint not in seen:
            seen.add(found.fingerprint)
            yield found
