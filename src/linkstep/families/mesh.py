"""Meshes: tori without the wrap-around, as chips and boards are often wired."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, duplex_links, knowing
from linkstep.families._family import Family, always
from linkstep.families.torus import torus_members


def mesh(*dims: int) -> Topology:
    """Return the mesh of these dims: N = their product, d = 2 a dimension, D = the sum of di - 1.

    The Cartesian product of paths (grid graphs in the literature). A node's number is its coordinates read in mixed
    radix, the last one fastest. A dimension of size 2 adds 1 to d. Not regular unless all are of size 2: nodes at
    the border leave ports idle, and corners one in every dimension.

    >>> mesh(3, 4).degree, mesh(3, 4).is_regular, mesh(2, 2, 2).is_regular
    (4, False, True)
    """
    size, _ = buildable(mesh_size(*dims))
    grid = np.arange(size).reshape(dims)
    left = [grid.take(range(dim - 1), axis).ravel() for axis, dim in enumerate(dims)]
    right = [grid.take(range(1, dim), axis).ravel() for axis, dim in enumerate(dims)]
    return knowing(duplex_links(size, np.concatenate(left), np.concatenate(right)), lambda: _mirrored(dims))


def _mirrored(dims: tuple[int, ...]) -> Iterator[Ints]:
    """Yield a mirror for each dimension, and exchanges of dimensions of one size."""
    grid = np.arange(prod(dims)).reshape(dims)
    for axis, dim in enumerate(dims):
        yield np.flip(grid, axis).ravel()
        if dim in dims[axis + 1 :]:
            yield grid.swapaxes(axis, dims.index(dim, axis + 1)).ravel()


def mesh_size(*dims: int) -> tuple[int, int]:
    """Return (N, d) of a mesh."""
    if not dims:
        raise RecipeError("Mesh(d1,d2,...): at least one dimension is needed")
    check_at_least("Mesh(d1,d2,...)", "every dimension", min(dims), 2)
    return prod(dims), sum(1 if dim == 2 else 2 for dim in dims)


def _is_cube(*dims: int) -> bool:
    return max(dims) == 2


FAMILIES = (
    Family(
        name="Mesh",
        title="mesh",
        params=("ints",),
        notation="Mesh(d1,d2,...)",
        coverage="any N; d = 2 a dimension, 1 for a dimension of size 2; not regular",
        build=mesh,
        size=mesh_size,
        members=torus_members,
        vertex_transitive=_is_cube,
        reverse_symmetric=always,
        regular=_is_cube,
        bidirectional=always,
        simple=always,
        loop_free=always,
        diameter=lambda *dims: sum(dim - 1 for dim in dims),
        is_searched=False,  # a torus has more links on the same ports
    ),
)
