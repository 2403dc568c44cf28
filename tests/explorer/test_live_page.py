"""A live page in a real browser: what is clicked is asked, waited for, stopped, and answered as the library answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import linkstep
import support
from linkstep.cli import main
from linkstep.core.units import format_time
from linkstep.simulation.training import best_iteration, compare, load_model
from linkstep.simulation.training.network import costed_network
from support.live import QUESTIONS, Client, is_alive, until
from support.pages import address, choose_host, facts, screenshot, table
from support.runs_file import write_runs

pytestmark = pytest.mark.slow

RING = Path(support.__file__).parent / "programs" / "ring-allreduce.cpu.xml"
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


def shows(page, fact: str) -> None:
    """Wait until the page, with nothing left to wait for, states a fact that begins so: its name and its value."""
    page.wait_for_function(
        """start => !document.querySelector(".waiting, .stale") && [...document.querySelectorAll("dl.facts > div")]
        .some(row => `${row.children[0].innerText} ${row.children[1].innerText}`.startsWith(start))""",
        arg=fact,
    )


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


def simulate_form(page, **fields: str) -> None:
    """Fill in the form of the time view, press its button, and wait for the answer."""
    form = page.get_by_role("form", name="What is simulated")
    for name, value in fields.items():
        field = form.locator(f"[name={name}]")
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    form.get_by_role("button", name="Simulate").click()


def test_another_collective_is_simulated(explore, open_page):
    """Every field of the form, and the numbers are those of ``linkstep simulate``."""
    url = explore("Torus(4,4)")
    found = open_page(offline=False)
    page = found.go(f"{url.partition('#')[0]}#view=time&what=Torus(4,4)")
    page.wait_for_selector("dl.facts")
    assert facts(page)["simulated"].startswith(format_time(linkstep.simulate("Torus(4,4)").time))
    simulate_form(
        page, collective="allgather", to="mscclpp", size="64MB", alpha="5us", bandwidth="200Gbps"
    )  # fmt: skip
    shows(page, "for 64MB over alpha 5us")
    assert "collective=allgather" in address(page)
    fabric = linkstep.Fabric.of("5us", "200Gbps", 4)
    lowered = linkstep.lower(linkstep.schedule("Torus(4,4)", "allgather", fabric=fabric), "mscclpp")
    done = linkstep.simulate(lowered, fabric, "64MB")
    said = facts(page)
    assert said["simulated"].startswith(format_time(done.time))
    assert said["instructions"] == str(done.program.num_instructions)
    assert said["for"] == "64MB over alpha 5us, 200Gbps a server"
    assert said["shown"].startswith(f"{done.sent_link.size:,} spans on 64 lanes")
    again = found.page.context.new_page()
    again.goto(address(page))
    again.wait_for_selector("dl.facts")
    assert facts(again) == said
    simulate_form(page, size="64MC")
    page.wait_for_selector(".error")
    assert "64MC" in page.locator(".error").inner_text()
    simulate_form(page, size="1MB")
    shows(page, "for 1MB over alpha 5us")
    assert not page.locator(".error").count()
    found.check_accessible()


def test_what_does_not_fit_can_be_asked_of_another_runtime(explore, open_page):
    found = open_page(offline=False)
    page = found.go(f"{explore().partition('#')[0]}#view=time&what=UniRing(1,40)&to=mscclpp")
    page.wait_for_selector("[role=alert]")
    assert "Not simulated. allreduce does not fit mscclpp: " in page.locator("[role=alert]").inner_text()
    found.check_accessible()
    simulate_form(page, to="cpu")
    page.wait_for_selector("dl.facts")
    assert facts(page)["simulated"].startswith(format_time(linkstep.simulate("UniRing(1,40)", to="cpu").time))
    found.check(offline=False)


def test_an_iteration_is_simulated(explore, open_page):
    """The same form shows a model in training on the wiring that is open, and a collective again."""
    url = explore("Torus(4,4)")
    found = open_page(offline=False)
    page = found.go(f"{url.partition('#')[0]}#view=time&what=Torus(4,4)")
    page.wait_for_selector("dl.facts")
    simulate_form(page, job="gpt2-medium")
    shows(page, "iteration ")
    fabric = linkstep.Fabric.of("10us", "100Gbps", 4)
    work = load_model("gpt2-medium").job(16)
    here = costed_network("Torus(4,4)", 16, linkstep.schedule("Torus(4,4)", fabric=fabric).cost, None, fabric)
    said = facts(page)
    assert said["iteration"] == format_time(best_iteration(work, here).time)
    beside = {row["topology"]: row["iteration"] for row in table(page, "An iteration on other topologies")}
    best = compare(work, linkstep.find(16, 4, fabric=fabric), fabric).ours
    assert format_time(best.iteration.time) in beside.values()
    simulate_form(page, job="", alpha="20us")
    shows(page, "for 1MB over alpha 20us")
    assert "job=" not in address(page)
    found.check(offline=False)


DROP = """([name, text]) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], name));
  const how = {dataTransfer: carried, bubbles: true, cancelable: true};
  for (const kind of ["dragover", "drop"]) document.querySelector(".drop").dispatchEvent(new DragEvent(kind, how));
}"""


def test_files_come_in_every_way(explore, open_page):
    """Dropped, chosen and pasted, right and wrong: the server's verdicts are those of ``linkstep verify``."""
    url = explore()
    found = open_page(offline=False)
    page = found.go(f"{url}#view=file")
    wrong = RING.read_text().replace('<sync n="2" ops="0"/>', '<sync n="2" ops=""/>', 1)
    finding = linkstep.verify(wrong).findings[0]
    page.evaluate(DROP, ["wrong.xml", wrong])
    page.wait_for_selector(".verdict.refuted")
    assert page.locator(".verdict").inner_text() == f"Wrong for cpu: rank 0 step 0: {finding.message}"
    assert table(page, "What was found")[0]["what"] == finding.message
    right = linkstep.lower("K_{2,2}", "msccl").text
    page.locator("input[type=file]").set_input_files(
        {"name": "right.xml", "mimeType": "text/xml", "buffer": right.encode()}
    )
    page.wait_for_selector(".verdict.verified")
    shows(page, "file right.xml")
    report = linkstep.verify(right)
    assert facts(page)["instructions"] == str(report.instructions)
    page.get_by_text("or paste its text").click()
    page.get_by_label("Text of the file").fill("<algo")
    page.get_by_role("button", name="Read it").click()
    page.wait_for_selector(".verdict.unreadable")
    shows(page, "file pasted text")
    page.evaluate("history.back()")
    shows(page, "file right.xml")
    page.get_by_label("Data").fill("64MB")
    page.get_by_label("Data").press("Enter")
    page.wait_for_function("() => document.querySelector('dl.facts').textContent.includes('for 64MB')")
    page.get_by_label("Runs on").fill("K_{2,3}")
    page.get_by_label("Runs on").press("Enter")
    page.wait_for_selector("p.error")
    page.get_by_label("Runs on").fill("K_{2,2}")
    page.get_by_label("Runs on").press("Enter")
    page.wait_for_selector("p.error", state="detached")
    is_fresh(page)
    found.check_accessible()


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


KINDS = [
    "wiring.csv", "cables.csv", "made.npz", "plan.xml", "plan.json", "trace.json", "training.json", "runs.json",
    "K_4", "8 4",
]  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_report_of_each_kind_of_thing(open_page, tmp_path, name):
    """Written by the command, and opened with nothing but itself."""
    write_runs(tmp_path / "runs.json")
    assert main(["wire", "K_4", "-o", str(tmp_path / "cables.csv")]) == 0
    assert main(["train-sim", "resnet18", "--nodes", "8", "--timeline", str(tmp_path / "training.json")]) == 0
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
