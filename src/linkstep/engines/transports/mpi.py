"""MPI, by mpi4py: persistent requests, started and tested in batches.

A rank that waits gives way to others first and sleeps a little longer each time, so that ranks on the same core make
progress; none of MPI's own waits does that (and ``Waitsome`` spins without yielding). While it waits it watches: for
processes of this host that are gone or stopped, and for time without a sign of life. What MPI itself notices it reports
as an MPI error, unless a rank turns out to be gone.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.errors import EngineError
from linkstep.core.extras import missing
from linkstep.engines.transports.arrays import kind_of
from linkstep.engines.transports.counters import device_bytes
from linkstep.engines.transports.peers import Beat, Meeting, Peers, joining_patience
from linkstep.engines.transports.processes import shared_files, unlink_shared
from linkstep.engines.transports.transport import TIMEOUT, Silence, Silent, Wire

_AWAKE = 2e-3
"""Seconds for which a rank that waits gives way to others but does not sleep: messages within a host, which both ends
carry on whenever they look, take no longer."""
_PART, _SHORTEST, _LONGEST = 1 / 16, 1e-4, 1e-3
"""Then it sleeps for a part of the time that it has slept, and for no less and no more than this."""
_SLOWEST, _SLOWEST_HERE = 2e6, 5e6
"""Bytes in a second that a message is allowed besides the timeout, to another machine and within one: MPI does not tell
how far it has got."""
_MOVED = 10_000
"""Bytes on network devices that are a sign of life: acknowledgements alone are fewer."""
_LOOK = 0.3
"""Seconds between looks at whether the others are alive."""
_NEWS = 1.5
"""Seconds that an MPI error waits for news of a rank that is gone: its connections close before it is seen to be."""


def load_mpi() -> Any:
    """Return mpi4py's MPI module; EngineError in one line if there is no MPI."""
    try:
        from mpi4py import MPI
    except ModuleNotFoundError:
        raise EngineError(missing("engine mpi", "mpi4py", "mpi")) from None
    except ImportError as error:
        raise EngineError(missing("engine mpi", "mpi4py", "mpi", reason=str(error))) from None
    except RuntimeError as error:  # mpi4py found no library
        raise EngineError(f"MPI cannot be used: {str(error).splitlines()[0]}") from None
    return MPI


