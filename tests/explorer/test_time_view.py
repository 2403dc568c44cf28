"""The time view in a real browser: its numbers are the library's, every control does what it says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkstep
from linkstep.core.units import format_time, parse_time
from linkstep.explorer import Document
from linkstep.explorer.panels.time import time_panel
from linkstep.simulation.training import compare, load_model
from linkstep.timelines import Flows, Instant, Lane, Span, SpanFlow, Spans, Timeline, timeline_of
from linkstep.timelines.chrome_reading import read_trace
from support.pages import address, check_fluid, facts, screenshot, table

pytestmark = pytest.mark.slow

HOSTILE = ("<script>alert(1)</script>", "'\"&<b>", "\U0001f9d1\u200d\U0001f680" * 5, "x" * 200)


def million(lanes: int, groups: int) -> Timeline:
    """Return a timeline of a million spans, some of them far below a nanosecond."""
    each = 1_000_000 // lanes
    draw = np.random.default_rng(1)
    last = draw.random((lanes, each)) * 2e-6
    end = np.cumsum(last + draw.random((lanes, each)) * 1e-6, axis=1)
    lane = np.repeat(np.arange(lanes), each)
    round_names = np.tile(np.array([f"round {k}" for k in range(each)], object), lanes)
    before = np.arange(0, lane.size - each, 3)
    spans = Spans(
        lane, round_names, np.full(lane.size, "message", object), (end - last).ravel(), end.ravel(),
        {"bytes": np.full(lane.size, 4096)},
    )  # fmt: skip
    rows = [Lane(f"from {k * groups // lanes}", f"link {k}") for k in range(lanes)]
    whole = Instant("done", float(end.max()))
    return Timeline("a million", rows, spans, Flows(before, before + each), tuple(range(each)), (whole,))


def press(page: Any, *keys: str) -> None:
    page.locator("canvas").focus()
    for key in keys:
        page.keyboard.press(key)


def until(page: Any, expression: str) -> None:
    """Wait until it holds; a function, since the page's policy lets no text be run."""
    page.wait_for_function(f"() => {expression}")


def shown_range(page: Any) -> tuple[str, str]:
    return page.get_by_label("From").input_value(), page.get_by_label("to", exact=True).input_value()


def wait_for_range(page: Any, start: str, end: str) -> None:
    page.wait_for_function(
        "([a, b]) => { const found = document.querySelectorAll('.controls input:not([type])');"
        " return found[0].value === a && found[1].value === b }",
        arg=[start, end],
    )


def test_a_simulation_says_what_the_library_says(open_report: Any) -> None:
    done = linkstep.simulate("K_{4,4}")
    timeline = timeline_of(done)
    opened = open_report(done)
    page = opened.page
    said = facts(page)
    assert said["simulated"].startswith(format_time(done.time))
    assert said["shown"] == f"{len(timeline.spans)} spans on 32 lanes, {len(timeline.flows)} flows"
    topology = done.topology
    ends = f"{topology.tail[done.busiest]} to {topology.head[done.busiest]}"
    assert said["busiest link"] == f"{ends}, {done.utilisation:.0%} of the time"
    lanes = table(page, "Lanes, and for how much")
    assert [row["busy"] for row in lanes] == [format_time(busy) for busy in done.busy]
    assert [int(row["spans"]) for row in lanes] == np.bincount(done.sent_link).tolist()
    assert lanes[done.busiest]["of all"] == f"{100 * done.utilisation:.1f}%"
    chain = table(page, "Critical path")
    path = [timeline.spans[k] for k in timeline.critical]
    assert [row["ends at"] for row in chain] == [format_time(span.end) for span in path]
    assert [row["lasts"] for row in chain] == [format_time(span.end - span.start) for span in path]
    assert page.locator(".sum").inner_text().endswith(f"together {format_time(done.time)}.")
    assert (
        page.locator("caption", has_text="Spans in view").inner_text() == f"Spans in view: {len(timeline.spans)} spans"
    )
    opened.check()
    opened.check_accessible()
    screenshot(page, "time")


