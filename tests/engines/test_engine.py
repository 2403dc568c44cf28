"""An engine is a transport and a row: one whose messages are files runs everything that ``linkstep run`` does."""

import json
import subprocess
import sys

import pytest

import linkstep
from linkstep.cli import main
from linkstep.engines.bench.measure import TYPES, check_type
from linkstep.engines.transports.engine import ENGINES, engine_named
from support import file_engine


@pytest.fixture
def files(monkeypatch):
    monkeypatch.setitem(ENGINES, "files", file_engine.ENGINE)
    for engine in ENGINES.values():
        for name in engine.rank_variables:
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("recipe", "collective"), [("K_4", "allreduce"), pytest.param("UniRing(1,3)", "all-to-all", marks=pytest.mark.slow)]
)
def test_a_row_is_all_it_takes(files, capsys, recipe, collective):
    words = ["--collective", collective, "--size", "1003B", "--repetitions", "2", "--json"]
    assert main(["run", recipe, "--engine", "files", *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["engine"], document["collective"]) == ("files", collective)
    assert [(row["wrong"], row["own_median_seconds"]) for row in document["rows"]] == [(0, None)]


@pytest.mark.slow
def test_wrong_results_are_noticed_whatever_the_engine(files, capsys, monkeypatch):
    monkeypatch.setattr(file_engine, "_RANK", file_engine._RANK.replace("file_engine.register()", _SPOILED))
    assert main(["run", "K_4", "--engine", "files", "--size", "64B", "--repetitions", "2", "--no-own", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["rows"][0]["wrong"] > 0


_SPOILED = """
file_engine.register()
read = file_engine.FileTransport._read
file_engine.FileTransport._read = lambda self, path, *rest: (
    read(self, path, *rest) if "meeting" in path.name else bytes(len(read(self, path, *rest)))
)
"""


@pytest.mark.slow
def test_a_rank_that_sends_nothing_is_named(files, capfd, monkeypatch):
    mute = 'file_engine.register()\nimport os\nif os.environ["FILE_RANK"] == "2":\n    '
    mute += "file_engine.FileTransport.start = lambda self, handles: None"
    monkeypatch.setattr(file_engine, "_RANK", file_engine._RANK.replace("file_engine.register()", mute))
    words = ["--size", "64B", "--repetitions", "2", "--no-own", "--timeout", "3s"]
    assert main(["run", "UniRing(1,3)", "--engine", "files", *words]) == 2
    assert "nothing came from rank 2 for 3 s" in capfd.readouterr().err


def test_types_and_variables_are_the_rows(files):
    assert check_type("int64", "files") == "int64"
    with pytest.raises(linkstep.LinkstepError, match=r"^numpy has no bfloat16: use --engine torch$"):
        check_type("bfloat16", "files")
    assert all(set(engine.types) <= set(TYPES) for engine in ENGINES.values())
    assert engine_named("files").rank_of({"FILE_RANK": "2"}) == "2"
    assert engine_named("files").rank_of({"RANK": "2"}) is None
    slurm = {"SLURM_PROCID": "1"}
    assert engine_named("mpi").rank_of(slurm) is None
    assert engine_named("mpi").rank_of(slurm | {"SLURM_STEP_NODELIST": "a"}) == "1"


def test_an_engine_that_there_is_not():
    with pytest.raises(linkstep.LinkstepError, match=r"^the engine must be one of mpi, torch, not 'files'$"):
        linkstep.Communicator("K_4", "files")


def test_the_table_asks_for_no_engine():
    """A rank looks itself up before it imports what takes time."""
    code = "import sys, linkstep.engines.transports.engine; print('numpy' in sys.modules, 'mpi4py' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]
