"""Finite groups whose elements are tuples of integers: direct and semidirect products of cyclic groups.

Elements are numbered in mixed radix, the last coordinate fastest, and multiplied as numbers, many at a time.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints

Element = tuple[int, ...]


class Group(ABC):
    """A finite group; ``str`` gives its notation in recipes, and equal groups are equal and hash alike."""

    @property
    @abstractmethod
    def moduli(self) -> tuple[int, ...]:
        """Coordinate i of an element lies in [0, moduli[i])."""

    @property
    @abstractmethod
    def is_abelian(self) -> bool:
        """Whether x y = y x for all x, y."""

    @abstractmethod
    def times(self, nodes: Ints, element: Element) -> Ints:
        """Return the numbers of x g for the elements x with these numbers and g = element."""

    @abstractmethod
    def times_each(self, element: Element, nodes: Ints) -> Ints:
        """Return the numbers of g x for the elements x with these numbers and g = element."""

    @abstractmethod
    def inverse(self, element: Element) -> Element:
        """Return the inverse of an element."""

    @abstractmethod
    def is_generated_by(self, elements: Sequence[Element]) -> bool:
        """Whether products of these elements reach the whole group; decided without listing it."""

    @property
    def order(self) -> int:
        """Number of elements."""
        return prod(self.moduli)

    @property
    def identity(self) -> Element:
        """The element that changes nothing."""
        return (0,) * len(self.moduli)

    def element(self, value: int | Sequence[int]) -> Element:
        """Return an element as given in a recipe: a tuple, or an integer if there is one coordinate."""
        found = (value,) if isinstance(value, int) else tuple(value)
        if len(found) != len(self.moduli):
            raise RecipeError(f"{self}: an element has {len(self.moduli)} coordinates, not {len(found)}: {value}")
        if not all(0 <= a < m for a, m in zip(found, self.moduli, strict=True)):
            bounds = " and ".join(f"[0, {m})" for m in self.moduli)
            raise RecipeError(f"{self}: coordinates must lie in {bounds}, not {value}")
        return found

    @property
    def generators(self) -> list[Element]:
        """Elements that generate the group: 1 in one coordinate, 0 in the others."""
        return [tuple(int(i == j) for j in range(len(self.moduli))) for i in range(len(self.moduli))]

    def number(self, element: Element) -> int:
        """Return the number of an element."""
        return int(np.ravel_multi_index(element, self.moduli))


@dataclass(frozen=True)
class AbelianGroup(Group):
    """The direct product of cyclic groups Z_m1 x Z_m2 x ...: coordinates add, each mod its own order.

    >>> z = AbelianGroup((4, 8))
    >>> str(z), z.order, z.is_generated_by([(1, 1), (0, 4)])
    ('Z4xZ8', 32, False)
    """

    orders: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.orders or min(self.orders) < 2:
            raise RecipeError(f"Z_m: every m must be at least 2, not {self}")

    def __str__(self) -> str:
        return "x".join(f"Z{m}" for m in self.orders)

    @property
    def moduli(self) -> tuple[int, ...]:
        """The orders of its factors."""
        return self.orders

    @property
    def is_abelian(self) -> bool:
        """True."""
        return True

    def times(self, nodes: Ints, element: Element) -> Ints:
        """Return the numbers of x + g."""
        coordinates = np.unravel_index(nodes, self.orders)
        moved = [(c + a) % m for c, a, m in zip(coordinates, element, self.orders, strict=True)]
        return np.ravel_multi_index(moved, self.orders).astype(np.int64)

    def times_each(self, element: Element, nodes: Ints) -> Ints:
        """Return the numbers of g + x."""
        return self.times(nodes, element)

    def inverse(self, element: Element) -> Element:
        """Return -g."""
        return tuple(-a % m for a, m in zip(element, self.orders, strict=True))

    def is_generated_by(self, elements: Sequence[Element]) -> bool:
        """Whether elements and the relations m_i e_i span all integer vectors: reduced, every pivot is 1."""
        relations = np.diag(self.orders).tolist()
        rows = [list(row) for row in (*elements, *relations)]
        for column in range(len(self.orders)):
            rows.sort(key=lambda row: row[column] == 0)
            pivot = rows[0]
            for row in rows[1:]:
                while row[column]:  # Euclid's algorithm on whole rows
                    quotient = pivot[column] // row[column]
                    pivot[:], row[:] = row[:], [a - quotient * b for a, b in zip(pivot, row, strict=True)]
            if abs(pivot[column]) != 1:
                return False
            rows = rows[1:]
        return True


@dataclass(frozen=True)
class SemidirectGroup(Group):
    """Z_m : Z_n with (a, b)(c, e) = (a + r^b c mod m, b + e mod n), where r^n = 1 mod m.

    >>> g = SemidirectGroup(16, 2, 9)
    >>> str(g), g.order, g.inverse((3, 1))
    ('Z16:Z2[9]', 32, (5, 1))
    """

    m: int
    n: int
    r: int

    def __post_init__(self) -> None:
        if min(self.m, self.n) < 2:
            raise RecipeError(f"Zm:Zn[r]: m and n must be at least 2, not {self}")
        if not 1 <= self.r < self.m:
            raise RecipeError(f"Z{self.m}:Z{self.n}[r]: r must lie in [1, {self.m}), not {self.r}")
        if pow(self.r, self.n, self.m) != 1:
            raise RecipeError(f"Z{self.m}:Z{self.n}[r]: r^{self.n} must be 1 mod {self.m}, not so for {self.r}")

    def __str__(self) -> str:
        return f"Z{self.m}:Z{self.n}[{self.r}]"

    @property
    def moduli(self) -> tuple[int, ...]:
        """(m, n)."""
        return self.m, self.n

    @property
    def is_abelian(self) -> bool:
        """Whether r = 1, the direct product."""
        return self.r == 1

    def times(self, nodes: Ints, element: Element) -> Ints:
        """Return the numbers of x g."""
        a, b = nodes // self.n, nodes % self.n
        c, e = element
        return (a + self._powers()[b] * c) % self.m * self.n + (b + e) % self.n

    def times_each(self, element: Element, nodes: Ints) -> Ints:
        """Return the numbers of g x."""
        a, b = nodes // self.n, nodes % self.n
        c, e = element
        return (c + pow(self.r, e, self.m) * a) % self.m * self.n + (b + e) % self.n

    def _powers(self) -> Ints:
        """Return r^0, r^1, ..., r^(n - 1) mod m."""
        powers = np.ones(1, np.int64)
        while powers.size < self.n:
            powers = np.concatenate([powers, powers * pow(self.r, powers.size, self.m) % self.m])
        return powers[: self.n]

    def inverse(self, element: Element) -> Element:
        """Return the inverse of (a, b): (-r^(-b) a, -b)."""
        a, b = element
        return -pow(self.r, -b % self.n, self.m) * a % self.m, -b % self.n

    def _product(self, x: Element, y: Element) -> Element:
        return (x[0] + pow(self.r, x[1], self.m) * y[0]) % self.m, (x[1] + y[1]) % self.n

    def _power(self, x: Element, exponent: int) -> Element:
        """Return x multiplied by itself, by repeated squaring."""
        result = self.identity
        while exponent:
            if exponent % 2:
                result = self._product(result, x)
            x, exponent = self._product(x, x), exponent // 2
        return result

    def is_generated_by(self, elements: Sequence[Element]) -> bool:
        """Whether what is generated has all second coordinates, and with 0 there all first ones.

        Euclid's algorithm on second coordinates, t, g -> g, t g^(-q), leaves one element t = (a, b) and some
        (c, 0). Subgroups of Z_m are normal, so the c and t^(n / gcd(b, n)) generate all there is of (Z_m, 0).
        """
        t, common = self.identity, self.m
        for g in elements:
            while g[1]:
                t, g = g, self._product(t, self._power(self.inverse(g), t[1] // g[1]))
            common = gcd(common, g[0])
        shared = gcd(t[1], self.n)
        return shared == 1 and gcd(common, self._power(t, self.n // shared)[0]) == 1


_CYCLIC = re.compile(r"Z([0-9]{1,9})")
_SEMIDIRECT = re.compile(r"Z([0-9]{1,9}):Z([0-9]{1,9})\[([0-9]{1,9})\]")


def parse_group(text: str) -> Group:
    """Return the group written as ``Z13``, ``Z4xZ8`` or ``Z16:Z2[9]``.

    >>> parse_group("Z16:Z2[9]")
    SemidirectGroup(m=16, n=2, r=9)
    """
    bare = "".join(text.split())
    semidirect = _SEMIDIRECT.fullmatch(bare)
    if semidirect:
        return SemidirectGroup(*map(int, semidirect.groups()))
    factors: Iterable[re.Match[str] | None] = [_CYCLIC.fullmatch(part) for part in bare.split("x")]
    orders = tuple(int(match[1]) for match in factors if match)
    if len(orders) != bare.count("x") + 1:
        raise RecipeError(f"a group is written like Z13, Z4xZ8 or Z16:Z2[9], not {text!r}")
    return AbelianGroup(orders)
