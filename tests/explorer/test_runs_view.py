"""The runs view in a real browser: what was measured, as its file says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linkstep.core.units import format_time
from support.pages import address, facts, screenshot, table
from support.runs_file import write_runs

pytestmark = pytest.mark.slow


def test_runs_say_what_run_says(open_report: Any, tmp_path: Path) -> None:
    written = write_runs(tmp_path / "runs.json")
    opened = open_report(tmp_path / "runs.json")
    page = opened.page
    rows = table(page, "What each size took")
    assert [row["size"] for row in rows] == ["1KiB", "16KiB", "256KiB", "4MiB", "64MiB"]
    assert [row["median"] for row in rows] == [format_time(row["median_seconds"]) for row in written["rows"]]
    assert [row["mpi's own"] for row in rows] == [format_time(row["own_median_seconds"]) for row in written["rows"]]
    assert {row["speed-up"] for row in rows} == {"1.25x"}
    assert {row["of it"] for row in rows} == {"50%"}
    assert rows[-1]["algbw"] == "200MB/s"
    assert facts(page)["schedule costs"] == "4 alpha + 7/4 M/B"
    assert facts(page)["results"] == "all right"
    for mark in ("circle", "rect[width='9']", "path[d$='l5.5 10h-11z']"):  # in the legend and at each size
        assert page.locator(f"svg {mark}").count() == 1 + len(rows)
    opened.check()
    opened.check_accessible()
    screenshot(page, "runs")


def test_a_chart_is_read_by_keys_and_switched(open_report: Any, tmp_path: Path) -> None:
    write_runs(tmp_path / "runs.json")
    opened = open_report(tmp_path / "runs.json")
    page = opened.page
    page.locator(".chart svg").focus()
    page.keyboard.press("End")
    said = page.locator(".chart .pointed")
    assert said.inner_text().startswith("At 64MiB: measured (bfb) 335.6ms; mpi's own 419.5ms; predicted 167.8ms")
    page.get_by_label("Chart").select_option("rate")
    page.locator(".chart svg").focus()
    page.keyboard.press("End")
    assert "measured (bfb) 200MB/s" in said.inner_text()
    assert "chart=rate" in address(page)
    opened.check()


def test_several_runs_are_chosen_among_and_hostile_names_are_text(open_report: Any, tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    first, second = write_runs(path), write_runs(path, "<script>alert(1)</script>'\"" + "x" * 180)
    second["rows"] = [dict(row, own_median_seconds=None, wrong=3) for row in second["rows"][:2]]
    path.write_text(json.dumps([first, second]))
    opened = open_report(path, width=400, dark=True)
    page = opened.page
    page.locator("label", has_text="Run").locator("select").first.select_option("1")
    assert facts(page)["wiring"] == second["what"]
    assert facts(page)["results"] == "WRONG: 6 elements"
    rows = table(page, "What each size took")
    assert "speed-up" not in rows[0]
    assert len(rows) == 2
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    opened.check()
    opened.check_accessible()
    screenshot(page, "runs-hostile")
