"""The log of a long search: the entries found so far and which jobs are done, so that a killed search goes on.

A log is a catalog file with one more kind of line, ``#done,nodes,degree,kind,seed,budget[,method]``, after the entries
of that job. A last line cut short is dropped, and the job it belonged to runs again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from linkstep.core.errors import FileError
from linkstep.recipe.names import HEADER
from linkstep.search.entry import Entry
from linkstep.search.sweep.job import SweepJob


def marker(job: SweepJob) -> str:
    """Return the line that says a job is done."""
    kind = "bi" if job.bidirectional else "uni"
    method = "" if job.method == "cayley" else f",{job.method}"
    return f"#done,{job.num_nodes},{job.degree},{kind},{job.seed},{job.budget}{method}"


def _read(path: Path) -> bytes:
    """Return what a log holds, nothing if there is no file; refuse a file that is something else."""
    if path.is_fifo() or path.is_char_device() or path.is_socket():
        raise FileError(f"{path}: is not a regular file, and a search reads its log again")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    head = f"{HEADER}\n".encode()
    if not content.startswith(head) and not head.startswith(content):
        raise FileError(f"{path}: is not the log of a search: it does not start with {HEADER!r}")
    return content


def done_jobs(path: Path) -> set[str]:
    """Return the markers in a log; none if there is no file."""
    content = _read(path)
    lines = content[: content.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()
    return {line for line in lines if line.startswith("#done,")}


def open_log(path: Path) -> TextIO:
    """Open a log to append to, after cutting off a last line that was not finished."""
    whole = _read(path).rfind(b"\n") + 1
    try:
        with path.open("ab") as log:
            log.truncate(whole)
        opened = path.open("a", encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}") from None
    if not whole:
        opened.write(HEADER + "\n")
    return opened


def log_entries(log: TextIO, job: SweepJob, entries: Iterable[Entry]) -> None:
    """Append what a job found and that it is done; on disk when this returns."""
    log_lines(log, [*(entry.line() for entry in entries), marker(job)])


def log_lines(log: TextIO, lines: Iterable[str]) -> None:
    """Append lines; on disk when this returns."""
    log.write("".join(f"{line}\n" for line in lines))
    log.flush()
    os.fsync(log.fileno())
