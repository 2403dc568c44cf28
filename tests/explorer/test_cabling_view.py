"""The cabling view in a real browser: the list is the command's; filters, labels and work agree with it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

from linkstep.argument import TopologyArgument, read_argument
from linkstep.cabling import Cabling, wire
from linkstep.cli import main
from linkstep.core.topology import Topology
from linkstep.explorer import Document
from linkstep.explorer.documents import plan_panel
from linkstep.explorer.panels.cabling import cabling_panel
from linkstep.recipe import parse
from support.pages import OpenPage, address, check_fluid, facts, screenshot, table

pytestmark = pytest.mark.slow

LIST = """\
Cable;A side;A port;Rack A;B side;B port;Rack B;Length;Colour
C-01;h1;eth1;r1;h2;eth1;r2;2 m;blue
C-02;h2;eth2;r2;h3;eth1;r2;10 m;red
C-03;h3;eth2;r2;h1;eth2;r1;3 m;blue
"""
HOSTILE = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'quotes' & \"more\"",
    "\U0001f600\U0001f525 \u05d0", "h" * 200, "a,b;c:d", "</style><b>", "=1+1",
]  # fmt: skip
LISTED = "Cables"


def in_racks() -> Topology:
    topology = parse("Torus(4,4)").topology()
    topology = topology.with_labels([f"n{node:02}" for node in range(16)])
    return topology.with_places(racks=[f"rack{node // 4}" for node in range(16)])


def plan_of(topology: Topology) -> Document:
    return Document("a plan", (cabling_panel(wire(topology), topology, "a plan"),))


@pytest.fixture
def open_plan(open_report: Callable[..., OpenPage]) -> Callable[..., OpenPage]:
    """Return a function that opens the cabling panel of a topology or of a document."""

    def opened(thing: Topology | Document, hash: str = "", **window: Any) -> OpenPage:
        return open_report(plan_of(thing) if isinstance(thing, Topology) else thing, hash, **window)

    return opened


def cables(opened: OpenPage) -> list[str]:
    """Return the numbers of the cables in the list."""
    return [row["cable"] for row in table(opened.page, LISTED)]


def assert_lists(opened: OpenPage, text: str) -> None:
    """Hold the page's list against the CSV that the command writes, cell by cell."""
    expected = list(csv.DictReader(io.StringIO(text)))
    found = table(opened.page, LISTED)
    assert len(found) == len(expected)
    same = {
        "cable": "cable",
        "from": "from",
        "to": "to",
        "kind": "kind",
        "panel from": "panel_from",
        "panel to": "panel_to",
    }
    for row, wanted in zip(found, expected, strict=True):
        assert {head: row[head] for head in same} == {head: wanted[name] for head, name in same.items()}
        for end in ("from", "to"):
            assert row[f"{end} port"] == wanted.get(f"{end}_port_name", wanted[f"{end}_port"])
        ours = {*same, "from port", "to port", "rack", "rack there", "plugged"}
        theirs = {*same.values(), "from_port", "to_port", "from_port_name", "to_port_name"}
        assert {k: v for k, v in row.items() if k not in ours} == {k: v for k, v in wanted.items() if k not in theirs}


# --- the list ---


@pytest.mark.parametrize("recipe", ["Torus(4,4)", "K_{4,4}", "DBJ(2,3)"])
def test_the_list_is_the_commands(open_report, tmp_path, recipe) -> None:
    assert main(["wire", recipe, "-o", str(tmp_path / "plan.csv")]) == 0
    opened = open_report(recipe, "#panel=2")
    assert_lists(opened, (tmp_path / "plan.csv").read_text())
    opened.check()


def test_a_files_list_keeps_ports_and_columns(open_report, tmp_path) -> None:
    path = tmp_path / "cables.csv"
    path.write_text(LIST)
    assert main(["wire", str(path), "-o", str(tmp_path / "plan.csv")]) == 0
    opened = open_report(str(path), "#panel=2")
    assert_lists(opened, (tmp_path / "plan.csv").read_text())
    assert [row["given Cable"] for row in table(opened.page, LISTED)] == ["C-01", "C-03", "C-02"]
    assert facts(opened.page)["racks"] == "2; 1 cable stays inside one"
    head = opened.page.get_by_role("button", name="Length")
    head.click()
    assert [row["Length"] for row in table(opened.page, LISTED)] == ["2 m", "3 m", "10 m"]
    head.click()
    assert [row["Length"] for row in table(opened.page, LISTED)] == ["10 m", "3 m", "2 m"]
    opened.check()
    opened.check_accessible()


