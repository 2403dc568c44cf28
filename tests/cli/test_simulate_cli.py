"""``linkstep simulate``, in process and on exact text: schedules for every runtime, runtime files, bad input."""

import json
import shutil
from pathlib import Path

import pytest

import linkstep
import support
from linkstep.cli import main

PROGRAMS = Path(support.__file__).parent / "programs"

SCHEDULE = """\
Torus(4,4): allgather of 1MB for rccl, simulated
  schedule      4 alpha + 15/16 M/B = 115us
  simulated     115us, the same
  busiest link  0 to 1, 65% of the time
  instructions  {}
drawn to t.svg
"""

FOREIGN = """\
ring-allreduce.msccl.xml: allreduce of 1MB for msccl, simulated
  at least      120us, by bandwidth
  simulated     180us
  busiest link  0 to 1, 67% of the time
  instructions  56
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run ``linkstep simulate`` in a folder with the foreign programs; return the exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    for path in PROGRAMS.iterdir():
        shutil.copy(path, tmp_path)

    def call(*argv):
        code = main(["simulate", *argv])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return call


def test_schedule(run, tmp_path):
    code, text = run("Torus(4,4)", "--collective", "allgather", "--to", "rccl", "--timeline", "t.svg")
    number = next(line.split()[1] for line in text.splitlines() if "instructions" in line)
    assert (code, text) == (0, SCHEDULE.format(number))
    assert "</svg>" in (tmp_path / "t.svg").read_text()


def test_schedule_json(run):
    code, text = run("K_{4,4}", "--collective", "allgather", "--size", "1MiB", "--to", "cpu", "--json")
    facts = json.loads(text)
    assert code == 0
    assert (facts["steps"], facts["t_b"]) == (2, "7/8")
    assert (facts["target"], facts["recipe"], facts["file"]) == ("cpu", "K_{4,4}", None)
    assert facts["simulated_seconds"] == pytest.approx(20e-6 + 7 / 8 * 2**20 * 8 / 100e9)
    assert facts["bound_seconds"] == pytest.approx(7 / 8 * 2**20 * 8 / 100e9)
    assert facts["loss"] == pytest.approx(0, abs=1e-6)


def test_schedule_file(run):
    linkstep.save(linkstep.parse("K_4").build("reduce", 2), "reduce.json")
    code, text = run("reduce.json", "--to", "cpu")
    assert code == 0 and text.startswith("K_4: reduce of 1MB for cpu, simulated\n")


def test_runtime_file(run):
    assert run("ring-allreduce.msccl.xml") == (0, FOREIGN)


def test_runtime_file_json(run):
    code, text = run("allpairs-allreduce.mscclpp.json", "--json")
    facts = json.loads(text)
    assert code == 0
    assert (facts["target"], facts["ranks"], facts["num_links"], facts["file"]) == (
        "mscclpp", 3, 6, "allpairs-allreduce.mscclpp.json",
    )  # fmt: skip
    assert facts["steps"] is facts["t_b"] is facts["loss"] is facts["predicted_seconds"] is facts["recipe"] is None


@pytest.mark.parametrize("to", ["msccl", "msccl-azure", "rccl", "mscclpp", "cpu"])
def test_lowered_here_or_read_from_its_file(run, to):
    """A file without an ending known to us is taken for what it holds."""
    assert main(["lower", "C(5,{1,2})", "--to", to, "-o", "lowered"]) == 0
    run("K_2", "--json")
    here = json.loads(run("C(5,{1,2})", "--to", to, "--json")[1])
    read = json.loads(run("lowered", "--json")[1])
    on = json.loads(run("lowered", "--on", "C(5,{1,2})", "--json")[1])
    assert here["simulated_seconds"] == read["simulated_seconds"] == on["simulated_seconds"] > 0
    assert here["instructions"] == read["instructions"]


def test_topology_of_a_file(run):
    slow = json.loads(run("ring-allgather.msccl.xml", "--on", "K_4", "--size", "12MB", "--json")[1])
    fast = json.loads(run("ring-allgather.msccl.xml", "--on", "UniRing(1,4)", "--size", "12MB", "--json")[1])
    assert slow["busiest_link"] == fast["busiest_link"] and slow["num_links"] == 12
    assert slow["simulated_seconds"] > 2.5 * fast["simulated_seconds"]


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["none.xml"], "none.xml: no such file or directory"),
        (["none.json"], "none.json: no such file"),
        (["cut.xml"], "cut.xml: line 6: "),
        (["cut.json"], "cut.json: not JSON: "),
        (["cut.cpu.xml"], "cut.cpu.xml: not XML: "),
        (["bytes.xml"], "bytes.xml: not a text file: byte 0 is no UTF-8"),
        (["hangs.xml"], "hangs.xml: cannot run: deadlock: "),
        (["lonely.xml"], "lonely.xml: nothing is sent, so there is nothing to simulate"),
        (["one.csv"], "one node alone has nothing to send"),
        (["K_4", "--size", "nan"], "size must be a number with a unit, such as 1MB or 1MiB, not 'nan'"),
        (["K_4", "--size", "0B"], "--size must be more than 0 bytes, not 0B"),
        (["ring-allreduce.msccl.xml", "--size", "0B"], "--size must be more than 0 bytes, not 0B"),
        (["K_4", "--size=-1MB"], "size must be a number with a unit, such as 1MB or 1MiB, not '-1MB'"),
        (["K_4", "--gather", "0.5B", "--to", "cpu"], "--gather must be whole bytes, not 0.5B"),
        (["K_5", "--instances", "1000000"], "channels: 1000000, 999968 over the limit of 32; "),
        (["K_5", "--instances", "0"], "instances must be at least 1, not 0"),
        (["K_5", "--channels", "99999999999"], "channels: 99999999999, 99999999967 over the limit of 32; "),
        (["K(4,4)"], "ranks: 1280, 256 over the limit of 1024; lower it to mscclpp or cpu"),
        (["K_4", "--size", "1bit"], "size '1bit' has no known unit: write it like 1MB or 1MiB"),
        (["K_4", "--alpha", "-1us"], ""),
        (["K_4", "--bandwidth", "0Gbps"], "bandwidth must be positive, not 0Gbps"),
        (["K_4", "--collective", "reduce", "--to", "mscclpp"], "mscclpp has no reduce: lower it to msccl or "),
        (["K_4", "--to", "nccl"], "argument --to: invalid choice"),
        (["K_4", "--on", "K_4"], "--on is for runtime files: a schedule runs on its own topology"),
        (
            ["K_4", "--timeline", "a.pdf"],
            "a.pdf: the name of a timeline must end in .svg, .png, .json, .csv or .perfetto-trace",
        ),
        (
            ["ring-allreduce.msccl.xml", "--to", "rccl"],
            "--to is for schedules: ring-allreduce.msccl.xml is a runtime's",
        ),
        (
            ["ring-allreduce.msccl.xml", "--on", "UniRing(1,4)"],
            "rank 0 sends to rank 3, which UniRing(1,4) does not join",
        ),
        (["ring-allreduce.msccl.xml", "--on", "K_3"], "the file has 4 ranks, the topology 3 nodes"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, argv, message):
    shutil.copy(PROGRAMS / "ring-allreduce.msccl.xml", tmp_path / "cut.xml")
    shutil.copy(PROGRAMS / "allpairs-allreduce.mscclpp.json", tmp_path / "cut.json")
    shutil.copy(PROGRAMS / "ring-allreduce.cpu.xml", tmp_path / "cut.cpu.xml")
    for name in ("cut.xml", "cut.json", "cut.cpu.xml"):
        cut(tmp_path / name, 500)
    (tmp_path / "bytes.xml").write_bytes(b"\xff\xfe<algo/>")
    head = (
        '<schedule format="linkstep-cpu" version="1" coll="allreduce" ranks="{0}" chunks="{0}" inplace="1" root="-1">'
    )
    rank = '<rank id="{}" input="2" output="2" scratch="0">{}</rank>'
    waits = '<recv n="0" peer="{0}" chan="0" dst="o" dstoff="0" cnt="1"/><sync n="1"/>' + (
        '<send n="2" peer="{0}" chan="0" src="o" srcoff="0" cnt="1"/>'
    )
    hangs = head.format(2) + rank.format(0, waits.format(1)) + rank.format(1, waits.format(0)) + "</schedule>"
    (tmp_path / "hangs.xml").write_text(hangs)
    lonely = head.format(1) + '<rank id="0" input="1" output="1" scratch="0"></rank></schedule>'
    (tmp_path / "lonely.xml").write_text(lonely)
    linkstep.save(linkstep.Topology.from_links(1, [], []), "one.csv")
    code, text = run(*argv)
    assert code == 2
    assert text.startswith("linkstep: ") and message in text and text.count("\n") == 1, text
