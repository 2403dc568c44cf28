"""``--plugin FILE`` of every command: files are loaded before options are read, since they add to what these can be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from linkstep.core.errors import LinkstepError

OPTION = "--plugin"


class _InFull(argparse.Action):
    """What an abbreviation of ``--plugin`` comes to: the option itself is taken out before."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> NoReturn:
        parser.error(f"write {OPTION} in full")


def add_plugin(parser: argparse.ArgumentParser) -> None:
    """Add ``--plugin`` to the help of a command."""
    parser.add_argument(
        OPTION, action=_InFull, metavar="FILE", default=argparse.SUPPRESS,
        help="run a Python file first that registers families, methods, targets and the like; may be repeated",
    )  # fmt: skip


@contextmanager
def plugged_in(files: Sequence[str]) -> Iterator[None]:
    """Load the files of a command for as long as it runs."""
    if not files:
        yield
        return
    from linkstep.core.plugins import plugged  # here: --version needs none

    with plugged(files):
        yield


def plugin_files(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command line without ``--plugin`` and its files, and the files.

    What comes after ``--``, or is a command that ``testbed exec`` runs, stays as it is.

    >>> plugin_files(["find", "12", "3", "--plugin", "my.py", "--plugin=other.py"])
    (['find', '12', '3'], ['my.py', 'other.py'])
    """
    kept: list[str] = []
    files: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--" or kept == ["testbed", "exec"]:
            kept += [word, *rest]
        elif word == OPTION:
            file = next(rest, None)
            if file is None:
                raise LinkstepError(f"{OPTION} takes a file")
            files.append(file)
        elif word.startswith(f"{OPTION}="):
            files.append(word.removeprefix(f"{OPTION}="))
        else:
            kept.append(word)
    return kept, files
