"""What an exhibit is made from, as one digest: a later run keeps what was written only while this is the same.

All files of the installed package count, and the user's own catalog, which ``find`` answers from too. The version alone
would not do: it stays the same while code and data change. Following imports from an exhibit's module would leave out
little, since ``find`` and ``schedule`` reach nearly everything, and would miss data files and imports made inside
functions. So an edit anywhere makes all exhibits again, which takes minutes; a figure that is out of date costs more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from linkstep.core.errors import FileError
from linkstep.recipe.names import user_folder

PACKAGE = Path(__file__).parent.parent
_CACHES = "__pycache__"
"""What Python and numba leave beside modules, made from them."""


def files_below(folder: Path) -> list[Path]:
    """Return every file that counts, sorted: of the package, modules, tables, catalog, models."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and _CACHES not in path.parts)


@cache
def digest() -> str:
    """Return the SHA-256 of the package's files and of the user's catalog: names below the folder, and contents."""
    own = user_folder()
    found = hashlib.sha256()
    for folder in (PACKAGE, *(() if own is None else (own,))):
        _add_files(found, folder, files_below(folder))
    return found.hexdigest()


def _add_files(found: hashlib._Hash, folder: Path, files: Iterable[Path]) -> None:
    for path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileError(f"{path}: cannot be read: {error.strerror}") from None
        # the length keeps the end of one file apart from the start of the next
        found.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    found.update(b"\0")
