"""From a plan to a program: a threadblock for each end of each channel, dependencies between them, nops.

Every threadblock runs its part of one global order (step, link), in which a send stands right before its receive and
every dependency points backwards. So a program never deadlocks, even if a connection holds one message only.

Receiving and sending on are never one instruction (rcs, rrcs): that takes a threadblock that does both, one after the
other, while these schedules keep every link busy both ways at once; and a chunk is mostly cut up before it goes on.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkstep.lower._program import Instruction, Message, Place, Plan, Program, Threadblock

_At = tuple[int, int]  # (threadblock, logical position): before nops are counted


class _Block:
    """A threadblock while it fills; ``awaited`` is how far it is known to be behind each other threadblock."""

    def __init__(self, send: int, recv: int, channel: int, link: int) -> None:
        self.send, self.recv, self.channel, self.link = send, recv, channel, link
        self.instructions: list[tuple[str, Place, Place, int, int]] = []
        self.depends: list[list[_At]] = []
        self.awaited: dict[int, int] = {}


class _Rank:
    """A rank while it fills: its threadblocks, and who wrote each chunk last."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.ids: dict[tuple[int, int, bool], int] = {}
        self.writer: dict[Place, _At] = {}

    def add(
        self, tb: int, type: str, src: Place, dst: Place, count: int, step: int,
        reads: Place | None = None, writes: Place | None = None,
    ) -> None:  # fmt: skip
        """Append an instruction; it depends on whoever wrote the chunks it reads."""
        block = self.blocks[tb]
        block.depends.append(self._dependencies(tb, reads, count))
        at = (tb, len(block.instructions))
        block.instructions.append((type, src, dst, count, step))
        if writes is not None:
            for k in range(count):
                self.writer[writes.after(k)] = at

    def _dependencies(self, tb: int, reads: Place | None, count: int) -> list[_At]:
        """Return the latest position to wait for in each other threadblock, if it was not waited for before."""
        latest: dict[int, int] = {}
        for k in range(count if reads is not None else 0):
            assert reads is not None
            other, position = self.writer.get(reads.after(k), (tb, 0))
            latest[other] = max(latest.get(other, -1), position)
        latest.pop(tb, None)
        awaited = self.blocks[tb].awaited
        new = [(other, position) for other, position in sorted(latest.items()) if position > awaited.get(other, -1)]
        awaited.update(new)
        return new


def _open_blocks(plan: Plan) -> list[_Rank]:
    """Make the threadblocks: on each rank receivers by (link, channel), then senders, then one for copies.

    Receivers come first: dependencies point at them, and some runtimes number these with seven bits.
    """
    topology = plan.schedule.topology
    ranks = [_Rank() for _ in range(plan.num_ranks)]
    used = sorted({(m.link, m.channel) for m in plan.messages})
    for receives in (True, False):
        for link, channel in used:
            tail, head = int(topology.tail[link]), int(topology.head[link])
            rank = ranks[head if receives else tail]
            rank.ids[link, channel, receives] = len(rank.blocks)
            send, recv = (-1, tail) if receives else (head, -1)
            rank.blocks.append(_Block(send, recv, channel, link))
    for copy in plan.copies:
        rank = ranks[copy.rank]
        if (-1, 0, False) not in rank.ids:
            rank.ids[-1, 0, False] = len(rank.blocks)
            rank.blocks.append(_Block(-1, -1, 0, -1))
        rank.add(rank.ids[-1, 0, False], "cpy", copy.src, copy.dst, copy.count, 0)
    return ranks


def _send(rank: _Rank, m: Message) -> None:
    rank.add(rank.ids[m.link, m.channel, False], "s", m.src, m.src, m.count, m.step, reads=m.src)


def _receive(rank: _Rank, m: Message, splits: bool) -> None:
    """Receive, and reduce in the same instruction or in a second one."""
    tb, base = rank.ids[m.link, m.channel, True], m.base
    if base is None:
        rank.add(tb, "r", m.dst, m.dst, m.count, m.step, writes=m.dst)
    elif not splits:
        rank.add(tb, "rrc", base, m.dst, m.count, m.step, reads=base, writes=m.dst)
    else:
        landing = m.landing
        rank.add(tb, "r", landing, landing, m.count, m.step, writes=landing)
        added = base if landing == m.dst else landing  # to the input it was received beside, or to the sum so far
        rank.add(tb, "re", added, m.dst, m.count, m.step, reads=m.dst, writes=m.dst)


def _finish(rank: _Rank) -> tuple[Threadblock, ...]:
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
        Threadblock(b.send, b.recv, b.channel, b.link, tuple(_instructions(tb, b, final, targets)))
        for tb, b in enumerate(rank.blocks)
    )


def _instructions(tb: int, block: _Block, final: list[list[int]], targets: set[_At]) -> Iterable[Instruction]:
    for k, ((type, src, dst, count, step), depends) in enumerate(zip(block.instructions, block.depends, strict=True)):
        awaits = [(other, final[other][position]) for other, position in depends]
        for early in awaits[:-1]:
            yield Instruction("nop", src, dst, count, early, False, step)
        yield Instruction(type, src, dst, count, awaits[-1] if awaits else None, (tb, k) in targets, step)


def make_program(plan: Plan, *, splits: bool) -> Program:
    """Return the program of a plan; with ``splits``, receiving and reducing are two instructions (r, re)."""
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    ranks = _open_blocks(plan)
    for message in plan.messages:
        _send(ranks[tail[message.link]], message)
        _receive(ranks[head[message.link]], message, splits)
    return Program(plan, tuple(_finish(rank) for rank in ranks))
