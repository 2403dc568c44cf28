"""The command line. ``main(argv) -> int`` runs one command in process; ``COMMANDS`` is all there is.

Bad input prints one line on standard error and exits with code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from linkstep._version import __version__
from linkstep.cli import (
    _catalog,
    _check,
    _convert,
    _families,
    _find,
    _lower,
    _schedule,
    _show,
    _simulate,
    _synthesize,
    _verify,
    _wire,
)
from linkstep.cli._common import Command
from linkstep.errors import LinkstepError


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="which shell to complete for")


def _run_completion(args: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(build_parser(), args.shell))
    return 0


COMPLETION = Command(
    name="completion",
    help="print a script that completes linkstep commands in your shell",
    example="linkstep completion bash > ~/.local/share/bash-completion/completions/linkstep",
    add_arguments=_add_completion,
    run=_run_completion,
)

COMMANDS: tuple[Command, ...] = (
    _find.COMMAND,
    _show.COMMAND,
    _schedule.COMMAND,
    _check.COMMAND,
    _wire.COMMAND,
    _lower.COMMAND,
    _verify.COMMAND,
    _simulate.COMMAND,
    _families.COMMAND,
    _synthesize.COMMAND,
    _convert.COMMAND,
    _catalog.COMMAND,
    COMPLETION,
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"linkstep: {message}; `{self.prog} --help` shows how", file=sys.stderr)
        raise SystemExit(2)


def build_parser() -> argparse.ArgumentParser:
    """Make the parser from the command table."""
    parser = _Parser(
        prog="linkstep",
        description="Topologies and collective schedules for clusters whose servers are wired to each other.",
        epilog="A RECIPE is how a topology is constructed, such as 'L^3(C(16,{3,4}))'; quote it for the shell.",
    )
    parser.add_argument("--version", action="version", version=f"linkstep {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name, help=command.help, description=command.help[0].upper() + command.help[1:] + ".",
            epilog=f"example: {command.example}", formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 a check that failed, 2 bad input."""
    try:
        args = build_parser().parse_args(argv)
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
