"""De Bruijn graphs, their rewired relatives without self-loops and 2-cycles, and the Diamond."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, exact_log, exchanged, knowing, out_links, power
from linkstep.families._family import Args, Family, always
from linkstep.families._kautz_costs import kautz_costs

# The paper draws DBJMod(2,3) only (fig:modifieddbjg) and says that the freed ports form one cycle; which cycle is
# our choice, made so that reverse symmetry, diameters and all-to-all flows are as table:toposummary and
# tab:allourtopos have them. The one of (4,2) is invariant under adding 1 to both digits mod 4; line graphs of it have
# the flows printed, 2.21e-2 and 4.10e-3, and it has the bandwidth-optimal schedule of 3 steps (data/bases).
CYCLES: dict[tuple[int, int], tuple[int, ...]] = {
    (2, 3): (0, 2, 5, 7),
    (2, 4): (0, 5, 10, 15),
    (3, 2): (0, 4, 8, 3, 1, 6, 7, 2, 5),
    (4, 2): (0, 11, 4, 8, 5, 12, 9, 13, 10, 1, 14, 2, 15, 6, 3, 7),
}


MIRRORS: dict[tuple[int, int], tuple[int, ...]] = {
    (2, 3): (3, 7, 6, 0, 5, 4, 2, 1),
    (4, 2): (5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0),
}
"""Automorphisms of those that have any; that of (4,2) adds 1 to both digits."""


def de_bruijn(degree: int, digits: int) -> Topology:
    """Return the de Bruijn graph DBJ(d,n): N = d^n, D = n, the Moore bound's.

    Node x has links to dx + a mod d^n for a = 0, ..., d - 1: as a word of n digits in base d, shift and
    append a (table:toposummary). The d words with all digits alike have self-loops, which occupy ports.

    >>> de_bruijn(2, 3).head[:8].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    size, _ = buildable(de_bruijn_size(degree, digits))
    nodes = np.arange(size)

    def renamed() -> Iterator[Ints]:
        """Yield two permutations of the digits' values, applied to every digit: they generate all such."""
        places = degree ** np.arange(digits)
        for new in (exchanged(degree, 0, 1), (np.arange(degree) + 1) % degree):
            yield (new[nodes[:, None] // places % degree] * places).sum(axis=1)

    return knowing(out_links((degree * nodes[:, None] + np.arange(degree)) % size), renamed)


def de_bruijn_size(degree: int, digits: int) -> tuple[int, int]:
    """Return (N, d) of DBJ(d,n)."""
    check_at_least("DBJ(d,n)", "d", degree, 2)
    check_at_least("DBJ(d,n)", "n", digits, 1)
    return power("DBJ(d,n)", degree, digits), degree


def _de_bruijn_members(num_nodes: int, degree: int) -> Iterator[Args]:
    digits = exact_log(num_nodes, degree) if degree >= 2 else None
    if digits:
        yield (degree, digits)


def modified_de_bruijn(degree: int, digits: int) -> Topology:
    """Return DBJMod(d,n): N = d^n, without self-loops and parallel links (fig:modifieddbjg).

    DBJ(d,n) loses its self-loops and the two links of each 2-cycle, which frees one port in and one out at
    every node concerned; one directed cycle through those nodes takes the freed ports. D = 3, 4, 3, 3 for
    (2,3), (2,4), (3,2), (4,2).

    >>> modified_de_bruijn(2, 3).head.tolist()
    [1, 2, 2, 3, 4, 5, 6, 7, 0, 1, 3, 7, 4, 5, 0, 6]
    """
    modified_de_bruijn_size(degree, digits)
    whole = de_bruijn(degree, digits)
    links = set(zip(whole.tail.tolist(), whole.head.tolist(), strict=True))
    kept = [(u, w) for u, w in sorted(links) if u != w and (w, u) not in links]
    cycle = CYCLES[degree, digits]
    kept += zip(cycle, cycle[1:] + cycle[:1], strict=True)
    built = Topology.from_links(whole.num_nodes, [u for u, _ in kept], [w for _, w in kept])
    mirror = MIRRORS.get((degree, digits), tuple(range(whole.num_nodes)))
    return knowing(built, lambda: [np.array(mirror)])


def modified_de_bruijn_size(degree: int, digits: int) -> tuple[int, int]:
    """Return (N, d) of DBJMod(d,n)."""
    if (degree, digits) not in CYCLES:
        known = ", ".join(f"({d},{n})" for d, n in CYCLES)
        raise RecipeError(f"DBJMod(d,n): (d,n) must be one of {known}, not ({degree},{digits})")
    return degree**digits, degree


def _modified_members(num_nodes: int, degree: int) -> Iterator[Args]:
    return ((d, n) for d, n in CYCLES if (d**n, d) == (num_nodes, degree))


def diamond() -> Topology:
    """Return the Diamond: N = 8, d = 2, D = 3, the Moore bound's (fig:diamondtopo).

    >>> diamond().head[:2].tolist()
    [3, 4]
    """
    links = out_links([[3, 4], [2, 7], [3, 4], [6, 7], [1, 5], [0, 1], [2, 5], [0, 6]])
    return knowing(links, lambda: [np.array([0, 6, 2, 4, 3, 7, 1, 5])])  # the mirror of the figure


def diamond_size() -> tuple[int, int]:
    """Return (N, d) of the Diamond."""
    return 8, 2


def _diamond_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if (num_nodes, degree) == diamond_size():
        yield ()


FAMILIES = (
    Family(
        name="DBJ",
        title="de Bruijn graph",
        params=("int", "int"),
        notation="DBJ(d,n)",
        coverage="N = d^n, d at least 2; d self-loops",
        build=de_bruijn,
        size=de_bruijn_size,
        members=_de_bruijn_members,
        paper=lambda d, n: rf"\text{{DBJ}}({d},{n})",
        vertex_transitive=lambda d, n: bool(n == 1),
        reverse_symmetric=always,
        aliases=("DeBruijn",),
        diameter=lambda d, n: n,
        costs=lambda d, n: kautz_costs(d, d**n),
        is_searched=False,  # Pi_{d,d^n} is the same graph, with other numbers for the nodes
    ),
    Family(
        name="DBJMod",
        title="modified de Bruijn graph",
        params=("int", "int"),
        notation="DBJMod(d,n)",
        coverage="N, d = 8, 2; 16, 2; 9, 3; 16, 4",
        build=modified_de_bruijn,
        size=modified_de_bruijn_size,
        members=_modified_members,
        paper=lambda d, n: rf"\text{{DBJMod}}({d},{n})",
        reverse_symmetric=lambda d, n: (d, n) == (2, 3),
        simple=always,
        loop_free=always,
    ),
    Family(
        name="Diamond",
        title="Diamond",
        params=(),
        notation="Diamond",
        coverage="N = 8, d = 2",
        build=diamond,
        size=diamond_size,
        members=_diamond_members,
        paper=lambda: r"\text{Diamond}",
        simple=always,
        loop_free=always,
    ),
)
