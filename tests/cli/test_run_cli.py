"""``linkstep run``: mistakes in one line before anything starts; real runs, marked slow, over MPI."""

import csv
import dataclasses
import importlib
import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.collective import Collective
from linkstep.core.schedule import COLLECTIVES, ROW_COLUMNS
from linkstep.engines.bench.measure import actual_sizes
from linkstep.engines.bench.preparation import prepare
from linkstep.engines.plans import source
from linkstep.engines.transports import mpi
from linkstep.engines.transports.engine import ENGINES
from linkstep.engines.transports.start import mpi_launcher
from linkstep.programs import formats, read_text
from linkstep.selector import Rule, Selector
from linkstep.verification import verify_program
from support.pictures import texts

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "support" / "programs"
RUN = importlib.import_module("linkstep.cli._run")
RING = PROGRAMS / "ring-allreduce.cpu.xml"
needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="needs MPI: pip install '.[mpi]'"
)  # fmt: skip


@pytest.fixture
def unlaunched(monkeypatch):
    """No rank may be started."""
    for engine in ENGINES.values():
        for name in engine.rank_variables:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(RUN, "launch_job", lambda *_: pytest.fail("ranks were started"))


def refused(capsys, *words):
    """Return the one line of a command that ends with 2."""
    try:
        code = main(["run", *map(str, words)])
    except SystemExit as error:  # argparse
        code = error.code
    out, errors = capsys.readouterr()
    assert (code, out) == (2, "")
    lines = [line for line in errors.splitlines() if line.startswith("linkstep")]
    assert len(lines) == 1, errors
    return lines[0]