def test_a_message_is_followed_to_what_its_receiver_sends_next(open_report: Any) -> None:
    done = linkstep.simulate("K_{4,4}")
    timeline = timeline_of(done)
    opened = open_report(done)
    page = opened.page
    page.get_by_role("button", name="round 1, 3 to 5").first.click()
    text = page.locator(".pointed strong")
    assert text.inner_text() == "round 1, 3 to 5"
    page.get_by_role("button", name="What it led to").click()
    path = [dict(timeline.spans[k].details) for k in timeline.critical]
    assert path[1]["from"] == path[0]["to"] == "5"
    assert text.inner_text() == f"round 2, 5 to {path[1]['to']}"
    press(page, "p")
    until(page, "document.querySelector('.pointed strong').innerText === 'round 1, 3 to 5'")
    for _ in path[1:]:
        press(page, "n")
    until(page, "document.querySelector('.pointed strong').innerText.startsWith('round 4, ')")
    assert f"Number {len(path)} of {len(path)} on the critical path" in page.locator(".pointed").inner_text()
    assert page.get_by_role("button", name="What it led to").is_disabled()
    press(page, "Escape")
    until(page, "!document.querySelector('.pointed strong')")
    opened.check()


def test_a_wait_adds_what_comes_after_the_send_that_ended_it(open_report: Any) -> None:
    """It began before that send, and another send returns after the wait for it: no pause is below nothing."""
    lanes = [Lane(f"rank {rank}", name) for rank in range(2) for name in ("steps", "calls")]
    calls = [
        (3, "send step 1", 30, 50),
        (1, "wait step 1", 5, 80),
        (1, "send step 2", 85, 100),
        (3, "wait step 2", 55, 95),
    ]
    spans = [Span(lane, name, name.split()[0], start / 1e6, end / 1e6) for lane, name, start, end in calls]
    opened = open_report(Timeline("by hand", lanes, spans, [SpanFlow(0, 1), SpanFlow(2, 3)], (0, 1, 2, 3)))
    page = opened.page
    assert [tuple(row.values())[:4] for row in table(page, "Critical path")] == [
        ("send step 1, rank 1", "30us", "20us", "20us"),
        ("wait step 1, rank 0", "0s", "75us", "30us"),
        ("send step 2, rank 0", "5us", "15us", "15us"),
        ("wait step 2, rank 1", "0s", "40us", "0s"),
    ]
    assert page.locator(".sum").inner_text() == "4 spans add 65us, pauses 35us: together 100us."
    opened.check()


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="needs MPI: pip install '.[mpi]'")
def test_a_real_run_says_what_its_ranks_recorded(open_report: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    command = ["run", "K_{2,2}", "--size", "64KiB", "--repetitions", "3", "--trace", str(path), "--timeout", "60s"]
    subprocess.run([sys.executable, "-m", "linkstep", *command], check=True, capture_output=True, timeout=200)
    timeline = read_trace(path)
    opened = open_report(path)
    page = opened.page
    assert page.locator("h1").inner_text() == "K_{2,2}: allreduce of 64KiB by mpi, measured"
    assert facts(page)["shown"] == f"{len(timeline.spans)} spans on 8 lanes, {len(timeline.flows)} flows"
    chain = table(page, "Critical path")
    path_spans = [timeline.spans[k] for k in timeline.critical]
    ranks = [timeline.lanes[span.lane].group for span in path_spans]
    assert [row["span"] for row in chain] == [
        f"{span.name}, {rank}" for span, rank in zip(path_spans, ranks, strict=True)
    ]
    assert [row["lasts"] for row in chain] == [format_time(span.end - span.start) for span in path_spans]
    assert all(re.match(r"\d", row[name]) for row in chain for name in ("pause", "adds"))
    together = page.locator(".sum").inner_text().removesuffix(".").split("together ")[1]
    assert float(parse_time(together)) == pytest.approx(float(timeline.end), rel=1e-5)
    lanes = {(row["group"], row["lane"]): row for row in table(page, "Lanes, and for how much")}
    assert set(lanes) == {(f"rank {rank}", name) for rank in range(4) for name in ("steps", "calls")}
    for (group, name), row in lanes.items():
        at = timeline.lanes.index(Lane(group, name))
        assert int(row["spans"]) == int((timeline.spans.lane == at).sum())
    page.get_by_role("button", name=chain[-1]["span"]).last.click()
    assert f"Number {len(chain)} of {len(chain)} on the critical path" in page.locator(".pointed").inner_text()
    opened.check()
    opened.check_accessible()
    screenshot(page, "time-measured")


def test_every_cause_and_effect_is_listed(open_report: Any) -> None:
    spans = [Span(k, f"m{k}", "message", float(k > 1), 1.0 + (k > 1)) for k in range(4)]
    lanes = [Lane("host", f"link {k}") for k in range(4)]
    flows = [SpanFlow(0, 2), SpanFlow(1, 2), SpanFlow(1, 3)]
    opened = open_report(Timeline("fan", lanes, spans, flows), "#span=2")
    page = opened.page
    assert "Waited for m0, link 0; m1, link 1." in page.locator(".pointed").inner_text()
    page.get_by_role("button", name="m1, link 1").click()
    assert "Led to m2, link 2; m3, link 3." in page.locator(".pointed").inner_text()
    opened.check()


def test_time_is_zoomed_to_a_nanosecond_and_linked(open_report: Any, open_page: Any) -> None:
    opened = open_report(linkstep.simulate("K_{4,4}"))
    page = opened.page
    assert shown_range(page) == ("0s", "180us")
    page.get_by_role("button", name="Zoom in").click()
    wait_for_range(page, "30us", "150us")
    page.get_by_role("button", name="Zoom out").click()
    wait_for_range(page, "0s", "180us")
    press(page, "+", "ArrowRight")
    until(page, "location.hash.includes('range=')")
    page.get_by_role("button", name="All", exact=True).click()
    wait_for_range(page, "0s", "180us")
    field = page.get_by_label("From")
    field.fill("100us")
    field.press("Enter")
    wait_for_range(page, "100us", "180us")
    page.get_by_label("to", exact=True).fill("100.001us")
    page.get_by_label("to", exact=True).press("Enter")
    wait_for_range(page, "100us", "100.001us")
    seen = table(page, "Spans in view")
    done = linkstep.simulate("K_{4,4}")
    inside = (done.sent_start < 100.001e-6) & (done.sent_end > 100e-6)
    assert page.locator("caption", has_text="Spans in view").inner_text() == f"Spans in view: {inside.sum()} spans"
    assert {row["start"] for row in seen} == {"90us"}
    field.fill("nonsense")
    field.press("Enter")
    assert field.input_value() == "100us"
    again = open_page()
    again.go(address(page))
    assert shown_range(again.page) == ("100us", "100.001us")
    again.check()
    opened.check()


def test_wheel_and_drag_move_about_the_pointer(open_report: Any) -> None:
    opened = open_report(linkstep.simulate("K_{4,4}"))
    page = opened.page
    canvas = page.locator("canvas")
    box = canvas.bounding_box()
    canvas.focus()
    page.mouse.move(box["x"] + box["width"] - 13, box["y"] + 100)  # the end of all time
    page.mouse.wheel(0, -300)
    until(page, "location.hash.includes('range=')")
    until(page, "/^1(80|79[.])/.test(document.querySelectorAll('.controls input')[1].value)")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 113, box["y"] + 60, steps=4)
    page.mouse.up()
    before = page.get_by_label("From").input_value()
    page.mouse.move(box["x"] + 200, box["y"] + 10)
    page.mouse.down()  # in the overview: to the beginning
    page.mouse.up()
    until(page, "document.querySelectorAll('.controls input')[0].value === '0s'")
    assert before != "0s"
    opened.check()


