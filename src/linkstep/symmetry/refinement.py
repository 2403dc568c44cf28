"""Isomorphisms by colour refinement: an own search, for where the extra ``symmetry`` (igraph) is not installed.

Both graphs are coloured together: two nodes keep one colour as long as their links lead to and come from equally many
nodes of each colour. Where colours still leave a choice, a node of the left graph is matched with each node of its
colour in the right one in turn, and colours are refined again. Quick where few such choices are needed, as in Cayley
graphs and their line graphs; a budget of refinements bounds the rest. Not here: automorphism groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

BUDGET = 20_000
"""Refinements tried before giving up."""


class GaveUp(Exception):
    """The budget is spent and nothing is decided."""


@dataclass
class Pair:
    """Two graphs on nodes 0..n-1 and n..2n-1: links ``tail`` to ``head``, each with the code of what it is like."""

    num_nodes: int
    tail: Ints
    head: Ints
    code: Ints
    budget: int = BUDGET

    def refine(self, colour: Ints) -> Ints | None:
        """Refine a colouring until it is stable; None if the two graphs' colours stop matching.

        A node's links are summed up as one random word, a different one for each (direction, code, colour): equal
        neighbourhoods have equal words. Unequal ones could too, once in 2^64, so the caller checks the result.
        """
        if self.budget == 0:
            raise GaveUp
        self.budget -= 1
        while True:
            classes = int(colour.max()) + 1
            words = np.random.default_rng(classes).integers(
                2**64, size=(3, int(self.code.max(initial=0)) + 1, classes), dtype=np.uint64
            )
            summary: Words = words[0, 0, colour]
            np.add.at(summary, self.tail, words[1, self.code, colour[self.head]])
            np.add.at(summary, self.head, words[2, self.code, colour[self.tail]])
            refined = np.unique(summary, return_inverse=True)[1].reshape(-1).astype(np.int64)
            left, right = (np.bincount(half, minlength=int(refined.max()) + 1) for half in self._halves(refined))
            if not np.array_equal(left, right):
                return None
            if int(refined.max()) + 1 == classes:
                return refined
            colour = refined

    def _halves(self, colour: Ints) -> tuple[Ints, Ints]:
        return colour[: self.num_nodes], colour[self.num_nodes :]

    def match(self, colour: Ints) -> Ints | None:
        """Return the node of the right graph for each of the left one, or None if no choice leads to a match."""
        choices: list[Iterator[Ints]] = [iter([colour])]
        while choices:
            chosen = next(choices[-1], None)
            if chosen is None:
                choices.pop()
                continue
            stable = self.refine(chosen)
            if stable is None:
                continue
            left, right = self._halves(stable)
            if int(stable.max()) + 1 == self.num_nodes:
                found = np.empty(self.num_nodes, np.int64)
                found[np.argsort(left)] = np.argsort(right)
                return found
            choices.append(self._choices(stable))
        return None

    def _choices(self, stable: Ints) -> Iterator[Ints]:
        """Match a left node of the smallest class that is left with each right node of its colour in turn."""
        left, right = self._halves(stable)
        sizes = np.bincount(left)
        undecided = np.flatnonzero(sizes > 1)
        target = undecided[sizes[undecided].argmin()]
        first = int(np.flatnonzero(left == target)[0])
        for candidate in np.flatnonzero(right == target).tolist():
            chosen = stable.copy()
            chosen[[first, self.num_nodes + candidate]] = stable.max() + 1
            yield chosen
