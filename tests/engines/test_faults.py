"""Faults by really doing them: ranks killed, stopped, lost or at odds. All speak, nothing stays, in ten seconds."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import linkstep
from linkstep.core.schedule import ROW_COLUMNS
from linkstep.engines.bench.launch import launch
from linkstep.engines.transports.engine import ENGINES as ROWS
from linkstep.engines.transports.processes import shared_files
from linkstep.engines.transports.start import mpi_launcher
from support.crowding import crowding

pytestmark = pytest.mark.slow
pytest.importorskip("mpi4py", reason="needs MPI: pip install '.[mpi]'")

ROOT = Path(__file__).parents[2]
WITHIN = 10.0
"""Seconds from a fault to the end of everything."""
ENGINES = ("mpi", pytest.param("torch", marks=pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")))
FOREVER = ("--size", "1KiB", "--repetitions", "1000000", "--no-own")


def state(pid):
    """Return the state of a process, None if it is gone or only waits to be collected."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None
    return None if found in "ZX" else found


@dataclass
class Run:
    """A command that runs, with what its ranks leave in a folder."""

    process: subprocess.Popen
    folder: Path
    pids: dict[int, int] = field(default_factory=dict)

    def ranks(self, count, seconds=60.0):
        """Wait until ``count`` ranks have left their numbers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            for path in self.folder.glob("linkstep-run-*/*.pid"):
                with contextlib.suppress(OSError, ValueError, IndexError):
                    self.pids[int(path.stem)] = int(path.read_text().split()[0])
            if len(self.pids) == count:
                return self.pids
            time.sleep(0.01)
        raise AssertionError(f"{len(self.pids)} of {count} ranks: {self.process.communicate()}")

    def begun(self, count, seconds=60.0):
        """Wait until ``count`` ranks exist, and return their numbers; they have not found each other yet."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            for path in self.folder.glob("linkstep-run-*/*.start"):
                with contextlib.suppress(OSError, ValueError, IndexError):
                    self.pids[int(path.stem)] = int(path.read_text().split()[0])
            if len(self.pids) == count:
                return self.pids
            time.sleep(0.002)
        raise AssertionError(f"{len(self.pids)} of {count} ranks: {self.process.communicate()}")

    def end(self, since, within=WITHIN):
        """Wait for the end and return (exit code, errors); nothing may be left, and not much time have passed."""
        within *= crowding()
        try:
            _, errors = self.process.communicate(timeout=50 + within)
        finally:
            self.process.kill()
        passed = time.monotonic() - since
        while (left := [pid for pid in self.pids.values() if state(pid)]) and time.monotonic() < since + within:
            time.sleep(0.02)
        assert not left, errors
        assert passed < within, errors
        assert not list(self.folder.glob("linkstep-run-*")) or self.process.returncode == -signal.SIGKILL
        return self.process.returncode, errors


@pytest.fixture(autouse=True)
def ended():
    """Leave nothing behind, whatever a test found."""
    yield
    while RUNS:
        run = RUNS.pop()
        for pid in (*run.pids.values(), run.process.pid):
            if state(pid):
                os.kill(pid, signal.SIGKILL)
        run.process.communicate()


RUNS: list[Run] = []


def started(tmp_path, *words, **variables):
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    tmp_path.mkdir(exist_ok=True)
    environment = os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"} | variables
    process = subprocess.Popen(
        [str(word) for word in words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    RUNS.append(Run(process, tmp_path))
    return RUNS[-1]


def linkstep_run(tmp_path, *words):
    return started(tmp_path, sys.executable, "-m", "linkstep", "run", *words)


def spoken(errors):
    """Return the lines of ours, though MPI's launchers may join them; none of Python's may be among the rest."""
    assert "Traceback" not in errors, errors
    return re.findall(r"linkstep: .*?(?=linkstep: |$)", errors, re.M)


def by_rank(errors):
    """Return what each rank said."""
    found = {}
    for line in spoken(errors):
        who, _, what = line.removeprefix("linkstep: ").partition(": ")
        if who.startswith("rank ") and who[5:].isdecimal():
            found[int(who[5:])] = what
    return found


@pytest.mark.parametrize("delay", [0.0, 1.0], ids=["at the start", "in the middle"])
def test_a_killed_rank(tmp_path, delay):
    run = linkstep_run(tmp_path, "K_{4,4}", *FOREVER)
    pids = run.ranks(8)
    time.sleep(delay)
    os.kill(pids[3], signal.SIGKILL)
    code, errors = run.end(time.monotonic())
    said = by_rank(errors)
    assert code == 2
    assert set(said) == set(range(8)) - {3}
    assert all("rank 3 ended before the others" in line for line in said.values()), errors
    assert "cable" not in errors


def test_a_stopped_rank(tmp_path):
    """Its process is there, but nothing comes from it: neighbours name it unless they are where all meet."""
    run = linkstep_run(tmp_path, "K_4", *FOREVER)
    pids = run.ranks(4)
    time.sleep(1)
    os.kill(pids[2], signal.SIGSTOP)
    code, errors = run.end(time.monotonic())
    said = by_rank(errors)
    assert code == 2
    assert set(said) == {0, 1, 3}
    named = [line for line in said.values() if "nothing came from rank" in line]
    assert all(" 2" in line for line in named), errors
    assert len(named) + sum("not all others came" in line for line in said.values()) == 3, errors
    assert "linkstep: no answer from rank 2: stopped, or too busy?" in errors


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rank_stopped_while_it_begins(tmp_path, engine):
    """Nobody has joined yet, so that nobody can speak but the launcher."""
    run = linkstep_run(tmp_path, "K_4", *FOREVER, "--engine", engine)
    pid = run.begun(4)[2]
    os.kill(pid, signal.SIGSTOP)
    code, errors = run.end(time.monotonic())
    assert code == 2
    assert spoken(errors)[-1] == "linkstep: no answer from rank 2: stopped, or too busy?"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("delay", [0.5, 1.5, 2.5])
def test_a_rank_stopped_with_much_data(tmp_path, engine, delay):
    """While ranks fill or check arrays, or in the middle of long messages: its last sign of life is what counts."""
    run = linkstep_run(tmp_path, "K_4", "--size", "64MiB", "--repetitions", "1000", "--no-own", "--engine", engine)
    pids = run.ranks(4)
    time.sleep(delay)
    os.kill(pids[2], signal.SIGSTOP)
    code, errors = run.end(time.monotonic())
    assert code == 2
    assert "linkstep: no answer from rank 2: stopped, or too busy?" in spoken(errors), errors


def shared(pids):
    return {name for pid in pids for name, _ in shared_files(pid)}


ENDS = {
    "killed": lambda run: os.kill(run.pids[1], signal.SIGKILL),
    "Ctrl-C": lambda run: os.killpg(run.process.pid, signal.SIGINT),
    "SIGTERM": lambda run: run.process.send_signal(signal.SIGTERM),
    "stopped": lambda run: os.kill(run.pids[1], signal.SIGSTOP),
}


@pytest.mark.parametrize("fault", ENDS)
def test_a_job_that_fails_leaves_no_shared_memory_and_others_theirs(tmp_path, fault):
    runs = [linkstep_run(tmp_path / name, "K_4", *FOREVER) for name in ("one", "two")]
    mine, others = (shared(run.ranks(4).values()) for run in runs)
    assert mine and others and not mine & others
    ENDS[fault](runs[0])
    code, errors = runs[0].end(time.monotonic())
    assert code, errors
    assert not [name for name in mine if Path(name).exists()]
    assert all(Path(name).exists() for name in others)
    runs[1].process.send_signal(signal.SIGINT)
    runs[1].end(time.monotonic())
    assert not [name for name in others if Path(name).exists()]


def test_a_script_that_fails_leaves_no_shared_memory(tmp_path):
    """Somebody else's launcher removes nothing; a rank does when it aborts."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("WRONG", SHARES + MISTAKES["exception"]).replace("{TMP}", str(tmp_path)))
    run = external(tmp_path, [sys.executable, script], ranks=(4,))
    code, errors = run.end(time.monotonic(), within=60)
    assert code, errors
    [names] = {path.read_text() for path in tmp_path.glob("shared-*")}
    assert names and not [name for name in names.split() if Path(name).exists()]


SHARES = """
import os
from linkstep.engines.transports.processes import shared_files
with open(f"{TMP}/shared-{communicator.rank}", "w") as file:
    file.write(" ".join(sorted(name for name, _ in shared_files(os.getpid()))))
communicator.allreduce(array)
"""


@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch: pip install torch")
def test_ranks_of_torch_listen_to_this_machine_alone(tmp_path):
    run = linkstep_run(tmp_path, "K_4", *FOREVER, "--engine", "torch")
    pids, found = run.ranks(4), set()
    for pid in pids.values():
        sockets = {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()}
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:  # LISTEN
                    found.add(fields[1].partition(":")[0])
    assert found == {"0100007F"}
    run.process.send_signal(signal.SIGINT)
    run.end(time.monotonic())


OWN = """
import sys, time
from pathlib import Path
from linkstep.engines.bench import rank
from linkstep.engines.transports import mpi

def own(self, collective, source, target, operation, root):
    def call():
        (Path(sys.argv[1]).parent / f"own-{self.rank}").touch()
        for _ in range(10**9):
            self._comm.Allreduce(source, target)
    return call

mpi.MpiTransport.own = own
sys.exit(rank.main("mpi", Path(sys.argv[1])))
"""
LAUNCH = """
import pickle, sys
from pathlib import Path
import linkstep
from linkstep.core.collective import Collective
from linkstep.engines.bench.job import BenchJob
from linkstep.engines.bench.launch import launch, run_folder
from linkstep.engines.bench.preparation import prepare

prepared = prepare("K_4", Collective.ALLREDUCE, (1024,), 0)
job = BenchJob(compiled=prepared.compiled, collective=Collective.ALLREDUCE, sizes=(1024,), engine="mpi",
          type_name="float32", operation="sum", root=0, repetitions=3, timeout=6.0, own=True, labels=None)
with run_folder() as folder:
    (folder / "job").write_bytes(pickle.dumps(job))
    code = launch("mpi", 4, [sys.executable, sys.argv[1], str(folder)], folder, 6.0)
sys.exit(code)
"""


def test_a_rank_killed_in_the_engines_own_collective(tmp_path):
    """There nobody looks at requests: a thread watches."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "launch.py").write_text(LAUNCH)
    run = started(tmp_path, sys.executable, tmp_path / "launch.py", tmp_path / "own.py")
    pids = run.ranks(4)
    end = time.monotonic() + 60
    while len(list(tmp_path.glob("own-*"))) < 4 and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.3)
    os.kill(pids[1], signal.SIGKILL)
    code, errors = run.end(time.monotonic())
    said = by_rank(errors)
    assert code == 2
    assert set(said) == {0, 2, 3}, errors
    assert set(said.values()) == {"the engine's own allreduce of 1024 bytes: rank 1 ended before the others"}


@pytest.mark.parametrize("delay", [0.0, 1.0], ids=["at the start", "in the middle"])
def test_the_launcher_killed(tmp_path, delay):
    run = linkstep_run(tmp_path, "K_4", *FOREVER)
    run.ranks(4)
    time.sleep(delay)
    run.process.kill()
    code, _ = run.end(time.monotonic())
    assert code == -signal.SIGKILL


@pytest.mark.parametrize("early", [False, True], ids=["in the middle", "before the ranks"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_the_launcher_told_to_end(tmp_path, number, early):
    """Ctrl-C reaches the whole group of a terminal, SIGTERM the launcher alone."""
    run = linkstep_run(tmp_path, "K_4", *FOREVER)
    end = time.monotonic() + 60
    while early and not list(tmp_path.glob("linkstep-run-*/job")) and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.25)
    if not early:
        run.ranks(4)
    if number == signal.SIGINT:
        os.killpg(run.process.pid, number)
    else:
        run.process.send_signal(number)
    code, errors = run.end(time.monotonic())
    assert code == 130
    assert "Traceback" not in errors, errors
    assert session_is_empty(run.process.pid)


