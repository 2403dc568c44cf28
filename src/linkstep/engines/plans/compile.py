"""Compile a program to plans: one run over its events decides who sends what to whom, and in which level.

The events are taken in one order in which the program ends. Whatever the program synchronises by, its results are those
of that order, so only data dependences have to be kept, and these are found here, chunk by chunk: what was written, by
what, and who still reads it. Nothing runs in an earlier level than the program has it, though: a schedule keeps links
equally busy at each step, and a message that is sent before its step holds up others. The program should be verified
first: a race is not noticed here.

A message is received straight into its place if nothing that came before is still to be done there when it is sent;
otherwise, and where it is added to something, it is received into a fresh part of the workspace.

A send may be complete long after what it carries has arrived: TCP's are when the receiver has said so, a round trip
later. So nothing should be written where something was sent from. A first run finds the values that a program sends and
overwrites later, such as the partial sums of an allreduce; in a second run these lie in spare workspace from the start.
Where the data itself is overwritten, in place, there is a wait (``Level.settled``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkstep.core.errors import FileError
from linkstep.engines.plans.cells import Cells, PlannedMessage, Versions
from linkstep.engines.plans.plan import Level, Plan, Transfer, Work
from linkstep.programs import Findings, Memory, Program
from linkstep.programs.columns import Ints, grouped
from linkstep.programs.events import Events
from linkstep.programs.order import find_order

_Place = tuple[int, int]
"""(rank, cell of that rank) of memory, (_SLOT, cell) of a slot, or (_NOTHING, -1)."""


@dataclass(frozen=True)
class _Script:
    """The moves of a program in the order in which it ends; both runs take them from here."""

    program: Program
    inplace: bool
    memory: Memory
    moves: list[tuple[int, int, _Place, _Place, _Place, int]]
    """(rank, level at which the program has it, dst, src, addend, chunks)."""

    @classmethod
    def of(cls, program: Program, inplace: bool) -> _Script:
        """Return it for a way to call the program."""
        events, moves, memory = program.events, program.events.moves, program.memory(inplace)
        order = find_order(events, Findings())
        assert order is not None  # a program is built only where there is one
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        rows = np.argsort(position[moves.event], kind="stable")
        event = moves.event[rows]
        level = np.array(_program_levels(events, order), np.int64)[event]
        dst, src, addend = (
            _places(memory, buffer[rows], offset[rows])
            for buffer, offset in (
                (moves.dst, moves.dst_offset), (moves.src, moves.src_offset), (moves.addend, moves.addend_offset)
            )
        )  # fmt: skip
        columns = (events.rank[event].tolist(), level.tolist(), dst, src, addend, moves.count[rows].tolist())
        return cls(program, inplace, memory, list(zip(*columns, strict=True)))


class _Compiler:
    """The run over the events; a place is a pair (rank, cell of that rank), a slot what lies between two ranks."""

    def __init__(self, script: _Script, spare: Sequence[Versions] | None = None) -> None:
        """Begin a run; ``spare`` are the values of each rank that are to lie in workspace of their own."""
        inplace = script.inplace
        self.script, self.program, self.memory = script, script.program, script.memory
        sizes = np.diff(self.memory.rank_ptr).tolist()
        self.ranks = [Cells.of(size, frozenset() if spare is None else spare[r]) for r, size in enumerate(sizes)]
        sides = self.memory.input_size, self.memory.output_size
        self.num_data = max(sides) if inplace else sum(sides)
        """Cells of the input and the output; those that only forward have none."""
        self.floor = 0
        """The level at which the program has the event that is being taken."""
        self.slots: dict[int, PlannedMessage] = {}
        self.numbers: dict[tuple[int, int], int] = {}

    def run(self) -> None:
        """Take every move of every event."""
        move = self.move
        for home, level, dst, src, addend, count in self.script.moves:
            self.floor = level
            move(home, dst, src, addend, count)
        for rank in self.ranks[: self.program.num_ranks]:
            rank.bring_home(self.num_data)

    @property
    def num_waits(self) -> int:
        """Levels, of all ranks, that begin with a wait for sends."""
        return sum(len(rank.settled) for rank in self.ranks)

    @property
    def num_copied(self) -> int:
        """Chunks that are copied within a rank."""
        return sum(work.chunks for rank in self.ranks for _, work in rank.work if work.addend < 0)

    def move(
        self, home: int, dst: tuple[int, int], src: tuple[int, int], addend: tuple[int, int], count: int
    ) -> None:  # fmt: skip
        """Carry out one move of an event of rank ``home``; the rank of a slot is -1, that of nothing -2."""
        if dst[0] == _SLOT:
            cell = self.value(home, src, addend, count)
            self.slots[dst[1]] = self.send(home, cell, count)
            return
        at, cell = dst
        sender = src[0]
        if sender >= 0 and sender != at and addend[0] in (_NOTHING, sender):  # all of it comes from one other rank
            message = self.send(sender, self.value(sender, src, addend, count), count)
            self.receive(at, message, cell)
        elif addend[0] == _NOTHING:
            if src[0] == _SLOT and self.slot(src[1]).sender != at and self.slot(src[1]).receiver < 0:
                self.receive(at, self.slot(src[1]), cell)
            else:
                self.ranks[at].set(cell, self.fetch(at, src, count), -1, count, self.floor)
        else:
            a, b = self.fetch(at, src, count), self.fetch(at, addend, count)
            self.ranks[at].set(cell, a, b, count, self.floor)

    def value(self, at: int, src: tuple[int, int], addend: tuple[int, int], count: int) -> int:
        """Return the cell of a rank that holds src, or a fresh one for the sum."""
        cell = self.fetch(at, src, count)
        if addend[0] == _NOTHING:
            return cell
        other, fresh = self.fetch(at, addend, count), self.ranks[at].allocate(count)
        self.ranks[at].do(fresh, cell, other, count, self.floor)
        return fresh

    def fetch(self, at: int, place: tuple[int, int], count: int) -> int:
        """Return the cell of a rank where it has a place's chunks, receiving them if they are elsewhere."""
        rank, cell = place
        if rank == at:
            return self.ranks[at].find(cell, count, self.floor)
        if rank == _SLOT:
            message = self.slot(cell)
            if message.sender == at:
                return message.cell
            if message.receiver < 0:
                self.receive(at, message, None)
            return message.arrived
        return self.receive(at, self.send(rank, self.ranks[rank].find(cell, count, self.floor), count), None)

    def slot(self, cell: int) -> PlannedMessage:
        if cell not in self.slots:
            raise FileError("cannot be run: a message is received in parts, which no engine here does")
        return self.slots[cell]

    def send(self, sender: int, cell: int, count: int) -> PlannedMessage:
        """Send cells as soon as they are ready and the program sends them."""
        rank, end = self.ranks[sender], cell + count
        level = max(self.floor, *rank.ready[cell:end])
        rank.touch(cell, count, level)
        after, free, sent = level + 1, rank.free, rank.sent
        for k in range(cell, end):
            if free[k] < after:
                free[k] = after
            if sent[k] < after:
                sent[k] = after
        message = PlannedMessage(sender, cell, count, level)
        rank.sends.append(message)
        return message

    def receive(self, at: int, message: PlannedMessage, cell: int | None) -> int:
        """Receive a message into a cell if that is free in time, and otherwise into a fresh one, copied on."""
        rank, count = self.ranks[at], message.count
        wanted = None if cell is None or rank.is_spare(cell, count) else cell
        free = 0 if wanted is None else rank.writable(wanted, count)
        straight = wanted is not None and free <= message.level
        place = wanted if wanted is not None and straight else rank.allocate(count)
        message.receiver, message.arrived, message.posted = at, place, free if straight else 0
        pair = message.sender, at
        message.number = self.numbers[pair] = self.numbers.get(pair, -1) + 1
        rank.settle(place, count, message.posted)
        rank.touch(place, count, message.posted)
        rank.coming[place : place + count] = [message] * count
        rank.ready[place : place + count] = [message.level + 1] * count
        rank.receives.append(message)
        if wanted is not None and not straight:
            rank.do(wanted, place, -1, count, 0)
        if cell is not None:
            rank.renew(cell, count, place if wanted is None else cell)
        return place

    def plans(self, ranks: Iterable[int]) -> Iterator[Plan]:
        """Yield what each of some ranks does."""
        program, memory, inplace = self.program, self.memory, self.script.inplace
        sides = memory.input_size, memory.output_size
        sent = max((m.level + 1 for rank in self.ranks for m in rank.sends), default=0)
        most_messages = max(self.numbers.values(), default=0) + 1
        for r in ranks:
            rank = self.ranks[r]
            last = max([sent, *(level for level, _ in rank.work)])
            data = self.num_data if r < program.num_ranks else 0
            input_cells, output_cells = (data, data) if inplace or not data else sides
            yield Plan(
                collective=program.collective, rank=r, num_ranks=program.num_ranks,
                fingerprint=program.fingerprint, root=program.root,
                chunks=program.chunks, is_inplace=inplace, input_cells=input_cells, output_cells=output_cells,
                work_cells=len(rank.ready) - data, most_messages=most_messages,
                levels=_levels(last, rank, (input_cells, data)),
            )  # fmt: skip


