"""What happened when, for every exporter: lanes, spans on them, and flows from one span to another."""

from __future__ import annotations

from dataclasses import dataclass

from linkstep.core.errors import LinkstepError


@dataclass(frozen=True)
class Lane:
    """A row of a timeline, such as a link or a stream; tools show the lanes of one group together."""

    group: str
    name: str


@dataclass(frozen=True)
class Span:
    """What a lane does from ``start`` to ``end``, in seconds; floats, since every format's clock is one."""

    lane: int
    """An index of the timeline's lanes."""
    name: str
    kind: str
    """What it is an instance of; tools filter and count by it."""
    start: float
    end: float


@dataclass(frozen=True)
class SpanFlow:
    """One span led to another: it waited for it, or for what it brought."""

    before: int
    """An index of the timeline's spans, as is ``after``."""
    after: int


@dataclass(frozen=True)
class Timeline:
    """Lanes in the order to show them, spans in any order, and flows where these are known.

    >>> link = Lane("from 0", "0 to 1")
    >>> Timeline("two messages", (link,), (Span(0, "a", "message", 0.0, 1.0), Span(0, "b", "message", 1.0, 3.0))).end
    3.0
    """

    title: str
    lanes: tuple[Lane, ...]
    spans: tuple[Span, ...]
    flows: tuple[SpanFlow, ...] = ()

    def __post_init__(self) -> None:
        for span in self.spans:
            if not 0 <= span.lane < len(self.lanes):
                raise LinkstepError(f"span {span.name!r} is on lane {span.lane}, of {len(self.lanes)} lanes")
            if not span.start <= span.end:
                raise LinkstepError(f"span {span.name!r} ends at {span.end} s, before its start at {span.start} s")
        for flow in self.flows:
            if not (0 <= flow.before < len(self.spans) and 0 <= flow.after < len(self.spans)):
                raise LinkstepError(f"a flow is from span {flow.before} to {flow.after}, of {len(self.spans)} spans")

    @property
    def end(self) -> float:
        """When the last span ends, in seconds."""
        return max((span.end for span in self.spans), default=0.0)