def session_is_empty(session):
    """Whether no process of a session is left: ranks that had not left their numbers as well."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        left = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] not in "ZX":
                    left.append(path)
        if not left:
            return True
        time.sleep(0.05)
    return False


def external(tmp_path, *commands, ranks):
    """Run commands under mpiexec, each in its number of ranks."""
    launcher, more = mpi_launcher()
    words = []
    for command, count in zip(commands, ranks, strict=True):
        words += [*([":"] if words else launcher), "-n", str(count), *command]
    return started(tmp_path, *words, **more)


def run_words(*words):
    return [sys.executable, "-m", "linkstep", "run", *words]


def test_a_schedule_for_other_ranks(tmp_path):
    run = external(tmp_path, run_words("K_5", *FOREVER), ranks=(4,))
    code, errors = run.end(time.monotonic(), within=60)
    assert code != 0
    assert spoken(errors) == ["linkstep: it is for 5 ranks, and there are 4"] * 4


def test_another_recipe_on_one_rank(tmp_path):
    run = external(tmp_path, run_words("K_4", *FOREVER), run_words("UniRing(1,4)", *FOREVER), ranks=(3, 1))
    code, errors = run.end(time.monotonic(), within=60)
    assert code != 0
    words = "linkstep: rank 3 was given another schedule than the rest: give all the same file"
    assert spoken(errors) == [words] * 4


@pytest.mark.parametrize("broken", ["missing.xml", "broken.xml"])
def test_a_wrong_file_on_one_rank(tmp_path, broken):
    """It fails before it has joined the others, who must not wait for it for ever."""
    (tmp_path / "broken.xml").write_text("<algo")
    run = external(tmp_path, run_words("K_4", *FOREVER), run_words(tmp_path / broken, *FOREVER), ranks=(3, 1))
    code, errors = run.end(time.monotonic(), within=60)
    assert code != 0
    lines = spoken(errors)
    assert any(broken in line for line in lines), errors
    assert len(lines) == 4, errors


WRONG_SCHEDULE = """
import sys
import linkstep

