"""Small JSON files of ours: an object that says what it is (``format``, ``version``) and holds a few members.

Fabrics, measured runs, selectors and models are such documents. Here is what they share: reading one, or several in a
list, refusing what is none, and replacing a file whole. The format of a fabric is "linkstep/fabric"; in version 1, and
in selectors of version 2, it was "linkstep-fabric". Not here: what the members mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.text import shown
from linkstep.files.disk import AnyPath, open_to_read, to_path, write_atomically
from linkstep.files.kinds import kind_of, wrong_kind
from linkstep.files.own import loads

VERSION = 2
MAX_BYTES = 2**26
"""The most that is read of a document: a thousand runs are far below it."""


def renamed(members: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return members by their names of today; ``names`` has those that are called otherwise now.

    >>> renamed({"bandwidth": "3/4", "steps": 2}, {"bandwidth": "t_b"})
    {'t_b': '3/4', 'steps': 2}
    """
    return {names.get(name, name): value for name, value in members.items()}


def read_documents(path: AnyPath, kind: str) -> list[dict[str, Any]]:
    """Return the documents of a kind ("fabric") in a file, which holds one or a list of them; FileError if not so."""
    with naming(path), _refusing_others(path, kind):
        found = _read(path)
        return [_checked(document, kind) for document in (found if isinstance(found, list) else [found])]


def read_document(path: AnyPath, kind: str, newest: int = VERSION) -> dict[str, Any]:
    """Return the document of a kind ("fabric") in a file; FileError if it holds no such thing, or a newer version."""
    with naming(path), _refusing_others(path, kind):
        return _checked(_read(path), kind, newest)


def write_document(path: AnyPath, kind: str, members: Mapping[str, Any], version: int = VERSION) -> None:
    """Put a document of a kind in a file's place, whole or not at all."""
    try:
        text = json.dumps({"format": f"linkstep/{kind}", "version": version, **members}, indent=2) + "\n"
    except (TypeError, ValueError) as error:
        raise FileError(f"{path}: not written, for JSON cannot say it: {error}") from None
    write_atomically(path, lambda file: file.writelines([text.encode()]))


@contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Put the file's name before whatever is found wrong with its contents."""
    to_path(path)
    try:
        yield
    except LinkstepError as error:
        text = str(error)
        if text.startswith((f"{path}: ", f"{path} is ")):
            raise
        raise FileError(
            f"{path}:{text.removeprefix('line ')}" if text.startswith("line ") else f"{path}: {text}"
        ) from None


@contextmanager
def _refusing_others(path: AnyPath, kind: str) -> Iterator[None]:
    """Say of a file that holds something else what it is."""
    try:
        yield
    except FileError:
        other = None if kind_of(path).name in ("empty", kind) else wrong_kind(path, f"a {kind} file")
        if other is None:
            raise
        raise other from None


def _read(path: AnyPath) -> object:
    with open_to_read(path) as file:
        try:
            data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise FileError(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(data) > MAX_BYTES:
        raise FileError(f"is larger than the {MAX_BYTES} bytes that such a file may have")
    return loads(data)


def _checked(document: object, kind: str, newest: int = VERSION) -> dict[str, Any]:
    """Return a document if it is of this kind and this version can read it."""
    name = document.get("format") if isinstance(document, dict) else None
    if not isinstance(document, dict) or name not in (f"linkstep/{kind}", f"linkstep-{kind}"):
        other = f": its format is {shown(name)}" if name is not None else ""
        raise FileError(f'is not a {kind} file of linkstep ("format": "linkstep/{kind}"){other}')
    number = document.get("version")
    if type(number) is not int or number < 1:
        raise FileError(f"version must be a positive integer, not {shown(number)}")
    if number > (newest if name == f"linkstep/{kind}" else newest - 1):
        raise FileError(f"written by a newer linkstep (version {shown(number)}); upgrade linkstep to read it")
    return document
