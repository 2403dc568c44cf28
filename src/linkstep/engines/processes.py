"""Processes of one machine that watch each other: where one runs, and whether it is still there."""

from __future__ import annotations

import os
from pathlib import Path

from linkstep.engines.launch import has_said


def place() -> str:
    """Return what processes share that see each other's numbers: the machine's boot, then the process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return f"pid {os.getpid()}"  # alone


def is_alive(pid: int) -> bool:
    """Whether a process of this machine is still running.

    >>> is_alive(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:  # a process that ended and was not waited for yet is gone as well
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state not in "ZX"


class Watch:
    """The processes of a job's ranks, as far as they run on this machine."""

    def __init__(self, rank: int, told: list[str]) -> None:
        """Take what ``Watch.card`` returned at every rank."""
        places = [text.partition(" ")[2] for text in told]
        self.shares_clock = len({where.partition(" ")[0] for where in places}) == 1
        """Whether all ranks run on one machine."""
        self._pids = {
            other: int(text.partition(" ")[0])
            for other, (text, where) in enumerate(zip(told, places, strict=True))
            if where == place() and other != rank
        }

    @staticmethod
    def card() -> str:
        """Return what the other ranks must know of this process."""
        return f"{os.getpid()} {place()}"

    def dead(self) -> tuple[int, ...]:
        """Return the ranks of this machine whose process is gone, first those that did not say why."""
        gone = [(has_said(pid), rank) for rank, pid in self._pids.items() if not is_alive(pid)]
        return tuple(rank for _, rank in sorted(gone))
