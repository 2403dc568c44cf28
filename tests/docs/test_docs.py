"""The documents hold: every ``console`` block prints what it shows, every name in the paper map exists."""

import re
import shlex
from pathlib import Path

import pytest

from linkstep.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def sessions() -> list:
    """Return each page's console blocks in order, as (command, expected output) pairs."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(), re.S | re.M)
        if blocks:
            steps = [
                re.match(r"\$ (.*)\n((?:.*\n)*)", part) for b in blocks for part in re.split(r"(?m)^(?=\$ )", b) if part
            ]
            found.append(pytest.param([(m[1], m[2]) for m in steps], id=page.name))
    return found


@pytest.mark.parametrize("steps", sessions())
def test_console_blocks(steps, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command, expected in steps:
        program, *argv = shlex.split(command)
        assert program == "linkstep"
        assert main(argv) == 0, command
        assert capsys.readouterr().out.replace(str(tmp_path), "/home/you") == expected, command


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_paper_map_names_exist():
    """Functions in the second column and tests in the third are where the map says."""
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \| (.*?) \|", (ROOT / "docs" / "paper-map.md").read_text(), re.M)
    assert len(rows) > 30
    paper_labels = [label for label, _, _ in rows]
    assert len(paper_labels) == len(set(paper_labels))
    for _, places, tests in rows:
        for module, name in re.findall(r"`([\w/.]+\.py):(\w+)`", places + tests):
            file = ROOT / ("tests" if "test_" in module else "src/linkstep") / module
            assert re.search(rf"^(\s*def|class|\s*) ?{name}\b", file.read_text(), re.M), f"{module}:{name}"
