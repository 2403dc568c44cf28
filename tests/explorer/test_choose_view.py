"""The choose view in a real browser: its numbers are the library's, whatever its controls are set to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from linkstep.core.errors import LinkstepError
from linkstep.core.units import format_bandwidth, format_size, format_time
from linkstep.costs import Fabric
from linkstep.explorer import live_page, pack
from linkstep.explorer.documents import document_of
from linkstep.explorer.questions import answer
from linkstep.reports.pricing import Pricing
from linkstep.search import Answer, find
from linkstep.search.windows import windows
from linkstep.simulation.training import compare, load_model
from support.pages import OpenPage, address, screenshot, table

pytestmark = pytest.mark.slow

ORIGIN = "http://linkstep.test"


class Server:
    """What a live page asks, answered in this process: the questions it got are kept."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.made: list[bytes | str] = []

    def serve(self, route: Any) -> None:
        """Answer a request as ``linkstep explore`` does."""
        path = route.request.url.removeprefix(ORIGIN).partition("#")[0]
        if path == "/":
            route.fulfill(body=live_page("linkstep"), content_type="text/html")
        elif path == "/api/ask":
            self.asked.append(json.loads(route.request.post_data))
            try:
                self.made.append(pack(answer(self.asked[-1])))
            except LinkstepError as error:
                self.made.append(str(error))
            route.fulfill(json={"job": str(len(self.made) - 1)})
        elif path.endswith("/events"):
            made = self.made[int(path.split("/")[-2])]
            event = ("failed", json.dumps({"error": made})) if isinstance(made, str) else ("done", "{}")
            route.fulfill(body=f"event: {event[0]}\ndata: {event[1]}\n\n", content_type="text/event-stream")
        elif path.endswith("/result"):
            route.fulfill(body=self.made[int(path.split("/")[-2])], content_type="application/octet-stream")
        else:
            route.fulfill(status=204)


@pytest.fixture
def open_live(open_page: Callable[..., OpenPage]) -> Iterator[Callable[..., tuple[Any, Server, OpenPage]]]:
    """Return a function that opens a live page at parts of its URL, with its server."""

    def opened(parts: dict[str, str] | None = None, **window: Any) -> tuple[Any, Server, OpenPage]:
        found, server = open_page(offline=False, **window), Server()
        found.page.route("**/*", server.serve)
        found.go(f"{ORIGIN}/#{urlencode(parts or {})}")
        return found.page, server, found

    yield opened


def _answered(page: Any, words: str) -> str:
    """Wait until the answer says something, and return it."""
    page.wait_for_function(
        "words => document.querySelector('.answer')?.innerText.includes(words) && !document.querySelector('.stale')",
        arg=words,
    )
    return str(page.locator(".answer").inner_text())


def _field(page: Any, label: str) -> Any:
    """Return a text field or a list by its label."""
    return page.get_by_role("textbox", name=label, exact=True).or_(page.get_by_role("combobox", name=label, exact=True))


def _read(chart: Any, words: str) -> str:
    """Wait until a chart reads values, and return them."""
    chart.locator(".pointed", has_text=words).wait_for()
    return str(chart.locator(".pointed").inner_text())


def _times(found: Answer, fabric: Fabric, size: str) -> tuple[list[str], list[str]]:
    """Return what the tables say an allreduce takes: ours with the bound, and today's, sorted."""
    ours = [fabric.time(row.allreduce_cost, "allreduce", size) for row in found.frontier]
    today = sorted(row.allreduce_time(fabric, size) for row in found.baselines)
    limit = fabric.time(found.bound + found.bound, "allreduce", size)
    return [format_time(one) for one in [*ours, limit]], [format_time(one) for one in today]


SERVERS = [(8, 4, False), (64, 4, False), (64, 4, True), (1024, 4, False), (1024, 4, True), (12, 3, False)]
PRICES = [
    ("1KiB", "10us", "100Gbps"), ("36KiB", "10us", "100Gbps"), ("1MB", "1us", "100Gbps"),
    ("1GiB", "500ns", "400Gbps"), ("12345B", "0s", "12.5GB/s"), ("3.3MB", "7us", "10Gbps"),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "degree", "directed"), SERVERS)
