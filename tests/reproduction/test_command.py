"""``linkstep reproduce``: labels, files, pages, and one line for whatever is wrong."""

import json
import re
import sys

import pytest

from linkstep.cli import main
from linkstep.reproduction import EXHIBITS, exhibit_labelled


def run(capsys, *argv):
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.usefixtures("wide")
def test_list(capsys):
    code, out, _ = run(capsys, "reproduce", "--list")
    assert code == 0
    lines = out.partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines[1:]] == [exhibit.label for exhibit in EXHIBITS]
    code, out, _ = run(capsys, "reproduce", "--list", "--json")
    assert {row["label"] for row in json.loads(out)["exhibits"]} == {exhibit.label for exhibit in EXHIBITS}


def test_the_list_says_what_is_slow(capsys):
    _, out, _ = run(capsys, "reproduce", "--list")
    for exhibit in EXHIBITS:
        assert exhibit.is_quick or re.fullmatch(r"\d+ (s|min)", exhibit.takes), exhibit.label
        (line,) = (line for line in out.splitlines() if line.startswith(f"{exhibit.label} "))
        assert (exhibit.takes or "seconds") in line
        assert (f"only with --emulate: {exhibit.label}: " in out) == (exhibit.emulate is not None)
    assert exhibit_labelled("fig:supercomp").emulate is not None


def test_nothing_that_is_computed_unasked_builds_a_testbed():
    """Only ``emulate`` may: the functions that run commands are used by nothing else."""
    for exhibit in EXHIBITS:
        module = sys.modules[exhibit.compute.__module__]
        users = [name for name, one in vars(module).items() if "emulated_seconds" in names_in(one)]
        assert users == ([] if exhibit.emulate is None else [exhibit.emulate.__name__])


def names_in(one):
    return getattr(getattr(one, "__code__", None), "co_names", ())


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["fig:latencyfits"], "no exhibit is labelled 'fig:latencyfits'; did you mean 'fig:latencyfit'?"),
        (["paretooptimal"], "no exhibit is labelled 'paretooptimal'; did you mean 'table:paretooptimal'?"),
        (["x"], "no exhibit is labelled 'x'; `linkstep reproduce --list` shows all"),
        ([], "say what to reproduce: labels, or --all, or --list to see them"),
        (["--all", "fig:betafit"], "say what to reproduce: labels, or --all, or --list to see them"),
        (["--list", "--output", "x"], "--list makes nothing: leave out --output"),
        (["--list", "--emulate"], "--list makes nothing: leave out --emulate"),
        (["--all", "--report", "x.md"], "--report is a page of all exhibits and links to their files: give --all"),
        (["tab:ourtopologies", "--output", "{file}"], "is a file, and exhibits are written to a folder"),
        (["--all", "--output", "{folder}/out", "--report", "{folder}"], "is a directory, not a file"),
    ],
)
def test_refusals(capsys, tmp_path, argv, message):
    (tmp_path / "file").write_text("")
    words = [word.format(file=tmp_path / "file", folder=tmp_path) for word in argv]
    code, out, err = run(capsys, "reproduce", *words)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_labels_complete(capsys):
    _, out, _ = run(capsys, "completion", "bash")
    assert all(exhibit.name in out for exhibit in EXHIBITS)
    assert exhibit_labelled("fig-latencyfit") is exhibit_labelled("fig:latencyfit")


@pytest.mark.slow
def test_one_exhibit(capsys, tmp_path):
    code, out, _ = run(capsys, "reproduce", "tab:ourtopologies", "--output", str(tmp_path))
    assert code == 0
    assert "N = 12, C(12,{2,3})    T_L [steps]      4      4 same         4 same" in out
    assert f"written to {tmp_path}/tab-ourtopologies.csv, .md, .svg" in out
    code, out, _ = run(capsys, "reproduce", "tab-ourtopologies", "--output", str(tmp_path), "--json")
    (facts,) = json.loads(out)["results"]
    assert (facts["label"], facts["new"], facts["marked"]) == ("tab:ourtopologies", False, 0)
    assert facts["paper_bases_counts"] == {"same": 16, "differs": 0}
    assert facts["linkstep_counts"] == {"same": 8, "better": 0, "differs": 0}
    assert facts["cells"][0]["paper_bases"] == "2"
