"""Print a plan as an MSCCL++ execution plan (JSON): one-sided puts, signals and waits over port channels.

A rank has a threadblock for each channel to each peer. At every step a threadblock puts its messages and signals, waits
for its peer's signal, and meets the rank's other threadblocks at a barrier; then they share the reductions, and meet
again.

Buffers may be written from outside once their owner's caller has given them, so who will be written to says hello when
it starts, and is waited for. The first step would lose a latency by that, so what it brings lands in scratch, which no
caller gives: there it stays in use until it is taken, and who put it waits for that at its end, for the sake of the
next run. Any other signal that comes in time does for a hello, and any later one of that channel says that it is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from linkstep.lowering.targets import Excess, Target
from linkstep.lowering.values import Message, Place, Plan
from linkstep.lowering.writers.msccl import describe, plan_name

_PER_OPERATION = 8  # MAX_CHANNEL_PER_OPERATION of execution_common.hpp
_SOURCES = 10  # that plus MAX_LOCAL_BUFFER_PER_OPERATION
_PORTS, _BUFFERS = 2**10, 2**9 - 3  # bits of their numbers in fifo_device.hpp; three buffers are the rank's own
_OFFSETS = 2**32  # bytes that an offset can tell apart

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
        """As JSON, since most are written more than once."""
        self.buffers: list[int] = []
        self.sends = False
        self.asks = -1
        """The step before which it waits for the peer's hello; -1 for none."""
        self.takes = self.is_taken = False
        """Whether it tells the peer that what the first step brought is taken, and whether the peer tells it so."""

    def remote(self, buffer: int) -> int:
        """Return the number this threadblock knows a remote buffer of its rank by."""
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
        """The operation that lets all threadblocks of the rank wait for each other."""
        barrier = f'{{"name": "barrier", "barrier_id": 0, "num_threadblocks": {len(self.blocks)}}}'
        return _NOP if len(self.blocks) == 1 else barrier

    def meet(self) -> None:
        for block in self.blocks:
            block.ops.append(self.meeting)

    def end(self) -> None:
        """Leave out a last meeting, after which nobody does anything."""
        if all(block.ops and block.ops[-1] == self.meeting for block in self.blocks):
            for block in self.blocks:
                block.ops.pop()


def _landed(plan: Plan) -> Plan:
    """Give all that the first step brings a place in scratch, in the order of where it belongs."""
    head = plan.schedule.topology.head.tolist()
    size = [s for _, _, s in plan.sizes]
    messages = list(plan.messages)
    first = [k for k, m in enumerate(messages) if m.step == messages[0].step and m.slot is None]
    for k in sorted(first, key=lambda k: messages[k].dst):
        m, rank = messages[k], head[messages[k].link]
        messages[k] = replace(m, slot=Place("s", size[rank]))
        size[rank] += m.count
    sizes = tuple((i, o, s) for (i, o, _), s in zip(plan.sizes, size, strict=True))
    return replace(plan, sizes=sizes, messages=tuple(messages))


def _open(plan: Plan, lands: bool) -> list[_Gpu]:
    """Make the threadblocks, the copies and the hellos."""
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    gpus = [_Gpu() for _ in range(plan.num_ranks)]
    used: dict[tuple[int, int, int], set[int]] = {}
    for m in plan.messages:
        used.setdefault((tail[m.link], head[m.link], m.channel), set()).add(m.step)
    for a, b, channel in sorted({(*pair, c) for u, w, c in used for pair in ((u, w), (w, u))}):
        gpus[a].peers.append((b, channel))  # both ends list it: their k-th channels to each other are one
        gpus[a].blocks.append(_Block(len(gpus[a].blocks)))
    for gpu in gpus:
        if not gpu.blocks:
            gpu.blocks.append(_Block(-1))
    for copy in plan.copies:
        gpus[copy.rank].blocks[0].ops += _reductions(_Sum(copy.dst, (copy.src,), copy.count))
    first = plan.messages[0].step if plan.messages else 0
    for u, w, channel in sorted(used):
        sender, receiver = gpus[u].block(w, channel), gpus[w].block(u, channel)
        steps, back = used[u, w, channel], used.get((w, u, channel), set())
        sender.sends = True
        asks = min(steps - {first} if lands else steps, default=-1)
        if asks >= 0 and min(back, default=asks) >= asks:
            sender.asks = asks
            receiver.ops.append(_on_channel("signal"))
        # What an allreduce brings at first is in the sums that come back in the end.
        if lands and first in steps and not back - {first} and plan.schedule.collective != "allreduce":
            sender.is_taken = receiver.takes = True
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
    """Return what a rank has to do with what a step brought: copies as they came, sums of neighbours together."""
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
    """Return the operations of one sum: as many as its sources need."""
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


