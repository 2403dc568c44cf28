"""Events of an MSCCL++ execution plan: one-sided operations, and the signals, packets and barriers between them.

The threads of a threadblock run each operation side by side and do not wait for each other between operations: only a
``nop`` (a block-wide synchronisation) or a barrier makes them wait. So what a threadblock did is complete, for itself
and for those it signals, at its next synchronisation, which is the mark at which its operations end. A put through a
port runs beside the threadblock: it ends at a later signal, for the receiver, or at a flush of its channel, for its own
rank.

A packet carries the flag of its run beside its data, and its reader waits for that flag. This orders the two in time,
so whatever was read before is complete; but of what was written before only the packet itself need be visible. A
relaxed signal does the same. Since threads do not wait for each other, each chunk of a packet operation is an event of
its own, complete for the threadblock that reads what it wrote.

One run is described here; ``runs`` puts several in a row.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from linkstep.programs.events import NEVER, Events, EventsBuilder
from linkstep.programs.findings import Findings, UnverifiableError
from linkstep.programs.memory import KINDS, LETTERS, SCRATCH
from linkstep.programs.mscclpp.reader import NOP, Channel, ExecutionPlan, Op, Ref
from linkstep.programs.mscclpp.rules import PACKETS, PUTS, SHAPES, SIGNALS, WAITS, letter

_REDUCES = ("re", "res", "rre", "rres")
_SYNCS = ("nop", "barrier")
_MAX_EVENTS = 2**22
Key = tuple[int, int, str, int]
Puts = dict[Channel, list[int]]
"""Puts through ports, by their channel."""


class PlanEvents:
    """Makes the events of one run."""

    def __init__(self, file: ExecutionPlan, findings: Findings) -> None:
        self.file, self.findings = file, findings
        self.made, self.num_chains = EventsBuilder(), 0
        self.signals: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        self.waiting: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        """By the channel's own end: (event, threadblock)."""
        self.relaxed: set[int] = set()
        self.barriers: dict[tuple[int, int], dict[int, list[tuple[int, int, int]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.async_puts: list[tuple[int, Channel, int]] = []
        """Put event, channel, the event of a signal that covers it."""
        self.packets: dict[tuple[int, int], list[int]] = defaultdict(list)
        """The events that write a packet, by (buffer, chunk)."""
        self.packet_reads: list[tuple[int, int, int]] = []
        self.first: list[tuple[int, int]] = []
        """The (rank, event) with which each threadblock begins, and that with which it ends."""
        self.last: list[tuple[int, int]] = []
        for rank, gpu in enumerate(file.gpus):
            for t, ops in enumerate(gpu.threadblocks):
                self._threadblock(rank, t, ops)
        self._join_barriers()
        self._join_packets()
        self._join_signals()

    def events(self) -> Events:
        """Return what was made."""
        return self.made.build(self.num_chains, packets=np.unique([b for b, _ in self.packets]).astype(np.int64))

    def _threadblock(self, rank: int, t: int, ops: tuple[Op, ...]) -> None:
        """Add a threadblock's events: segments of operations, each between two synchronisations."""
        made, edges, waits, chain, number = self.made, self.made.edges, self.made.waits, self.num_chains, 0
        self.num_chains += 1
        opened, segment = made.event(rank, t, 0, (chain, 0), (chain, 0)), list[int]()
        self.first.append((rank, opened))
        previous = opened
        loose: Puts = {}
        synced: Puts = {}
        for n, op in enumerate((*ops, NOP)):
            name = op.name
            if name in _SYNCS:
                number += 1
                closed = made.event(rank, t, n, (chain, number), (chain, number))
                for e in (opened, *segment):
                    edges += (e, closed)
                waits += (previous, closed)
                for channel, puts in loose.items():
                    synced.setdefault(channel, []).extend(puts)
                loose.clear()
                if name == "barrier":
                    number += 1
                    after = made.event(rank, t, n, (chain, number), (chain, number))
                    edges += (closed, after)
                    self.barriers[rank, op.barrier][t].append((closed, after, op.num_threadblocks))
                    closed = after
                opened, segment, previous = closed, [], closed
                continue
            if name in PACKETS:
                added = self._packet_events(op, (rank, t, n), (chain, number + 1))
                if op.kind == "port":
                    self._packet_puts(op, added, loose)
                for event in added:
                    edges += (opened, event)
                    waits += (previous, event)
                    segment.append(event)
                    previous = event
                continue
            event = made.event(rank, t, n, ends=(chain, number + 1))
            edges += (opened, event)
            waits += (previous, event)
            segment.append(event)
            previous = event
            if op.kind == "port" and name in PUTS:
                segment += self._port_puts(op, event, loose)
            elif op.src:
                self._moves(op, event)
            if name in SIGNALS or name == "flush":
                self._end_puts(op, event, synced)
            if name in SIGNALS or name in WAITS:
                ends = self.signals if name in SIGNALS else self.waiting
                for c in op.channels:
                    ends[c.key].append((event, t))
                if op.kind == "memory" and name.startswith("rlx"):
                    self.relaxed.add(event)
        self.last.append((rank, opened))

    def _port_puts(self, op: Op, event: int, loose: Puts) -> list[int]:
        """Add the puts that run beside the threadblock; return those that are complete at its next synchronisation."""
        flushed, made = [], self.made
        place = made.place(event)
        for src, dst, channel in zip(op.src, op.dst, op.channels, strict=True):
            put = made.event(*place)
            made.edges += (event, put)
            made.move(put, dst, src, src.size)
            loose.setdefault(channel, []).append(put)
            if op.name != "put":
                self.async_puts.append((put, channel, event))
            if op.name == "pwsf":
                made.set_ends(put, made.ends(event))
                flushed.append(put)
        return flushed

    def _end_puts(self, op: Op, event: int, synced: Puts) -> None:
        """Let a signal tell the peer, and a flush its own threadblock, of the puts before it on the channel."""
        made = self.made
        for channel in op.channels:
            for put in synced.get(channel, ()):
                if op.name == "flush":
                    made.edges += (put, event)
                    if made.ends(put)[0] < 0:
                        made.set_ends(put, made.ends(event))
                else:
                    self.async_puts.append((put, channel, event))

    def _moves(self, op: Op, event: int) -> None:
        if op.name in _REDUCES:
            self._sum(event, op.src, op.dst, op.dst[0].size)
        elif op.name in SHAPES:
            for src, dst in zip(op.src, op.dst, strict=True):
                self.made.move(event, dst, src, src.size)

    def _sum(self, event: int, src: tuple[Ref, ...], dst: tuple[Ref, ...], size: int) -> None:
        # The sum is formed in registers: what is written is never read again by the same operation.
        total = src[0]
        for other in src[1:]:
            self.made.move(event, dst[0], total, size, other)
            total = dst[0]
        for copy in dst[1:]:
            self.made.move(event, copy, total, size)

    def _packet_events(self, op: Op, place: tuple[int, int, int], ends: tuple[int, int]) -> list[int]:
        """Add an event for each chunk; it has a chain of its own for those who read its packets."""
        events = []
        shape = SHAPES[op.name]
        groups = [((a,), (b,)) for a, b in zip(op.src, op.dst, strict=True)] if shape.is_paired else [(op.src, op.dst)]
        for sources, targets in groups:
            if self.made.num_events + sources[0].size > _MAX_EVENTS:
                raise UnverifiableError(f"more than {_MAX_EVENTS} packets and operations are too many to follow")
            for x in range(sources[0].size):
                event = self._packet_event(place, ends)
                src = tuple([Ref(b, i + x, 1) for b, i, _ in sources])
                dst = tuple([Ref(b, i + x, 1) for b, i, _ in targets])
                for k, (b, i, _) in enumerate(src):
                    if letter(shape.src, k) == "L":
                        self.packet_reads.append((b, i, event))
                events.append(event)
                if op.kind == "port":
                    continue
                if len(src) > 1:
                    self._sum(event, src, dst, 1)
                else:
                    for one in dst:
                        self.made.move(event, one, src[0], 1)
                for k, (b, i, _) in enumerate(dst):
                    if letter(shape.dst, k) in "LR":
                        self.packets[b, i].append(event)
        return events

    def _packet_event(self, place: tuple[int, int, int], ends: tuple[int, int]) -> int:
        event = self.made.event(*place, (self.num_chains, 1), ends)
        self.made.set_ends_elsewhere(event, (self.num_chains, 1))
        self.num_chains += 1
        return event

    def _packet_puts(self, op: Op, read: list[int], loose: Puts) -> None:
        """Add the puts of packets that have all come; they are complete for those who read them, or after a flush."""
        made = self.made
        place = made.place(read[0])
        ready = made.event(*place)
        for event in read:
            made.edges += (event, ready)
        source = op.src[0]
        for target, channel in zip(op.dst, op.channels, strict=True):
            for x in range(source.size):
                to = (target.buffer, target.start + x)
                put = self._packet_event(place, (-1, NEVER))
                made.edges += (ready, put)
                made.move(put, to, (source.buffer, source.start + x), 1)
                self.packets[to].append(put)
                loose.setdefault(channel, []).append(put)

    def _join_barriers(self) -> None:
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
                met = self.made.event(rank, min(members), self.made.place(rows[0][0])[2])
                for closed, after, _ in rows:
                    self.made.edges += (closed, met, met, after)

    def _join_packets(self) -> None:
        for (buffer, index), writers in self.packets.items():
            if len(writers) > 1:
                self.findings.error(
                    "race", f"writes packet {LETTERS[SCRATCH]}[{index}] of rank {buffer // KINDS} a second time in a "
                    "run: its reader cannot tell which it got", *self.made.place(writers[1]),
                )  # fmt: skip
        for buffer, index, event in self.packet_reads:
            found = self.packets.get((buffer, index))
            if found is None:
                says = f"waits for packet {LETTERS[SCRATCH]}[{index}], which nobody writes"
                self.findings.error("matching", says, *self.made.place(event))
            else:
                self.made.flags += (found[0], event)

    def _join_signals(self) -> None:
        made = self.made
        heard: dict[tuple[Key, int], int] = {}
        for key in sorted(self.signals.keys() | {(b, a, kind, n) for a, b, kind, n in self.waiting}):
            a, b, kind, n = key
            signals, waits = self.signals.get(key, []), self.waiting.get((b, a, kind, n), [])
            self._check_channel(a, b, signals, waits)
            for (signal, _), (wait, _) in zip(signals, waits, strict=False):
                is_relaxed = signal in self.relaxed or wait in self.relaxed
                (made.flags if is_relaxed else made.edges).extend((signal, wait))
                heard[key, signal] = wait
        ended = set[int]()
        for put, channel, signal in self.async_puts:
            wait = heard.get((channel.key, signal), -1)
            if wait >= 0 and put not in ended:
                ended.add(put)
                made.edges += (put, wait)
                made.set_ends_elsewhere(put, made.ends(wait))

    def _check_channel(self, a: int, b: int, signals: list[tuple[int, int]], waits: list[tuple[int, int]]) -> None:
        place = self.made.place
        for ends, word in ((signals, "signal"), (waits, "wait")):
            if len({t for _, t in ends}) > 1:
                says = f"two threadblocks {word} on one channel {a} -> {b}"
                self.findings.error("connection", says, *place(ends[-1][0]))
        for event, _ in signals[len(waits) :][:1]:
            self.findings.error(
                "matching", f"signal to rank {b} is never waited for: the next run would take it for its own",
                *place(event),
            )  # fmt: skip
        for event, _ in waits[len(signals) :][:1]:
            self.findings.error("matching", f"waits for a signal of rank {a} that never comes", *place(event))
