"""Choices by an objective, the best first, where all-to-all throughput may be known only as a bound.

Not here: objectives (``linkstep.problem``), and where choices come from (``linkstep.search.answer``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.progress import Progress
from linkstep.costs import Fabric
from linkstep.problem import Objective, ranked
from linkstep.search.choice import Choice

SECONDS = 10.0
"""For the all-to-all throughput of a topology, where it is not known yet."""


@dataclass(frozen=True)
class RankedChoice:
    """A choice and what the objective takes on it, in seconds."""

    choice: Choice
    seconds: Fraction
    is_reached: bool
    """Whether that is proven; if not, it takes at least so long."""


def rank(
    choices: Iterable[Choice],
    objective: Objective,
    fabric: Fabric,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> tuple[RankedChoice, ...]:
    """Return choices by an objective, the best first, whose time is proven; without those whose time is not known.

    Where all-to-all counts and the throughput of a choice is only bounded, it takes at least what the bound says. So
    choices are looked at in that order, with ``seconds`` for the throughput of each, until the next cannot win; those
    that were not looked at come last, with their bounds.
    """
    hoped = ranked(choices, objective, fabric)
    settled: list[RankedChoice] = []
    for done, (least, choice) in enumerate(hoped):
        if progress is not None:
            progress(done, len(hoped))
        found = RankedChoice(choice, least, choice.is_flow_reached or not objective.exchanges)
        if not found.is_reached and not (settled and min(one.seconds for one in settled) <= least):
            found = _proven(choice.with_flow(seconds), objective, fabric)
        settled.append(found)
    return tuple(sorted(settled, key=lambda one: (not one.is_reached, one.seconds)))


def _proven(choice: Choice, objective: Objective, fabric: Fabric) -> RankedChoice:
    taken = objective.seconds(choice, fabric)
    assert taken is not None and choice.is_flow_reached
    return RankedChoice(choice, taken, is_reached=True)
