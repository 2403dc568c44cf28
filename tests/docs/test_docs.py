"""The documents hold: every ``console`` block prints what it shows, every name in the paper map exists."""

import re
import shlex
from pathlib import Path

import pytest

from linkstep._version import __version__
from linkstep.cli import main
from linkstep.cli._parser import parse_arguments

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs").glob("*/*.md")),
]
MADE = [ROOT / "docs" / "reference" / name for name in ("api", "cli")]
"""Folders of pages that are made of the source."""


def sessions() -> list:
    """Return each page's console blocks in order, as (command, expected output) pairs."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(), re.S | re.M)
        if blocks:
            steps = [
                re.match(r"\$ (.*)\n((?:.*\n)*)", part) for b in blocks for part in re.split(r"(?m)^(?=\$ )", b) if part
            ]
            marks = pytest.mark.slow if page.name == "schedule.md" else []  # it shows every search
            found.append(pytest.param([(m[1], m[2]) for m in steps], id=page.name, marks=marks))
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
            there = (page.parent / target).resolve()
            if there.parent in MADE:
                continue  # when the site is built, whose links test_site.py follows
            assert there.exists(), f"{page.name}: {target}"


def test_pages_that_the_source_names_exist():
    """Messages, comments and scripts name pages from the root: ``docs/start/tutorial.md``."""
    folders = ("src", "scripts", "benchmarks", "tests", "examples")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    named = {(name, path) for path in files for name in re.findall(r"\bdocs/[\w/.-]+\.md", path.read_text())}
    assert len({name for name, _ in named}) > 20
    assert {(name, path.name) for name, path in named if not (ROOT / name).is_file()} == set()


def test_contributing_names_files_that_exist():
    """Of the package, of its tests, or of the folder that the sentence is about."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md|csv)|(?:[\w.-]+/)+)`", text))
    invented = {"src/linkstep/families/prism.py", "linkstep/page.py", "cli/_name.py"}
    folders = (ROOT / name for name in ("src", "tests", "docs", "scripts"))
    there = "".join(
        f"{path.as_posix()}\n{path.as_posix()}/\n" for folder in folders for path in (folder, *folder.rglob("*"))
    )
    assert len(named) > 50 and invented < named
    assert {name for name in named if f"/{name}\n" not in there} <= invented


def paper_map() -> list[tuple[str, str, str]]:
    """Return the rows of the paper map: label, functions, tests."""
    return re.findall(
        r"^\| `([^`]+)` \| (.*?) \| (.*?) \|", (ROOT / "docs" / "paper" / "paper-map.md").read_text(), re.M
    )


PAPER_LABELS = (ROOT / "tests" / "support" / "paper_labels.txt").read_text().split()
"""Every label of the paper's source, in its order."""
PARTS = re.compile(r"(thm:(bwopt|shortestpath|shortestbwopt|shortestbwoptconst)\d)|(tab:(notations|tradeoffs))")
"""Items within a theorem, and tables of words."""
"""What has no function so far."""


def test_paper_map_names_exist():
    """Functions in the second column and tests in the third are where the map says, and every row has both."""
    rows = paper_map()
    assert len(rows) > 30
    for label, places, tests in rows:
        modules = [re.findall(r"`([\w/.]+\.py)(?::(\w+))?`", column) for column in (places, tests)]
        assert all(modules), label
        for module, name in modules[0] + modules[1]:
            file = ROOT / ("tests" if "test_" in module else "src/linkstep") / module
            assert file.is_file(), f"{label}: {module}"
            found = not name or re.search(rf"^(\s*def|class|\s*) ?{name}\b", file.read_text(), re.M)
            assert found, f"{label}: {module}:{name}"


def test_paper_map_labels_are_the_papers():
    """No label is made up or there twice, and no theorem, definition, figure or table is forgotten."""
    listed = [label for label, _, _ in paper_map()]
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(PAPER_LABELS)
    wanted = {label for label in PAPER_LABELS if re.match(r"(thm|coro|def|fig|tab|table):", label)}
    assert {label for label in wanted - set(listed) if not PARTS.fullmatch(label)} == set()


def test_the_family_of_the_first_hour_can_be_built():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    [code] = [block for block in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M) if "def prism(" in block]
    room = {"__name__": "prism"}
    exec(compile(code, "prism.py", "exec"), room)
    [family] = room["FAMILIES"]
    topology = family.build(6)
    assert (topology.num_nodes, topology.degree) == family.size(6) == (12, 3)
    assert topology.is_bidirectional and list(family.members(12, 3)) == [(6,)]


def readme_commands() -> list[str]:
    """Return the ``linkstep`` commands that the README names in its text and tables, without its blocks."""
    text = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.S | re.M)
    return re.findall(r"`(linkstep [a-z-]+ [^`]*)`", text)


def test_the_readme_names_commands_that_there_are():
    """Options and arguments too, as far as the parser knows; blocks are run as a whole elsewhere."""
    found = [command for command in readme_commands() if "find N 4" not in command]
    assert len(found) > 12
    for command in found:
        _, name, *argv = shlex.split(command)
        parse_arguments([name, *argv])


def test_the_readme_shows_python_soon_and_says_how_to_cite():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert "```python" in lines[:30]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {__version__}\n" in citation and "2202.03356" in citation
