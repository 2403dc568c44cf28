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
from fractions import Fraction
from pathlib import Path

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.collective import Collective
from linkstep.core.extras import missing
from linkstep.core.schedule import COLLECTIVES, ROW_COLUMNS
from linkstep.costs import load_runs
from linkstep.engines.bench.measure import Measurement, actual_sizes
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
    needs = missing("starting ranks", "mpiexec", "mpi")
    assert said == f"linkstep: {needs}; or start linkstep run under your launcher"
    monkeypatch.setattr(RUN, "is_rank", lambda engine: True)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert f"linkstep: {missing('engine mpi', 'mpi4py', 'mpi')}" in refused(capsys, "K_4")
    with pytest.raises(linkstep.LinkstepError, match="engine mpi needs mpi4py, which is not installed"):
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


def test_more_ranks_than_memory(capsys, unlaunched, monkeypatch):
    monkeypatch.setattr("linkstep.engines.bench.launch._free_memory", lambda: 10**9)
    monkeypatch.setattr(RUN, "prepare", lambda *_: pytest.fail("plans were made"))
    line = refused(capsys, "Torus(6,6)", "--size", "1KB")
    assert "36 ranks with 1KB of data need 1.08GB of memory at least, and 1GB are free here" in line
    monkeypatch.setattr("linkstep.engines.bench.launch._free_memory", lambda: None)
    with pytest.raises(pytest.fail.Exception, match="plans were made"):
        main(["run", "Torus(6,6)", "--size", "1KB"])


@pytest.mark.slow
@needs_mpi
def test_a_sweep_as_text_and_a_picture(tmp_path):
    plot = tmp_path / "plot.svg"
    words = ["K_4", "--sizes", "1KiB,1000003B", "--alpha", "10us", "--bandwidth", "10Gbps"]
    text = ran(*words, "--plot", plot, COLUMNS="120")
    head, names, *rows, drawn = text.splitlines()
    assert head == "K_4: allreduce by mpi, 4 ranks, float32, sum, method bfb, 2 alpha + 3/2 M/B"
    for name in ("size", "count", "min", "median", "p99", "algbw", "busbw", "wrong", "mpi's own", "predicted"):
        assert name in names
    assert [row.split()[:2] for row in rows] == [["1KiB", "256"], ["1MB", "250000"]]
    assert all(row.split()[7] == "0" for row in rows)
    narrow = ran(*words, COLUMNS="80")
    assert max(map(len, narrow.splitlines())) <= 80
    assert {"size", "median", "busbw", "wrong", "mpi's", "predicted"} < set(narrow.split())
    assert drawn == f"drawn to {plot}"
    assert {"measured", "mpi's own", "predicted"} < set(texts(plot))


@pytest.mark.slow
@needs_mpi
def test_json_and_csv():
    document = json.loads(ran("K_4", "--size", "4KiB", "--repetitions", "5", "--json"))
    assert list(document)[:2] == ["format", "version"]
    expected = {"format": "linkstep/run", "version": 2, "what": "K_4", "collective": "allreduce", "ranks": 4}
    expected |= {"degree": 3, "steps": 2, "t_b": "3/2", "type": "float32", "operation": "sum", "testbed": None}
    assert expected.items() < document.items()
    (row,) = document["rows"]
    assert (row["size"], row["count"], row["repetitions"], row["wrong"]) == (4096, 1024, 5, 0)
    assert 0 < row["min_seconds"] <= row["median_seconds"] <= row["p99_seconds"]
    assert row["algbw"] == pytest.approx(4096 / row["median_seconds"])
    assert row["own_median_seconds"] > 0
    assert row["predicted_seconds"] is row["cables_over_schedule"] is None
    (found,) = csv.DictReader(io.StringIO(ran("K_4", "--size", "4KiB", "--repetitions", "5", "--no-own", "--csv")))
    assert (found["size"], found["wrong"], found["own_median_seconds"]) == ("4096", "0", "")


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
    assert (document["method"], [row["method"] for row in document["rows"]]) == ("bfb", ["bfb", "bfb"])


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


def test_a_selector_names_its_windows(capsys, unlaunched, tmp_path):
    rules = (Rule("allreduce", 2**14, 2**20, "K_4"), Rule("allreduce", 2**20 + 1, 2**30, "UniRing(1,4)"))
    Selector(rules).save(tmp_path / "sel.json")
    line = refused(capsys, tmp_path / "sel.json", "--sizes", "1KB")
    windows = "K_4 (16KiB to 1MiB), UniRing(1,4) (1048577B to 1GiB)"
    assert line == (
        f"linkstep: {tmp_path / 'sel.json'} serves allreduce of 16KiB to 1GiB by 2 plans: {windows}; nothing for 1KB"
    )


def test_runs_are_saved_where_they_can_be(capsys, unlaunched, tmp_path):
    path = tmp_path / "no" / "runs.json"
    assert "there is no folder" in refused(capsys, "K_4", "-o", path)
    path = tmp_path / "runs.csv"
    assert f"{path}: the name of a file with JSON must end in .json" in refused(capsys, "K_4", "-o", path)


