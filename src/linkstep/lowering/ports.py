"""From a placement to threadblocks of MSCCL++: one-sided puts, signals and waits through port channels.

A rank has one threadblock for each channel to each peer. At every step a threadblock puts its messages and signals,
waits for the signal of its peer, and meets the other threadblocks of the rank at a barrier. Then they share the
reductions of the step and meet at a second barrier.

A put writes to another rank's memory, and that rank's input and output may be written only once its caller has handed
them over. So a receiver sends a *handshake* signal when it starts, and the sender waits for it before its first put. At
the first step that wait would cost a latency. Its messages therefore go without a handshake to scratch, which no caller
owns. In the next run they would overwrite that scratch, so the receiver *acknowledges* that it has read it, and the
sender waits for the acknowledgement at the end of its run. Any other signal on the channel that comes early enough
serves as the handshake, and any later one as the acknowledgement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from linkstep.core.collective import Collective
from linkstep.lowering.progress import SILENT, Meter
from linkstep.lowering.values import BufferSizes, Message, Place, Placement

_PER_OPERATION = 8  # MAX_CHANNEL_PER_OPERATION of execution_common.hpp
_SOURCES = 10  # that plus MAX_LOCAL_BUFFER_PER_OPERATION


class Piece(NamedTuple):
    """Chunks in a row of a buffer of the rank itself, or of a peer if the threadblock has a number for it."""

    place: Place
    chunks: int
    remote: int = -1
    """The threadblock's number for the peer's buffer; -1 where the piece is the rank's own."""


class Operation(NamedTuple):
    """One operation of a threadblock, by MSCCL++'s name.

    ``put``, ``signal``, ``wait`` and ``flush`` are on the threadblock's channel; ``copy`` and ``re`` (dst = the sum of
    src) are local; ``nop`` and ``barrier`` synchronise.
    """

    name: str
    src: tuple[Piece, ...] = ()
    dst: tuple[Piece, ...] = ()
    num_blocks: int = 0
    """How many threadblocks meet at a barrier."""


@dataclass(frozen=True)
class PortBlock:
    """A threadblock: its operations, its channel (-1: none) and the remote buffers of the rank that it reaches."""

    channel: int
    operations: tuple[Operation, ...]
    buffers: tuple[int, ...]


@dataclass(frozen=True)
class PortRank:
    """A rank: the peer behind each channel, its threadblocks, and the buffers of peers as (rank, letter)."""

    peers: tuple[int, ...]
    blocks: tuple[PortBlock, ...]
    remote: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class PortProgram:
    """A placement as threadblocks of each rank that put, signal and wait; a threadblock's id is its position."""

    placement: Placement
    ranks: tuple[PortRank, ...]

    @property
    def sizes(self) -> tuple[BufferSizes, ...]:
        """Chunks of each rank's buffers."""
        return self.placement.sizes


class _Sum(NamedTuple):
    """dst = the sum of sources, ``size`` chunks; a copy if there is one source."""

    dst: Place
    sources: tuple[Place, ...]
    size: int


_NOP, _SIGNAL, _WAIT = (Operation(name) for name in ("nop", "signal", "wait"))
# Without a flush the caller could change the input while a put still reads it. The executor flushes as many channels as
# the operation has outputs (handleFlush of execution_kernel.hpp), so it gets one; it is not used.
_FLUSH = Operation("flush", dst=(Piece(Place("o", 0), 1),))


class _Block:
    """A threadblock while it fills: one channel to one peer."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.ops: list[Operation] = []
        self.buffers: list[int] = []
        self.sends = False
        self.handshake_step = -1
        """The step before which it waits for the peer's handshake; -1 for none."""
        self.acknowledges = self.is_acknowledged = False
        """Whether it acknowledges to the peer what the first step brought, and whether the peer does so to it."""

    def remote(self, buffer: int) -> int:
        """Return this threadblock's number for a remote buffer of its rank."""
        if buffer not in self.buffers:
            self.buffers.append(buffer)
        return self.buffers.index(buffer)