def test_a_click_shows_a_span_and_closes_a_group(open_report: Any) -> None:
    opened = open_report(linkstep.simulate("K_{4,4}"))
    page = opened.page
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 54 + 27)
    until(page, "document.querySelector('.pointed strong')?.innerText === 'round 1, 0 to 4'")
    page.mouse.click(box["x"] + 200, box["y"] + 54 + 27)
    until(page, "location.hash.includes('span=')")
    page.mouse.click(box["x"] + 30, box["y"] + 54 + 9)
    until(page, "location.hash.includes('open=0')")
    assert [row["is"] for row in table(page, "Groups of lanes")] == ["closed"] + 7 * ["open"]
    page.get_by_role("button", name="from 3", exact=True).click()
    assert [row["is"] for row in table(page, "Groups of lanes")].count("closed") == 2
    page.get_by_role("button", name="Close all").click()
    assert {row["is"] for row in table(page, "Groups of lanes")} == {"closed"}
    page.get_by_role("button", name="Open all").click()
    assert {row["is"] for row in table(page, "Groups of lanes")} == {"open"}
    page.get_by_role("checkbox", name="Critical path").uncheck()
    assert "critical=off" in address(page)
    opened.check()


def test_lanes_are_found_by_their_names(open_report: Any) -> None:
    opened = open_report(linkstep.simulate("K_{4,4}"))
    page = opened.page
    page.get_by_label("Lanes with").fill("to 5")
    until(page, "location.hash.includes('lanes=')")
    rows = table(page, "Lanes, and for how much")
    assert [row["lane"].split(": ")[1] for row in rows] == [f"{k} to 5" for k in range(4)]
    opened.check()