MISTAKES = {
    "nothing named": ((), "name a recipe or a file to run, or a testbed with --testbed"),
    "unknown recipe": (("Kay_4",), "Kay_4"),
    "other ranks": (("K_4", "--ranks", "5"), "K_4 is for 4 ranks, not the 5 of --ranks"),
    "no size": (("K_4", "--size", "0B"), "a size must be a whole number of bytes from 1, not '0B'"),
    "part of a byte": (("K_4", "--size", "0.5B"), "a size must be a whole number of bytes from 1, not '0.5B'"),
    "sizes downwards": (("K_4", "--sizes", "2KiB:1KiB"), "sizes must go from the smaller to the larger"),
    "type": (("K_4", "--type", "float8"), "argument --type: invalid choice: 'float8'"),
    "type of another engine": (("K_4", "--type", "bfloat16"), "numpy has no bfloat16: use --engine torch"),
    "no repetitions": (("K_4", "--repetitions", "0"), "--repetitions must be at least 1, not 0"),
    "engine": (("K_4", "--engine", "nccl"), "argument --engine: invalid choice: 'nccl'"),
    "root": (("K_4", "--collective", "reduce", "--root", "4"), "--root must be one of the 4 hosts, not '4'"),
    "few hosts": (("K_4", "--hosts", "a,b"), "--hosts"),
    "picture": (("K_4", "--plot", "plot.pdf"), "plot.pdf: the name of a picture must end in .svg or .png"),
    "missing file": (("missing.xml",), "missing.xml: no such file or directory"),
    "timeout": (("K_4", "--timeout", "soon"), "soon"),
    "faults of a file": ((str(RING), "--cut", "0,1"), "runs as it is: faults are those of a recipe or a topology"),
    "collective of a file": ((str(RING), "--collective", "reduce"), "nothing here serves reduce from root 0"),
    "testbed": (("--testbed", "nowhere"), "nowhere"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_line(capsys, unlaunched, mistake):
    words, said = MISTAKES[mistake]
    assert said in refused(capsys, *words)


def test_files_that_are_wrong(capsys, unlaunched, tmp_path):
    text, path = RING.read_text(), tmp_path / "ring.xml"
    path.write_text(text[: len(text) // 2])
    assert f"linkstep: {path}: " in refused(capsys, path)
    path.write_text(text.replace('reduce n="', 'copy n="', 1))
    assert f"linkstep: {path}: not run, it is wrong: " in refused(capsys, path)
    path.write_text("")
    assert f"linkstep: {path}: " in refused(capsys, path)


@pytest.mark.parametrize("name", ["ring-allreduce.cpu.xml", "ports-allgather.mscclpp.json"])
def test_a_file_is_read_once_and_proven_once(monkeypatch, capsys, tmp_path, name):
    """As it is, and named by two rules of a selector."""
    reads, proofs = [], []
    monkeypatch.setattr(RUN, "is_rank", lambda engine: False)
    monkeypatch.setattr(RUN, "launch_job", lambda *args: (0, []))
    monkeypatch.setattr(formats, "read_text", lambda path: reads.append(path) or read_text(path))
    monkeypatch.setattr(source, "verify_program", lambda program: proofs.append(program) or verify_program(program))
    assert main(["run", str(PROGRAMS / name)]) == 0
    assert (len(reads), len(proofs)) == (1, 1)
    collective = linkstep.read_program((PROGRAMS / name).read_text()).collective
    (tmp_path / name).write_bytes((PROGRAMS / name).read_bytes())
    Selector((Rule(collective, None, 99, name), Rule(collective, 100, None, name))).save(tmp_path / "s.json")
    assert main(["run", str(tmp_path / "s.json"), "--sizes", "64B,64KiB"]) == 0
    assert (len(reads), len(proofs)) == (2, 2)


def test_a_schedule_file_that_is_wrong(capsys, unlaunched, tmp_path):
    whole = linkstep.schedule("K_4", "allgather").schedule
    rows = {name: getattr(whole, name)[1:] for name in ROW_COLUMNS}
    path = tmp_path / "allgather.json"
    linkstep.save(dataclasses.replace(whole, **rows), path)
    words = "[0, 1)/1 of shard 0 never arrives at node 1"
    assert refused(capsys, path) == f"linkstep: {path}: not run, it is wrong: {words}"


def test_sizes_too_small_for_the_ranks_are_those_that_run(tmp_path):
    """A selector is asked for what is really moved: an element of each part at least."""
    rules = (Rule("allgather", None, 15, "K_4"), Rule("allgather", 16, None, "UniRing(1,4)"))
    Selector(rules).save(tmp_path / "s.json")
    sizes = actual_sizes((1, 64), Collective.ALLGATHER, 4, "float32")
    assert sizes == (16, 64)
    prepared = prepare(str(tmp_path / "s.json"), Collective.ALLGATHER, sizes, 0)
    steps = [prepared.compiled[0].plan_for(Collective.ALLGATHER, size, False, 0).num_steps for size in sizes]
    assert steps == [3, 3]


def test_no_mpi(capsys, monkeypatch):
    monkeypatch.setattr("linkstep.engines.transports.start.shutil.which", lambda name: None)
    monkeypatch.setattr(RUN, "is_rank", lambda engine: False)
    said = refused(capsys, "K_4")
    assert said == "linkstep: no mpiexec: pip install 'linkstep[mpi]' brings an MPI, or start linkstep run under yours"
    monkeypatch.setattr(RUN, "is_rank", lambda engine: True)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert "linkstep: no MPI: pip install 'linkstep[mpi]' brings one" in refused(capsys, "K_4")
    with pytest.raises(linkstep.LinkstepError, match="no MPI"):
        mpi.load_mpi()


def environment(**variables):
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | variables


def ran(*words, before=(), **variables):
    """Return what ``linkstep run`` printed, given time to spare."""
    command = [*before, sys.executable, "-m", "linkstep", "run", *map(str, words), "--timeout", "60s"]
    done = subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@needs_mpi
def test_a_sweep_as_text_and_a_picture(tmp_path):
    plot = tmp_path / "plot.svg"
    text = ran("K_4", "--sizes", "1KiB,1000003B", "--alpha", "10us", "--bandwidth", "10Gbps", "--plot", plot)
    head, names, *rows, drawn = text.splitlines()
    assert head == "K_4: allreduce by mpi, 4 ranks, float32, sum, 2 alpha + 3/2 M/B"
    for name in ("size", "count", "min", "median", "p99", "algbw", "busbw", "wrong", "mpi's own", "predicted"):
        assert name in names
    assert [row.split()[:2] for row in rows] == [["1KiB", "256"], ["1MB", "250000"]]
    assert all(row.split()[7] == "0" for row in rows)
    assert drawn == f"drawn to {plot}"
    assert {"measured", "mpi's own", "predicted"} < set(texts(plot))


@pytest.mark.slow
@needs_mpi
def test_json_and_csv():
    document = json.loads(ran("K_4", "--size", "4KiB", "--repetitions", "5", "--json"))
    assert list(document)[:3] == ["report", "version", "format"] and document["report"] == "run"
    expected = {"format": "linkstep-run", "version": 1, "what": "K_4", "collective": "allreduce", "ranks": 4}
    expected |= {"degree": 3, "steps": 2, "bandwidth": "3/2", "type": "float32", "operation": "sum", "testbed": None}
    assert expected.items() < document.items()
    (row,) = document["rows"]
    assert (row["size"], row["count"], row["repetitions"], row["wrong"]) == (4096, 1024, 5, 0)
    assert 0 < row["min"] <= row["median"] <= row["p99"]
    assert row["algbw"] == pytest.approx(4096 / row["median"])
    assert row["own_median"] > 0
    assert row["predicted"] is row["cables"] is None
    (found,) = csv.DictReader(io.StringIO(ran("K_4", "--size", "4KiB", "--repetitions", "5", "--no-own", "--csv")))
    assert (found["size"], found["wrong"], found["own_median"]) == ("4096", "0", "")


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("collective", [c for c in Collective if c in COLLECTIVES])
def test_every_collective(collective):
    """Of data that no chunk divides, at a root that is not the first, by an operation that is no sum."""
    words = ("--collective", collective, "--size", "1000003B", "--repetitions", "2", "--op", "max", "--type", "int64")
    document = json.loads(ran("K_4", *words, "--root", "2", "--json"))
    assert (document["collective"], document["rows"][0]["wrong"]) == (collective, 0)
    assert 999_900 < document["rows"][0]["size"] <= 1000003


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("name", ["direct-all-to-all.rccl.xml", "ring-allreduce.msccl.xml"])
def test_a_runtimes_file(name):
    document = json.loads(ran(PROGRAMS / name, "--size", "100kB", "--repetitions", "2", "--json"))
    assert (document["ranks"], document["steps"], document["rows"][0]["wrong"]) == (4, None, 0)


@pytest.mark.slow
@needs_mpi
def test_a_selector(tmp_path):
    rules = (Rule("allreduce", None, 1000, "K_4"), Rule("allreduce", 1001, None, "UniRing(1,4)"))
    Selector(rules).save(tmp_path / "s.json")
    document = json.loads(ran(tmp_path / "s.json", "--sizes", "1KB,4KiB", "--repetitions", "2", "--json"))
    assert [row["wrong"] for row in document["rows"]] == [0, 0]
    assert document["steps"] is None  # two schedules


@pytest.mark.slow
@needs_mpi
def test_under_somebody_elses_launcher(tmp_path):
    """Rank r is host r, or wherever the host is that ``--hosts`` names; the first rank alone prints."""
    launcher, more = mpi_launcher()
    before = (*launcher, "-n", "4")
    document = json.loads(ran("K_4", "--size", "1KiB", "--repetitions", "2", "--json", before=before, **more))
    assert document["rows"][0]["wrong"] == 0
    placed = tmp_path / "placed.sh"
    placed.write_text('#!/bin/sh\nexport SLURMD_NODENAME="n$((3 - PMI_RANK)).cluster"\nexec "$@"\n')
    placed.chmod(0o755)
    words = ("UniRing(1,4)", "--collective", "allgather", "--hosts", "n0,n1,n2,n3", "--size", "1KiB", "--json")
    document = json.loads(ran(*words, "--repetitions", "2", before=(*before, str(placed)), **more))
    assert document["rows"][0]["wrong"] == 0
