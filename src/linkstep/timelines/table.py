"""A timeline as a table, a row for each span in the order of their starts; flows are not in it."""

from __future__ import annotations

import csv
import io

from linkstep.timelines.timeline import Timeline

_HEAD = ("group", "lane", "kind", "name", "start_seconds", "end_seconds")


def csv_text(timeline: Timeline) -> str:
    """Return a timeline as comma-separated values, times in seconds."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_HEAD)
    for span in sorted(timeline.spans, key=lambda span: (span.start, span.lane, span.end)):
        lane = timeline.lanes[span.lane]
        writer.writerow((lane.group, lane.name, span.kind, span.name, span.start, span.end))
    return file.getvalue()
