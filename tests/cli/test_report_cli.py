"""``linkstep report``: one file of whatever is named, or one line that says why not."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

import linkstep
from linkstep.cli import main
from linkstep.explorer.packing import unpack


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    linkstep.save(linkstep.parse("K_4").topology(), tmp_path / "wiring.csv")
    linkstep.save(linkstep.schedule("K_3", "allgather").schedule, tmp_path / "made.npz")
    linkstep.save_fabric(linkstep.Fabric.of("3us", "10Gbps", 4), tmp_path / "my.json")
    for name, target in (("plan.xml", "msccl"), ("plan.json", "mscclpp")):
        (tmp_path / name).write_text(linkstep.lower(linkstep.schedule("K_3"), target).text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def held(path: Path) -> dict[str, object]:
    """Return the document in a page."""
    [data] = re.findall(r'<script id="linkstep-document" type="text/plain">(.*?)</script>', path.read_text())
    return unpack(base64.b64decode(data))


def kinds(path: Path) -> list[str]:
    return [panel["kind"] for panel in held(path)["panels"]]


def facts(path: Path, number: int = 0) -> dict[str, object]:
    return held(path)["panels"][number]["data"]["facts"]


def test_a_recipe(here, capsys):
    assert main(["report", "Torus(4,4)", "-o", "r.html"]) == 0
    out, err = capsys.readouterr()
    size = (here / "r.html").stat().st_size
    assert (out.count("\n"), err) == (1, "") and out.startswith("wrote r.html: Torus(4,4); ")
    assert re.search(rf" panels, {size / 1000:.4g}"[:12], out)
    assert kinds(here / "r.html")[:2] == ["wiring", "schedule"]


def test_a_page_asks_for_nothing(here):
    main(["report", "K_3", "-o", "r.html"])
    text = (here / "r.html").read_text()
    assert "connect-src 'none'" in text and "default-src 'none'" in text
    assert not re.findall(r"<(?:link|img|iframe|script)[^>]+(?:href|src)=[\"'](?!data:)", text)


@pytest.mark.parametrize(
    ("file", "kind"), [("wiring.csv", "wiring"), ("made.npz", "schedule"), ("plan.xml", "file"), ("plan.json", "file")]
)
def test_files(here, file, kind):
    assert main(["report", file, "-o", "r.html"]) == 0
    assert kinds(here / "r.html")[0] == kind


def test_several_things_are_several_panels(here):
    assert main(["report", "K_3", "made.npz", "-o", "r.html"]) == 0
    found = kinds(here / "r.html")
    assert found.count("wiring") == 2 and found.count("schedule") == 2
    assert held(here / "r.html")["title"].startswith("K_3; ")


def test_options_of_show(here, capsys):
    words = [
        "--cut",
        "ant,bee",
        "--names",
        "ant,bee,cat,dog",
        "--size",
        "64MB",
        "--alpha",
        "5us",
        "--bandwidth",
        "10Gbps",
    ]
    assert main(["report", "K_4", *words, "-o", "r.html"]) == 0
    capsys.readouterr()
    found = facts(here / "r.html")
    assert found["faults"] == ["cut ant,bee"]
    assert held(here / "r.html")["panels"][0]["data"]["wires"]["labels"] == ["ant", "bee", "cat", "dog"]
    cut = linkstep.faults.apply(
        linkstep.parse("K_4").topology(),
        [linkstep.faults.parse("cut", "0,1")],
        linkstep.Fabric.of("5us", "10Gbps", 3).link_bandwidth,
    )
    made = linkstep.schedule(cut, fabric=linkstep.Fabric.of("5us", "10Gbps", 3))
    assert found["best"]["steps"] == made.cost.steps
    assert found["best"]["fabric"] == "alpha 5us, 10Gbps a server"


def test_a_fabric_file(here):
    assert main(["report", "K_5", "--fabric", "my.json", "-o", "r.html"]) == 0
    assert "alpha 3us" in facts(here / "r.html")["best"]["fabric"]


def test_how_a_file_was_understood_is_said(here, capsys):
    (here / "cables.csv").write_text("a,b\nb,c\nc,a\n")
    assert main(["report", "cables.csv", "-o", "r.html"]) == 0
    assert capsys.readouterr().err.startswith("linkstep: cables.csv: ")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["K_3", "-o", "r.pdf"], "r.pdf: the name of a page must end in .html or .htm"),
        (["K_3", "-o", "no/r.html"], "no/r.html: there is no folder no"),
        (["Tors(4,4)", "-o", "r.html"], "no family is called 'Tors'; did you mean 'Torus'?"),
        (["missing.csv", "-o", "r.html"], "missing.csv: no such file"),
        (["64", "-o", "r.html"], "64 stands alone: servers and ports are two numbers, such as 64 4"),
        (["K_3", "my.json", "--cut", "0,1", "-o", "r.html"], "faults and names are for wirings: my.json is a fabric"),
        (["K_3", "--size", "0B", "-o", "r.html"], "--size must be positive, not 0B"),
        (["made.npz", "--cut", "0,1", "-o", "r.html"], "holds a schedule"),
        (["K_3"], "the following arguments are required: -o/--output"),
        (["nowhere.xml", "-o", "r.html"], "nowhere.xml: no such file"),
        (["-o", "r.html"], "the following arguments are required: RECIPE|FILE|N d"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_shown_is_a_line_and_no_file(here, capsys, words, line):
    assert main(["report", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and line in err
    assert not (here / "r.html").exists()


def test_it_can_be_opened(here, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["report", "K_3", "-o", "r.html", "--open"]) == 0
    assert opened == [(here / "r.html").as_uri()]


def test_two_plans_are_compared(here):
    (here / "a.csv").write_text("ant,bee\nbee,cat\ncat,dog\ndog,ant\n")
    (here / "b.csv").write_text("ant,bee\nbee,dog\ncat,dog\ncat,ant\n")
    assert main(["report", "a.csv", "--compare", "b.csv", "--both-ways", "-o", "r.html"]) == 0
    (panel,) = held(here / "r.html")["panels"]
    assert panel["kind"] == "cabling" and panel["data"]["difference"]["argument"] == "b.csv"


@pytest.mark.parametrize("words", [["8", "4"], ["K_3", "K_4"]])
def test_only_two_plans_are_compared(here, capsys, words):
    assert main(["report", *words, "--compare", "K_4", "-o", "r.html"]) == 2
    assert "--compare takes two plans" in capsys.readouterr().err
    assert not (here / "r.html").exists()


# --- save_page ---


def test_the_library_writes_the_same(here):
    main(["report", "Torus(4,4)", "-o", "a.html"])
    linkstep.save_page("Torus(4,4)", "b.html")
    assert (here / "a.html").read_text() == (here / "b.html").read_text()


def test_times_of_a_page_are_for_its_size_and_fabric(here):
    fabric = linkstep.Fabric.of("1us", "400Gbps", 4)
    made = linkstep.schedule("Torus(4,4)", fabric=fabric)
    for size in ("64MB", 64_000_000):
        linkstep.save_page("Torus(4,4)", "r.html", size=size, fabric=fabric)
        seconds = facts(here / "r.html")["best"]["allreduce_seconds"]
        assert seconds == pytest.approx(float(linkstep.seconds_of(made, fabric, "64MB")))


@pytest.mark.slow
def test_a_page_of_a_thousand_servers_can_be_mailed(here):
    assert main(["report", "L^3(C(16,{3,4}))", "-o", "r.html"]) == 0
    assert (here / "r.html").stat().st_size < 5_000_000
