"""Perfetto's own trace format, protocol buffers of track events: what ui.perfetto.dev and its SQL tools read best.

A group is a track with its lanes below it, in the timeline's order; a span is a slice, in whole nanoseconds, and a flow
an arrow between two. Slices of one track must nest, so spans of a lane that overlap otherwise are put on further tracks
beside it. Above all is one track, named as the timeline, with its instants: only below a track is there an order. The
critical path is the first below it, and has its spans a second time.
Written by hand: a message is fields of a number, a wire type and a value, and that is all there is to it.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.timelines.columns import Detail, Spans
from linkstep.timelines.timeline import Timeline

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_PACKET = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _SEQUENCE_FLAGS, _DESCRIPTOR = 8, 10, 11, 13, 60
_UUID, _NAME, _PARENT, _ORDERING, _RANK, _MERGING = 1, 2, 5, 11, 12, 15
_BY_RANK, _NO_MERGING, _CLEARED = 3, 2, 1
_ANNOTATION, _TYPE, _TRACK, _CATEGORY, _EVENT_NAME, _FLOW, _LAST_FLOW = 4, 9, 11, 22, 23, 47, 48
_BEGIN, _END, _INSTANT = 1, 2, 3
_INT, _DOUBLE, _TEXT, _ANNOTATION_NAME = 4, 5, 6, 10
_NANO = 1e9
_MOST = 2**63
"""Nanoseconds, and integers, are below this."""


def perfetto_bytes(timeline: Timeline) -> bytes:
    """Return a timeline as a trace.

    >>> from linkstep.timelines import Lane, Span
    >>> one = Timeline("one", (Lane("from 0", "0 to 1"),), (Span(0, "round 1", "message", 0.0, 0.5),))
    >>> trace = perfetto_bytes(one)
    >>> trace.count(b"round 1"), trace.count(b"0 to 1")
    (1, 1)
    """
    return b"".join(_Writer(timeline).packets())


@dataclass(frozen=True)
class _Events:
    """Begins and ends of spans, in the order to write them."""

    span: list[int]
    is_begin: list[bool]
    time: list[int]
    begin_at: list[int]
    """For each span the place of its begin among the events."""


class _Writer:
    """A trace as it is written: tracks are numbered as they are described."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.position = {span: k for k, span in enumerate(timeline.critical, 1)}
        self._tracks = 0
        self._known: dict[tuple[str, type, Detail], bytes] = {}
        self._flags = _number(_SEQUENCE_FLAGS, _CLEARED)

    def packets(self) -> Iterator[bytes]:
        """Yield the packets: of each track what it is, then its events."""
        timeline = self.timeline
        title = yield from self._track(timeline.title, 0, 0)
        for instant in timeline.instants:
            at = _nanoseconds(instant.time, instant.name)
            yield _packet(_number(_TIMESTAMP, at), _event(_INSTANT, title, _text(_EVENT_NAME, instant.name)))
        if timeline.critical:
            yield from self._critical(title)
        start, end = (_all_nanoseconds(column, timeline.spans) for column in (timeline.spans.start, timeline.spans.end))
        place, extra, events = _placed(timeline.spans.lane.tolist(), start, end, len(timeline.lanes))
        yield from self._slices((yield from self._lanes(title, place, extra)), events)

    def _track(self, name: str, parent: int, rank: int) -> Generator[bytes, None, int]:
        """Describe a track whose children are shown in the order of their ranks; return its number."""
        self._tracks += 1
        above = _number(_PARENT, parent) if parent else b""
        order = _number(_ORDERING, _BY_RANK) + _number(_RANK, rank) + _number(_MERGING, _NO_MERGING)
        what = _number(_UUID, self._tracks) + above + _text(_NAME, name) + order
        flags, self._flags = self._flags, b""
        yield _packet(flags, _bytes(_DESCRIPTOR, what))
        return self._tracks

    def _critical(self, title: int) -> Iterator[bytes]:
        """Write the critical path as a track of its own."""
        timeline = self.timeline
        spans = timeline.spans.take(list(timeline.critical))
        start, end = (_all_nanoseconds(column, spans) for column in (spans.start, spans.end))
        place, extra, events = _placed([0] * len(spans), start, end, 1)
        named = ["critical path", *(f"critical path ({2 + k})" for k in range(len(extra)))]
        tracks = []
        for rank, name in enumerate(named):
            tracks.append((yield from self._track(name, title, rank)))
        names = [f"{timeline.lanes[span.lane].name}: {span.name}" for span in spans]
        for k, begins, at in zip(events.span, events.is_begin, events.time, strict=True):
            what = _text(_EVENT_NAME, names[k]) + _text(_CATEGORY, "critical path") if begins else b""
            yield _packet(_number(_TIMESTAMP, at), _event(_BEGIN if begins else _END, tracks[place[k]], what))

    def _lanes(self, title: int, place: list[int], extra: list[int]) -> Generator[bytes, None, list[int]]:
        """Describe groups and lanes; return the track of every span. Tracks from the lanes' number on are ``extra``."""
        lanes = self.timeline.lanes
        beside: dict[int, list[int]] = {}
        for track, of in enumerate(extra, len(lanes)):
            beside.setdefault(of, []).append(track)
        groups: dict[str, int] = {}
        number: dict[int, int] = {}
        for rank, group in enumerate(dict.fromkeys(lane.group for lane in lanes), len(self.timeline.critical)):
            groups[group] = yield from self._track(group, title, rank)
        rank = 0
        for at, lane in enumerate(lanes):
            for k, track in enumerate([at, *beside.get(at, [])], 1):
                name = lane.name if k == 1 else f"{lane.name} ({k})"
                number[track] = yield from self._track(name, groups[lane.group], rank)
                rank += 1
        return [number[track] for track in place]

    def _slices(self, tracks: list[int], events: _Events) -> Iterator[bytes]:
        spans, outgoing = self.timeline.spans, self._flows(events)
        names = [_text(_EVENT_NAME, name) for name in spans.name.tolist()]
        kinds = {kind: _text(_CATEGORY, kind) for kind in set(spans.kind.tolist())}
        kind, details = spans.kind.tolist(), list(spans.rows_of_details())
        for k, begins, at in zip(events.span, events.is_begin, events.time, strict=True):
            flows = b"".join(outgoing.get((k, begins), ()))
            if begins:
                said = b"".join(self._annotation(name, value) for name, value in self._said(k, details[k]))
                event = _event(_BEGIN, tracks[k], kinds[kind[k]] + names[k] + said + flows)
            else:
                event = _event(_END, tracks[k], flows)
            yield _packet(_number(_TIMESTAMP, at), event)

    def _said(self, span: int, details: tuple[tuple[str, Detail], ...]) -> Iterable[tuple[str, Detail]]:
        return (*details, ("critical path", self.position[span])) if span in self.position else details

    def _annotation(self, name: str, value: Detail) -> bytes:
        """Return a detail; a million messages have few different ones."""
        key = name, type(value), value
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _annotation(name, value)
        return found

    def _flows(self, events: _Events) -> dict[tuple[int, bool], list[bytes]]:
        """Return the flows of each begin or end of a span.

        A flow leaves its first span where that begins. It enters the other where that begins too, or, where that began
        before, at its end: a reader follows arrows in the order of events.
        """
        found: dict[tuple[int, bool], list[bytes]] = {}
        begin = events.begin_at
        rows = zip(self.timeline.flows.before.tolist(), self.timeline.flows.after.tolist(), strict=True)
        for number, (before, after) in enumerate(rows, 1):
            value = struct.pack("<Q", number)
            found.setdefault((before, True), []).append(_tag(_FLOW, _FIXED64) + value)
            enters = begin[before] < begin[after]
            found.setdefault((after, enters), []).append(_tag(_LAST_FLOW, _FIXED64) + value)
        return found


