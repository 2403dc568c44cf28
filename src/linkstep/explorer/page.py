"""A page of its own: one HTML file with the bundle and a document in it, which asks nothing of any network.

Its content security policy allows this script and these styles, nothing else: what a label says is never run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files

from linkstep._version import __version__

_BUNDLE = "bundle"


def script() -> str:
    """Return the bundle's script."""
    return _part("explorer.js")


def style() -> str:
    """Return the bundle's styles."""
    return _part("explorer.css")


def report_page(title: str, packed: bytes) -> str:
    """Return a page that shows a packed document and needs nothing else."""
    data = base64.b64encode(packed).decode()
    body = f'<script id="linkstep-document" type="text/plain">{data}</script>'
    return _page(title, body, "connect-src 'none'")


def live_page(title: str) -> str:
    """Return a page that asks the server it came from."""
    settings = json.dumps({"version": __version__})
    return _page(title, f'<script id="linkstep-live" type="application/json">{settings}</script>', "connect-src 'self'")


def _page(title: str, body: str, connect: str) -> str:
    code = script()
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"{connect}; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="linkstep {__version__}">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style()}</style>\n</head>\n<body>\n"
        '<div id="linkstep"><noscript><p>This page needs scripts: allow them.</p></noscript></div>\n'
        f"{body}\n<script>{code}</script>\n</body>\n</html>\n"
    )


def _part(name: str) -> str:
    return files("linkstep.explorer").joinpath(_BUNDLE, name).read_text("utf-8")
