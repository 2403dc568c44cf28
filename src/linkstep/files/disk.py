"""Reading and replacing files whole; every failure becomes a FileError of one line."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from linkstep.core.errors import FileError

AnyPath = str | os.PathLike[str]


def to_path(path: AnyPath) -> Path:
    """Return path as a Path; FileError if no file can have that name."""
    if not os.fspath(path) or "\0" in os.fspath(path):
        raise FileError(f"{os.fspath(path)!r} is not the name of a file")
    return Path(path)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()


def open_to_read(path: AnyPath) -> BinaryIO:
    """Return the file, open; FileError if it is missing, a directory or not ours to read."""
    try:
        return to_path(path).open("rb")
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise FileError(f"{path}: is a directory, not a file") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {_reason(error)}") from None


def write_atomically(path: AnyPath, write: Callable[[BinaryIO], None]) -> None:
    """Let ``write`` fill a new file beside ``path``, then put it in its place in one move.

    Whatever goes wrong, ``path`` is afterwards the old file or the new one, never a part, and nothing else is
    left. A symbolic link is followed, and a file that was there keeps its permissions.
    """
    target = Path(os.path.realpath(to_path(path)))
    if target.is_dir():
        raise FileError(f"{path}: is a directory, not a file")
    draft = target.with_name(f".linkstep-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # or a crash could leave the new name on missing data
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        draft.replace(target)
    except FileNotFoundError:
        raise FileError(f"{path}: there is no folder {target.parent}") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {_reason(error)}") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()  # gone already if all went well
