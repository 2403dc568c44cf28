"""Which ranks have a cable between them, by what was given to run, and whether a part of them can run something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.engines.plans.source import Source, sources_of
from linkstep.programs import Program
from linkstep.simulation import used_links

Links = set[tuple[int, int]]


def _links(source: Source) -> Links:
    given = source.given
    if isinstance(given, Program):
        topology = used_links(given)
    elif isinstance(given, Schedule):
        topology = given.topology
    else:
        topology = given if isinstance(given, Topology) else given.topology()
    pairs = zip(topology.tail.tolist(), topology.head.tolist(), strict=True)
    return {(a, b) for a, b in pairs if a != b}


def _sources(one: Any, num_ranks: int) -> list[Source]:
    try:
        return sources_of(one, num_ranks)
    except LinkstepError:
        return []


def wiring_of_all(what: Sequence[Any], num_ranks: int) -> Links | None:
    """Return the links of all that is for ``num_ranks`` ranks; None if nothing is.

    Programs say only which ranks talk to each other: they count where there is no topology.
    """
    found = [source for one in what for source in _sources(one, num_ranks)]
    counted = [source for source in found if source.kind != "program"] or found
    return set().union(*map(_links, counted)) if counted else None


def misfit(one: Any, ranks: Sequence[int], wiring: Links) -> str:
    """Return which cable it lacks between these of all ranks, node v being at ``ranks[v]``; nothing if it has all."""
    for source in sources_of(one, len(ranks)):
        for a, b in sorted(_links(source)):
            if (ranks[a], ranks[b]) not in wiring:
                return f"{_name(one)} needs a cable from rank {ranks[a]} to rank {ranks[b]}, and there is none"
    return ""


def _name(one: Any) -> str:
    """Return what something is called in a message."""
    name = one.name if isinstance(one, Topology) else str(one)
    if not name or len(name) > 60 or "\n" in name:
        return "the program" if isinstance(one, str) else f"the {type(one).__name__.lower()}"
    return name
