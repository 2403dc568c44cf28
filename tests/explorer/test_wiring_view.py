"""The wiring view in a real browser: its numbers are the library's."""

from __future__ import annotations

import pytest

import linkstep
from support.pages import facts, screenshot, table

pytestmark = pytest.mark.slow


def test_a_wiring_says_what_show_says(open_report) -> None:
    opened = open_report("Torus(4,4)", "#host=5")
    page = opened.page
    found = linkstep.describe("Torus(4,4)")
    assert facts(page)["farthest hosts"].startswith(f"{found.diameter} hops")
    assert facts(page)["allreduce"].startswith("230us")
    hops = table(page, "Hosts by their distance from host 5")
    assert [int(row["hosts"]) for row in hops] == found.profile.tolist()
    neighbours = {row["host"]: row["cables to"] for row in table(page, "Hosts and what they are wired to")}
    assert neighbours["5"] == "1, 4, 6, 9"
    opened.check()
    opened.check_accessible()
    screenshot(page, "wiring")
