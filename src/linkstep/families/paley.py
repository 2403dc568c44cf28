"""Paley graphs and Paley tournaments: differences that are squares in a finite field."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, knowing, out_links
from linkstep.families._family import Args, Family, always
from linkstep.families._field import MAX_ORDER, check_prime_power, finite_field, prime_power


def paley(order: int) -> Topology:
    """Return the Paley graph of the field GF(q), q odd: N = q, d = (q - 1) / 2, D = 2.

    Element x has links to x + s for the nonzero squares s. -1 is a square if q = 1 mod 4: then the graph is
    bidirectional and distance-regular. If q = 3 mod 4 it is the Paley tournament: one link a pair of nodes.

    >>> paley(9).is_bidirectional, paley(7).is_bidirectional
    (True, False)
    """
    buildable(paley_size(order))
    field = finite_field(order)
    squares = np.unique(field.mul[np.arange(1, order), np.arange(1, order)])
    p, exponent = check_prime_power("Paley(q)", order)

    def multiplied() -> Iterator[Ints]:
        """Yield multiplications by squares, until they generate all such."""
        reached = np.zeros(1, np.int64) + 1
        for square in squares.tolist():
            if square not in reached:
                yield field.mul[:, square].astype(np.int64)
                while (grown := np.union1d(reached, field.mul[reached, square])).size > reached.size:
                    reached = grown

    def added() -> list[Ints]:
        return [field.add[:, p**i].astype(np.int64) for i in range(exponent)]

    return knowing(out_links(field.add[:, squares]), multiplied, added)


def paley_size(order: int) -> tuple[int, int]:
    """Return (N, d) of Paley(q)."""
    p, _ = check_prime_power("Paley(q)", order)
    if p == 2:
        raise RecipeError(f"Paley(q): q must be odd, not {order}")
    return order, order // 2


def _members(num_nodes: int, degree: int) -> Iterator[Args]:
    if 3 <= num_nodes <= MAX_ORDER and num_nodes == 2 * degree + 1 and prime_power(num_nodes):
        yield (num_nodes,)


FAMILIES = (
    Family(
        name="Paley",
        title="Paley graph",
        params=("int",),
        notation="Paley(q)",
        coverage="N = q = 2d + 1, q a power of an odd prime",
        build=paley,
        size=paley_size,
        members=_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        # Multiplying by squares takes any link into 0 to any other: averaging over them balances a schedule.
        bandwidth_optimal=always,
        bidirectional=lambda q: q % 4 == 1,
        simple=always,
        loop_free=always,
        diameter=lambda q: 2,
    ),
)
