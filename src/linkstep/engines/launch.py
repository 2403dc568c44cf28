"""Start ranks on this machine and see to their end: what ``linkstep run`` does where nobody else started them.

A rank is the same command again, in an environment that says which rank it is. Whoever starts ranks keeps their
process numbers, so that none is left behind: not if one fails, not on Ctrl-C, not if the launcher itself is killed (the
kernel then ends the ranks). A rank that fails says why, and the others have a moment to say what they wait for.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from linkstep.core.errors import EngineError

FOLDER = "LINKSTEP_RUN"
"""The variable that names the folder where ranks leave their process numbers, and what they waited for."""
_OWN_RANK = "LINKSTEP_RANK"
"""The variable in which a rank keeps its own number, once it is registered."""
_RANK_VARIABLES = {
    "mpi": ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"),
    "torch": ("RANK",),
}
_PR_SET_PDEATHSIG = 1
_POLL = 0.05
GRACE = 2.0
"""Seconds that other ranks have to say what they wait for when one has given up."""


@dataclass(frozen=True)
class Place:
    """Where ranks run: a prefix of each rank's command, and variables that all of them need."""

    prefixes: Sequence[Sequence[str]]
    environment: Mapping[str, str]
    address: str
    """Where rank 0 can be reached."""


def is_rank(engine: str) -> bool:
    """Whether this process was started as a rank, by whatever launcher."""
    names = _RANK_VARIABLES[engine]
    if engine == "mpi" and "SLURM_PROCID" in os.environ and "SLURM_STEP_NODELIST" not in os.environ:
        names = names[:-1]  # inside an allocation, but not started by srun
    return any(name in os.environ for name in names)


def end_with_parent() -> None:
    """Let the kernel kill this process when the one that started it ends (Linux only)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def register_rank(rank: int) -> None:
    """Leave this process's number with the launcher.

    Signals by which MPI's launchers end ranks as soon as one is lost are ignored: ranks say first what they miss.
    """
    folder = os.environ.get(FOLDER)
    if folder is None:
        return
    end_with_parent()
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.environ[_OWN_RANK] = str(rank)
    _leave(Path(folder) / f"{rank}.pid", f"{os.getpid()} {_started(os.getpid())}")


def fail(grace: float) -> NoReturn:
    """End this rank as failed, after a while, without waiting for messages that never come."""
    rank = os.environ.get(_OWN_RANK)
    if rank is not None:
        register_end(int(rank), 2)
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(grace)
    os._exit(2)


def register_end(rank: int, code: int) -> None:
    """Leave the exit code of a rank that got to its end: launchers may take seconds to notice."""
    folder = os.environ.get(FOLDER)
    if folder is not None:
        _leave(Path(folder) / f"{rank}.end", str(code))


def say(line: str) -> None:
    """Print a rank's line, or leave it for the launcher to print: MPI's lose what is said while ranks end."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        print(f"linkstep: {line}", file=sys.stderr, flush=True)
    else:
        with contextlib.suppress(OSError):
            _leave(Path(folder) / f"{os.getpid()}.said", line)


def has_said(pid: int) -> bool:
    """Whether a rank has left a line for the launcher: then it ended because of something, most often another rank."""
    folder = os.environ.get(FOLDER)
    return folder is not None and (Path(folder) / f"{pid}.said").exists()


def report_silence(rank: int, peers: Sequence[int]) -> None:
    """Leave word of the ranks that this one waited for; of none if it was where all of them meet."""
    folder = os.environ.get(FOLDER)
    if folder is not None:
        with contextlib.suppress(OSError):
            _leave(Path(folder) / f"{rank}.json", json.dumps(list(peers)))


def _leave(path: Path, text: str) -> None:
    """Put a file where the launcher looks, whole: one that is empty for a moment would say that a rank is gone."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text)
    part.rename(path)


def _started(pid: int) -> str:
    """Return when a process began, so that a number used again is not taken for it; empty if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


