"""``linkstep completion``: tab completion for your shell, made of the parser by shtab.

Choices are in the script. What depends on the line, such as the hosts of a wiring, it asks ``linkstep completion
--words`` for when the key is pressed (``_words``).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from linkstep.cli._command import Command
from linkstep.cli._words import KINDS, words
from linkstep.core.errors import LinkstepError

SHELLS = ("bash", "zsh", "fish", "tcsh")

_BY_METAVAR = {
    "RECIPE|FILE": "recipes", "RECIPE|FILE|N d": "recipes", "RECIPE": "recipes", "IN": "recipes",
    "MODEL": "models", "HOST": "hosts",
    "A,B": "cables", "A,B[,oneway]": "cables", "A,B[,oneway]=RATE": "cables", "NAME": "testbeds",
}  # fmt: skip
"""What is completed where an argument is called this in the help."""
_FILES = ("FILE", "OUT", "LOG", "FILE|A,B,...", "A:B|FILE", "FILE.py:CALLABLE")
_FOLDERS = ("DIR", "FOLDER")
_OR_FILES = ("recipes", "models")
"""Kinds in whose place a file may be named."""

_ASK = "linkstep completion --words"
_PREAMBLES = {
    "bash": f"""_linkstep_words() {{  # kind, word
  local word="${{2#[\\'\\"]}}" line
  while IFS= read -r line; do
    [[ "$line" == "$word"* ]] && printf '%s\\n' "$line"
  done < <({_ASK} "$1" --line "${{COMP_WORDS[@]:0:COMP_CWORD+1}}" 2>/dev/null)
}}
""",
    "zsh": f"""_linkstep_words() {{  # kind
  local -a found
  found=("${{(@f)$({_ASK} "$1" --line "${{(@)words[1,CURRENT]}}" 2>/dev/null)}}")
  compadd -- $found
}}
""",
    "fish": f"""function __linkstep_words
    {_ASK} $argv[1] --line (commandline -opc) (commandline -ct) 2>/dev/null
end
""",
}


def _complete(kind: str) -> dict[str, str]:
    """Return how each shell completes a kind of words."""
    files = kind in _OR_FILES
    return {
        "bash": f"_linkstep_{kind}_or_file",
        "zsh": f"{{_linkstep_words {kind}{'; _files' if files else ''}}}",
        "fish": f"(__linkstep_words {kind}{'; __fish_complete_path (commandline -ct)' if files else ''})",
        "tcsh": f"`{_ASK} {kind}`",
    }


def _preamble(shell: str) -> str:
    if shell != "bash":
        return _PREAMBLES.get(shell, "")
    files = '; compgen -f -- "$1"'
    functions = [
        f'_linkstep_{kind}_or_file() {{\n  _linkstep_words {kind} "$1"{files if kind in _OR_FILES else ""}\n}}'
        for kind in KINDS
    ]
    return "\n".join([_PREAMBLES["bash"], *functions])


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _actions(sub)
        else:
            yield action


def script(shell: str) -> str:
    """Return the script that completes commands in a shell."""
    import shtab

    from linkstep.cli._parser import build_parser

    parser = build_parser()
    for action in _actions(parser):
        name = str(action.metavar)
        if action.choices is None and action.option_strings != ["--name"]:
            if name in _BY_METAVAR:
                action.complete = _complete(_BY_METAVAR[name])  # type: ignore[attr-defined]
            elif name in _FILES or name in _FOLDERS:
                action.complete = shtab.FILE if name in _FILES else shtab.DIRECTORY  # type: ignore[attr-defined]
    text: str = shtab.complete(parser, shell, preamble=_preamble(shell))
    return text


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=SHELLS, help="which shell to complete for")
    parser.add_argument("--words", choices=tuple(KINDS), help="what the script asks for: words of a kind, one a line")
    parser.add_argument("--line", nargs=argparse.REMAINDER, default=[], metavar="WORD", help="the line so far")


def _run(args: argparse.Namespace) -> int:
    if (args.shell is None) == (args.words is None):
        raise LinkstepError(f"say which shell to complete for: {', '.join(SHELLS)}")
    print(script(args.shell) if args.words is None else "\n".join(words(args.words, args.line)))
    return 0


COMMAND = Command(
    name="completion",
    example="linkstep completion fish > ~/.config/fish/completions/linkstep.fish",
    add_arguments=_add_arguments,
    run=_run,
)
