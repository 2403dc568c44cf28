"""The timeline of a simulated program: a lane for each link, a span for each message, a flow for what it waited for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.simulation import Simulation
from linkstep.simulation.causes import Causes, causes_of
from linkstep.timelines.columns import Flows, Spans, texts
from linkstep.timelines.timeline import Instant, Lane, Timeline

MESSAGE = "message"
"""The kind of its spans."""
DONE, PREDICTED = "done", "what the schedule costs"
"""Its instants."""


def of_simulation(done: Simulation, title: str) -> Timeline:
    """Lanes are by the host that sends, spans are named by their rounds; a flow is from what a message waited for."""
    topology, program = done.topology, done.program
    names = texts(topology.labels or map(str, range(topology.num_nodes)))
    lanes = tuple(
        Lane(f"from {tail}", f"link {link}: {tail} to {head}")
        for link, (tail, head) in enumerate(zip(names[topology.tail], names[topology.head], strict=True))
    )
    causes = causes_of(done)
    rounds = int(done.sent_round.max(initial=0))
    named = texts(f"round {k}" for k in range(rounds + 1))
    link = done.sent_link.astype(np.int64)
    details: dict[str, NDArray[Any]] = {
        "from": names[topology.tail[link]], "to": names[topology.head[link]], "round": done.sent_round,
    }  # fmt: skip
    if causes is not None and done.log is not None:
        sizes = [done.log.chunk * count for count in range(int(causes.chunks.max(initial=0)) + 1)]
        in_bytes = texts(int(size) if size.denominator == 1 else float(size) for size in sizes)
        details |= {"bytes": in_bytes[causes.chunks], "chunks": causes.chunks, "first chunk": causes.place}
    kind = np.full(len(link), MESSAGE, object)
    spans = Spans(link, named[done.sent_round], kind, done.sent_start, done.sent_end, details)
    instants = [Instant(DONE, done.time)]
    instants += [] if done.predicted is None else [Instant(PREDICTED, done.predicted)]
    title = f"{title or topology.name or 'topology'}: {program.collective} for {program.dialect}"
    return Timeline(title, lanes, spans, _flows(causes), () if causes is None else causes.critical, instants)


def _flows(causes: Causes | None) -> Flows:
    waited = np.zeros(0, np.int64) if causes is None else causes.waited_for
    after = np.flatnonzero(waited >= 0)
    return Flows(waited[after], after)
