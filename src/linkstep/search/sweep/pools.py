"""Work for many processes, on all cores or over MPI: each item's result as soon as there is one.

Not here: what the work is (``runner`` searches, ``linkstep.search.scoring`` recomputes).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import active_children, get_context
from typing import Any, TypeVar

from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing
from linkstep.core.safe_path import safe_path

Item = TypeVar("Item")
Result = TypeVar("Result")
Results = Generator[tuple[Item, Result], None, None]


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
    with safe_path():  # multiprocessing has a process of its own that keeps track of semaphores
        made = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
    with made as pool:
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
    except ModuleNotFoundError:
        raise LinkstepError(missing("--executor mpi", "mpi4py", "mpi")) from None
    except (ImportError, OSError, RuntimeError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise LinkstepError(missing("--executor mpi", "mpi4py and an MPI", "mpi", reason=reason[0])) from None
    pool: Any = MPIPoolExecutor(workers, python_args=["-P"])
    return pool  # type: ignore[no-any-return]


_POOLS: dict[str, Callable[[int | None], AbstractContextManager[Executor]]] = {"processes": _processes, "mpi": _mpi}
EXECUTORS = tuple(_POOLS)


def check_executor(executor: str, workers: int | None) -> None:
    """Raise unless work can be given to this many workers of that kind."""
    if executor not in EXECUTORS:
        raise LinkstepError(f"executor must be one of {', '.join(EXECUTORS)}, not {executor!r}")
    if workers is not None and workers < 1:
        raise LinkstepError(f"--workers must be at least 1, not {workers}")


def over_all(
    work: Callable[[Item], Result], items: Sequence[Item], *, executor: str = "processes", workers: int | None = None
) -> Results[Item, Result]:
    """Return a generator of each item with ``work(item)``, as they are done; to be closed, so that no process is left.

    One worker does them here, in order; more do them side by side in processes (one a core if None), or over MPI.
    """
    check_executor(executor, workers)
    if executor == "processes" and workers == 1:
        return ((item, work(item)) for item in items)
    return _side_by_side(work, items, _POOLS[executor](workers))


def _side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], opening: AbstractContextManager[Executor]
) -> Results[Item, Result]:
    with opening as pool:
        with safe_path(), _interrupts_held():  # processes start as work comes in
            futures = {pool.submit(work, item): item for item in items}
        for future in as_completed(futures):
            yield futures[future], future.result()
