"""A timeline as a table, a row for each span in the order of their starts, a column for each detail; no flows."""

from __future__ import annotations

import csv
import io

import numpy as np

from linkstep.timelines.timeline import Timeline

_HEAD = ("group", "lane", "kind", "name", "start_seconds", "end_seconds", "critical_path")


def csv_text(timeline: Timeline) -> str:
    """Return a timeline as comma-separated values, times in seconds; ``critical_path`` counts its spans from 1."""
    spans = timeline.spans
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow((*_HEAD, *(name.replace(" ", "_") for name in spans.details)))
    position = {span: k for k, span in enumerate(timeline.critical, 1)}
    order = np.lexsort((spans.end, spans.lane, spans.start))
    columns = [column.tolist() for column in (spans.lane, spans.kind, spans.name, spans.start, spans.end)]
    details = [column.tolist() for column in spans.details.values()]
    for k in order.tolist():
        lane, kind, name, start, end = (column[k] for column in columns)
        place = timeline.lanes[lane].group, timeline.lanes[lane].name
        writer.writerow((*place, kind, name, start, end, position.get(k), *(column[k] for column in details)))
    return file.getvalue()
