"""The trace event format of Chrome, which Perfetto (ui.perfetto.dev), chrome://tracing and others open.

A group is a process and a lane a thread, a span a complete event and a flow a pair of flow events; times are
microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from linkstep.timelines.timeline import Span, Timeline

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
    for span in timeline.spans:
        duration = (span.end - span.start) * _MICRO
        yield {"ph": "X", "name": span.name, "cat": span.kind, **place(span.lane), "ts": _at(span), "dur": duration}
    for number, flow in enumerate(timeline.flows, 1):
        first, second = timeline.spans[flow.before], timeline.spans[flow.after]
        common = {"name": "then", "cat": "flow", "id": number}
        yield {"ph": "s", **common, **place(first.lane), "ts": _at(first)}  # inside its span, where tools look for it
        yield {"ph": "f", "bp": "e", **common, **place(second.lane), "ts": _at(second)}


def _at(span: Span) -> float:
    return span.start * _MICRO
