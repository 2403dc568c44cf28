"""What a rank leaves for the launcher that started it, as files in the folder of the run; nothing if nobody did.

A rank leaves its process number when it begins and again when it has joined the others, with the memory that it shares,
its exit code at its end, and where it failed a line to print and the ranks that it waited for.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from linkstep.engines.transports.processes import activity, shared_files

FOLDER = "LINKSTEP_RUN"
"""The variable that names the folder."""
_OWN_RANK = "LINKSTEP_RANK"
"""The variable in which a rank keeps its own number."""
_PR_SET_PDEATHSIG = 1


def run_folder_here() -> Path | None:
    """Return the folder of the run, if this process is a rank that our launcher started."""
    folder = os.environ.get(FOLDER)
    return None if folder is None else Path(folder)


def end_with_parent() -> None:
    """Let the kernel kill this process when the one that started it ends (Linux only)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def register_start(rank: str | None) -> None:
    """Leave this process's number before anything that takes time, as far as the rank is known by then."""
    folder = run_folder_here()
    if folder is None or rank is None:
        return
    end_with_parent()
    os.environ[_OWN_RANK] = rank
    leave(folder / f"{rank}.start", _identity())


def register_rank(rank: int) -> None:
    """Leave this process's number once it has joined the others.

    Signals by which MPI's launchers end ranks as soon as one is lost are ignored: ranks say first what they miss.
    """
    folder = run_folder_here()
    if folder is None:
        return
    end_with_parent()
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.environ[_OWN_RANK] = str(rank)
    leave_shared(folder, rank)  # first: who sees that this rank has joined can remove what it shares
    leave(folder / f"{rank}.pid", _identity())


def leave_shared(folder: Path, rank: int) -> None:
    """Leave word of the shared memory that this process has mapped: it may be gone before anybody looks."""
    leave(folder / f"{rank}.shared", json.dumps(sorted(shared_files(os.getpid()))))


def shared_by_ranks(folder: Path) -> set[tuple[str, int]]:
    """Return the files that ranks said they share, by name and inode."""
    found = set()
    for path in folder.glob("*.shared"):
        found |= {(str(name), int(inode)) for name, inode in json.loads(path.read_text())}
    return found


def _identity() -> str:
    """Return this process's number and when it began."""
    found = activity(os.getpid())
    return f"{os.getpid()} {found.started if found else ''}"


def fail(grace: float) -> NoReturn:
    """End this rank as failed, after a while, without waiting for messages that never come."""
    rank = os.environ.get(_OWN_RANK)
    if rank is not None:
        register_end(int(rank), 2)
    time.sleep(grace)
    leave_process(2)


def leave_process(code: int) -> NoReturn:
    """End this process at once, with all that it said: not when the threads of its libraries find time to end."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def register_end(rank: int, code: int) -> None:
    """Leave the exit code of a rank that got to its end: launchers may take seconds to notice."""
    folder = run_folder_here()
    if folder is not None:
        leave(folder / f"{rank}.end", str(code))


def has_ended(rank: int) -> bool:
    """Whether a rank has got to its end, or said why not."""
    folder = run_folder_here()
    return folder is not None and (folder / f"{rank}.end").exists()


def count_ended() -> int:
    """Return how many ranks have got to their end."""
    folder = run_folder_here()
    return 0 if folder is None else len(list(folder.glob("*.end")))


def say(line: str) -> None:
    """Print a rank's line, or leave it for the launcher to print: MPI's lose what is said while ranks end."""
    folder = run_folder_here()
    if folder is None:
        print(f"linkstep: {line}", file=sys.stderr, flush=True)
    else:
        with contextlib.suppress(OSError):
            leave(folder / f"{os.getpid()}.said", line)


def has_said(pid: int) -> bool:
    """Whether a rank has left a line for the launcher: then it ended because of something, most often another rank."""
    folder = run_folder_here()
    return folder is not None and (folder / f"{pid}.said").exists()


def report_silence(rank: int, peers: Sequence[int]) -> None:
    """Leave word of the ranks that this one waited for; of none if it was where all of them meet."""
    folder = run_folder_here()
    if folder is not None:
        with contextlib.suppress(OSError):
            leave(folder / f"{rank}.json", json.dumps(list(peers)))


def leave(path: Path, content: str | bytes) -> None:
    """Put a file where others look, whole: one that is empty for a moment would say that a rank is gone."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content.encode() if isinstance(content, str) else content)
    part.rename(path)
