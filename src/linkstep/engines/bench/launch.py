"""Start ranks on this machine and see to their end: what ``linkstep run`` does where nobody else started them.

A rank is a process of ``linkstep.engines.bench.rank``, started as the engine's row says (``Engine.start``). The
launcher keeps the process numbers of all ranks, so that none is left behind: not if one fails, not on Ctrl-C, not if
the launcher itself is killed (on Linux the kernel then ends the ranks). A rank that fails says why, and the others have
a moment to say what they wait for. A rank that is stopped, or does not get to where it could say something, is ended
and named.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from linkstep.core.errors import EngineError
from linkstep.core.units import format_size
from linkstep.engines.bench.rank import JOB, ROW, ROWS
from linkstep.engines.bench.roster import Roster
from linkstep.engines.transports.engine import engine_named
from linkstep.engines.transports.notes import FOLDER
from linkstep.engines.transports.start import LaunchSite
from linkstep.engines.transports.transport import SETUP, ranks_in_words

if TYPE_CHECKING:
    from linkstep.engines.bench.job import BenchJob, OnRow
    from linkstep.engines.bench.measure import Measurement
    from linkstep.engines.testbed import Testbed

_POLL = 0.05
RANK_BYTES = 30 * 10**6
"""Of memory that a rank has for itself at least: Python, NumPy and the engine, before any data."""
GRACE = 2.0
"""Seconds that other ranks have to say what they wait for when one has given up."""


def is_rank(engine: str) -> bool:
    """Whether this process was started as a rank, by whatever launcher."""
    return engine_named(engine).rank_of(os.environ) is not None


def check_memory(num_ranks: int, size: int) -> None:
    """Refuse more ranks than this machine has memory for: Linux would end a process of its own choice.

    A rank has the data, ``size`` bytes, once at least; where nobody says what is free, nothing is refused.
    """
    need, free = num_ranks * (RANK_BYTES + size), _free_memory()
    if free is not None and need > free:
        raise EngineError(
            f"{num_ranks} ranks with {format_size(size)} of data need {format_size(need)} of memory at least, and"
            f" {format_size(free)} are free here: start linkstep run on several machines, by mpiexec or srun"
        )


def _free_memory() -> int | None:
    """Return the bytes that processes could still have without swapping, as Linux says."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return int(value.split()[0]) * 1024
    return None


@contextlib.contextmanager
def run_folder() -> Iterator[Path]:
    """Make a folder for a run, and remove it in the end."""
    folder = Path(tempfile.mkdtemp(prefix="linkstep-run-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def launch_job(
    job: BenchJob, bed: Testbed | None = None, on_row: OnRow = lambda number, row: None
) -> tuple[int, list[Measurement]]:
    """Run a job in ranks started here, on a testbed's hosts if one is named; ``on_row`` is called as sizes are done.

    Return the exit code, which is 1 where results are wrong, and what was measured, nothing if it failed.
    """
    num_ranks, place = len(job.compiled), None
    if bed is not None:
        nodes = range(num_ranks) if job.nodes is None else job.nodes
        place = LaunchSite([bed.prefix(node) for node in nodes], bed.environment(), bed.address(nodes[0]))
    with run_folder() as folder:
        (folder / JOB).write_bytes(pickle.dumps(job))
        command = [sys.executable, "-P", "-m", "linkstep.engines.bench.rank", job.engine, str(folder)]
        told = 0

        def tell() -> None:
            nonlocal told
            while (path := folder / f"{told}.{ROW}").exists():
                told += 1
                on_row(told - 1, pickle.loads(path.read_bytes()))

        code = launch(job.engine, num_ranks, command, folder, job.timeout, place, tell)
        return code, pickle.loads((folder / ROWS).read_bytes()) if code < 2 else []


def launch(
    engine: str, num_ranks: int, command: Sequence[str], folder: Path, timeout: float,
    place: LaunchSite | None = None, tell: Callable[[], None] = lambda: None,
) -> int:  # fmt: skip
    """Run a command in ``num_ranks`` ranks and return the exit code: 0 if every rank's is.

    Ranks find ``folder`` in the environment; they leave their process numbers and exit codes there. ``tell`` is called
    several times a second, and in the end.
    """
    row = engine_named(engine)
    environment = os.environ | {FOLDER: str(folder)} | dict(place.environment if place else {})
    ranks = Roster(folder, num_ranks)
    codes: list[int | None] = []
    quiet: list[int] = []

    def run() -> int:
        processes = row.start(num_ranks, list(command), environment, place, folder)
        try:
            with _terminated_by_signal():
                return _supervise(processes, ranks, timeout, tell)
        finally:
            codes[:] = [process.poll() for process in processes]
            quiet[:] = sorted(ranks.alive().keys() - ranks.ended().keys())
            _end(processes, ranks)

    code = run()
    tell()
    if code and row.starts_again and not ranks.joined() and not ranks.said() and not ranks.stuck:
        why = "failed before any rank had begun, as it may when many start at once"
        print(f"linkstep: {row.title} {why}: once more", file=sys.stderr)
        ranks.forget()
        code = run()
        tell()
    for line in [*ranks.said(), ranks.verdict()] if code else []:
        if line:
            print(f"linkstep: {line}", file=sys.stderr)
    unheard = ranks.stuck or (quiet if ranks.said() else [])
    if code > 1 and unheard:
        print(f"linkstep: no answer from {ranks_in_words(sorted(unheard))}: stopped, or too busy?", file=sys.stderr)
    if code > 1 and not ranks.said() and not unheard:
        print(f"linkstep: {_silent_end(codes, row.starter, ranks.first_lost)}", file=sys.stderr)
    return code


def _silent_end(codes: Sequence[int | None], starter: str, lost: set[int]) -> str:
    """Return what to say of a run that failed though no rank said why; None: a process that had not ended."""
    if lost:
        return f"{ranks_in_words(sorted(lost))} ended before the others had begun: out of memory, or killed?"
    ends = sorted({code for code in codes if code})
    names = [signal.Signals(-code).name if code < 0 else f"exit code {code}" for code in ends]
    how = f"; {starter} ended with {', '.join(names)}" if names else "; a rank was gone"
    return f"no rank said why it ended{how}: out of memory, or killed?"


def _supervise(
    processes: list[subprocess.Popen[bytes]], ranks: Roster, timeout: float, tell: Callable[[], None]
) -> int:
    """Wait for all ranks; once one has failed the others have a while, and are not waited for longer.

    Nor is a launcher that lingers after its ranks, nor ranks that show no sign of life.
    """
    deadline, num_ranks = float("inf"), ranks.num_ranks
    while any(process.poll() is None for process in processes):
        tell()
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
