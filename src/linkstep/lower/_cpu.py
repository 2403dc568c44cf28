"""Print a plan as CPU schedule XML (docs/cpu-xml.md): one list of instructions a rank.

At every step a rank starts to receive, finishes the step before, and starts to send. Only what is needed is waited for:
what arrived, and sends whose chunks are received over (these are long over: the new data depends on them).
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

from linkstep._version import __version__
from linkstep.cost import cost_of
from linkstep.lower._program import Message, Place, Plan
from linkstep.lower._xml import attributes


class _Arrival(NamedTuple):
    """A receive under way, and what to add where once it is complete (nothing where src is None)."""

    position: int
    src: Place | None
    dst: Place
    size: int


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

    def receive(self, m: Message, peer: int) -> None:
        at = m.landing
        over = [self.sending.pop(at.after(k)) for k in range(m.count) if at.after(k) in self.sending]
        self.sync(over)
        place = {"dst": at.buffer, "dstoff": at.offset, "cnt": m.count}
        position = self.add("recv", {"peer": peer, "chan": m.channel, **place})
        added = None if m.base is None else m.base if at == m.dst else at
        self.arriving.append(_Arrival(position, added, m.dst, m.count))

    def finish(self, arrivals: list[_Arrival]) -> None:
        """Wait for what the last step brought and add it up."""
        self.sync([a.position for a in arrivals])
        for a in arrivals:
            if a.src is not None:
                self.move("reduce", a.src, a.dst, a.size)

    def move(self, element: str, src: Place, dst: Place, count: int) -> None:
        where = {"src": src.buffer, "srcoff": src.offset, "dst": dst.buffer, "dstoff": dst.offset, "cnt": count}
        self.add(element, where)

    def send(self, m: Message, peer: int) -> None:
        place = {"src": m.src.buffer, "srcoff": m.src.offset, "cnt": m.count}
        position = self.add("send", {"peer": peer, "chan": m.channel, **place})
        for k in range(m.count):
            self.sending[m.src.after(k)] = position


def _ranks(plan: Plan) -> list[_Rank]:
    topology = plan.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    ranks = [_Rank() for _ in range(plan.num_ranks)]
    for copy in plan.copies:
        ranks[copy.rank].move("copy", copy.src, copy.dst, copy.count)
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


def cpu_xml(plan: Plan) -> str:
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