def test_tables_say_what_find_says(open_live: Any, nodes: int, degree: int, directed: bool) -> None:
    found = find(nodes, degree, directed=directed)
    kind = "directed" if directed else "duplex"
    page, server, opened = open_live({"n": str(nodes), "d": str(degree), "kind": kind})
    _answered(page, "An allreduce of 1MB")
    for size, alpha, bandwidth in PRICES:
        for label, value in (("Size", size), ("Delay of a step (alpha)", alpha), ("Rate of a server (B)", bandwidth)):
            _field(page, label).fill(value)
        _answered(page, f"An allreduce of {size}")
        ours, today = _times(found, Fabric.of(alpha, bandwidth, degree), size)
        rows = table(page, "Candidates")
        assert [row[f"allreduce {size}"] for row in rows] == ours
        assert [row["wiring"] for row in rows] == [*(row.recipe.short for row in found.frontier), "no wiring beats"]
        assert [row["steps"] for row in rows[:-1]] == [str(row.steps) for row in found.frontier]
        assert [row["T_B"] for row in rows[:-1]] == [
            f"{float(row.allreduce_cost.bandwidth):.4f}" for row in found.frontier
        ]
        assert [row[f"allreduce {size}"] for row in table(page, "What is wired and run today")] == today
    assert len(server.asked) == 1  # sliders ask nothing
    opened.check(offline=False)


def test_the_answer_in_words(open_report: Any) -> None:
    opened = open_report("64 4")
    page = opened.page
    said = _answered(page, "Wire 64 servers with 4 ports each as Cat(64,4,26778).")
    assert (
        "An allreduce of 1MB then takes 237.5us, 1.8 times as fast as the best of today, torus rings on Torus(8,8)"
        in said
    )
    assert "(437.5us). No wiring of duplex cables is faster with the usual two phases, a reduce-scatter and an" in said
    assert "8 steps instead of 28, as few as any duplex wiring" in said
    assert "80us instead of 280us" in said
    assert "128 duplex cables, as many as Torus(8,8) has" in said
    assert "Torus(8,8) takes 437.5us today; with our schedule 317.5us, no cable moved." in said
    assert "One-way fibres would take 230us, 3.2% less, as Cat(64,4,54669)" in said
    found, fabric = find(64, 4), Fabric.of("10us", "100Gbps", 4)
    for size in ("1KiB", "32KiB", "256KiB", "1MiB", "32MiB", "1GiB"):
        today = min(row.allreduce_time(fabric, size) for row in found.baselines)
        ours = min(fabric.time(row.allreduce_cost, "allreduce", size) for row in found.frontier)
        assert f"{float(today / ours):.3g} at {size}" in said
    assert "linkstep wire 'Cat(64,4,26778)' -o cables.csv" in said
    page.get_by_text("How are these numbers made?").click()
    assert "linkstep find 64 4" in page.locator("details").inner_text()
    opened.check()
    opened.check_accessible()
    screenshot(page, "choose-64")


def test_what_another_workload_says_is_not_of_an_allreduce(open_live: Any) -> None:
    page, _, opened = open_live({"n": "16", "d": "4", "load": "all-to-all"})
    said = _answered(page, "An all-to-all in which")
    assert "reduce-scatter" not in said and "linkstep wire" in said
    opened.check(offline=False)


@pytest.mark.parametrize(
    ("size", "alpha", "degree"), [("1MB", "10us", "4"), ("1MB", "100ns", "4"), ("1MB", "1us", "2")]
)
def test_windows_are_those_of_find(open_live: Any, size: str, alpha: str, degree: str) -> None:
    page, _, _ = open_live({"n": "1024", "d": degree, "kind": "directed", "alpha": alpha, "size": size})
    said = _answered(page, "Other sizes").replace("\n", " ")
    found = windows(find(1024, int(degree), directed=True), Fabric.of(alpha, "100Gbps", int(degree)), (1024, 2**30))
    names = [row["wiring"] for row in table(page, "Candidates")]
    for window in found:
        name = window.choice.recipe.short
        several = f"{name} by {window.choice.method}" if names.count(name) > 1 else name
        assert several in said or len(found) == 1
    for window in found[:-1]:
        assert f"up to {format_size(window.largest, binary=True)}" in said
    assert len(found) > 1 or "at every size from 1KiB to 1GiB" in said


