"""Pages on paper: light, pictures as lines and letters, nothing cut."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from linkstep.cabling import wire
from linkstep.explorer import Document
from linkstep.explorer.panels.cabling import cabling_panel
from linkstep.recipe import parse
from support.pages import OpenPage, table

pytestmark = pytest.mark.slow

SIZES = {"A4": (595, 842), "Letter": (612, 792)}
"""Points."""


def words_of(opened: OpenPage, path: Path, paper: str) -> list[list[tuple[str, float, float]]]:
    """Print a page and return its words, page by page, each with where it begins and ends from the left."""
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext: apt-get install poppler-utils")
    opened.page.pdf(path=str(path), format=paper, print_background=True)
    text = subprocess.run(["pdftotext", "-bbox", str(path), "-"], capture_output=True, text=True, check=True).stdout
    word = re.compile(r'<word xMin="([-\d.]+)" yMin="[-\d.]+" xMax="([-\d.]+)" yMax="[-\d.]+">(.*?)</word>')
    pages = text.split("<page ")[1:]
    return [[(found[2], float(found[0]), float(found[1])) for found in word.findall(page)] for page in pages]


@pytest.mark.parametrize("paper", SIZES)
@pytest.mark.parametrize("window", [{}, {"dark": True}, {"width": 400}])
def test_a_wiring_is_printed_whole(open_report, tmp_path, window, paper) -> None:
    opened = open_report("Torus(4,4)", **window)
    pages = words_of(opened, tmp_path / "wiring.pdf", paper)
    words = [word for page in pages for word in page]
    assert all(left > 0 and right < SIZES[paper][0] for _, left, right in words)
    texts = [text for text, _, _ in words]
    for node in range(16):  # in the picture, as a letter and not a dot of it, and in the table
        assert texts.count(str(node)) >= 2
    assert "Save" not in texts and "Layout" not in texts
    opened.check()


def test_a_picture_is_lines_and_letters_on_white_paper(open_report, tmp_path) -> None:
    opened = open_report("Torus(4,4)", dark=True)
    page = opened.page
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#linkstep").get_attribute("data-theme") == "light"
    svg = page.locator(".stage-paper svg")
    assert svg.count() == 1 and svg.locator("circle").count() == 16
    assert svg.locator("rect").first.get_attribute("fill") == "#ffffff"
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.locator("#linkstep").get_attribute("data-theme") == "dark"
    assert svg.count() == 0
    opened.check()


def test_printing_keeps_where_the_picture_was_moved(open_report, tmp_path) -> None:
    opened = open_report("Torus(4,4)")
    canvas = opened.page.locator("canvas")
    opened.page.get_by_role("button", name="Zoom in").click()
    canvas.focus()
    opened.page.keyboard.press("ArrowLeft")
    opened.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    before = canvas.screenshot()
    opened.page.pdf(path=str(tmp_path / "moved.pdf"))
    opened.page.wait_for_function("() => !document.querySelector('.stage-paper svg')")
    opened.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert canvas.screenshot() == before


def test_a_long_table_says_where_it_is_cut(open_report, tmp_path) -> None:
    opened = open_report("Torus(16,16)")
    assert len(table(opened.page, "Hosts and what they are wired to")) == 64
    words = [text for page in words_of(opened, tmp_path / "cut.pdf", "A4") for text, _, _ in page]
    assert "These are 64 of 256 rows: show all of them before printing" in " ".join(words)
    opened.page.get_by_role("button", name="Show all 256 rows").click()
    words = [text for page in words_of(opened, tmp_path / "whole.pdf", "A4") for text, _, _ in page]
    assert "These are" not in " ".join(words)
    assert words.count("255") >= 3  # at its neighbours' rows and its own


@pytest.mark.parametrize("paper", SIZES)
def test_labels_fill_their_pages(open_report, tmp_path, paper) -> None:
    topology = parse("Torus(4,4)").topology().with_labels([f"n{node:02}" for node in range(16)])
    opened = open_report(Document("a plan", (cabling_panel(wire(topology), topology),)), "#print=labels")
    pages = words_of(opened, tmp_path / "labels.pdf", paper)
    assert [sum(text == "cable" for text, _, _ in page) for page in pages] == [24, 24, 16]
    words = [text for page in pages for text, _, _ in page]
    assert {text for text in words if text.startswith("n")} == {f"n{v:02}:{k}" for v in range(16) for k in range(4)}
    assert "Back" not in words


def test_a_table_on_two_pages_has_its_heads_on_both(open_report, tmp_path) -> None:
    topology = parse("Torus(4,4)").topology()
    opened = open_report(Document("a plan", (cabling_panel(wire(topology), topology),)))
    pages = words_of(opened, tmp_path / "plan.pdf", "A4")
    assert len(pages) == 2
    for page in pages:
        assert {"cable", "from", "to", "kind", "plugged"} <= {text for text, _, _ in page}
