"""When shards reach nodes, as a value. Not here: how arrivals are chosen (``linkstep.methods.arrival``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ids, Ints

Steps = NDArray[np.int16]
"""Steps of arrival: a row a node, a column a piece."""


@dataclass(frozen=True)
class Arrivals:
    """When shards reach nodes, where that is not at the step of their distance.

    Piece q of the whole is piece ``q % pieces`` of node ``q // pieces``; it reaches node u at step ``step[u, q]``, 0 at
    its own node, over in-links from nodes that it has reached before. No step is without an arrival.
    """

    step: Steps
    pieces: int = 1
    group: Ids | None = None
    """Automorphisms, the identity first, that act freely and that arrivals look the same under; None: no such are
    known."""

    @property
    def num_steps(self) -> int:
        """The last step at which anything arrives."""
        return int(self.step.max())

    @property
    def counts(self) -> Ints:
        """How many pieces reach each node at each step, from step 0."""
        return np.array([np.bincount(row, minlength=self.num_steps + 1) for row in self.step])


def pieces_of(arrivals: Arrivals | None) -> int:
    """Return how many pieces of a shard have arrivals of their own; 1 in BFB."""
    return 1 if arrivals is None else arrivals.pieces
