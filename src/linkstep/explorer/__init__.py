"""The explorer: pages that show wirings, schedules and files moving, live or as one file to mail.

``report`` writes a page of its own; ``linkstep explore`` serves a live one. A document (``document``) is panels
(``panels``), each the facts and columns of one view; the views are TypeScript, in ``explorer/`` of the repository, and
come as one bundle. Not here: what facts are (``linkstep.reports``) and options (``linkstep.cli``).
"""

from linkstep.explorer.document import Document, Panel
from linkstep.explorer.documents import document_of
from linkstep.explorer.packing import pack
from linkstep.explorer.page import live_page, report_page
from linkstep.explorer.reporting import report

__all__ = ["Document", "Panel", "document_of", "live_page", "pack", "report", "report_page"]
