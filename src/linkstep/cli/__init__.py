"""The command line. ``main(argv) -> int`` runs one command in process; ``entry`` is the ``linkstep`` process.

Bad input prints one line on standard error and exits with code 2; with ``--json`` standard output has it too, as a
document. This module imports next to nothing, so that the
imports that take time happen where an interrupt is seen; ``_parser`` has the command table.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from linkstep.core.errors import FileError, LinkstepError, LinkstepWarning

TYPE_CHECKING = False  # type checkers take it for True
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

INTERRUPTED = 130
"""The exit code of a command that was interrupted, as shells have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a check that failed, 2 bad input, 130 interrupted."""
    from linkstep.cli._terminal import ReaderLeft, printable_streams

    with printable_streams(), _warnings_in_a_line():
        words, kind = sys.argv[1:] if argv is None else list(argv), "Failure"
        try:
            code = _obey(words)
            sys.stdout.flush()
        except ReaderLeft:
            return 0
        except (LinkstepError, KeyboardInterrupt, MemoryError, OSError) as error:
            code, kind = _fail(error), type(error).__name__
        if code and "--json" in words:
            from linkstep.cli._failure import print_failure

            print_failure(words, code, kind)
    return code


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print linkstep's own warnings as it prints its errors, each once."""
    import warnings

    usual = warnings.showwarning
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if not issubclass(category, LinkstepWarning):
            usual(message, category, *place)
        elif str(message) not in said:
            said.add(str(message))
            print(f"linkstep: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        # Not "once": Python forgets what it warned of whenever a module, such as one imported late, changes filters.
        warnings.filterwarnings("always", category=LinkstepWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _obey(words: list[str]) -> int:
    from linkstep.cli._parser import parse_arguments
    from linkstep.cli._plugins import plugged_in, plugin_files

    if sys.stdout is None:
        raise FileError("standard output is closed")
    words, files = plugin_files(words)
    with plugged_in(files):
        try:
            args = parse_arguments(words)
        except SystemExit as end:  # argparse: --help is 0, bad usage is 2
            return int(end.code or 0)
        if sys.stderr.isatty():
            from linkstep.cli._progress import say_when_compiling

            say_when_compiling()
        if getattr(args, "json_file", None) is not None:
            from linkstep.cli._output import check_json_file

            check_json_file(args)
        code: int = args.run(args)
        if hasattr(args, "saved_json") and not (args.json or getattr(args, "csv", False)):
            print(f"JSON saved to {args.saved_json}")
        return code


def _fail(error: BaseException) -> int:
    """Say what is wrong in a line, and return the exit code."""
    line = _line(error).replace("\n", "\\n")
    print(f"linkstep: {line}", file=sys.stderr)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 2


def _line(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {(error.strerror or str(error)).lower()}"
    return str(error)


def entry() -> NoReturn:
    """The ``linkstep`` script, and ``python -m linkstep``."""
    try:
        _fill_standard_descriptors()
        from linkstep.cli._signals import insistent_interrupts

        with insistent_interrupts():
            code = main()
    except KeyboardInterrupt:  # before main could see it, or while it cleaned up
        code = INTERRUPTED
        if sys.stderr is not None:
            print("linkstep: interrupted", file=sys.stderr)
    if code == INTERRUPTED:
        from linkstep.cli._signals import leave_at_once

        leave_at_once(code)
    raise SystemExit(code)


def _fill_standard_descriptors() -> None:
    """Open the null device for those of 0, 1 and 2 that are closed, or the next file opened would become them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