def test_servers_ports_cables_and_workload_are_asked_for(open_live: Any) -> None:
    page, server, opened = open_live()
    _answered(page, "Wire 64 servers with 4 ports")
    _field(page, "Servers").fill("12")
    _field(page, "Servers").press("Enter")
    _answered(page, "Wire 12 servers with 4 ports each as C(12,{2,3}).")
    _field(page, "Ports of each").fill("3")
    _field(page, "Ports of each").press("Tab")
    _answered(page, "Wire 12 servers with 3 ports")
    _field(page, "Cables").select_option("directed")
    _answered(page, "Wire 12 servers with 3 ports")
    page.wait_for_function("() => document.querySelector('details code')?.textContent.includes('--directed')")
    _field(page, "Workload").select_option("all-to-all")
    _answered(page, "An all-to-all in which every server sends 1MB")
    _field(page, "Workload").select_option("job:resnet50")
    _answered(page, "An iteration of training resnet50")
    _field(page, "Delay of a step (alpha)").fill("100us")
    page.wait_for_function("() => location.hash.includes('alpha=100us')")
    page.wait_for_function("() => !document.querySelector('.waiting') && !document.querySelector('.stale')")
    usual = {"ask": "choose", "nodes": 64, "degree": 4, "kind": "duplex", "rank_by": "allreduce"}
    small = usual | {"nodes": 12, "degree": 3, "kind": "directed"}
    assert server.asked == [
        usual, usual | {"nodes": 12}, usual | {"nodes": 12, "degree": 3}, small, small | {"rank_by": "all-to-all"},
        small | {"rank_by": "job", "job": "resnet50"}, small | {"rank_by": "job", "job": "resnet50", "alpha": "100us"},
    ]  # fmt: skip
    opened.check(offline=False)


def test_all_to_all_and_jobs_say_what_the_library_says(open_live: Any) -> None:
    page, _, opened = open_live({"load": "all-to-all", "size": "4MB", "n": "16", "d": "4"})
    said = _answered(page, "An all-to-all in which every server sends 4MB")
    found, fabric = find(16, 4).ranked_by_all_to_all(), Fabric.of("10us", "100Gbps", 4)
    best = found.best
    assert format_time(fabric.all_to_all_time(best.flow, 16, "4MB")) in said
    assert format_bandwidth(fabric.all_to_all_rate(best.flow, 16)) in said
    rows = {row["wiring"]: row for row in table(page, "Candidates")}
    for row in found.frontier:
        assert rows[row.recipe.short]["all-to-all"] == format_bandwidth(fabric.all_to_all_rate(row.flow, 16))
    _field(page, "Workload").select_option("job:gpt2-small")
    said = _answered(page, "An iteration of training gpt2-small")
    job = load_model("gpt2-small").job(16)
    compared = compare(job, find(16, 4), fabric)
    assert format_time(compared.ours.time) in said
    assert format_time(min(one.time for one in compared.today)) in said
    opened.check(offline=False)


def test_what_cannot_be_asked_is_said_beside_its_field(open_live: Any) -> None:
    page, server, opened = open_live()
    _answered(page, "Wire 64 servers")
    wrong = [
        ("Servers", "0", "servers must be a whole number from 2 on"),
        ("Servers", "many", "servers must be a whole number from 2 on"),
        ("Ports of each", "0", "ports must be a whole number from 1 on"),
        ("Ports of each", "4.5", "ports must be a whole number from 1 on"),
        ("Size", "1 parsec", "no unit parsec: write it like 1MB or 1MiB"),
        ("Size", "0MB", "a size must be more than 0"),
        ("Delay of a step (alpha)", "10", "no unit is given: write it like 10us or 10s"),
        ("Rate of a server (B)", "100GB", "no unit GB: write it like 100Gbps or 100GB/s"),
    ]
    for label, text, message in wrong:
        field = _field(page, label)
        before = field.input_value()
        field.fill(text)
        field.press("Enter")
        error = page.locator(".field", has=field).locator(".field-error")
        assert error.inner_text() == message
        assert field.get_attribute("aria-invalid") == "true"
        field.fill(before)
    assert len(server.asked) == 1
    assert "237.5us" in _answered(page, "Wire 64 servers")
    opened.check_accessible()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"n": "0"}, "servers must be a whole number from 2 on"),
        ({"d": "none"}, "ports must be a whole number from 1 on"),
        ({"d": "999"}, "the degree must lie in [1, 64], not 999"),
        ({"kind": "magic"}, "kind must be one of duplex, directed, not 'magic'"),
        ({"load": "job:<script>alert(1)</script>"}, "job must be one of"),
    ],
)
def test_a_link_that_asks_for_nothing_can_be_mended(open_live: Any, parts: dict[str, str], message: str) -> None:
    page, _, opened = open_live(parts)
    page.wait_for_function("text => document.querySelector('[role=alert]')?.innerText.includes(text)", arg=message)
    _field(page, "Cables").select_option("directed")
    _field(page, "Workload").select_option("all-to-all")
    for label, value in (("Servers", "8"), ("Ports of each", "2")):
        _field(page, label).fill(value)
        _field(page, label).press("Enter")
    _answered(page, "Wire 8 servers with 2 ports")
    opened.check(offline=False)


