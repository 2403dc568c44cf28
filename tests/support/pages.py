"""What tests read off a page of the explorer, and what they hold every page to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MOST_MS = 10.0
WAIT = 60_000
"""Milliseconds that a page may take before a test gives up: a busy machine is slow."""


class OpenPage:
    """A page with what it printed and asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(WAIT)
        page.on("console", lambda one: self.problems.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda one: self.problems.append(str(one)))
        page.on("request", lambda one: self.requests.append(one.url))

    def go(self, url: str) -> Any:
        """Open a URL, wait until the page is drawn, and return it."""
        self.page.goto(url)
        self.page.wait_for_selector("#linkstep[data-ready]")
        return self.page

    def check(self, *, offline: bool = True) -> None:
        """Fail if the page printed an error or, offline, asked for anything but itself."""
        assert not self.problems
        if offline:
            outside = [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]
            assert not outside

    def check_accessible(self) -> None:
        """Fail on what axe calls serious or critical."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
        found = axe.Axe().run(self.page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert not [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in serious]


def table(page: Any, caption: str) -> list[dict[str, str]]:
    """Return the rows of a table by its caption (a part of it will do), cells by the heads of their columns."""
    found = page.locator("table", has=page.locator("caption", has_text=caption)).first
    heads, *rows = found.evaluate(
        "one => [one.tHead.rows[0], ...one.tBodies[0].rows]"
        ".map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return [dict(zip(heads, row, strict=True)) for row in rows]


def facts(page: Any) -> dict[str, str]:
    """Return all names and values that the page states."""
    rows = page.locator("dl.facts > div").all()
    return {row.locator("dt").inner_text(): row.locator("dd").inner_text() for row in rows}


def choose_host(place: Any, name: str) -> None:
    """Name a host in the wiring view that is on a page, or in a part of it."""
    field = place.get_by_label("Host", exact=True)
    field.fill(name)
    field.press("Enter")


def check_fluid(canvas: Any, move: Callable[[], object]) -> None:
    """Fail unless the script of a frame takes 10 ms at most, in the median of a series of moves.

    Whatever else runs makes frames slower and none faster: one series of eight is enough.
    """
    took = []
    for _ in range(8):
        move()
        took.append(float(canvas.get_attribute("data-frame-ms")))
        if took[-1] <= MOST_MS:
            return
    raise AssertionError(
        f"the script of a frame took {min(took)} ms at least, in the median of each of {len(took)} series"
    )


def screenshot(page: Any, name: str) -> None:
    """Keep a picture of the page from its top, where EXPLORER_PICTURES names a folder for them."""
    folder = os.environ.get("EXPLORER_PICTURES")
    if folder:
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=str(Path(folder, f"{name}.png")))


def address(page: Any) -> str:
    """Return the page's URL as the page itself has it; ``page.url`` comes later, by an event."""
    return str(page.evaluate("location.href"))
