"""Spans and flows as columns: sequences that make each ``Span`` or ``SpanFlow`` when it is asked for.

A simulation of a thousand hosts has a million messages, too many to keep an object for each. What reads all of them
reads columns; what reads some may index or iterate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkstep.core.errors import LinkstepError

Detail = str | int | float
"""What a span says of itself under a name, such as its bytes."""
Texts = NDArray[np.object_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    details: tuple[tuple[str, Detail], ...] = ()
    """What else is known of it, by name, such as a message's bytes."""


@dataclass(frozen=True)
class SpanFlow:
    """One span led to another: it waited for it, or for what it brought."""

    before: int
    """An index of the timeline's spans, as is ``after``."""
    after: int


@dataclass(frozen=True, eq=False)
class Spans(Sequence[Span]):
    """Span k is on lane ``lane[k]``; a column of ``details`` has None where a span does not have it."""

    lane: Ints
    name: Texts
    kind: Texts
    start: Floats
    end: Floats
    details: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Spans:
        """Return spans as columns."""
        if isinstance(spans, Spans):
            return spans
        names = dict.fromkeys(name for span in spans for name, _ in span.details)
        said = [dict(span.details) for span in spans]
        return cls(
            np.array([span.lane for span in spans], np.int64),
            texts(span.name for span in spans),
            texts(span.kind for span in spans),
            np.array([span.start for span in spans], np.float64),
            np.array([span.end for span in spans], np.float64),
            {name: texts(one.get(name) for one in said) for name in names},
        )

    def check(self, num_lanes: int) -> None:
        """Raise for a span on no lane, or one that does not end after it starts, at times that are numbers."""
        for k in np.flatnonzero((self.lane < 0) | (self.lane >= num_lanes))[:1]:
            raise LinkstepError(f"span {self.name[k]!r} is on lane {self.lane[k]}, of {num_lanes} lanes")
        for k in np.flatnonzero(~(self.start <= self.end) | ~np.isfinite(self.start) | ~np.isfinite(self.end))[:1]:
            ends, starts = f"ends at {self.end[k]:g} s", f"its start at {self.start[k]:g} s"
            why = f", before {starts}" if self.end[k] < self.start[k] else f" and starts at {self.start[k]:g} s"
            raise LinkstepError(f"span {self.name[k]!r} {ends}{why}")

    def __len__(self) -> int:
        return len(self.lane)

    @overload
    def __getitem__(self, at: int) -> Span: ...

    @overload
    def __getitem__(self, at: slice) -> Spans: ...

    def __getitem__(self, at: int | slice) -> Span | Spans:
        if isinstance(at, slice):
            return self.take(np.arange(len(self))[at])
        if not -len(self) <= at < len(self):
            raise IndexError(f"span {at} of {len(self)}")
        return next(iter(self.take(np.array([at]))))

    def take(self, rows: ArrayLike) -> Spans:
        """Return some of them, in this order."""
        at = np.asarray(rows)
        details = {name: column[at] for name, column in self.details.items()}
        return Spans(self.lane[at], self.name[at], self.kind[at], self.start[at], self.end[at], details)

    def __iter__(self) -> Iterator[Span]:
        columns = (self.lane, self.name, self.kind, self.start, self.end)
        rows = zip(*(column.tolist() for column in columns), self.rows_of_details(), strict=True)
        return (Span(*row) for row in rows)

    def rows_of_details(self) -> Iterator[tuple[tuple[str, Detail], ...]]:
        """Yield the details of each span."""
        names = tuple(self.details)
        if not names:
            return (() for _ in range(len(self)))
        rows = zip(*(column.tolist() for column in self.details.values()), strict=True)
        return (
            tuple((name, value) for name, value in zip(names, row, strict=True) if value is not None) for row in rows
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spans) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Flows(Sequence[SpanFlow]):
    """Flow k is from span ``before[k]`` to span ``after[k]``."""

    before: Ints
    after: Ints

    @classmethod
    def of(cls, flows: Sequence[SpanFlow]) -> Flows:
        """Return flows as columns."""
        if isinstance(flows, Flows):
            return flows
        before, after = (np.array([getattr(flow, end) for flow in flows], np.int64) for end in ("before", "after"))
        return cls(before, after)

    def check(self, num_spans: int) -> None:
        """Raise for a flow from or to no span."""
        ends = np.stack([self.before, self.after])
        for k in np.flatnonzero(((ends < 0) | (ends >= num_spans)).any(axis=0))[:1]:
            raise LinkstepError(f"a flow is from span {self.before[k]} to {self.after[k]}, of {num_spans} spans")

    def __len__(self) -> int:
        return len(self.before)

    @overload
    def __getitem__(self, at: int) -> SpanFlow: ...

    @overload
    def __getitem__(self, at: slice) -> Flows: ...

    def __getitem__(self, at: int | slice) -> SpanFlow | Flows:
        if isinstance(at, slice):
            return Flows(self.before[at], self.after[at])
        return SpanFlow(int(self.before[at]), int(self.after[at]))

    def __iter__(self) -> Iterator[SpanFlow]:
        return map(SpanFlow, self.before.tolist(), self.after.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flows) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def texts(values: Any) -> Texts:
    """Return a column of Python's own values: numpy would make texts of them all.

    >>> texts(["a", 1, None]).tolist()
    ['a', 1, None]
    """
    found = list(values)
    column = np.empty(len(found), object)
    column[:] = found
    return column
