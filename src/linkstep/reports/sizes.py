"""Times over sizes: the best allreduce known beside what is run today and what nothing beats, size by size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from linkstep.baselines import Baseline, baselines_on, usual_baselines
from linkstep.core.collective import Collective
from linkstep.core.topology import Topology
from linkstep.costs import Cost, Fabric, bound_if_quick, lower_bound
from linkstep.problem import Call, Problem
from linkstep.recipe import Recipe
from linkstep.reports.pricing import Pricing
from linkstep.reports.schedule import is_duplex_bound
from linkstep.reports.view import ByteCount, Ratio, Seconds
from linkstep.scheduling import best_offer
from linkstep.search import Answer

_KINDS = {"UniRing": "ring", "BiRing": "ring", "ShiftedRing": "ring", "Torus": "torus", "DoubleBinaryTree": "tree"}
"""What a wiring of today is called in a column, by its family."""


@dataclass(frozen=True)
class SizeRow:
    """An allreduce of one size: ours, what is run today, and what nothing beats."""

    size: ByteCount
    """Of the data, in all."""
    name: str
    """The wiring of ours, in short."""
    method: str
    """What makes our schedule."""
    seconds: Seconds
    """Of our allreduce."""
    seconds_at_most: bool
    """Whether it takes at most that."""
    ring_seconds: Seconds | None
    """Of the fastest on a ring today, of as many servers and ports; null where there is none."""
    tree_seconds: Seconds | None
    """Of the fastest on a tree today, of as many servers and ports; null where there is none."""
    torus_seconds: Seconds | None
    """Of the fastest on a torus today: on this wiring, or of as many servers and ports; null where there is none."""
    other_seconds: Seconds | None
    """Of the fastest on other wirings today, such as hypercubes; null where there is none."""
    bound_seconds: Seconds
    """What no reduce-scatter and allgather beat: on any wiring of this N, d and kind, or on this wiring."""
    speed_up: Ratio | None
    """The fastest of today over ours; null where nothing of today is known."""

    @classmethod
    def of(
        cls, size: int, ours: tuple[str, str, Fraction, bool], today: Iterable[Baseline], fabric: Fabric, bound: Cost
    ) -> SizeRow:
        """Price a size; ``ours`` is the wiring, the method, its seconds, and whether they are at most that."""
        found: dict[str, Fraction] = {}
        for one in today:
            kind, time = kind_of_today(one.recipe), one.allreduce_time(fabric, size)
            found[kind] = min(time, found.get(kind, time))
        least = fabric.time(bound, Collective.ALLREDUCE, size)
        name, method, seconds, at_most = ours
        return cls(
            size, name, method, seconds, at_most,
            found.get("ring"), found.get("tree"), found.get("torus"), found.get("other"),
            least, min(found.values()) / seconds if found else None,
        )  # fmt: skip

    @property
    def today(self) -> dict[str, Fraction]:
        """Seconds of what is run today by the kind of its wiring."""
        times = (self.ring_seconds, self.tree_seconds, self.torus_seconds, self.other_seconds)
        return {kind: time for kind, time in zip(("ring", "tree", "torus", "other"), times, strict=True) if time}


def kind_of_today(recipe: Recipe) -> str:
    """Return what a wiring of today is called in a table of sizes."""
    return _KINDS.get(str(recipe).partition("(")[0], "other")


def sizes_of_answer(answer: Answer, pricing: Pricing, sizes: Sequence[int]) -> tuple[SizeRow, ...]:
    """Return the row for each size, ours being the best choice of an answer; none where it has no choice."""
    fabric, rows = pricing.fabric_for(answer.degree), []
    for size in sizes if answer.frontier else ():
        times = [fabric.time(choice.allreduce_cost, Collective.ALLREDUCE, size) for choice in answer.frontier]
        best = times.index(min(times))
        choice = answer.frontier[best]
        ours = (choice.recipe.short, choice.method, times[best], not choice.is_exact)
        rows.append(SizeRow.of(size, ours, answer.baselines, fabric, answer.bound + answer.bound))
    return tuple(rows)


def sizes_of_wiring(
    topology: Topology, recipe: Recipe | None, pricing: Pricing, sizes: Sequence[int]
) -> tuple[SizeRow, ...]:
    """Return the row for each size, ours being the best schedule on a wiring at that size."""
    fabric = pricing.fabric_for(topology.degree)
    today = _today_beside(topology, recipe) if sizes else ()
    known = bound_if_quick(topology, Collective.ALLREDUCE, fabric)
    half = lower_bound(topology.num_nodes, topology.degree, bidirectional=is_duplex_bound(topology))
    bound, wires = half + half if known is None else known.cost, fabric.slowest_on(topology)
    rows = []
    for size in sizes:
        price = Problem(wiring=topology, fabric=fabric, objective=Call(Collective.ALLREDUCE, size)).price()
        offer = best_offer(topology if recipe is None else recipe, Collective.ALLREDUCE, fabric, price)
        time = wires.time(offer.cost, Collective.ALLREDUCE, size)
        ours = (topology.name or "this wiring", offer.method.name, time, topology.alpha is not None)
        rows.append(SizeRow.of(size, ours, today, wires, bound))
    return tuple(rows)


def _today_beside(topology: Topology, recipe: Recipe | None) -> tuple[Baseline, ...]:
    """Return what is run today on this wiring and, of other kinds, on wirings of as many servers and ports.

    Where ports are idle or cables differ, wirings of their own are no fair comparison.
    """
    here = () if recipe is None else tuple(baselines_on(recipe))
    if not topology.is_regular or topology.bandwidth is not None or topology.alpha is not None:
        return here
    kinds = {kind_of_today(one.recipe) for one in here}
    usual = usual_baselines(topology.num_nodes, topology.degree, directed=not topology.is_bidirectional)
    return here + tuple(one for one in usual if kind_of_today(one.recipe) not in kinds)
