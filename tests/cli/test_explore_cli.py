"""``linkstep explore``: its URL, what it opens with, and that Ctrl-C leaves nobody behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

import linkstep
from linkstep.cli import _explore as explore
from linkstep.cli import main
from support.live import QUESTIONS, Client, is_alive, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system for processes")

Start = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def start(tmp_path) -> Iterator[Start]:
    """Return a function that starts ``linkstep explore`` with options and returns the process and its URL."""
    linkstep.save(linkstep.parse("K_4").topology(), tmp_path / "wiring.csv")
    linkstep.save(linkstep.schedule("K_3", "allgather").schedule, tmp_path / "made.npz")
    (tmp_path / "plan.xml").write_text(linkstep.lower(linkstep.schedule("K_3"), "msccl").text)
    (tmp_path / "questions.py").write_text(QUESTIONS)
    started = []

    def run(*words: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "linkstep", "explore", *words], cwd=tmp_path, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        return process, process.stdout.readline().strip()

    yield run
    for process in started:
        process.kill()
        process.communicate()


def parts(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).fragment))


def children(pid: int) -> set[int]:
    """Return the processes whose parent is a process, and theirs."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == pid:
            found |= {int(folder.name)} | children(int(folder.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=str)
def test_an_interrupt_leaves_nobody(start, tmp_path, number):
    """While it works on what takes for ever."""
    process, url = start("--plugin", "questions.py", "--no-browser")
    Client(url).ask(ask="slow", pids="pids")
    pids = tmp_path / "pids"
    until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    everyone = children(process.pid)
    assert {int(word) for word in pids.read_text().split()} < everyone
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    until(lambda: not any(is_alive(pid) for pid in everyone))


@pytest.mark.slow
def test_an_interrupt_right_after_the_start(start):
    process, url = start("--no-browser")
    everyone = children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "") and url
    until(lambda: not any(is_alive(pid) for pid in everyone))


def test_the_page_is_served(start):
    _, url = start("Torus(4,4)", "--cut", "0,1", "--cut", "5,6", "--down", "9", "--size", "64MB", "--alpha", "5us")
    assert parts(url) == {
        "view": "wiring", "what": "Torus(4,4)", "cut": "0,1;5,6", "down": "9", "size": "64MB", "alpha": "5us",
    }  # fmt: skip
    client = Client(url)
    assert client.request("GET")[0] == 200
    faults = [{"kind": "cut", "text": "0,1"}, {"kind": "cut", "text": "5,6"}, {"kind": "down", "text": "9"}]
    document = client.answer(ask="wiring", what="Torus(4,4)", faults=faults, size="64MB", alpha="5us")
    shown = document["panels"][0]["data"]["facts"]
    assert (shown["nodes"], shown["num_links"]) == (15, 64 - 4 - 8)


@pytest.mark.slow
def test_files_named_at_the_start_can_be_asked_for(start):
    _, url = start("plan.xml", "wiring.csv")
    assert parts(url) == {"open": "plan.xml"}
    client = Client(url)
    assert client.answer(ask="document", what="plan.xml")["panels"][0]["kind"] == "file"
    assert client.answer(ask="wiring", what="wiring.csv")["panels"][0]["data"]["wires"]["nodes"] == 4
    assert client.request("POST", "api/ask", '{"ask": "wiring", "what": "made.npz"}')[0] == 400


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ([], {}),
        (["64", "4"], {"view": "choose", "n": "64", "d": "4"}),
        (["K_3", "--slow", "0,1=1Gbps"], {"view": "wiring", "what": "K_3", "slow": "0,1=1Gbps"}),
        (["made.npz"], {"view": "schedule", "what": "made.npz"}),
        (["wiring.csv", "--fabric", "my.json"], {"view": "wiring", "what": "wiring.csv", "fabric": "my.json"}),
        (["named.json", "--cut", '"a;b",c'], {"view": "wiring", "what": "named.json", "cut": '"a;b",c'}),
    ],
    ids=str,
)
def test_what_is_opened(monkeypatch, tmp_path, words, shown):
    linkstep.save(linkstep.parse("K_4").topology(), tmp_path / "wiring.csv")
    linkstep.save(linkstep.schedule("K_3", "allgather").schedule, tmp_path / "made.npz")
    linkstep.save(linkstep.parse("K_3").topology().with_labels(["a;b", "c", "d"]), tmp_path / "named.json")
    linkstep.save_fabric(linkstep.Fabric.of("3us", "10Gbps", 4), tmp_path / "my.json")
    monkeypatch.chdir(tmp_path)
    assert explore._route(parsed(words)) == shown


def parsed(words: list[str]):
    from linkstep.cli._parser import parse_arguments

    return parse_arguments(["explore", *words])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["Tors(4,4)"], "no family is called 'Tors'; did you mean 'Torus'?"),
        (["64"], "64 stands alone: servers and ports are two numbers, such as 64 4"),
        (["--cut", "0,1"], "faults are of a wiring: name a recipe or a file of one first"),
        (["64", "4", "--cut", "0,1"], "faults are of a wiring: name a recipe or a file of one first"),
        (["missing.csv"], "missing.csv: no such file"),
        (["--port", "65536"], "--port must lie in [0, 65535], not 65536"),
        (["--port", "-1"], "--port must lie in [0, 65535], not -1"),
        (["0", "4"], "the number of nodes must lie in [2, 10000000], not 0"),
        (["8", "0"], "the degree must lie in [1, 64], not 0"),
        (["K_4", "--cut", "0,9"], "no host is called '9': hosts are the numbers 0 to 3"),
        (["K_4", "--down", "x"], "no host is called 'x'"),
        (["K_4", "--cut", "0,1", "--cut", "0,2", "--cut", "0,3"], "no path from node 0 to node 1 (cut 0,3)"),
        (["two.csv"], "the topology is disconnected: no path from a to c"),
        (["made.npz", "--cut", "0,1"], "made.npz holds a schedule, which is for its own topology"),
        (["64", "4", "--size", "0"], "--size must be positive, not 0"),
        (["8", "4", "16", "4"], "16 4: the page begins with one thing, what is named after it must be files"),
        (["K_4", "missing.csv"], "missing.csv: the page begins with one thing"),
        (["--fabric", "missing.json"], "argument --fabric: missing.json: no such file"),
    ],
    ids=str,
)
def test_what_cannot_be_opened_is_a_line(capsys, monkeypatch, tmp_path, words, line):
    (tmp_path / "two.csv").write_text("a,b\nb,a\nc,d\nd,c\n")
    linkstep.save(linkstep.schedule("K_3", "allgather").schedule, tmp_path / "made.npz")
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "--no-browser", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and line in err


def test_a_browser_is_opened_where_somebody_sits(monkeypatch):
    opened = []
    monkeypatch.setattr(explore.webbrowser, "open", opened.append)
    monkeypatch.setattr(explore.sys, "stdin", None)
    assert not explore._has_browser()
    monkeypatch.setattr(explore.sys, "stdin", type("Terminal", (), {"isatty": staticmethod(lambda: True)})())
    monkeypatch.setattr(explore.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not explore._has_browser()
    monkeypatch.setenv("DISPLAY", ":0")
    assert explore._has_browser()
    explore._open("http://127.0.0.1/")
    assert opened == ["http://127.0.0.1/"]


def test_no_browser_is_no_reason_to_fail(monkeypatch):
    def fail(url: str) -> None:
        raise explore.webbrowser.Error("no browser")

    monkeypatch.setattr(explore.webbrowser, "open", fail)
    explore._open("http://127.0.0.1/")
