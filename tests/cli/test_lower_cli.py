"""``linkstep lower``, in process and on exact text."""

import argparse
import contextlib
import json

import pytest

import linkstep
from linkstep.cli import _lower, main
from linkstep.core.errors import FileError, LinkstepError
from support import interpreters as runtimes

LOWERED = """\
K_{{2,2}}: allreduce, out of place, lowered to msccl and verified
  runtime       microsoft/msccl, the first runtime of such files
  schedule      4 alpha + 3/2 M/B
  data in       8 chunks
  scratch       none
  messages      40 over 1 channel
  a rank        at most 4 threadblocks
  instructions  80 in all
the runtime picks it up if
  ranks        4
  environment  MSCCL_XML_FILES={folder}/a.xml NCCL_ALGO=MSCCL,RING,TREE
  data in all  a multiple of 8 elements
  size         0 to 1099511627776 bytes, both included
  buffers      separate input and output
saved to a.xml
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command as ``linkstep`` would, in an empty folder; return what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str) -> str:
        parser = argparse.ArgumentParser()
        _lower.COMMAND.add_arguments(parser)
        assert _lower.COMMAND.run(parser.parse_args(argv)) == 0
        return capsys.readouterr().out

    return call


def test_lower(run, tmp_path):
    assert run("K_{2,2}", "--to", "msccl", "-o", "a.xml") == LOWERED.format(folder=tmp_path)
    runtimes.run((tmp_path / "a.xml").read_text(), "msccl")


@pytest.mark.parametrize("to", ["msccl-azure", "rccl", "mscclpp", "cpu"])
def test_lower_json(run, tmp_path, to):
    argv = ["Diamond", "--to", to, "-o", "a", "--collective", "allgather", "--inplace", "--min-bytes", "1KiB", "--json"]
    facts = json.loads(run(*argv))
    assert (facts["to"], facts["inplace"], facts["ranks"], facts["min_bytes"]) == (to, True, 8, 1024)
    runtimes.run((tmp_path / "a").read_text(), to)


def test_lower_files(run, tmp_path):
    linkstep.save(linkstep.parse("K_4").build("reduce", 2), "reduce.npz")
    linkstep.save(linkstep.parse("K_4").topology(), "wiring.csv")
    assert "K_4: reduce, " in run("reduce.npz", "--to", "cpu", "-o", "a.xml")
    assert 'root="2"' in (tmp_path / "a.xml").read_text()
    assert "K_4: broadcast, " in run("wiring.csv", "--to", "cpu", "--collective", "broadcast", "-o", "a.xml")
    with pytest.raises(LinkstepError, match="the file holds a reduce, not the allgather of --collective"):
        run("reduce.npz", "--to", "cpu", "--collective", "allgather", "-o", "a.xml")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["K_4", "--to", "rccl", "-o", "no/a.xml"], "no/a.xml: there is no folder "),
        (["K_4", "--to", "rccl", "-o", "a.xml", "--max-bytes", "0.5B"], "--max-bytes must be whole bytes, not 0.5B"),
        (["K_4", "--to", "rccl", "-o", "a.xml", "--root", "4"], r"root must be a node in \[0, 4\), not 4"),
        (
            ["K_4", "--to", "rccl", "-o", "a", "--collective", "reduce", "--to", "mscclpp"],
            "mscclpp has no reduce: ",
        ),
    ],
)
def test_lower_refuses(run, tmp_path, argv, message):
    with pytest.raises((LinkstepError, FileError), match=message):
        run(*argv)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--to", "msccl", "-o", "x.json"], r"x.json: a file for msccl is named x.xml, not .json"),
        (["--to", "cpu", "-o", "x.JSON"], r"x.JSON: a file for cpu is named x.xml, not .json"),
        (["--to", "rccl", "-o", "x.npz"], r"x.npz: a file for rccl is named x.xml, not .npz"),
        (["--to", "mscclpp", "-o", "x.xml"], r"x.xml: a file for mscclpp is named x.json, not .xml"),
        (["--to", "msccl", "-o", ""], "'' is not the name of a file"),
        (["--to", "msccl", "-o", "."], "is a directory, not a file"),
        (["--to", "msccl", "-o", "x" * 300], "file name too long"),
        (["--to", "msccl", "-o", "x" * 300 + "/x.xml"], "file name too long"),
        (["--to", "msccl", "-o", "no/x.xml"], "no/x.xml: there is no folder "),
        (["--to", "msccl", "-o", "x.xml", "--gather", "0.5B"], "--gather must be whole bytes"),
        (["--to", "msccl", "-o", "x.xml", "--channels", "99999999999"], "channels: 99999999999, .* the limit of 32; "),
        (["--to", "cpu", "-o", "x.xml", "--channels", "99999999999"], "channels: 99999999999, .* the limit of 1024; "),
        (["--to", "mscclpp", "-o", "x.json", "--instances", "1000000"], "channels: 1000000, .* the limit of 1024; "),
        (
            ["--to", "cpu", "-o", "x.xml", "--chunks", "10000000000"],
            "moves of a chunk over a link: .* limit of 5",
        ),
        (["--to", "rccl", "-o", "x.xml", "--chunks", "0"], "chunks must be at least 1, not 0"),
    ],
)
def test_refused_before_a_schedule_is_made(run, tmp_path, monkeypatch, argv, message):
    monkeypatch.setattr(_lower, "schedule_of", None)
    with pytest.raises(LinkstepError, match=message):
        run("K_4", *argv)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["msccl", "msccl-azure", "rccl"])
def test_too_many_ranks_are_refused_before_a_schedule_is_made(run, monkeypatch, to):
    """A Kautz graph of 1280 nodes."""
    monkeypatch.setattr(_lower, "schedule_of", None)
    with pytest.raises(LinkstepError, match=r"ranks: 1280, 256 over the limit of 1024; lower it to mscclpp or cpu"):
        run("K(4,4)", "--to", to, "-o", "a.xml")


def test_the_environment_names_the_directory_absolutely(run, tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    text = run("K_3", "--to", "msccl-azure", "-o", "with space/a.xml")
    assert f"  environment  MSCCL_ALGO_DIR='{folder}'\n  data in all" in text
    text = run("K_3", "--to", "rccl", "-o", "with space/b.xml")
    assert f"  environment  MSCCL_ALGO_DIR='{folder}' RCCL_MSCCL_FORCE_ENABLE=1\n" in text
    assert "  other files are there, and the runtime parses them all: mkdir a directory for this one,\n" in text
    assert f"ExecutionPlan('{tmp_path}/c.json', rank)" in run("K_3", "--to", "mscclpp", "-o", "c.json")


def test_rccl_says_which_releases_it_serves(run):
    text = run("K_3", "--to", "rccl", "-o", "a.xml")
    assert "  runtime       older releases of RCCL: MSCCL was removed from it in 2026, " in text


def test_scratch_is_said(run, capsys):
    argv = ["Torus(3,3)", "--collective", "reduce-scatter", "-o", "a.xml"]
    text = run(*argv, "--to", "msccl")
    assert "  scratch       1 GiB on a rank, allocated when the runtime starts\n" in text
    assert "  size         0 to 3221225471 bytes, both included\n" in text
    assert "  scratch       at most 7/9 of a call's data on a rank\n" in run(*argv, "--to", "rccl")


def test_a_window_that_needs_much_scratch_is_warned_of(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["lower", "Torus(3,3)", "--collective", "reduce-scatter", "--to", "msccl", "-o", "a.xml"]
    assert main([*argv, "--max-bytes", "3GiB"]) == 0
    warning = "msccl allocates 1 GiB of scratch on a rank when it starts; a smaller --max-bytes needs less"
    assert capsys.readouterr().err == f"linkstep: warning: {warning}\n"
    assert main([*argv, "--max-bytes", "1GiB"]) == 0
    assert capsys.readouterr().err == ""


def test_the_bar_moves(run, monkeypatch):
    """What a terminal would show after two seconds."""
    seen = []

    @contextlib.contextmanager
    def bar(label, unit):
        yield lambda done, total: seen.append((label, done, total))

    monkeypatch.setattr(_lower, "progress_bar", bar)
    run("Torus(4,4)", "--to", "msccl", "-o", "a.xml")
    lowering = [(done, total) for label, done, total in seen if label == "lower"]
    assert len(set(lowering)) > 4 and lowering == sorted(lowering) and lowering[-1][0] == lowering[-1][1]
    assert len({done for label, done, _ in seen if label == "verify"}) > 1
