"""The explorer: pages that show wirings, schedules and files moving, live or as one file to mail.

``save_page`` writes a page of its own; ``linkstep explore`` serves a live one, and ``explore`` is one in a notebook. A
document (``document``) is panels (``panels``), each the facts and columns of one view; the views are TypeScript, in
``explorer/`` of the repository, and come as one bundle. Not here: what facts are
(``linkstep.reports``) and options (``linkstep.cli``).
"""

from linkstep.explorer.document import Document, Panel
from linkstep.explorer.documents import document_of
from linkstep.explorer.packing import pack
from linkstep.explorer.page import live_page, report_page
from linkstep.explorer.reporting import save_page, write_document
from linkstep.explorer.widget import explore

__all__ = [
    "Document",
    "Panel",
    "document_of",
    "explore",
    "live_page",
    "pack",
    "report_page",
    "save_page",
    "write_document",
]
