"""``linkstep completion``: tab completion for your shell."""

from __future__ import annotations

import argparse

from linkstep.cli._command import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="which shell to complete for")


def _run(args: argparse.Namespace) -> int:
    import shtab

    from linkstep.cli._parser import build_parser

    print(shtab.complete(build_parser(), args.shell))
    return 0


COMMAND = Command(
    name="completion",
    help="print a script that completes linkstep commands in your shell",
    example="linkstep completion bash > ~/.local/share/bash-completion/completions/linkstep",
    add_arguments=_add_arguments,
    run=_run,
)