def test_sliders_move_and_the_url_follows(open_live: Any) -> None:
    page, server, opened = open_live()
    _answered(page, "An allreduce of 1MB")
    for label, text, part in (
        ("Size", "2MB", "size"),
        ("Delay of a step (alpha)", "20us", "alpha"),
        ("Rate of a server (B)", "200Gbps", "bandwidth"),
    ):
        page.get_by_label(f"{label}, usual values").press("ArrowRight")
        page.wait_for_function(
            "part => new URLSearchParams(location.hash.slice(1)).get(part[0]) === part[1]", arg=[part, text]
        )
        assert _field(page, label).input_value() == text
    ours, _ = _times(find(64, 4), Fabric.of("20us", "200Gbps", 4), "2MB")
    assert ours[0] in _answered(page, "An allreduce of 2MB")
    assert len(server.asked) == 1
    again = address(page)
    page.reload()
    assert ours[0] in _answered(page, "An allreduce of 2MB")
    assert address(page) == again
    opened.check(offline=False)


def test_two_rows_side_by_side(open_live: Any) -> None:
    page, _, opened = open_live()
    _answered(page, "Wire 64 servers")
    page.get_by_label("Compare Torus(8,8), torus rings, 28 steps").check()
    assert "Tick another row to see it beside Torus(8,8)." in page.locator("main").inner_text()
    page.get_by_label("Compare Cat(64,4,26778), arrival, 8 steps").check()
    rows = {row["what"]: row for row in table(page, "Side by side")}
    assert rows["allreduce of 1MB"]["difference"] == "Cat(64,4,26778) takes 200us less: 1.8 times as fast"
    assert rows["steps (T_L)"] == {
        "what": "steps (T_L)",
        "Torus(8,8)": "28",
        "Cat(64,4,26778)": "8",
        "difference": "20 fewer on Cat(64,4,26778): 200us",
    }
    assert rows["data (T_B, in M/B)"]["difference"] == "the same"
    assert rows["cables"]["difference"] == "the same"
    assert rows["allreduce of other sizes"]["difference"] == "Cat(64,4,26778) is faster at every size from 1KiB to 1GiB"
    opened.check_accessible()
    screenshot(page, "choose-pair")
    page.reload()
    _answered(page, "Wire 64 servers")
    assert len(table(page, "Side by side")) == len(rows)
    page.get_by_label(
        "Compare BiRing(4,64), bidirectional ring, 126 steps"
    ).check()  # the third takes the first one's place
    assert "BiRing(4,64)" in table(page, "Side by side")[0]
    page.get_by_role("button", name="Compare no more").click()
    assert page.locator(".compared").count() == 0
    opened.check(offline=False)


def test_a_row_opens_its_wiring(open_live: Any) -> None:
    page, server, opened = open_live()
    _answered(page, "Wire 64 servers")
    page.locator("table").get_by_role("button", name="Torus(8,8)").click()
    page.wait_for_selector(".view.wiring")
    assert server.asked[-1]["what"] == "Torus(8,8)"
    page.go_back()
    _answered(page, "Wire 64 servers")
    page.locator(".headline").get_by_role("button", name="Cat(64,4,26778)").click()
    page.wait_for_selector(".view.wiring")
    assert server.asked[-1]["what"] == "Cat(64,4,26778)"
    opened.check(offline=False)


def test_a_report_opens_the_best_wiring_and_names_the_command_for_others(open_report: Any) -> None:
    opened = open_report(find(12, 4))
    page = opened.page
    page.locator("table").get_by_role("button", name="Torus(3,4)").click()
    assert "linkstep show 'Torus(3,4)'" in page.locator("p[role=status]").inner_text()
    page.locator(".headline").get_by_role("button").click()
    page.wait_for_selector(".view.wiring")
    opened.check()