class MpiTransport:
    """The ranks of an MPI communicator, COMM_WORLD unless another is given."""

    posts_late = False

    def __init__(self, communicator: Any = None, timeout: float = TIMEOUT) -> None:
        self._mpi = load_mpi()
        world = self._mpi.COMM_WORLD if communicator is None else communicator
        self.rank, self.size, self.timeout = world.Get_rank(), world.Get_size(), timeout
        self._beat, self._others = Beat(), Peers(self.rank, [])
        self._peers: dict[int, tuple[bool, int]] = {}
        self._bytes: dict[int, int] = {}
        self._comm, request = world.Idup()
        self._meet(request, joining_patience(timeout))
        self.tag_limit = int(self._comm.Get_attr(self._mpi.TAG_UB) or 32767) + 1
        self._comm.Set_errhandler(self._mpi.ERRORS_RETURN)
        self._others = Peers(self.rank, self.gather(self._beat.card(), joining_patience(timeout)))
        self.shares_clock = self._others.shares_clock
        self._is_emulated = self.shares_clock and not self._others.shares_network
        over_network = os.environ.get("MPIR_CVAR_NOLOCAL", "0") not in ("0", "")  # also within a machine
        self.acknowledges = over_network or not self.shares_clock

    def prepare(self, wires: Sequence[Wire]) -> list[Any]:
        """Return a persistent request for each message."""
        handles = []
        for wire in wires:
            make = self._comm.Send_init if wire.is_send else self._comm.Recv_init
            data = [kind_of(wire.data).to_bytes(wire.data), self._mpi.BYTE]
            handles.append(make(data, wire.peer, wire.tag))
            self._peers[id(handles[-1])] = wire.is_send, wire.peer
            self._bytes[id(handles[-1])] = len(data[0])
        return handles

    def start(self, handles: Sequence[Any]) -> None:
        """Start requests."""
        self._mpi.Prequest.Startall(handles)

    def wait(self, handles: Sequence[Any]) -> None:
        """Wait for requests of ``prepare``, one after the other: MPI carries on all of them whichever is tested."""
        give_way, clock = os.sched_yield, time.monotonic
        begin = 0.0
        try:
            for handle in handles:
                while not handle.Test():
                    give_way()
                    begin = begin or clock()
                    if clock() - begin > _AWAKE:
                        self._wait_patiently(handles)
                        return
        except self._mpi.Exception as error:
            raise Silent(self._failure(handles, error)) from None

    def _failure(self, handles: Sequence[Any], error: Exception) -> Silence:
        """Return what an MPI error is about: a rank that is gone, if one turns out to be within a moment."""
        end = time.monotonic() + _NEWS
        while not (dead := self.dead()) and time.monotonic() < end:
            time.sleep(_SHORTEST)
        return self._silence(handles, 0.0, dead, "" if dead else str(error).splitlines()[0])

    def _naps(self, is_done: Callable[[], bool]) -> Iterator[float]:
        """Sleep between tests, and yield the time whenever the others are to be looked after."""
        begin = last = time.monotonic()
        while not is_done():
            now = time.monotonic()
            time.sleep(min(max((now - begin) * _PART, _SHORTEST), _LONGEST))
            if now - last > _LOOK:
                last = now
                yield now

    def _wait_patiently(self, handles: Sequence[Any]) -> None:
        """Wait for messages; what counts is the time since one of them arrived, or anything moved on the cables."""
        begin = life = time.monotonic()
        pending, moved = len(handles), self._moved()
        for now in self._naps(lambda: bool(self._mpi.Request.Testall(handles))):
            left = [handle for handle in handles if not handle.Test()]
            if len(left) < pending or self._moved() > moved + _MOVED:
                life, pending, moved = now, len(left), self._moved()
            dead, failed = self.dead(), self._others.failed()
            if left and (dead or failed or now - life > self._allowed(left)):
                reason = f"rank {failed[0]} gave up" if failed else ""
                raise Silent(self._silence(left, now - begin, dead, reason))

    def _moved(self) -> int:
        """Return the bytes that crossed this rank's network devices, where these carry nothing else."""
        if not self._is_emulated:
            return 0
        return sum(sum(counts) for device, counts in device_bytes().items() if device != "lo")

    def _allowed(self, handles: Sequence[Any]) -> float:
        """Return the silence that is a failure: longer for a long message, unless one would see it move."""
        stopped = self._others.stopped()
        if self._is_emulated or any(self._peers[id(handle)][1] in stopped for handle in handles):
            return self.timeout
        rate = _SLOWEST_HERE if self.shares_clock else _SLOWEST
        return self.timeout + max(self._bytes[id(handle)] for handle in handles) / rate

    def _meet(self, request: Any, patience: float | None) -> None:
        """Wait for a message from all to all."""
        meeting = Meeting(self._others, self._beat.enter(), self.timeout, patience, time.monotonic())
        try:
            for now in self._naps(request.Test):
                if silence := meeting.look(now):
                    raise Silent(silence)
        except self._mpi.Exception as error:
            raise Silent(self._failure((), error)) from None
        self._beat.pass_on()

    def is_open(self) -> bool:
        """Whether MPI_Finalize was not called yet."""
        return not self._mpi.Is_finalized()

    def dead(self) -> tuple[int, ...]:
        """Return the ranks of this host whose process is gone."""
        return self._others.dead()

    def _silence(
        self, handles: Sequence[Any], seconds: float, dead: tuple[int, ...] = (), reason: str = ""
    ) -> Silence:  # fmt: skip
        pending = set()
        for handle in handles:
            with contextlib.suppress(self._mpi.Exception):
                if handle.Test():
                    continue
            if id(handle) in self._peers:
                pending.add(self._peers[id(handle)])
        senders = {peer for is_send, peer in pending if not is_send}
        takers = {peer for is_send, peer in pending if is_send}
        return Silence(seconds, tuple(sorted(senders)), tuple(sorted(takers)), dead, reason)

    def release(self, handles: Sequence[Any]) -> None:
        """Free requests."""
        for handle in handles:
            self._peers.pop(id(handle), None)
            self._bytes.pop(id(handle), None)
            with contextlib.suppress(self._mpi.Exception):
                handle.Free()

    def array(self, length: int, type_name: str) -> Any:
        """Return a flat numpy array of zeros."""
        return np.zeros(length, type_name)

    def own(
        self, collective: Collective, source: Any, target: Any, operation: str, root: int
    ) -> Callable[[], Any] | None:  # fmt: skip
        """Return MPI's own collective on two arrays."""
        op = {"sum": self._mpi.SUM, "min": self._mpi.MIN, "max": self._mpi.MAX, "prod": self._mpi.PROD}[operation]
        comm = self._comm
        calls: dict[Collective, Callable[[], Any]] = {
            Collective.ALLREDUCE: lambda: comm.Allreduce(source, target, op),
            Collective.REDUCE_SCATTER: lambda: comm.Reduce_scatter_block(source, target, op),
            Collective.ALLGATHER: lambda: comm.Allgather(source, target),
            Collective.BROADCAST: lambda: comm.Bcast(target, root),
            Collective.REDUCE: lambda: comm.Reduce(source, target, op, root),
            Collective.ALL_TO_ALL: lambda: comm.Alltoall(source, target),
        }
        return calls.get(collective)

    def gather(self, value: bytes, patience: float | None = None) -> list[bytes]:
        """Return every rank's bytes: first how many they are, then all of them."""
        lengths = np.zeros(self.size, np.int64)
        own = np.array([len(value)], np.int64)
        self._meet(self._comm.Iallgather(own, lengths), patience)
        ends = np.cumsum(lengths)
        got = np.zeros(int(ends[-1]), np.uint8)
        spec = [got, (lengths, ends - lengths), self._mpi.BYTE]
        mine = [np.frombuffer(value, np.uint8), self._mpi.BYTE]
        self._meet(self._comm.Iallgatherv(mine, spec), patience)
        data = got.tobytes()
        return [data[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]

    def split(self, members: Sequence[int]) -> MpiTransport | None:
        """Return the transport of an MPI communicator of some ranks."""
        mine = self.rank in members
        part = self._comm.Split(0 if mine else self._mpi.UNDEFINED, self.rank)
        return MpiTransport(part, self.timeout) if mine else None

    def mark_failed(self) -> None:
        """Let the process abort when it ends: MPI_Finalize would wait for messages that never come."""
        self._beat.fail()
        atexit.unregister(_abort_at_exit)
        atexit.register(_abort_at_exit)

    def abort(self) -> None:
        """Call MPI_Abort: the launcher ends every rank."""
        unlink_shared(shared_files(os.getpid()))
        self._comm.Abort(2)


_GRACE = 1.0
"""Seconds that a failed rank waits before it ends the job, so that others can say what they wait for."""


def _abort_at_exit() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_GRACE)
    unlink_shared(shared_files(os.getpid()))  # MPI_Abort leaves them
    load_mpi().COMM_WORLD.Abort(2)
