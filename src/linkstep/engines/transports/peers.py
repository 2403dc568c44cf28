"""The other ranks as one of them sees them: who is gone, who has failed, who is late where all meet, who still lives.

Ranks of one machine see each other's processes, and a page of memory in which each keeps how far it has come. So a rank
that is busy is waited for, and one that is stopped is not. Of ranks on other machines only their messages are known.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from linkstep.engines.transports.notes import has_said, run_folder_here
from linkstep.engines.transports.processes import Activity, activity, is_alive, network, place
from linkstep.engines.transports.transport import SETUP, Silence

_PAGE = struct.Struct("qqq")


def joining_patience(timeout: float) -> float:
    """Return the seconds to wait for ranks to join: for ever where our launcher sees that they do."""
    return max(SETUP, timeout) if run_folder_here() is None else float("inf")


class Beat:
    """A rank's page: how many gathers it has begun, which one it waits in (0: none), and whether it has failed.

    It is memory without a name, that goes with its processes.
    """

    def __init__(self) -> None:
        self.entered, self.descriptor = 0, -1
        self._page: mmap.mmap | bytearray = bytearray(_PAGE.size)
        try:
            self.descriptor = os.memfd_create("linkstep", os.MFD_CLOEXEC)
            os.ftruncate(self.descriptor, _PAGE.size)
            self._page = mmap.mmap(self.descriptor, _PAGE.size)
            weakref.finalize(self, os.close, self.descriptor)
        except (OSError, AttributeError):  # not Linux: others see nothing
            pass

    def enter(self) -> int:
        """Note that this rank waits in its next gather, and return that one's number."""
        self.entered += 1
        _PAGE.pack_into(self._page, 0, self.entered, self.entered, self._failed)
        return self.entered

    def pass_on(self) -> None:
        """Note that this rank has what it waited for."""
        _PAGE.pack_into(self._page, 0, self.entered, 0, self._failed)

    def fail(self) -> None:
        """Note that this rank has given up."""
        _PAGE.pack_into(self._page, 0, self.entered, 0, 1)

    @property
    def _failed(self) -> int:
        return int(_PAGE.unpack_from(self._page)[2])

    def card(self) -> bytes:
        """Return what the other ranks must know of this process."""
        return json.dumps([os.getpid(), self.descriptor, network(), place()]).encode()


class _Peer:
    """Another rank on this machine."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._page: mmap.mmap | None = None
        try:
            with Path(f"/proc/{pid}/fd/{descriptor}").open("rb") as file:
                self._page = mmap.mmap(file.fileno(), _PAGE.size, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            pass

    def read(self) -> tuple[int, int, int] | None:
        """Return its page, None where it cannot be seen."""
        return None if self._page is None else _PAGE.unpack_from(self._page)


class Peers:
    """The ranks of a job, as far as they run on this machine."""

    def __init__(self, rank: int, cards: Sequence[bytes]) -> None:
        """Take every rank's ``Beat.card``; none before they are known."""
        parsed = [json.loads(card) for card in cards]
        self.shares_clock = len({where.partition(" ")[0] for *_, where in parsed}) == 1
        """Whether all ranks run on one machine."""
        self.shares_network = len({tuple(card[2:]) for card in parsed}) == 1
        """Whether messages stay inside this machine, and cross no device."""
        self._peers = {
            other: _Peer(pid, descriptor)
            for other, (pid, descriptor, _, where) in enumerate(parsed)
            if where == place() and other != rank
        }
        self.sees_all = len(parsed) > 0 and all(
            other == rank or (other in self._peers and self._peers[other].read() is not None)
            for other in range(len(parsed))
        )
        """Whether the pages of all others can be read."""

    def dead(self) -> tuple[int, ...]:
        """Return the ranks whose process is gone, first those that did not say why."""
        gone = [(has_said(peer.pid), rank) for rank, peer in self._peers.items() if not is_alive(peer.pid)]
        return tuple(rank for _, rank in sorted(gone))

    def failed(self) -> tuple[int, ...]:
        """Return the ranks that have given up."""
        return tuple(rank for rank, peer in self._peers.items() if (page := peer.read()) and page[2])

    def late(self, gather: int) -> tuple[int, ...]:
        """Return the ranks that have not begun a gather."""
        return tuple(rank for rank, peer in self._peers.items() if (page := peer.read()) and page[0] < gather)

    def is_waiting(self, gather: int) -> bool:
        """Whether all others wait in a gather, and none has passed it."""
        pages = [peer.read() for peer in self._peers.values()]
        return self.sees_all and all(page is not None and page[1] == gather for page in pages)

    def activity(self, rank: int) -> Activity | None:
        """Return what a rank's process does."""
        return activity(self._peers[rank].pid) if rank in self._peers else None

    def stopped(self) -> tuple[int, ...]:
        """Return the ranks whose process is stopped."""
        found = ((rank, self.activity(rank)) for rank in self._peers)
        return tuple(rank for rank, one in found if one is not None and one.is_stopped)


@dataclass
class Meeting:
    """A rank's wait for the others in a gather, as it looks around now and then.

    ``timeout`` is the silence that is a failure. With ``patience`` the others may have work to do before they come: a
    rank that lives is waited for, one that is asleep for that long, one that is stopped for as long as the timeout.
    """

    peers: Peers
    gather: int
    timeout: float
    patience: float | None
    begin: float
    _seen: dict[int, tuple[float, Activity | None]] = field(default_factory=dict)

    def look(self, now: float, late: tuple[int, ...] | None = None) -> Silence | None:
        """Return why to give up, if there is a reason; ``late`` are those who did not come, if it is known better."""
        late, passed = self.peers.late(self.gather) if late is None else late, now - self.begin
        if dead := self.peers.dead():
            return Silence(passed, (), (), dead)
        if failed := self.peers.failed():
            return Silence(passed, late, (), reason=f"rank {failed[0]} gave up")
        if self.patience is None:
            return Silence(passed, late or self.peers.stopped(), ()) if passed > self.timeout else None
        silent = tuple(rank for rank in late if self._silence(rank, now) > self._limit(rank))
        if silent:
            return Silence(max(self._silence(rank, now) for rank in silent), silent, ())
        if late:
            self._here = now
        limit = self.timeout if self.peers.is_waiting(self.gather) else self.patience
        is_lost = not late and now - self._here > limit  # all have come, and messages do not
        is_unseen = not self.peers.sees_all and passed > self.patience
        return Silence(passed, late or self.peers.stopped(), ()) if is_lost or is_unseen else None

    def __post_init__(self) -> None:
        self._here = self.begin

    def _silence(self, rank: int, now: float) -> float:
        """Return the seconds since a rank's last sign of life."""
        found = self.peers.activity(rank)
        last, before = self._seen.get(rank, (now, None))
        if found is not None and found.follows(before):
            last = now
        self._seen[rank] = last, found
        return now - last

    def _limit(self, rank: int) -> float:
        found = self._seen[rank][1]
        assert self.patience is not None
        return self.timeout if found is not None and found.is_stopped else self.patience
