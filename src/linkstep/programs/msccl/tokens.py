"""The tokenizer of MSCCL XML, as strict as the strictest of the runtimes' own.

They read a small subset of XML by hand: no ``<?xml?>`` line, no text content, no entities, no tabs, attributes on one
line each after exactly one space, double quotes, at most 16 of them, values under 256 characters. Whatever is outside
of it is refused, so no entity is ever expanded and no nesting followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from linkstep.core.errors import FileError

MAX_ATTRIBUTES = 16
MAX_VALUE = 255

_TAG = re.compile(r'<(/?)([A-Za-z_]\w*)((?: [A-Za-z_]\w*="[^"<>&\t\r\n]*")*)( ?/| )?>', re.ASCII)
_ATTRIBUTE = re.compile(r' (\w+)="([^"]*)"')
_SPACE = re.compile(r"[ \r\n]*")

Token = tuple[int, str, dict[str, str], bool, bool]
"""Position, element name, attributes, whether it closes an element, whether it is empty (``/>``)."""


def line_of(text: str, position: int) -> int:
    """Return the line a position is on, from 1."""
    return text.count("\n", 0, position) + 1


def _refuse(text: str, position: int, what: str) -> FileError:
    return FileError(f"line {line_of(text, position)}: {what}")


def _explain(text: str, position: int) -> FileError:
    """Say which rule the text at a position breaks, knowing that it is no tag."""
    near = text[position : position + 40].split("\n", 1)[0]
    if not near.startswith("<"):
        if near.startswith("\t"):
            return _refuse(text, position, "a tab: the runtimes take only spaces and line ends between elements")
        return _refuse(text, position, f"text between elements, at {near!r}")
    if near.startswith("<?"):
        return _refuse(text, position, "the runtimes do not read an <?xml?> line: remove it")
    if near.startswith("<!"):
        return _refuse(text, position, f"neither a comment nor an element: {near!r}")
    return _refuse(
        text, position,
        f'not an element with attributes name="value" on one line, each after exactly one space: {near!r}',
    )  # fmt: skip


def _skip_comment(text: str, position: int) -> int:
    end = text.find("-->", position + 4)
    if end < 0:
        raise _refuse(text, position, "a comment that does not end")
    words = text[position + 4 : end].split(None, 1)
    if words and "=" in words[0]:
        raise _refuse(text, position, "the runtimes read a comment whose first word has a '=' as an attribute")
    return end + 3


def tokens(text: str, skip: Callable[[str, int], int]) -> Iterator[Token]:
    """Yield the elements of a text as they open and close; raise FileError at what the runtimes cannot read.

    After each, ``skip`` may read on by itself and return where it stopped.
    """
    position, size = 0, len(text)
    while True:
        match = _SPACE.match(text, position)
        position = match.end() if match else position
        if position == size:
            return
        if text.startswith("<!--", position):
            position = _skip_comment(text, position)
            continue
        tag = _TAG.match(text, position)
        if not tag:
            raise _explain(text, position)
        closes, name, attributes, empty = tag.groups()
        pairs = _ATTRIBUTE.findall(attributes)
        values = dict(pairs)
        if len(pairs) > MAX_ATTRIBUTES:
            raise _refuse(text, position, f"{len(pairs)} attributes of {name}, at most {MAX_ATTRIBUTES} are read")
        if len(values) < len(pairs):
            raise _refuse(text, position, f"an attribute of {name} is given twice")
        if len(attributes) > MAX_VALUE and any(len(v) > MAX_VALUE for v in values.values()):
            raise _refuse(text, position, f"a value of {name} is longer than {MAX_VALUE} characters")
        if closes and (pairs or empty):
            raise _refuse(text, position, f"the end of {name} has attributes")
        yield position, name, values, bool(closes), bool(empty and empty.strip())
        position = skip(text, tag.end())
