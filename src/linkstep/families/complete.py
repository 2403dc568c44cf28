"""Complete and complete bipartite graphs, Kautz graphs and generalized Kautz graphs (sec:genkautz)."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.families._common import (
    buildable,
    check_at_least,
    check_equal,
    exact_log,
    exchanged,
    knowing,
    out_links,
    power,
)
from linkstep.families._family import Args, Family, always
from linkstep.families._kautz_costs import kautz_costs
from linkstep.symmetry.permutations import orbits_of


def complete(size: int) -> Topology:
    """Return the complete graph K_m: N = m, d = m - 1, D = 1.

    Every node has a link to every other (table:toposummary).

    >>> complete(5).degree
    4
    """
    buildable(complete_size(size))
    nodes = np.arange(size)
    links = out_links((nodes[:, None] + np.arange(1, size)) % size)
    return knowing(links, lambda: [exchanged(size, 0, 1)], lambda: [(nodes + 1) % size])


def complete_size(size: int) -> tuple[int, int]:
    """Return (N, d) of K_m."""
    check_at_least("K_m", "m", size, 2)
    return size, size - 1


def _complete_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 1 and num_nodes == degree + 1:
        yield (num_nodes,)


def complete_bipartite(degree: int, other: int) -> Topology:
    """Return the complete bipartite graph K_{d,d}: N = 2d, D = 2 (D = 1 for d = 1).

    Nodes 0 to d - 1 are one side, d to 2d - 1 the other; a node has a link to every node of the other side.
    The sides must be equal, or the graph would not be regular.

    >>> complete_bipartite(4, 4).num_nodes
    8
    """
    size, _ = buildable(complete_bipartite_size(degree, other))
    nodes = np.arange(size)
    far_side = np.where(nodes < degree, degree, 0)
    turn = np.where(nodes % degree == degree - 1, nodes - degree + 1, nodes + 1)
    one_side = [exchanged(size, 0, 1)] if degree > 1 else []
    links = out_links(far_side[:, None] + np.arange(degree))
    return knowing(links, lambda: one_side, lambda: [turn, (nodes + degree) % size])


def complete_bipartite_size(degree: int, other: int) -> tuple[int, int]:
    """Return (N, d) of K_{d,d}."""
    check_equal("K_{d,d}", "both sides", degree, other)
    check_at_least("K_{d,d}", "d", degree, 1)
    return 2 * degree, degree


def _bipartite_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 1 and num_nodes == 2 * degree:
        yield (degree, degree)


def generalized_kautz(degree: int, size: int) -> Topology:
    """Return the generalized Kautz graph Pi_{d,m}: N = m, D at most one above the Moore bound's.

    Node x has links to -dx - a mod m for a = 1, ..., d (thm:genkautzlatency). It has self-loops unless d + 1
    divides m. Not members: m < d + 1, as in table:toposummary, and d = 1 with m > 2, which falls apart.

    >>> generalized_kautz(2, 3).head.tolist()
    [1, 2, 0, 2, 0, 1]
    """
    buildable(generalized_kautz_size(degree, size))
    nodes = np.arange(size)
    links = out_links((-degree * nodes[:, None] - np.arange(1, degree + 1)) % size)
    return knowing(links, lambda: _genkautz_automorphisms(degree, size))


def _genkautz_automorphisms(degree: int, size: int) -> list[Ints]:
    """Return automorphisms of Pi_{d,m}: those of the graph that it is the line graph of, or x + c and -1 - x.

    Adding c takes links to links if (d + 1) c = 0 mod m. Where m is d + 1 or divides d, every node has as many links to
    any other, and all numbers may be permuted.
    """
    if degree > 1 and size % degree == 0:
        before = _genkautz_automorphisms(degree, size // degree)
        return [*(_on_lines(degree, new) for new in before), *_twins(degree, orbits_of(size // degree, before))]
    nodes = np.arange(size)
    found = [size - 1 - nodes, (nodes + size // gcd(size, degree + 1)) % size]
    complete = size > 1 and (size == degree + 1 or degree % size == 0)
    return found + ([exchanged(size, 0, 1), (nodes + 1) % size] if complete else [])


def _on_lines(degree: int, new: Ints) -> Ints:
    """Return what an automorphism of Pi_{d,m} does to Pi_{d,dm}, whose node -(d x + a) is the link x -> -d x - a.

    If m < d there are parallel links, a and a + m; they keep their order.
    """
    size = new.size
    number = degree * size - 1 - np.arange(degree * size)
    x, a = number // degree, number % degree + 1
    image = (-degree * new[x] - new[(-degree * x - a) % size] - 1) % size + 1 + (a - 1) // size * size
    return np.asarray((-degree * new[x] - image) % (degree * size), np.int64)


def _twins(degree: int, orbits: Ids) -> list[Ints]:
    """Return exchanges of nodes of Pi_{d,dm} that are parallel links of Pi_{d,m}, out of one node of each orbit."""
    size = orbits.size
    first = degree * np.unique(orbits)
    pairs = [(-x - a, -x - a - size) for x in first.tolist() for a in range(1, degree - size + 1)]
    return [exchanged(degree * size, one % (degree * size), other % (degree * size)) for one, other in pairs]


def generalized_kautz_size(degree: int, size: int) -> tuple[int, int]:
    """Return (N, d) of Pi_{d,m}."""
    check_at_least("Pi_{d,m}", "d", degree, 1)
    check_at_least(f"Pi_{{{degree},m}}", "m", size, degree + 1)
    if degree == 1 and size > 2:
        raise RecipeError(f"Pi_{{1,m}}: disconnected unless m is 2, not {size}")
    return size, degree


def _generalized_kautz_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 1 and num_nodes >= degree + 1 and (degree > 1 or num_nodes == 2):
        yield (degree, num_nodes)


def _lines_taken(degree: int, size: int) -> tuple[int, int]:
    """Return (n, m) with Pi_{d,size} = L^n(Pi_{d,m}) and m as small as can be: Pi_{d,dm} = L(Pi_{d,m})."""
    n = 0
    while degree > 1 and size % degree == 0:
        n, size = n + 1, size // degree
    return n, size


def _genkautz_is_vertex_transitive(degree: int, size: int) -> bool:
    n, base = _lines_taken(degree, size)
    return base == degree + 1 and n <= 1


def _genkautz_is_reverse_symmetric(degree: int, size: int) -> bool:
    """Kautz graphs, and m = d^n: x -> -dx - a shifts and complements digits, a de Bruijn graph renumbered."""
    return _lines_taken(degree, size)[1] in (1, degree + 1)


def kautz(degree: int, lines: int) -> Topology:
    """Return the Kautz graph K(d,n) = L^n(K_{d+1}): N = d^n (d + 1), D = n + 1, the Moore bound's.

    Built as Pi_{d,N}, which it equals (thm:genkautzlatency).

    >>> kautz(4, 2).num_nodes
    80
    """
    size, _ = buildable(kautz_size(degree, lines))
    return generalized_kautz(degree, size)


def kautz_size(degree: int, lines: int) -> tuple[int, int]:
    """Return (N, d) of K(d,n)."""
    check_at_least("K(d,n)", "d", degree, 2)
    check_at_least("K(d,n)", "n", lines, 0)
    return power("K(d,n)", degree, lines) * (degree + 1), degree


def _kautz_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 2 and num_nodes >= 1 and num_nodes % (degree + 1) == 0:
        lines = exact_log(num_nodes // (degree + 1), degree)
        if lines is not None:
            yield (degree, lines)


FAMILIES = (
    Family(
        name="K",
        title="complete graph",
        params=("int",),
        notation="K_m",
        coverage="N = d + 1",
        build=complete,
        size=complete_size,
        members=_complete_members,
        paper=lambda m: f"K_{{{m}}}",
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        subscript=True,
        aliases=("Complete",),
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda m: 1,
    ),
    Family(
        name="K",
        title="complete bipartite graph",
        params=("int", "int"),
        notation="K_{d,d}",
        coverage="N = 2d",
        build=complete_bipartite,
        size=complete_bipartite_size,
        members=_bipartite_members,
        paper=lambda d, e: f"K_{{{d},{e}}}",
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        subscript=True,
        aliases=("CompleteBipartite",),
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda d, e: 1 if d == 1 else 2,
    ),
    Family(
        name="K",
        title="Kautz graph",
        params=("int", "int"),
        notation="K(d,n)",
        coverage="N = d^n (d + 1), d at least 2",
        build=kautz,
        size=kautz_size,
        members=_kautz_members,
        paper=lambda d, n: f"K({d},{n})",
        vertex_transitive=lambda d, n: n <= 1,
        reverse_symmetric=always,
        bandwidth_optimal=lambda d, n: n == 0,
        aliases=("Kautz",),
        simple=always,
        loop_free=always,
        diameter=lambda d, n: n + 1,
        costs=lambda d, n: kautz_costs(d, kautz_size(d, n)[0]),
        is_searched=False,  # Pi_{d,m} is the same graph
    ),
    Family(
        name="Pi",
        title="generalized Kautz graph",
        params=("int", "int"),
        notation="Pi_{d,m}",
        coverage="any d and N > d; self-loops unless d + 1 divides N",
        build=generalized_kautz,
        size=generalized_kautz_size,
        members=_generalized_kautz_members,
        paper=lambda d, m: rf"\Pi_{{{d},{m}}}",
        vertex_transitive=_genkautz_is_vertex_transitive,
        reverse_symmetric=_genkautz_is_reverse_symmetric,
        bandwidth_optimal=lambda d, m: bool(m == d + 1),
        subscript=True,
        aliases=("GenKautz",),
        simple=lambda d, m: m % (d + 1) == 0,
        loop_free=lambda d, m: m % (d + 1) == 0,
        costs=kautz_costs,
    ),
)