try:
    linkstep.Communicator(sys.argv[1])
except linkstep.LinkstepError as error:
    print(f"linkstep: {error}", file=sys.stderr)
"""


def test_a_wrong_schedule_is_refused_by_all_ranks_together(tmp_path):
    whole = linkstep.schedule("K_4", "allgather").schedule
    linkstep.save(replace(whole, **{name: getattr(whole, name)[1:] for name in ROW_COLUMNS}), tmp_path / "wrong.json")
    (tmp_path / "script.py").write_text(WRONG_SCHEDULE)
    run = external(tmp_path, [sys.executable, tmp_path / "script.py", tmp_path / "wrong.json"], ranks=(4,))
    code, errors = run.end(time.monotonic(), within=60)
    assert code == 0, errors
    words = f"linkstep: {tmp_path / 'wrong.json'}: not run, it is wrong: [0, 1)/1 of shard 0 never arrives at node 1"
    assert spoken(errors) == [words] * 4


SCRIPT = """
import os, sys
sys.stderr = open(f"{TMP}/errors-{os.getpid()}", "w", buffering=1)  # those of several ranks would be mixed
import numpy as np
import linkstep

communicator = linkstep.Communicator("K_4")
odd = communicator.rank == 2
array = np.ones(1000, np.float32)
for k in range(3):
    communicator.allreduce(array)