def _placed(
    lane: list[int], start: list[int], end: list[int], num_lanes: int
) -> tuple[list[int], list[int], _Events]:  # fmt: skip
    """Put spans on tracks where they nest: lane k is track k, further ones are beside the lanes that are returned.

    >>> place, extra, events = _placed([0, 0, 0], [0, 1, 2], [3, 2, 4], 1)
    >>> place, extra
    ([0, 0, 1], [0])
    >>> list(zip(events.time, events.span, events.is_begin))[:3]
    [(0, 0, True), (1, 1, True), (2, 1, False)]
    """
    tracks: list[list[int]] = [[k] for k in range(num_lanes)]
    open_: list[list[int]] = [[] for _ in range(num_lanes)]
    place, extra = [0] * len(lane), list[int]()
    span, is_begin, time = list[int](), list[bool](), list[int]()

    def add(which: int, begins: bool, at: int) -> None:
        span.append(which)
        is_begin.append(begins)
        time.append(at)

    for k in np.lexsort((-np.array(end, np.int64), np.array(start, np.int64))).tolist():
        for track in tracks[lane[k]]:
            stack = open_[track]
            while stack and end[stack[-1]] <= start[k]:
                add(stack[-1], False, end[stack.pop()])
            if not stack or end[k] <= end[stack[-1]]:
                break
        else:
            track = len(open_)
            open_.append([])
            extra.append(lane[k])
            tracks[lane[k]].append(track)
        open_[track].append(k)
        place[k] = track
        add(k, True, start[k])
    for stack in open_:
        while stack:
            add(stack[-1], False, end[stack.pop()])
    order = np.argsort(np.array(time, np.int64), kind="stable").tolist()
    begin_at = [0] * len(lane)
    for at, event in enumerate(order):
        if is_begin[event]:
            begin_at[span[event]] = at
    events = _Events([span[k] for k in order], [is_begin[k] for k in order], [time[k] for k in order], begin_at)
    return place, extra, events


