"""A unit of search: what one process does in one go, always with the same result."""

from __future__ import annotations

from dataclasses import dataclass

from linkstep.core.errors import LinkstepError
from linkstep.groups.tables import MAX_ORDER

METHODS = ("cayley", "lift")
MAX_DEGREE = 16


@dataclass(frozen=True)
class Unit:
    """A piece of a search: the same unit always gives the same entries."""

    num_nodes: int
    degree: int
    bidirectional: bool
    seed: int = 0
    budget: int = 10**6
    """How many graphs to score."""
    method: str = "cayley"
    """Cayley digraphs of the groups of this order, or lifts over cyclic groups."""


def check_unit(unit: Unit) -> None:
    """Raise unless this can be searched."""
    if not 1 <= unit.degree <= MAX_DEGREE:
        raise LinkstepError(f"the search takes a degree in [1, {MAX_DEGREE}], not {unit.degree}")
    if not unit.degree < unit.num_nodes <= MAX_ORDER:
        raise LinkstepError(
            f"the search takes degree < nodes <= {MAX_ORDER}, not {unit.num_nodes} nodes of degree {unit.degree}"
        )
    if unit.budget < 1 or not 0 <= unit.seed < 2**32:
        raise LinkstepError(f"budget must be positive and seed in [0, 2^32), not {unit.budget} and {unit.seed}")
    if unit.method not in METHODS:
        raise LinkstepError(f"method must be one of {', '.join(METHODS)}, not {unit.method!r}")
