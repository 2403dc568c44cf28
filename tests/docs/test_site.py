"""The site: every page is in a toctree; it builds without a warning, and all links and anchors inside resolve."""

import ast
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import linkstep
from linkstep.cli._commands import COMMANDS, NAMES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = ("reference/api/", "reference/cli/")


def pages() -> set[str]:
    """The pages by their names in toctrees, without those that are made at build time."""
    found = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    return {name for name in found if not name.startswith((*GENERATED, "_build/"))}


def test_every_page_is_in_one_toctree():
    listed = []
    for name in pages():
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", (DOCS / f"{name}.md").read_text(), re.M | re.S):
            folder = (DOCS / name).parent
            entries = (line for line in block.splitlines() if line and not line.startswith(":"))
            for entry in (re.sub(r".*<(.+)>$", r"\1", line) for line in entries):
                there = sorted(folder.glob(f"{entry}.md")) if "*" in entry else [folder / f"{entry}.md"]
                listed += [path.relative_to(DOCS).with_suffix("").as_posix() for path in there]
    listed = [name for name in listed if not name.startswith(GENERATED)]
    assert sorted(listed) == sorted(pages() - {"index"})


def test_a_page_begins_with_its_one_title():
    for name in pages() - {"develop/contributing"}:  # which is CONTRIBUTING.md
        text = re.sub(r"^```.*?^```", "", (DOCS / f"{name}.md").read_text(), flags=re.M | re.S)
        assert text.startswith("# ") and len(re.findall(r"^# ", text, re.M)) == 1, name


class _Page(HTMLParser):
    """What a page of HTML leads to, and the anchors that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for key, value in attrs if value and (key == "id" or (tag == "a" and key == "name"))}
        self.links += [value for key in ("href", "src") if (value := found.get(key))]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="needs Sphinx: python -m pip install '.[docs]'")
    pytest.importorskip("myst_parser", reason="needs MyST: python -m pip install '.[docs]'")
    pytest.importorskip("furo", reason="needs furo: python -m pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html"]
    done = subprocess.run([*command, str(DOCS), str(folder)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_all_inside_resolves(site):
    read = cache(_Page)
    files = [file for file in sorted(site.rglob("*.html")) if "_static" not in file.parts]
    assert len(files) > 100
    broken, looked_at = [], 0
    for file in files:
        for link in read(file).links:
            url = urlsplit(link)
            if url.scheme in ("http", "https", "mailto", "data"):
                continue
            looked_at += 1
            target = (file.parent / unquote(url.path)).resolve() if url.path else file
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                broken.append((file.relative_to(site).as_posix(), link))
                continue
            is_page = target.suffix == ".html" and "_static" not in target.parts
            if is_page and unquote(url.fragment) not in read(target).anchors:
                broken.append((file.relative_to(site).as_posix(), link))
    assert looked_at > 5000 and broken == []


@pytest.mark.slow
def test_nothing_is_loaded_from_outside(site):
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\"https?:[^\"]*\"", text) == [], file.name


@pytest.mark.slow
def test_every_command_and_public_name_can_be_linked(site):
    for name in COMMANDS:
        anchors = _Page(site / "reference" / "cli" / f"{name}.html").anchors
        assert f"cmdoption-linkstep-{name}-plugin" in anchors
    there = set().union(*(_Page(file).anchors for file in (site / "reference" / "api").glob("*.html")))
    assert {f"linkstep.{name}" for name in linkstep.__all__} <= there


def test_the_page_of_explorers_shows_those_that_are_built():
    page, settings = (DOCS / "start" / "live.md").read_text(), (DOCS / "conf.py").read_text()
    [row] = re.findall(r"^EXPLORERS = (\{.*?\})$", settings, re.M | re.S)
    explorers = ast.literal_eval(row)
    assert set(re.findall(r"_static/explorer/([\w.-]+)", page)) == set(explorers) and len(explorers) == 2
    assert all(recipe in page for recipe in explorers.values())


@pytest.mark.slow
def test_explorers_are_there(site):
    if "report" not in NAMES:
        pytest.skip("this version writes no explorers")
    page = _Page(site / "start" / "live.html")
    frames = [link for link in page.links if "_static/explorer/" in link]
    assert len(set(frames)) == 2 and all((site / "start" / link).resolve().is_file() for link in frames)