def test_what_a_panel_connects(open_plan) -> None:
    topology = parse("Torus(3,4)").topology()
    opened = open_plan(topology)
    opened.page.get_by_text("What a patch panel or optical switch connects").click()
    rows = table(opened.page, "Input and output of the panel")
    assert [(int(row["input"]), int(row["output"])) for row in rows] == wire(topology).cross_connects()
    assert rows[0]["fibre"] == "0 port number 0 to 1 port number 0"


# --- filters and what is selected ---


def test_filters(open_plan) -> None:
    opened = open_plan(in_racks())
    page = opened.page
    assert len(cables(opened)) == 32
    page.locator("label", has_text="Rack").locator("select").select_option("rack1")
    assert all("rack1" in (row["rack"], row["rack there"]) for row in table(page, LISTED))
    assert len(cables(opened)) == 12  # 4 inside, 8 to others
    page.get_by_label("Host", exact=True).fill("n05")
    page.keyboard.press("Enter")
    assert len(cables(opened)) == 4
    page.get_by_label("Text").fill("n06")
    assert [(row["from"], row["to"]) for row in table(page, LISTED)] == [("n05", "n06")]
    assert "rack=rack1" in address(page) and "host=n05" in address(page) and "find=n06" in address(page)
    page.get_by_role("button", name="All cables").click()
    assert len(cables(opened)) == 32
    page.get_by_label("Host", exact=True).fill("nobody")
    page.keyboard.press("Enter")
    assert page.get_by_role("alert").inner_text() == "There is no host nobody in this plan."
    opened.check()


def test_a_cable_is_selected_in_the_list_and_in_the_picture(open_plan) -> None:
    opened = open_plan(in_racks())
    page = opened.page
    before = page.locator("canvas").screenshot()
    page.locator(".list td").get_by_role("button", name="3", exact=True).click()
    assert "cable=3" in address(page)
    assert page.locator("tr.marked td").first.inner_text() == "3"
    assert page.locator(".pointed").inner_text().startswith("Cable 3, duplex: n00 port 3 (rack rack0) to n12 port 0")
    assert page.locator("canvas").screenshot() != before
    opened.check()


def test_hosts_and_ports_are_clicked_in_the_picture(open_plan) -> None:
    topology = Topology.from_links(1 + 1, [0, 1], [1, 0]).with_labels(["left", "right"])
    opened = open_plan(topology)
    page = opened.page
    box = page.locator("canvas").bounding_box()
    seen = set()
    for down in range(1, 24):  # two boxes in the picture, wherever they stand: a host at its name, a cable at its port
        for across in range(1, 24):
            page.mouse.move(box["x"] + box["width"] * across / 24, box["y"] + box["height"] * down / 24)
            seen.add(page.locator("canvas").evaluate("() => document.querySelector('.pointed').innerText"))
    assert any(text.startswith("Cable 0, duplex: left port 0 to right port 0") for text in seen)
    page.get_by_role("button", name="right").first.click()
    assert "host=right" in address(page)
    assert page.locator(".pointed").inner_text() == "right: 1 cable in the list."


def test_a_link_shows_the_same_again(open_plan) -> None:
    opened = open_plan(in_racks(), "#host=n05&cable=12&theme=dark")
    assert len(cables(opened)) == 4
    assert opened.page.locator("tr.marked td").first.inner_text() == "12"
    assert opened.page.locator("#linkstep").get_attribute("data-theme") == "dark"


