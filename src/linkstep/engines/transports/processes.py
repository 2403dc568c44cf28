"""What the kernel tells of processes on this machine: whether one is there, what it does, what memory it shares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_SHARED = "/dev/shm/mpich_shm_"
"""How the names of MPICH's shared memory begin: files that stay if a job does not get to its end."""


def place() -> str:
    """Return what processes share that see each other's numbers: the machine's boot, then the process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return f"pid {os.getpid()}"  # alone


def network() -> str:
    """Return the network namespace of this process, empty where there is no such thing."""
    try:
        return str(Path("/proc/self/ns/net").readlink())
    except OSError:
        return ""


class Activity(NamedTuple):
    """What a process was doing at one moment."""

    state: str
    """A letter, as ``ps`` shows it."""
    work: tuple[int, ...]
    """Counters that grow whenever it runs: page faults, ticks, nanoseconds."""
    started: str
    """When it began: a process number that is used again is not taken for it."""

    @property
    def is_stopped(self) -> bool:
        """Whether it is stopped by a signal or a debugger."""
        return self.state in "Tt"

    def follows(self, before: Activity | None) -> bool:
        """Whether it shows a sign of life: it runs, waits for a disk, or has run since."""
        if self.is_stopped:
            return False
        return before is None or self.state in "RD" or self.work != before.work


def activity(pid: int) -> Activity | None:
    """Return what a process does; None if it is gone, or ended and not yet waited for.

    >>> activity(os.getpid()).is_stopped
    False
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    try:
        ran = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        ran = 0
    return Activity(fields[0], (int(fields[7]), int(fields[9]), int(fields[11]), int(fields[12]), ran), fields[19])


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
    return not Path("/proc/self/stat").exists() or activity(pid) is not None


def shared_files(pid: int) -> set[tuple[str, int]]:
    """Return the files of MPICH's shared memory that a process has mapped, by name and inode."""
    found = set()
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return set()
    for line in lines:
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith(_SHARED) and not fields[5].endswith(" (deleted)"):
            found.add((fields[5], int(fields[4])))
    return found


def unlink_shared(files: set[tuple[str, int]]) -> None:
    """Remove files of ``shared_files``, unless their names are now those of others."""
    for name, inode in files:
        try:
            if Path(name).stat().st_ino == inode:
                Path(name).unlink()
        except OSError:  # its own process was first
            continue