class _Gpu:
    """A rank while it fills."""

    def __init__(self) -> None:
        self.peers: list[tuple[int, int]] = []
        self.blocks: list[_Block] = []
        self.remote: list[tuple[int, str]] = []

    def block(self, peer: int, channel: int) -> _Block:
        return self.blocks[self.peers.index((peer, channel))]

    def remote_buffer(self, peer: int, buffer: str) -> int:
        if (peer, buffer) not in self.remote:
            self.remote.append((peer, buffer))
        return self.remote.index((peer, buffer))

    @property
    def meeting(self) -> Operation:
        """The operation by which all threadblocks of the rank wait for each other."""
        return _NOP if len(self.blocks) == 1 else Operation("barrier", num_blocks=len(self.blocks))

    def meet(self) -> None:
        meeting = self.meeting
        for block in self.blocks:
            block.ops.append(meeting)

    def end(self) -> None:
        """Leave out a last barrier that nothing comes after."""
        meeting = self.meeting
        if all(block.ops and block.ops[-1] == meeting for block in self.blocks):
            for block in self.blocks:
                block.ops.pop()


def has_later_steps(placement: Placement) -> bool:
    """Whether there is more than one step: without, no later signal could serve as the handshake."""
    return len({m.step for m in placement.messages}) > 1


def land_first_step(placement: Placement) -> Placement:
    """Let all messages of the first step arrive in scratch, in the order of the places they belong to."""
    head = placement.schedule.topology.head.tolist()
    size = [sizes.scratch for sizes in placement.sizes]
    messages = list(placement.messages)
    first = [k for k, m in enumerate(messages) if m.step == messages[0].step and m.slot is None]
    for k in sorted(first, key=lambda k: messages[k].dst):
        m, rank = messages[k], head[messages[k].link]
        messages[k] = replace(m, slot=Place("s", size[rank]))
        size[rank] += m.count
    sizes = tuple(old._replace(scratch=scratch) for old, scratch in zip(placement.sizes, size, strict=True))
    return replace(placement, sizes=sizes, messages=tuple(messages))


def _open(placement: Placement, lands: bool) -> list[_Gpu]:
    """Make the threadblocks with their copies and handshakes."""
    topology = placement.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    gpus = [_Gpu() for _ in range(placement.num_ranks)]
    used: dict[tuple[int, int, int], set[int]] = {}
    for m in placement.messages:
        used.setdefault((tail[m.link], head[m.link], m.channel), set()).add(m.step)
    for a, b, channel in sorted({(*pair, c) for u, w, c in used for pair in ((u, w), (w, u))}):
        gpus[a].peers.append((b, channel))  # both ends list it: their k-th channels to each other are one
        gpus[a].blocks.append(_Block(len(gpus[a].blocks)))
    for gpu in gpus:
        if not gpu.blocks:
            gpu.blocks.append(_Block(-1))
    for copy in placement.copies:
        gpus[copy.rank].blocks[0].ops += _reductions(_Sum(copy.dst, (copy.src,), copy.count))
    first = placement.messages[0].step if placement.messages else 0
    for u, w, channel in sorted(used):
        sender, receiver = gpus[u].block(w, channel), gpus[w].block(u, channel)
        steps, back = used[u, w, channel], used.get((w, u, channel), set())
        sender.sends = True
        needed = min(steps - {first} if lands else steps, default=-1)
        if needed >= 0 and min(back, default=needed) >= needed:
            sender.handshake_step = needed
            receiver.ops.append(_SIGNAL)
        # The end of an allreduce is an acknowledgement: its sums contain what the first step brought.
        is_told = bool(back - {first}) or placement.collective is Collective.ALLREDUCE
        if lands and first in steps and not is_told:
            sender.is_acknowledged = receiver.acknowledges = True
    return gpus


def _puts(gpu: _Gpu, block: _Block, peer: int, messages: list[Message]) -> Iterator[Operation]:
    for k in range(0, len(messages), _PER_OPERATION):
        some = messages[k : k + _PER_OPERATION]
        src, dst = [], []
        for m in some:
            landing = m.landing
            src.append(Piece(m.src, m.count))
            dst.append(Piece(landing, m.count, block.remote(gpu.remote_buffer(peer, landing.buffer))))
        yield Operation("put", tuple(src), tuple(dst))


