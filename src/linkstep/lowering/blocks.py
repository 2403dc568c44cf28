"""From a placement to a block program: threadblocks for both ends of every connection, dependencies, nops.

All threadblocks run their parts of one order of the messages, in which every dependency points backwards. So a program
never deadlocks, even if a connection holds one message only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkstep.lowering.fusion import Connection, Fusion, fuse, unfused
from linkstep.lowering.progress import SILENT, Meter
from linkstep.lowering.values import BlockProgram, Instruction, Message, Move, Place, Placement, Threadblock, spread

_At = tuple[int, int]  # (threadblock, logical position): before nops are counted
_REMOTE_SRC = ("r", "rcs")
_REMOTE_DST = ("s",)
"""Instructions with a place on the peer, for the reader of the file: runtimes ignore it."""


class _Block:
    """A threadblock while it fills; ``awaited`` is the last position of each other one that it has waited for."""

    def __init__(self, send: int, recv: int, channel: int) -> None:
        self.send, self.recv, self.channel = send, recv, channel
        self.instructions: list[tuple[str, Place, Place, int, int]] = []
        self.depends: list[list[_At]] = []
        self.awaited: dict[int, int] = {}


class _Rank:
    """A rank while it fills: its threadblocks, the connections they serve, and the last writer of each chunk."""

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
        """Append an instruction; it depends on the writers of the chunks it reads."""
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
        """Return the latest position to wait for in each other threadblock, unless it was waited for before."""
        latest: dict[int, int] = {}
        for place in reads:
            other, position = self.writer.get(place, (tb, 0))
            latest[other] = max(latest.get(other, -1), position)
        latest.pop(tb, None)
        awaited = self.blocks[tb].awaited
        new = [(other, position) for other, position in sorted(latest.items()) if position > awaited.get(other, -1)]
        awaited.update(new)
        return new


def _open_blocks(placement: Placement, fusion: Fusion) -> list[_Rank]:
    """Make the threadblocks of each rank: receivers (some of them forward), then senders, then copies.

    Receivers come first because dependencies point at them, and some runtimes have seven bits for their numbers.
    """
    topology = placement.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    ranks = [_Rank() for _ in range(placement.num_ranks)]
    used = sorted({m.connection for m in placement.messages})
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
    for copy in placement.copies:
        rank = ranks[copy.rank]
        tb = copying[copy.rank] if copy.rank in copying else rank.open(-1, -1, 0)
        copying[copy.rank] = tb
        rank.move(tb, Move("cpy", copy.src, copy.dst, copy.count), 0)
    return ranks


def _send(rank: _Rank, m: Message, received_to: Place) -> None:
    tb = rank.senders[m.connection]
    for move in m.packs:
        rank.move(tb, move, m.step)
    rank.add(tb, "s", m.src, received_to, m.count, m.step, [m.src])


def _receive(rank: _Rank, m: Message, splits: bool, sent_from: Place) -> None:
    """Receive, and reduce in the same instruction or in a second one."""
    tb, base = rank.receivers[m.connection], m.base
    if base is None:
        rank.add(tb, "r", sent_from, m.dst, m.count, m.step, writes=True)
    elif not splits:
        rank.add(tb, "rrc", base, m.dst, m.count, m.step, [base], True)
    else:
        landing = m.landing
        rank.add(tb, "r", sent_from, landing, m.count, m.step, writes=True)
        added = base if landing == m.dst else landing  # to the input it was received beside, or to the sum so far
        rank.add(tb, "re", added, m.dst, m.count, m.step, [m.dst], True)
    for move in m.unpacks:
        rank.move(tb, move, m.step)


def _forward(rank: _Rank, m: Message, is_stored: bool, sent_from: Place) -> None:
    """Receive a message and send what it makes to the next rank."""
    tb = rank.receivers[m.connection]
    if m.base is None:
        rank.add(tb, "rcs", sent_from, m.dst, m.count, m.step, writes=True)
    elif is_stored:
        rank.add(tb, "rrcs", m.base, m.dst, m.count, m.step, [m.base], True)
    else:
        rank.add(tb, "rrs", m.base, m.base, m.count, m.step, [m.base])


def _arrival(m: Message, is_stored: bool) -> Place:
    """Return the dst that the instruction that receives a message names: an rrs, which stores nothing, has its src."""
    return m.landing if is_stored or m.base is None else m.base


def _compact(rank: _Rank) -> dict[int, int]:
    """Return a number for every chunk of scratch in use, in the same order, so that neighbours stay neighbours."""
    used: set[int] = set()
    for block in rank.blocks:
        for type, src, dst, count, _ in block.instructions:
            if src.buffer == "s" and type not in _REMOTE_SRC:
                used.update(range(src.offset, src.offset + count))
            if dst.buffer == "s" and type not in _REMOTE_DST:
                used.update(range(dst.offset, dst.offset + count))
    return {offset: k for k, offset in enumerate(sorted(used))}


def _finish(rank: _Rank, scratch: dict[int, int], all_scratch: list[dict[int, int]]) -> tuple[Threadblock, ...]:
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
        Threadblock(b.send, b.recv, b.channel, tuple(_instructions(tb, b, final, targets, scratch, all_scratch)))
        for tb, b in enumerate(rank.blocks)
    )


def _instructions(
    tb: int, block: _Block, final: list[list[int]], targets: set[_At],
    scratch: dict[int, int], all_scratch: list[dict[int, int]],
) -> Iterable[Instruction]:  # fmt: skip
    sent_to, received_from = all_scratch[block.send], all_scratch[block.recv]  # of any rank where there is no peer
    for k, ((type, src, dst, count, step), depends) in enumerate(zip(block.instructions, block.depends, strict=True)):
        if src.buffer == "s":
            src = Place("s", (received_from if type in _REMOTE_SRC else scratch)[src.offset])
        if dst.buffer == "s":
            dst = Place("s", (sent_to if type in _REMOTE_DST else scratch)[dst.offset])
        awaits = [(other, final[other][position]) for other, position in depends]
        for early in awaits[:-1]:
            yield Instruction("nop", src, dst, count, early, False, step)
        yield Instruction(type, src, dst, count, awaits[-1] if awaits else None, (tb, k) in targets, step)


def build_blocks(placement: Placement, *, splits: bool, meter: Meter = SILENT) -> BlockProgram:
    """Return the threadblocks of a placement; with ``splits``, receiving, reducing and forwarding are apart."""
    topology, messages = placement.schedule.topology, placement.messages
    tail, head = topology.tail.tolist(), topology.head.tolist()
    fusion = unfused(placement) if splits else fuse(placement, meter)
    ranks = _open_blocks(placement, fusion)
    for chain in meter.through(fusion.chains, len(fusion.chains)):
        first, last, forwarded = messages[chain[0]], messages[chain[-1]], chain[:-1]
        arrivals = [_arrival(messages[k], k not in fusion.passing) for k in forwarded]
        _send(ranks[tail[first.link]], first, arrivals[0] if arrivals else last.landing)
        sent_from = first.src
        for k, arrival in zip(forwarded, arrivals, strict=True):
            _forward(ranks[head[messages[k].link]], messages[k], k not in fusion.passing, sent_from)
            sent_from = arrival
        _receive(ranks[head[last.link]], last, splits, sent_from)
    used = [_compact(rank) for rank in ranks]
    sizes = tuple(old._replace(scratch=len(scratch)) for old, scratch in zip(placement.sizes, used, strict=True))
    return BlockProgram(
        placement, tuple(_finish(r, scratch, used) for r, scratch in zip(ranks, used, strict=True)), sizes
    )
