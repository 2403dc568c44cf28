"""The file view in a real browser: verdicts, marked lines and messages are the library's; files come in every way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import linkstep
import support
from linkstep.core.units import format_time
from linkstep.explorer import live_page, pack
from linkstep.explorer.document import Document
from linkstep.explorer.documents import usual_pricing
from linkstep.explorer.panels.file import file_panel
from linkstep.explorer.questions import answer
from linkstep.lowering import TARGETS
from linkstep.programs import read_program
from linkstep.simulation import simulate_program, used_links
from linkstep.verification import verify_text
from support.pages import OpenPage, address, check_fluid, facts, screenshot, table

pytestmark = pytest.mark.slow

PROGRAMS = Path(support.__file__).parent / "programs"
RACE = (PROGRAMS / "ring-allreduce.cpu.xml").read_text().replace('<sync n="2" ops="0"/>', '<sync n="2" ops=""/>', 1)
FINDINGS = "What was found"
ON_THE_WAY = "Messages on their way"


def of_text(text: str, name: str = "given.xml") -> Document:
    return Document(name, (file_panel(text, name, usual_pricing()),))


def verdict(page: Any) -> str:
    return str(page.locator(".verdict").inner_text())


def marked_lines(page: Any) -> list[tuple[int, str]]:
    """The marked rows in sight: their line and text."""
    rows = page.locator(".file-text .marked").all()
    return [(int(row.get_attribute("data-line")), row.inner_text().split(maxsplit=1)[1]) for row in rows]


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


@pytest.mark.parametrize("target", list(TARGETS))
def test_what_linkstep_writes_is_verified(open_report: Callable[..., OpenPage], target: str) -> None:
    lowered = linkstep.lower("K_{2,2}", target)
    report = linkstep.verify(lowered)
    page = open_report(lowered).page
    said = facts(page)
    assert "Proven right: every rank ends with the sum of everyone's data" in verdict(page)
    assert said["read as"] == report.dialect and said["runtimes that take it"] == ", ".join(report.dialects)
    assert (said["ranks"], said["instructions"]) == (str(report.ranks), str(report.instructions))
    assert (said["collective"], said["chunks"]) == (report.collective, str(report.chunks))
    done = linkstep.simulate(lowered, linkstep.Fabric.of("10us", "100Gbps", 2), "1MB")
    assert said["takes"] == f"{format_time(done.time)} for 1MB"


@pytest.mark.parametrize("name", sorted(path.name for path in PROGRAMS.iterdir()))
def test_foreign_files_are_shown(open_report: Callable[..., OpenPage], name: str) -> None:
    opened = open_report(PROGRAMS / name)
    page, program = opened.page, read_program((PROGRAMS / name).read_text())
    assert verdict(page).startswith("Proven right")
    topology = used_links(program)
    done = simulate_program(program, topology, usual_pricing().fabric_for(topology.degree), "1MB")
    assert facts(page)["messages"] == f"{done.sent_link.size} messages"
    busy = {row["from, to"]: row["busy"] for row in table(page, "Links, the busiest")}
    for link in range(min(topology.num_links, 8)):
        ends = f"{topology.tail[link]} to {topology.head[link]}"
        assert busy[ends] == f"{round(100 * done.busy[link] / done.time)}%"
    assert len(table(page, ON_THE_WAY)) == min(30, int((done.sent_start == 0).sum()))
    opened.check()


def test_a_finding_is_marked_in_its_line(open_report: Callable[..., OpenPage]) -> None:
    opened = open_report(of_text(RACE))
    page, finding = opened.page, verify_text(RACE).findings[0]
    assert verdict(page) == f"Wrong for cpu: rank 0 step 0: {finding.message}"
    row = table(page, FINDINGS)[0]
    assert row == {"finding": "error: race", "where": "rank 0 step 0, line 4", "what": finding.message}
    lines = RACE.split("\n")
    assert marked_lines(page) == [(4, lines[3].strip()), (7, lines[6].strip())]
    assert 'n="0"' in lines[3] and 'n="3"' in lines[6]
    page.get_by_label("Go to line").fill("40")
    page.get_by_label("Go to line").press("Enter")
    assert marked_lines(page) == [(40, lines[39].strip())]
    assert address(page).endswith("mark=line.40")
    page.get_by_label("Go to rank").fill("1")
    page.get_by_label("Go to rank").press("Enter")
    assert [text for _, text in marked_lines(page)] == ['<rank id="1" input="3" output="3" scratch="2">']
    assert page.locator(".pointed").inner_text() == "Rank 1 sends to 2."
    press(page, "error: race")
    assert [line for line, _ in marked_lines(page)] == [4, 7]
    with page.expect_download() as saved:
        press(page, "SVG")
    assert Path(saved.value.path()).read_text().count('fill="#d55e00"') == 1  # around rank 0
    assert page.get_by_text("in one of the orders").count() == 1
    opened.check()
    opened.check_accessible()
    screenshot(page, "file-refuted")


def test_a_plan_on_one_line_is_marked_at_its_operation(open_report: Callable[..., OpenPage]) -> None:
    plan = json.loads((PROGRAMS / "allpairs-allreduce.mscclpp.json").read_text())
    ops = plan["gpus"][1]["threadblocks"][0]["ops"]
    del ops[next(k for k, op in enumerate(ops) if op["name"] == "wait")]
    text = json.dumps(plan)
    report = verify_text(text)
    finding = next(one for one in report.findings if one.step is not None)
    at = report.findings.index(finding)
    page = open_report(of_text(text, "plan.json"), f"#mark=finding.{at}").page
    assert table(page, FINDINGS)[at]["what"] == finding.message
    marked = "".join(row.inner_text().strip() for row in page.locator(".file-text .marked").all())
    assert finding.rank is not None and finding.step is not None
    wanted = plan["gpus"][finding.rank]["threadblocks"][finding.threadblock]["ops"][finding.step]
    assert json.dumps(wanted).replace(" ", "") in marked.replace(" ", "")


def test_messages_are_played(open_report: Callable[..., OpenPage]) -> None:
    opened = open_report(PROGRAMS / "ring-allreduce.cpu.xml")
    page = opened.page
    rows = table(page, ON_THE_WAY)
    assert [(row["from, to"], row["carries"], row["bytes"], row["by"]) for row in rows] == [
        ("0 to 1", "chunk 2 of rank 0", "333.3KB", "rank 0 step 1"),
        ("1 to 2", "chunk 0 of rank 1", "333.3KB", "rank 1 step 1"),
        ("2 to 0", "chunk 1 of rank 2", "333.3KB", "rank 2 step 1"),
    ]
    press(page, "Next message")
    assert table(page, ON_THE_WAY)[0]["carries"] == "chunk 1, sum of 2"
    press(page, "Next message")
    rows = table(page, ON_THE_WAY)
    assert (rows[0]["carries"], rows[0]["begins"]) == ("chunk 0, sum of all", "73.33us")
    page.get_by_role("button", name="0 to 1", exact=True).first.click()  # of messages; the other is of links
    assert [text for _, text in marked_lines(page)] == ['<send n="8" peer="1" chan="0" src="o" srcoff="0" cnt="1"/>']
    assert "mark=message.6" in address(page) and "at=0.0000733" in address(page)
    press(page, "Message before")
    assert "chunk 1, sum of 2" in [row["carries"] for row in table(page, ON_THE_WAY)]
    page.get_by_label("Time").fill("0")
    press(page, "Play")
    page.wait_for_selector('canvas[data-frames="60"]')
    page.get_by_label("Speed").select_option("4")
    page.get_by_role("button", name="Play", exact=True).wait_for()  # it stops by itself
    assert page.locator("output").inner_text() == "146.7us of 146.7us"
    opened.check()


def test_what_cannot_be_followed_is_neither(open_report: Callable[..., OpenPage]) -> None:
    plan = json.loads((PROGRAMS / "allpairs-allreduce.mscclpp.json").read_text())
    plan["gpus"][2]["threadblocks"][0]["ops"][3] = {"name": "pipeline"}
    text = json.dumps(plan, indent=1)
    report = verify_text(text)
    assert report.status == "unknown"
    opened = open_report(of_text(text, "plan.json"))
    page = opened.page
    assert verdict(page) == f"Neither proven nor refuted: rank 2 tb 0 step 3: {report.unknowns[0].message}"
    assert "".join(text for _, text in marked_lines(page)) == '{"name": "pipeline"},'
    assert page.get_by_text("Not played. It cannot run: ").count() == 1
    assert page.locator(".pointed").count() == 1  # who talks to whom is drawn all the same
    opened.check()


def test_links_and_layouts_are_in_the_url(open_report: Callable[..., OpenPage]) -> None:
    opened = open_report(PROGRAMS / "ring-allreduce.cpu.xml")
    page = opened.page
    page.get_by_label("Layout").select_option("force")
    links = page.locator("table", has=page.locator("caption", has_text="Links, the busiest"))
    links.get_by_role("button", name="2 to 0").click()
    assert page.locator(".pointed").inner_text() == "Rank 2 sends to rank 0: 4 messages, 1.333MB in all."
    assert address(page).endswith("#layout=force&mark=link.2")
    for hash in ("#mark=finding.99&at=x&layout=<b>&speed=99", "#mark=rank.999999&at=-5", "#mark=message.99&at=1e9"):
        other = open_report(PROGRAMS / "ring-allreduce.cpu.xml", hash)
        assert other.page.locator(".file-text .marked").count() == 0
        assert other.page.locator("output").inner_text() in ("0s of 146.7us", "146.7us of 146.7us")
        other.check()
    opened.check()


def test_a_thousand_ranks_stay_fluid(open_report: Callable[..., OpenPage]) -> None:
    schedule = linkstep.schedule("C(1024,{23,24})", "broadcast").schedule
    opened = open_report(linkstep.lower(schedule, "cpu"), "#speed=0.25")
    page = opened.page
    press(page, "Play")
    page.wait_for_selector('canvas[data-frames="60"]')
    check_fluid(page.locator("canvas"), lambda: page.wait_for_timeout(500))
    opened.check()


def test_long_texts_have_few_rows_in_the_page(open_report: Callable[..., OpenPage]) -> None:
    text = (PROGRAMS / "ring-allreduce.msccl.xml").read_text()
    lines = text.split("\n")
    longer = "\n".join([*lines[:2], *(f"<!-- {k} -->" for k in range(20_000)), *lines[2:]])
    page = open_report(of_text(longer), "#mark=line.15000").page
    assert facts(page)["lines"] == f"{longer.count(chr(10)) + 1:,}"
    assert page.locator(".file-text pre > div").count() < 100
    assert marked_lines(page) == [(15_000, "<!-- 14997 -->")]
    assert page.locator(".file-text .marked").is_visible()
    page.get_by_label("Go to rank").fill("3")
    page.get_by_label("Go to rank").press("Enter")
    assert [text for _, text in marked_lines(page)] == ['<gpu id="3" i_chunks="8" o_chunks="0" s_chunks="0">']


HOSTILE = {
    "script": "<script>document.title = 'broken'</script>", "end": "]]></script><img src=x onerror=alert(1)>",
    "line": "x" * 10**7, "binary": "".join(map(chr, range(256))) * 500, "empty": "", "feeds": "\n" * 10**6,
    "truncated": (PROGRAMS / "ring-allreduce.msccl.xml").read_text()[:3000],
    "laughs": '<!DOCTYPE s [<!ENTITY a "aaaaaaaaaa">]><schedule>&a;&a;</schedule>',
    "surrogate": '{"gpus": [], "name": "\ud800\U0001f9ff"', "name": '{"gpus": 1, "name": "<b>"}',
}  # fmt: skip


@pytest.mark.parametrize("what", list(HOSTILE))
def test_hostile_texts_are_one_clear_line(open_report: Callable[..., OpenPage], what: str) -> None:
    name = "<script>alert(1)</script>\"'\U0001f9ff" + "y" * 200
    opened = open_report(of_text(HOSTILE[what], name))
    page = opened.page
    assert verdict(page).startswith("This cannot be read: ") and "\n" not in verdict(page)
    assert len(table(page, FINDINGS)) == 1 and facts(page)["file"] == name
    assert page.title() == name
    if HOSTILE[what]:
        shown = page.locator(".file-text pre > div").first.inner_text()
        assert shown.split(maxsplit=1)[1:] == [HOSTILE[what].split("\n")[0][:200].strip()] or what in (
            "binary",
            "feeds",
            "surrogate",
        )
    opened.check()


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (400, False), (400, True)])
def test_everyone_can_read_it(open_report: Callable[..., OpenPage], width: int, dark: bool) -> None:
    opened = open_report(of_text(RACE), "#at=0.00005", width=width, dark=dark)
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    opened.check_accessible()
    opened.check()
    screenshot(page, f"file-{width}-{'dark' if dark else 'light'}")


def test_what_is_saved(open_report: Callable[..., OpenPage]) -> None:
    page = open_report(PROGRAMS / "ring-allreduce.cpu.xml").page
    with page.expect_download() as saved:
        press(page, "JSON")
    data = json.loads(Path(saved.value.path()).read_text())
    assert data["facts"]["status"] == "verified" and len(data["messages"]["link"]) == 12
    with page.expect_download() as saved:
        press(page, "SVG")
    assert Path(saved.value.path()).read_text().count("<circle") >= 3 + 3  # ranks, and messages on their way


@pytest.fixture
def live(open_page: Callable[..., OpenPage]) -> OpenPage:
    """A live page whose questions are answered by the library, without a server between them."""
    opened = open_page(offline=False)
    results: list[bytes] = []

    def serve(route: Any) -> None:
        path = route.request.url.split("linkstep.test", 1)[1].split("#")[0]
        if path == "/":
            route.fulfill(body=live_page("linkstep"), content_type="text/html")
        elif path == "/api/ask":
            results.append(pack(answer(route.request.post_data_json)))
            route.fulfill(json={"job": str(len(results) - 1)})
        elif path.endswith("/events"):
            route.fulfill(body="event: done\ndata: {}\n\n", content_type="text/event-stream")
        elif path.endswith("/result"):
            route.fulfill(body=results[int(path.split("/")[3])], content_type="application/octet-stream")
        else:
            route.fulfill(json={})

    opened.page.route("http://linkstep.test/**", serve)
    opened.go("http://linkstep.test/#view=file")
    return opened


def test_files_are_chosen(live: OpenPage, tmp_path: Path) -> None:
    page = live.page
    assert "Drop an MSCCL XML, an MSCCL++ JSON or a CPU XML here" in page.locator(".drop").inner_text()
    live.check_accessible()
    page.get_by_label("choose it").set_input_files(PROGRAMS / "ring-allreduce.msccl.xml")
    page.wait_for_selector(".verdict.verified")
    assert facts(page)["file"] == "ring-allreduce.msccl.xml"
    live.check_accessible()
    url = address(page)
    page.get_by_label("choose it").set_input_files(PROGRAMS / "allpairs-allreduce.mscclpp.json")
    page.locator("dd", has_text="allpairs-allreduce.mscclpp.json").wait_for()
    assert address(page) != url
    page.go_back()
    page.locator("dd", has_text="ring-allreduce.msccl.xml").wait_for()
    page.get_by_label("Data").fill("16MB")
    page.get_by_label("Data").press("Enter")
    page.locator("dd", has_text="for 16MB").wait_for()
    page.get_by_label("Data").fill("much")
    page.get_by_label("Data").press("Enter")
    assert page.locator(".error").inner_text() == "much is no size: write such as 16MB."
    page.get_by_label("Runs on").fill("K_4")
    page.get_by_label("Runs on").press("Enter")
    press(page, "Show all 12 rows")  # the ring uses 8 links, the topology has 12
    assert "0 to 2" in [row["from, to"] for row in table(page, "Links, the busiest")]
    (tmp_path / "binary.xml").write_bytes(b"<algo \xff")
    page.get_by_label("choose it").set_input_files(tmp_path / "binary.xml")
    page.get_by_text("binary.xml cannot be read as text in UTF-8: it is no runtime's file.").wait_for()
    with (tmp_path / "large.xml").open("wb") as file:
        file.truncate(9 * 2**20)
    page.get_by_label("choose it").set_input_files(tmp_path / "large.xml")
    page.get_by_text("large.xml is too long for a page, which takes 8MiB: linkstep verify takes more.").wait_for()
    (tmp_path / "quotes.xml").write_text('"' * 5 * 2**20)  # two bytes each in a question
    page.get_by_label("choose it").set_input_files(tmp_path / "quotes.xml")
    page.get_by_text("quotes.xml is too long for a page").wait_for()
    live.check(offline=False)


def test_files_are_dropped(live: OpenPage) -> None:
    page = live.page
    page.locator(".drop").evaluate(
        """(place, text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "race.xml"));
            for (const kind of ["dragover", "drop"]) {
                place.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
            }
        }""",
        RACE,
    )
    page.wait_for_selector(".verdict.refuted")
    assert facts(page)["file"] == "race.xml"
    assert [line for line, _ in marked_lines(page)] == [4, 7]
    live.check(offline=False)


def test_texts_are_pasted(live: OpenPage) -> None:
    page = live.page
    page.get_by_text("or paste its text").click()
    press(page, "Read it")
    assert page.locator(".error").inner_text() == "There is no text to read."
    page.get_by_label("Text of the file").fill("<algo")
    press(page, "Read it")
    page.wait_for_selector(".verdict.unreadable")
    assert facts(page)["file"] == "pasted text"
    page.reload()  # what was given is gone, and is asked for again
    page.wait_for_selector(".drop h2")
    live.check(offline=False)