def _all_nanoseconds(seconds: np.ndarray[tuple[int], np.dtype[np.float64]], spans: Spans) -> list[int]:
    """Return times as whole nanoseconds; LinkstepError where they are not in the range that a trace has."""
    found = np.rint(seconds * _NANO)
    for k in np.flatnonzero((found < 0) | (found >= _MOST))[:1]:
        _nanoseconds(float(seconds[k]), spans.name[k])
    return found.astype(np.int64).tolist()  # type: ignore[no-any-return]


def _nanoseconds(seconds: float, name: str) -> int:
    found = round(seconds * _NANO) if abs(seconds) < _MOST else -1
    if not 0 <= found < _MOST:
        raise LinkstepError(f"{name!r} is at {seconds:g} s: a Perfetto trace has times from 0 to {_MOST / _NANO:.4g} s")
    return found


def _packet(*fields: bytes) -> bytes:
    return _bytes(_PACKET, b"".join(fields) + _ON_SEQUENCE)


def _event(kind: int, track: int, more: bytes) -> bytes:
    return _bytes(_EVENT, _on_track(kind, track) + more)


@cache
def _on_track(kind: int, track: int) -> bytes:
    return _number(_TYPE, kind) + _number(_TRACK, track)


def _annotation(name: str, value: Detail) -> bytes:
    if isinstance(value, float):
        said = _tag(_DOUBLE, _FIXED64) + struct.pack("<d", value)
    elif isinstance(value, int) and -_MOST <= value < _MOST:
        said = _number(_INT, value % 2**64)
    else:
        said = _text(_TEXT, str(value))
    return _bytes(_ANNOTATION, _text(_ANNOTATION_NAME, name) + said)


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode("utf-8", "replace"))


def _bytes(field: int, value: bytes) -> bytes:
    return _tag(field, _BYTES) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _tag(field, _VARINT) + _varint(value)


@cache
def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    """Return a number that is not negative, seven bits a byte, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    if value < 128:
        return _SHORT[value]
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


_SHORT = [bytes([value]) for value in range(128)]
_ON_SEQUENCE = _number(_SEQUENCE, 1)
