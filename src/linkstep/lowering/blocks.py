"""From a plan to a program: threadblocks for the ends of every connection, dependencies between them, nops.

Every threadblock runs its part of one order of all messages, in which every dependency points backwards. So a program
never deadlocks, even if a connection holds one message only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkstep.lowering.fusion import Connection, Fusion, fuse, unfused
from linkstep.lowering.values import Instruction, Message, Move, Place, Plan, Program, Threadblock, spread

_At = tuple[int, int]  # (threadblock, logical position): before nops are counted


class _Block:
    """A threadblock while it fills; ``awaited`` is how far it is known to be behind each other threadblock."""

    def __init__(self, send: int, recv: int, channel: int) -> None:
        self.send, self.recv, self.channel = send, recv, channel
        self.instructions: list[tuple[str, Place, Place, int, int]] = []
        self.depends: list[list[_At]] = []
        self.awaited: dict[int, int] = {}


class _Rank:
    """A rank while it fills: its threadblocks, which of them serve which connections, who wrote each chunk last."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.senders: dict[Connection, int] = {}
        self.receivers: dict[Connection, int] = {}
        self.writer: dict[Place, _At] = {}

    def open(self, send: int, recv: int, channel: int) -> int:
        self.blocks.append(_Block(send, recv, channel))
        return len(self.blocks) - 1

    def add(
        self, tb: int, type: str, src: Place, dst: Place, count: int, step: int,
        reads: Sequence[Place] = (), writes: bool = False,
    ) -> None:  # fmt: skip
        """Append an instruction; it depends on whoever wrote the chunks it reads."""
        block = self.blocks[tb]
        block.depends.append(self._dependencies(tb, [p for place in reads for p in spread(place, count)]))
        at = (tb, len(block.instructions))
        block.instructions.append((type, src, dst, count, step))
        if writes:
            for place in spread(dst, count):
                self.writer[place] = at

    def move(self, tb: int, move: Move, step: int) -> None:
        """Append local work."""
        reads = [move.src, move.dst] if move.type == "re" else [move.src]
        self.add(tb, move.type, move.src, move.dst, move.count, step, reads, True)

    def _dependencies(self, tb: int, reads: list[Place]) -> list[_At]:
        """Return the latest position to wait for in each other threadblock, if it was not waited for before."""
        latest: dict[int, int] = {}
        for place in reads:
            other, position = self.writer.get(place, (tb, 0))
            latest[other] = max(latest.get(other, -1), position)
        latest.pop(tb, None)
        awaited = self.blocks[tb].awaited
        new = [(other, position) for other, position in sorted(latest.items()) if position > awaited.get(other, -1)]
        awaited.update(new)
        return new


def _open_blocks(plan: Plan, fusion: Fusion) -> list[_Rank]:
    """Make the threadblocks of each rank: receivers, those that send on too among them, then senders, then copies.

    Receivers come first: dependencies point at them, and some runtimes number these with seven bits.
    """
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    ranks = [_Rank() for _ in range(plan.num_ranks)]
    used = sorted({m.connection for m in plan.messages})
    for connection in used:
        rank, onward = ranks[head[connection[0]]], fusion.onward.get(connection)
        send = -1 if onward is None else head[onward[0]]
        rank.receivers[connection] = rank.open(send, tail[connection[0]], connection[1])
        if onward is not None:
            rank.senders[onward] = rank.receivers[connection]
    for connection in used:
        rank = ranks[tail[connection[0]]]
        if connection not in rank.senders:
            rank.senders[connection] = rank.open(head[connection[0]], -1, connection[1])
    copying: dict[int, int] = {}
    for copy in plan.copies:
        rank = ranks[copy.rank]
        tb = copying[copy.rank] if copy.rank in copying else rank.open(-1, -1, 0)
        copying[copy.rank] = tb
        rank.move(tb, Move("cpy", copy.src, copy.dst, copy.count), 0)
    return ranks


def _send(rank: _Rank, m: Message) -> None:
    tb = rank.senders[m.connection]
    for move in m.packs:
        rank.move(tb, move, m.step)
    rank.add(tb, "s", m.src, m.src, m.count, m.step, [m.src])