def test_what_is_plugged_is_ticked_and_saved(open_plan) -> None:
    opened = open_plan(in_racks())
    page = opened.page
    page.get_by_label("cable 2 is plugged").check()
    page.get_by_label("cable 5 is plugged").check()
    page.get_by_label("cable 5 is plugged").uncheck()
    assert "32 cables, 1 ticked as plugged." in page.locator("p[role=status]").inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save this list").click()
    rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text())))
    assert [row["cable"] for row in rows if row["plugged"] == "yes"] == ["2"]
    assert len(rows) == 32
    assert saved.value.suggested_filename.endswith(".csv")


def test_a_saved_list_is_read_again(open_report, tmp_path) -> None:
    path = tmp_path / "cables.csv"
    path.write_text(LIST.replace("2 m;blue", '2 m;"a ""store"", 1"'))
    opened = open_report(str(path), "#panel=2")
    with opened.page.expect_download() as saved:
        opened.page.get_by_role("button", name="Save this list").click()
    again = tmp_path / "again.csv"
    again.write_bytes(saved.value.path().read_bytes())
    first, second = (read_argument(str(one))[0].topology for one in (path, again))
    assert first == second and first.labels == second.labels
    assert [c.from_name for c in wire(first).cables] == [c.from_name for c in wire(second).cables]
    assert 'a "store", 1' in {text for cable in wire(second).cables for _, text in cable.details}


# --- on paper ---


def test_labels_for_both_ends(open_plan) -> None:
    opened = open_plan(in_racks())
    page = opened.page
    page.get_by_role("button", name="Print labels").click()
    labels = page.locator(".label")
    assert labels.count() == 2 * 32
    assert labels.first.inner_text().split("\n") == ["cable 0", "n00:0", "to n01:0"]
    assert labels.nth(1).inner_text().split("\n") == ["cable 0", "n01:0", "to n00:0"]
    assert page.locator(".sheet").count() == 3
    page.get_by_label("Labels on a page").select_option("48")
    assert page.locator(".sheet").count() == 2
    page.get_by_label("Order").select_option("host")
    assert [text.split("\n")[1] for text in labels.all_inner_texts()[:4]] == ["n00:0", "n00:1", "n00:2", "n00:3"]
    assert "print=labels" in address(page) and "each=48" in address(page)
    opened.check()
    opened.check_accessible()
    screenshot(page, "cabling-labels")
    page.get_by_role("button", name="Back").click()
    assert len(cables(opened)) == 32


def test_labels_are_called_as_in_the_list(open_report, tmp_path) -> None:
    path = tmp_path / "cables.csv"
    path.write_text(LIST)
    opened = open_report(str(path), "#panel=2&print=labels&host=h2")
    assert [text.split("\n") for text in opened.page.locator(".label").all_inner_texts()] == [
        ["cable C-01", "h1:eth1", "to h2:eth1"], ["cable C-01", "h2:eth1", "to h1:eth1"],
        ["cable C-02", "h2:eth2", "to h3:eth1"], ["cable C-02", "h3:eth1", "to h2:eth2"],
    ]  # fmt: skip


def test_a_sheet_for_each_rack(open_plan) -> None:
    opened = open_plan(in_racks())
    page = opened.page
    page.get_by_role("button", name="Sheets of racks").click()
    sheets = page.locator(".rack-sheet")
    assert [text.split("\n")[0] for text in sheets.all_inner_texts()] == [f"Rack rack{k}" for k in range(4)]
    assert [sheet.locator("tbody tr").count() for sheet in sheets.all()] == [16] * 4
    assert sheets.first.locator("tbody tr").first.locator("td").all_inner_texts() == [
        "\u2610", "n00", "0", "n01 (rack0)", "0", "0",
    ]  # fmt: skip
    opened.check()
    opened.check_accessible()


# --- two plans ---


