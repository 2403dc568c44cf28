"""Circulant graphs (sec:circulant), the best with two jumps, and the directed circulant of d + 2 nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import gcd, isqrt

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Topology
from linkstep.families._common import buildable, circulant_links
from linkstep.families._family import Args, Family, always


def _jumps(size: int, jumps: tuple[int, ...]) -> list[int]:
    """Return the jumps and their inverses; one that is its own inverse mod size counts once."""
    if size < 2:
        raise RecipeError(f"C(n,{{a,...}}): n must be at least 2, not {size}")
    if not jumps or any(not 1 <= a < size for a in jumps):
        raise RecipeError(f"C({size},{{a,...}}): jumps must lie in [1, {size}), not {sorted(jumps)}")
    if gcd(size, *jumps) != 1:
        raise RecipeError(f"C({size},{{a,...}}): disconnected, {gcd(size, *jumps)} divides {size} and every jump")
    return [s for a in jumps for s in ((a,) if 2 * a == size else (a, size - a))]


def circulant(size: int, jumps: tuple[int, ...]) -> Topology:
    """Return the circulant graph C(n, {a_1, ..., a_k}): N = n, d = 2k.

    Node i has links to i + a and i - a mod n for each jump a (sec:circulant). A jump given twice makes
    parallel links; a jump of n/2 makes one link, since i + n/2 = i - n/2, and then d = 2k - 1.

    >>> circulant(7, (2, 3)).degree
    4
    """
    buildable(circulant_size(size, jumps))
    return circulant_links(size, _jumps(size, jumps))


def circulant_size(size: int, jumps: tuple[int, ...]) -> tuple[int, int]:
    """Return (N, d) of C(n, {a_1, ..., a_k})."""
    return size, len(_jumps(size, jumps))


def best_two_jumps(size: int) -> int:
    """Return m such that C(n, {m, m + 1}) has diameter m, the least of all circulants with two jumps.

    m is the least integer with 2 m (m + 1) + 1 >= n (thm:deg4construct): that many nodes fit within m hops.

    >>> [best_two_jumps(n) for n in (7, 13, 14, 1024)]
    [2, 2, 3, 23]
    """
    root = isqrt(2 * size - 1)
    root += root * root < 2 * size - 1  # ceil(sqrt(2n - 1))
    return root // 2


def _two_jumps(num_nodes: int, degree: int) -> Iterator[Args]:
    """List the best circulant at even degree: two jumps, each as often as d / 4 needs; degree 2 is a ring."""
    if degree >= 4 and degree % 4 == 0 and num_nodes > 6:
        m = best_two_jumps(num_nodes)
        yield (num_nodes, (m,) * (degree // 4) + (m + 1,) * (degree // 4))


def _is_bandwidth_optimal(size: int, jumps: tuple[int, ...]) -> bool:
    """Say so for up to two jumps, one as often as the other, where sec:circulant says it is proved."""
    counts = Counter(min(a, size - a) for a in jumps)
    return len(counts) <= 2 and len(set(counts.values())) == 1 and 2 * max(counts) < size


def _diameter(size: int, jumps: tuple[int, ...]) -> int | None:
    """Return the diameter where thm:deg4construct gives it: for the best two jumps."""
    m = best_two_jumps(size)
    return m if size > 6 and set(jumps) == {m, m + 1} else None


def directed_circulant(degree: int) -> Topology:
    """Return the directed circulant of size d + 2: N = d + 2, D = 2.

    Node i has links to i + 1, ..., i + d mod d + 2 (table:toposummary), so only i - 1 is two hops away.

    >>> directed_circulant(4).num_nodes
    6
    """
    size, _ = buildable(directed_circulant_size(degree))
    return circulant_links(size, range(1, degree + 1))


def directed_circulant_size(degree: int) -> tuple[int, int]:
    """Return (N, d) of the directed circulant."""
    if degree < 1:
        raise RecipeError(f"DirCirculant(d): d must be at least 1, not {degree}")
    return degree + 2, degree


def _directed_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 1 and num_nodes == degree + 2:
        yield (degree,)


FAMILIES = (
    Family(
        name="C",
        title="circulant graph",
        params=("int", "set"),
        notation="C(n,{a,b,...})",
        coverage="any N; any even d; listed: the best two jumps (d a multiple of 4, N > 6)",
        build=circulant,
        size=circulant_size,
        members=_two_jumps,
        paper=lambda n, jumps: rf"C({n},\{{{','.join(map(str, jumps))}\}})",
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=_is_bandwidth_optimal,
        bidirectional=always,
        simple=lambda n, jumps: len({min(a, n - a) for a in jumps}) == len(jumps),
        loop_free=always,
        diameter=_diameter,
    ),
    Family(
        name="DirCirculant",
        title="directed circulant graph",
        params=("int",),
        notation="DirCirculant(d)",
        coverage="N = d + 2",
        build=directed_circulant,
        size=directed_circulant_size,
        members=_directed_members,
        paper=lambda d: rf"\text{{DirCirculant}}({d})",
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        simple=always,
        loop_free=always,
        diameter=lambda d: 2,
    ),
)
