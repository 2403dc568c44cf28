"""A real browser on pages of the explorer: what a test needs to open one, read it, and hold it to the rules of all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.pages import OpenPage

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless chromium, or a skip that says what is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., OpenPage]]:
    """Return a function that opens a window: ``open_page(width=1200, height=800, dark=False)``; offline by default."""
    contexts = []

    def opened(width: int = 1200, height: int = 800, *, dark: bool = False, offline: bool = True) -> OpenPage:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", offline=offline
        )
        contexts.append(context)
        return OpenPage(context.new_page())

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def open_report(open_page: Callable[..., OpenPage], tmp_path: Path) -> Callable[..., OpenPage]:
    """Return a function that writes a thing's report and opens it offline: ``open_report("K_3", "#host=1")``."""
    from linkstep.explorer import report

    def opened(thing: object, hash: str = "", **window: Any) -> OpenPage:
        path = tmp_path / f"report-{len(list(tmp_path.iterdir()))}.html"
        report(thing, path)
        page = open_page(**window)
        page.go(path.as_uri() + hash)
        return page

    return opened
