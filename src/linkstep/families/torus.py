"""Tori, and the twisted tori of TPU v4 pods."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt, prod

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, knowing, out_links
from linkstep.families._family import Args, Family, always


def torus(*dims: int) -> Topology:
    """Return the torus of these dims: N = their product, d = 2 a dimension, D = the sum of floor(di / 2).

    The Cartesian product of bidirectional rings. A node's number is its coordinates read in mixed radix, the
    last one fastest. A dimension of size 2 is one link each way, not two, and adds 1 to d: Torus(2,2,2) is
    Q(3).

    >>> torus(3, 4).degree, torus(3, 2).degree
    (4, 3)
    """
    size, _ = buildable(torus_size(*dims))
    nodes = np.arange(size)
    heads, place = [], size
    for dim in dims:
        place //= dim
        at = nodes // place % dim
        heads += [nodes + ((at + step) % dim - at) * place for step in ((1,) if dim == 2 else (1, -1))]
    links = out_links(np.stack(heads, axis=1))
    return knowing(links, lambda: _mirrored(dims), lambda: _moved(dims))


def _moved(dims: tuple[int, ...]) -> Iterator[Ints]:
    """Yield the steps along each dimension, which generate all translations."""
    grid = np.arange(prod(dims)).reshape(dims)
    for axis, dim in enumerate(dims):
        yield grid.take((np.arange(dim) + 1) % dim, axis).ravel()


def _mirrored(dims: tuple[int, ...]) -> Iterator[Ints]:
    """Yield a mirror for each dimension, and exchanges of dimensions of one size."""
    grid = np.arange(prod(dims)).reshape(dims)
    for axis, dim in enumerate(dims):
        if dim > 2:
            yield grid.take(-np.arange(dim) % dim, axis).ravel()
        if dim in dims[axis + 1 :]:
            yield grid.swapaxes(axis, dims.index(dim, axis + 1)).ravel()


def torus_size(*dims: int) -> tuple[int, int]:
    """Return (N, d) of a torus."""
    if not dims:
        raise RecipeError("Torus(d1,d2,...): at least one dimension is needed")
    check_at_least("Torus(d1,d2,...)", "every dimension", min(dims), 2)
    return prod(dims), sum(_ports(dim) for dim in dims)


def _ports(dim: int) -> int:
    return 1 if dim == 2 else 2


def torus_members(num_nodes: int, degree: int) -> Iterator[Args]:
    """List tori with their dimensions in ascending order."""
    if num_nodes >= 2 and degree <= 2 * num_nodes.bit_length():
        yield from _factorisations(num_nodes, degree, 2)


def _factorisations(product: int, degree: int, least: int) -> Iterator[tuple[int, ...]]:
    """List ascending dimensions of at least ``least`` with this product and degree."""
    if degree == _ports(product) and product >= least:
        yield (product,)
    for dim in range(least, isqrt(product) + 1):
        ports = _ports(dim)
        # The ports left need half as many more dimensions at least, none below dim.
        if product % dim == 0 and degree > ports and dim ** (1 + -(-(degree - ports) // 2)) <= product:
            for rest in _factorisations(product // dim, degree - ports, dim):
                yield (dim, *rest)


def twisted_torus(*dims: int) -> Topology:
    """Return the twisted torus of dimensions k and 2k, at least one of each: N = their product, d = 2 each.

    A torus in which every wrap-around of a short dimension (k) also shifts every long coordinate (2k) by k:
    the k x k x 2k and k x 2k x 2k tori of TPU v4, and in two dimensions the rectangular twisted torus k x 2k
    of Camara et al. (twistedtorus, tpuv4 in the paper). D = k in two dimensions and floor(3k / 2) in three;
    for even k the tori have 3k/2, 2k and 5k/2. Steps commute, and k steps along a short dimension are k along
    every long one, so it is an abelian Cayley graph.

    >>> twisted_torus(2, 4).degree, twisted_torus(4, 4, 8).num_nodes
    (4, 128)
    """
    size, _ = buildable(twisted_torus_size(*dims))
    short = min(dims)
    grid = np.indices(dims).reshape(len(dims), size)
    is_long = np.array(dims)[:, None] > short

    def moved(axis: int, step: int) -> Ints:
        there = grid.copy()
        there[axis] += step
        if dims[axis] == short:
            wrapped = (there[axis] < 0) | (there[axis] == short)
            there += short * (is_long & wrapped)
        return np.asarray(np.ravel_multi_index(tuple(there), dims, mode="wrap"), np.int64)

    axes = range(len(dims))
    links = out_links(np.stack([moved(axis, step) for axis in axes for step in (1, -1)], axis=1))
    return knowing(links, lambda: _twisted_mirrors(dims), lambda: [moved(axis, 1) for axis in axes])


def _twisted_mirrors(dims: tuple[int, ...]) -> Iterator[Ints]:
    """Yield a mirror for each dimension, and exchanges of dimensions: of one size, or of any if only one is long.

    A node is a sum of steps along each dimension. k steps along a short one are k along every long one, and
    twice as many bring nothing: mirrors and such exchanges keep these relations, so they take sums to sums.
    """
    short = min(dims)
    is_long = np.array(dims)[:, None] > short

    def node_of(steps: Ints) -> Ints:
        turns = np.where(is_long, 0, steps // short)
        there = steps - turns * short + is_long * turns.sum(axis=0) * short
        return np.asarray(np.ravel_multi_index(tuple(there), dims, mode="wrap"), np.int64)

    for axis, dim in enumerate(dims):
        steps = np.indices(dims).reshape(len(dims), -1)
        mirror = steps.copy()
        mirror[axis] *= -1
        yield node_of(mirror)
        other = next((i for i in range(axis + 1, len(dims)) if dims[i] == dim or is_long.sum() == 1), axis)
        steps[[axis, other]] = steps[[other, axis]]
        yield node_of(steps)


def twisted_torus_size(*dims: int) -> tuple[int, int]:
    """Return (N, d) of a twisted torus."""
    shown = ",".join(map(str, dims))
    if len(dims) < 2 or sorted(set(dims)) != [min(dims), 2 * min(dims)]:
        raise RecipeError(f"TwistedTorus(d1,d2,...): dimensions must be k and 2k, at least one of each, not ({shown})")
    check_at_least("TwistedTorus(d1,d2,...)", "the short dimension", min(dims), 2)
    return prod(dims), 2 * len(dims)


def _twisted_torus_members(num_nodes: int, degree: int) -> Iterator[Args]:
    """List twisted tori with their dimensions in ascending order."""
    count, odd = divmod(degree, 2)
    if odd or not 2 <= count < num_nodes.bit_length():
        return
    for num_long in range(1, count):
        short = round((num_nodes / 2**num_long) ** (1 / count))
        if short >= 2 and short**count * 2**num_long == num_nodes:
            yield (short,) * (count - num_long) + (2 * short,) * num_long


FAMILIES = (
    Family(
        name="Torus",
        title="torus",
        params=("ints",),
        notation="Torus(d1,d2,...)",
        coverage="any N; d = 2 a dimension, 1 for a dimension of size 2",
        build=torus,
        size=torus_size,
        members=torus_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bandwidth_optimal=always,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda *dims: sum(dim // 2 for dim in dims),
        is_searched=False,  # products of rings are the same graphs
    ),
    Family(
        name="TwistedTorus",
        title="twisted torus",
        params=("ints",),
        notation="TwistedTorus(d1,d2,...)",
        coverage="N = 2^j k^n, d = 2n: dimensions k and 2k, at least one of each",
        build=twisted_torus,
        size=twisted_torus_size,
        members=_twisted_torus_members,
        vertex_transitive=always,
        reverse_symmetric=always,
        bidirectional=always,
        loop_free=always,
    ),
)
