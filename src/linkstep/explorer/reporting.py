"""A report: a document as one HTML file, to open offline, print and mail."""

from __future__ import annotations

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.text import shown
from linkstep.core.units import Number, WrittenSize, parse_size
from linkstep.costs import Fabric, FabricLike, as_fabric
from linkstep.costs.usual import ALPHA, BANDWIDTH, SIZE
from linkstep.explorer.document import Document
from linkstep.explorer.documents import document_of
from linkstep.explorer.packing import pack
from linkstep.explorer.page import report_page
from linkstep.files import AnyPath, check_writable, to_path, write_atomically
from linkstep.reports.pricing import Pricing

SUFFIXES = (".html", ".htm")


def save_page(thing: object, path: AnyPath, *, size: Number = SIZE, fabric: FabricLike | None = None) -> None:
    """Write a page that shows a thing, whole or not at all: a recipe, a topology, a schedule, an answer, a file.

    It is one file that needs no network. Times on it are for this size of data, on this fabric.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as here:
    ...     save_page("K_3", pathlib.Path(here, "k3.html"))
    ...     pathlib.Path(here, "k3.html").read_text()[:15]
    '<!doctype html>'
    """
    check_reportable(path)
    write_document(document_of(thing, pricing_for(size, fabric)), path)


def pricing_for(size: Number, fabric: FabricLike | None) -> Pricing:
    """Return for which data and which fabric times are; the usual fabric, if none is given."""
    if parse_size(size) <= 0:
        raise LinkstepError(f"size must be positive, not {shown(size)}")
    written = WrittenSize(size if isinstance(size, str) else str(parse_size(size)))
    return (
        Pricing(written, Fabric.of(ALPHA, BANDWIDTH, 1)) if fabric is None else Pricing.of(as_fabric(fabric), written)
    )


def write_document(document: Document, path: AnyPath) -> int:
    """Write the page of a document, and return how many bytes it has."""
    data = report_page(document.title, pack(document)).encode()
    write_atomically(path, lambda file: file.writelines([data]))
    return len(data)


def check_reportable(path: AnyPath) -> None:
    """Raise if no page can be written there: to ask before long work."""
    if to_path(path).suffix.lower() not in SUFFIXES:
        raise FileError(f"{path}: the name of a page must end in {' or '.join(SUFFIXES)}")
    check_writable(path)
