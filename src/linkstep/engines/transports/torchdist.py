"""torch.distributed: sends and receives of a process group, by gloo on CPUs and by nccl on GPUs.

gloo's messages cannot be tested, only waited for, and a wait that runs out closes all of the process's connections.
That is what makes failures spread at once: a rank that gives up notes the cause in the group's store, closes its
connections, and the ranks that were waiting for it find the note. What is not here: when to send what (``session``),
and hooks and backends for training (``linkstep.torch``).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from linkstep.core.collective import Collective
from linkstep.engines.transports.peers import Beat, Meeting, Peers, joining_patience
from linkstep.engines.transports.torchjoin import first_line, load_torch, open_group
from linkstep.engines.transports.transport import TIMEOUT, Silence, Silent, Wire

_NAPS = (1e-3, 20e-3)
"""The first pause between two looks at the store, and the longest."""
_LOOK = 0.3
"""Seconds between looks at whether the others are alive."""
_BRIEFLY = timedelta(milliseconds=1)
_GRACE = 1.0
"""Seconds that a failed process stays: a launcher that sees it end would end others before they have spoken."""
_LAST_BREATH = 0.02
"""Seconds in which a process that has closed its connections is seen to be gone."""
_PROBE_TAG = 2**31 - 1
_opened: Counter[str] = Counter()


@dataclass
class _Message:
    """A prepared message; ``work`` is what torch returned while it is in flight."""

    is_send: bool
    peer: int
    tag: int
    tensor: Any
    work: Any = None


class TorchTransport:
    """The ranks of a process group, the default one unless another is given."""

    tag_limit = _PROBE_TAG
    acknowledges = False

    def __init__(
        self, group: Any = None, timeout: float = TIMEOUT, *, store: Any = None, ranks: Sequence[int] | None = None
    ) -> None:  # fmt: skip
        """Take a process group, or a backend with its store and the numbers of its ranks in the default group."""
        self._torch = load_torch()
        self._group = open_group(timeout) if group is None else group
        self.rank, self.size, self.timeout = self._group.rank(), self._group.size(), timeout
        self._limit = timedelta(seconds=timeout)
        self.posts_late = "nccl" in str(self._group.name())
        self._store, self._host = self._own_store(store), self._host_of_store(ranks)
        self._beat, self._others = Beat(), Peers(self.rank, [])
        self._others = Peers(self.rank, self.gather(self._beat.card(), joining_patience(timeout)))
        self.shares_clock = self._others.shares_clock

    def _own_store(self, store: Any) -> Any:
        """Return a part of the group's store that no other transport uses: all ranks make theirs in the same order."""
        dist = self._torch.distributed
        if store is not None:
            return dist.PrefixStore("linkstep", store)
        name = str(self._group.group_name)
        _opened[name] += 1
        return dist.PrefixStore(f"linkstep/{name}/{_opened[name]}", dist.distributed_c10d._get_default_store())

    def _host_of_store(self, ranks: Sequence[int] | None) -> int | None:
        """Return the rank whose process has the store, unless it is with the launcher or outside the group."""
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
            return None
        if ranks is None:
            ranks = self._torch.distributed.get_process_group_ranks(self._group)
        return list(ranks).index(0) if 0 in ranks else None

    def prepare(self, wires: Sequence[Wire]) -> list[_Message]:
        """Return messages with their tensors, which share the memory of the data."""
        return [_Message(wire.is_send, wire.peer, wire.tag, self._tensor(wire.data)) for wire in wires]

    def _tensor(self, data: Any) -> Any:
        if isinstance(data, np.ndarray):
            return self._torch.from_numpy(data.view(np.uint8))
        return data.detach()

    def start(self, handles: Sequence[_Message]) -> None:
        """Hand messages to the process group."""
        if self.posts_late:
            self._start_together(handles)
            return
        send, receive = self._group.send, self._group.recv
        message = None
        try:
            for message in handles:
                call = send if message.is_send else receive
                message.work = call([message.tensor], message.peer, message.tag)
        except RuntimeError as error:
            assert message is not None
            raise Silent(self._give_up(message, handles, 0.0, error)) from None

    def _start_together(self, handles: Sequence[_Message]) -> None:
        """Start messages as one group call; nccl has no tags, so those of two ranks have one order at both."""
        dist = self._torch.distributed
        ordered = sorted(handles, key=lambda message: message.tag)
        works = dist.batch_isend_irecv([
            dist.P2POp(
                dist.isend if message.is_send else dist.irecv, message.tensor, group=self._group, tag=message.tag,
                group_peer=message.peer,
            )
            for message in ordered
        ])  # fmt: skip
        for k, message in enumerate(ordered):
            message.work = works[k] if len(works) == len(ordered) else works[-1]

    def wait(self, handles: Sequence[_Message]) -> None:
        """Wait for messages one by one, each for as long as the timeout at most since the one before."""
        limit = self._limit
        for message in handles:
            if message.work is None:
                continue
            begin = time.monotonic()
            try:
                message.work.wait(limit)
            except RuntimeError as error:
                raise Silent(self._give_up(message, handles, time.monotonic() - begin, error)) from None
            message.work = None

    def _give_up(self, message: _Message, handles: Sequence[_Message], seconds: float, error: Exception) -> Silence:
        """Find out why a message failed, tell the others, and close the connections, so that they look."""
        reason, dead = "", tuple[int, ...]()
        if seconds < self.timeout and "imed out" not in str(error):
            reason, dead = self._cause_of_closing(message.peer, error)
        senders, takers = set[int](), set[int]()
        (takers if message.is_send else senders).add(message.peer)
        silence = Silence(seconds, tuple(senders), tuple(takers), dead, reason)
        self._note(silence)
        for other in handles:
            if other is not message and not self._is_complete(other):
                (takers if other.is_send else senders).add(other.peer)
        self._close_connections()
        return silence._replace(from_ranks=tuple(sorted(senders)), to_ranks=tuple(sorted(takers)))

    def _cause_of_closing(self, peer: int, error: Exception) -> tuple[str, tuple[int, ...]]:
        """Return why a peer closed its connection, and who is dead: the peer itself unless it left a note."""
        if self._host == peer:
            time.sleep(_LAST_BREATH)
        try:
            if not self._is_gone(self._host):
                if self._store.check([f"failed/{peer}"]):
                    note = json.loads(self._store.get(f"failed/{peer}"))
                    return note["reason"], tuple(note["dead"])
                return first_line(error), (peer,)
        except RuntimeError:
            pass
        return first_line(error), (peer if self._host is None else self._host,)  # the store went with its process

    def _is_gone(self, rank: int | None) -> bool:
        """Whether a rank is known to be gone: torch prints a page for every use of a store that went with it."""
        return rank is not None and rank in self._others.dead()

    def _note(self, silence: Silence) -> None:
        """Leave the cause of a failure for those who find the connection closed."""
        cause = silence.reason
        if not silence.dead and not cause:
            whom = f"nothing came from rank {silence.from_ranks[0]}" if silence.from_ranks else ""
            whom = whom or f"rank {silence.to_ranks[0]} took nothing"
            cause = f"rank {self.rank} gave up: {whom} for {silence.seconds:.0f} s"
        if self._is_gone(self._host):
            return
        with contextlib.suppress(RuntimeError):
            self._store.set(f"failed/{self.rank}", json.dumps({"reason": cause, "dead": silence.dead}))

    def _is_complete(self, message: _Message) -> bool:
        if message.work is None:
            return True
        try:
            message.work.wait(_BRIEFLY)
        except RuntimeError:
            return False
        message.work = None
        return True

    def _close_connections(self) -> None:
        """Let a receive run out that nobody sends to: gloo then closes every connection of the group."""
        if self.posts_late:
            self.abort()
            return
        probe = self._torch.zeros(1)
        for peer in range(self.size):
            if peer != self.rank:
                with contextlib.suppress(RuntimeError):
                    self._group.recv([probe], peer, _PROBE_TAG).wait(_BRIEFLY)

    def is_open(self) -> bool:
        """Whether torch.distributed was not shut down yet."""
        return bool(self._torch.distributed.is_initialized())

    def dead(self) -> tuple[int, ...]:
        """Return the ranks that are known to be gone."""
        return self._others.dead()

    def array(self, length: int, type_name: str) -> Any:
        """Return a flat tensor of zeros, where the group's backend wants it."""
        device = "cuda" if self.posts_late else "cpu"
        return self._torch.zeros(length, dtype=getattr(self._torch, type_name), device=device)

    def own(
        self, collective: Collective, source: Any, target: Any, operation: str, root: int
    ) -> Callable[[], Any] | None:  # fmt: skip
        """Return torch's own collective on two tensors; those that work in place copy the source first."""
        dist, group = self._torch.distributed, self._group
        names = {"sum": "SUM", "min": "MIN", "max": "MAX", "prod": "PRODUCT"}
        op = getattr(dist.ReduceOp, names[operation])

        # renamed in torch 2.13
        scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
        gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor

        def allreduce() -> None:
            target.copy_(source)
            dist.all_reduce(target, op, group)

        def reduce() -> None:
            target.copy_(source)
            dist.reduce(target, op=op, group=group, group_dst=root)

        calls: dict[Collective, Callable[[], Any]] = {
            Collective.ALLREDUCE: allreduce,
            Collective.REDUCE_SCATTER: lambda: scatter(target, source, op, group),
            Collective.ALLGATHER: lambda: gather(target, source, group),
            Collective.BROADCAST: lambda: dist.broadcast(target, group=group, group_src=root),
            Collective.REDUCE: reduce,
            Collective.ALL_TO_ALL: lambda: dist.all_to_all_single(target, source, group=group),
        }
        return calls.get(collective)

    def release(self, handles: Sequence[_Message]) -> None:
        """Drop tensors."""
        for message in handles:
            message.work = message.tensor = None

    def gather(self, value: bytes, patience: float | None = None) -> list[bytes]:
        """Return every rank's bytes, by way of the store."""
        number, store = self._beat.enter(), self._store
        key = f"gather/{number}"
        keys = [f"{key}/{rank}" for rank in range(self.size)]
        begin = time.monotonic()
        try:
            store.set(keys[self.rank], value.hex())
            self._await(keys, Meeting(self._others, number, self.timeout, patience, begin))
            values = [bytes.fromhex(store.get(one).decode()) for one in keys]
            store.delete_key(f"gather/{number - 1}/{self.rank}")  # all have read it before they came here
            if store.add(f"{key}/read", 1) < self.size and self.rank == self._host:
                self._stay(f"{key}/read")
        except RuntimeError as error:
            lost = () if self._host is None else (self._host,)
            raise Silent(Silence(time.monotonic() - begin, lost, (), lost, first_line(error))) from None
        self._beat.pass_on()
        return values

    def _await(self, keys: list[str], meeting: Meeting) -> None:
        """Return when the store has all keys; Silent once the others are known not to come."""
        nap, longest = _NAPS
        looked = meeting.begin
        while not self._store.check(keys):
            time.sleep(nap)
            if self._is_gone(self._host):
                raise RuntimeError("the process that has the store is gone")
            nap, now = min(2 * nap, longest), time.monotonic()
            if now - looked < _LOOK:
                continue
            looked = now
            late = tuple(rank for rank, key in enumerate(keys) if not self._store.check([key]))
            reason = self._reason_of(late)
            silence = meeting.look(now, late)
            if late and (reason or silence) and not self._store.check(keys):  # who came meanwhile may have left again
                silence = silence or Silence(now - meeting.begin, late, ())
                silence = silence._replace(reason=reason or silence.reason)
                self._note(silence)
                raise Silent(silence)

    def _stay(self, counter: str) -> None:
        """Keep the store for a while, until all have read it: this process may end next."""
        end = time.monotonic() + _GRACE
        while self._store.add(counter, 0) < self.size and time.monotonic() < end:
            time.sleep(_NAPS[0])

    def _reason_of(self, ranks: Sequence[int]) -> str:
        """Return what one of these ranks noted when it failed, or nothing."""
        for rank in ranks:
            if self._store.check([f"failed/{rank}"]):
                note = json.loads(self._store.get(f"failed/{rank}"))
                return str(note["reason"] or f"rank {note['dead'][0]} ended before the others")
        return ""

    def split(self, members: Sequence[int]) -> TorchTransport | None:
        """Return the transport of a process group of some ranks."""
        dist = self._torch.distributed
        world = dist.get_process_group_ranks(self._group)
        group = dist.new_group([world[rank] for rank in members], timeout=self._limit, use_local_synchronization=True)
        return TorchTransport(group, self.timeout) if self.rank in members else None

    def mark_failed(self) -> None:
        """Let the process end without waiting for torch's threads, whose messages never come."""
        self._beat.fail()
        atexit.unregister(_end_at_exit)
        atexit.register(_end_at_exit)

    def abort(self) -> None:
        """Give up the group's messages where the backend can; its process may end afterwards."""
        self.mark_failed()
        if not self.posts_late:
            self._close_connections()
            return
        with contextlib.suppress(RuntimeError, AttributeError):
            self._group.abort()


def _end_at_exit() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(_GRACE)
    os._exit(2)
