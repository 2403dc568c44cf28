"""Long searches that survive being killed: jobs run on all cores, each one's entries are logged as soon as it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from linkstep.core.errors import LinkstepError
from linkstep.search.catalog import best
from linkstep.search.entry import Entry
from linkstep.search.scoring import score_best, with_flow
from linkstep.search.sweep.job import Job, check_job
from linkstep.search.sweep.log import done_jobs, log_entries, marker, open_log
from linkstep.search.sweep.methods import check_method, recipes_of

Progress = Callable[[int, int], None]
"""Called with (done, in all)."""

Results = Generator[tuple[Job, list[Entry]], None, None]


def search(job: Job) -> list[Entry]:
    """Return the best entries found: those that no other found dominates, at most a handful."""
    check_job(job)
    return [with_flow(entry) for entry in best(score_best(recipes_of(job)))]


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which a terminal sends to every process, to the one that waits for the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Put off Ctrl-C. Processes started meanwhile hold it back until they ignore it: to import takes them seconds."""
    noted: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, lambda number, frame: noted.append(number)) if in_main else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # what a new process starts with
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if in_main:
            signal.signal(signal.SIGINT, before)
    if noted:
        raise KeyboardInterrupt


@contextmanager
def _processes(workers: int | None) -> Iterator[Executor]:
    """Give a pool of processes that are gone when the work is done or has failed, not when they find time to end."""
    others = set(active_children())
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_ignore_interrupts) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise LinkstepError("a process of the search was killed (out of memory?): run again to go on") from None
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise


def _mpi(workers: int | None) -> AbstractContextManager[Executor]:
    """Return a pool of MPI processes."""
    try:
        from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]  # noqa: F401  (loads the library)
        from mpi4py.futures import MPIPoolExecutor  # type: ignore[import-not-found,unused-ignore]
    except (ImportError, OSError, RuntimeError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise LinkstepError(
            f"--executor mpi needs mpi4py and an MPI library ({reason[0]}): install an MPI of your system, or run "
            "pip install '.[mpi]' in a clone of linkstep"
        ) from None
    pool: Any = MPIPoolExecutor(workers)
    return pool  # type: ignore[no-any-return]


_POOLS: dict[str, Callable[[int | None], AbstractContextManager[Executor]]] = {"processes": _processes, "mpi": _mpi}
EXECUTORS = tuple(_POOLS)


def build(
    path: Path,
    jobs: Iterable[Job],
    *,
    executor: str = "processes",
    workers: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Run the jobs that the log at ``path`` does not have yet and append what they find; return how many ran.

    One worker runs them here, one after the other; more run side by side in processes, or over MPI.
    """
    wanted = list(jobs)
    for job in wanted:
        check_job(job)
        check_method(job)
    if executor not in EXECUTORS:
        raise LinkstepError(f"executor must be one of {', '.join(EXECUTORS)}, not {executor!r}")
    before = done_jobs(path)
    todo = [job for job in wanted if marker(job) not in before]
    report = progress or (lambda done, total: None)
    alone = executor == "processes" and workers == 1
    results = _here(todo) if alone else _side_by_side(todo, _POOLS[executor](workers))
    with open_log(path) as log, closing(results):
        for done, (job, entries) in enumerate(results, 1):
            log_entries(log, job, entries)
            report(done, len(todo))
    return len(todo)


def _here(jobs: list[Job]) -> Results:
    for job in jobs:
        yield job, search(job)


def _side_by_side(jobs: list[Job], opening: AbstractContextManager[Executor]) -> Results:
    """Run jobs in a pool; give each one's entries as soon as it ends."""
    with opening as pool:
        with _interrupts_held():  # processes start as work comes in
            futures = {pool.submit(search, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
