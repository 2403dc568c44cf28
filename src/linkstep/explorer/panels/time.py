"""The time view's data: a timeline's lanes, spans and flows as columns, sorted so that a page finds what it shows.

Spans are sorted by lane, track and start. The spans of a track never overlap: a lane has one track, and more where it
does several things at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.errors import LinkstepError
from linkstep.explorer.document import Panel
from linkstep.timelines import Spans, Timeline
from linkstep.timelines.simulated import DONE

MAX_SPANS = 3 * 10**6
"""The most spans that a page shows: a browser holds some hundred megabytes."""

_ROUNDED = 1e-12
"""Seconds by which a span may begin before the one before it ends: files have times as rounded sums."""

Rows = Sequence[tuple[str, str]]
"""Names and values, as commands print them."""


@dataclass(frozen=True)
class BesideTable:
    """A table beside a timeline, such as other topologies; its cells are texts."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def time_panel(
    timeline: Timeline, title: str = "", facts: Rows = (), asked: Mapping[str, Any] | None = None,
    beside: BesideTable | None = None,
) -> Panel:  # fmt: skip
    """Return the panel of a timeline; ``facts`` are said beside it, ``asked`` is what a live page may ask otherwise.

    >>> from linkstep.timelines import Lane, Span
    >>> one = Timeline("one", (Lane("from 0", "0 to 1"),), (Span(0, "a", "message", 0.5, 1.0),))
    >>> panel = time_panel(one)
    >>> panel.title, panel.data["spans"]["start"].tolist(), panel.data["lanes"]["busy"].tolist()
    ('one', [0.5], [0.5])
    """
    spans, flows = timeline.spans, timeline.flows
    count = len(spans)
    if count > MAX_SPANS:
        raise LinkstepError(
            f"a page shows at most {MAX_SPANS:,} spans, not {count:,}: simulate fewer hosts, or write the timeline "
            f"to a file (`linkstep simulate --timeline`) and open it with Perfetto"
        )
    track = _tracks(spans)
    order = np.lexsort((spans.end, spans.start, track, spans.lane))
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    names, name = _numbered(spans.name.tolist())
    kinds, kind = _numbered(spans.kind.tolist())
    groups, group = _numbered([lane.group for lane in timeline.lanes])
    data: dict[str, Any] = {
        "asked": None if asked is None else dict(asked),
        "end": timeline.end,
        "lasts": next((one.time for one in timeline.instants if one.name == DONE), timeline.end),
        "facts": [list(row) for row in facts],
        "beside": None if beside is None else _table(beside),
        "groups": groups,
        "lanes": {
            "name": [lane.name for lane in timeline.lanes], "group": group, "busy": _busy(spans, len(timeline.lanes)),
        },
        "names": names,
        "kinds": kinds,
        "spans": {
            "lane": spans.lane[order], "track": track[order], "start": spans.start[order], "end": spans.end[order],
            "name": name[order], "kind": kind[order],
        },
        "details": [_detail(said, column.tolist(), order) for said, column in spans.details.items()],
        "flows": {"before": place[flows.before], "after": place[flows.after]},
        "critical": place[np.array(timeline.critical, np.int64)],
        "instants": [{"name": one.name, "time": one.time} for one in timeline.instants],
    }  # fmt: skip
    return Panel("time", title or timeline.title, data)


def _numbered(texts: Iterable[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts in the order of their first appearance, and the number of each text."""
    known: dict[str, int] = {}
    numbers = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
    return list(known), numbers


def _tracks(spans: Spans) -> NDArray[np.int64]:
    """Return a track for each span, the first of its lane that is free; zeros where no spans overlap."""
    track = np.zeros(len(spans.lane), np.int64)
    order = np.lexsort((spans.end, spans.start, spans.lane))
    lane, start, end = spans.lane[order], spans.start[order] + _ROUNDED, spans.end[order]
    overlaps = (lane[1:] == lane[:-1]) & (start[1:] < end[:-1])
    for crowded in np.unique(lane[1:][overlaps]).tolist():
        busy: list[tuple[float, int]] = []
        idle: list[int] = []
        for row in range(*np.searchsorted(lane, [crowded, crowded + 1]).tolist()):
            while busy and busy[0][0] <= start[row]:
                heapq.heappush(idle, heapq.heappop(busy)[1])
            track[order[row]] = heapq.heappop(idle) if idle else len(busy)
            heapq.heappush(busy, (float(end[row]), int(track[order[row]])))
    return track


def _busy(spans: Spans, num_lanes: int) -> NDArray[np.float64]:
    """Return for how many seconds each lane does something."""
    order = np.lexsort((spans.end, spans.start, spans.lane))
    lane, start, end = spans.lane[order], spans.start[order], spans.end[order]
    busy = np.bincount(lane, end - start, num_lanes).astype(np.float64)
    overlaps = (lane[1:] == lane[:-1]) & (start[1:] < end[:-1])
    for crowded in np.unique(lane[1:][overlaps]).tolist():
        rows = slice(*np.searchsorted(lane, [crowded, crowded + 1]).tolist())
        over = np.maximum.accumulate(end[rows])
        begun = np.maximum(start[rows], np.append(start[rows][:1], over[:-1]))
        busy[crowded] = np.maximum(over - begun, 0).sum()
    return busy


def _detail(name: str, column: Sequence[Any], order: NDArray[np.int64]) -> dict[str, Any]:
    """Return what spans say under a name: numbers, NaN where a span does not say it, or numbers of texts, -1 then."""
    if all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in column):
        if any(value is None for value in column) or not all(isinstance(value, int) for value in column):
            values = np.array([np.nan if value is None else value for value in column], np.float64)
        else:
            values = np.array(column, np.int64)
        return {"name": name, "texts": None, "values": values[order]}
    known: dict[str, int] = {}
    numbers = [-1 if value is None else known.setdefault(str(value), len(known)) for value in column]
    return {"name": name, "texts": list(known), "values": np.array(numbers, np.int64)[order]}


def _table(beside: BesideTable) -> dict[str, Any]:
    return {"caption": beside.caption, "heads": list(beside.heads), "rows": [list(row) for row in beside.rows]}
