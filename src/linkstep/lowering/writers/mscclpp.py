"""Print a placement as an MSCCL++ execution plan (JSON): one-sided puts, signals and waits through port channels.

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

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from linkstep.core.collective import Collective
from linkstep.lowering.limits import Excess
from linkstep.lowering.progress import Meter
from linkstep.lowering.targets import Target
from linkstep.lowering.values import BufferSizes, Message, Place, Placement
from linkstep.lowering.writers.interface import (
    ALIGNMENT,
    MAX_BYTES,
    MAX_SCRATCH,
    FileOptions,
    Window,
    Written,
    most_scratch,
)
from linkstep.lowering.writers.naming import describe, plan_name

_PER_OPERATION = 8  # MAX_CHANNEL_PER_OPERATION of execution_common.hpp
_SOURCES = 10  # that plus MAX_LOCAL_BUFFER_PER_OPERATION
_BUFFERS = 2**9 - 3  # bits of their numbers in fifo_device.hpp; three buffers are the rank's own
_MOST_BYTES = 2**32 - 1  # offsets and sizes are 32 bits, in bytes

_NOP = '{"name": "nop"}'


class _Sum(NamedTuple):
    """dst = the sum of sources, ``size`` chunks; a copy if there is one source."""

    dst: Place
    sources: tuple[Place, ...]
    size: int


def _on_channel(name: str) -> str:
    return f'{{"name": "{name}", "channel_ids": [0], "channel_type": "port"}}'


def _local(place: Place, count: int) -> str:
    return f'{{"type": "{place.buffer}", "index": {place.offset}, "size": {count}}}'


class _Block:
    """A threadblock while it fills: one channel to one peer."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.ops: list[str] = []
        """As JSON text: most operations occur many times."""
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
    def meeting(self) -> str:
        """The operation by which all threadblocks of the rank wait for each other."""
        barrier = f'{{"name": "barrier", "barrier_id": 0, "num_threadblocks": {len(self.blocks)}}}'
        return _NOP if len(self.blocks) == 1 else barrier

    def meet(self) -> None:
        for block in self.blocks:
            block.ops.append(self.meeting)

    def end(self) -> None:
        """Leave out a last barrier that nothing comes after."""
        if all(block.ops and block.ops[-1] == self.meeting for block in self.blocks):
            for block in self.blocks:
                block.ops.pop()


def _landed(placement: Placement) -> Placement:
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
            receiver.ops.append(_on_channel("signal"))
        # The end of an allreduce is an acknowledgement: its sums contain what the first step brought.
        is_told = bool(back - {first}) or placement.collective is Collective.ALLREDUCE
        if lands and first in steps and not is_told:
            sender.is_acknowledged = receiver.acknowledges = True
    return gpus


def _puts(gpu: _Gpu, block: _Block, peer: int, messages: list[Message]) -> Iterator[str]:
    for k in range(0, len(messages), _PER_OPERATION):
        some = messages[k : k + _PER_OPERATION]
        src, dst = [], []
        for m in some:
            landing, buffer = m.landing, block.remote(gpu.remote_buffer(peer, m.landing.buffer))
            src.append(_local(m.src, m.count))
            dst.append(f'{{"buffer_id": {buffer}, "index": {landing.offset}, "size": {m.count}}}')
        yield (
            f'{{"name": "put", "src_buff": [{", ".join(src)}], "dst_buff": [{", ".join(dst)}], '
            f'"channel_ids": {[0] * len(some)}, "channel_type": "port"}}'
        )


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


def _reductions(one: _Sum) -> list[str]:
    """Return the operations of one sum; an operation takes at most ten sources."""
    dst = _local(one.dst, one.size)
    if len(one.sources) == 1:
        return [f'{{"name": "copy", "src_buff": [{_local(one.sources[0], one.size)}], "dst_buff": [{dst}]}}']
    ops: list[str] = []
    so_far, *rest = one.sources
    while rest:
        some, rest = rest[: _SOURCES - 1], rest[_SOURCES - 1 :]
        ops += [_NOP] * bool(ops)
        src = ", ".join(_local(p, one.size) for p in (so_far, *some))
        ops.append(f'{{"name": "re", "src_buff": [{src}], "dst_buff": [{dst}], "reduce_op": "sum"}}')
        so_far = one.dst
    return ops


def _step(gpus: list[_Gpu], placement: Placement, messages: list[Message]) -> None:
    topology = placement.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    by_channel: dict[tuple[int, int, int], list[Message]] = {}
    arrived: list[list[Message]] = [[] for _ in gpus]
    for m in messages:
        by_channel.setdefault((tail[m.link], head[m.link], m.channel), []).append(m)
        arrived[head[m.link]].append(m)
    for (u, w, channel), some in by_channel.items():
        block = gpus[u].block(w, channel)
        block.ops += [_on_channel("wait"), _NOP] * (block.handshake_step == some[0].step)
        block.ops += [*_puts(gpus[u], block, w, some), _NOP, _on_channel("signal")]
    for u, w, channel in by_channel:
        block = gpus[w].block(u, channel)
        block.ops.append(_on_channel("wait"))
    for gpu, some in zip(gpus, arrived, strict=True):
        if not some:
            continue
        gpu.meet()
        sums = _sums(some)
        for one in sums:
            min(gpu.blocks, key=lambda b: len(b.ops)).ops.extend(_reductions(one))
        if sums:
            gpu.meet()