def _sums(messages: list[Message]) -> list[_Sum]:
    """Return the local work of a rank after a step: copies one by one, and sums, of which neighbours are joined."""
    sums = [_Sum(m.dst, (m.slot,), m.count) for m in messages if m.base is None and m.slot is not None]
    cells: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for m in messages:
        if m.base is None:
            continue
        (own, start), (buffer, offset) = (m.dst, m.base) if m.slot is None else (m.base, m.slot)
        for k in range(m.count):
            to = (m.dst.buffer, m.dst.offset + k)
            cells.setdefault(to, [(own, start + k)]).append((buffer, offset + k))
    last: tuple[str, int] | None = None
    following: list[tuple[str, int]] = []
    for dst, sources in sorted(cells.items()):
        if dst == last and sources == following:
            sums[-1] = sums[-1]._replace(size=sums[-1].size + 1)
        else:
            sums.append(_Sum(Place(*dst), tuple(Place(*p) for p in sources), 1))
        last, following = (dst[0], dst[1] + 1), [(buffer, offset + 1) for buffer, offset in sources]
    return sums


def _reductions(one: _Sum) -> list[Operation]:
    """Return the operations of one sum; an operation takes at most ten sources."""
    dst = (Piece(one.dst, one.size),)
    if len(one.sources) == 1:
        return [Operation("copy", (Piece(one.sources[0], one.size),), dst)]
    ops: list[Operation] = []
    so_far, *rest = one.sources
    while rest:
        some, rest = rest[: _SOURCES - 1], rest[_SOURCES - 1 :]
        ops += [_NOP] * bool(ops)
        ops.append(Operation("re", tuple(Piece(p, one.size) for p in (so_far, *some)), dst))
        so_far = one.dst
    return ops


def _step(gpus: list[_Gpu], placement: Placement, messages: list[Message]) -> None:
    """Add the puts, signals and waits of a step, then its sums, each to the threadblock that has the least to do."""
    topology = placement.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    by_channel: dict[tuple[int, int, int], list[Message]] = {}
    arrived: list[list[Message]] = [[] for _ in gpus]
    for m in messages:
        by_channel.setdefault((tail[m.link], head[m.link], m.channel), []).append(m)
        arrived[head[m.link]].append(m)
    for (u, w, channel), some in by_channel.items():
        block = gpus[u].block(w, channel)
        block.ops += [_WAIT, _NOP] * (block.handshake_step == some[0].step)
        block.ops += [*_puts(gpus[u], block, w, some), _NOP, _SIGNAL]
    for u, w, channel in by_channel:
        gpus[w].block(u, channel).ops.append(_WAIT)
    for gpu, some in zip(gpus, arrived, strict=True):
        if not some:
            continue
        gpu.meet()
        sums = _sums(some)
        for one in sums:
            min(gpu.blocks, key=lambda b: len(b.ops)).ops.extend(_reductions(one))
        if sums:
            gpu.meet()


def build_ports(placement: Placement, lands: bool, meter: Meter = SILENT) -> PortProgram:
    """Return the threadblocks of a placement that was made with slots.

    With ``lands``, its first step arrives in scratch (``land_first_step``) and needs no handshake.
    """
    gpus = _open(placement, lands)
    blocks = [block for gpu in gpus for block in gpu.blocks]
    counted = meter.through(placement.messages, len(placement.messages))
    for step, group in groupby(counted, key=lambda m: m.step):
        _step(gpus, placement, list(group))
        for block in blocks:
            block.ops += [_SIGNAL] * (block.acknowledges and step == placement.messages[0].step)
    for gpu in gpus:
        gpu.end()
    for block in (block for block in blocks if block.sends):
        block.ops += [*[_WAIT] * block.is_acknowledged, _FLUSH]
    return PortProgram(placement, tuple(_frozen(gpu) for gpu in gpus))


def _frozen(gpu: _Gpu) -> PortRank:
    blocks = tuple(PortBlock(b.channel, tuple(b.ops), tuple(b.buffers)) for b in gpu.blocks)
    return PortRank(tuple(peer for peer, _ in gpu.peers), blocks, tuple(gpu.remote))