class _Ranks:
    """The processes of a run, by the numbers that they left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def registered(self) -> set[int]:
        """Return the ranks that have left their numbers."""
        return {int(path.stem) for path in self.folder.glob("*.pid")}

    def lost(self) -> set[int]:
        """Return the ranks that are gone and did not say that they were at their end."""
        registered = self.registered()  # looked at first, and ends last: ranks come and go meanwhile
        gone = registered - self.alive().keys()
        return gone - self.ended().keys()

    def alive(self) -> dict[int, int]:
        """Return the process numbers of ranks that are still there."""
        found = {}
        for path in self.folder.glob("*.pid"):
            pid, _, started = path.read_text().partition(" ")
            if started and _started(int(pid)) == started:
                found[int(path.stem)] = int(pid)
        return found

    def ended(self) -> dict[int, int]:
        """Return the exit codes of ranks that got to their end, or said why not."""
        return {int(path.stem): int(path.read_text()) for path in self.folder.glob("*.end")}

    def kill(self) -> None:
        """Kill them, and wait until they are gone."""
        end = time.monotonic() + 5
        while (pids := self.alive()) and time.monotonic() < end:
            for pid in pids.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL)

    def said(self) -> list[str]:
        """Return what ranks left to be printed, in the order they were started."""
        found = sorted(self.folder.glob("*.said"), key=lambda path: int(path.stem))
        return [line for path in found if (line := path.read_text())]

    def verdict(self) -> str:
        """Return which ranks wait for each other, if any do: the cable between them is the first suspect.

        So it is where one waits for another that got further, to where all ranks meet.
        """
        waits = {}
        for path in self.folder.glob("*.json"):
            with contextlib.suppress(ValueError, OSError):
                waits[int(path.stem)] = set(json.loads(path.read_text()))
        pairs = sorted({(a, b) for a, bs in waits.items() for b in bs if a < b and a in waits.get(b, ())})
        if pairs:
            named = ", ".join(f"{a} and {b}" for a, b in pairs)
            return f"ranks {named} wait for each other: is the cable between them cut?"
        further = sorted((a, b) for a, bs in waits.items() for b in bs if waits.get(b) == set())
        if further:
            named = ", ".join(f"rank {a} waits for rank {b}" for a, b in further)
            return f"{named}, which got further: is the cable between them cut?"
        return ""


@contextlib.contextmanager
def run_folder() -> Iterator[Path]:
    """Make a folder for a run, and remove it in the end."""
    folder = Path(tempfile.mkdtemp(prefix="linkstep-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def launch(
    engine: str, num_ranks: int, command: Sequence[str], folder: Path, timeout: float, place: Place | None = None
) -> int:  # fmt: skip
    """Run a command in so many ranks and return the exit code: 0 if every rank's is.

    Ranks find ``folder`` in the environment; they leave their process numbers and exit codes there.
    """
    environment = os.environ | {FOLDER: str(folder)} | dict(place.environment if place else {})
    start = _start_mpi if engine == "mpi" else _start_torch
    ranks = _Ranks(folder)
    codes: list[int | None] = []
    quiet: list[int] = []

    def run() -> int:
        processes = start(num_ranks, list(command), environment, place, folder)
        try:
            with _terminated_by_signal():
                return _supervise(processes, ranks, num_ranks, timeout)
        finally:
            codes[:] = [process.poll() for process in processes]
            quiet[:] = sorted(ranks.alive().keys() - ranks.ended().keys())
            _end(processes, ranks)

    code = run()
    if code and engine == "mpi" and not ranks.registered() and not ranks.said():
        print("linkstep: MPI failed before any rank had begun, as it may when many start at once: once more",
              file=sys.stderr)  # fmt: skip
        code = run()
    for line in [*ranks.said(), ranks.verdict()] if code else []:
        if line:
            print(f"linkstep: {line}", file=sys.stderr)
    if code > 1 and ranks.said() and quiet:
        names = ", ".join(map(str, quiet))
        print(f"linkstep: no answer from rank{'s' * (len(quiet) > 1)} {names}: stopped, or too busy?", file=sys.stderr)
    if code > 1 and not ranks.said():
        print(f"linkstep: {_silent_end(codes, engine)}", file=sys.stderr)
    return code


def _silent_end(codes: Sequence[int | None], engine: str) -> str:
    """Return what to say of a run that failed though no rank said why; None: a process that had not ended."""
    ends = sorted({code for code in codes if code})
    names = [signal.Signals(-code).name if code < 0 else f"exit code {code}" for code in ends]
    what = "the launcher of the ranks" if engine == "mpi" else "a rank"
    how = f"; {what} ended with {', '.join(names)}" if names else "; a rank was gone"
    return f"no rank said why it ended{how}: out of memory, or killed?"


def _supervise(processes: list[subprocess.Popen[bytes]], ranks: _Ranks, num_ranks: int, timeout: float) -> int:
    """Wait for all ranks; once one has failed the others have a while, and are not waited for longer.

    Nor is a launcher that lingers after its ranks.
    """
    deadline = float("inf")
    while any(process.poll() is None for process in processes):
        lost, alive, ended = ranks.lost(), ranks.alive(), ranks.ended()
        if len(ended) == num_ranks and not alive and not any(ended.values()):
            return 0
        if lost or any(ended.values()) or any(process.returncode for process in processes):
            grace = GRACE if any(ended.values()) else timeout + GRACE  # those who gave up have waited that long
            silent = alive.keys() - ended.keys() or not ranks.registered()
            deadline = min(deadline, time.monotonic() + (grace if silent else 0))
        if time.monotonic() > deadline:
            return max([*ended.values(), 2 if lost or len(ended) < num_ranks else 0])
        time.sleep(_POLL)
    codes = [process.returncode for process in processes]
    return max(code if code >= 0 else 2 for code in codes)


def _end(processes: list[subprocess.Popen[bytes]], ranks: _Ranks) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    ranks.kill()
    for process in processes:
        try:
            process.wait(0.3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _terminated_by_signal() -> Iterator[None]:
    """Let SIGTERM unwind like Ctrl-C, so that ranks are ended."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _launcher() -> tuple[list[str], dict[str, str]]:
    """Return an mpiexec and the variables it needs: MPICH's that forks by itself if it is here, else what there is.

    Hydra starts each rank in a session of its own, which Linux schedules as a group of its own: with more ranks than
    cores that is several times slower.
    """
    here = Path(sys.executable).parent
    for name in (str(here / "mpiexec.gforker"), str(here / "mpiexec"), "mpiexec", "mpirun"):
        found = shutil.which(name)
        if found is not None:
            break
    else:
        raise EngineError("no mpiexec: pip install 'linkstep[mpi]' brings an MPI, or start linkstep run under yours")
    if found.endswith("gforker"):
        return [found], {}
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    if "Open MPI" not in version and "OpenRTE" not in version:
        return [found], {}
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return [found, "--oversubscribe"], allow | {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def _start_mpi(
    num_ranks: int, command: list[str], environment: dict[str, str], place: Place | None, folder: Path
) -> list[subprocess.Popen[bytes]]:  # fmt: skip
    launcher, more = _launcher()
    if place is not None:  # the launcher gives all ranks one command; each finds its own prefix in a file
        prefixes = folder / "prefixes"
        prefixes.write_text(json.dumps([list(prefix) for prefix in place.prefixes]))
        command = [sys.executable, "-P", "-m", "linkstep.engines.enter", str(prefixes), *command]
    words = [*launcher, "-n", str(num_ranks), *command]
    return [_started_process(words, environment | more)]


def _start_torch(
    num_ranks: int, command: list[str], environment: dict[str, str], place: Place | None, folder: Path
) -> list[subprocess.Popen[bytes]]:  # fmt: skip
    common = {
        "WORLD_SIZE": str(num_ranks), "LOCAL_WORLD_SIZE": str(num_ranks), "MASTER_PORT": str(_free_port()),
        "MASTER_ADDR": "127.0.0.1" if place is None else place.address,
        "TORCH_CPP_LOG_LEVEL": environment.get("TORCH_CPP_LOG_LEVEL", "ERROR"),  # a page for every lost connection
    }  # fmt: skip
    started = []
    for rank in range(num_ranks):
        words = [*(place.prefixes[rank] if place else ()), *command]
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        started.append(_started_process(words, environment | common | own))
    return started


def _started_process(words: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one; a terminal's Ctrl-C is for this one alone, which then ends all."""
    return subprocess.Popen(
        words, env=environment, stdin=subprocess.DEVNULL, process_group=0, preexec_fn=end_with_parent
    )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
