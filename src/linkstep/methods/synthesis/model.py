"""From a case and a group to the solver's question, and from its answer to a schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.methods.synthesis.automorphisms import AutomorphismGroup
from linkstep.methods.synthesis.case import Case
from linkstep.methods.synthesis.worker import WORKER

Status = Literal["found", "impossible", "unknown"]

MAX_SENDS = 400_000
"""The largest model we hand to the solver, in possible sends: it takes 1 GB or so."""


def _links(topology: Topology) -> list[tuple[int, int]]:
    return list(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))


def num_sends(case: Case, group: AutomorphismGroup) -> int:
    """Return how many Booleans for sends the model has."""
    return sum(
        case.chunks // fixed * max(case.steps - case.distance[v][u], 0)
        for v, fixed in group.sources.items()
        for u, w in _links(case.topology)
        if w not in (u, v)
    )


def solve(
    case: Case,
    group: AutomorphismGroup,
    most: int,
    loads: Sequence[int] | None,
    runs: Sequence[tuple[float, bool]],
    seconds: float,
    seed: int,
    on_wait: Callable[[], None] = lambda: None,
) -> tuple[Status, Schedule | None]:
    """Look for a schedule of load at most ``most``, and of ``loads`` step by step, invariant under the group.

    ``runs`` are (effort, linear) of each run; the first that decides counts. ``on_wait`` is called several times a
    second while the solver works.
    """
    question: dict[str, Any] = {
        "num_nodes": case.topology.num_nodes,
        "links": _links(case.topology),
        "distance": case.distance,
        "steps": case.steps,
        "chunks": case.chunks,
        "least_after": [case.least_load_after(t) for t in range(case.steps)],
        "most": most,
        "loads": None if loads is None else list(loads),
        "order": group.order,
        "sources": list(group.sources.items()),
        "link_orbit": group.link_orbit,
        "runs": list(runs),
        "seconds": seconds,
        "seed": seed,
    }
    reply = WORKER.ask(question, on_wait)
    status: Status = reply["status"]
    return status, _lay_out(case, group, reply["trees"]) if status == "found" else None


def _lay_out(case: Case, group: AutomorphismGroup, trees: Iterable[tuple[int, list[tuple[int, int]]]]) -> Schedule:
    """Lay out the images of all trees, number the chunks of each shard, join neighbours, close idle steps."""
    chunk: dict[int, int] = defaultdict(int)
    sends: list[tuple[int, int, int, int]] = []
    for root, used in trees:
        for element, image in zip(group.elements, group.link_images, strict=True):
            source = element[root]
            sends += [(t, image[e], source, chunk[source]) for e, t in used]
            chunk[source] += 1
    steps = {t: k for k, t in enumerate(sorted({send[0] for send in sends}), 1)}
    rows: list[list[int]] = []
    for t, e, source, c in sorted(sends):
        if rows and rows[-1][:3] == [steps[t], e, source] and rows[-1][4] == c:
            rows[-1][4] = c + 1
        else:
            rows.append([steps[t], e, source, c, c + 1])
    step, link, origin, lo, hi = (list(column) for column in zip(*rows, strict=True))
    return Schedule.from_columns(case.topology, case.chunks, origin, lo, hi, link, step)
