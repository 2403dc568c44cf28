"""Graphs on subsets: Johnson, Kneser, odd and doubled odd graphs.

A node is a k-subset of {0, ..., n - 1}; subset {c_1 < c_2 < ...} is node C(c_1,1) + C(c_2,2) + ...
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb, isqrt

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import (
    binomial,
    buildable,
    check_at_least,
    duplex_links,
    exchanged,
    knowing,
    out_links,
)
from linkstep.families._family import Args, Family, always


def _subsets(n: int, k: int) -> tuple[Ints, Ints]:
    """Return all k-subsets of n elements in order of their numbers, and what each leaves out; rows ascend."""
    chosen = np.array(list(combinations(range(n), k)), np.int64)
    chosen = chosen[np.argsort(_numbers(n, chosen))]
    left_out = np.ones((len(chosen), n), bool)
    np.put_along_axis(left_out, chosen, False, axis=1)
    return chosen, np.nonzero(left_out)[1].reshape(len(chosen), n - k)


def _numbers(n: int, subsets: Ints) -> Ints:
    """Return the numbers of subsets, whose elements ascend along the last axis."""
    total = np.zeros(subsets.shape[:-1], np.int64)
    for i in range(subsets.shape[-1]):
        total += np.array([comb(c, i + 1) for c in range(n)], np.int64)[subsets[..., i]]
    return total


def _permuted(n: int, k: int) -> list[Ints]:
    """Return what permutations of the n elements do to the numbers of k-subsets: two that generate all."""
    chosen, _ = _subsets(n, k)
    both = exchanged(n, 0, 1), (np.arange(n) + 1) % n
    return [_numbers(n, np.sort(new[chosen], axis=1)) for new in both]


def johnson(n: int, k: int) -> Topology:
    """Return the Johnson graph J(n,k): N = C(n,k), d = k (n - k), D = min(k, n - k).

    A link exchanges one element of a k-subset of n elements for one outside it; J(4,2) is the octahedron.

    >>> johnson(4, 2).degree
    4
    """
    buildable(johnson_size(n, k))
    chosen, left_out = _subsets(n, k)
    heads = []
    for i in range(k):
        for j in range(n - k):
            traded = chosen.copy()
            traded[:, i] = left_out[:, j]
            heads.append(_numbers(n, np.sort(traded, axis=1)))

    def automorphisms() -> list[Ints]:
        """Return permutations of the elements and, of subsets of half of them, what takes each to its complement."""
        return _permuted(n, k) + ([_numbers(n, left_out)] if n == 2 * k else [])

    return knowing(out_links(np.stack(heads, axis=1)), automorphisms)


def johnson_size(n: int, k: int) -> tuple[int, int]:
    """Return (N, d) of J(n,k)."""
    check_at_least("J(n,k)", "n", n, 2)
    if not 1 <= k < n:
        raise RecipeError(f"J({n},k): k must lie in [1, {n}), not {k}")
    return binomial("J(n,k)", n, k), k * (n - k)


def _johnson_members(num_nodes: int, degree: int) -> Iterator[Args]:
    """List J(n,k) with k at most n / 2, since J(n,k) = J(n,n-k)."""
    for k in range(1, isqrt(max(degree, 0)) + 1):
        n = k + degree // k
        if degree % k == 0 and n >= 2 and _is_comb(n, k, num_nodes):
            yield (n, k)


def _is_comb(n: int, k: int, value: int) -> bool:
    """Whether C(n,k) = value, for k at most n / 2: then C(n,k) is at least 2^k, which settles large k."""
    return k < value.bit_length() and comb(n, k) == value


def kneser(n: int, k: int) -> Topology:
    """Return the Kneser graph: N = C(n,k), d = C(n - k, k), D = ceil((k - 1) / (n - 2k)) + 1.

    A link joins two k-subsets of n elements that have none in common; Kneser(5,2) is the Petersen graph.

    >>> kneser(5, 2).degree
    3
    """
    buildable(kneser_size(n, k))
    _, left_out = _subsets(n, k)
    columns = np.array(list(combinations(range(n - k), k)))
    links = out_links(np.stack([_numbers(n, left_out[:, pick]) for pick in columns], axis=1))
    return knowing(links, lambda: _permuted(n, k))


def kneser_size(n: int, k: int) -> tuple[int, int]:
    """Return (N, d) of Kneser(n,k)."""
    check_at_least("Kneser(n,k)", "k", k, 1)
    if n <= 2 * k:
        raise RecipeError(f"Kneser(n,{k}): disconnected unless n is more than {2 * k}, not {n}")
    return binomial("Kneser(n,k)", n, k), binomial("Kneser(n,k)", n - k, k)


def _kneser_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 2 and num_nodes == degree + 1:
        yield (num_nodes, 1)
    for k in range(2, num_nodes.bit_length()):
        n = 2 * k + 1
        while comb(n, k) < num_nodes:
            n += 1
        if (comb(n, k), comb(n - k, k)) == (num_nodes, degree):
            yield (n, k)


def odd_graph(n: int) -> Topology:
    """Return the odd graph O(n) = Kneser(2n - 1, n - 1): N = C(2n - 1, n), d = n, D = n - 1.

    O(3) is the Petersen graph.

    >>> odd_graph(4).num_nodes
    35
    """
    buildable(odd_graph_size(n))
    return kneser(2 * n - 1, n - 1)


def odd_graph_size(n: int) -> tuple[int, int]:
    """Return (N, d) of O(n)."""
    check_at_least("O(n)", "n", n, 2)
    return binomial("O(n)", 2 * n - 1, n), n


def _odd_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 2 and _is_comb(2 * degree - 1, degree - 1, num_nodes):
        yield (degree,)


def doubled_odd(n: int) -> Topology:
    """Return the doubled odd graph D(O_n): N = 2 C(2n - 1, n), d = n, D = 2n - 1.

    Nodes are the (n - 1)-subsets, then the n-subsets, of 2n - 1 elements; links join a subset to those in it.

    >>> doubled_odd(4).num_nodes
    70
    """
    buildable(doubled_odd_size(n))
    larger, _ = _subsets(2 * n - 1, n)
    size = len(larger)
    within = [_numbers(2 * n - 1, np.delete(larger, i, axis=1)) for i in range(n)]
    links = duplex_links(2 * size, np.concatenate(within), np.tile(np.arange(size, 2 * size), n))

    def automorphisms() -> list[Ints]:
        """Return permutations of the elements, and what exchanges a subset with what it leaves out."""
        small, large = _permuted(2 * n - 1, n - 1), _permuted(2 * n - 1, n)
        complement = _numbers(2 * n - 1, _subsets(2 * n - 1, n - 1)[1]) + size
        turned = np.concatenate([complement, np.argsort(complement)])
        return [*(np.append(a, b + size) for a, b in zip(small, large, strict=True)), turned]

    return knowing(links, automorphisms)


def doubled_odd_size(n: int) -> tuple[int, int]:
    """Return (N, d) of DoubledOdd(n)."""
    check_at_least("DoubledOdd(n)", "n", n, 2)
    return 2 * binomial("DoubledOdd(n)", 2 * n - 1, n), n


def _doubled_odd_members(num_nodes: int, degree: int) -> Iterator[Args]:
    if degree >= 2 and num_nodes % 2 == 0 and _is_comb(2 * degree - 1, degree - 1, num_nodes // 2):
        yield (degree,)


FAMILIES = (
    Family(
        name="J",
        title="Johnson graph",
        params=("int", "int"),
        notation="J(n,k)",
        coverage="N = C(n,k), d = k (n - k)",
        build=johnson,
        size=johnson_size,
        members=_johnson_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        aliases=("Johnson",),
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda n, k: min(k, n - k),
    ),
    Family(
        name="Kneser",
        title="Kneser graph",
        params=("int", "int"),
        notation="Kneser(n,k)",
        coverage="N = C(n,k), d = C(n - k,k), n more than 2k",
        build=kneser,
        size=kneser_size,
        members=_kneser_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        # Not all are distance-regular, but permuting the elements outside a subset takes any link into it to
        # any other, so averaging a schedule over those permutations balances it (thm:shortestbwopt).
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda n, k: 1 - (1 - k) // (n - 2 * k),  # Valencia-Pabon and Vera, 2005,
    ),
    Family(
        name="O",
        title="odd graph",
        params=("int",),
        notation="O(n)",
        coverage="N = C(2d - 1,d)",
        build=odd_graph,
        size=odd_graph_size,
        members=_odd_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        aliases=("Odd",),
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda n: n - 1,
    ),
    Family(
        name="DoubledOdd",
        title="doubled odd graph",
        params=("int",),
        notation="DoubledOdd(n)",
        coverage="N = 2 C(2d - 1,d)",
        build=doubled_odd,
        size=doubled_odd_size,
        members=_doubled_odd_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda n: 2 * n - 1,
    ),
)
