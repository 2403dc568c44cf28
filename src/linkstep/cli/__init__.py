"""The command line. ``main(argv) -> int`` runs one command in process; ``NAMES`` is all there is.

Bad input prints one line on standard error and exits with code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from linkstep._version import __version__
from linkstep.cli._common import Command
from linkstep.core.errors import LinkstepError

NAMES = (
    "find",
    "show",
    "schedule",
    "check",
    "wire",
    "lower",
    "verify",
    "simulate",
    "families",
    "synthesize",
    "convert",
    "catalog",
    "completion",
)
"""The commands, in the order the help lists them; each is the ``COMMAND`` of the module of its name here."""


def load_commands(names: Sequence[str] = NAMES) -> tuple[Command, ...]:
    """Return the rows of the command table for these names; only their modules are imported."""
    return tuple(import_module(f"linkstep.cli._{name}").COMMAND for name in names)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"linkstep: {message}; `{self.prog} --help` shows how", file=sys.stderr)
        raise SystemExit(2)


def build_parser(names: Sequence[str] = NAMES) -> argparse.ArgumentParser:
    """Make the parser from the command table, or from some rows of it: to run a command, its own is enough."""
    parser = _Parser(
        prog="linkstep",
        description="Topologies and collective schedules for clusters whose servers are wired to each other.",
        epilog="A RECIPE is how a topology is constructed, such as 'L^3(C(16,{3,4}))'; quote it for the shell.",
    )
    parser.add_argument("--version", action="version", version=f"linkstep {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for command in load_commands(names):
        sub = commands.add_parser(
            command.name, help=command.help, description=command.help[0].upper() + command.help[1:] + ".",
            epilog=f"example: {command.example}", formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a check that failed, 2 bad input."""
    words = sys.argv[1:] if argv is None else list(argv)
    names = (words[0],) if words and words[0] in NAMES else NAMES
    try:
        args = build_parser(names).parse_args(words)
    except SystemExit as exit:  # argparse: --help is 0, bad usage is 2
        return int(exit.code or 0)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except LinkstepError as error:
        print(f"linkstep: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("linkstep: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def entry() -> NoReturn:
    """The ``linkstep`` script."""
    raise SystemExit(main())
