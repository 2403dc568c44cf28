"""Plain text of helps and docstrings as Markdown: nothing in it is taken for markup but ``double backticks``."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
DEPTH = "../../"
"""From a page of the generated folders to docs/."""
_CODE = re.compile(r"``(.+?)``|`(.+?)`", re.S)
_PAGE = re.compile(r"\bdocs/([\w/-]+\.md)")
_MARKUP = re.compile(r"([\\*_\[\]<>|#{}])")


def fenced(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text}\n```\n"


def link_to(page: str) -> str:
    """Return a link to a page that is named from the root of the repository, by its title."""
    name = page.removeprefix("docs/")
    title = re.search(r"^# (.+)$", (DOCS / name).read_text(), re.M)
    assert title is not None, page
    return f"[{title[1]}]({DEPTH}{name})"


def escaped(text: str) -> str:
    """Return a line or paragraph as Markdown: code stays code, pages become links, all else is as written."""
    parts, last = [], 0
    for found in _CODE.finditer(text):
        parts += [_plain(text[last : found.start()]), f"`{' '.join((found[1] or found[2]).split())}`"]
        last = found.end()
    return "".join([*parts, _plain(text[last:])])


def _plain(text: str) -> str:
    pieces = _PAGE.split(text)
    return "".join(link_to(f"docs/{one}") if i % 2 else _MARKUP.sub(r"\\\1", one) for i, one in enumerate(pieces))


def markdown_of(doc: str | None) -> str:
    """Return a docstring as Markdown: paragraphs, lists and rows of text, and its examples as ``pycon`` blocks."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(doc or ""))
    made: list[str] = []
    for block in blocks:
        if block.lstrip().startswith(">>>"):
            made.append(fenced("pycon", inspect.cleandoc(block)).rstrip())
        elif all(line.startswith("    ") for line in block.splitlines()):
            made.append(fenced("text", inspect.cleandoc(block)).rstrip())
        else:
            made.append(escaped(block))
    return "\n\n".join(made)