def _gpus(placement: Placement, lands: bool, meter: Meter) -> list[_Gpu]:
    gpus = _open(placement, lands)
    blocks = [block for gpu in gpus for block in gpu.blocks]
    counted = meter.through(placement.messages, len(placement.messages))
    for step, group in groupby(counted, key=lambda m: m.step):
        _step(gpus, placement, list(group))
        for block in blocks:
            block.ops += [_on_channel("signal")] * (block.acknowledges and step == placement.messages[0].step)
    for gpu in gpus:
        gpu.end()
    for block in (block for block in blocks if block.sends):
        block.ops += [_on_channel("wait")] * block.is_acknowledged
        # Without a flush the caller could change the input while a put still reads it. The executor flushes as many
        # channels as the operation has outputs (handleFlush of execution_kernel.hpp), so it gets one; it is not used.
        block.ops.append(_on_channel("flush")[:-1] + f', "dst_buff": [{_local(Place("o", 0), 1)}]}}')
    return gpus


def _gpu_text(rank: int, gpu: _Gpu, sizes: BufferSizes) -> str:
    """Return a rank as JSON, one operation on each line."""
    i, o, s = sizes
    blocks = []
    for tb, block in enumerate(gpu.blocks):
        ops = ",\n".join(block.ops)
        channels = [{"channel_type": "port", "channel_ids": [block.channel]}] if block.channel >= 0 else []
        refs = [{"access_channel_type": "port", "remote_buffer_ids": block.buffers}] if block.buffers else []
        rest = f'"channels": {json.dumps(channels)}, "remote_buffer_refs": {json.dumps(refs)}'
        blocks.append(f'{{"id": {tb}, "ops": [\n{ops}\n], {rest}}}')
    peers = [peer for peer, _ in gpu.peers]
    channels = [{"channel_type": "port", "connected_to": peers}] if peers else []
    remote = [{"rank": r, "type": b, "access_channel_types": ["port"]} for r, b in gpu.remote]
    return (
        f'{{"id": {rank}, "input_chunks": {i}, "output_chunks": {o}, "scratch_chunks": {s}, "threadblocks": [\n'
        + ",\n".join(blocks)
        + f'\n], "channels": {json.dumps(channels)}, "remote_buffers": {json.dumps(remote)}, "semaphores": []}}'
    )


def _whole(size: int, placement: Placement) -> int:
    """Return the largest size of data up to this one that the executor takes: chunks are multiples of 16 bytes."""
    unit = ALIGNMENT * placement.num_chunks
    return size // unit * unit


def _largest_message(placement: Placement) -> int:
    """Return the most bytes of data for which all offsets and sizes fit, those of a whole buffer too."""
    most_chunks = max(max(sizes) for sizes in placement.sizes)
    return _whole(_MOST_BYTES * placement.num_chunks // most_chunks, placement)


def _window(placement: Placement, options: FileOptions) -> Window:
    """Return the window asked for, or the default, as far as sizes fit.

    The executor sizes scratch by the allocation that holds the send buffer, cut at the window's end: it may be as much
    for a small call in a large pool as for the largest call.
    """
    largest = options.max_bytes
    if largest is None:
        scratch, input_chunks = most_scratch(placement.sizes), placement.sizes[0].input
        largest = _whole(MAX_SCRATCH // scratch * input_chunks if scratch else MAX_BYTES, placement)
        largest = max(largest, _whole(options.min_bytes, placement) + ALIGNMENT * placement.num_chunks)
    return Window(options.min_bytes, min(largest, _largest_message(placement)))


def _exceeded(placement: Placement, gpus: list[_Gpu], target: Target, min_bytes: int) -> tuple[Excess, ...]:
    limits = [
        ("channels of a rank", target.max_channels, max(len(gpu.peers) for gpu in gpus), False),
        ("remote buffers of a rank", _BUFFERS, max(len(gpu.remote) for gpu in gpus), False),
        ("bytes of the smallest message", _largest_message(placement), min_bytes, False),
        ("operations of a threadblock", target.max_steps, max(len(b.ops) for gpu in gpus for b in gpu.blocks), True),
    ]
    return tuple(Excess(what, limit, found, more) for what, limit, found, more in limits if limit and found > limit)


def write_mscclpp(placement: Placement, target: Target, options: FileOptions, meter: Meter) -> Written:
    """Return the execution plan of a placement that was made with slots.

    A schedule of one step has no later signal that could serve as the handshake, so it gains nothing by arriving in
    scratch; and where that would exceed a limit it is left out as well.
    """
    lands = len({m.step for m in placement.messages}) > 1
    made = _landed(placement) if lands else placement
    gpus = _gpus(made, lands, meter)
    exceeded = _exceeded(made, gpus, target, options.min_bytes)
    if lands and exceeded:
        made, gpus = placement, _gpus(placement, False, meter)
        exceeded = _exceeded(made, gpus, target, options.min_bytes)
    window = _window(made, options)
    if exceeded:
        return Written("", made, None, window, exceeded)
    name, text = _json(made, gpus, target, window)
    return Written(text, made, None, window, name=name)


def _json(placement: Placement, gpus: list[_Gpu], target: Target, window: Window) -> tuple[str, str]:
    """Return the plan's name and its text."""
    head: dict[str, object] = {
        "collective": target.collectives[placement.collective],
        "protocol": "Simple",
        "inplace": placement.inplace,
        "reuse_resources": False,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": ALIGNMENT,
        "min_message_size": window.smallest,
        "max_message_size": window.largest,
    }
    if placement.root >= 0:
        head["root"] = placement.root  # the runtime does not read it, but what selects a plan can
    ranks = enumerate(zip(gpus, placement.sizes, strict=True))
    program = ",\n".join(_gpu_text(rank, gpu, sizes) for rank, (gpu, sizes) in ranks)
    name = plan_name(placement, head, program)
    named = {"name": name, "linkstep": describe(placement)} | head
    return name, json.dumps(named)[:-1] + f', "gpus": [\n{program}\n]}}\n'
