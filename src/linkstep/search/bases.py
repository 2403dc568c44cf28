"""Bases: topologies with known schedules that the finder starts from, with their costs by theorem or from a table.

Nothing is built here. Costs of families that are proven bandwidth-optimal are (diameter, (N-1)/N) by formula; those of
generalized Kautz graphs come from data/genkautz.csv (scripts/make_genkautz.py), those of the stored bases from their
files. Everything else is computed by BFB on one node, and only for families whose nodes are all alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from linkstep.costs import Cost, bandwidth_bound, cost_of
from linkstep.families import FAMILIES
from linkstep.families.circulant import best_two_jumps
from linkstep.methods.bfb import bfb_cost
from linkstep.methods.stored import stored_schedule
from linkstep.recipe import Member, Recipe, parse

_DATA = Path(__file__).parent.parent / "data"

DISTANCE_REGULAR = {
    6: 2, 9: 2, 10: 3, 14: 3, 15: 3, 16: 4, 21: 3, 26: 3, 32: 4, 35: 3, 45: 4, 70: 7, 80: 4, 189: 6, 728: 6
}  # fmt: skip
"""Diameters of tab:exampledistreg by N (d = 4)."""


@dataclass(frozen=True)
class Candidate:
    """A topology with an allgather schedule of known cost; see ``Recipe`` for what it is made of."""

    recipe: Recipe
    cost: Cost
    is_bfb: bool = True
    """Whether the schedule is the best BFB schedule of the topology."""
    is_simple: bool = True
    """Whether there are no parallel links and no self-loops."""
    has_loops: bool = False
    is_bidirectional: bool = False
    is_reverse_symmetric: bool = False
    method: str = "expand"
    """How to get the schedule: ``expand`` as the recipe says, or ``bfb`` on the finished topology."""

    @property
    def is_factor(self) -> bool:
        """Whether thm:spathcartesianexpopt takes it: simple, with a bandwidth-optimal BFB schedule."""
        return self.is_bfb and self.is_simple and self.cost.bandwidth == bandwidth_bound(self.recipe.num_nodes)


def _optimal(text: str, steps: int, **flags: Any) -> Candidate:
    recipe = parse(text)
    return Candidate(recipe, Cost(steps, bandwidth_bound(recipe.num_nodes)), **flags)


@cache
def _kautz_table() -> dict[tuple[int, int], Cost]:
    """Return (degree, nodes) -> cost of Pi_{d,m}, as far as it was computed."""
    table = {}
    for line in (_DATA / "genkautz.csv").read_text().splitlines():
        degree, nodes, steps, bandwidth = line.split(",")
        table[int(degree), int(nodes)] = Cost(int(steps), Fraction(bandwidth))
    return table


_KAUTZ_COMPUTED = 256
"""Up to this many nodes a generalized Kautz graph missing from the table is computed on the spot."""


def _kautz(num_nodes: int, degree: int) -> Iterator[Candidate]:
    if num_nodes <= degree or degree < 2:
        return
    text = f"Pi_{{{degree},{num_nodes}}}"
    cost = _kautz_table().get((degree, num_nodes))
    if cost is None and num_nodes <= _KAUTZ_COMPUTED:
        cost = bfb_cost(parse(text).topology())
    if cost is not None:
        loops = num_nodes % (degree + 1) != 0
        recipe = parse(text)
        yield Candidate(
            recipe, cost, is_simple=not loops, has_loops=loops, is_reverse_symmetric=recipe.is_reverse_symmetric
        )


def _rings(num_nodes: int, degree: int) -> Iterator[Candidate]:
    if num_nodes >= 2:
        both = num_nodes == 2
        yield _optimal(
            f"UniRing({degree},{num_nodes})", num_nodes - 1,
            is_simple=degree == 1, is_reverse_symmetric=True, is_bidirectional=both,
        )  # fmt: skip
    if num_nodes >= 3 and degree % 2 == 0:
        yield _optimal(
            f"BiRing({degree},{num_nodes})", num_nodes // 2,
            is_simple=degree == 2, is_bidirectional=True, is_reverse_symmetric=True,
        )  # fmt: skip


def _closed_forms(num_nodes: int, degree: int) -> Iterator[Candidate]:
    """Bandwidth-optimal families of table:toposummary whose diameter is a formula."""
    both = {"is_bidirectional": True, "is_reverse_symmetric": True}
    if num_nodes == degree + 1:
        yield _optimal(f"K_{num_nodes}", 1, **both)
    if num_nodes == 2 * degree and degree > 1:
        yield _optimal(f"K_{{{degree},{degree}}}", 2, **both)
    if num_nodes == degree + 2 and degree > 1:
        yield _optimal(f"DirCirculant({degree})", 2, is_reverse_symmetric=True)
    for dims in range(2, degree + 1):
        if degree % dims == 0 and (degree // dims + 1) ** dims == num_nodes:
            yield _optimal(f"H({dims},{degree // dims + 1})", dims, **both)
    if degree == 4 and num_nodes in DISTANCE_REGULAR:
        yield _optimal(f"DistReg(4,{num_nodes})", DISTANCE_REGULAR[num_nodes], **both)
    if degree % 4 == 0 and num_nodes > 6:
        m, times = best_two_jumps(num_nodes), degree // 4
        jumps = ",".join([str(m)] * times + [str(m + 1)] * times)
        yield _optimal(f"C({num_nodes},{{{jumps}}})", m, is_simple=times == 1, **both)


def _stored(num_nodes: int, degree: int) -> Iterator[Candidate]:
    """Bases whose schedules are stored because BFB does not reach them."""
    known = {(8, 2): ("Diamond", "DBJMod(2,3)"), (16, 2): ("DBJMod(2,4)",), (9, 3): ("DBJMod(3,2)",)}
    for text in (known | {(16, 4): ("DBJMod(4,2)",)}).get((num_nodes, degree), ()):
        schedule = stored_schedule(text)
        if schedule is not None:
            recipe = parse(text)
            symmetric = recipe.is_reverse_symmetric
            yield Candidate(recipe, cost_of(schedule), is_bfb=False, is_reverse_symmetric=symmetric)


def paper_bases(num_nodes: int, degree: int) -> Iterator[Candidate]:
    """List the bases of table:toposummary with this N and d."""
    for source in (_closed_forms, _rings, _kautz, _stored):
        yield from source(num_nodes, degree)


_COMPUTED = ("Paley", "J", "Kneser", "O", "DoubledOdd", "PG", "AG", "GQ", "GH", "TwistedTorus", "TwistedHypercube")
_COMPUTED_NODES = 4096


def family_bases(num_nodes: int, degree: int) -> Iterator[Candidate]:
    """List members of further families with this N and d, their cost by BFB where one node is enough for it."""
    if num_nodes > _COMPUTED_NODES:
        return
    for family in FAMILIES:
        for args in family.members(num_nodes, degree) if family.name in _COMPUTED else ():
            recipe = Member(family, args)
            if recipe.is_vertex_transitive or num_nodes <= _KAUTZ_COMPUTED:
                topology = recipe.topology()
                yield Candidate(
                    recipe, recipe.cost, is_bidirectional=topology.is_bidirectional,
                    is_reverse_symmetric=recipe.is_reverse_symmetric or topology.is_bidirectional,
                )  # fmt: skip
