"""A walk through the commands as a user types them: in process, at 80 columns, in a folder of its own.

Every step is held to what all text owes its reader: the exit code, no traceback, and no line wider than the terminal.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from linkstep.cli import main

COLUMNS = 80
LONGEST_ERROR = 300
COPIED = re.compile(r"next: |      linkstep |#!/bin/|#SBATCH |srun |scontrol |example: linkstep ")
"""What is copied into a shell or a file, where a line break would break it."""

Phrase = str | re.Pattern[str]


def too_wide(text: str, folder: Path) -> list[str]:
    """Return the lines wider than the terminal, but for those to copy and those with a path that has no end of its own.

    A path under ``folder`` is as long as the user's folders are; no table or sentence may be wide for another reason.
    """
    return [
        line
        for line in text.splitlines()
        if len(line) > COLUMNS and not COPIED.match(line) and str(folder) not in line
    ]  # fmt: skip


def flat(text: str) -> str:
    """Return a text with its line breaks and alignment as single spaces, for phrases that may be broken anywhere."""
    return " ".join(text.split())


class Walk:
    """Runs commands one after the other in a folder, and checks the text of each."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]):
        self.folder = folder
        self.capsys = capsys

    def __call__(self, *argv: str, says: Iterable[Phrase] = (), notes: Iterable[Phrase] = (), code: int = 0) -> str:
        """Run a command; standard output says each of ``says``, standard error each of ``notes`` and else nothing."""
        found, out, err = self.run(argv)
        assert found == code, f"linkstep {' '.join(argv)} exits with {found}: {err or out}"
        assert not too_wide(out, self.folder), f"linkstep {' '.join(argv)}"
        expect(out, says)
        expect(err, notes)
        assert notes or not err, err
        return out

    def run(self, argv: Iterable[str]) -> tuple[int, str, str]:
        """Run a command and return its exit code and both streams."""
        self.capsys.readouterr()
        code = main(list(argv))
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err


def expect(text: str, phrases: Iterable[Phrase]) -> None:
    """Assert that each phrase, or pattern in one line, is in a text."""
    words = flat(text)
    for phrase in phrases:
        if isinstance(phrase, str):
            assert flat(phrase) in words, f"no {phrase!r} in:\n{text}"
        else:
            assert re.search(phrase.pattern, text, phrase.flags | re.MULTILINE), f"no {phrase.pattern!r} in:\n{text}"
