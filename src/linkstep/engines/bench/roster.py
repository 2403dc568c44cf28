"""The ranks of a run as their launcher sees them: by the files that they left, and by what the kernel says of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path

from linkstep.engines.transports.notes import shared_by_ranks
from linkstep.engines.transports.processes import Activity, activity, shared_files, unlink_shared

_POLL = 0.05
_LOOK = 0.2
"""Seconds between looks at all that a process does."""


class Roster:
    """The processes of a run."""

    def __init__(self, folder: Path, num_ranks: int) -> None:
        self.folder, self.num_ranks = folder, num_ranks
        self.first_lost: set[int] = set()
        """The ranks that were gone when any was: the others end because of them."""
        self.stuck: set[int] = set()
        """The ranks that the run was ended for, as they showed no sign of life."""
        self._shared: dict[int, set[tuple[str, int]]] = {}
        self._seen: dict[int, tuple[float, Activity | None]] = {}
        self._looked = self._last_start = float("-inf")

    def forget(self) -> None:
        """Remove what ranks left, before they are started once more."""
        for kind in ("start", "pid", "shared", "end"):
            for path in self.folder.glob(f"*.{kind}"):
                path.unlink()
        self.first_lost.clear()
        self._seen.clear()
        self._looked = self._last_start = float("-inf")

    def joined(self) -> set[int]:
        """Return the ranks that have found the others."""
        return {int(path.stem) for path in self.folder.glob("*.pid")}

    def _known(self) -> dict[int, tuple[int, str]]:
        """Return the process number of every rank that has begun, and when it did."""
        found = {}
        for kind in ("start", "pid"):  # a launcher may put a process between: what joined counts
            for path in self.folder.glob(f"*.{kind}"):
                pid, _, started = path.read_text().partition(" ")
                found[int(path.stem)] = int(pid), started
        return found

    def alive(self) -> dict[int, int]:
        """Return the process numbers of ranks that are still there."""
        found = {}
        for rank, (pid, started) in self._known().items():
            now = activity(pid)
            if now is not None and now.started == started:
                found[rank] = pid
        return found

    def ended(self) -> dict[int, int]:
        """Return the exit codes of ranks that got to their end, or said why not."""
        return {int(path.stem): int(path.read_text()) for path in self.folder.glob("*.end")}

    def lost(self) -> set[int]:
        """Return the ranks that are gone and did not say that they were at their end."""
        known = set(self._known())  # looked at first, and ends last: ranks come and go meanwhile
        gone = known - self.alive().keys()
        return gone - self.ended().keys()

    def look(self, now: float) -> None:
        """Note what is there to be seen only while ranks are: who is lost first, what is shared, who lives."""
        if not self.first_lost:
            self.first_lost = self.lost()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        alive = self.alive()
        if alive.keys() - self._seen.keys() or self._last_start == float("-inf"):
            self._last_start = now
        for rank, pid in alive.items():
            if not self._shared.get(rank):
                self._shared[rank] = shared_files(pid)
            found = activity(pid)
            last, before = self._seen.get(rank, (now, None))
            lives = found is not None and found.follows(before)
            self._seen[rank] = now if lives else last, found

    def stopped(self) -> set[int]:
        """Return the ranks that were stopped at the last look: they will say nothing."""
        return {rank for rank, (_, seen) in self._seen.items() if seen is not None and seen.is_stopped}

    def silent(self, now: float, timeout: float, patience: float) -> set[int]:
        """Return the ranks without a sign of life: stopped for ``timeout`` seconds, or not joined and asleep for long.

        Ranks that have joined look after themselves when they wait.
        """
        ended, found = self.ended().keys(), set()
        for rank, (last, seen) in self._seen.items():
            if rank not in ended and seen is not None and seen.is_stopped and now - last > timeout:
                found.add(rank)
        waiting = set(range(self.num_ranks)) - self.joined() - ended
        lives = [last for rank, (last, _) in self._seen.items() if rank in waiting]
        if waiting and now - max([self._last_start, *lives]) > patience:
            found |= waiting
        return found

    def kill(self) -> None:
        """Kill them, wait until they are gone, and remove what they shared."""
        for pid in self.alive().values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)  # so that they open nothing that is not seen
        for rank, pid in self.alive().items():
            self._shared.setdefault(rank, set()).update(shared_files(pid))
        end = time.monotonic() + 5
        while (pids := self.alive()) and time.monotonic() < end:
            for pid in pids.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL)
        for files in (*self._shared.values(), shared_by_ranks(self.folder)):
            unlink_shared(files)

    def said(self) -> list[str]:
        """Return what ranks left to be printed, in the order they were started."""
        found = sorted(self.folder.glob("*.said"), key=lambda path: int(path.stem))
        return [line for path in found if (line := path.read_text())]

    def verdict(self) -> str:
        """Return which ranks wait for each other, if any do: the cable between them is the first suspect.

        So it is where one waits for another that got further, to where all ranks meet. Where a rank is gone, that is
        what the others wait for, and nothing is known of cables.
        """
        if self.first_lost:
            return ""
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
