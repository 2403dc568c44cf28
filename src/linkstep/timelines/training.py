"""The timeline of an iteration of training: two streams, and where one waits for the other."""

from __future__ import annotations

from collections.abc import Iterator

from linkstep.simulation.training import Event, Iteration
from linkstep.simulation.training.streams import ALL_TO_ALL, COMMUNICATION, COMPUTE
from linkstep.timelines.columns import Span, SpanFlow
from linkstep.timelines.timeline import Lane, Timeline

STREAMS = (COMPUTE, COMMUNICATION)
"""Its lanes."""


def of_iteration(done: Iteration, title: str) -> Timeline:
    """A lane for each stream; a flow wherever one stream waits for the other."""
    lanes = tuple(Lane("server", stream) for stream in STREAMS)
    spans = tuple(
        Span(STREAMS.index(event.stream), event.name, event.kind, float(event.start), float(event.end))
        for event in done.events
    )
    flows = tuple(_handovers(done.events))
    return Timeline(title or "an iteration", lanes, spans, flows, _critical(done.events, flows))


def _handovers(events: tuple[Event, ...]) -> Iterator[SpanFlow]:
    """Communication waits for the computing before it, and computing for all-to-alls, but not for allreduces."""
    last: dict[str, int] = {}
    for at, event in enumerate(events):
        before = last.get(COMPUTE) if event.stream == COMMUNICATION else last.pop(ALL_TO_ALL, None)
        if before is not None:
            yield SpanFlow(before, at)
        last[COMPUTE if event.stream == COMPUTE else event.kind] = at


def _critical(events: tuple[Event, ...], flows: tuple[SpanFlow, ...]) -> tuple[int, ...]:
    """Return the chain of events that ends with the last: each began when the one before it ended."""
    waits = {flow.after: flow.before for flow in flows}
    at: int | None = max(range(len(events)), key=lambda k: events[k].end, default=None)
    last, previous = dict[str, int](), list[int | None]()
    for k, event in enumerate(events):
        previous.append(last.get(event.stream))
        last[event.stream] = k
    found: list[int] = []
    while at is not None:
        found.append(at)
        causes, start = (waits.get(at), previous[at]), events[at].start
        at = next((k for k in causes if k is not None and events[k].end == start), None)
    return tuple(found[::-1])
