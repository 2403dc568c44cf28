"""Which topology of an answer serves a workload best."""

from __future__ import annotations

from linkstep.costs import Fabric
from linkstep.problem import Objective, Workload, ranked
from linkstep.search.answer import Answer
from linkstep.search.choice import Choice

__all__ = ["Workload", "pick"]


def pick(answer: Answer, fabric: Fabric, objective: Objective) -> Choice | None:
    """Return the topology of the frontier with the least time; None if there is none whose time is known."""
    found = ranked(answer.frontier, objective, fabric)
    return found[0][1] if found else None