open(f"{TMP}/ready-{communicator.rank}", "w").close()
WRONG
communicator.allreduce(array)
"""
MISTAKES = {
    "length": "communicator.allreduce(array[:999] if odd else array)",
    "large length": "communicator.allreduce(np.ones(20_000 + odd))",
    "type": "communicator.allreduce(array.astype(np.int32) if odd else array)",
    "operation": "communicator.allreduce(array, op='max' if odd else 'sum')",
    "collective": "communicator.reduce_scatter(array) if odd else communicator.allreduce(array)",
    "root": "communicator.broadcast(array, root=1 if odd else 0)",
    "one call more": "communicator.allreduce(np.ones(7)) if odd else None",
    "exception": "1 // 0 if odd else None",
    "exit": "if odd: raise SystemExit(3)",
    "refusal": "communicator.reduce_scatter(array[:7] if odd else array[:8])",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_ranks_at_odds_in_a_script(tmp_path, mistake):
    """A plain script that catches nothing: Python prints the error, and the job ends on all ranks."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("{TMP}", str(tmp_path)).replace("WRONG", MISTAKES[mistake]))
    run = external(tmp_path, [sys.executable, script], ranks=(4,))
    end = time.monotonic() + 60
    while len(list(tmp_path.glob("ready-*"))) < 4 and time.monotonic() < end:
        time.sleep(0.02)
    code, errors = run.end(time.monotonic())
    errors += "".join(path.read_text() for path in tmp_path.glob("errors-*"))
    assert code != 0, errors
    innocent = {0, 1, 3} if mistake in ("exception", "exit", "refusal") else {0, 1, 2, 3}
    for rank in innocent:
        assert f"EngineError: rank {rank}: " in errors, errors


def test_mpi_that_fails_before_any_rank_begins_is_started_once_more(monkeypatch, tmp_path, capfd):
    started = []

    def start(*_):
        code = "0" if started else "1"
        started.append(subprocess.Popen([sys.executable, "-c", f"raise SystemExit({code})"]))
        return started[-1:]

    monkeypatch.setitem(ROWS, "mpi", replace(ROWS["mpi"], start=start))
    assert launch("mpi", 2, ["unused"], tmp_path, 1.0) == 0
    assert len(started) == 2
    assert capfd.readouterr().err.startswith("linkstep: MPI failed before any rank had begun")
