"""The argument parser, made from the command table (``_commands``). What is misspelt is refused with what was meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from linkstep._version import __version__
from linkstep.cli._commands import COMMANDS, NAMES, nearest, overview
from linkstep.cli._plugins import add_plugin
from linkstep.core.errors import LinkstepError

if TYPE_CHECKING:
    from linkstep.cli._command import Command

_TAKES_ALL = (argparse.REMAINDER, argparse.PARSER)
_LONG = 32
"""Characters of an option's choices that a usage lists."""


def load_commands(names: Sequence[str] = NAMES) -> tuple[Command, ...]:
    """Return the rows of the command table for these names; only their modules are imported."""
    return tuple(import_module(f"linkstep.cli._{name.replace('-', '_')}").COMMAND for name in names)


class UsageError(LinkstepError):
    """Words and options that are no command."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # -5us is a bad time, not an option

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` shows how")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what is not known is refused here, where the options are at hand, and before what is missing."""
        if not any(action.nargs in _TAKES_ALL for action in self._actions):
            self._refuse_unknown([] if args is None else args)
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}")
        return found, extra

    def _refuse_unknown(self, words: Sequence[str]) -> None:
        for word in words[: words.index("--") if "--" in words else None]:
            option = word.partition("=")[0]
            if not option.startswith("--") or " " in word:
                continue
            if any(name.startswith(option) for name in self._option_string_actions):
                continue
            if meant := self._meant(option):
                raise UsageError(f"no option is called {option}; {meant}")
            self.error(f"unrecognized arguments: {option}")

    def _meant(self, option: str) -> str | None:
        """Return what to write instead of an option that there is not, if something is near."""
        if action := next((action for action in self._get_positional_actions() if f"--{action.dest}" == option), None):
            return f"write {action.metavar or action.dest} alone, as in `{self.prog} --help`"
        names = {name.lstrip("-"): name for name in self._option_string_actions}
        close = nearest(option.lstrip("-"), names, cutoff=0.7)
        return f"did you mean {names[close]}?" if close else None

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        """Read a value; what is no number is refused in words of people, not of Python."""
        try:
            return super()._get_value(action, text)
        except argparse.ArgumentError:
            if action.type is int:
                raise argparse.ArgumentError(action, f"must be a whole number, not {text!r:.60}") from None
            if action.type is float:
                raise argparse.ArgumentError(action, f"must be a number, not {text!r:.60}") from None
            raise

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is none of the choices, with the nearest."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        close = nearest(str(value), choices)
        hint = f", did you mean {close!r}?" if close else ""
        raise argparse.ArgumentError(action, f"invalid choice: {value!r:.60}{hint} (choose from {', '.join(choices)})")


def build_parser(names: Sequence[str] = NAMES) -> argparse.ArgumentParser:
    """Make the parser from the command table, or from some rows of it: to run a command, its own is enough."""
    parser = _Parser(
        prog="linkstep",
        description="Topologies and collective schedules for servers that are wired to each other.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plugin(parser)
    parser.add_argument("--version", action="version", version=f"linkstep {__version__}")
    if not names:
        return _without_commands(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for command in load_commands(names):
        text, page = COMMANDS[command.name]
        sub = commands.add_parser(
            command.name, help=text, description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"example: {command.example}\ndocs: {page}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        command.add_arguments(sub)
        add_plugin(sub)
        _name_long_choices(sub)
        sub.set_defaults(run=command.run)
    return parser


def _name_long_choices(parser: argparse.ArgumentParser) -> None:
    """Let an option stand for its choices in the usage, which cannot be broken there, where these are long."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                _name_long_choices(sub)
        elif action.choices is not None and action.metavar is None:
            choices = [str(choice) for choice in action.choices]
            if sum(map(len, choices)) > _LONG:
                action.metavar = action.dest.upper().replace("_", "-")
                action.help = f"{', '.join(choices)}; {action.help}"


def _without_commands(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Return the parser of ``--help`` and ``--version``, which imports no command."""
    parser.usage = "linkstep COMMAND ..."
    parser.description = f"{parser.description}\n\n{overview()}"
    parser.epilog = (
        "`linkstep COMMAND --help` shows a command's options. A RECIPE is how a topology\n"
        "is constructed, such as 'L^3(C(16,{3,4}))'; quote it for the shell. Words are in\n"
        "docs/reference/glossary.md; quantities and options of all commands in\n"
        "docs/reference/commands.md."
    )
    return parser


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; only the module of the command it names is imported, for ``--help`` and such none."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words:
        words = ["--help"]
    if any(option.startswith(words[0]) for option in ("--help", "--version", "-h") if words[0] not in ("", "-")):
        return build_parser(()).parse_args(words[:1])
    if words[0].startswith("-"):
        raise UsageError(f"{words[0]} comes after a command, as in `linkstep find 16 4`; `linkstep --help` lists them")
    if words[0] not in NAMES:
        close = nearest(words[0], (*NAMES, "help"))
        hint = f"did you mean {close!r}?" if close else "`linkstep --help` lists them"
        raise UsageError(f"no command is called {words[0]!r}; {hint}")
    return build_parser(words[:1]).parse_args(words)
