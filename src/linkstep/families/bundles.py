"""Wirings for ports that other families leave over: bundles of parallel cables, and rings with chords of odd degree.

Both are circulants, whose nodes are all alike. With d >= N ports every two servers have a cable of their own, and what
is left doubles some; with an odd number of ports N must be even where cables are duplex.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Topology
from linkstep.costs import Cost, bandwidth_bound
from linkstep.families._common import buildable, check_at_least, circulant_links
from linkstep.families._family import Args, Family, always


def _near(size: int, ports: int) -> list[int]:
    """Return a different jump mod size for each port, with inverses where that is possible, short ones first.

    >>> _near(6, 3), _near(5, 3)
    ([1, 5, 3], [1, 2, 3])
    """
    if ports % 2 and size % 2:
        return list(range(1, ports + 1))
    both = [jump for a in range(1, ports // 2 + 1) for jump in (a, size - a)]
    return both + [size // 2] * (ports % 2)


def bundle(degree: int, size: int) -> Topology:
    """Return the complete graph of bundled cables Bundle(d,m): N = m, d >= m, D = 1.

    Every two nodes are joined by d // (m - 1) parallel links each way. The d mod (m - 1) ports left lead to i + 1,
    i - 1, i + 2, ... and, if their number is odd, to i + m/2; where m is odd too, to i + 1, i + 2, ..., one way.

    >>> bundle(6, 4).head.tolist()[:6]
    [1, 1, 2, 2, 3, 3]
    """
    buildable(bundle_size(degree, size))
    each, left = divmod(degree, size - 1)
    jumps = [*range(1, size)] * each + _near(size, left)
    return circulant_links(size, jumps)


def bundle_size(degree: int, size: int) -> tuple[int, int]:
    """Return (N, d) of Bundle(d,m)."""
    check_at_least("Bundle(d,m)", "m", size, 2)
    check_at_least(f"Bundle(d,{size})", "d", degree, size)
    return size, degree


def _bundle_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if 2 <= num_nodes <= degree:
        yield degree, num_nodes


def _bundle_costs(degree: int, size: int) -> tuple[Cost, Cost]:
    """Return the cost of sending every shard straight to its destination: the thinnest bundle takes longest."""
    each, left = divmod(degree, size - 1)
    cost = Cost(1, Fraction(degree, size * each) if left else bandwidth_bound(size))
    return cost, cost


def chords(degree: int, size: int) -> Topology:
    """Return the ring with chords Chords(d,n) of an odd degree: N = n, an even number, d < n - 1.

    Node i has links to i + a and i - a mod n for (d - 1) / 2 jumps a, each about as many times the last as the last is
    of the one before, starting with 1; and to the node opposite, i + n/2.

    >>> chords(5, 64).head.tolist()[:5]
    [1, 5, 32, 59, 63]
    """
    buildable(chords_size(degree, size))
    jumps = _spread(size // 2, degree // 2)
    return circulant_links(size, [*jumps, *(size - jump for jump in jumps), size // 2])


def _root(value: int, power: int) -> int:
    """Return the largest integer whose power is at most a value."""
    low, high = 0, 1 << (value.bit_length() // power + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power <= value else (low, middle)
    return low


def _spread(limit: int, count: int) -> list[int]:
    """Return ``count`` different numbers from 1 to below a limit, each about as many times the one before.

    >>> _spread(32, 2), _spread(4, 3), _spread(1000, 3)
    ([1, 5], [1, 2, 3], [1, 10, 100])
    """
    found: list[int] = []
    for index in range(count):
        found.append(max(_root(limit**index, count), found[-1] + 1 if found else 1))
    for back in range(1, count + 1):  # where there is no room to grow, the last numbers below the limit
        found[-back] = min(found[-back], limit - back)
    return found


def chords_size(degree: int, size: int) -> tuple[int, int]:
    """Return (N, d) of Chords(d,n)."""
    check_at_least("Chords(d,n)", "d", degree, 3)
    if degree % 2 == 0 or size % 2:
        raise RecipeError(f"Chords(d,n): d must be odd and n even, not {degree} and {size}")
    check_at_least(f"Chords({degree},n)", "n", size, degree + 3)
    return size, degree


def _chords_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 3 and degree % 2 and num_nodes % 2 == 0 and num_nodes >= degree + 3:
        yield degree, num_nodes


FAMILIES = (
    Family(
        name="Bundle",
        title="complete graph of bundled cables",
        params=("int", "int"),
        notation="Bundle(d,m)",
        coverage="any d and N up to d",
        build=bundle,
        size=bundle_size,
        members=_bundle_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=lambda d, m: d % (m - 1) == 0,
        bidirectional=lambda d, m: d * m % 2 == 0,
        loop_free=always,
        diameter=lambda d, m: 1,
        costs=_bundle_costs,
    ),
    Family(
        name="Chords",
        title="ring with chords",
        params=("int", "int"),
        notation="Chords(d,n)",
        coverage="any odd d at least 3 and even N above d + 1",
        build=chords,
        size=chords_size,
        members=_chords_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
    ),
)
