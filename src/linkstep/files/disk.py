"""Reading and replacing files whole; every failure becomes a FileError of one line."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from linkstep.core.errors import FileError

AnyPath = str | os.PathLike[str]


def to_path(path: AnyPath) -> Path:
    """Return path as a Path; FileError if no file can have that name.

    >>> to_path("n" * 300 + ".npz")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linkstep.core.errors.FileError: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...: file name too long
    """
    text = os.fspath(path)
    if not text:
        raise FileError("'' is not the name of a file")
    try:
        os.lstat(text)
    except ValueError:  # an embedded NUL, or a character that the file system's encoding does not have
        raise FileError(f"{_shown(text)!r} is not the name of a file") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileError(f"{_shown(text)}: {_reason(error)}") from None
    return Path(text)


def _shown(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:40]}..."


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
    draft = target.with_name(f".linkstep-{secrets.token_hex(8)}.tmp")
    try:
        if target.is_dir():
            raise IsADirectoryError
        with draft.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # or a crash could leave the new name on missing data
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        draft.replace(target)
    except FileNotFoundError:
        raise FileError(f"{path}: there is no folder {target.parent}") from None
    except IsADirectoryError:
        raise FileError(f"{path}: is a directory, not a file") from None
    except UnicodeEncodeError as error:
        raise FileError(f"{path}: cannot be written: {error.object[error.start]!a} is not a character") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {_reason(error)}") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()  # gone already if all went well
