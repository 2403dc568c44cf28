"""The page of error messages: what it shows of commands is printed, and every other message stands in the source."""

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from linkstep.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "troubleshooting.md").read_text()
BLOCKS = [block.splitlines() for block in re.findall(r"^```text\n(.*?)^```", PAGE, re.M | re.S)]
HOLE = "\0"
"""What stands for a part of a message that is put in."""


def commands() -> list:
    """Return each command of the page with the lines that it shows below."""
    found = []
    for block in BLOCKS:
        for line in block:
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif block[0].startswith("$ "):
                found[-1][1].append(line)
    return [
        pytest.param(command, lines, id=command, marks=pytest.mark.slow if "UniRing(1,40)" in command else [])
        for command, lines in found
    ]


def quoted() -> list[str]:
    """Return the messages that are quoted without a command."""
    return [line for block in BLOCKS if not block[0].startswith("$ ") for line in block]


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """A folder with the files that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("a,b\nb,c\n")
    assert main(["wire", "C(12,{2,3})", "-o", "cables.csv"]) == 0
    assert main(["schedule", "C(12,{2,3})", "-o", "allreduce.npz"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(("command", "lines"), commands())
def test_commands_print_what_is_shown(folder, capsys, command, lines):
    there = sorted(Path.cwd().iterdir())
    program, *argv = shlex.split(command)
    assert program == "linkstep" and main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.splitlines()) == ("", lines)
    assert sorted(Path.cwd().iterdir()) == there


def text_of(node: ast.AST) -> str:
    """Return the text that an expression makes, with holes where something is put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value) if isinstance(node.value, ast.Call) else HOLE
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "missing" and len(node.args) > 1:
        what, needs = map(text_of, node.args[:2])
        state = "cannot be loaded" if any(word.arg == "reason" for word in node.keywords) else "is not installed"
        return f"{what} needs {needs}, which {state}{HOLE}"
    return HOLE


@cache
def templates() -> set[str]:
    """Return every text that the source makes."""
    files = (ROOT / "src" / "linkstep").rglob("*.py")
    return {text_of(node) for file in files for node in ast.walk(ast.parse(file.read_text()))} - {HOLE}


def stands_in_source(message: str) -> bool:
    """Whether the fixed parts of a message stand in one text of the source, in order."""
    parts = [re.escape(part.strip(" :")) for part in message.removeprefix("linkstep: ").split("...")]
    pattern = re.compile(".*".join(parts), re.S)
    return len(message) > 20 and any(pattern.search(text) for text in templates())


@pytest.mark.parametrize("message", quoted())
def test_messages_stand_in_the_source(message):
    assert message.startswith("linkstep: ") and stands_in_source(message)


def test_a_message_that_is_gone_is_seen():
    assert len(quoted()) > 15 and len(commands()) > 20
    assert not stands_in_source("linkstep: the frobnicator of ... is not oiled")
