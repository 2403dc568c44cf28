"""Lifts: digraphs of k orbits of nodes on which a group acts freely, so that the nodes of an orbit are all alike.

Node (i, g) is element g of orbit i, and a link from orbit i to orbit j with shift h leads from (i, g) to (j, g h) for
every g (voltage digraphs, in the literature on large digraphs of given degree and diameter). Multiplication from the
left is the action. With one orbit a lift is a Cayley digraph; over the group of one element it is any regular digraph,
link by link. Cyclic groups have a row of their own because their recipes are shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from linkstep.core.errors import RecipeError
from linkstep.core.topology import Ints, Topology
from linkstep.families._common import buildable, check_at_least, out_links
from linkstep.families._family import Family
from linkstep.groups.named import AbelianGroup, Element, Group
from linkstep.symmetry import Symmetry, declare

_CYCLIC = "Lift(m,{(j,a,...),...})"
_NAMED = "Lift(Z7:Z3[2],{(j,a,b,...),...})"


@dataclass(frozen=True)
class _Lift:
    """The links of a lift as arrays: link c of orbit i leads to orbit ``to[i, c]``, shifted by element ``by[i, c]``."""

    group: Group | None
    """None for the group of one element."""
    to: Ints
    by: Ints

    @property
    def order(self) -> int:
        return 1 if self.group is None else self.group.order

    @property
    def size(self) -> tuple[int, int]:
        """(N, d)."""
        orbits, degree = self.to.shape
        return orbits * self.order, degree

    def heads(self) -> Ints:
        """Return, a row for each node, where its links lead."""
        if self.group is None:
            return self.to
        (orbits, degree), nodes = self.to.shape, np.arange(self.order)
        found = np.empty((orbits, self.order, degree), np.int64)
        for (i, c), j in np.ndenumerate(self.to):
            shift = np.unravel_index(self.by[i, c], self.group.moduli)
            found[i, :, c] = j * self.order + self.group.times(nodes, tuple(map(int, shift)))
        return found.reshape(-1, degree)

    def translations(self) -> list[Ints]:
        """Return the permutations (i, x) -> (i, g x) for elements g that generate the group."""
        if self.group is None:
            return []
        first, nodes = np.arange(len(self.to))[:, None] * self.order, np.arange(self.order)
        return [(first + self.group.times_each(g, nodes)).ravel() for g in self.group.generators]

    def first_heads(self) -> Ints:
        """Return, a row for each orbit's first node, where its links lead; the other nodes of an orbit are like it."""
        return self.to * self.order + self.by

    def topology(self) -> Topology:
        buildable(self.size)
        found = out_links(self.heads())
        return found if self.group is None else declare(found, self._symmetry)

    def _symmetry(self, topology: Topology) -> Symmetry:
        return Symmetry.of(topology, [], "lift", self.translations())

    def is_loop_free(self) -> bool:
        first = self.first_heads()
        return not (first == self.order * np.arange(len(first))[:, None]).any()

    def is_simple(self) -> bool:
        first = np.sort(self.first_heads(), axis=1)
        return self.is_loop_free() and bool((first[:, 1:] != first[:, :-1]).all())

    def is_bidirectional(self) -> bool:
        """Whether a link from orbit i to j with shift h comes with one from j to i with the inverse of h."""
        rows = [(i, int(j), int(h)) for i, row in enumerate(self.to) for j, h in zip(row, self.by[i], strict=True)]
        return Counter(rows) == Counter((j, i, self._inverse(h)) for i, j, h in rows)

    def _inverse(self, number: int) -> int:
        if self.group is None:
            return 0
        element = tuple(map(int, np.unravel_index(number, self.group.moduli)))
        return self.group.number(self.group.inverse(element))


