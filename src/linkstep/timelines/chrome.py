"""The trace event format of Chrome, which Perfetto (ui.perfetto.dev), chrome://tracing and others open.

A group is a process and a lane a thread, a span a complete event and a flow a pair of flow events; times are
microseconds. Instants are those of all processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from linkstep.timelines.timeline import Timeline

_MICRO = 1e6


def chrome_text(timeline: Timeline) -> str:
    """Return a timeline as trace events, one a line."""
    lines = ",\n".join(json.dumps(event) for event in _events(timeline))
    title = json.dumps({"title": timeline.title})
    return f'{{"displayTimeUnit": "ns", "otherData": {title}, "traceEvents": [\n{lines}\n]}}\n'


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    groups = list(dict.fromkeys(lane.group for lane in timeline.lanes))
    process = {group: number for number, group in enumerate(groups, 1)}  # tools take process 0 for the idle one

    def place(lane: int) -> dict[str, Any]:
        return {"pid": process[timeline.lanes[lane].group], "tid": lane + 1}

    for group, number in process.items():
        yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": group}}
        yield {"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}}
    for number, lane in enumerate(timeline.lanes):
        yield {"ph": "M", "name": "thread_name", **place(number), "args": {"name": lane.name}}
        yield {"ph": "M", "name": "thread_sort_index", **place(number), "args": {"sort_index": number}}
    position = {span: k for k, span in enumerate(timeline.critical, 1)}
    for number, span in enumerate(timeline.spans):
        place_of_span, ts, dur = place(span.lane), _micros(span.start), _micros(span.end - span.start)
        said = {**dict(span.details), **({"critical path": position[number]} if number in position else {})}
        args = {"args": said} if said else {}
        yield {"ph": "X", "name": span.name, "cat": span.kind, **place_of_span, "ts": ts, "dur": dur, **args}
    lane, start, end = (column.tolist() for column in (timeline.spans.lane, timeline.spans.start, timeline.spans.end))
    for number, flow in enumerate(timeline.flows, 1):
        common = {"name": "then", "cat": "flow", "id": number}
        leaves, enters = start[flow.before], start[flow.after]
        if enters < leaves:  # who waits has begun to: the arrow ends where the waiting does
            enters = max(end[flow.after], leaves)
        yield {"ph": "s", **common, **place(lane[flow.before]), "ts": _micros(leaves)}  # inside it: tools look there
        yield {"ph": "f", "bp": "e", **common, **place(lane[flow.after]), "ts": _micros(enters)}
    for instant in timeline.instants:
        yield {"ph": "i", "s": "g", "name": instant.name, "pid": 1, "tid": 1, "ts": _micros(instant.time)}


def _micros(seconds: float) -> float:
    return seconds * _MICRO
