"""MSCCL++ execution plans: one-sided operations ordered by signals, packets, barriers and block-wide syncs (``nop``).

All threads of a block run each operation side by side, and only a ``nop`` or a barrier makes them meet: what a block
did is over, for itself and for whom it signals, at the next one. So every operation but these is stamped with the
``nop`` after it. A put through a port runs beside the block; what ends it is a later signal or flush of its channel.

A packet carries a flag of its run beside its data, and its reader waits for it. That orders the two in time, so what
was read before is over, but nothing else that was written before need be seen; so does a relaxed signal. Threads do not
wait for each other, so each chunk of a packet operation is an event of its own, over for whoever reads what it wrote.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from linkstep.core.errors import FileError
from linkstep.programs.events import NEVER, NONE, Ints, Plan
from linkstep.programs.findings import Findings
from linkstep.programs.mscclpp.reader import NOP, Channel, Op, PlusFile, Ref
from linkstep.programs.mscclpp.rules import PACKETS, PUTS, SHAPES, SIGNALS, WAITS, check_rules, letter
from linkstep.programs.order import Task

_REDUCES = ("re", "res", "rre", "rres")
_SYNCS = ("nop", "barrier")
_MAX_EVENTS = 2**22
Key = tuple[int, int, str, int]


class _Lift:
    """Makes the plan of one run, column by column."""

    def __init__(self, file: PlusFile, findings: Findings) -> None:
        self.file, self.findings = file, findings
        self.num_events = self.num_chains = 0
        self.place: list[int] = []
        self.raises: list[int] = []
        self.stamps: list[int] = []
        self.edges: list[int] = []
        self.waits: list[int] = []
        self.flags: list[int] = []
        self.moves: list[int] = []
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
        self.opens: list[tuple[int, int]] = []
        """The (rank, first event) of each block, and the last."""
        self.ends: list[tuple[int, int]] = []

    def event(self, place: tuple[int, int, int], chain: int, number: int, stamp: int = -1, until: int = NEVER) -> int:
        """Add an event that raises a chain to a number, or none if -1, and is over when another has got so far."""
        self.place += place
        self.raises += (chain, number)
        self.stamps += (stamp, until, -1, NEVER)
        self.num_events += 1
        return self.num_events - 1

    def move(self, event: int, dst: Ref, src: Ref, count: int, also: Ref = (NONE, 0, 0)) -> None:
        self.moves += (event, dst[0], dst[1], src[0], src[1], also[0], also[1], count)

    def run(self, times: int = 1) -> None:
        """Add all blocks and what passes between them."""
        assert times == 1
        for rank, gpu in enumerate(self.file.gpus):
            for t, ops in enumerate(gpu.threadblocks):
                self.threadblock(rank, t, ops)
        self._join_barriers()
        self._join_packets()
        self._join_signals()

    def threadblock(self, rank: int, t: int, ops: tuple[Op, ...]) -> None:
        """Add a block's events: segments of operations, each between two syncs."""
        edges, waits, chain, number = self.edges, self.waits, self.num_chains, 0
        self.num_chains += 1
        opened, segment = self.event((rank, t, 0), chain, 0, chain, 0), list[int]()
        self.opens.append((rank, opened))
        previous = opened
        loose: dict[Channel, list[int]] = {}
        synced: dict[Channel, list[int]] = {}
        for n, op in enumerate((*ops, NOP)):
            name = op.name
            if name in _SYNCS:
                number += 1
                closed = self.event((rank, t, n), chain, number, chain, number)
                for e in (opened, *segment):
                    edges += (e, closed)
                waits += (previous, closed)
                for channel, puts in loose.items():
                    synced.setdefault(channel, []).extend(puts)
                loose.clear()
                if name == "barrier":
                    number += 1
                    after = self.event((rank, t, n), chain, number, chain, number)
                    edges += (closed, after)
                    self.barriers[rank, op.barrier][t].append((closed, after, op.num_threadblocks))
                    closed = after
                opened, segment, previous = closed, [], closed
                continue
            if name in PACKETS:
                added = self._packet_events(op, (rank, t, n), chain, number + 1)
                if op.kind == "port":
                    self._packet_puts(op, added, loose)
                for event in added:
                    edges += (opened, event)
                    waits += (previous, event)
                    segment.append(event)
                    previous = event
                continue
            event = self.event((rank, t, n), -1, 0, chain, number + 1)
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
        self.ends.append((rank, opened))

    def _port_puts(self, op: Op, event: int, loose: dict[Channel, list[int]]) -> list[int]:
        """Add the puts that run beside the block; return those that are over at its next sync."""
        flushed = []
        place = self._place(event)
        for src, dst, channel in zip(op.src, op.dst, op.channels, strict=True):
            put = self.event(place, -1, 0)
            self.edges += (event, put)
            self.move(put, dst, src, src[2])
            loose.setdefault(channel, []).append(put)
            if op.name != "put":
                self.async_puts.append((put, channel, event))
            if op.name == "pwsf":
                self._end(put, event)
                flushed.append(put)
        return flushed

    def _place(self, event: int) -> tuple[int, int, int]:
        rank, t, n = self.place[3 * event : 3 * event + 3]
        return rank, t, n

    def _end(self, put: int, event: int, second: int = 0) -> None:
        """Stamp a put with the sync after an event."""
        self.stamps[4 * put + 2 * second : 4 * put + 2 * second + 2] = self.stamps[4 * event : 4 * event + 2]

    def _end_puts(self, op: Op, event: int, synced: dict[Channel, list[int]]) -> None:
        """Let a signal tell the peer, and a flush its own block, of the puts before it on the channel."""
        for channel in op.channels:
            for put in synced.get(channel, ()):
                if op.name == "flush":
                    self.edges += (put, event)
                    if self.stamps[4 * put] < 0:
                        self._end(put, event)
                else:
                    self.async_puts.append((put, channel, event))

    def _moves(self, op: Op, event: int) -> None:
        if op.name in _REDUCES:
            self._sum(event, op.src, op.dst, op.dst[0][2])
        elif op.name in SHAPES:
            for src, dst in zip(op.src, op.dst, strict=True):
                self.move(event, dst, src, src[2])

    def _sum(self, event: int, src: tuple[Ref, ...], dst: tuple[Ref, ...], size: int) -> None:
        # The sum is formed in registers: what is written is never read again by the same operation.
        total = src[0]
        for other in src[1:]:
            self.move(event, dst[0], total, size, other)
            total = dst[0]
        for copy in dst[1:]:
            self.move(event, copy, total, size)

    def _packet_events(self, op: Op, place: tuple[int, int, int], chain: int, number: int) -> list[int]:
        """Add an event for each chunk; it has a chain of its own for those who read its packets."""
        events = []
        shape = SHAPES[op.name]
        pairs = [((a,), (b,)) for a, b in zip(op.src, op.dst, strict=True)] if shape.is_paired else [(op.src, op.dst)]
        for sources, targets in pairs:
            if self.num_events + sources[0][2] > _MAX_EVENTS:
                raise FileError(f"more than {_MAX_EVENTS} packets and operations cannot be followed")
            for x in range(sources[0][2]):
                event = self._packet_event(place, chain, number)
                src = tuple([(b, i + x, 1) for b, i, _ in sources])
                dst = tuple([(b, i + x, 1) for b, i, _ in targets])
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
                        self.move(event, one, src[0], 1)
                for k, (b, i, _) in enumerate(dst):
                    if letter(shape.dst, k) in "LR":
                        self.packets[b, i].append(event)
        return events

    def _packet_event(self, place: tuple[int, int, int], stamp: int, until: int) -> int:
        event = self.event(place, self.num_chains, 1, stamp, until)
        self.stamps[4 * event + 2 : 4 * event + 4] = (self.num_chains, 1)
        self.num_chains += 1
        return event

    def _packet_puts(self, op: Op, read: list[int], loose: dict[Channel, list[int]]) -> None:
        """Add the puts of packets that have all come; they are over for whoever reads them, or after a flush."""
        place = self._place(read[0])
        ready = self.event(place, -1, 0)
        for event in read:
            self.edges += (event, ready)
        (b, i, size), *_ = op.src
        for (to, at, _), channel in zip(op.dst, op.channels, strict=True):
            for x in range(size):
                put = self._packet_event(place, -1, NEVER)
                self.edges += (ready, put)
                self.move(put, (to, at + x, 1), (b, i + x, 1), 1)
                self.packets[to, at + x].append(put)
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
                met = self.event((rank, min(members), self._place(rows[0][0])[2]), -1, 0)
                for closed, after, _ in rows:
                    self.edges += (closed, met, met, after)

    def _join_packets(self) -> None:
        for (buffer, index), writers in self.packets.items():
            if len(writers) > 1:
                self.findings.error(
                    "race", f"writes packet s[{index}] of rank {buffer // 3} a second time in a run: its reader cannot "
                    "tell which it got", *self._place(writers[1]),
                )  # fmt: skip
        for buffer, index, event in self.packet_reads:
            found = self.packets.get((buffer, index))
            if found is None:
                place = self._place(event)
                self.findings.error("matching", f"waits for packet s[{index}], which nobody writes", *place)
            else:
                self.waits += (found[0], event)
                self.flags += (found[0], event)

    def _join_signals(self) -> None:
        heard: dict[tuple[Key, int], int] = {}
        for key in sorted(self.signals.keys() | {(b, a, kind, n) for a, b, kind, n in self.waiting}):
            a, b, kind, n = key
            signals, waits = self.signals.get(key, []), self.waiting.get((b, a, kind, n), [])
            self._check_channel(a, b, signals, waits)
            for (signal, _), (wait, _) in zip(signals, waits, strict=False):
                if signal in self.relaxed or wait in self.relaxed:
                    self.flags += (signal, wait)
                    self.waits += (signal, wait)
                else:
                    self.edges += (signal, wait)
                heard[key, signal] = wait
        ended = set[int]()
        for put, channel, signal in self.async_puts:
            told = heard.get((channel.key, signal), -1)
            if told >= 0 and put not in ended:
                ended.add(put)
                self.edges += (put, told)
                if self.stamps[4 * put + 2] < 0:
                    self._end(put, told, 1)

    def _check_channel(self, a: int, b: int, signals: list[tuple[int, int]], waits: list[tuple[int, int]]) -> None:
        for ends, word in ((signals, "signal"), (waits, "wait")):
            if len({t for _, t in ends}) > 1:
                place = self._place(ends[-1][0])
                self.findings.error("connection", f"two threadblocks {word} on one channel {a} -> {b}", *place)
        for event, _ in signals[len(waits) :][:1]:
            self.findings.error(
                "matching", f"signal to rank {b} is never waited for: the next run would take it for its own",
                *self._place(event),
            )  # fmt: skip
        for event, _ in waits[len(signals) :][:1]:
            self.findings.error("matching", f"waits for a signal of rank {a} that never comes", *self._place(event))

    def build(self) -> Plan:
        """Return the plan of one run."""

        def rows(column: list[int], width: int) -> Ints:
            return np.array(column, np.int64).reshape(-1, width)

        moves = rows(self.moves, 8)
        return Plan(
            place=rows(self.place, 3), raises=rows(self.raises, 2), stamps=rows(self.stamps, 4),
            edges=rows(self.edges, 2), waits=rows(self.waits, 2),
            moves=moves[np.argsort(moves[:, 0], kind="stable")], num_chains=self.num_chains, num_slots=0,
            flags=rows(self.flags, 2), packets=np.unique([b for b, _ in self.packets]).astype(np.int64),
        )  # fmt: skip


def _check_head(file: PlusFile, findings: Findings) -> Task:
    collective, chunks = check_rules(file, findings)
    halves = 2 if file.head.get("use_double_scratch_buffer", False) is True else 1
    return Task(collective, len(file.gpus), chunks, np.array([halves * gpu.size[2] for gpu in file.gpus], np.int64))
