"""Search for wirings that requirements admit: swap links of what is known until nothing exceeds them.

Annealing: a random swap of two links at a time, judged by the pairs that are then too far apart and by what the
requirements count as excess. What is found is a recipe that lists its swaps. Exact costs of it are for the caller to
work out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from linkstep.costs import moore_steps
from linkstep.expansions.grafts import Change
from linkstep.recipe import Recipe, Swap
from linkstep.requirements import Requirement
from linkstep.search.sweep.graphs import Draws, RegularGraph, recipe_of
from linkstep.search.sweep.job import SweepJob

MOST_SWAPS = 500
"""Swaps that a recipe lists at most."""
DIAMETERS = 4
"""How many diameters are tried, from the Moore bound on."""
HOT, COLD = 1.5, 0.15
"""The temperature at the beginning and at the end: how much worse a swap may be."""


class _Annealing:
    """One run: a graph, what it misses, and how it changes."""

    def __init__(self, graph: RegularGraph, requirements: Sequence[Requirement], steps: int, draws: Draws) -> None:
        self.graph, self.steps, self.draws = graph.copy(), steps, draws
        self.requirements = requirements
        self.energy = self._energy()

    def _energy(self) -> int:
        links = self.graph.ends()
        return self.graph.missed(self.steps) + sum(one.excess(links) for one in self.requirements)

    def _drawn(self) -> Change:
        """Return two links, drawn at random."""
        graph, draws = self.graph, self.draws
        a, c = draws.below(len(graph.out)), draws.below(len(graph.out))
        return a, int(graph.out[a, draws.below(graph.degree)]), c, int(graph.out[c, draws.below(graph.degree)])

    def try_swap(self, temperature: float) -> None:
        """Swap two links, and back if that makes it too much worse."""
        swap = self._drawn()
        if not self.graph.may_swap(swap):
            return
        self.graph.swap(swap)
        energy = self._energy()
        worse = energy - self.energy
        if worse <= 0 or self.draws.below(2**20) < 2**20 * exp(-worse / temperature):
            self.energy = energy
        else:
            a, b, c, e = swap
            self.graph.swap((a, e, c, b))

    def run(self, budget: int) -> None:
        """Swap links until nothing is missed, or the budget of graphs is spent."""
        for done in range(budget):
            if self.energy == 0:
                break
            self.try_swap(HOT * (COLD / HOT) ** (done / budget))


def search_required(job: SweepJob, requirements: Sequence[Requirement], starts: Sequence[Recipe]) -> list[Recipe]:
    """Return a recipe that requirements admit, of the least diameter that is reached; none where none is.

    The start of each diameter is the one that misses least. ``starts`` are of the N nodes and d ports of the job.
    """
    n, d = job.num_nodes, job.degree
    tables = [(start, RegularGraph.of(start.topology())) for start in starts if start.topology().is_regular]
    tables = [(start, graph) for start, graph in tables if graph.degree == d and graph.both >= job.bidirectional]
    left = job.budget
    least = moore_steps(n, d, bidirectional=job.bidirectional)
    for tried, steps in enumerate(range(least, least + DIAMETERS)):
        draws = Draws(n, d, job.bidirectional, steps, job.seed)
        runs = [(_Annealing(graph, requirements, steps, draws), start) for start, graph in tables]
        if not runs:
            break
        annealing, start = min(runs, key=lambda run: run[0].energy)
        share = left // (DIAMETERS - tried)
        annealing.run(share)
        left -= share
        found = recipe_of(start, annealing.graph)
        if annealing.energy == 0 and not (isinstance(found, Swap) and len(found.changes) > MOST_SWAPS):
            return [found]
    return []
