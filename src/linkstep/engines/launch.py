"""Start ranks on this machine and see to their end: what ``linkstep run`` does where nobody else started them.

A rank is the same command again, in an environment that says which rank it is. Whoever starts ranks keeps their
process numbers, so that none is left behind: not if one fails, not on Ctrl-C, not if the launcher itself is killed (the
kernel then ends the ranks). A rank that fails says why, and the others have a moment to say what they wait for. A rank
that is stopped, or does not get to where it could say something, is ended and named.
"""

from __future__ import annotations

import contextlib
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

from linkstep.core.errors import EngineError
from linkstep.engines.notes import FOLDER, RANK_VARIABLES, end_with_parent
from linkstep.engines.roster import Roster
from linkstep.engines.transport import SETUP, ranks_in_words

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
    names = RANK_VARIABLES[engine]
    if engine == "mpi" and "SLURM_PROCID" in os.environ and "SLURM_STEP_NODELIST" not in os.environ:
        names = names[:-1]  # inside an allocation, but not started by srun
    return any(name in os.environ for name in names)


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
    ranks = Roster(folder, num_ranks)
    codes: list[int | None] = []
    quiet: list[int] = []

    def run() -> int:
        processes = start(num_ranks, list(command), environment, place, folder)
        try:
            with _terminated_by_signal():
                return _supervise(processes, ranks, timeout)
        finally:
            codes[:] = [process.poll() for process in processes]
            quiet[:] = sorted(ranks.alive().keys() - ranks.ended().keys())
            _end(processes, ranks)

    code = run()
    if code and engine == "mpi" and not ranks.joined() and not ranks.said() and not ranks.stuck:
        print("linkstep: MPI failed before any rank had begun, as it may when many start at once: once more",
              file=sys.stderr)  # fmt: skip
        ranks.forget()
        code = run()
    for line in [*ranks.said(), ranks.verdict()] if code else []:
        if line:
            print(f"linkstep: {line}", file=sys.stderr)
    unheard = ranks.stuck or (quiet if ranks.said() else [])
    if code > 1 and unheard:
        print(f"linkstep: no answer from {ranks_in_words(sorted(unheard))}: stopped, or too busy?", file=sys.stderr)
    if code > 1 and not ranks.said() and not unheard:
        print(f"linkstep: {_silent_end(codes, engine, ranks.first_lost)}", file=sys.stderr)
    return code


def _silent_end(codes: Sequence[int | None], engine: str, lost: set[int]) -> str:
    """Return what to say of a run that failed though no rank said why; None: a process that had not ended."""
    if lost:
        return f"{ranks_in_words(sorted(lost))} ended before the others had begun: out of memory, or killed?"
    ends = sorted({code for code in codes if code})
    names = [signal.Signals(-code).name if code < 0 else f"exit code {code}" for code in ends]
    what = "the launcher of the ranks" if engine == "mpi" else "a rank"
    how = f"; {what} ended with {', '.join(names)}" if names else "; a rank was gone"
    return f"no rank said why it ended{how}: out of memory, or killed?"


def _supervise(processes: list[subprocess.Popen[bytes]], ranks: Roster, timeout: float) -> int:
    """Wait for all ranks; once one has failed the others have a while, and are not waited for longer.

    Nor is a launcher that lingers after its ranks, nor ranks that show no sign of life.
    """
    deadline, num_ranks = float("inf"), ranks.num_ranks
    while any(process.poll() is None for process in processes):
        ranks.look(time.monotonic())
        ranks.stuck = ranks.silent(time.monotonic(), timeout + GRACE + _POLL, SETUP)
        if ranks.stuck:
            return 2
        lost, alive, ended = ranks.lost(), ranks.alive(), ranks.ended()
        if len(ended) == num_ranks and not alive and not any(ended.values()):
            return 0
        if lost or any(ended.values()) or any(process.returncode for process in processes):
            grace = GRACE if any(ended.values()) else timeout + GRACE  # who gave up on a silence has waited that long
            grace = 2 * GRACE if ranks.first_lost else grace
            silent = alive.keys() - ended.keys() - ranks.stopped() or not ranks.joined()
            deadline = min(deadline, time.monotonic() + (grace if silent else 0))
        if time.monotonic() > deadline:
            return max([*ended.values(), 2 if lost or len(ended) < num_ranks else 0])
        time.sleep(_POLL)
    codes = [process.returncode for process in processes]
    return max(code if code >= 0 else 2 for code in codes)


def _end(processes: list[subprocess.Popen[bytes]], ranks: Roster) -> None:
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
        "WORLD_SIZE": str(num_ranks), "LOCAL_WORLD_SIZE": str(num_ranks),
        "MASTER_ADDR": "127.0.0.1" if place is None else place.address,  # ranks choose and publish the port
        "TORCH_CPP_LOG_LEVEL": environment.get("TORCH_CPP_LOG_LEVEL", "ERROR"),  # a page for every lost connection
    }  # fmt: skip
    if place is None:  # nothing listens to the world
        common["GLOO_SOCKET_IFNAME"] = _loopback()
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


def _loopback() -> str:
    """Return the name of the loopback device."""
    there = {name for _, name in socket.if_nameindex()}
    return "lo0" if "lo" not in there and "lo0" in there else "lo"
