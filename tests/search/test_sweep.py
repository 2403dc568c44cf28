"""The search over Cayley digraphs: its kernel against the package's BFB and distances, groups, jobs, resuming."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linkstep.cli import main
from linkstep.core.distances import distances_to
from linkstep.core.errors import FileError, LinkstepError
from linkstep.core.extras import install_command
from linkstep.costs import Cost
from linkstep.groups import parse_group
from linkstep.groups.tables import groups_of_order, named_group, named_groups, permutation_group
from linkstep.methods.bfb import bfb_cost
from linkstep.recipe import parse
from linkstep.recipe.names import HEADER
from linkstep.search import SweepJob
from linkstep.search.catalog import best_entries, read_entries
from linkstep.search.scoring import entry_of, with_flow
from linkstep.search.sweep import runner
from linkstep.search.sweep.cayley import _shapes, score, search_cayley
from linkstep.search.sweep.log import done_jobs, marker
from linkstep.search.sweep.runner import build, search

pytestmark = pytest.mark.slow  # the kernels of the searches take as long to compile as all others

FOUND_BEFORE = [
    ("Cayley(Z8:Z2[7],{(0,1),(1,0),(6,0),(3,1)})", 2, 16, 1),
    ("Cayley(Z16:Z2[9],{(15,1),(5,0),(5,1),(4,0)})", 3, 32, Fraction(31, 32)),
    ("Cayley(Z16:Z4[5],{(4,0),(8,2),(13,2),(13,3)})", 4, 64, Fraction(63, 64)),
    ("Cayley(Z16:Z8[11],{(8,7),(6,6),(3,7),(3,4)})", 4, 128, Fraction(127, 128)),
    ("Cayley(Z32:Z8[11],{(30,5),(7,5),(3,4),(19,3)})", 5, 256, Fraction(255, 256)),
    ("Cayley(Z32:Z16[27],{(24,2),(29,6),(17,13),(8,5)})", 6, 512, Fraction(511, 512)),
    ("Cayley(Z64:Z16[3],{(7,10),(46,5),(36,11),(41,9)})", 6, 1024, Fraction(1023, 1024)),
]


def scored(recipe: str):
    """Score a recipe's group and generators with the search's kernel."""
    group, generators = parse(recipe).args
    table = named_group(group)
    return score(table, [group.number(group.element(g)) for g in generators])


@pytest.mark.parametrize(("recipe", "steps", "nodes", "bandwidth"), FOUND_BEFORE, ids=[str(r[2]) for r in FOUND_BEFORE])
def test_design_generators(recipe, steps, nodes, bandwidth):
    entry = scored(recipe)
    assert (entry.num_nodes, entry.allgather[0].cost) == (nodes, Cost(steps, Fraction(bandwidth)))
    if nodes <= 256:
        right = entry_of(parse(recipe))
        assert (right.allgather[0], right.reduce_scatter[0]) == (entry.allgather[0], entry.reduce_scatter[0])
        assert right.distance_sum == entry.distance_sum


@given(st.data())
@settings(deadline=None)
def test_kernel_agrees_with_bfb(data):
    order = data.draw(st.integers(3, 60))
    groups = list(groups_of_order(order))
    group = data.draw(st.sampled_from(groups))
    degree = data.draw(st.integers(1, min(order - 1, 7)))
    gens = data.draw(st.lists(st.integers(1, order - 1), min_size=degree, max_size=degree, unique=True))
    entry = score(group, gens)
    reached, front = {0}, {0}
    while front:
        front = {int(group.times[x, g]) for x in front for g in gens} - reached
        reached |= front
    assert (entry is None) == (len(reached) < order)
    assume(entry is not None)
    topology = parse(entry.recipe).topology()
    cost, turned = bfb_cost(topology), bfb_cost(topology.transpose())
    assert (topology.num_nodes, topology.degree) == (entry.num_nodes, entry.degree)
    assert topology.is_bidirectional == entry.bidirectional
    assert (cost, turned) == (entry.allgather[0].cost, entry.reduce_scatter[0].cost)
    assert entry.distance_sum == distances_to(topology, 0).sum()


@pytest.mark.parametrize("order", [1 + 6, 8, 12, 20, 56, 60])
def test_groups_are_groups(order):
    found = list(groups_of_order(order))
    assert len({g.fingerprint for g in found}) == len(found)
    for group in found:
        nodes = np.arange(order)
        times = group.times.astype(int)
        assert (np.sort(times, axis=0) == nodes[:, None]).all() and (times[0] == nodes).all()
        x, y, z = np.random.default_rng(0).integers(0, order, (3, 200))
        assert (times[times[x, y], z] == times[x, times[y, z]]).all()
        assert (times[nodes, group.inverse] == 0).all()
        assert (group.back[x, times[y, x]] == y).all()


def test_groups_of_small_orders_are_all_there():
    """Groups there are of order 1 to 15 (OEIS A000001)."""
    counts = [sum(1 for _ in groups_of_order(n)) for n in range(2, 16)]
    assert counts == [1, 1, 2, 1, 2, 1, 5, 2, 2, 1, 5, 1, 2, 1]


def test_group_notation():
    assert [str(group) for group in named_groups(16)][:4] == ["Z16", "Z2xZ8", "Z2xZ2xZ4", "Z2xZ2xZ2xZ2"]
    assert permutation_group([(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)], 59) is None
    table = named_group(parse_group("Z16:Z2[9]"))
    assert table.recipe([3, 2]) == "Cayley(Z16:Z2[9],{(1,0),(1,1)})"


def test_scan_is_exhaustive():
    """Where all sets fit the budget, no set is better in any figure."""
    for job in (SweepJob(9, 2, False), SweepJob(12, 3, True), SweepJob(8, 4, True), SweepJob(10, 3, False)):
        found = [scored(str(recipe)) for recipe in search_cayley(job)]
        every = []
        for group in groups_of_order(job.num_nodes):
            sets = 0
            for g in range(2 ** (job.num_nodes - 1)):
                gens = [k + 1 for k in range(job.num_nodes - 1) if g >> k & 1]
                closed = sorted(group.inverse[gens].tolist()) == gens
                if len(gens) == job.degree and (closed or not job.bidirectional):
                    sets += 1
                    every.append(score(group, gens))
            assert sets == sum(shape[4] for shape in _shapes(group, job))
        wanted = best_entries(entry for entry in every if entry is not None)
        for order in (
            lambda e: (e.diameter, e.costs[0].bandwidth),
            lambda e: (e.costs[0].bandwidth, e.diameter),
            lambda e: (e.distance_sum, e.diameter),
        ):
            assert min(map(order, found)) == min(map(order, wanted))


def test_search_is_deterministic_and_right():
    job = SweepJob(24, 4, False, seed=1, budget=20_000)
    assert comb(23, 4) * 12 > job.budget
    found = search(job)
    assert found == search(job)
    assert found and found != search(replace(job, seed=2))
    assert [with_flow(entry_of(parse(e.recipe))) for e in found] == found
    for entry in search(SweepJob(20, 5, True, budget=3000)):
        assert with_flow(entry_of(parse(entry.recipe))) == entry and entry.bidirectional


def test_climb_with_no_pair_to_spare():
    """A dihedral group of 6 elements has one pair and three involutions: nothing to exchange the pair for."""
    assert search(SweepJob(6, 3, True, budget=1))


def test_pair_and_odd_degree_need_an_involution():
    assert search(SweepJob(9, 3, True)) == []


JOBS = [SweepJob(n, d, kind, budget=2000) for n in (7, 8, 9, 10) for d in (2, 3) for kind in (False, True)]


def test_build_resumes(tmp_path):
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    assert build(whole, JOBS, workers=1) == len(JOBS)
    text = whole.read_text()
    assert build(whole, JOBS, workers=1) == 0 and whole.read_text() == text
    for length in range(0, len(text), 97):  # killed at any moment
        cut.write_text(text[:length])
        done = done_jobs(cut)
        ran = build(cut, JOBS, workers=1)
        assert ran == len(JOBS) - len(done) > 0
        assert done_jobs(cut) == set(map(marker, JOBS))
        assert set(read_entries(cut)) == set(read_entries(whole))
    assert build(cut, [replace(JOBS[0], budget=3000)], workers=1) == 1


def test_build_reports_progress(tmp_path):
    seen = []
    build(tmp_path / "log.csv", JOBS[:3], workers=1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_build_in_processes(tmp_path):
    build(tmp_path / "one.csv", JOBS, workers=1)
    assert build(tmp_path / "two.csv", JOBS, workers=2) == len(JOBS)
    assert sorted((tmp_path / "one.csv").read_text().split()) == sorted((tmp_path / "two.csv").read_text().split())


def put_mpi_in_place(monkeypatch, executor):
    """Let threads stand in for mpi4py's pool, which has the interface of concurrent.futures."""
    package, futures = types.ModuleType("mpi4py"), types.ModuleType("mpi4py.futures")
    package.MPI, futures.MPIPoolExecutor = None, executor
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.futures", futures)
    return package


