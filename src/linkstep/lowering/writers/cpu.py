"""Print a placement as CPU schedule XML (docs/cpu-xml.md): one list of instructions for each rank.

At every step a rank starts its receives, completes those of the step before, and starts its sends. It waits only where
it must: for data that it is about to use, and for sends from places that are about to be written again. The latter
never wait in practice, because the new data could not exist before those sends were complete.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

from linkstep._version import __version__
from linkstep.costs import cost_of
from linkstep.lowering.progress import Meter
from linkstep.lowering.targets import Target
from linkstep.lowering.values import Message, Move, Place, Placement, spread
from linkstep.lowering.writers.interface import FileOptions, Written, most_scratch, window_of
from linkstep.lowering.writers.naming import attributes


class _Arrival(NamedTuple):
    """A receive that was started, and the local work to do once it is complete."""

    position: int
    moves: tuple[Move, ...]


class _Rank:
    """A rank's list while it fills, and the sends and receives that may not be complete yet."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.sending: dict[Place, int] = {}
        self.arriving: list[_Arrival] = []

    def add(self, element: str, fields: dict[str, object]) -> int:
        position = len(self.lines)
        self.lines.append(f"<{element} {attributes({'n': position, **fields})}/>")
        return position

    def sync(self, positions: list[int]) -> None:
        if positions:
            self.add("sync", {"ops": " ".join(str(p) for p in sorted(set(positions)))})

    def sends_from(self, place: Place, count: int) -> list[int]:
        """Return the sends that may still read these chunks, and forget them: the caller waits for them."""
        return [self.sending.pop(p) for p in spread(place, count) if p in self.sending]

    def receive(self, m: Message, peer: int) -> None:
        at = m.landing
        self.sync(self.sends_from(at, m.count))
        place = {"dst": at.buffer, "dstoff": at.offset, "cnt": m.count}
        position = self.add("recv", {"peer": peer, "chan": m.channel, **place})
        moves = m.unpacks
        if m.base is not None:
            moves = (Move("re", m.base if at == m.dst else at, m.dst, m.count),)
        self.arriving.append(_Arrival(position, moves))

    def finish(self, arrivals: list[_Arrival]) -> None:
        """Wait for the receives of the last step, and add up or copy what they brought."""
        moves = [move for a in arrivals for move in a.moves]
        reading = [position for move in moves for position in self.sends_from(move.dst, move.count)]
        self.sync([a.position for a in arrivals] + reading)
        for move in moves:
            self.move(move)

    def move(self, move: Move) -> None:
        where = {"src": move.src.buffer, "srcoff": move.src.offset, "dst": move.dst.buffer, "dstoff": move.dst.offset}
        self.add("reduce" if move.type == "re" else "copy", {**where, "cnt": move.count})

    def send(self, m: Message, peer: int) -> None:
        for move in m.packs:
            self.move(move)
        place = {"src": m.src.buffer, "srcoff": m.src.offset, "cnt": m.count}
        position = self.add("send", {"peer": peer, "chan": m.channel, **place})
        self.sending.update((p, position) for p in spread(m.src, m.count))


def _ranks(placement: Placement, meter: Meter) -> list[_Rank]:
    topology = placement.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    ranks = [_Rank() for _ in range(placement.num_ranks)]
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
    return ranks


def _quoted(text: str) -> str:
    return escape(text, {'"': "&quot;", "\n": " ", "\t": " ", "\r": " "})


def write_cpu(placement: Placement, target: Target, options: FileOptions, meter: Meter) -> Written:
    """Return CPU schedule XML of a placement that was made with slots."""
    window = window_of(options, target, most_scratch(placement.sizes), placement.num_chunks)
    head = {
        "format": "linkstep-cpu",
        "version": 1,
        "name": _quoted(placement.schedule.topology.name or f"N={placement.num_ranks}"),
        "coll": target.collectives[placement.collective],
        "ranks": placement.num_ranks,
        "chunks": placement.num_chunks,
        "inplace": int(placement.inplace),
        "root": placement.root,
        "minbytes": window.smallest,
        "maxbytes": window.largest,
        "linkstep": __version__,
        "cost": str(cost_of(placement.schedule)),
    }
    lines = [f"<schedule {attributes(head)}>"]
    for rank, (made, (i, o, s)) in enumerate(zip(_ranks(placement, meter), placement.sizes, strict=True)):
        lines.append(f"<rank {attributes({'id': rank, 'input': i, 'output': o, 'scratch': s})}>")
        lines += [*made.lines, "</rank>"]
    return Written("\n".join([*lines, "</schedule>", ""]), placement, None, window)
