"""What happened when, for every exporter: lanes, spans on them, and flows from one span to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkstep.core.errors import LinkstepError
from linkstep.timelines.columns import Flows, Span, SpanFlow, Spans


@dataclass(frozen=True)
class Lane:
    """A row of a timeline, such as a link or a stream; tools show the lanes of one group together."""

    group: str
    name: str


@dataclass(frozen=True)
class Instant:
    """An instant that a timeline points out, in seconds."""

    name: str
    time: float


@dataclass(frozen=True, init=False)
class Timeline:
    """Lanes in the order to show them, spans in any order, and flows where these are known.

    ``critical`` are the spans of the critical path, from the first to the last: each is what the next one waited for.
    It is empty where the causes are not known.

    >>> link = Lane("from 0", "0 to 1")
    >>> Timeline("two messages", (link,), (Span(0, "a", "message", 0.0, 1.0), Span(0, "b", "message", 1.0, 3.0))).end
    3.0
    """

    title: str
    lanes: tuple[Lane, ...]
    spans: Spans
    flows: Flows
    critical: tuple[int, ...]
    instants: tuple[Instant, ...]

    def __init__(
        self,
        title: str,
        lanes: Sequence[Lane],
        spans: Sequence[Span],
        flows: Sequence[SpanFlow] = (),
        critical: Sequence[int] = (),
        instants: Sequence[Instant] = (),
    ) -> None:
        values = title, tuple(lanes), Spans.of(spans), Flows.of(flows), tuple(critical), tuple(instants)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)
        self.spans.check(len(self.lanes))
        self.flows.check(len(self.spans))
        for span in self.critical:
            if not 0 <= span < len(self.spans):
                raise LinkstepError(f"span {span} is on the critical path, of {len(self.spans)} spans")

    @property
    def end(self) -> float:
        """When the last span ends, in seconds."""
        return float(self.spans.end.max(initial=0.0))
