"""Run the ``console`` blocks of README, CONTRIBUTING and docs again and write what they print now into the pages.

``python scripts/make_console_blocks.py [PAGE...]``; the tests compare the pages with what is printed. Read the diff.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from linkstep.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs").glob("*/*.md")),
]


def printed(command: str, folder: str) -> str:
    """Return what a command prints on standard output."""
    _, *argv = shlex.split(command)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(argv)
    if code != 0:
        raise SystemExit(f"{command} ends with code {code}")
    return out.getvalue().replace(folder, "/home/you")


def remade(page: Path) -> str:
    """Return the text of a page with its blocks run in order, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):

        def block(found: re.Match[str]) -> str:
            commands = re.findall(r"(?m)^\$ (.*)$", found[1])
            lines = "".join(f"$ {command}\n{printed(command, folder)}" for command in commands)
            return f"```console\n{lines}```"

        return re.sub(r"(?ms)^```console\n(.*?)^```", block, page.read_text())


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    os.environ["XDG_DATA_HOME"] = tempfile.gettempdir() + "/nobody"
    for page in [Path(name) for name in sys.argv[1:]] or PAGES:
        page.write_text(remade(page.resolve()))