def test_two_plans_with_a_swapped_cable(open_plan) -> None:
    before = Topology.from_links(5, [0, 1, 2, 3, 0, 4], [1, 0, 3, 2, 4, 0]).with_labels(["a", "b", "c", "d", "e"])
    after = Topology.from_links(5, [0, 3, 2, 1, 0, 4], [3, 0, 1, 2, 4, 0]).with_labels(["a", "b", "c", "d", "e"])
    moved = list(wire(after).cables)
    place = next(k for k, cable in enumerate(moved) if (cable.from_node, cable.to_node) == (0, 4))
    moved[place] = type(moved[place])(0, 2, 4, 0, True)
    there = Cabling(5, 3, tuple(moved))
    panel = cabling_panel(wire(before), before, "now", other=(there, after), other_argument="then")
    opened = open_plan(Document("both", (panel,)))
    page = opened.page
    rows = table(page, "What to do")
    assert [row["work"] for row in rows] == ["\u2715 unplug", "\u2715 unplug", "\u21c4 move", "+ plug", "+ plug"]
    assert [row["what to do"] for row in rows] == [
        "Unplug cable 0: a port 0 to b port 0.",
        "Unplug cable 2: c port 0 to d port 0.",
        "Move cable 1 between a and e: at a from port 1 to port 2.",
        "Plug cable 0 of the second plan: a port 0 to d port 0.",
        "Plug cable 2 of the second plan: b port 0 to c port 0.",
    ]
    assert "From now to then" in page.locator(".changed").inner_text()
    page.get_by_role("button", name="Move cable 1").click()
    assert "cable=1" in address(page)
    assert page.locator(".pointed").inner_text().endswith("To move to other ports.")
    opened.check()
    opened.check_accessible()
    screenshot(page, "cabling-difference")


def test_the_same_plan_twice(open_plan) -> None:
    topology = in_racks()
    panel = cabling_panel(wire(topology), topology, "now", other=(wire(topology), topology), other_argument="then")
    opened = open_plan(Document("both", (panel,)))
    assert "The plans are the same: 32 cables." in opened.page.locator(".changed").inner_text()


# --- any names, sizes, windows ---


@pytest.mark.parametrize("print", ["", "&print=labels", "&print=racks"])
def test_hostile_names_are_text(open_plan, print) -> None:
    topology = parse("K_8").topology().with_labels(HOSTILE).with_places(racks=[*HOSTILE[1:], HOSTILE[0]])
    opened = open_plan(topology, f"#x=1{print}", width=900)
    page = opened.page
    text = page.locator("main").inner_text()
    for name in HOSTILE[:3]:
        assert name in text
    assert page.locator("main script, main img, main b:text-is('')").count() == 0
    for label in page.locator(".label").all():  # long names are cut, inside of their labels
        assert label.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
        assert label.evaluate("one => [...one.children].every((line) => line.scrollHeight <= line.clientHeight + 1)")
        assert re.fullmatch(r"cable \d+\n(.|\n)*:\d\nto (.|\n)*:\d", label.inner_text())  # and their ports are not
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    opened.check()
    opened.check_accessible()


@pytest.mark.parametrize("window", [{"width": 400}, {"dark": True}, {"width": 400, "dark": True}])
def test_narrow_and_dark_pages(open_plan, window) -> None:
    opened = open_plan(in_racks(), **window)
    assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    opened.check()
    opened.check_accessible()
    screenshot(opened.page, f"cabling-{'-'.join(window)}")


@pytest.mark.parametrize("recipe", ["K_2", "K_8", "Torus(8,8)"])
def test_small_and_larger(open_report, recipe) -> None:
    opened = open_report(recipe, "#panel=2")
    num_links = parse(recipe).topology().num_links
    assert f"{num_links // 2} duplex cable" in facts(opened.page)["cables"]
    opened.check()


def test_a_thousand_hosts_are_fluid(open_plan) -> None:
    given = TopologyArgument(parse("Torus(32,32)").topology())
    opened = open_plan(Document("large", (plan_panel(given, "Torus(32,32)"),)), "#cable=2000")
    page = opened.page
    canvas = page.locator("canvas")
    canvas.focus()

    def move() -> None:
        for k in range(60):
            page.keyboard.press("ArrowLeft" if k % 2 else "ArrowRight")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    check_fluid(canvas, move)
    page.get_by_label("Text").fill("1023:")
    assert len(cables(opened)) == 4
    page.get_by_role("button", name="All cables").click()
    page.get_by_role("button", name="Show all 2,048 rows").click()
    assert page.locator(".list > .table-place tbody tr").count() == 2048
    page.get_by_role("button", name="Print labels").click()
    assert page.locator(".label").count() == 4096
    opened.check()
