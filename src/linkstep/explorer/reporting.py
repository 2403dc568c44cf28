"""A report: a document as one HTML file, to open offline, print and mail."""

from __future__ import annotations

from linkstep.core.errors import FileError
from linkstep.explorer.document import Document
from linkstep.explorer.documents import document_of
from linkstep.explorer.packing import pack
from linkstep.explorer.page import report_page
from linkstep.files import AnyPath, check_writable, to_path, write_atomically
from linkstep.reports.pricing import Pricing

SUFFIXES = (".html", ".htm")


def report(thing: object, path: AnyPath, pricing: Pricing | None = None) -> None:
    """Write a page that shows a thing, whole or not at all: a recipe, a topology, a schedule, an answer, a file.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as here:
    ...     report("K_3", pathlib.Path(here, "k3.html"))
    ...     pathlib.Path(here, "k3.html").read_text()[:15]
    '<!doctype html>'
    """
    check_reportable(path)
    document = thing if isinstance(thing, Document) else document_of(thing, pricing)
    text = report_page(document.title, pack(document))
    write_atomically(path, lambda file: file.writelines([text.encode()]))


def check_reportable(path: AnyPath) -> None:
    """Raise if no page can be written there: to ask before long work."""
    if to_path(path).suffix.lower() not in SUFFIXES:
        raise FileError(f"{path}: the name of a report must end in {' or '.join(SUFFIXES)}")
    check_writable(path)
