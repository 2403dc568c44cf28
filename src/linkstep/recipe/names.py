"""Short names of the catalog's recipes: ``Cat(47,3,12345)`` for a recipe of N = 47, d = 3 that takes half a page.

The number comes from the SHA-256 of the recipe's text, so that an entry keeps its name whatever else the catalog has.
Here is where the catalog's files are: those that ship with linkstep, and the user's own, which ``linkstep catalog add``
fills. Only the text of their lines is read here: what an entry costs is the business of ``linkstep.search``.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from linkstep.core.errors import FileError, RecipeError, warn

DATA = Path(__file__).parent.parent / "data" / "catalog"
HEADER = "nodes,degree,kind,distance_sum,all_to_all,allgather,reduce_scatter,recipe"
"""The first line of a catalog file; the recipe comes last, so its commas need no quotes."""

SOURCES = "sources.txt"
"""The file beside a user's catalog that says where graphs come from: a line for each, the recipe's digest first."""

LONG = 28
"""Recipes of more characters are printed by their names where they have one."""
_DIGITS = 5
_NODES = re.compile("[0-9]{1,9}")


def user_folder() -> Path | None:
    """Return the folder of the user's own catalog, whether there is one yet or not; None where there is no home.

    It is ``linkstep/catalog`` in ``$XDG_DATA_HOME``, or else in ``~/.local/share``.
    """
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not base.is_absolute():  # as the standard has it: what is relative does not count
        try:
            base = Path.home() / ".local" / "share"
        except RuntimeError:
            return None
    return base / "linkstep" / "catalog"


def catalog_folders() -> tuple[Path, ...]:
    """Return the folders that make up the catalog: the one that ships with linkstep, and the user's where it exists.

    Where that cannot be read, a warning says so: everything else works without it.
    """
    own = user_folder()
    try:
        if own is None or not own.is_dir():
            return (DATA,)
        next(own.iterdir(), None)
    except OSError as error:
        warn(f"your own catalog is left out: {own}: {error.strerror}")
        return (DATA,)
    return (DATA, own)


def read_text(path: Path) -> str:
    """Return the text of a catalog file; FileError if it is not a text file that can be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: is not a text file: byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None


def _own_or_raise(folder: Path, name: str) -> str:
    """Return the text of a catalog file; of the user's own catalog nothing, with a warning, if it cannot be read."""
    try:
        return read_text(folder / name)
    except FileError as error:
        if folder != user_folder():
            raise
        warn(f"a file of your own catalog is left out: {error}")
        return ""


def lines_by_size(folder: Path, degree: int) -> Mapping[int, list[str]]:
    """Return the lines of a catalog for one degree by N, none without its file; those that do not start with N under 0.

    A file is read again when it has changed.
    """
    return _lines(folder, degree, _stamp(folder, degree))


def _read_lines(folder: Path, degree: int) -> Mapping[int, list[str]]:
    by_nodes: dict[int, list[str]] = defaultdict(list)
    for line in _own_or_raise(folder, f"d{degree}.csv").split("\n")[1:]:
        nodes = line.partition(",")[0]
        if line:
            by_nodes[int(nodes) if _NODES.fullmatch(nodes) else 0].append(line)
    return dict(by_nodes)


_Stamp = tuple[int, int]


def _stamp(folder: Path, degree: int) -> _Stamp | None:
    """Return what changes when a catalog's file for a degree does; None if it has none."""
    try:
        found = (folder / f"d{degree}.csv").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


@cache
def _lines(folder: Path, degree: int, stamp: _Stamp | None) -> Mapping[int, list[str]]:
    return {} if stamp is None else _read_lines(folder, degree)


def catalog_names(num_nodes: int, degree: int) -> Mapping[int, str]:
    """Return the recipes that the catalog has for N and d by the numbers in their names.

    >>> dict(catalog_names(5, 4))
    {85157: 'K_5'}
    """
    return _names(num_nodes, degree, *((folder, _stamp(folder, degree)) for folder in catalog_folders()))


@cache
def _names(num_nodes: int, degree: int, *files: tuple[Path, _Stamp | None]) -> Mapping[int, str]:
    """Number the recipes folder by folder, so that what a user adds does not rename what ships."""
    names: dict[int, str] = {}
    for folder, stamp in files:
        recipes = {line.split(",", 7)[-1] for line in _lines(folder, degree, stamp).get(num_nodes, [])}
        new = sorted(recipes - set(names.values()))
        whole = [int(digest(text), 16) for text in new]
        digits = _DIGITS
        while len({number % 10**digits for number in whole} - names.keys()) < len(whole):
            digits += 1
        names |= {number % 10**digits: text for number, text in zip(whole, new, strict=True)}
    return names


def digest(text: str) -> str:
    """Return the SHA-256 of a recipe's text, as 64 hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def source_of(text: str) -> str | None:
    """Return where the graph of a recipe comes from, as a user said who added it; None if nobody did."""
    for folder in catalog_folders():
        path = folder / SOURCES
        for line in _own_or_raise(folder, SOURCES).splitlines() if path.is_file() else ():
            found, _, source = line.partition(" ")
            if found == digest(text):
                return source
    return None


def named_recipe(num_nodes: int, degree: int, number: int) -> str:
    """Return the text of the recipe called ``Cat(N,d,number)``."""
    found = catalog_names(num_nodes, degree)
    if number not in found:
        there = ", ".join(str(known) for known in sorted(found)) or "none"
        size = f"N={num_nodes}, d={degree}"
        raise RecipeError(f"Cat({num_nodes},{degree},{number}) is not in the catalog; its numbers for {size}: {there}")
    return found[number]


def name_of(text: str, num_nodes: int, degree: int) -> str | None:
    """Return the name of a recipe of this N and d, or None if the catalog does not have it."""
    for number, known in catalog_names(num_nodes, degree).items():
        if known == text:
            return f"Cat({num_nodes},{degree},{number})"
    return None
