"""What a command may do to a terminal: print text, and nothing else.

Names come from files of others and from the command line. A name may hold escape codes that repaint a terminal, or
characters that standard output cannot encode. Both are printed as escapes such as ``\\x1b``. Files that commands write
are not touched: names in them stay as they are.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import TextIO

from linkstep.core.errors import FileError
from linkstep.core.text import cut

# Control characters but for tab and newline, what reorders a line, and what some programs take for a newline.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


LONGEST = 300
"""Characters of a line of ours on standard error."""
_OURS = "linkstep: "


class ReaderLeft(BrokenPipeError):
    """The reader of standard output, ``head`` say, has closed it."""


def printable(text: str, encoding: str = "utf-8") -> str:
    r"""Return text with escapes for what a terminal would act on or ``encoding`` lacks.

    >>> print(printable("a\x1b[2Jb\ud800"))
    a\x1b[2Jb\ud800
    >>> print(printable("10µs", "ascii"))
    10\xb5s
    """
    text = _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)
    return text.encode(encoding, "backslashreplace").decode(encoding)


class _Printable(io.TextIOBase):
    """A text stream that passes on what is printable."""

    def __init__(self, inner: TextIO) -> None:
        self.inner = inner

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.inner.encoding or "utf-8"

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self.inner.isatty()

    def fileno(self) -> int:
        return self.inner.fileno()


class _Output(_Printable):
    """Standard output: what cannot be written is an error of the command."""

    is_used = False
    """Whether anything was written."""

    def write(self, text: str) -> int:
        self.is_used = self.is_used or bool(text)
        with self._reporting():
            self.inner.write(printable(text, self.encoding))
        return len(text)

    def flush(self) -> None:
        with self._reporting():
            self.inner.flush()

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise ReaderLeft from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise FileError(f"standard output: cannot be written: {reason}") from None


class _Messages(_Printable):
    """Standard error: where it cannot be written there is nobody to tell. No line of ours is longer than 300."""

    last: str | None = None
    """The last line of ours, without what it begins with."""

    def write(self, text: str) -> int:
        lines = [cut(line, LONGEST) if line.startswith(_OURS) else line for line in self._lines(text)]
        self.last = next((line.removeprefix(_OURS) for line in lines[::-1] if line.startswith(_OURS)), self.last)
        with contextlib.suppress(OSError):
            self.inner.write("\n".join(lines))
        return len(text)

    def _lines(self, text: str) -> list[str]:
        return printable(text, self.encoding).split("\n")

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self.inner.flush()


@contextlib.contextmanager
def printable_streams() -> Iterator[None]:
    """Let standard output and standard error be printable; FileError if standard output is closed."""
    with contextlib.ExitStack() as stack:
        errors = sys.stderr
        if errors is None:  # closed: as good as thrown away
            errors = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123
        stack.enter_context(contextlib.redirect_stderr(_Messages(errors)))
        if sys.stdout is not None:
            stack.callback(_let_go, sys.stdout)
            stack.enter_context(contextlib.redirect_stdout(_Output(sys.stdout)))
        yield


def _let_go(stream: TextIO) -> None:
    """Flush; what cannot be written is dropped now, or the interpreter would complain of it when it ends."""
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def has_printed() -> bool:
    """Whether the command has written to standard output."""
    return getattr(sys.stdout, "is_used", True)


def last_message() -> str | None:
    """Return the last line of ours on standard error, without ``linkstep: ``; None if there was none."""
    last: str | None = getattr(sys.stderr, "last", None)
    return last


def raw(stream: TextIO) -> TextIO:
    """Return the stream itself, for a progress bar that moves the cursor."""
    return stream.inner if isinstance(stream, _Printable) else stream
