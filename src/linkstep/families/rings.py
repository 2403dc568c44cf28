"""Rings: bidirectional, unidirectional, and the shifted rings of TopoOpt."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Topology
from linkstep.families._common import buildable, check_at_least, circulant_links
from linkstep.families._family import Args, Family, always
from linkstep.families.circulant import circulant

MAX_SHIFTED_DEGREE = 1024
"""The most ports of a shifted ring: choosing its jumps takes powers of N up to half this."""


def bidirectional_ring(degree: int, size: int) -> Topology:
    """Return BiRing(d,m): N = m, D = floor(m / 2), with d / 2 parallel links each way (sec:spathbiring).

    Node x has its links to x + 1 and x - 1 mod m. The paper writes BiRing(1,4) once, in tab:allourtopos,
    where N and d leave room for UniRing(1,4) only.

    >>> bidirectional_ring(2, 5).head[:2].tolist()
    [1, 4]
    """
    buildable(bidirectional_ring_size(degree, size))
    return circulant(size, (1,) * (degree // 2))


def bidirectional_ring_size(degree: int, size: int) -> tuple[int, int]:
    """Return (N, d) of BiRing(d,m)."""
    if degree % 2:
        raise RecipeError(f"BiRing(d,m): d must be even, not {degree}; UniRing({degree},{size}) takes any d")
    check_at_least("BiRing(d,m)", "d", degree, 2)
    check_at_least("BiRing(d,m)", "m", size, 3)
    return size, degree


def _bidirectional_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 2 and degree % 2 == 0 and num_nodes >= 3:
        yield (degree, num_nodes)


def unidirectional_ring(degree: int, size: int) -> Topology:
    """Return UniRing(d,m): N = m, D = m - 1, with d parallel links from each node to the next.

    >>> unidirectional_ring(2, 3).head.tolist()
    [1, 1, 2, 2, 0, 0]
    """
    buildable(unidirectional_ring_size(degree, size))
    return circulant_links(size, (1,) * degree)


def unidirectional_ring_size(degree: int, size: int) -> tuple[int, int]:
    """Return (N, d) of UniRing(d,m)."""
    check_at_least("UniRing(d,m)", "d", degree, 1)
    check_at_least("UniRing(d,m)", "m", size, 2)
    return size, degree


def _unidirectional_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 1 and num_nodes >= 2:
        yield (degree, num_nodes)


def shifted_ring_jumps(degree: int, size: int) -> tuple[int, ...]:
    """Return the jumps of ShiftedRing(d,n), one for each of its k = d / 2 rings.

    A jump below n / 2 coprime to n makes one ring through all nodes. TopoOpt spreads jumps like powers, which
    keeps the diameter near k n^(1/k). The rule here: for j = 0, ..., k - 1 in turn, take the jump nearest to
    n^(j/k) that is not yet taken, the smaller of two as near; when all are taken, all may be taken again.

    >>> shifted_ring_jumps(4, 12), shifted_ring_jumps(4, 1024), shifted_ring_jumps(6, 1000)
    ((1, 5), (1, 31), (1, 9, 99))
    >>> shifted_ring_jumps(4, 6)  # only 1 is below 3 and coprime to 6
    (1, 1)
    """
    buildable(shifted_ring_size(degree, size))
    rings = degree // 2
    jumps: list[int] = []
    taken: set[int] = set()
    for j in range(rings):
        jump = _nearest_jump(size, j, rings, taken)
        if jump is None:
            taken.clear()
            jump = _nearest_jump(size, j, rings, taken)
        assert jump is not None  # 1 is coprime to every n
        taken.add(jump)
        jumps.append(jump)
    return tuple(sorted(jumps))


def _nearest_jump(size: int, j: int, rings: int, taken: set[int]) -> int | None:
    """Return the jump nearest to size^(j / rings) that is not taken, or None; by integer powers, so exact."""
    floor = int(size ** (j / rings))
    while floor**rings > size**j:
        floor -= 1
    while (floor + 1) ** rings <= size**j:
        floor += 1
    ceiling = floor + (floor**rings < size**j)
    lower_first = (2 * floor + 1) ** rings >= 2**rings * size**j
    for away in range(size):
        pair = (floor - away, ceiling + away)
        for jump in pair if lower_first else pair[::-1]:
            if 1 <= jump < size / 2 and gcd(jump, size) == 1 and jump not in taken:
                return jump
    return None


def shifted_ring(degree: int, size: int) -> Topology:
    """Return ShiftedRing(d,n), d / 2 bidirectional rings over the same nodes: N = n.

    It is C(n, jumps) with the jumps of ``shifted_ring_jumps``: TopoOpt's topology for data-parallel training,
    a baseline in the paper.

    >>> shifted_ring(4, 8) == circulant(8, (1, 3))
    True
    """
    return circulant(size, shifted_ring_jumps(degree, size))


def shifted_ring_size(degree: int, size: int) -> tuple[int, int]:
    """Return (N, d) of ShiftedRing(d,n)."""
    if degree % 2 or not 2 <= degree <= MAX_SHIFTED_DEGREE:
        raise RecipeError(f"ShiftedRing(d,n): d must be even, from 2 to {MAX_SHIFTED_DEGREE}, not {degree}")
    check_at_least("ShiftedRing(d,n)", "n", size, 3)
    return size, degree


def _shifted_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree <= MAX_SHIFTED_DEGREE:
        yield from _bidirectional_members(num_nodes, degree)


FAMILIES = (
    Family(
        name="BiRing",
        title="bidirectional ring",
        params=("int", "int"),
        notation="BiRing(d,m)",
        coverage="any even d, N at least 3; parallel links if d > 2",
        build=bidirectional_ring,
        size=bidirectional_ring_size,
        members=_bidirectional_members,
        paper=lambda d, m: rf"\text{{BiRing}}({d},{m})",
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=lambda d, m: d == 2,
        loop_free=always,
        diameter=lambda d, m: m // 2,
    ),
    Family(
        name="UniRing",
        title="unidirectional ring",
        params=("int", "int"),
        notation="UniRing(d,m)",
        coverage="any d, N at least 2; parallel links if d > 1",
        build=unidirectional_ring,
        size=unidirectional_ring_size,
        members=_unidirectional_members,
        paper=lambda d, m: rf"\text{{UniRing}}({d},{m})",
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=lambda d, m: m == 2,
        simple=lambda d, m: d == 1,
        loop_free=always,
        diameter=lambda d, m: m - 1,
    ),
    Family(
        name="ShiftedRing",
        title="shifted rings",
        params=("int", "int"),
        notation="ShiftedRing(d,n)",
        coverage="any even d up to 1024, N at least 3",
        build=shifted_ring,
        size=shifted_ring_size,
        members=_shifted_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=lambda d, n: bool(d <= 4),  # a ring, or a circulant with two jumps (sec:circulant)
        bidirectional=always,
        loop_free=always,
        is_searched=False,  # a baseline: circulants and the catalog have as few steps or fewer
    ),
)
