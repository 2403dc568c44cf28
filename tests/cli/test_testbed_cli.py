"""``linkstep testbed``: refusals and lists in process; a whole session, marked slow, as root."""

import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import linkstep
from linkstep.cli import main
from linkstep.engines import testbed as beds
from linkstep.engines.testbed import state
from linkstep.engines.testbed.testbed import Testbed as Bed

LIST = """\
name  topology  hosts  cables  cut    rate  delay  state
k44   K_{4,4}       8      16    1  50Mbps   10ms  incomplete
"""


@pytest.fixture
def run(capsys):
    def call(*argv):
        code = main(["testbed", *argv])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "FOLDER", tmp_path / "testbeds")
    monkeypatch.setattr(beds, "check_possible", lambda: None)


@pytest.mark.parametrize(
    "argv", [("up", "K_{4,4}", "--name", "x"), ("exec", "x", "0", "ls"), ("cut", "x", "0,4"), ("down", "x")]
)
def test_without_root(run, monkeypatch, argv):
    monkeypatch.setattr(shutil, "which", lambda tool: f"/sbin/{tool}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, text = run(*argv)
    line = "linkstep: a testbed is made of network namespaces, which only root may make: run this as root\n"
    assert (code, text) == (2, line)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("up", "K_{4,4}", "--name", "K44"), "a testbed's name is up to 32 letters"),
        (("up", "K_{4,4}", "--name", "x", "--rate", "50"), "bandwidth '50' has no known unit"),
        (("up", "K_{4,4}", "--name", "x", "--delay", "2s"), "delay must be at most 1 s"),
        (("up", "K_{4,4}", "--name", "x", "--cut", "0,1"), "there is no cable between node 0 and node 1"),
        (("up", "Torus(20,20)", "--name", "x"), "2 to 256 hosts, not 400"),
        (("up", "K_{4,4}"), "the following arguments are required: --name"),
        (("exec", "x", "0"), "no testbed is called 'x'"),
        (("cut", "x", "0,4,oneway"), "a cable of a testbed is cut in both directions"),
        (("mend", "x", "0"), "a cut cable is written A,B"),
        (("down",), "one of the arguments NAME --all is required"),
        (("status", "x"), "no testbed is called 'x': there is none; linkstep testbed up makes one"),
    ],
)
def test_refusals(run, folder, argv, message):
    code, text = run(*argv)
    assert (code, text.count("\n")) == (2, 1)
    assert message in text


def test_list(run, folder):
    assert run("status") == (0, "no testbed; linkstep testbed up makes one\n")
    topology = linkstep.parse("K_{4,4}").topology()
    with state.lock():
        state.save(Bed("k44", topology, 50_000_000, Fraction(1, 100), "token", "boot", cut=((0, 4),)))
    assert run("status") == (0, LIST)
    code, text = run("status", "--json")
    assert (code, json.loads(text)["testbeds"][0]["delay_seconds"]) == (0, 0.01)
    code, text = run("exec", "k44", "0")
    assert (code, text) == (2, "linkstep: linkstep testbed exec takes NAME, then HOST or --all, then a command\n")
    code, text = run("exec", "k44", "0", "ls")
    assert code == 2
    assert "a part of testbed k44 is missing: take it down with linkstep testbed down k44" in text


def test_down_of_what_is_not_there(run, folder):
    assert run("down", "k44") == (0, "testbed k44: there is none\n")
    assert run("down", "--all") == (0, "")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="needs Linux and root")
@pytest.mark.skipif(shutil.which("ip") is None or shutil.which("tc") is None, reason="needs iproute2")
def test_session(run, tmp_path):
    name = f"cli{os.getpid()}"
    wiring = tmp_path / "wiring.csv"
    wiring.write_text("ant,bee\nbee,ant\nbee,cat\ncat,bee\ncat,ant\nant,cat\n")
    environment = os.environ | {"PYTHONPATH": str(Path(linkstep.__file__).parents[1])}

    def run_apart(*argv):  # exec becomes the command
        command = [sys.executable, "-m", "linkstep", "testbed", *argv]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        return done.returncode, done.stdout + done.stderr

    try:
        made = f"testbed {name}: {wiring}, slow bee,ant=10Mbps, 3 hosts, 3 cables, 20Mbps a link\n"
        code, text = run("up", str(wiring), "--name", name, "--rate", "20Mbps", "--slow", "bee,ant=10Mbps")
        assert (code, text.replace("a topology", str(wiring))) == (0, made)
        assert run_apart("exec", name, "cat", "printenv", "LINKSTEP_ADDRESS", "LINKSTEP_HOST") == (0, "198.18.0.3\n2\n")
        assert run_apart("exec", name, "cat", "sh", "-c", "exit 7")[0] == 7
        code, text = run("exec", name, "--all", "sh", "-c", "echo here; exit $LINKSTEP_HOST")
        assert (code, sorted(text.splitlines())) == (2, ["ant: here", "bee: here", "cat: here"])
        assert run("cut", name, "cat,bee") == (0, f"testbed {name}: cat,bee is cut\n")
        code, text = run("status", name)
        assert text.splitlines()[1:] == [
            "A    B      rate  state  bytes to B  bytes to A",
            "ant  bee  10Mbps  up              0           0",
            "ant  cat  20Mbps  up              0           0",
            "bee  cat       -  cut             0           0",
        ]
        assert run("mend", name, "cat,bee") == (0, f"testbed {name}: cat,bee is mended\n")
        cables = json.loads(run("status", name, "--json")[1])["cables"]
        assert [row["bandwidth_there"] for row in cables] == [10**7, 2 * 10**7, 2 * 10**7]
    finally:
        assert run("down", name) == (0, f"testbed {name} is down\n")