def test_charts_are_read_by_keys_and_pointer(open_live: Any) -> None:
    page, _, opened = open_live({"n": "1024", "kind": "directed"})
    _answered(page, "Wire 1,024 servers")
    chart = page.locator(".chart").nth(0)
    chart.locator("svg[role=img]").focus()
    page.keyboard.press("Home")
    found = find(1024, 4, directed=True)
    fabric = Fabric.of("10us", "100Gbps", 4)
    said = _read(chart, "At 1KiB: ")
    for row in found.frontier:
        assert format_time(fabric.time(row.allreduce_cost, "allreduce", "1KiB")) in said
    page.keyboard.press("End")
    said = _read(chart, "At 1GiB: ")
    limit = format_time(fabric.time(found.bound + found.bound, "allreduce", "1GiB"))
    assert f"no wiring beats {limit}" in said
    chart.get_by_label("Scale").select_option("ratio")
    chart.locator("svg text", has_text="times what no wiring beats").wait_for()
    chart.locator("svg[role=img]").hover()
    _read(chart, "x)")
    costs = page.locator(".chart").nth(1)
    costs.locator("svg[role=img]").focus()
    page.keyboard.press("ArrowRight")
    best = found.frontier[0]
    _read(costs, f"{best.steps} steps")
    page.keyboard.press("Enter")
    page.wait_for_selector(".view.wiring")
    opened.check(offline=False)


@pytest.mark.parametrize("chart", [0, 1])
def test_charts_are_saved(open_report: Any, chart: int) -> None:
    opened = open_report("8 4")
    page = opened.page
    place = page.locator(".chart").nth(chart)
    with page.expect_download() as saved:
        place.get_by_role("button", name="SVG").click()
    text = saved.value.path().read_text("utf-8")
    assert text.startswith("<svg") and "K_{4,4}" in text
    with page.expect_download() as saved:
        place.get_by_role("button", name="PNG").click()
    assert saved.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with page.expect_download() as saved:
        place.get_by_role("button", name="JSON").click()
    assert any(one["points"] for one in json.loads(saved.value.path().read_text("utf-8")))
    opened.check()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1200])
def test_it_fits_narrow_and_wide_light_and_dark(open_report: Any, dark: bool, width: int) -> None:
    pair = urlencode({"pair": "Cat(64,4,26778)|arrival|8~Torus(8,8)|torus rings"})
    opened = open_report("64 4", f"#{pair}", width=width, dark=dark)
    page = opened.page
    _answered(page, "Wire 64 servers")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    opened.check()
    opened.check_accessible()
    screenshot(page, f"choose-{width}-{'dark' if dark else 'light'}")


def test_a_live_page_fits_a_telephone(open_live: Any) -> None:
    page, _, opened = open_live({"n": "1024", "kind": "directed"}, width=400, dark=True)
    _answered(page, "Wire 1,024 servers")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    opened.check(offline=False)
    opened.check_accessible()


def test_limits_of_hosts_are_worked_out_by_the_library(open_report: Any) -> None:
    fabric = Fabric.of("10us", "100Gbps", 4, overhead="5us", host_bandwidth="80Gbps")
    opened = open_report(document_of((16, 4), Pricing("1MB", fabric)))
    page = opened.page
    assert "at most 80Gbps together" in page.locator("main").inner_text()
    found = find(16, 4, fabric=fabric)
    for size in ("1MB", "32KiB"):
        _field(page, "Size").select_option(size)
        ours, today = _times(found, fabric, size)
        _answered(page, f"An allreduce of {size}")
        assert [row[f"allreduce {size}"].removeprefix("<=") for row in table(page, "Candidates")] == ours
        rows = table(page, "What is wired and run today")
        assert [row[f"allreduce {size}"].removeprefix("<=") for row in rows] == today
        rates = {row.recipe.short: fabric.all_to_all_rate(row.flow, 16) for row in found.baselines if row.flow}
        said = {row["wiring"]: row["all-to-all"].lstrip("<>=") for row in rows}
        assert {name: said[name] for name in rates} == {name: format_bandwidth(rate) for name, rate in rates.items()}
    assert _field(page, "Delay of a step (alpha)").count() == 0
    opened.check()
    opened.check_accessible()


def test_hostile_parts_of_a_link_do_nothing(open_report: Any) -> None:
    hostile = "<script>alert(1)</script>'\"&" + "x" * 200
    parts = dict.fromkeys(("size", "alpha", "bandwidth", "pair", "load", "scale", "kind"), hostile)
    opened = open_report("8 4", f"#{urlencode(parts)}")
    said = _answered(opened.page, "Wire 8 servers with 4 ports each as K_{4,4}.")
    assert format_time(Fabric.of("10us", "100Gbps", 4).time(find(8, 4).best.allreduce_cost, "allreduce", "1MB")) in said
    opened.check()
