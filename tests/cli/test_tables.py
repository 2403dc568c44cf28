"""What people see: tables that fit the terminal, one answer with one number, today's rows, times by size, styles."""

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

import linkstep
from linkstep.cli import main
from linkstep.cli._output import Style, print_line, print_table
from linkstep.cli._run_table import text_rows
from linkstep.core.collective import Collective
from linkstep.engines.bench.measure import Measurement
from linkstep.engines.bench.preparation import BenchResult, prepare
from linkstep.recipe import parse
from linkstep.reports.run import RunReport
from linkstep.search.spot import Spot

COMMANDS = [
    "find 64 4", "find 8 8", "find 64 4 --directed --explain", "find 16 4 --sizes 1KiB:1GiB", "find 16 4 --all-to-all",
    pytest.param("find 1000000 4 --seconds 0", marks=pytest.mark.slow),
    "find 24 4 --host-bandwidth 60Gbps", "find 16 4 --families paper --all",
    "show K_{4,4}", "show Cat(64,4,26778)", "show Torus(4,4) --cut 0,1", "show Torus(6,4,3) --sizes 1KiB:1MiB:x8",
    "schedule Torus(4,4)", "schedule Pi_{4,17} --frontier", "baselines 64 4", "families",
    "families --nodes 16 --degree 4", "train-sim resnet50 --nodes 8", "throughput Torus(4,4)", "simulate K_4",
    "reproduce --list", "find 64 4 --job gpt2-medium", "train-sim switch-base-256 --nodes 16",
    pytest.param("catalog stats", marks=pytest.mark.slow),
]  # fmt: skip


