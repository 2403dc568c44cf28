"""The command table and the argument parser made from it. ``NAMES`` is all the commands there are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from linkstep._version import __version__
from linkstep.core.errors import LinkstepError, UnitError

if TYPE_CHECKING:
    from linkstep.cli._command import Command

NAMES = (
    "find",
    "show",
    "schedule",
    "check",
    "throughput",
    "wire",
    "lower",
    "verify",
    "simulate",
    "train-sim",
    "profile",
    "run",
    "testbed",
    "fit",
    "baselines",
    "families",
    "synthesize",
    "convert",
    "catalog",
    "reproduce",
    "completion",
)
"""The commands, in the order the help lists them; each is the ``COMMAND`` of the module of its name here."""


def load_commands(names: Sequence[str] = NAMES) -> tuple[Command, ...]:
    """Return the rows of the command table for these names; only their modules are imported."""
    return tuple(import_module(f"linkstep.cli._{name.replace('-', '_')}").COMMAND for name in names)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        line = message.replace("\n", "\\n")
        print(f"linkstep: {line}; `{self.prog} --help` shows how", file=sys.stderr)
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


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; only the module of the command it names is imported, for ``--version`` none."""
    if not words or words[0].startswith("-"):
        return build_parser(() if words[:1] == ["--version"] else NAMES).parse_args(words)
    if words[0] not in NAMES:
        close = get_close_matches(words[0], NAMES, 1)
        hint = f"did you mean {close[0]!r}?" if close else "`linkstep --help` lists them"
        raise LinkstepError(f"no command is called {words[0]!r}; {hint}")
    return _with_size(build_parser(words[:1]).parse_args(words))


def _with_size(args: argparse.Namespace) -> argparse.Namespace:
    """Read ``--size`` once, here; a plain number of bytes gets its unit, since commands print what was asked for."""
    from linkstep.core.units import WrittenSize  # here: --help needs none

    size = getattr(args, "size", None)
    if isinstance(size, str):
        with suppress(UnitError):  # the command refuses it, or takes a list of sizes
            args.size = WrittenSize(f"{size.strip()}B" if size.strip().isdecimal() else size)
    return args