def _rows_told(job, bed, on_row):
    """Run nothing: tell of each size, and return all."""
    rows = [Measurement(size, size // 4, 5, 1e-3, 2e-3, 3e-3, Fraction(3, 2), 0, own_median=1e-3) for size in job.sizes]
    for number, row in enumerate(rows):
        on_row(number, row)
    return 0, rows


@pytest.mark.parametrize("options", [[], ["--csv"], ["--alpha", "10us"]])
def test_each_size_is_shown_as_it_is_done(capsys, monkeypatch, tmp_path, options):
    monkeypatch.setattr(RUN, "is_rank", lambda engine: False)
    seen = []

    def launched(job, bed, on_row):
        def look(number, row):
            on_row(number, row)
            seen.append(capsys.readouterr().out)

        return _rows_told(job, bed, look)

    monkeypatch.setattr(RUN, "launch_job", launched)
    path = tmp_path / "runs.json"
    assert main(["run", "K_4", "--sizes", "1KiB,1MiB,64MiB", "-o", str(path), *options]) == 0
    head = 1 if options == ["--csv"] else 2
    assert [text.count("\n") for text in seen] == [1 + head, 1, 1]
    assert len({len(line) for text in seen for line in text.splitlines()[-1:]}) == 1 or options == ["--csv"]
    [run] = load_runs(path)
    assert [row.size for row in run.rows] == [1024, 2**20, 2**26]
    assert capsys.readouterr().out == ("" if options == ["--csv"] else f"JSON saved to {path}\n")


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize("launcher", [[], ["mpiexec"]])
def test_rows_come_one_by_one(tmp_path, launcher):
    """The first is there while the others are still measured, here and under mpiexec."""
    words = [sys.executable, "-m", "linkstep", "run", "K_4", "--sizes", "1KiB,2KiB,4KiB", "--repetitions", "300"]
    prefix = [*mpi_launcher()[0], "-n", "4"] if launcher else []
    run = subprocess.Popen([*prefix, *words], stdout=subprocess.PIPE, text=True)
    try:
        lines = [run.stdout.readline() for _ in range(3)]
        assert lines[2].split()[0] == "1KiB" and run.poll() is None
        rest, _ = run.communicate(timeout=600)
    finally:
        run.kill()
    assert [line.split()[0] for line in rest.splitlines()] == ["2KiB", "4KiB"]


def test_a_trace_that_cannot_be_written(capsys, unlaunched, tmp_path):
    assert refused(capsys, "K_4", "--trace", "t.pdf") == (
        "linkstep: t.pdf: the name of a timeline must end in .svg, .png, .json, .csv or .perfetto-trace"
    )
    assert "there is no folder" in refused(capsys, "K_4", "--trace", tmp_path / "none" / "t.csv")
    line = refused(capsys, "K_4", "--trace", "a.svg", "--plot", "a.svg")
    assert line == "linkstep: --plot and --trace must be two files, not both a.svg"
    line = refused(capsys, "K_4", "-o", "a.perfetto-trace", "--trace", "b.csv")
    assert line == "linkstep: -o a.perfetto-trace and --trace b.csv both name the timeline: give one"


@pytest.mark.slow
@needs_mpi
def test_a_trace_of_every_rank(tmp_path):
    """Two lanes a rank, a wait and a send for each step; with ``-o`` as with ``--trace``, and named in the JSON."""
    words = ("K_{2,2}", "--sizes", "1KiB,256KiB", "--repetitions", "3", "--no-own")
    document = json.loads(ran(*words, "--trace", tmp_path / "t.csv", "--json"))
    assert document["trace"] == str(tmp_path / "t.csv") and [row["wrong"] for row in document["rows"]] == [0, 0]
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["group"], row["lane"]) for row in rows} == {
        (f"rank {rank}", lane) for rank in range(4) for lane in ("steps", "calls")
    }
    for rank in range(4):
        mine = [row for row in rows if row["group"] == f"rank {rank}"]
        steps = [row["name"] for row in mine if row["kind"] == "step"]
        assert steps == [f"step {step}" for step in range(1, document["steps"] + 1)]
        sent = sum(int(row["bytes"]) for row in mine if row["kind"] == "send")
        assert sent == Fraction(document["t_b"]) * 2**18  # on a wiring of this kind every rank sends as much
    times = [float(row["start_seconds"]) for row in rows]
    assert times[0] == 0 and max(times) < 100
    path = sorted(int(row["critical_path"]) for row in rows if row["critical_path"])
    assert path == list(range(1, len(path) + 1)) and path
    said = ran(*words, "-o", tmp_path / "t.perfetto-trace")
    assert said.splitlines()[-1] == f"written to {tmp_path / 't.perfetto-trace'}"
    assert (tmp_path / "t.perfetto-trace").read_bytes().count(b"wait step 1") >= 4
    said = ran(*words, "--trace", tmp_path / "t.svg")
    assert said.splitlines()[-1] == f"drawn to {tmp_path / 't.svg'}"
    assert {"rank 0, steps", "rank 3, calls", "wait", "send", "critical path"} < set(texts(tmp_path / "t.svg"))


@pytest.mark.slow
@needs_mpi
def test_a_trace_under_somebody_elses_launcher(tmp_path):
    launcher, more = mpi_launcher()
    ran("K_3", "--repetitions", "2", "--trace", tmp_path / "t.json", before=(*launcher, "-n", "3"), **more)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {event["args"]["name"] for event in events if event["name"] == "process_name"} == {
        "rank 0", "rank 1", "rank 2",
    }  # fmt: skip
    assert any(event["ph"] == "s" for event in events)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch: pip install torch")
def test_a_trace_over_torch(tmp_path):
    ran("K_3", "--engine", "torch", "--repetitions", "2", "--no-own", "--trace", tmp_path / "t.csv")
    with (tmp_path / "t.csv").open() as file:
        kinds = {row["kind"] for row in csv.DictReader(file)}
    assert {"step", "wait", "send", "compute"} <= kinds