def _receive(rank: _Rank, m: Message, splits: bool) -> None:
    """Receive, and reduce in the same instruction or in a second one."""
    tb, base = rank.receivers[m.connection], m.base
    if base is None:
        rank.add(tb, "r", m.dst, m.dst, m.count, m.step, writes=True)
    elif not splits:
        rank.add(tb, "rrc", base, m.dst, m.count, m.step, [base], True)
    else:
        landing = m.landing
        rank.add(tb, "r", landing, landing, m.count, m.step, writes=True)
        added = base if landing == m.dst else landing  # to the input it was received beside, or to the sum so far
        rank.add(tb, "re", added, m.dst, m.count, m.step, [m.dst], True)
    for move in m.unpacks:
        rank.move(tb, move, m.step)


def _send_on(rank: _Rank, m: Message, is_stored: bool) -> None:
    """Receive a message and send what it makes on."""
    tb = rank.receivers[m.connection]
    if m.base is None:
        rank.add(tb, "rcs", m.dst, m.dst, m.count, m.step, writes=True)
    elif is_stored:
        rank.add(tb, "rrcs", m.base, m.dst, m.count, m.step, [m.base], True)
    else:
        rank.add(tb, "rrs", m.base, m.base, m.count, m.step, [m.base])


def _compact(rank: _Rank) -> dict[int, int]:
    """Return a number for every chunk of scratch in use, in the same order, so that neighbours stay neighbours."""
    used: set[int] = set()
    for block in rank.blocks:
        for _, src, dst, count, _ in block.instructions:
            used.update(p.offset for place in (src, dst) if place.buffer == "s" for p in spread(place, count))
    return {offset: k for k, offset in enumerate(sorted(used))}


def _finish(rank: _Rank, scratch: dict[int, int]) -> tuple[Threadblock, ...]:
    """Write dependencies beyond the first as nops, number positions with these counted, mark who is waited for."""
    final: list[list[int]] = []
    for block in rank.blocks:
        positions, at = [], 0
        for depends in block.depends:
            at += max(len(depends), 1)
            positions.append(at - 1)
        final.append(positions)
    targets = {at for block in rank.blocks for depends in block.depends for at in depends}
    return tuple(
        Threadblock(b.send, b.recv, b.channel, tuple(_instructions(tb, b, final, targets, scratch)))
        for tb, b in enumerate(rank.blocks)
    )


def _instructions(
    tb: int, block: _Block, final: list[list[int]], targets: set[_At], scratch: dict[int, int]
) -> Iterable[Instruction]:
    def at(place: Place) -> Place:
        return Place("s", scratch[place.offset]) if place.buffer == "s" else place

    for k, ((type, src, dst, count, step), depends) in enumerate(zip(block.instructions, block.depends, strict=True)):
        awaits = [(other, final[other][position]) for other, position in depends]
        for early in awaits[:-1]:
            yield Instruction("nop", at(src), at(dst), count, early, False, step)
        yield Instruction(type, at(src), at(dst), count, awaits[-1] if awaits else None, (tb, k) in targets, step)


def make_program(plan: Plan, *, splits: bool) -> Program:
    """Return the program of a plan; with ``splits``, receiving, reducing and sending on are two instructions each."""
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    fusion = unfused(plan) if splits else fuse(plan)
    ranks = _open_blocks(plan, fusion)
    for chain in fusion.chains:
        messages = [plan.messages[k] for k in chain]
        _send(ranks[tail[messages[0].link]], messages[0])
        for k, m in zip(chain[:-1], messages[:-1], strict=True):
            _send_on(ranks[head[m.link]], m, k not in fusion.passing)
        _receive(ranks[head[messages[-1].link]], messages[-1], splits)
    used = [_compact(rank) for rank in ranks]
    sizes = tuple((i, o, len(scratch)) for (i, o, _), scratch in zip(plan.sizes, used, strict=True))
    return Program(plan, tuple(_finish(rank, scratch) for rank, scratch in zip(ranks, used, strict=True)), sizes)
