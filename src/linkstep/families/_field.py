"""Arithmetic in the finite fields GF(q), by tables.

An element is an integer in [0, q) whose digits in base p are the coefficients of a polynomial over GF(p): 0
and 1 are themselves, and prime fields are the integers mod p.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ids, Ints

MAX_ORDER = 1024
"""Tables have q^2 entries; this many elements are plenty for graphs of any degree we build."""


@dataclass(frozen=True, eq=False)
class Field:
    """GF(q): ``add[a, b]`` = a + b, ``mul[a, b]`` = a b, ``neg[a]`` = -a, ``inv[a]`` = 1 / a (0 at 0)."""

    order: int
    add: Ids
    mul: Ids
    neg: Ids
    inv: Ids


def prime_power(value: int) -> tuple[int, int] | None:
    """Return (p, k) with p prime, k at least 1 and p^k = value, or None if there are none.

    >>> prime_power(27), prime_power(12)
    ((3, 3), None)
    """
    p = next((f for f in range(2, isqrt(max(value, 0)) + 1) if value % f == 0), value)
    k, rest = 0, value
    while p > 1 and rest % p == 0:
        k, rest = k + 1, rest // p
    return (p, k) if k and rest == 1 else None


def check_prime_power(notation: str, order: int) -> tuple[int, int]:
    """Return (p, k) with p^k = order, or raise a RecipeError."""
    if order > MAX_ORDER:
        raise RecipeError(f"{notation}: q must be at most {MAX_ORDER}, not {order}")
    found = prime_power(order)
    if found is None:
        raise RecipeError(f"{notation}: q must be a power of a prime, not {order}")
    return found


def finite_field(order: int) -> Field:
    """Return GF(q) for a prime power q.

    >>> gf4 = finite_field(4)
    >>> int(gf4.mul[2, 3]), int(gf4.add[2, 3]), int(gf4.inv[2])
    (1, 1, 3)
    """
    p, k = check_prime_power("GF(q)", order)
    digits = np.arange(order)[:, None] // p ** np.arange(k) % p
    add = np.zeros((order, order), np.int32)
    for i in range(k):
        add += (digits[:, None, i] + digits[None, :, i]) % p * p**i
    powers = _powers_of_generator(p, k, digits, add)
    log = np.zeros(order, np.int64)
    log[powers] = np.arange(order - 1)
    mul = np.zeros_like(add)
    mul[1:, 1:] = powers[(log[1:, None] + log[None, 1:]) % (order - 1)]
    inv = np.zeros(order, np.int32)
    inv[1:] = powers[-log[1:] % (order - 1)]
    return Field(order, add, mul, (-digits % p @ p ** np.arange(k)).astype(np.int32), inv)


def _powers_of_generator(p: int, k: int, digits: Ints, add: Ids) -> Ids:
    """Return x^0, x^1, ..., x^(q - 2), where x^k = c for the least c that makes x generate all but 0.

    Then x is a root of a primitive polynomial; for k = 1, x is the constant c, a primitive root mod p.
    """
    order, top = p**k, p ** (k - 1)
    scaled = np.arange(p)[:, None, None] * digits % p @ p ** np.arange(k)  # scaled[a, c] = a c for a in GF(p)
    for c in range(1, order):
        powers, x = [1], int(add[1 % top * p, scaled[1 // top, c]])
        while x not in (0, 1) and len(powers) < order:
            powers.append(x)
            x = int(add[x % top * p, scaled[x // top, c]])
        if x == 1 and len(powers) == order - 1:
            return np.array(powers, np.int32)
    raise AssertionError(f"GF({order}) has a generator")
