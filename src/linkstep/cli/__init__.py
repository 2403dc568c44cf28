"""The command line. ``main(argv) -> int`` runs one command in process; ``entry`` is the ``linkstep`` process.

Bad input prints one line on standard error and exits with code 2. This module imports next to nothing, so that the
imports that take time happen where an interrupt is seen; ``_parser`` has the command table.
"""

from __future__ import annotations

import os
import sys

from linkstep.core.errors import FileError, LinkstepError

TYPE_CHECKING = False  # type checkers take it for True
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

INTERRUPTED = 130
"""The exit code of a command that was interrupted, as shells have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a check that failed, 2 bad input, 130 interrupted."""
    from linkstep.cli._terminal import ReaderLeft, printable_streams

    with printable_streams():
        try:
            code = _obey(sys.argv[1:] if argv is None else list(argv))
            sys.stdout.flush()
        except LinkstepError as error:
            return _fail(str(error))
        except KeyboardInterrupt:
            _fail("interrupted")
            return INTERRUPTED
        except ReaderLeft:
            return 0
        except MemoryError as error:
            return _fail(f"out of memory: {error}" if str(error) else "out of memory")
        except OSError as error:
            return _fail(f"{error.filename or 'the system'}: {(error.strerror or str(error)).lower()}")
    return code


def _obey(words: list[str]) -> int:
    from linkstep.cli._parser import parse_arguments

    if sys.stdout is None:
        raise FileError("standard output is closed")
    try:
        args = parse_arguments(words)
    except SystemExit as end:  # argparse: --help is 0, bad usage is 2
        return int(end.code or 0)
    code: int = args.run(args)
    return code


def _fail(message: str) -> int:
    line = message.replace("\n", "\\n")
    print(f"linkstep: {line}", file=sys.stderr)
    return 2


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
