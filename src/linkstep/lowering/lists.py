"""From a placement to a list of instructions for each rank, which an interpreter for CPU clusters executes in order.

At every step a rank starts its receives, completes those of the step before, and starts its sends. It waits only where
it must: for data that it is about to use, and for sends from places that are about to be written again. The latter
never wait in practice, because the new data could not exist before those sends were complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, repeat
from typing import NamedTuple

from linkstep.lowering.progress import SILENT, Meter
from linkstep.lowering.values import BufferSizes, Message, Move, Place, Placement


class ListInstruction(NamedTuple):
    """One instruction of a rank: ``send``, ``recv``, ``copy``, ``reduce`` (dst = dst + src) or ``sync``."""

    type: str
    src: Place | None = None
    dst: Place | None = None
    chunks: int = 0
    peer: int = -1
    channel: int = -1
    waits: tuple[int, ...] = ()
    """The positions of the sends and receives that a sync waits for."""


@dataclass(frozen=True)
class ListProgram:
    """A placement as one list of instructions for each rank."""

    placement: Placement
    ranks: tuple[tuple[ListInstruction, ...], ...]

    @property
    def sizes(self) -> tuple[BufferSizes, ...]:
        """Chunks of each rank's buffers."""
        return self.placement.sizes


def _chunks(place: Place, count: int) -> Iterator[tuple[str, int]]:
    """Yield (buffer, offset) of neighbouring chunks: as ``spread``, without making a ``Place`` of each."""
    buffer, offset = place
    return zip(repeat(buffer, count), range(offset, offset + count), strict=True)


class _Arrival(NamedTuple):
    """A receive that was started, and the local work to do once it is complete."""

    position: int
    moves: tuple[Move, ...]


class _Rank:
    """A rank's list while it fills, and the sends and receives that may not be complete yet."""

    def __init__(self) -> None:
        self.instructions: list[ListInstruction] = []
        self.sending: dict[tuple[str, int], int] = {}
        self.arriving: list[_Arrival] = []

    def sync(self, positions: list[int]) -> None:
        if positions:
            self.instructions.append(ListInstruction("sync", waits=tuple(sorted(set(positions)))))

    def sends_from(self, place: Place, count: int) -> list[int]:
        """Return the sends that may still read these chunks, and forget them: the caller waits for them."""
        sending = self.sending
        return [sending.pop(p) for p in _chunks(place, count) if p in sending] if sending else []

    def receive(self, m: Message, peer: int) -> None:
        at = m.landing
        self.sync(self.sends_from(at, m.count))
        moves = m.unpacks
        if m.base is not None:
            moves = (Move("re", m.base if at == m.dst else at, m.dst, m.count),)
        self.arriving.append(_Arrival(len(self.instructions), moves))
        self.instructions.append(ListInstruction("recv", None, at, m.count, peer, m.channel))

    def finish(self, arrivals: list[_Arrival]) -> None:
        """Wait for the receives of the last step, and add up or copy what they brought."""
        moves = [move for a in arrivals for move in a.moves]
        reading = [position for move in moves for position in self.sends_from(move.dst, move.count)]
        self.sync([a.position for a in arrivals] + reading)
        for move in moves:
            self.move(move)

    def move(self, move: Move) -> None:
        type = "reduce" if move.type == "re" else "copy"
        self.instructions.append(ListInstruction(type, move.src, move.dst, move.count))

    def send(self, m: Message, peer: int) -> None:
        for move in m.packs:
            self.move(move)
        self.sending.update(dict.fromkeys(_chunks(m.src, m.count), len(self.instructions)))
        self.instructions.append(ListInstruction("send", m.src, None, m.count, peer, m.channel))


def build_lists(placement: Placement, meter: Meter = SILENT) -> ListProgram:
    """Return the lists of a placement that was made with slots."""
    topology = placement.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    ranks = [_Rank() for _ in range(placement.num_nodes)]
    for copy in placement.copies:
        ranks[copy.rank].move(Move("cpy", copy.src, copy.dst, copy.count))
    counted = meter.through(placement.messages, len(placement.messages))
    for _, group in groupby(counted, key=lambda m: m.step):
        messages = list(group)
        before = [rank.arriving for rank in ranks]
        for rank in ranks:
            rank.arriving = []
        for m in messages:
            ranks[head[m.link]].receive(m, tail[m.link])
        for rank, arrivals in zip(ranks, before, strict=True):
            rank.finish(arrivals)
        for m in messages:
            ranks[tail[m.link]].send(m, head[m.link])
    for rank in ranks:
        rank.finish(rank.arriving)
    return ListProgram(placement, tuple(tuple(rank.instructions) for rank in ranks))
