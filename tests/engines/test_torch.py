"""The torch engine on real processes: collectives, the DDP hook, the backend, and what happens when something is wrong.

Importing torch costs seconds, so that a script does it once and becomes all ranks by forking; and one set of sixteen
ranks does all checks that must succeed, in groups of its first ones, and the tests look at what it found.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.torch_topologies import TOPOLOGIES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch: pip install torch"),
]

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests/support/torch_ranks.py"


@dataclass(frozen=True)
class Ended:
    """A rank's end."""

    code: int
    out: str
    err: str


def run_ranks(job: str, size: int, limit: float, **extra: str) -> list[Ended]:
    """Run a job; whatever is left of it after the limit is killed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    shared = os.environ | {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size), "PYTHONPATH": path,
        "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", **extra,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, SCRIPT, job, folder], env=shared, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=limit)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        assert process.returncode == 0, err
        codes = dict(map(int, line.split()) for line in out.splitlines())
        said = [[Path(folder, f"{rank}.{stream}").read_text() for stream in ("out", "err")] for rank in range(size)]
    return [Ended(codes[rank], *texts) for rank, texts in enumerate(said)]


@pytest.fixture(scope="module")
def found() -> list[Ended]:
    return run_ranks("collectives", 16, 500)


def all_said(found: list[Ended], name: str, ranks: range) -> None:
    for rank in ranks:
        lines = [line for line in found[rank].out.splitlines() if line.partition(" ")[2].partition(": ")[0] == name]
        assert lines == [f"ok {name}"], (rank, lines, found[rank].err[-2000:])


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_collectives_are_right_on(found: list[Ended], name: str) -> None:
    all_said(found, name, range(TOPOLOGIES[name]))


@pytest.mark.parametrize("name", ["types", "large", "backend", "training"])
def test_eight_ranks(found: list[Ended], name: str) -> None:
    all_said(found, name, range(8))


def test_a_foreign_all_to_all(found: list[Ended]) -> None:
    all_said(found, "all-to-all", range(4))


def test_groups_take_the_schedule_of_their_size(found: list[Ended]) -> None:
    all_said(found, "left to gloo", range(2))
    all_said(found, "subgroup", range(4, 8))


def test_groups_run_what_their_ranks_have_cables_for() -> None:
    ended = run_ranks("groups", 8, 300)
    all_said(ended, "left", range(0, 8, 2))
    all_said(ended, "right", range(1, 8, 2))
    all_said(ended, "six", range(6))
    for rank in (0, 1, 4, 5):
        all_said(ended, "wired", range(rank, rank + 1))
    told = [line for one in ended for line in one.out.splitlines() if line.startswith("warned [") and "gloo" in line]
    assert len(told) == 1, told
    first = r"ranks (0, 2, 4, 6|1, 3, 5, 7): K_4 needs a cable from rank (0 to rank 2|1 to rank 3)"
    assert re.search(f"groups that nothing fits are left to gloo, such as {first}, and there is none", told[0])


def test_all_ranks_end_well(found: list[Ended]) -> None:
    assert [one.code for one in found] == [0] * 16, [one.err[-500:] for one in found if one.code]


@pytest.fixture(scope="module")
def refused() -> list[Ended]:
    return run_ranks("refusals", 4, 200)


BEGIN = ("begin, other N", "begin, other file")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("begin, other N", "it is for 8 ranks, and there are 4"),
        ("begin, other file", "rank 0 was given another schedule"),
        ("length", "nothing came from rank"),
        ("type", "nothing came from rank"),
        ("operation", "nothing came from rank"),
    ],
)
def test_a_mistake_is_an_error_on_every_rank(refused: list[Ended], name: str, words: str) -> None:
    for rank, one in enumerate(refused):
        spoken = re.search(rf"^refused {name} after ([\d.]+): (.*)$", one.out, re.MULTILINE)
        assert spoken, (rank, one.out, one.err[-2000:])
        assert float(spoken[1]) < 10
        gave_up = "ended before the others"  # what a rank looks like to another that gives up a moment later
        assert words in spoken[2] or (name not in BEGIN and gave_up in spoken[2])
    assert "bad" not in "".join(one.out for one in refused)


@pytest.mark.parametrize("victim", [0, 2])
def test_a_killed_rank_is_named_by_all_others(victim: int) -> None:
    ended = run_ranks("killed", 4, 200, VICTIM=str(victim))
    assert ended[victim].code == -9
    for rank, one in enumerate(ended):
        if rank != victim:
            spoken = re.search(r"^spoke after ([\d.]+): (.*)$", one.out, re.MULTILINE)
            assert spoken, (rank, one.out, one.err[-2000:])
            assert float(spoken[1]) < 10
            assert f"rank {victim} ended before the others" in spoken[2]
            assert one.code != 0


def test_without_torch_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    code = "import linkstep.torch"
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: linkstep.torch needs PyTorch, which is not installed: python -m pip install torch"
    )


def test_the_example_trains_to_the_same_parameters() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/train_transformer.py", "--steps", "3"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("largest difference") == 4
    assert re.search(r"DDP's buckets: \d+, \d+ bytes", done.stdout)
