"""Reading, replacing and locking files whole; every failure becomes a FileError of one line.

Every file that linkstep writes by a name that somebody gave is written by ``write_atomically``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from linkstep.core.errors import FileError
from linkstep.core.text import shown

AnyPath = str | os.PathLike[str]

_REFUSED = (
    (stat.S_ISDIR, "directory"),
    (stat.S_ISBLK, "disk (a block device)"),
    (stat.S_ISSOCK, "socket"),
)


def to_path(path: AnyPath) -> Path:
    """Return path as a Path; FileError if no file can have that name.

    >>> to_path("n" * 300 + ".npz")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linkstep.core.errors.FileError: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...: file name too long
    """
    if not isinstance(path, (str, os.PathLike)):
        raise FileError(f"the name of a file must be text or a path, not {shown(path)}")
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


def check_writable(path: AnyPath) -> None:
    """Raise FileError if nothing can be written there: to ask before long work, not after."""
    target = to_path(path)
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        real = Path(os.path.realpath(target)) if target.is_symlink() else target
        if not (folder := real.parent).is_dir():
            raise FileError(f"{path}: there is no folder {folder}") from None
    except NotADirectoryError:
        raise FileError(f"{path}: there is no folder {target.parent}") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {_reason(error)}") from None
    else:
        if not is_standard_output(target):
            _check_kind(path, mode)


def is_standard_output(path: AnyPath) -> bool:
    """Whether a path names what standard output is, such as ``/dev/stdout``."""
    return _standard_descriptor(to_path(path)) == 1


def write_atomically(path: AnyPath, write: Callable[[BinaryIO], None]) -> None:
    """Let ``write`` fill a new file beside ``path``, then put it in its place in one move.

    Whatever goes wrong, ``path`` is afterwards the old file or the new one, never a part, and nothing else is
    left. A symbolic link is followed, and a file that was there keeps its permissions. What is there and is no file
    is never replaced: a pipe or a character device, such as a terminal, is written to once all is known, and
    everything else is refused.
    """
    target = to_path(path)
    try:
        mode = _mode(target)
        descriptor = None if mode is None else _standard_descriptor(target)
        if descriptor is None and (mode is None or stat.S_ISREG(mode)):
            _replace(Path(os.path.realpath(target)), write)
        else:
            if descriptor is None and mode is not None:
                _check_kind(path, mode)
            _write_through(target if descriptor is None else descriptor, write)
    except FileNotFoundError:
        raise FileError(f"{path}: there is no folder {Path(os.path.realpath(target)).parent}") from None
    except UnicodeEncodeError as error:
        raise FileError(f"{path}: cannot be written: {error.object[error.start]!a} is not a character") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {_reason(error)}") from None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a folder, or a file that is made if need be, so that of several processes one goes after the other."""
    import fcntl  # not on every system; only what several processes change needs it

    try:
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise FileError(f"{path}: cannot be locked: {_reason(error)}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:  # not every file system has locks
            raise FileError(f"{path}: cannot be locked: {_reason(error)}") from None
        yield
    finally:
        os.close(handle)


def _mode(target: Path) -> int | None:
    """Return what a path names, links followed; None if there is nothing yet."""
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def _check_kind(path: AnyPath, mode: int) -> None:
    """Raise if something of this mode can be neither replaced nor written through."""
    for test, what in _REFUSED:
        if test(mode):
            raise FileError(f"{path}: is a {what}, not a file")


def _standard_descriptor(target: Path) -> int | None:
    """Return 1 or 2 if a path names what standard output or standard error is now, else None.

    Opening ``/dev/stdout`` again would begin at the start of a file that has text already, and fails on a socket.
    """
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        with contextlib.suppress(OSError):
            if stream is not None and os.path.samestat(target.stat(), os.fstat(descriptor)):
                return descriptor
    return None


def _replace(target: Path, write: Callable[[BinaryIO], None]) -> None:
    draft = target.with_name(f".linkstep-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # or a crash could leave the new name on missing data
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        draft.replace(target)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()  # gone already if all went well


def _write_through(target: Path | int, write: Callable[[BinaryIO], None]) -> None:
    """Write to a descriptor, or to a pipe or a device by its name, what ``write`` makes: all of it or nothing."""
    import shutil  # here: most files are replaced
    import tempfile

    with tempfile.TemporaryFile() as whole:
        write(cast(BinaryIO, whole))
        whole.seek(0)
        if isinstance(target, int):
            (sys.stdout if target == 1 else sys.stderr).flush()  # what was printed before comes before
            opened = os.dup(target)
        else:
            opened = os.open(target, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(opened, "wb") as file:
            shutil.copyfileobj(whole, file)
