"""Trace events that ``chrome_text`` wrote, read back as a Timeline."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkstep.core.errors import FileError
from linkstep.core.text import shown
from linkstep.files import AnyPath, to_path
from linkstep.files.documents import naming
from linkstep.timelines.columns import Span, SpanFlow
from linkstep.timelines.timeline import Instant, Lane, Timeline

MAX_BYTES = 2**30
_MICRO = 1e6
_CRITICAL = "critical path"
_NEAR = 16
"""How many spans of a lane are looked at for a moment: they hardly overlap."""
_LATE, _EARLY = 1e-3, 1e-6
"""Microseconds by which a flow may end after its span, and begin before it: sums are rounded."""


def read_trace(path: AnyPath) -> Timeline:
    """Return the timeline in a file of trace events, such as ``linkstep run --trace FILE.json`` writes.

    >>> import pathlib, tempfile
    >>> from linkstep.timelines.exports import export_timeline
    >>> one = Timeline("one", [Lane("from 0", "0 to 1")], [Span(0, "a", "message", 0.0, 0.5, (("bytes", 4),))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_timeline(one, pathlib.Path(folder, "one.json"))
    ...     read_trace(pathlib.Path(folder, "one.json")) == one
    True
    """
    file = to_path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise FileError(f"{path}: a trace of more than {MAX_BYTES >> 20} MiB is not read")
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError):
        raise FileError(f"{path}: this is not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise FileError(f"{path}: this holds no trace events (an object with a list traceEvents)")
    reading = _Reading()
    for number, event in enumerate(document["traceEvents"], 1):
        try:
            reading.take(event)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise FileError(f"{path}: event {number} is none that linkstep writes: {shown(event)}") from None
    title = (document.get("otherData") or {}).get("title") if isinstance(document.get("otherData"), dict) else None
    with naming(path):
        return reading.timeline(title if isinstance(title, str) else file.stem)


_Place = tuple[Any, Any]
"""Process and thread: a lane."""


@dataclass
class _Reading:
    groups: dict[Any, str] = field(default_factory=dict)
    lanes: dict[_Place, str] = field(default_factory=dict)
    spans: list[tuple[_Place, Span]] = field(default_factory=list)
    critical: dict[int, int] = field(default_factory=dict)
    leaves: dict[Any, tuple[_Place, float]] = field(default_factory=dict)
    enters: dict[Any, tuple[_Place, float]] = field(default_factory=dict)
    instants: list[Instant] = field(default_factory=list)

    def take(self, event: Mapping[str, Any]) -> None:
        kind, place = event["ph"], (event.get("pid"), event.get("tid"))
        if kind == "M" and event["name"] == "process_name":
            self.groups[place[0]] = str(event["args"]["name"])
        elif kind == "M" and event["name"] == "thread_name":
            self.lanes[place] = str(event["args"]["name"])
        elif kind == "X":
            self._span(place, event)
        elif kind in ("s", "f"):
            ends = self.leaves if kind == "s" else self.enters
            ends[event["id"]] = (place, float(event["ts"]))
        elif kind == "i":
            self.instants.append(Instant(str(event["name"]), float(event["ts"]) / _MICRO))

    def _span(self, place: _Place, event: Mapping[str, Any]) -> None:
        args = dict(event.get("args", {}))
        if _CRITICAL in args:
            self.critical[int(args.pop(_CRITICAL))] = len(self.spans)
        for value in args.values():
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                raise ValueError("a detail is a text or a number")
        self.lanes.setdefault(place, str(place[1]))
        start, end = float(event["ts"]), float(event["ts"]) + float(event["dur"])
        span = Span(
            0, str(event["name"]), str(event.get("cat", "span")), start / _MICRO, end / _MICRO, tuple(args.items())
        )
        self.spans.append((place, span))

    def timeline(self, title: str) -> Timeline:
        number = {place: lane for lane, place in enumerate(self.lanes)}
        lanes = [Lane(self.groups.get(place[0], str(place[0])), name) for place, name in self.lanes.items()]
        spans = [Span(number[place], one.name, one.kind, one.start, one.end, one.details) for place, one in self.spans]
        found = _Places(self.spans)
        flows = []
        for key, leaving in self.leaves.items():
            before, after = found.at(*leaving), found.at(*self.enters[key]) if key in self.enters else None
            if before is not None and after is not None:
                flows.append(SpanFlow(before, after))
        return Timeline(title, lanes, spans, flows, [self.critical[k] for k in sorted(self.critical)], self.instants)


class _Places:
    """Where spans are: the one of a lane that a moment is in."""

    def __init__(self, spans: Sequence[tuple[_Place, Span]]) -> None:
        self.of: dict[_Place, list[tuple[float, float, int]]] = {}
        for number, (place, span) in enumerate(spans):
            self.of.setdefault(place, []).append((span.start * _MICRO, span.end * _MICRO, number))
        for rows in self.of.values():
            rows.sort()

    def at(self, place: _Place, time: float) -> int | None:
        rows = self.of.get(place, [])
        until = bisect_right(rows, (time + _EARLY, float("inf"), 0))
        for _, end, number in reversed(rows[max(0, until - _NEAR) : until]):
            if time <= end + _LATE:
                return number
        return None
