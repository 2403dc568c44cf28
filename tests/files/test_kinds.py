"""Every command that gets a file of the wrong kind says what the file is, and which command takes it."""

import json

import pytest

import linkstep
from linkstep.cli import main
from linkstep.costs import Fabric, save_fabric
from linkstep.files import kind_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = linkstep.parse("K_3")
    made = recipe.build("allreduce")
    linkstep.save(recipe.topology(), "wiring.csv")
    linkstep.save(recipe.topology(), "topology.json")
    linkstep.save(recipe.topology(), "graph.graphml")
    linkstep.save(made, "schedule.npz")
    (tmp_path / "plan.xml").write_text(linkstep.lower(made, "msccl").text)
    (tmp_path / "cpu.xml").write_text(linkstep.lower(made, "cpu").text)
    (tmp_path / "mscclpp.json").write_text(linkstep.lower(made, "mscclpp").text)
    save_fabric(Fabric.of("10us", "100Gbps", 2), "fabric.json")
    (tmp_path / "report.json").write_text('{"report": "topology", "version": 1}')
    (tmp_path / "picture.svg").write_text("<?xml version='1.0'?>\n<svg></svg>")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "words.txt").write_text("all work and no play\n")
    (tmp_path / "noise.json").write_bytes(b"\xff\xfe\x00")
    return tmp_path


KINDS = {
    "wiring.csv": ("wiring", "a wiring of 3 hosts", "`linkstep show wiring.csv` describes it"),
    "topology.json": ("wiring", "a wiring of 3 hosts", "`linkstep show topology.json` describes it"),
    "graph.graphml": ("wiring", "a wiring of 3 hosts", "`linkstep show graph.graphml` describes it"),
    "schedule.npz": ("schedule", "a schedule (allreduce)", "`linkstep check schedule.npz` proves it"),
    "plan.xml": ("runtime", "an MSCCL program (XML)", "`linkstep verify plan.xml` proves it"),
    "cpu.xml": ("runtime", "a CPU program of linkstep (XML)", "`linkstep verify cpu.xml` proves it"),
    "mscclpp.json": ("runtime", "an MSCCL++ plan (JSON)", "`linkstep verify mscclpp.json` proves it"),
    "fabric.json": ("fabric", "a fabric", "commands take it as `--fabric fabric.json`"),
    "report.json": ("report", "a report of linkstep's ('topology')", ""),
    "picture.svg": ("other", "a picture", ""),
    "empty.csv": ("empty", "an empty file", ""),
    "words.txt": ("unknown", "nothing that linkstep knows", ""),
    "noise.json": ("unknown", "nothing that linkstep knows", ""),
    "missing.csv": ("unknown", "nothing that linkstep knows", ""),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(folder, name):
    kind = kind_of(name)
    assert (kind.name, kind.what, kind.use) == KINDS[name]


TAKES = {
    ("show", "{}"): ("a topology or a schedule", {"wiring", "schedule"}),
    ("schedule", "{}"): ("a topology or a schedule", {"wiring", "schedule"}),
    ("wire", "{}"): ("a topology or a schedule", {"wiring", "schedule"}),
    ("throughput", "{}"): ("a topology or a schedule", {"wiring", "schedule"}),
    ("convert", "{}", "out.csv"): ("a topology or a schedule", {"wiring", "schedule"}),
    ("lower", "{}", "--to", "msccl", "-o", "out.xml"): ("a topology or a schedule", {"wiring", "schedule"}),
    ("check", "{}"): ("a schedule", {"schedule"}),
    ("verify", "{}"): ("a runtime's file", {"runtime"}),
    ("fit", "{}"): ("a run file", set()),
    ("train-sim", "{}", "--nodes", "4"): ("a model file", set()),
    ("find", "4", "2", "--sizes", "{}"): ("a list of collectives", set()),
    ("show", "K_3", "--fabric", "{}"): ("a fabric file", {"fabric"}),
}


@pytest.mark.parametrize("argv", TAKES, ids=" ".join)
@pytest.mark.parametrize("name", [name for name, row in KINDS.items() if row[0] not in ("unknown", "empty")])
def test_a_file_of_the_wrong_kind_is_named(folder, capsys, argv, name):
    wanted, taken = TAKES[argv]
    kind, what, use = KINDS[name]
    if kind in taken:
        return
    assert main([word.format(name) for word in argv]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{name} is {what}, not {wanted}{f': {use}' if use else ''}" in err


@pytest.mark.parametrize("argv", [argv for argv in TAKES if "--fabric" not in argv], ids=" ".join)
@pytest.mark.parametrize("name", ["words.txt", "noise.json", "missing.csv", "empty.csv"])
def test_what_nobody_knows_is_one_line(folder, capsys, argv, name):
    assert main([word.format(name) for word in argv]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and name in err


def test_run_and_simulate_take_the_most(folder, capsys):
    for command in ("run", "simulate"):
        assert main([command, "fabric.json"]) == 2
        err = capsys.readouterr().err
        assert (
            "fabric.json is a fabric, not a topology or a schedule: commands take it as `--fabric fabric.json`" in err
        )


def test_names_are_quoted_for_a_shell(tmp_path):
    path = tmp_path / "my wiring.csv"
    path.write_text("a,b\nb,a\n")
    assert f"`linkstep show '{path}'`" in kind_of(path).use


def test_a_report_of_ours_is_no_wiring(folder, capsys):
    (folder / "find.json").write_text(json.dumps({"report": "find", "version": 1, "frontier": []}))
    assert main(["show", "find.json"]) == 2
    said = capsys.readouterr().err
    assert "find.json is a report of linkstep's ('find'), not a topology or a schedule" in said
    assert "`linkstep report 64 4 -o page.html` makes a page of such an answer" in said
