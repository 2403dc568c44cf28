"""``linkstep lower``, in process and on exact text."""

import argparse
import json

import pytest

import linkstep
from linkstep.cli import _lower
from linkstep.core.errors import FileError, LinkstepError
from support import interpreters as runtimes

LOWERED = """\
K_{2,2}: allreduce, out of place, lowered to msccl and verified
  schedule      4 alpha + 3/2 M/B
  data in       8 chunks, 0 more of scratch
  messages      40 over 1 channel
  a rank        at most 4 threadblocks
  instructions  80 in all
the runtime picks it up if
  ranks        4
  environment  MSCCL_XML_FILES=a.xml NCCL_ALGO=MSCCL,RING,TREE
  data in all  a multiple of 8 elements
  size         0 to 1099511627776 bytes
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
    assert run("K_{2,2}", "--to", "msccl", "-o", "a.xml") == LOWERED
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
            ["K_4", "--to", "rccl", "-o", "a.xml", "--collective", "reduce", "--to", "mscclpp"],
            "mscclpp has no reduce: ",
        ),
    ],
)
def test_lower_refuses(run, tmp_path, argv, message):
    with pytest.raises((LinkstepError, FileError), match=message):
        run(*argv)
    assert not list(tmp_path.iterdir())
