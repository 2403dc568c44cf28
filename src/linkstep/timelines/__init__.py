"""Timelines for other tools: what happened when, as one value, and a writer for each format.

``timeline_of`` makes a ``Timeline`` of what was simulated; ``export_timeline`` writes it by the ending of the file's
name, a row of ``EXPORTS``. Not here: pictures, which ``linkstep.pictures`` draws.
"""

from linkstep.timelines.columns import Flows, Span, SpanFlow, Spans
from linkstep.timelines.exports import EXPORTS, Export, check_exportable, export_of, export_timeline
from linkstep.timelines.sources import timeline_of
from linkstep.timelines.timeline import Instant, Lane, Timeline

__all__ = [
    "EXPORTS",
    "Export",
    "Flows",
    "Instant",
    "Lane",
    "Span",
    "SpanFlow",
    "Spans",
    "Timeline",
    "check_exportable",
    "export_of",
    "export_timeline",
    "timeline_of",
]
