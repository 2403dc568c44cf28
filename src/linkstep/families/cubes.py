"""Hamming graphs, hypercubes and twisted hypercubes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, exact_log, exchanged, knowing, out_links, power
from linkstep.families._family import Args, Family, always

MAX_DIMENSION = 20
"""Hypercubes go up to 2^20 nodes."""


def hamming(length: int, letters: int) -> Topology:
    """Return the Hamming graph H(n,q), the n-fold Cartesian power of K_q: N = q^n, d = n (q - 1), D = n.

    Nodes are words of n letters, read as numbers in base q; a link changes one letter (table:toposummary).

    >>> hamming(2, 3).degree
    4
    """
    size, _ = buildable(hamming_size(length, letters))
    nodes = np.arange(size)[:, None]
    heads = []
    for place in letters ** np.arange(length):
        letter = nodes // place % letters
        heads.append(nodes + ((letter + np.arange(1, letters)) % letters - letter) * place)
    links = out_links(np.concatenate(heads, axis=1))
    return knowing(links, lambda: _reordered(length, letters), lambda: _added(length, letters))


def _added(length: int, letters: int) -> Iterator[Ints]:
    """Yield the words with 1 added to a letter, one place after the other: these generate all translations."""
    nodes = np.arange(letters**length)
    for place in letters ** np.arange(length):
        letter = nodes // place % letters
        yield nodes + ((letter + 1) % letters - letter) * place


def _reordered(length: int, letters: int) -> Iterator[Ints]:
    """Yield exchanges of neighbouring places, and of two letters in one place."""
    nodes = np.arange(letters**length)
    for low in letters ** np.arange(length - 1):
        left, right = nodes // low % letters, nodes // (low * letters) % letters
        yield nodes + (right - left) * low + (left - right) * low * letters
    if letters > 2:
        yield nodes - nodes % letters + exchanged(letters, 0, 1)[nodes % letters]


def hamming_size(length: int, letters: int) -> tuple[int, int]:
    """Return (N, d) of H(n,q)."""
    check_at_least("H(n,q)", "n", length, 1)
    check_at_least("H(n,q)", "q", letters, 2)
    return power("H(n,q)", letters, length), length * (letters - 1)


def _hamming_members(num_nodes: int, degree: int) -> Iterator[Args]:
    for length in range(1, num_nodes.bit_length()):
        letters = degree // length + 1
        if degree % length == 0 and letters >= 2 and letters**length == num_nodes:
            yield (length, letters)


def hypercube(dimension: int) -> Topology:
    """Return the hypercube Q(n) = H(n,2): N = 2^n, d = n, D = n.

    Node x has links to the n numbers that differ from x in one bit.

    >>> hypercube(3).head[:3].tolist()
    [1, 2, 4]
    """
    size, _ = hypercube_size(dimension)
    links = out_links(np.arange(size)[:, None] ^ (1 << np.arange(dimension)))
    return knowing(links, lambda: _reordered(dimension, 2), lambda: _added(dimension, 2))


def _check_dimension(notation: str, dimension: int, least: int) -> None:
    if not least <= dimension <= MAX_DIMENSION:
        raise RecipeError(f"{notation}: n must lie in [{least}, {MAX_DIMENSION}], not {dimension}")


def hypercube_size(dimension: int) -> tuple[int, int]:
    """Return (N, d) of Q(n)."""
    _check_dimension("Q(n)", dimension, 1)
    return 2**dimension, dimension


def _hypercube_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if 1 <= degree <= MAX_DIMENSION and exact_log(num_nodes, 2) == degree:
        yield (degree,)


def twisted_hypercube(dimension: int) -> Topology:
    """Return the twisted n-cube of Esfahanian, Ni and Sagan: N = 2^n, d = n, D = n - 1.

    Q(n) in which one 4-cycle has two opposite edges crossed: the edges 0-1 and 2-3 become 0-3 and 1-2 (their
    paper is of 1991, twistedncube in the paper). Walks between opposite corners save a step at the crossing.

    >>> twisted_hypercube(3).head[:3].tolist()
    [2, 3, 4]
    """
    twisted_hypercube_size(dimension)
    heads = np.arange(2**dimension)[:, None] ^ (1 << np.arange(dimension))
    heads[:4, 0] = [3, 2, 1, 0]
    nodes = np.arange(2**dimension)

    def automorphisms() -> list[Ints]:
        """Return flips of either bit of the crossing, and exchanges of the others."""
        high = range(2, dimension - 1)
        return [nodes ^ 1, nodes ^ 2, *(_swapped(nodes, bit) for bit in high)]

    # All nodes of the smallest are alike, by automorphisms that the others do not have.
    return out_links(heads) if dimension == 3 else knowing(out_links(heads), automorphisms)


def _swapped(nodes: Ints, bit: int) -> Ints:
    """Return numbers with two neighbouring bits exchanged."""
    differ = (nodes >> bit ^ nodes >> bit + 1) & 1
    return nodes ^ (differ << bit | differ << bit + 1)


def twisted_hypercube_size(dimension: int) -> tuple[int, int]:
    """Return (N, d) of the twisted n-cube."""
    _check_dimension("TwistedHypercube(n)", dimension, 3)
    return 2**dimension, dimension


def _twisted_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if 3 <= degree <= MAX_DIMENSION and exact_log(num_nodes, 2) == degree:
        yield (degree,)


FAMILIES = (
    Family(
        name="H",
        title="Hamming graph",
        params=("int", "int"),
        notation="H(n,q)",
        coverage="N = q^n, d = n (q - 1)",
        build=hamming,
        size=hamming_size,
        members=_hamming_members,
        paper=lambda n, q: f"H({n},{q})",
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        aliases=("Hamming",),
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda n, q: n,
    ),
    Family(
        name="Q",
        title="hypercube",
        params=("int",),
        notation="Q(n)",
        coverage="N = 2^d, up to 2^20",
        build=hypercube,
        size=hypercube_size,
        members=_hypercube_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        aliases=("Hypercube",),
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda n: n,
        is_searched=False,  # H(n,2) is the same graph
    ),
    Family(
        name="TwistedHypercube",
        title="twisted hypercube",
        params=("int",),
        notation="TwistedHypercube(n)",
        coverage="N = 2^d, from 8 to 2^20",
        build=twisted_hypercube,
        size=twisted_hypercube_size,
        members=_twisted_members,
        vertex_transitive=lambda n: bool(n == 3),
        reverse_symmetric=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda n: n - 1,
    ),
)
