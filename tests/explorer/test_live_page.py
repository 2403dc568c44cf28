"""A live page in a real browser: what is clicked is asked, waited for, stopped, and answered as the library answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction

import pytest

import linkstep
from linkstep.cli import main
from support.live import QUESTIONS, Client, is_alive, until
from support.pages import address, choose_host, facts, screenshot, table

pytestmark = pytest.mark.slow

HOSTILE = ["<script>alert(1)</script>", "\"'&lt;", "\N{ROCKET}\N{FAMILY}", "h" * 200]


@pytest.fixture
def explore(tmp_path) -> Iterator[object]:
    """Return a function that starts ``linkstep explore`` and returns its URL."""
    (tmp_path / "questions.py").write_text(QUESTIONS)
    started = []

    def run(*words: str) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "linkstep", "explore", "--no-browser", *words], cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        started.append(process)
        return process.stdout.readline().strip()

    yield run
    for process in started:
        process.terminate()
        process.communicate()


def opened(open_page, url: str):
    """Open a live page and wait for its first answer."""
    found = open_page(offline=False)
    found.go(url)
    found.page.wait_for_selector("dl.facts")
    return found


def is_fresh(page) -> None:
    """Wait until nothing is worked on any more."""
    page.wait_for_function("() => !document.querySelector('.waiting') && !document.querySelector('.stale')")


def test_a_cable_is_cut(explore, open_page):
    """By a button; the numbers are those of ``linkstep show --cut``, and the URL says it."""
    url = explore("Torus(4,4)")
    found = opened(open_page, url)
    page = found.page
    assert facts(page)["farthest hosts"].startswith("4 hops")
    choose_host(page, "5")
    page.get_by_role("button", name="Take host 5 down").click()
    page.wait_for_selector(".changed")
    is_fresh(page)
    down = linkstep.faults.apply(
        linkstep.parse("Torus(4,4)").topology(), [linkstep.faults.parse("down", "5")], Fraction(25 * 10**9)
    )
    assert facts(page)["hosts"].startswith("15,")
    assert facts(page)["cables"] == f"{down.num_links // 2} duplex cables"
    assert facts(page)["farthest hosts"].startswith(f"{linkstep.describe(down).diameter} hops")
    assert "down=5" in address(page)
    page.evaluate("history.back()")
    page.wait_for_selector(".changed", state="detached")
    is_fresh(page)
    assert facts(page)["hosts"].startswith("16,")
    found.check(offline=False)
    found.check_accessible()
    own = (url.partition("#")[0], "data:", "blob:")
    assert all(one.startswith(own) for one in found.requests)
    screenshot(page, "live")


def test_a_link_shows_the_same_again(explore, open_page):
    url = explore("Torus(4,4)", "--cut", "0,1", "--size", "64MB")
    found = opened(open_page, url)
    page = found.page
    is_fresh(page)
    before = facts(page)
    topology = linkstep.parse("Torus(4,4)").topology()
    cut = linkstep.faults.apply(topology, [linkstep.faults.parse("cut", "0,1")], Fraction(25 * 10**9))
    made = linkstep.schedule(cut, fabric=linkstep.Fabric.of("10us", "100Gbps", 4))
    assert before["steps (T_L)"] == str(made.cost.steps)
    assert before["bandwidth (T_B)"].startswith(f"{made.cost.bandwidth} M/B")
    page.reload()
    page.wait_for_selector("dl.facts")
    is_fresh(page)
    assert facts(page) == before
    found.check(offline=False)


def test_what_is_wrong_is_a_line(explore, open_page):
    url = explore()
    found = open_page(offline=False)
    page = found.go(f"{url}#view=wiring&what=Tors(4,4)")
    page.wait_for_selector(".error")
    assert "did you mean 'Torus'?" in page.locator(".error").inner_text()
    page.goto(f"{url}#view=wiring&what=/etc/passwd")
    page.wait_for_function("() => document.querySelector('.error')?.textContent.includes('was not opened')")


def test_progress_and_the_stop_button(explore, open_page, tmp_path):
    """Of a question that takes for ever: the page says how far it is, and a click ends the process."""
    url = explore("--plugin", "questions.py")
    found = open_page(offline=False)
    page = found.page

    def ask_slowly(route) -> None:  # in place of what the page asks
        route.continue_(post_data='{"ask": "slow", "pids": "pids"}')

    page.route("**/api/ask", ask_slowly)
    found.go(f"{url}#view=wiring&what=K_4")
    page.wait_for_function("() => document.querySelector('.waiting')?.textContent.includes('sleeping')")
    page.wait_for_function("() => document.querySelector('.waiting progress')?.value > 0")
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert all(is_alive(pid) for pid in pids)
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".error")
    assert page.locator(".error").inner_text() == "Stopped."
    until(lambda: not any(is_alive(pid) for pid in pids))
    page.unroute("**/api/ask")
    page.goto(f"{url}#view=wiring&what=K_5")
    page.wait_for_selector("dl.facts")
    found.check(offline=False)


def test_closing_the_page_stops_what_it_asked(explore, open_page, tmp_path):
    url = explore("--plugin", "questions.py")
    found = open_page(offline=False)
    found.page.route("**/api/ask", lambda route: route.continue_(post_data='{"ask": "slow", "pids": "pids"}'))
    found.go(f"{url}#view=wiring&what=K_4")
    found.page.wait_for_function("() => document.querySelector('.waiting')?.textContent.includes('sleeping')")
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    found.page.close()
    until(lambda: not any(is_alive(pid) for pid in pids))
    assert Client(url).answer(ask="wiring", what="K_3")["title"] == "K_3"


def test_a_server_that_has_gone_is_said(explore, open_page, tmp_path):
    url = explore("K_4")
    found = opened(open_page, url)
    found.page.route("**/api/ask", lambda route: route.abort())
    found.page.goto(f"{url.partition('#')[0]}#view=wiring&what=K_5")
    found.page.wait_for_selector(".error")
    assert "start `linkstep explore` again" in found.page.locator(".error").inner_text()


def test_a_file_of_any_kind(explore, open_page, tmp_path):
    linkstep.save(linkstep.schedule("K_3", "allgather").schedule, tmp_path / "made.npz")
    url = explore("made.npz")
    found = open_page(offline=False)
    page = found.go(f"{url.partition('#')[0]}#open=made.npz&panel=1")
    page.wait_for_selector("dl.facts")
    assert facts(page)["hosts"].startswith("3,")
    assert page.locator("h1").inner_text() == "made.npz"
    found.check(offline=False)


def test_hostile_names_of_hosts(explore, open_page, tmp_path):
    """Shown as they are, cut by their names, and never run."""
    topology = linkstep.parse("K_4").topology().with_labels(HOSTILE)
    linkstep.save(topology, tmp_path / "hostile.json")
    url = explore("hostile.json")
    found = opened(open_page, url)
    page = found.page
    dialogs = []
    page.on("dialog", lambda one: (dialogs.append(one.message), one.dismiss()))
    assert sorted(row["host"] for row in table(page, "Hosts and what they are wired to")) == sorted(HOSTILE)
    for name in HOSTILE:
        choose_host(page, name)
        page.get_by_role("button", name="down").click()
        page.wait_for_selector(".changed")
        is_fresh(page)
        assert facts(page)["hosts"].startswith("3,")
        page.get_by_role("button", name="Mend everything").click()
        page.wait_for_selector(".changed", state="detached")
        is_fresh(page)
    assert not dialogs
    found.check(offline=False)


@pytest.mark.parametrize("name", ["wiring.csv", "made.npz", "plan.xml", "plan.json", "trace.json", "K_4", "8 4"])
def test_a_report_of_each_kind_of_thing(open_page, tmp_path, name):
    """Written by the command, and opened with nothing but itself."""
    linkstep.save(linkstep.parse("K_4").topology(), tmp_path / "wiring.csv")
    linkstep.save(linkstep.schedule("K_3", "allgather").schedule, tmp_path / "made.npz")
    for plan, target in (("plan.xml", "msccl"), ("plan.json", "mscclpp")):
        (tmp_path / plan).write_text(linkstep.lower(linkstep.schedule("K_3"), target).text)
    linkstep.timelines.export_timeline(
        linkstep.timelines.timeline_of(linkstep.simulate("K_3")), tmp_path / "trace.json"
    )
    things = [str(tmp_path / name)] if "." in name else name.split()
    assert main(["report", *things, "-o", str(tmp_path / "r.html")]) == 0
    found = open_page()
    page = found.go((tmp_path / "r.html").as_uri())
    tabs = page.locator("header nav button").all()
    for tab in tabs:
        tab.click()
        assert page.locator("main").inner_text()
    assert not tabs or len(tabs) > 1
    assert page.locator("main").inner_text()
    found.check()


def test_hostile_names_in_a_report(open_report, tmp_path):
    topology = linkstep.parse("K_4").topology().with_labels(HOSTILE)
    found = open_report(topology)
    assert sorted(row["host"] for row in table(found.page, "Hosts and what they are wired to")) == sorted(HOSTILE)
    found.check()