def test_build_over_mpi(tmp_path, monkeypatch):
    def executor(workers, python_args):
        assert python_args == ["-P"]  # workers that MPI starts run nothing of the current folder
        return ThreadPoolExecutor(workers)

    put_mpi_in_place(monkeypatch, executor)
    assert build(tmp_path / "log.csv", JOBS, executor="mpi") == len(JOBS)
    assert done_jobs(tmp_path / "log.csv") == set(map(marker, JOBS))


class Broken(types.ModuleType):
    """mpi4py as it is where there is no MPI library: it imports, and fails when MPI is asked for."""

    @property
    def MPI(self):
        raise RuntimeError("cannot load MPI library\nlibmpi.so: cannot open shared object file")


def test_no_nodes_are_refused(tmp_path, capsys):
    log = tmp_path / "log.csv"
    assert main(["catalog", "build", str(log), "--nodes", "0", "--degree", "4"]) == 2
    said = capsys.readouterr().err
    assert said == "linkstep: no graph has --nodes 0 and --degree 4: nodes must be more than degree\n"
    assert not log.exists()


@pytest.mark.parametrize("broken", [None, Broken("mpi4py")], ids=["no mpi4py", "no library"])
def test_no_mpi(tmp_path, monkeypatch, capsys, broken):
    put_mpi_in_place(monkeypatch, ThreadPoolExecutor)
    monkeypatch.setitem(sys.modules, "mpi4py", broken)
    log = tmp_path / "log.csv"
    assert main(["catalog", "build", str(log), "--nodes", "5", "--degree", "2", "--executor", "mpi"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("linkstep: --executor mpi needs mpi4py") and error.count("\n") == 1
    assert error.endswith(f": {install_command('mpi')}\n")
    assert not log.exists()


def search_that_dies(job):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "search", search_that_dies)
    with pytest.raises(LinkstepError, match="a process of the search was killed"):
        build(tmp_path / "log.csv", JOBS[:2], workers=2)


def processes_of(group: int) -> list[int]:
    """Return the processes of a process group that are still there."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, number = stat.read_text().rpartition(")")[2].split()[:3]
            if int(number) == group and state != "Z":
                found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("wait_for", ["#done", None], ids=["at work", "starting"])
def test_interrupted_build(tmp_path, wait_for):
    """Ctrl-C reaches every process of the terminal: no traceback, no process left, the log whole; then it goes on."""
    log = tmp_path / "log.csv"
    words = [str(log), "--nodes", "60-400", "--degree", "4", "--budget", "20000", "--workers", "2"]
    command = [sys.executable, "-m", "linkstep", "catalog", "build", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            started = len(processes_of(process.pid)) > 2
            if started if wait_for is None else log.exists() and wait_for in log.read_text():
                break
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert (process.returncode, error) == (130, "linkstep: interrupted\n")
    deadline = time.monotonic() + 60  # those that were told to end, and Python's own tracker, take a moment
    while processes_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_of(process.pid) == []
    assert list(read_entries(log)) or wait_for is None
    assert log.read_text().startswith(HEADER + "\n")


@pytest.mark.parametrize(
    "content", [b"my thesis\n", b"\x00\xff\xfe\n", b"nodes,degree\n", "Lift \udcff".encode("utf-8", "surrogatepass")]
)
def test_build_keeps_its_hands_off_other_files(tmp_path, capsys, content):
    file = tmp_path / "thesis.txt"
    file.write_bytes(content)
    assert main(["catalog", "build", str(file), "--nodes", "5", "--degree", "2", "--workers", "1"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"linkstep: {file}: is not the log of a search") and error.count("\n") == 1
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (SweepJob(4, 4, False), "the search takes degree < nodes <= 4096, not 4 nodes of degree 4"),
        (SweepJob(40, 17, False), r"the search takes a degree in \[1, 16\], not 17"),
        (SweepJob(40, 4, False, budget=0), "budget must be positive"),
        (
            SweepJob(40, 4, True, method="luck"),
            r"method must be one of cayley, .*, best, not 'luck'",
        ),
    ],
)
def test_units_refused(job, message):
    with pytest.raises(LinkstepError, match=message):
        search(job)


def test_build_refuses(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        build(tmp_path / "no" / "log.csv", JOBS[:1], workers=1)
    with pytest.raises(LinkstepError, match="executor must be one of processes, mpi, not 'threads'"):
        build(tmp_path / "log.csv", JOBS[:1], executor="threads")


def test_build_with_mpiexec(tmp_path):
    """The real thing, three processes: needs mpi4py and an MPI (`pip install mpi4py mpich`), as `.ci/run` installs."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        pytest.skip("no mpiexec: pip install mpich")
    log = tmp_path / "log.csv"
    build_command = [
        *["-m", "linkstep", "catalog", "build"],
        str(log),
        *["--nodes", "8-9", "--degree", "4", "--budget", "1000"],
    ]
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", *build_command, "--executor", "mpi"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("8,4,") for line in log.read_text().splitlines())


def test_a_search_and_a_score_by_hand():
    assert [entry.recipe for entry in search(SweepJob(5, 2, True))] == ["Cayley(Z5,{1,4})"]
    entry = score(named_group(parse_group("Z5")), [1, 2])
    assert entry.line() == "5,2,uni,6,,2b:4/5,,Cayley(Z5,{1,2})"
