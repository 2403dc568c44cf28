"""The method of what was measured is named: in files of schedules, in tables, JSON and legends of runs and fits."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

import linkstep
from linkstep.baselines import baseline
from linkstep.cli import main
from linkstep.cli._run_table import text_rows
from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.costs import Fabric, load_runs
from linkstep.engines.bench.measure import Measurement
from linkstep.engines.bench.preparation import BenchResult, prepare
from linkstep.pictures.runs import plot_runs
from linkstep.reports.run import RunReport
from linkstep.selector import Rule, Selector
from support.pictures import texts
from support.runs import ALLREDUCES, document

SIZES = (1024, 8192)
FABRIC = Fabric.of("350us", "197Mbps", 4, overhead="120us")


def report_of(what):
    prepared = prepare(what, Collective.ALLREDUCE, SIZES, 0)
    rows = [Measurement(size, size // 4, 3, 1e-3, 2e-3, 3e-3, Fraction(7, 4), 0) for size in SIZES]
    return RunReport.of(BenchResult("K_{4,4}", "mpi", "float32", "sum", None, prepared, rows))


def print_rows(report, methods=()):
    """Print a report as ``linkstep run`` does, a row at a time."""
    show = text_rows(SIZES, methods)
    for row in report.rows:
        show(replace(report, rows=(row,)))


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_files_keep_the_method(tmp_path, suffix):
    path = tmp_path / f"made{suffix}"
    for made, method in (
        (linkstep.schedule("Pi_{4,9}", "allreduce", method="bfb").schedule, "bfb"),
        (linkstep.schedule("Pi_{2,5}", "allreduce", method="arrival").schedule, "arrival"),
        (baseline("torus-rings", "Torus(3,3)").schedule(), "torus-rings"),
        (linkstep.parse("K_4").build(), ""),
    ):
        linkstep.save(made, path)
        loaded = linkstep.load(path)
        assert (loaded.method, loaded) == (method, made)


def test_a_method_that_is_no_word(tmp_path):
    path = tmp_path / "made.json"
    linkstep.save(linkstep.schedule("K_4").schedule, path)
    for wrong in (5, "a\nb", "x" * 101):
        members = json.loads(path.read_text()) | {"method": wrong}
        (tmp_path / "wrong.json").write_text(json.dumps(members))
        with pytest.raises(FileError, match="method must be a word, not "):
            linkstep.load(tmp_path / "wrong.json")


def test_equal_schedules_may_have_different_methods():
    one = linkstep.schedule("K_4", "allgather").schedule
    assert one.method and one == linkstep.parse("K_4").build("allgather")


@pytest.mark.parametrize("method", ["bfb", "arrival"])
def test_a_run_says_its_method(capsys, tmp_path, wide, method):
    report = report_of(linkstep.schedule("K_{4,4}", "allreduce", method=method).schedule)
    assert (report.method, [row.method for row in report.rows]) == (method, [method, method])
    print_rows(report)
    head, columns, *_ = capsys.readouterr().out.splitlines()
    assert head == f"K_{{4,4}}: allreduce by mpi, 8 ranks, float32, sum, method {method}, 4 alpha + 7/4 M/B"
    assert "method" not in columns
    plot_runs([report.to_json()], tmp_path / "r.svg")
    assert f"K_{{4,4}}: allreduce by mpi, {method}, 8 ranks" in texts(tmp_path / "r.svg")


def test_a_run_of_several_methods_says_which_size_has_which(capsys, tmp_path):
    rules = (
        Rule(Collective.ALLREDUCE, None, 2048, "K_{4,4}", "rooted"),
        Rule(Collective.ALLREDUCE, 2049, None, "K_{4,4}", "bfb"),
    )
    report = report_of(Selector(rules))
    assert (report.method, [row.method for row in report.rows]) == (None, ["rooted", "bfb"])
    print_rows(report, {"rooted", "bfb"})
    head, columns, *rows = capsys.readouterr().out.splitlines()
    assert "method" not in head and columns.split()[-1] == "method"
    assert [row.split()[-1] for row in rows] == ["rooted", "bfb"]
    plot_runs([report.to_json()], tmp_path / "r.svg")
    assert "K_{4,4}: allreduce by mpi, rooted, bfb, 8 ranks" in texts(tmp_path / "r.svg")


def test_a_program_has_no_method():
    program = linkstep.read_program(linkstep.lower(linkstep.parse("K_{4,4}").build("allreduce"), "cpu").text)
    assert report_of(program).method is None


def test_a_fit_tells_methods_apart(capsys, tmp_path):
    path, plot = tmp_path / "runs.json", tmp_path / "fit.svg"
    costs = ALLREDUCES["K_{4,4}"], ALLREDUCES["ShiftedRing(4,8)"]
    runs = [document(FABRIC, "K_{4,4}", cost, method=m) for cost, m in zip(costs, ("bfb", "ring"), strict=True)]
    path.write_text(json.dumps(runs))
    assert [run.method for run in load_runs(path)] == ["bfb", "ring"]
    assert main(["fit", str(path), "--plot", str(plot)]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = [line.split() for line in lines if "allreduce" in line or line.startswith("topology")]
    assert table[0][:3] == ["topology", "method", "collective"]
    assert [row[:3] for row in table[1:]] == [["K_{4,4}", m, "allreduce"] for m in ("bfb",) * 3 + ("ring",) * 3]
    assert {"K_{4,4} by bfb", "K_{4,4} by ring"} < set(texts(plot))
    assert main(["fit", str(path), "--json"]) == 0
    assert [row["method"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["bfb"] * 3 + ["ring"] * 3


def test_a_run_with_a_wrong_method_is_refused(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(document(FABRIC, "K_{4,4}", ALLREDUCES["K_{4,4}"], method=5)))
    with pytest.raises(FileError, match="method must be one line of text, not 5"):
        load_runs(path)
