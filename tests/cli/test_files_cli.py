"""Wirings from files people have, through the commands: what is said on standard error, ``--both-ways``, plans."""

import json
from pathlib import Path

import pytest

from linkstep.cli import main

WIRINGS = Path(__file__).parents[1] / "files" / "wirings"
RING = "".join(f"h{i},h{(i + 1) % 8}\n" for i in range(8))
NO_RETURN = "linkstep: ring.csv: 8 of 8 links have no return; --both-ways reads each line as a duplex cable\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.csv").write_text(RING)
    return tmp_path


def run(capsys, *argv):
    assert main(list(argv)) == 0
    return capsys.readouterr()


COMMANDS = [
    ["show"], ["show", "--ranks"], ["schedule"], ["schedule", "--frontier"], ["wire"], ["throughput"],
    ["simulate"], ["lower", "--to", "msccl", "-o", "x.xml"],
]  # fmt: skip


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_links_without_return_are_noticed_once(here, capsys, argv):
    assert run(capsys, argv[0], "ring.csv", *argv[1:]).err == NO_RETURN
    assert run(capsys, argv[0], "ring.csv", *argv[1:], "--both-ways").err == ""


def test_both_ways_doubles_the_links(here, capsys):
    facts = [json.loads(run(capsys, "show", "ring.csv", *more, "--json").out) for more in ([], ["--both-ways"])]
    assert [(one["num_links"], one["duplex"]) for one in facts] == [(8, False), (16, True)]
    assert run(capsys, "convert", "ring.csv", "both.csv", "--both-ways").err == ""
    assert json.loads(run(capsys, "show", "both.csv", "--json").out)["num_links"] == 16


@pytest.mark.parametrize("argv", [["show", "K_4"], ["schedule", "Torus(3,3)"], ["wire", "Q(3)"]])
def test_both_ways_is_for_files(capsys, argv):
    assert main([*argv, "--both-ways"]) == 2
    assert f"--both-ways is for wirings in files: '{argv[1]}' is a recipe" in capsys.readouterr().err


def test_a_schedule_has_the_links_it_has(here, capsys):
    run(capsys, "schedule", "ring.csv", "-o", "s.npz")
    assert main(["show", "s.npz", "--both-ways"]) == 2
    assert "s.npz: holds a schedule, whose links are what they are" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["plan.csv", "plan.json"])
def test_a_plan_of_a_list_is_that_list(here, capsys, name):
    first = run(capsys, "wire", str(WIRINGS / "spreadsheet.csv"), "-o", name)
    assert first.err.endswith("spreadsheet.csv: 6 lines have no return: they are 6 duplex cables\n")
    table = run(capsys, "wire", str(WIRINGS / "spreadsheet.csv")).out
    again = run(capsys, "wire", name)
    assert (again.out, again.err) == (table, "")
    assert "0      gpu01  enp65s0f0np0   gpu02  enp65s0f0np0   duplex  0      3\n" in table
    assert json.loads(run(capsys, "wire", name, "--json").out)["cables"][0]["details"]["Colour"] == "blue"


def test_what_convert_does_not_keep_is_said(here, capsys):
    out = run(capsys, "convert", str(WIRINGS / "mlx.dot"), "t.npz")
    assert out.err.endswith("mlx.dot are kept in .csv, .dot, .gv only\n") and out.err.count("\n") == 1
    assert run(capsys, "convert", str(WIRINGS / "mlx.dot"), "t.gv").err == ""


def test_a_port_used_twice_is_one_line(here, capsys):
    (here / "bad.csv").write_text("A side,A port,B side,B port\nh1,p1,h2,p1\nh3,p1,h2,p1\n")
    assert main(["schedule", "bad.csv"]) == 2
    assert capsys.readouterr().err == "linkstep: bad.csv:3: port 'p1' of 'h2' is in use already, by line 2\n"


def test_every_file_can_be_scheduled(capsys):
    for path in sorted(WIRINGS.iterdir()):
        found = json.loads(run(capsys, "schedule", str(path), "--json").out)
        assert found["format"] == "linkstep/schedule-report", path.name
