"""Runs on a testbed: the cables carry what the schedule says, a cut is noticed and named, and what is left still works.

How fast they are is measured by ``python -m benchmarks.measured``, on a machine with nothing else to do; here only that
they are no slower than a busy machine explains.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from linkstep.core.errors import LinkstepError
from linkstep.engines import testbed
from support.crowding import crowding

pytestmark = pytest.mark.slow
pytest.importorskip("mpi4py", reason="needs MPI: pip install '.[mpi]'")

WITHIN = 10.0


def linkstep(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "linkstep", *words], capture_output=True, text=True, timeout=180, check=False, **options
    )  # fmt: skip


@pytest.fixture
def bed(request):
    """Bring up a testbed, and take it down whatever happens."""
    try:
        testbed.check_possible()
    except LinkstepError as error:
        pytest.skip(str(error))
    name = f"t{os.getpid()}"
    done = linkstep("testbed", "up", *request.param, "--name", name)
    assert done.returncode == 0, done.stderr
    yield name
    assert linkstep("testbed", "down", name).returncode == 0


@pytest.mark.parametrize("bed", [("K_{4,4}", "--rate", "50Mbps")], indirect=True)
def test_cables_carry_what_the_schedule_says(bed):
    """A busy machine loses packets, which are sent again, and is slower: one run of three must be as predicted."""
    one_more = 15 / 14  # a cable carries 14 chunks
    lent = 8 * 2**15 / 50e6  # by each cable's token bucket, once
    rows = []
    while len(rows) < 3:
        done = linkstep("run", "--testbed", bed, "--size", "4MB", "--repetitions", "3", "--json")
        assert done.returncode == 0, done.stderr
        [row] = json.loads(done.stdout)["rows"]
        rows.append(row)
        assert row["wrong"] == 0
        assert 1.0 < row["cables_over_schedule"][0] <= row["cables_over_schedule"][1]
        assert row["predicted_seconds"] == pytest.approx(7 / 4 * 32e6 / 200e6 - lent)
        assert row["predicted_seconds"] < 1.02 * row["median_seconds"]  # rates hold
        as_fast = row["median_seconds"] < 2 * row["predicted_seconds"] < row["own_median_seconds"]
        if row["cables_over_schedule"][1] < one_more and as_fast:
            return
    pytest.fail(f"no run as predicted: {rows}")


@pytest.mark.parametrize("bed", [("BiRing(2,4)", "--rate", "50Mbps")], indirect=True)
def test_a_host_that_only_forwards(bed):
    """What 0 and 2 have for each other goes over 1, which has no data, or over 3: its cables carry the schedule's."""
    done = linkstep("run", "--testbed", bed, "--forward", "1", "--size", "1MB", "--repetitions", "2", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["ranks"], found["forwarders"]) == (3, 1)
    [row] = found["rows"]
    assert row["wrong"] == 0 and row["cables_over_schedule"][0] > 1.0


@pytest.mark.parametrize("bed", [("K_{4,4}", "--rate", "50Mbps")], indirect=True)
def test_a_cut_cable_is_named_and_the_rest_goes_on(bed):
    words = ["run", "--testbed", bed, "--size", "1MB", "--repetitions", "10000", "--no-own"]
    run = subprocess.Popen([sys.executable, "-m", "linkstep", *words], stderr=subprocess.PIPE, text=True)
    try:
        before = testbed.status(testbed.load(bed))
        while _carried(testbed.status(testbed.load(bed))) - _carried(before) < 3e8 / 8:
            time.sleep(0.1)
            assert run.poll() is None, run.stderr.read()
        assert linkstep("testbed", "cut", bed, "1,6").returncode == 0
        begin = time.monotonic()
        _, said = run.communicate(timeout=50 + WITHIN * crowding())
        assert time.monotonic() - begin < WITHIN * crowding()
    finally:
        run.kill()
    assert run.returncode == 2
    spoke = re.findall(r"linkstep: rank (\d):.*(?:came|took nothing)", said)
    assert sorted(map(int, spoke)) == list(range(8)), said
    # where one of the two had all it needed before the cut, the other waits alone
    verdict = r"(ranks 1 and 6 wait for each other|rank (1|6) waits for rank (6|1), which got further): is the cable"
    assert re.search(verdict, said), said
    refused = linkstep("run", "K_{4,4}", "--testbed", bed)
    assert refused.returncode == 2
    assert "the cable between node 1 and node 6 is cut" in refused.stderr and refused.stderr.count("\n") == 1
    assert linkstep("run", "--testbed", bed).stderr == refused.stderr
    assert linkstep("testbed", "cut", bed, "1,6", "--reroute").returncode == 0
    done = linkstep("run", "--testbed", bed, "--size", "1MB", "--repetitions", "2", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["what"] == "K_{4,4}, cut 1,6"
    assert result["rows"][0]["wrong"] == 0
    # packets that a busy machine loses are sent again; a detour, or MPI's own, would be as much again
    assert 1.0 < result["rows"][0]["cables_over_schedule"][1] < 1.5


@pytest.mark.parametrize("engine", ["mpi", "torch"])
@pytest.mark.parametrize("bed", [("K_{4,4}", "--rate", "50Mbps")], indirect=True)
def test_a_killed_rank_is_no_cut_cable(bed, engine, tmp_path):
    """Its connections close before it is seen to be gone, in the middle of what others wait for."""
    if engine == "torch":
        pytest.importorskip("torch", reason="needs PyTorch")
    words = ["run", "--testbed", bed, "--size", "1MB", "--repetitions", "10000", "--no-own", "--engine", engine]
    run = subprocess.Popen(
        [sys.executable, "-m", "linkstep", *words], stderr=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    try:
        before = testbed.status(testbed.load(bed))
        while _carried(testbed.status(testbed.load(bed))) - _carried(before) < 1e8 / 8:
            time.sleep(0.1)
            assert run.poll() is None, run.stderr.read()
        [path] = tmp_path.glob("linkstep-run-*/3.pid")
        os.kill(int(path.read_text().split()[0]), signal.SIGKILL)
        begin = time.monotonic()
        _, said = run.communicate(timeout=50 + WITHIN * crowding())
        assert time.monotonic() - begin < WITHIN * crowding()
    finally:
        run.kill()
    assert run.returncode == 2
    spoke = re.findall(r"linkstep: rank (\d):.*rank 3 ended before the others", said)
    assert sorted(map(int, spoke)) == [0, 1, 2, 4, 5, 6, 7], said
    assert "cable" not in said


def _carried(trunks):
    return sum(trunk.bytes_there + trunk.bytes_back for trunk in trunks)
