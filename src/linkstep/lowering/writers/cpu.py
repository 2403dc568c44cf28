"""Print a plan as CPU schedule XML (docs/cpu-xml.md): one list of instructions a rank.

At every step a rank starts to receive, finishes the step before, and starts to send. Only what is needed is waited for:
what arrived, and sends whose chunks are received over (these are long over: the new data depends on them).
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

from linkstep._version import __version__
from linkstep.costs import cost_of
from linkstep.lowering.values import Message, Move, Place, Plan, spread
from linkstep.lowering.writers.msccl import attributes


class _Arrival(NamedTuple):
    """A receive under way, and what to do with it once it is complete."""

    position: int
    moves: tuple[Move, ...]


class _Rank:
    """A rank's list while it fills, and what is under way."""

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

    def over(self, place: Place, count: int) -> list[int]:
        """Return the sends whose chunks are about to be written over."""
        return [self.sending.pop(p) for p in spread(place, count) if p in self.sending]

    def receive(self, m: Message, peer: int) -> None:
        at = m.landing
        self.sync(self.over(at, m.count))
        place = {"dst": at.buffer, "dstoff": at.offset, "cnt": m.count}
        position = self.add("recv", {"peer": peer, "chan": m.channel, **place})
        moves = m.unpacks
        if m.base is not None:
            moves = (Move("re", m.base if at == m.dst else at, m.dst, m.count),)
        self.arriving.append(_Arrival(position, moves))

    def finish(self, arrivals: list[_Arrival]) -> None:
        """Wait for what the last step brought, and add it up or bring it where it belongs."""
        moves = [move for a in arrivals for move in a.moves]
        over = [position for move in moves for position in self.over(move.dst, move.count)]
        self.sync([a.position for a in arrivals] + over)
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


def _ranks(plan: Plan) -> list[_Rank]:
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    ranks = [_Rank() for _ in range(plan.num_ranks)]
    for copy in plan.copies:
        ranks[copy.rank].move(Move("cpy", copy.src, copy.dst, copy.count))
    for _, group in groupby(plan.messages, key=lambda m: m.step):
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


def cpu_xml(plan: Plan, min_bytes: int, max_bytes: int) -> str:
    """Return CPU schedule XML of a plan that was made with slots."""
    head = {
        "format": "linkstep-cpu",
        "version": 1,
        "name": _quoted(plan.schedule.topology.name or f"N={plan.num_ranks}"),
        "coll": plan.schedule.collective,
        "ranks": plan.num_ranks,
        "chunks": plan.num_chunks,
        "inplace": int(plan.inplace),
        "root": plan.root,
        "minbytes": min_bytes,
        "maxbytes": max_bytes,
        "linkstep": __version__,
        "cost": str(cost_of(plan.schedule)),
    }
    lines = [
        f"<schedule {attributes(head)}>",
    ]
    for rank, (made, (i, o, s)) in enumerate(zip(_ranks(plan), plan.sizes, strict=True)):
        lines.append(f"<rank {attributes({'id': rank, 'input': i, 'output': o, 'scratch': s})}>")
        lines += [*made.lines, "</rank>"]
    return "\n".join([*lines, "</schedule>", ""])