def test_training_shows_its_streams(open_report: Any) -> None:
    found = compare(load_model("gpt2-medium").job(16), linkstep.find(16, 4), linkstep.Fabric.of("10us", "100Gbps", 4))
    done = found.ours.iteration
    opened = open_report(found, dark=True)
    page = opened.page
    said = facts(page)
    assert said["iteration"] == format_time(done.time)
    assert (
        said["allreduce"] == f"{format_time(done.allreduce)}, of which {format_time(done.exposed_allreduce)} is exposed"
    )
    lanes = {row["lane"]: row for row in table(page, "Lanes, and for how much")}
    assert lanes["compute"]["busy"] == format_time(done.compute)
    beside = table(page, "An iteration on other topologies")
    assert [row["iteration"] for row in beside] == [format_time(one.time) for one in found.outcomes]
    assert re.search(rf"pauses 0s: together {float(done.time) * 1e3:.6g}ms", page.locator(".sum").inner_text())
    assert page.locator(".legend").inner_text().split("\n")[:3] == ["forward", "backward", "allreduce"]
    opened.check()
    opened.check_accessible()
    screenshot(page, "time-training")


FRAMES = """async keys => {
  const canvas = document.querySelector("canvas");
  const press = key => canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  for (let k = 0; k < 24; k++) { press(keys[k % keys.length]); await new Promise(requestAnimationFrame); }
}"""


def test_64_hosts_stay_fluid(open_report: Any) -> None:
    done = linkstep.simulate("Cat(64,4,26778)")
    opened = open_report(done)
    page = opened.page
    assert facts(page)["shown"].startswith(f"{done.sent_link.size:,} spans on 256 lanes")
    check_fluid(page.locator("canvas"), lambda: page.evaluate(FRAMES, ["+", "ArrowRight", "ArrowDown", "-"]))
    page.get_by_role("button", name="Open all").click()
    check_fluid(page.locator("canvas"), lambda: page.evaluate(FRAMES, ["+", "ArrowRight", "ArrowDown", "-"]))
    opened.check()
    screenshot(page, "time-64")


@pytest.mark.parametrize(("lanes", "groups"), [(4096, 1024), (16, 4)])
def test_a_million_spans_stay_fluid(open_report: Any, lanes: int, groups: int) -> None:
    panel = time_panel(million(lanes, groups))
    opened = open_report(Document("a million", (panel,)))
    page = opened.page
    check_fluid(page.locator("canvas"), lambda: page.evaluate(FRAMES, ["ArrowRight", "ArrowDown"]))  # all in view
    check_fluid(page.locator("canvas"), lambda: page.evaluate(FRAMES, ["+", "ArrowRight", "ArrowDown", "-"]))
    opened.check()
    screenshot(page, f"time-million-{lanes}")


def test_hostile_names_are_only_text_on_a_narrow_page(open_report: Any) -> None:
    lanes = [Lane(name, name) for name in HOSTILE] + [Lane(HOSTILE[0], "second")]
    spans = [
        Span(k, lane.name, lane.name, 0.0, 1.0 + k, (("from", lane.name), ("to", lane.group)))
        for k, lane in enumerate(lanes)
    ]
    made = Timeline(HOSTILE[0], lanes, spans, [SpanFlow(0, 1)], (0, 1), (Instant(HOSTILE[3], 2.0),))
    opened = open_report(made, "#span=0", width=400)
    page = opened.page
    assert page.locator(".pointed strong").inner_text() == f"{HOSTILE[0]}, {HOSTILE[0]} to {HOSTILE[0]}"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    opened.check()
    opened.check_accessible()
    screenshot(page, "time-hostile")


@pytest.mark.parametrize("ending", ["SVG", "PNG", "JSON"])
def test_what_is_seen_is_saved(open_report: Any, tmp_path: Path, ending: str) -> None:
    opened = open_report(linkstep.simulate("K_3"))
    with opened.page.expect_download() as waiting:
        opened.page.get_by_role("button", name=ending, exact=True).click()
    path = tmp_path / "saved"
    waiting.value.save_as(path)
    data = path.read_bytes()
    start = {"SVG": b"<svg ", "PNG": b"\x89PNG", "JSON": b"{"}[ending]
    assert data.startswith(start)
    if ending == "SVG":
        assert b"link 0: 0 to 1" in data
    opened.check()
