"""The formats that timelines are written in, as rows, and writing one by the ending of a file's name.

A new format is a function that makes text or bytes of a ``Timeline``, and a row of ``EXPORTS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from linkstep.core.arguments import check_kind
from linkstep.core.errors import FileError
from linkstep.core.tables import NamedRows
from linkstep.files import AnyPath, check_writable, to_path, write_atomically
from linkstep.timelines.chrome import chrome_text
from linkstep.timelines.perfetto import perfetto_bytes
from linkstep.timelines.table import csv_text
from linkstep.timelines.timeline import Timeline


@dataclass(frozen=True)
class Export:
    """A row of ``EXPORTS``: a format, by the ending of its files."""

    ending: str
    title: str
    """What it is in a sentence."""
    write: Callable[[Timeline], str | bytes]


EXPORTS = NamedRows(
    Export,
    "timeline export",
    (
        Export(".json", "trace events for Perfetto", chrome_text),
        Export(".csv", "a table of spans", csv_text),
        Export(".perfetto-trace", "track events for Perfetto", perfetto_bytes),
    ),
    key=lambda export: export.ending,
    check=lambda export: None if re.fullmatch("[.][a-z0-9-]+", export.ending) else "an ending is such as '.json'",
)
"""All formats; commands and their messages list them from here."""


def export_of(path: AnyPath) -> Export | None:
    """Return the format of files that are called so, or None."""
    return EXPORTS.get(to_path(path).suffix.lower())


def in_words(endings: Iterable[str]) -> str:
    """Return endings as messages name them.

    >>> in_words([".json", ".csv", ".txt"])
    '.json, .csv or .txt'
    """
    *first, last = endings
    return f"{', '.join(first)} or {last}" if first else last


def check_exportable(path: AnyPath) -> Export:
    """Return the format of a file that can be written there; FileError if there is none: to ask before long work."""
    export = export_of(path)
    if export is None:
        raise FileError(f"{path}: the name of a timeline must end in {in_words(EXPORTS)}")
    check_writable(path)
    return export


def export_timeline(timeline: Timeline, path: AnyPath) -> None:
    """Write a timeline in the format of the name's ending, whole or not at all.

    >>> import pathlib, tempfile
    >>> from linkstep.timelines import Lane, Span
    >>> one = Timeline("one", (Lane("from 0", "0 to 1"),), (Span(0, "round 1", "message", 0.0, 0.5),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_timeline(one, pathlib.Path(folder, "one.csv"))
    ...     print(pathlib.Path(folder, "one.csv").read_text(), end="")
    group,lane,kind,name,start_seconds,end_seconds,critical_path
    from 0,0 to 1,message,round 1,0.0,0.5,
    """
    made = check_exportable(path).write(check_kind("timeline", timeline, Timeline))
    data = made.encode() if isinstance(made, str) else made
    write_atomically(path, lambda file: file.writelines([data]))
