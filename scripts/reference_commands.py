"""Pages of the reference that say what each command takes, from the parsers that the commands are read by."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from scripts.reference_text import escaped, fenced, link_to

from linkstep.cli._commands import COMMANDS, GROUPS
from linkstep.cli._parser import build_parser, load_commands

WIDTH = 80
HEAD = """\
# Every command

What each takes and does, made from the parsers themselves, by the work they do. [Commands](../commands.md) has what
they share: quantities, exit codes, the options that mean the same everywhere.
"""
UNSAID = ("--help",)
"""Options that every command has and nobody looks up."""


def command_pages() -> dict[str, str]:
    """Return the pages by name, without endings: ``index`` and one for each command."""
    parsers = _actions(build_parser())
    examples = {command.name: command.example for command in load_commands()}
    pages = {name: _page(name, parsers[name], examples[name]) for name in COMMANDS}
    return {"index": _index()} | pages


def _index() -> str:
    parts = [HEAD]
    for (group, page), rows in GROUPS.items():
        lines = "".join(f"| [{name}]({name}.md) | {escaped(text)} |\n" for name, (text, _) in rows.items())
        title = f"\n## {group.capitalize()}\n\nStart with {link_to(page)}.\n"
        parts.append(f"{title}\n| command | what it does |\n|---|---|\n{lines}")
    entries = "\n".join(COMMANDS)
    return "".join([*parts, f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"])


def _page(name: str, parser: argparse.ArgumentParser, example: str) -> str:
    parts = [f"# linkstep {name}\n", f"{escaped(parser.description or '')} More in {link_to(COMMANDS[name][1])}.\n"]
    parts.append(f"Example:\n\n{fenced('sh', example)}")
    parts += _section(parser)
    for action, sub in _actions(parser).items():
        about = _helps(parser).get(action, "")
        parts += [f"## linkstep {name} {action}\n", f"{escaped(about[:1].upper() + about[1:])}.\n" if about else ""]
        parts += _section(sub)
    return "\n".join(part for part in parts if part)


def _section(parser: argparse.ArgumentParser) -> Iterator[str]:
    """List the usage and the options by group."""
    formatter = argparse.HelpFormatter(parser.prog, width=WIDTH)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups)
    usage = formatter.format_help().strip().removeprefix("usage: ")
    yield "Usage:\n"
    yield fenced("text", usage.replace("\n       ", "\n"))
    yield f"```{{program}} {parser.prog}\n```\n"
    for group in parser._action_groups:
        rows = [action for action in group._group_actions if not _is_left_out(action)]
        if not rows and not group.description:
            continue
        yield f"**{escaped((group.title or '').replace('positional arguments', 'arguments').capitalize())}**\n"
        if group.description:
            text = group.description
            yield fenced("text", text) if "\n" in text else f"{escaped(text[0].upper() + text[1:])}.\n"
        yield from (_entry(parser, action) for action in rows)


def _is_left_out(action: argparse.Action) -> bool:
    return (
        action.help is argparse.SUPPRESS
        or any(option in UNSAID for option in action.option_strings)
        or isinstance(action, argparse._SubParsersAction)
    )


def _entry(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return one option or argument with what it means."""
    formatter = parser._get_formatter()
    said = formatter._format_action_invocation(action)
    text = formatter._expand_help(action) if action.help else ""
    return f"```{{option}} {said}\n{escaped(f'{text[0].upper()}{text[1:]}.') if text else ''}\n```\n"


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the words that a parser chooses between, such as up and down of ``testbed``."""
    return {
        name: sub
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, sub in action.choices.items()
    }


def _helps(parser: argparse.ArgumentParser) -> dict[str, str]:
    return {
        choice.dest: choice.help or ""
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for choice in action._choices_actions
    }
