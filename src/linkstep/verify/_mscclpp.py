"""MSCCL++ execution plans: one-sided operations ordered by signals, barriers and block-wide syncs (``nop``).

All threads of a block run each operation side by side, and only a ``nop`` or a barrier makes them meet: what a block
did is over, for itself and for whom it signals, at the next one. So every operation but these is stamped with the
``nop`` after it. A put through a port runs beside the block; what ends it is a later signal or flush of its channel.

Memory is written from outside, so races are looked for in two runs, one after the other, with the callers of each rank
using its input and output before, between and after: a put may not come before its target has started nor after its
target has ended, and a second run may not disturb what is left of the first.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from linkstep.verify._collectives import is_divided, sizes
from linkstep.verify._engine import Task, check_plan
from linkstep.verify._plan import NEVER, Plan, PlanBuilder
from linkstep.verify._plusplus import Channel, Op, PlusFile, read_mscclpp
from linkstep.verify._report import Findings, Report

MAX_CHANNELS, MAX_OP_CHANNELS, MAX_OPS = 16, 8, 64
_COLLECTIVES = {
    "allgather": "allgather", "allreduce": "allreduce", "reducescatter": "reduce-scatter",
    "reduce_scatter": "reduce-scatter", "alltoall": "all-to-all", "broadcast": "broadcast", "reduce": "reduce",
}  # fmt: skip
_SIGNALS = ("signal", "rlxsignal", "pws", "pwsf")
_WAITS = ("wait", "rlxwait")
_PUTS = ("put", "pws", "pwsf")
_REDUCES = ("re", "res", "rre", "rres")
_END = Op("nop", "none", (), (), (), -1, 0)
"""What the end of a kernel is to its blocks."""
_KNOWN = ("nop", "barrier", "copy", "get", "flush", *_SIGNALS, *_WAITS, "put", *_REDUCES)


def _check_op(file: PlusFile, op: Op, rank: int, t: int, n: int, findings: Findings) -> None:
    place = (rank, t, n)
    if op.name not in _KNOWN:
        findings.error("unsupported", f"operation {op.name[:40]!r} cannot be verified", *place)
        return
    if max(len(op.channels), len(op.src), len(op.dst)) > MAX_OP_CHANNELS:
        findings.error("channels", f"more than {MAX_OP_CHANNELS} channels or buffers in one operation", *place)
    remote_src = op.name in ("get", "rre", "rres")
    remote_dst = op.name in (*_PUTS, "res", "rres")
    for refs, word in ((op.src, "src"), (op.dst, "dst")):
        for k, (buffer, index, size) in enumerate(refs):
            if buffer < 0:
                findings.error("buffer", f"{word} {k} is no buffer i, o or s", *place)
                continue
            room = file.gpus[buffer // 3].size[buffer % 3]
            if size < 1 or index + size > room:
                findings.error(
                    "bounds", f"{word} {k}, {'ios'[buffer % 3]}[{index}, {index + size}) of rank {buffer // 3}, "
                    f"is outside of its {room} chunks", *place,
                )  # fmt: skip
            first = 0 if op.name in (*_PUTS, "get") else 1
            wants = (remote_src if word == "src" else remote_dst) and k >= first
            if (buffer // 3 != rank) != wants:
                findings.error("buffer", f"{word} {k} of {op.name} must be {'remote' if wants else 'local'}", *place)
    if op.name in (*_PUTS, "get", "copy"):
        _check_copy(op, place, findings)
    elif op.name in _REDUCES:
        reduces = len(op.src) > 1 and len(op.dst) >= 1 and (op.name in ("res", "rres") or len(op.dst) == 1)
        if not reduces or len({size for _, _, size in op.src + op.dst}) > 1:
            findings.error("buffer", f"{op.name} needs sources and destinations of one size", *place)
    elif op.name in (*_SIGNALS, *_WAITS, "flush") and not op.channels:
        findings.error("channels", f"{op.name} without a channel", *place)


def _check_copy(op: Op, place: tuple[int, int, int], findings: Findings) -> None:
    if len(op.src) != len(op.dst) or not op.src or any(a[2] != b[2] for a, b in zip(op.src, op.dst, strict=False)):
        findings.error("buffer", f"{op.name} needs as many sources as destinations, of equal sizes", *place)
        return
    if op.name == "copy" and len(op.src) > 1:
        findings.error("buffer", "copy has one source and one destination", *place)
    if op.name in _PUTS and len({buffer for buffer, _, _ in op.src}) > 1:
        findings.error("buffer", f"{op.name} reads all its sources from the buffer of the first", *place)
    if op.name == "get" and any(a[1] != b[1] for a, b in zip(op.src, op.dst, strict=True)):
        findings.warn("get", "some versions exchange the two offsets of a get: make them equal", *place)
    if op.name in _PUTS:
        if op.kind == "port":
            ends = [c.peer for c in op.channels]
            if ends != [buffer // 3 for buffer, _, _ in op.dst]:
                findings.error("channels", f"{op.name} needs a port channel to the rank of each destination", *place)
        elif op.name != "put":
            findings.error("channels", f"{op.name} runs over port channels only", *place)
    if any(a[0] == b[0] and 0 < abs(a[1] - b[1]) < a[2] for a, b in zip(op.src, op.dst, strict=True)):
        findings.error("overlap", "src and dst overlap in part", *place)


class _Lift:
    """Makes the plan."""

    def __init__(self, file: PlusFile, findings: Findings) -> None:
        self.file, self.findings, self.plan = file, findings, PlanBuilder()
        self.signals: dict[Channel, list[tuple[int, int]]] = defaultdict(list)
        self.waits: dict[Channel, list[tuple[int, int]]] = defaultdict(list)
        """By the channel's own end: (event, threadblock)."""
        self.closing: dict[int, tuple[int, int]] = {}
        """The (chain, number) of the nop after an event."""
        self.barriers: dict[tuple[int, int], dict[int, list[tuple[int, int, int]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.async_puts: list[tuple[int, Channel, int]] = []
        """Put event, channel, the event of the signal that covers it or -1."""
        self.num_chains = 0
        self.ends: dict[int, list[int]] = defaultdict(list)
        """The last event of each block of a rank, in the run being added."""

    def caller(self, rank: int, chain: int, number: int) -> int:
        """Add the use of a rank's input and output by its caller, after all that its blocks did."""
        event = self.plan.event(rank, -1, -1, raises=(chain, number))
        self.plan.edges.extend((end, event) for end in self.ends.pop(rank, []))
        for buffer in range(2):
            whole = (3 * rank + buffer, 0)
            self.plan.move(event, whole, whole, self.file.gpus[rank].size[buffer])
        return event

    def run(self, times: int) -> None:
        """Add all blocks, that many times; between callers if more than once."""
        ranks = range(len(self.file.gpus))
        chains = {}
        if times > 1:
            chains = {rank: rank for rank in ranks}
            self.num_chains = len(ranks)
        for k in range(times):
            for rank in ranks:
                after = self.caller(rank, chains[rank], k + 1) if chains else -1
                for t, ops in enumerate(self.file.gpus[rank].threadblocks):
                    self.threadblock(rank, t, ops, after)
        for rank in chains:
            self.caller(rank, rank, times + 1)
        self.join()

    def threadblock(self, rank: int, t: int, ops: tuple[Op, ...], after: int) -> None:
        """Add a block's events after another: segments of operations, each between two syncs."""
        plan, chain, number = self.plan, self.num_chains, 0
        self.num_chains += 1
        opened, segment = plan.event(rank, t, 0, raises=(chain, 0)), list[int]()
        plan.edges.extend([(after, opened)] if after >= 0 else [])
        previous = opened
        loose: dict[Channel, list[int]] = defaultdict(list)
        synced: dict[Channel, list[int]] = defaultdict(list)
        for n, op in enumerate((*ops, _END)):
            if op.name in ("nop", "barrier"):
                number += 1
                closed = plan.event(rank, t, n, raises=(chain, number))
                plan.edges.extend((e, closed) for e in (opened, *segment))
                plan.waits.append((previous, closed))
                for channel, puts in loose.items():
                    synced[channel] += puts
                loose.clear()
                if op.name == "barrier":
                    number += 1
                    after = plan.event(rank, t, n, raises=(chain, number))
                    plan.edges.append((closed, after))
                    self.barriers[rank, op.barrier][t].append((closed, after, op.num_threadblocks))
                    closed = after
                opened, segment, previous = closed, [], closed
                continue
            stamp = (chain, number + 1)
            event = plan.event(rank, t, n, stamp=stamp)
            self.closing[event] = stamp
            plan.edges.append((opened, event))
            plan.waits.append((previous, event))
            segment.append(event)
            previous = event
            if op.kind == "port" and op.name in _PUTS:
                segment += self._port_puts(op, event, loose)
            else:
                self._moves(op, event)
            if op.name in _SIGNALS:
                for c in op.channels:
                    self.signals[c].append((event, t))
            if op.name in _WAITS:
                for c in op.channels:
                    self.waits[c].append((event, t))
            if op.name in ("signal", "flush"):
                self._end_puts(op, event, synced)
        self.ends[rank].append(opened)

    def _port_puts(self, op: Op, event: int, loose: dict[Channel, list[int]]) -> list[int]:
        """Add the puts that run beside the block; return those that are over at its next sync."""
        flushed = []
        for src, dst, channel in zip(op.src, op.dst, op.channels, strict=True):
            put = self.plan.event(*self.plan.place[event], stamp=(-1, NEVER))
            self.plan.edges.append((event, put))
            self.plan.move(put, dst[:2], src[:2], src[2])
            if op.name == "put":
                loose[channel].append(put)
            else:
                self.async_puts.append((put, channel, event))
            if op.name == "pwsf":
                self.plan.stamp[put] = self.closing[event]
                flushed.append(put)
        return flushed

    def _end_puts(self, op: Op, event: int, synced: dict[Channel, list[int]]) -> None:
        """Let a signal tell the peer, and a flush its own block, of the puts before it on the channel."""
        for channel in op.channels:
            for put in synced.get(channel, []):
                if op.name == "flush":
                    self.plan.edges.append((put, event))
                    if self.plan.stamp[put][0] < 0:
                        self.plan.stamp[put] = self.closing[event]
                else:
                    self.async_puts.append((put, channel, event))

    def _moves(self, op: Op, event: int) -> None:
        plan = self.plan
        if op.name in ("copy", "put", "get"):
            for src, dst in zip(op.src, op.dst, strict=True):
                plan.move(event, dst[:2], src[:2], src[2])
        elif op.name in _REDUCES:
            # The sum is formed in registers: what is written is never read again by the same operation.
            into, size = op.dst[0], op.dst[0][2]
            total = op.src[0][:2]
            for other in op.src[1:]:
                plan.move(event, into[:2], total, size, other[:2])
                total = into[:2]
            for dst in op.dst[1:]:
                plan.move(event, dst[:2], total, size)

    def join(self) -> None:
        """Match signals with waits, and the blocks of each barrier."""
        for (rank, barrier), members in self.barriers.items():
            counts = {len(rows) for rows in members.values()}
            wanted = {row[2] for rows in members.values() for row in rows}
            if len(counts) > 1 or wanted != {len(members)}:
                self.findings.error(
                    "barrier", f"{len(members)} threadblocks meet at barrier {barrier}, it waits for "
                    f"{sorted(wanted)[0]}, or they meet unequally often", rank, min(members),
                )  # fmt: skip
                continue
            for rows in zip(*members.values(), strict=True):
                met = self.plan.event(rank, min(members), self.plan.place[rows[0][0]][2], stamp=(-1, NEVER))
                self.plan.edges += [(row[0], met) for row in rows] + [(met, row[1]) for row in rows]
        heard: dict[tuple[Channel, int], int] = {}
        for channel in sorted(self.signals.keys() | {c.other for c in self.waits}, key=str):
            signals, waits = self.signals.get(channel, []), self.waits.get(channel.other, [])
            self._check_channel(channel, signals, waits)
            for (signal, _), (wait, _) in zip(signals, waits, strict=False):
                self.plan.edges.append((signal, wait))
                heard[channel, signal] = wait
        for put, channel, signal in self.async_puts:
            if (channel, signal) in heard and put not in self.plan.stamp2:
                told = heard[channel, signal]
                self.plan.edges.append((put, told))
                self.plan.stamp2[put] = self.closing[told]

    def _check_channel(self, channel: Channel, signals: list[tuple[int, int]], waits: list[tuple[int, int]]) -> None:
        a, b = channel.rank, channel.peer
        for ends, word in ((signals, "signal"), (waits, "wait")):
            if len({t for _, t in ends}) > 1:
                event = ends[-1][0]
                self.findings.error(
                    "connection", f"two threadblocks {word} on one channel {a} -> {b}", *self.plan.place[event]
                )
        for event, _ in signals[len(waits) :][:1]:
            self.findings.error(
                "matching", f"signal to rank {b} is never waited for: the next run would take it for its own",
                *self.plan.place[event],
            )  # fmt: skip
        for event, _ in waits[len(signals) :][:1]:
            self.findings.error("matching", f"waits for a signal of rank {a} that never comes", *self.plan.place[event])

    def build(self) -> Plan:
        """Return the plan."""
        return self.plan.build(self.num_chains, 0)


def _check_head(file: PlusFile, findings: Findings) -> Task:
    name, n = file.head["collective"], len(file.gpus)
    collective = _COLLECTIVES.get(name, "")
    if file.head["protocol"] not in ("Simple", "LL"):
        findings.error("proto", f"protocol must be Simple or LL, not {file.head['protocol'][:40]!r}")
    if not collective:
        findings.error("coll", f"unknown collective {name[:40]!r}")
    chunks = max(file.gpus[0].size[:2])
    if chunks < 1 or (is_divided(collective) and chunks % n):
        findings.error("chunks", f"{chunks} chunks cannot be divided among {n} ranks")
    low, high = file.head.get("min_message_size", 0), file.head.get("max_message_size", 2**64 - 1)
    if not all(isinstance(x, int) and not isinstance(x, bool) and 0 <= x < 2**64 for x in (low, high)):
        findings.error("window", "min_message_size and max_message_size must be 64-bit numbers")
    elif low > high or high == 0:
        findings.warn("window", f"no message is of {low} to {high} bytes: the plan is never used")
    for rank, gpu in enumerate(file.gpus):
        if gpu.size[:2] != sizes(collective, n, chunks):
            want = sizes(collective, n, chunks)
            findings.error("chunks", f"input and output chunks must be {want}, not {gpu.size[:2]}", rank)
        for t, ops in enumerate(gpu.threadblocks):
            if len(ops) > MAX_OPS:
                findings.error("steps", f"{len(ops)} operations, at most {MAX_OPS} fit", rank, t, MAX_OPS)
            if gpu.num_channels[t] > MAX_CHANNELS:
                findings.error("channels", f"{gpu.num_channels[t]} channels, at most {MAX_CHANNELS} fit", rank, t)
            for k, op in enumerate(ops):
                _check_op(file, op, rank, t, k, findings)
    return Task(collective, n, chunks, np.array([gpu.size[2] for gpu in file.gpus], np.int64))


def verify_mscclpp(text: str) -> Report:
    """Verify the text of an execution plan."""
    file, findings = read_mscclpp(text), Findings()
    task = _check_head(file, findings)
    if not findings.num_errors():
        once, twice = _Lift(file, findings), _Lift(file, Findings())
        once.run(1)
        twice.run(2)
        if not findings.num_errors():
            check_plan(task, once.build(), [file.head["inplace"]], findings, races_in=twice.build())
    return Report(
        dialect="mscclpp", collective=task.collective or file.head["collective"][:40], ranks=task.num_ranks,
        chunks=task.chunks, findings=findings.listed(), dialects=() if findings.num_errors() else ("mscclpp",),
        instructions=sum(len(ops) for gpu in file.gpus for ops in gpu.threadblocks),
    )  # fmt: skip