_SLOT, _NOTHING = -1, -2


def _program_levels(events: Events, order: Ints) -> list[int]:
    """Return for each event the number of messages that the program has before it, one after the other."""
    before, after = events.time_edges.T
    ptr, heads = grouped(before, after, events.num_events)
    starts, heads_of, rank = ptr.tolist(), heads.tolist(), events.rank.tolist()
    levels = [0] * events.num_events
    for event in order.tolist():
        here, home = levels[event], rank[event]
        for then in heads_of[starts[event] : starts[event + 1]]:
            level = here + (rank[then] != home)
            if level > levels[then]:
                levels[then] = level
    return levels


def _places(memory: Memory, buffer: Ints, offset: Ints) -> list[_Place]:
    """Return (rank, cell of that rank) of memory, (_SLOT, cell) of a slot, or (_NOTHING, -1)."""
    cells = memory.cells(buffer, offset)
    rank = np.where(buffer >= 0, buffer // 3, buffer)
    local = np.where(buffer >= 0, cells - memory.rank_ptr[np.maximum(rank, 0)], cells)
    return list(zip(rank.tolist(), local.tolist(), strict=True))


def _levels(last: int, rank: Cells, borders: tuple[int, ...]) -> tuple[Level, ...]:
    """Return what a rank does at each level; at the last, what nobody needed must have arrived as well."""
    levels = range(last + 1)
    posted, needed, arriving, sends = ([list[PlannedMessage]() for _ in levels] for _ in range(4))
    work = [list[Work]() for _ in levels]
    for m in rank.receives:
        posted[m.posted].append(m)
        needed[min(m.needed, last)].append(m)
        arriving[m.level].append(m)
    for m in rank.sends:
        sends[m.level].append(m)
    for level, one in rank.work:
        work[level].append(one)
    split = [_split(_joined(work[k], borders), sends[k], posted[k]) for k in levels]
    return tuple(
        Level(
            awaited=tuple(map(_arrival, needed[k])),
            settled=rank.settled.get(k, 0),
            urgent=tuple(split[k][0]),
            posted=tuple(map(_arrival, posted[k])),
            sent=tuple(Transfer(m.receiver, m.number, m.cell, m.count) for m in sends[k]),
            arriving=tuple(map(_arrival, arriving[k])),
            lazy=tuple(split[k][1]),
        )
        for k in levels
    )


def _arrival(message: PlannedMessage) -> Transfer:
    return Transfer(message.sender, message.number, message.arrived, message.count)


def _split(
    work: list[Work], sends: list[PlannedMessage], posted: list[PlannedMessage]
) -> tuple[list[Work], list[Work]]:
    """Tell the work of a level that must come before its sends and its new receives from what may come after.

    Going backwards, ``read`` and ``written`` are the cells that what comes later needs, or overwrites.
    """
    read = {c for m in sends for c in range(m.cell, m.cell + m.count)}
    written = {c for m in posted for c in range(m.arrived, m.arrived + m.count)}
    urgent, lazy = [], []
    for one in reversed(work):
        sets = range(one.dst, one.dst + one.chunks)
        uses = [c for at in (one.src, one.addend) if at >= 0 for c in range(at, at + one.chunks)]
        if read.isdisjoint(sets) and written.isdisjoint(sets) and written.isdisjoint(uses):
            lazy.append(one)
        else:
            urgent.append(one)
            read.update(uses)
            written.update(sets)
    return urgent[::-1], lazy[::-1]


def _joined(work: list[Work], borders: tuple[int, ...]) -> list[Work]:
    """Join work on neighbouring cells of one array, where no part of it uses what another has written."""
    joined: list[Work] = []
    for one in work:
        if joined and _follows(joined[-1], one, borders):
            joined[-1] = joined[-1]._replace(chunks=joined[-1].chunks + one.chunks)
        else:
            joined.append(one)
    return joined


def _follows(last: Work, one: Work, borders: tuple[int, ...]) -> bool:
    count = last.chunks + one.chunks
    for a, b in zip(last[:3], one[:3], strict=True):
        if (b != a + last.chunks or b in borders) if a >= 0 else b >= 0:
            return False
    return all(at == last.dst or abs(at - last.dst) >= count for at in (last.src, last.addend) if at >= 0)


def compile_plans(program: Program, inplace: bool) -> list[Plan]:
    """Return the plan of every rank, and then of every node that only forwards.

    >>> import linkstep
    >>> from linkstep.assembly import assemble
    >>> program = assemble(linkstep.lower(linkstep.parse("K_4").build("allreduce"), "cpu"))
    >>> compile_plans(program, False)[0]
    <Plan allreduce out of place of rank 0 of 4: 3 levels>
    """
    return list(_compiled(program, inplace).plans(range(program.num_nodes)))


def compile_plan(program: Program, inplace: bool, rank: int) -> Plan:
    """Return the plan of one rank."""
    return next(_compiled(program, inplace).plans([rank]))


def _compiled(program: Program, inplace: bool) -> _Compiler:
    if inplace not in program.modes:
        raise FileError(f"cannot be run {'in place' if inplace else 'out of place'}: it is not made for that")
    script = _Script.of(program, inplace)
    made = _Compiler(script)
    made.run()
    overwritten = [frozenset(rank.overwritten) for rank in made.ranks]
    if any(overwritten):
        other = _Compiler(script, overwritten)
        other.run()
        if not other.num_waits or other.num_copied <= made.num_copied:  # copies that save no wait only cost
            made = other
    if any(message.receiver < 0 for rank in made.ranks for message in rank.sends):
        raise FileError("cannot be run: a message is sent that nobody receives")
    return made