def _read(notation: str, group: Group | None, links: Sequence[int | Element]) -> _Lift:
    """Return a lift, or raise unless the tuples name one."""
    moduli = () if group is None else group.moduli
    width = 1 + len(moduli)
    tuples = [link for link in links if not isinstance(link, int)]
    lengths = {len(link) for link in tuples}
    if len(tuples) != len(links) or len(lengths) != 1 or min(lengths) % width:
        raise RecipeError(f"{notation}: tuples must be equally long, {width} for each orbit")
    table = np.array(tuples, np.int64).reshape(len(tuples), -1, width)
    k = table.shape[1]
    if (table < 0).any() or (table >= np.array([k, *moduli])).any():
        letters = [f"{letter} in [0, {m})" for letter, m in zip("abce", moduli, strict=False)]
        shifts = f" and shifts {', '.join(letters)}" if letters else ""
        raise RecipeError(f"{notation}: orbits j must lie in [0, {k}){shifts}")
    arriving = np.bincount(table[:, :, 0].ravel(), minlength=k)
    uneven = np.flatnonzero(arriving != len(tuples))
    if uneven.size:
        raise RecipeError(
            f"{notation}: {len(tuples)} links must lead to every orbit, not {arriving[uneven[0]]} to {uneven[0]}"
        )
    weights = np.array([prod(moduli[i + 1 :]) for i in range(len(moduli))], np.int64)
    return _Lift(group, table[:, :, 0].T, (table[:, :, 1:] @ weights).T)


@lru_cache(maxsize=64)
def _cyclic_lift(m: int, links: tuple[Element, ...]) -> _Lift:
    """Read a lift over Z_m; a recipe asks for its size many times."""
    check_at_least(_CYCLIC, "m", m, 1)
    return _read(_CYCLIC, None if m == 1 else AbelianGroup((m,)), links)


@lru_cache(maxsize=64)
def _named_lift(group: Group, links: tuple[Element, ...]) -> _Lift:
    """Read a lift over a group given by name."""
    if len(group.moduli) == 1:
        raise RecipeError(
            f"{_NAMED}: a lift over a cyclic group is written Lift({group.order},...), not Lift({group},...)"
        )
    return _read(_NAMED, group, links)


def lift(m: int, links: Sequence[Element]) -> Topology:
    """Return the lift over Z_m: N = k m, d = the number of tuples.

    Tuple (j0, a0, j1, a1, ...) gives node (i, x) a link to (ji, x + ai mod m), for each orbit i; with m = 1 it is just
    (j0, j1, ...). Node (i, x) has number i m + x.

    >>> lift(2, [(1, 0, 0, 1)]).head.tolist()
    [2, 3, 1, 0]
    """
    return _cyclic_lift(m, tuple(links)).topology()


def lift_over(group: Group, links: Sequence[Element]) -> Topology:
    """Return the lift over a group: N = k times its order, d = the number of tuples.

    Tuple (j0, a0, b0, j1, a1, b1, ...) gives node (i, g) a link to (ji, g (ai, bi)), for each orbit i. Node (i, g) has
    number i times the order of the group plus that of g.

    >>> from linkstep.groups.named import parse_group
    >>> lift_over(parse_group("Z7:Z3[2]"), [(0, 1, 0, 1, 0, 2), (1, 0, 1, 0, 3, 0)])
    <Topology N=42 d=2 links=84>
    """
    return _named_lift(group, tuple(links)).topology()


FAMILIES = (
    Family(
        name="Lift",
        title="lift of a small digraph (voltages in Z_m)",
        params=("int", "set"),
        notation=_CYCLIC,
        coverage="N = k m for k orbits, any d",
        build=lift,
        size=lambda m, links: _cyclic_lift(m, tuple(links)).size,
        reverse_symmetric=lambda m, links: _cyclic_lift(m, tuple(links)).is_bidirectional(),
        bidirectional=lambda m, links: _cyclic_lift(m, tuple(links)).is_bidirectional(),
        simple=lambda m, links: _cyclic_lift(m, tuple(links)).is_simple(),
        loop_free=lambda m, links: _cyclic_lift(m, tuple(links)).is_loop_free(),
    ),
    Family(
        name="Lift",
        title="lift of a small digraph (voltages in a group)",
        params=("group", "set"),
        notation=_NAMED,
        coverage="N = k times the order of the group for k orbits, any d",
        build=lift_over,
        size=lambda group, links: _named_lift(group, tuple(links)).size,
        reverse_symmetric=lambda group, links: _named_lift(group, tuple(links)).is_bidirectional(),
        bidirectional=lambda group, links: _named_lift(group, tuple(links)).is_bidirectional(),
        simple=lambda group, links: _named_lift(group, tuple(links)).is_simple(),
        loop_free=lambda group, links: _named_lift(group, tuple(links)).is_loop_free(),
    ),
)
