"""Print a plan as an MSCCL++ execution plan (JSON): one-sided puts, signals and waits over port channels.

A rank has a threadblock for each channel to each peer. At every step a threadblock puts its messages and signals, waits
for its peer's signal, and meets the rank's other threadblocks at a barrier; then they share the reductions, and meet
again. All start by telling those who will write to them that their buffers are theirs to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from linkstep.lower._program import Message, Place, Plan
from linkstep.lower._targets import Excess, Target
from linkstep.lower._xml import describe, plan_name

_PER_OPERATION = 8  # MAX_CHANNEL_PER_OPERATION of execution_common.hpp
_SOURCES = 10  # that plus MAX_LOCAL_BUFFER_PER_OPERATION
_CHANNELS = 255  # channel and buffer numbers are uint8

Op = dict[str, Any]


class _Sum(NamedTuple):
    """dst = the sum of sources, ``size`` chunks."""

    dst: Place
    sources: tuple[Place, ...]
    size: int


class _Block:
    """A threadblock while it fills: one channel to one peer."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.ops: list[Op] = []
        self.buffers: list[int] = []
        self.sends = self.receives = False

    def on_channel(self, name: str) -> Op:
        return {"name": name, "channel_ids": [0], "channel_type": "port"}

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
        alone = len(self.blocks) == 1
        barrier: Op = {"name": "barrier", "barrier_id": 0, "num_threadblocks": len(self.blocks)}
        for block in self.blocks:
            block.ops.append({"name": "nop"} if alone else barrier)


def _local(place: Place, count: int) -> Op:
    return {"type": place.buffer, "index": place.offset, "size": count}


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
        fields = {"src_buff": [_local(copy.src, copy.count)], "dst_buff": [_local(copy.dst, copy.count)]}
        gpus[copy.rank].blocks[0].ops.append({"name": "copy", **fields})
    for block in (block for gpu in gpus for block in gpu.blocks):
        block.ops += [block.on_channel("signal")] * block.receives + [block.on_channel("wait")] * block.sends
        block.ops += [{"name": "nop"}] * block.sends
    return gpus


def _puts(gpu: _Gpu, block: _Block, peer: int, messages: list[Message]) -> Iterator[Op]:
    batches = []
    for buffer in sorted({m.src.buffer for m in messages}):  # one operation reads one buffer
        same = [m for m in messages if m.src.buffer == buffer]
        batches += [same[k : k + _PER_OPERATION] for k in range(0, len(same), _PER_OPERATION)]
    for some in batches:
        remote = [block.remote(gpu.remote_buffer(peer, m.landing.buffer)) for m in some]
        yield {
            "name": "put",
            "src_buff": [_local(m.src, m.count) for m in some],
            "dst_buff": [
                {"buffer_id": b, "index": m.landing.offset, "size": m.count} for b, m in zip(remote, some, strict=True)
            ],
            "channel_ids": [0] * len(some),
            "channel_type": "port",
        }


def _sums(messages: list[Message]) -> list[_Sum]:
    """Return what a rank has to add up of what a step brought, neighbouring chunks together."""
    cells: dict[Place, list[Place]] = {}
    for m in messages:
        for k in range(m.count if m.base is not None else 0):
            assert m.base is not None
            dst = m.dst.after(k)
            added = (m.base if m.landing == m.dst else m.landing).after(k)
            cells.setdefault(dst, [dst]).append(added)
    sums: list[_Sum] = []
    for dst, sources in sorted(cells.items()):
        last = sums[-1] if sums else None
        if last is not None and [p.after(last.size) for p in last.sources] == sources:
            sums[-1] = last._replace(size=last.size + 1)
        else:
            sums.append(_Sum(dst, tuple(sources), 1))
    return sums


def _reductions(one: _Sum) -> list[Op]:
    """Return the operations of one sum: as many as its sources need."""
    ops: list[Op] = []
    rest = list(one.sources[1:])
    while rest:
        some, rest = rest[: _SOURCES - 1], rest[_SOURCES - 1 :]
        ops += [{"name": "nop"}] * bool(ops)
        sources = [_local(p, one.size) for p in (one.dst, *some)]
        ops.append({"name": "re", "src_buff": sources, "dst_buff": [_local(one.dst, one.size)], "reduce_op": "sum"})
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
        block.ops += [*_puts(gpus[u], block, w, some), {"name": "nop"}, block.on_channel("signal")]
    for u, w, channel in by_channel:
        block = gpus[w].block(u, channel)
        block.ops.append(block.on_channel("wait"))
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
        block.ops.append(block.on_channel("flush") | {"dst_buff": [_local(Place("o", 0), 1)]})
    return gpus


def _gpu_text(rank: int, gpu: _Gpu, sizes: tuple[int, int, int]) -> str:
    """Return a rank as JSON with one operation a line."""
    i, o, s = sizes
    blocks = []
    for tb, block in enumerate(gpu.blocks):
        ops = ",\n".join(json.dumps(op) for op in block.ops)
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


def mscclpp_json(plan: Plan, target: Target, min_bytes: int, max_bytes: int) -> tuple[str, list[Excess]]:
    """Return the execution plan of a plan that was made with slots, and the limits it breaks."""
    gpus = _gpus(plan)
    ops = max(len(block.ops) for gpu in gpus for block in gpu.blocks)
    buffers = max(len(gpu.remote) for gpu in gpus)
    broken = [
        Excess("channels and remote buffers a rank", _CHANNELS, found)
        for found in (max(max(len(gpu.blocks) for gpu in gpus), buffers),)
        if found > _CHANNELS
    ]
    assert target.max_steps is not None
    if ops > target.max_steps:
        broken.append(Excess("operations a threadblock", target.max_steps, ops, True))
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
        "max_message_size": max_bytes,
    }
    ranks = ",\n".join(_gpu_text(r, gpu, sizes) for r, (gpu, sizes) in enumerate(zip(gpus, plan.sizes, strict=True)))
    return json.dumps(head)[:-1] + f', "gpus": [\n{ranks}\n]}}\n', broken
