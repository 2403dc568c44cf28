"""Which files a live page may have read: those that were named when it was opened, and no others.

All text in a question is looked at, whatever its name, but for members that are read by parsers of quantities and
words; so a question that is added later cannot forget to ask.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from linkstep.argument import exists
from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.files import READABLE

_NO_FILES = frozenset(
    {
        "ask",
        "collective",
        "method",
        "size",
        "sizes",
        "alpha",
        "bandwidth",
        "host_bandwidth",
        "faults",
        "kind",
        "name",
        "rank_by",
        "root",
    }
)
"""Members of a question that never name files here: a folder called "schedule" does not matter to them. A ``name`` is
what a file is called whose text came with the question."""
_SEPARATORS = tuple(filter(None, ("/", "\\", os.sep, os.altsep)))
_ENDINGS = (*READABLE, ".xml", ".py")
"""Of names that are taken for files whether these are there or not."""


class Permission:
    """Files that may be read, by where they really are."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._files = frozenset(os.path.realpath(name) for name in names if exists(name))

    def check(self, question: Mapping[str, Any]) -> None:
        """Raise LinkstepError if a question names a file that may not be read, there or not."""
        for text in _texts([value for name, value in question.items() if name not in _NO_FILES]):
            if _may_be_file(text) and not self._has(text):
                raise LinkstepError(
                    f"{shown(text)} was not opened: a page reads no files but those that `linkstep explore` was given"
                )

    def _has(self, text: str) -> bool:
        try:
            return os.path.realpath(text) in self._files
        except (OSError, ValueError):
            return False


def _may_be_file(text: str) -> bool:
    """Whether text is the name of a file, or looks like one: recipes have no separators; XML and JSON are no names.

    >>> _may_be_file("Torus(4,4)"), _may_be_file("/etc/passwd"), _may_be_file("mine.csv"), _may_be_file("<algo/>")
    (False, True, True, False)
    """
    if exists(text):
        return True
    if text.lstrip().startswith(("<", "{")) or "\n" in text:
        return False
    return any(mark in text for mark in _SEPARATORS) or text.lower().strip().endswith(_ENDINGS)


def _texts(value: object) -> Iterator[str]:
    """Yield all text in a value of JSON, names of members too."""
    rest: list[object] = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, (str, Path)):
            yield str(one)
        elif isinstance(one, Mapping):
            rest += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            rest += one
