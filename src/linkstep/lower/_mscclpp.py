"""Print a plan as an MSCCL++ execution plan (JSON): one-sided puts, signals and waits over port channels.

A rank has a threadblock for each channel to each peer. At every step a threadblock puts its messages and signals, waits
for its peer's signal, and meets the rank's other threadblocks at a barrier; then they share the reductions, and meet
again. All start by telling those who will write to them that their buffers are theirs to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from linkstep.lower._program import Message, Place, Plan
from linkstep.lower._targets import Excess, Target
from linkstep.lower._xml import describe, plan_name

_PER_OPERATION = 8  # MAX_CHANNEL_PER_OPERATION of execution_common.hpp
_SOURCES = 10  # that plus MAX_LOCAL_BUFFER_PER_OPERATION
_PORTS, _BUFFERS = 2**10, 2**9 - 3  # bits of their numbers in fifo_device.hpp; three buffers are the rank's own
_OFFSETS = 2**32  # bytes that an offset can tell apart

_NOP = '{"name": "nop"}'


class _Sum(NamedTuple):
    """dst = the sum of sources, ``size`` chunks."""

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
        self.sends = self.receives = False

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

    def meet(self) -> None:
        """Let all threadblocks of the rank wait for each other."""
        barrier = f'{{"name": "barrier", "barrier_id": 0, "num_threadblocks": {len(self.blocks)}}}'
        for block in self.blocks:
            block.ops.append(_NOP if len(self.blocks) == 1 else barrier)


def _open(plan: Plan) -> list[_Gpu]:
    """Make the threadblocks, the copies and the first handshake."""
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    gpus = [_Gpu() for _ in range(plan.num_ranks)]
    used = sorted({(tail[m.link], head[m.link], m.channel) for m in plan.messages})
    for a, b, channel in sorted({(*pair, c) for u, w, c in used for pair in ((u, w), (w, u))}):
        gpus[a].peers.append((b, channel))  # both ends list it: their k-th channels to each other are one
        gpus[a].blocks.append(_Block(len(gpus[a].blocks)))
    for u, w, channel in used:
        gpus[u].block(w, channel).sends = True
        gpus[w].block(u, channel).receives = True
    for gpu in gpus:
        if not gpu.blocks:
            gpu.blocks.append(_Block(-1))
    for copy in plan.copies:
        src, dst = _local(copy.src, copy.count), _local(copy.dst, copy.count)
        gpus[copy.rank].blocks[0].ops.append(f'{{"name": "copy", "src_buff": [{src}], "dst_buff": [{dst}]}}')
    for block in (block for gpu in gpus for block in gpu.blocks):
        block.ops += [_on_channel("signal")] * block.receives + [_on_channel("wait"), _NOP] * block.sends
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
    """Return what a rank has to add up of what a step brought, neighbouring chunks together."""
    cells: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for m in messages:
        if m.base is None:
            continue
        (to, at), (buffer, offset) = m.dst, m.base if m.landing == m.dst else m.landing
        for k in range(m.count):
            cells.setdefault((to, at + k), [(to, at + k)]).append((buffer, offset + k))
    sums: list[_Sum] = []
    following: list[tuple[str, int]] = []
    for dst, sources in sorted(cells.items()):
        if sources == following:
            sums[-1] = sums[-1]._replace(size=sums[-1].size + 1)
        else:
            sums.append(_Sum(Place(*dst), tuple(Place(*p) for p in sources), 1))
        following = [(buffer, offset + 1) for buffer, offset in sources]
    return sums


def _reductions(one: _Sum) -> list[str]:
    """Return the operations of one sum: as many as its sources need."""
    ops: list[str] = []
    rest = list(one.sources[1:])
    while rest:
        some, rest = rest[: _SOURCES - 1], rest[_SOURCES - 1 :]
        ops += [_NOP] * bool(ops)
        src, dst = ", ".join(_local(p, one.size) for p in (one.dst, *some)), _local(one.dst, one.size)
        ops.append(f'{{"name": "re", "src_buff": [{src}], "dst_buff": [{dst}], "reduce_op": "sum"}}')
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


def _gpus(plan: Plan) -> list[_Gpu]:
    gpus = _open(plan)
    for _, group in groupby(plan.messages, key=lambda m: m.step):
        _step(gpus, plan, list(group))
    for block in (block for gpu in gpus for block in gpu.blocks if block.sends):
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


def _largest_message(plan: Plan) -> int:
    """Return the bytes of input (of output in an allgather: what the executor compares) whose offsets all fit."""
    chunks = plan.sizes[0][1 if plan.schedule.collective == "allgather" else 0]
    return _OFFSETS * chunks // max(max(sizes) for sizes in plan.sizes)


def mscclpp_json(plan: Plan, target: Target, min_bytes: int, max_bytes: int) -> tuple[str, list[Excess]]:
    """Return the execution plan of a plan that was made with slots, or the limits that it breaks."""
    gpus = _gpus(plan)
    largest = _largest_message(plan)
    limits = [
        ("channels a rank", _PORTS, max(len(gpu.peers) for gpu in gpus), False),
        ("remote buffers a rank", _BUFFERS, max(len(gpu.remote) for gpu in gpus), False),
        ("bytes of the smallest message", largest, min_bytes, False),
        ("operations a threadblock", target.max_steps, max(len(b.ops) for gpu in gpus for b in gpu.blocks), True),
    ]
    broken = [Excess(what, limit, found, more) for what, limit, found, more in limits if limit and found > limit]
    if broken:
        return "", broken
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
        "max_message_size": min(max_bytes, largest),
    }
    ranks = ",\n".join(_gpu_text(r, gpu, sizes) for r, (gpu, sizes) in enumerate(zip(gpus, plan.sizes, strict=True)))
    return json.dumps(head)[:-1] + f', "gpus": [\n{ranks}\n]}}\n', broken
