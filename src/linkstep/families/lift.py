"""Lifts: digraphs of k orbits of m nodes each, on which Z_m acts by turning all orbits at once.

Two to eight orbits are enough for sizes that no good group has (voltage digraphs over Z_m, in the literature on large
digraphs of given degree and diameter); with m = 1 a lift is any regular digraph, link by link.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, out_links
from linkstep.families._family import Family
from linkstep.groups.named import Element

_NOTATION = "Lift(m,{(j,a,...),...})"


def lift(m: int, links: Sequence[Element]) -> Topology:
    """Return the lift: N = k m, d = the number of tuples.

    Tuple (j0, a0, j1, a1, ...) gives node (i, x) a link to (ji, x + ai mod m), for each orbit i; with m = 1 it is just
    (j0, j1, ...). Node (i, x) has number i m + x.

    >>> lift(2, [(1, 0, 0, 1)]).head.tolist()
    [2, 3, 1, 0]
    """
    buildable(lift_size(m, links))
    return out_links(_heads(m, links))


def _heads(m: int, links: Sequence[Element]) -> Ints:
    """Return, a row for each node, where its links lead."""
    table = np.array(links, np.int64)
    to, by = (table, np.zeros_like(table)) if m == 1 else (table[:, ::2], table[:, 1::2])
    heads = to[:, :, None] * m + (by[:, :, None] + np.arange(m)) % m
    found: Ints = heads.reshape(len(table), -1).T
    return found


def _first_heads(m: int, links: Sequence[Element]) -> Ints:
    """Return, a row for each orbit's first node, where its links lead; the other nodes of an orbit are like it."""
    table = np.array(links, np.int64)
    return table.T if m == 1 else (table[:, ::2] * m + table[:, 1::2]).T


def _loop_free(m: int, links: Sequence[Element]) -> bool:
    first = _first_heads(m, links)
    return not (first == m * np.arange(len(first))[:, None]).any()


def _is_simple(m: int, links: Sequence[Element]) -> bool:
    first = np.sort(_first_heads(m, links), axis=1)
    return _loop_free(m, links) and bool((first[:, 1:] != first[:, :-1]).all())


def lift_size(m: int, links: Sequence[int | Element]) -> tuple[int, int]:
    """Return (N, d) of a lift."""
    check_at_least(_NOTATION, "m", m, 1)
    width = 1 if m == 1 else 2
    tuples = [link for link in links if not isinstance(link, int)]
    lengths = {len(link) for link in tuples}
    if len(tuples) != len(links) or len(lengths) != 1 or min(lengths) % width:
        raise RecipeError(f"{_NOTATION}: tuples must be equally long, {width} for each orbit")
    k = lengths.pop() // width
    targets = [j for link in tuples for j in link[::width]]
    if not all(0 <= j < k for j in targets) or not all(0 <= a < m for link in tuples for a in link[1::2] if m > 1):
        raise RecipeError(f"{_NOTATION}: orbits j must lie in [0, {k}) and shifts a in [0, {m})")
    uneven = [j for j in range(k) if targets.count(j) != len(tuples)]
    if uneven:
        raise RecipeError(
            f"{_NOTATION}: {len(tuples)} links must lead to every orbit, not {targets.count(uneven[0])} to {uneven[0]}"
        )
    return k * m, len(tuples)


FAMILIES = (
    Family(
        name="Lift",
        title="lift of a small digraph (voltages in Z_m)",
        params=("int", "set"),
        notation=_NOTATION,
        coverage="N = k m for k orbits, any d",
        build=lift,
        size=lift_size,
        simple=_is_simple,
        loop_free=_loop_free,
    ),
)
