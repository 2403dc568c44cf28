"""What builders of families share: checks of their arguments, duplex links, and symmetries of common shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import comb, gcd

import numpy as np
from numpy.typing import ArrayLike

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.symmetry import Symmetry, declare

MAX_LINKS = 2**27
"""The most links we build: their columns then take 1 GiB."""

MAX_PRODUCTS = 2**20
"""Up to this many products of a number and a jump, all multipliers of a circulant are looked for; above, only -1."""

MAX_BITS = 10_000
"""No member has more nodes than 2 to this, so that N and d are quick to compute."""


def check_at_least(notation: str, letter: str, value: int, least: int) -> None:
    """Raise unless the argument called letter is at least ``least``."""
    if value < least:
        raise RecipeError(f"{notation}: {letter} must be at least {least}, not {value}")


def check_equal(notation: str, letters: str, left: int, right: int) -> None:
    """Raise unless two arguments that must agree do."""
    if left != right:
        raise RecipeError(f"{notation}: {letters} must be equal, not {left} and {right}")


def buildable(size: tuple[int, int]) -> tuple[int, int]:
    """Return (N, d) of a member about to be built, refusing those with more links than we hold.

    >>> buildable((8, 3))
    (8, 3)
    """
    num_nodes, degree = size
    if num_nodes * degree > MAX_LINKS:
        raise RecipeError(f"too large to build: N={num_nodes}, d={degree}, more than {MAX_LINKS} links")
    return size


def power(notation: str, base: int, exponent: int) -> int:
    """Return base**exponent, a number of nodes, or raise in good time; both are positive.

    >>> power("Q(n)", 2, 10)
    1024
    """
    if exponent * (base.bit_length() - 1) > MAX_BITS:
        raise RecipeError(f"{notation}: more than 2^{MAX_BITS} nodes with {base}^{exponent}")
    return int(base**exponent)


def binomial(notation: str, n: int, k: int) -> int:
    """Return C(n,k), a number of nodes, or raise in good time; 0 < k < n.

    >>> binomial("J(n,k)", 7, 3)
    35
    """
    k = min(k, n - k)
    if k * ((n // k).bit_length() - 1) > MAX_BITS:  # C(n,k) is at least (n / k)^k
        raise RecipeError(f"{notation}: more than 2^{MAX_BITS} nodes with C({n},{k})")
    return comb(n, k)


def exact_log(value: int, base: int) -> int | None:
    """Return n with base**n = value, or None if there is none (base is at least 2).

    >>> exact_log(81, 3), exact_log(82, 3)
    (4, None)
    """
    n, reached = 0, 1
    while reached < value:
        n, reached = n + 1, reached * base
    return n if reached == value else None


def out_links(heads: ArrayLike) -> Topology:
    """Return the topology in which node u has a link to each of ``heads[u]``.

    >>> out_links([[1], [2], [0]]).head.tolist()
    [1, 2, 0]
    """
    table = np.asarray(heads)
    return Topology.from_links(len(table), np.repeat(np.arange(len(table)), table.shape[1]), table.ravel())


def duplex_links(num_nodes: int, left: ArrayLike, right: ArrayLike) -> Topology:
    """Return the topology with a duplex link for every undirected edge (left[i], right[i])."""
    return Topology.from_links(num_nodes, np.concatenate([left, right]), np.concatenate([right, left]))


def knowing(
    topology: Topology,
    generators: Callable[[], Iterable[Ints]],
    translations: Callable[[], Iterable[Ints]] | None = None,
) -> Topology:
    """Declare automorphisms of a member that was built, made when somebody asks; return the member."""

    def declaration(built: Topology) -> Symmetry:
        return Symmetry.of(built, generators(), "family", None if translations is None else translations())

    return declare(topology, declaration)


def circulant_links(size: int, jumps: Sequence[int]) -> Topology:
    """Return the topology in which node x has a link to x + a mod size for each jump, with what is known of it.

    Adding 1 is an automorphism, and so is multiplying by any unit that takes the jumps to themselves.

    >>> circulant_links(5, (1, 4)).head.tolist()[:2]
    [1, 4]
    """
    nodes = np.arange(size)

    def multiplied() -> list[Ints]:
        return [nodes * unit % size for unit in _multipliers(size, jumps)]

    links = out_links((nodes[:, None] + np.asarray(jumps)) % size)
    return knowing(links, multiplied, lambda: [(nodes + 1) % size])


def _multipliers(size: int, jumps: Sequence[int]) -> list[int]:
    """Return units mod size that generate all those that take the jumps to themselves.

    >>> _multipliers(13, (1, 5, 8, 12)), _multipliers(7, (1, 2))
    ([5], [])
    """
    wanted = np.sort(np.asarray(jumps, np.int64) % size)
    units = np.arange(2, size) if size * wanted.size <= MAX_PRODUCTS else np.array([size - 1])
    units = units[(np.sort(units[:, None] * wanted % size, axis=1) == wanted).all(axis=1)]
    found: list[int] = []
    reached = {1 % size}
    for unit in units.tolist():
        if unit in reached or gcd(unit, size) > 1:
            continue
        found.append(unit)
        queue = list(reached)
        for element in queue:  # grows
            for generator in found:
                if element * generator % size not in reached:
                    reached.add(element * generator % size)
                    queue.append(element * generator % size)
    return found


def exchanged(size: int, one: int, other: int) -> Ints:
    """Return the permutation of ``size`` numbers that exchanges two."""
    found = np.arange(size)
    found[[one, other]] = other, one
    return found