def printed(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def facts(capsys, *words):
    return json.loads(printed(capsys, *words, "--json"))


@pytest.mark.parametrize("width", [80, *(pytest.param(wide, marks=pytest.mark.slow) for wide in (100, 120))])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_wider_than_the_terminal(capsys, monkeypatch, command, width):
    """But for commands to copy, which are below the answer."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = printed(capsys, *command.split())
    wide = [line for line in out.splitlines() if len(line) > width]
    assert all(re.match(r"next: linkstep|      linkstep", line) for line in wide), wide


def test_columns_go_text_breaks_and_names_lose_their_middle(capsys, monkeypatch):
    rows = [("a wiring with a name of some length", "12us", "left out first", "words that can stand below each other")]
    head = ("wiring", "time", "detail", "notes")
    lines = {}
    for width in (100, 66, 40):
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(head, rows, right=(1,), drop=(2,))
        lines[width] = capsys.readouterr().out.splitlines()
        assert max(map(len, lines[width])) <= width
    assert len(lines[100]) == 2 and "left out first" in lines[100][1]
    assert "detail" not in lines[66][0] and rows[0][0] in lines[66][1] and lines[66][2].strip() == "below each other"
    assert "…" in lines[40][1]


@pytest.mark.parametrize(
    ("variable", "value"),
    [(None, ""), *(pytest.param(*one, marks=pytest.mark.slow) for one in [("NO_COLOR", "1"), ("TERM", "dumb")])],
)
def test_styles_are_for_terminals(variable, value):
    """The best row is bold and today's are dim, unless somebody does not want that."""
    env = {name: text for name, text in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm", "COLUMNS": "80"}
    env |= {} if variable is None else {variable: value}
    ours, theirs = pty.openpty()
    try:
        words = [sys.executable, "-m", "linkstep", "find", "8", "4"]
        subprocess.run(words, stdout=theirs, stderr=subprocess.DEVNULL, env=env, check=True, timeout=300)
        os.close(theirs)
        text = b""
        while block := _read(ours):
            text += block
    finally:
        os.close(ours)
    styled = re.findall(rb"\x1b\[([12])m([\w{}_,]+)", text)
    assert styled[:2] == ([(b"1", b"K_{4,4}"), (b"2", b"BiRing")] if variable is None else [])


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def test_a_name_cannot_bring_its_own_style(capsys):
    print_line("a\x1b[31mb", Style.BOLD)
    assert capsys.readouterr().out == "a\x1b[31mb\n"  # here standard output is pytest's: commands escape it
    assert main(["show", "a\x1b[31mb"]) == 2
    assert "\x1b" not in capsys.readouterr().err


# One answer, one number


@pytest.mark.parametrize(("nodes", "degree"), [(8, 4), (16, 4), (24, 4), (64, 4), (70, 4), (47, 4)])
def test_find_show_and_schedule_say_the_same(capsys, nodes, degree):
    row = facts(capsys, "find", str(nodes), str(degree))["frontier"][0]
    shown = facts(capsys, "show", row["name"])["best"]
    made = facts(capsys, "schedule", row["name"])
    assert (row["steps"], row["t_b"]) == (shown["steps"], shown["t_b"]) == (made["steps"], made["t_b"])
    assert row["allreduce_seconds"] == shown["allreduce_seconds"] == made["seconds"]
    assert row["bandwidth_optimal"] == shown["bandwidth_optimal"] == made["bandwidth_optimal"]
    assert row["moore_optimal"] == made["moore_optimal"]


def test_a_wiring_that_is_there_twice_says_its_methods(capsys):
    out = printed(capsys, "find", "64", "4", "--directed")
    rows = [line.split()[:2] for line in out.splitlines() if re.match(r"Cat\(64,4,\d+\) +(bfb|arrival) ", line)]
    assert len(rows) == 2 and rows[0][0] == rows[1][0] and {row[1] for row in rows} == {"bfb", "arrival"}


def test_steps_are_of_the_whole(capsys):
    found = facts(capsys, "find", "64", "4")
    for row in (*found["frontier"], *found["baselines"]):
        assert row["steps"] == row["allgather_steps"] + row["reduce_scatter_steps"]
        assert Fraction(row["t_b"]) == Fraction(row["allgather_t_b"]) + Fraction(row["reduce_scatter_t_b"])
    assert (found["bounds"]["steps"], found["bounds"]["t_b"]) == (8, "63/32")
    assert facts(capsys, "find", "64", "4", "--max-steps", "8")["frontier"]
    assert not facts(capsys, "find", "64", "4", "--max-steps", "7")["frontier"]


# Ordinary cables first


def test_duplex_cables_are_the_default(capsys):
    found = facts(capsys, "find", "64", "4")
    assert found["kind"] == "duplex" and all(row["duplex"] for row in found["frontier"])
    other = found["other"]
    assert other["kind"] == "directed" and not any(row["duplex"] for row in other["frontier"])
    assert other["frontier"] == facts(capsys, "find", "64", "4", "--directed")["frontier"]
    out = printed(capsys, "find", "64", "4")
    assert "64 servers with 4 ports each, duplex cables;" in out
    assert "One-way fibres (--directed) would take 230us, 3.2% less, as " in out
    text = " ".join(printed(capsys, "find", "64", "4", "--directed").split())
    assert "each port sends to one server and receives from another, over split fibres" in text
    assert "duplex cables take 237.5us, Cat(64,4,26778)." in text


@pytest.mark.parametrize(("nodes", "degree"), [(12, 4), (64, 4), (977, 4), (30, 5), (100, 3)])
def test_what_one_way_fibres_can_do_is_no_worse(nodes, degree):
    found = linkstep.find(nodes, degree, spot=Spot(0))
    for row in found.frontier:
        assert any(one.allreduce_cost.is_within(row.allreduce_cost) for one in found.other)
    assert all(row.is_bidirectional for row in found.frontier)


def test_the_older_word_is_read_with_a_warning(capsys):
    with pytest.warns(FutureWarning, match=r"bidirectional=True\) is written find\(\.\.\., directed=False\) now"):
        found = linkstep.find(12, 4, bidirectional=True)
    assert found == linkstep.find(12, 4)
    with pytest.warns(FutureWarning, match="directed=True"):
        assert linkstep.find(12, 4, bidirectional=False) == linkstep.find(12, 4, directed=True)
    assert main(["find", "12", "4", "--bidirectional"]) == 0
    out, err = capsys.readouterr()
    assert out == printed(capsys, "find", "12", "4")
    assert err == "linkstep: --bidirectional is the default now, and goes with the next release\n"
    assert main(["find", "12", "4", "--bidirectional", "--directed"]) == 2


# Names, today, what comes next


def test_familiar_and_short_names(capsys, tmp_path):
    assert str(linkstep.find(8, 4).frontier[0].recipe) == "K_{4,4}"
    assert str(linkstep.find(9, 4).frontier[0].recipe) == "Torus(3,3)"
    name = "Cat(64,4,26778)"
    file = str(tmp_path / "a.npz")
    assert printed(capsys, "schedule", name, "-o", file).startswith(f"{name}: allreduce by ")
    assert f"valid allreduce on {name}, N=64" in " ".join(printed(capsys, "check", file).split())
    assert linkstep.load(file).topology.name == parse(name).topology().name == name


@pytest.mark.slow
def test_today_is_six_rows_and_a_sentence(capsys):
    out = printed(capsys, "find", "1000000", "4", "--seconds", "0")
    lines = out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("today "))
    assert re.fullmatch(r"and \d+ more: --all", lines[first + 7])
    out = printed(capsys, "find", "1000000", "4", "--seconds", "0", "--all")
    assert out.count("torus rings") > 20
    assert "Torus(8,8) takes 437.5us today; with our schedule 317.5us, no cable moved.\n" in printed(
        capsys, "find", "64", "4"
    )


def test_next_is_three_lines(capsys):
    lines = printed(capsys, "find", "64", "4").splitlines()[-3:]
    assert lines == [
        "next: linkstep wire 'Cat(64,4,26778)' -o cables.csv",
        "      linkstep schedule 'Cat(64,4,26778)' -o allreduce.npz",
        "      linkstep run allreduce.npz",
    ]


# Times by size


def test_times_by_size(capsys, tmp_path):
    plot = tmp_path / "times.svg"
    found = facts(capsys, "find", "8", "4", "--sizes", "1KiB:1GiB:x32", "--plot", str(plot))["sizes"]
    assert plot.read_text().startswith("<?xml")
    assert [row["size"] for row in found] == [2**k for k in (10, 15, 20, 25, 30)]
    for row in found:
        today = [row[f"{kind}_seconds"] for kind in ("ring", "tree", "torus", "other")]
        assert row["bound_seconds"] <= row["seconds"]
        assert row["speed_up"] == pytest.approx(min(time for time in today if time is not None) / row["seconds"])
    assert found[0]["speed_up"] > 1.4 and found[-1]["speed_up"] > 0.999
    out = printed(capsys, "find", "8", "4", "--sizes", "1KiB:1GiB:x32")
    assert re.search(r"^ +size +ours +ring +tree +bound +speed-up$", out, re.M)


@pytest.mark.slow
def test_times_by_size_on_a_wiring(capsys, tmp_path):
    found = facts(capsys, "show", "Torus(4,4)", "--sizes", "1KiB,1MiB")["sizes"]
    for row in found:
        made = facts(capsys, "schedule", "Torus(4,4)", "--size", str(row["size"]))
        assert row["seconds"] == pytest.approx(made["seconds"]) and row["torus_seconds"] >= row["seconds"]
    out = printed(capsys, "show", "K_{4,4}", "--sizes", "1KiB:1GiB:x32")
    assert re.search(r"^ +size +ours +ring +tree +bound +speed-up$", out, re.M)
    (ours,) = facts(capsys, "show", "K_{4,4}", "--sizes", "1MiB")["sizes"]
    (elsewhere,) = facts(capsys, "find", "8", "4", "--sizes", "1MiB")["sizes"]
    assert all(ours[key] == elsewhere[key] for key in ("ring_seconds", "tree_seconds", "speed_up"))
    (slow,) = facts(capsys, "show", "K_{4,4}", "--slow", "0,4=10Gbps", "--sizes", "1MiB")["sizes"]
    assert slow["ring_seconds"] is None and slow["speed_up"] is None
    (tmp_path / "path.csv").write_text("tail,head\n0,1\n1,0\n1,2\n2,1\n")
    out = printed(capsys, "show", str(tmp_path / "path.csv"), "--sizes", "1KB")
    assert re.search(r"^size +ours +bound$", out, re.M)
    for words in (["--plot", "x.svg"], ["--sizes", "banana"], ["--sizes", "1KB:2KB:3KB:4KB"]):
        assert main(["show", "K_4", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


# Runs


@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize("methods", [(), ("arrival", "torus-rings")], ids=["one method", "methods"])
@pytest.mark.parametrize("testbed", [False, True], ids=["here", "testbed"])
def test_a_table_of_runs_fits(capsys, monkeypatch, columns, methods, testbed):
    monkeypatch.setenv("COLUMNS", str(columns))
    sizes = (1024, 2**30)
    more = {"predicted": 1.5e-3, "cables": (0.998, 1.002)} if testbed else {}
    measured = [
        Measurement(size, size // 4, 3, 1e-3, 1.234e-3, 123.4e-3, Fraction(7, 4), 0, own_median=2.5e-3, **more)
        for size in sizes
    ]
    prepared = prepare(linkstep.schedule("Torus(4,4)").schedule, Collective.ALLREDUCE, sizes, 0)
    report = RunReport.of(BenchResult("Torus(4,4)", "torch", "float32", "sum", None, prepared, measured))
    show = text_rows(sizes, methods)
    for row, method in zip(report.rows, methods or (None, None), strict=True):
        show(replace(report, rows=(replace(row, method=method),)))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    head, first, last = lines[-3:]
    assert len(head) == len(first) == len(last)
    names = {"size", "median", "wrong", "torch's own", "speed-up"} | ({"predicted"} if testbed else set())
    assert all(name in head for name in names | ({"method"} if methods else set()))
    assert ("count" in head) == (columns >= (149 if testbed else 115 if methods else 100))
    assert ("cables" in head) == any(line.startswith("cables: ") for line in lines)
