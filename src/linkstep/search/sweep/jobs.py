"""Long searches that survive being killed: units run on all cores, each one's entries are logged as soon as it ends.

The log is a catalog file with one more kind of line, ``#done,nodes,degree,kind,seed,budget[,method]``, after the
entries of that unit. A unit so marked is not run again; a last line cut short is dropped, and the unit it belonged to
runs again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TextIO

from linkstep.core.errors import FileError, LinkstepError
from linkstep.search.catalog import HEADER, Entry
from linkstep.search.sweep.cayley import search_cayley
from linkstep.search.sweep.job import Unit, check_unit
from linkstep.search.sweep.lifts import search_lifts

Progress = Callable[[int, int], None]
"""Called with (done, in all)."""

EXECUTORS = ("processes", "mpi")


def search(unit: Unit) -> list[Entry]:
    """Return the best entries found: those that no other found dominates, at most a handful.

    >>> [entry.recipe for entry in search(Unit(5, 2, True))]
    ['Cayley(Z5,{1,4})']
    """
    check_unit(unit)
    return search_lifts(unit) if unit.method == "lift" else search_cayley(unit)


def marker(unit: Unit) -> str:
    """Return the line that says a unit is done."""
    kind = "bi" if unit.bidirectional else "uni"
    method = "" if unit.method == "cayley" else f",{unit.method}"
    return f"#done,{unit.num_nodes},{unit.degree},{kind},{unit.seed},{unit.budget}{method}"


def done_units(path: Path) -> set[str]:
    """Return the markers in a log; none if there is no file."""
    if not path.exists():
        return set()
    text = path.read_text()
    return {line for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith("#done,")}


def _open_log(path: Path) -> TextIO:
    """Open a log to append to, after cutting off a last line that was not finished."""
    try:
        with path.open("a+b") as log:
            log.seek(0)
            whole = log.read().rfind(b"\n") + 1
            log.truncate(whole)
        opened = path.open("a")
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error}") from None
    if not whole:
        opened.write(HEADER + "\n")
    return opened


def _log(log: TextIO, unit: Unit, entries: Iterable[Entry]) -> None:
    log.write("".join(f"{line}\n" for line in (*(entry.line() for entry in entries), marker(unit))))
    log.flush()
    os.fsync(log.fileno())


def _pool(executor: str, workers: int | None) -> AbstractContextManager[Executor]:
    if executor == "mpi":
        try:
            from mpi4py.futures import MPIPoolExecutor  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise LinkstepError("--executor mpi needs mpi4py: pip install 'linkstep[mpi]'") from None
        pool: Any = MPIPoolExecutor(workers)
        return pool  # type: ignore[no-any-return]
    if executor != "processes":
        raise LinkstepError(f"executor must be one of {', '.join(EXECUTORS)}, not {executor!r}")
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def build(
    path: Path,
    units: Iterable[Unit],
    *,
    executor: str = "processes",
    workers: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Run the units that the log at ``path`` does not have yet and append what they find; return how many ran.

    One worker runs them here, one after the other; more run side by side in processes, or over MPI.
    """
    wanted = list(units)
    for unit in wanted:
        check_unit(unit)
    before = done_units(path)
    todo = [unit for unit in wanted if marker(unit) not in before]
    report = progress or (lambda done, total: None)
    with _open_log(path) as log:
        if executor == "processes" and workers == 1:
            for done, unit in enumerate(todo, 1):
                _log(log, unit, search(unit))
                report(done, len(todo))
            return len(todo)
        with _pool(executor, workers) as pool:
            futures = {pool.submit(search, unit): unit for unit in todo}
            try:
                for done, future in enumerate(as_completed(futures), 1):
                    _log(log, futures[future], future.result())
                    report(done, len(todo))
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
    return len(todo)