def _step(gpus: list[_Gpu], plan: Plan, messages: list[Message]) -> None:
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    by_channel: dict[tuple[int, int, int], list[Message]] = {}
    arrived: list[list[Message]] = [[] for _ in gpus]
    for m in messages:
        by_channel.setdefault((tail[m.link], head[m.link], m.channel), []).append(m)
        arrived[head[m.link]].append(m)
    for (u, w, channel), some in by_channel.items():
        block = gpus[u].block(w, channel)
        block.ops += [_on_channel("wait"), _NOP] * (block.asks == some[0].step)
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


def _gpus(plan: Plan, lands: bool) -> list[_Gpu]:
    gpus = _open(plan, lands)
    blocks = [block for gpu in gpus for block in gpu.blocks]
    for step, group in groupby(plan.messages, key=lambda m: m.step):
        _step(gpus, plan, list(group))
        for block in blocks:
            block.ops += [_on_channel("signal")] * (block.takes and step == plan.messages[0].step)
    for gpu in gpus:
        gpu.end()
    for block in (block for block in blocks if block.sends):
        block.ops += [_on_channel("wait")] * block.is_taken
        # Or the input could be changed while a put still reads it. The executor flushes as many channels as the
        # operation has outputs (handleFlush of execution_kernel.hpp), so it gets one, which nothing touches.
        block.ops.append(_on_channel("flush")[:-1] + f', "dst_buff": [{_local(Place("o", 0), 1)}]}}')
    return gpus


def _gpu_text(rank: int, gpu: _Gpu, sizes: tuple[int, int, int]) -> str:
    """Return a rank as JSON with one operation a line."""
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


def largest_message(plan: Plan) -> int:
    """Return the bytes of input (of output in an allgather: what the executor compares) whose offsets all fit."""
    chunks = plan.sizes[0][1 if plan.schedule.collective == "allgather" else 0]
    return _OFFSETS * chunks // max(max(sizes) for sizes in plan.sizes)


def _broken(plan: Plan, gpus: list[_Gpu], target: Target, min_bytes: int) -> list[Excess]:
    limits = [
        ("channels a rank", _PORTS, max(len(gpu.peers) for gpu in gpus), False),
        ("remote buffers a rank", _BUFFERS, max(len(gpu.remote) for gpu in gpus), False),
        ("bytes of the smallest message", largest_message(plan), min_bytes, False),
        ("operations a threadblock", target.max_steps, max(len(b.ops) for gpu in gpus for b in gpu.blocks), True),
    ]
    return [Excess(what, limit, found, more) for what, limit, found, more in limits if limit and found > limit]


def mscclpp_json(plan: Plan, target: Target, min_bytes: int, max_bytes: int) -> tuple[str, Plan, list[Excess]]:
    """Return the execution plan of a plan that was made with slots, that plan as printed, and the limits it breaks.

    With one step there is no later one by which a hello could have come, and nothing to gain by landing in scratch.
    """
    lands = len({m.step for m in plan.messages}) > 1
    made = _landed(plan) if lands else plan
    gpus = _gpus(made, lands)
    broken = _broken(made, gpus, target, min_bytes)
    if lands and broken:
        made, gpus = plan, _gpus(plan, False)
        broken = _broken(made, gpus, target, min_bytes)
    if broken:
        return "", made, broken
    head = {
        "name": plan_name(plan),
        "linkstep": describe(plan),
        "collective": target.collectives[plan.schedule.collective],
        "protocol": "Simple",
        "inplace": plan.inplace,
        "reuse_resources": False,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": min_bytes,
        "max_message_size": min(max_bytes, largest_message(made)),
    }
    ranks = ",\n".join(_gpu_text(r, gpu, sizes) for r, (gpu, sizes) in enumerate(zip(gpus, made.sizes, strict=True)))
    return json.dumps(head)[:-1] + f', "gpus": [\n{ranks}\n]}}\n', made, broken
