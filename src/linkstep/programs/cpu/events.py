"""The CPU schedule XML of docs/cpu-xml.md: sends and receives that run beside the instructions until a sync.

Each rank's instructions are a chain; a transfer is two more events, the reading on one side and the writing on the
other. The sender's chunks are free once its own sync covers the send, or once whoever knows of the receive says so.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from xml.etree.ElementTree import Element, ParseError

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from linkstep.core.errors import FileError
from linkstep.programs.events import SLOT, Plan, PlanBuilder
from linkstep.programs.findings import Findings
from linkstep.programs.memory import NAMES, ROOTED, is_divided, sizes
from linkstep.programs.order import Task

_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_OPS = re.compile(r"[0-9]{1,9}(?: [0-9]{1,9})*", re.ASCII)
_ATTRIBUTES = {
    "send": ("n", "peer", "chan", "src", "srcoff", "cnt"),
    "recv": ("n", "peer", "chan", "dst", "dstoff", "cnt"),
    "copy": ("n", "src", "srcoff", "dst", "dstoff", "cnt"),
    "reduce": ("n", "src", "srcoff", "dst", "dstoff", "cnt"),
    "sync": ("n",),
}
_SCHEDULE = ("format", "version", "coll", "ranks", "chunks", "inplace", "root")


@dataclass
class _Instruction:
    kind: str
    peer: int = -1
    chan: int = -1
    src: int = -1
    srcoff: int = 0
    dst: int = -1
    dstoff: int = 0
    cnt: int = 0
    ops: tuple[int, ...] | None = None
    started: int = -1
    """The event that starts it, or is it."""
    carried: int = -1
    """The event that reads or writes its chunks, of a send or recv."""
    covered: int = -1
    """The position of the first sync that covers it."""


@dataclass
class _Rank:
    size: tuple[int, int, int]
    program: list[_Instruction] = field(default_factory=list)


def _number(values: dict[str, str], name: str, of: str) -> int:
    if name not in values:
        raise FileError(f"{of} has no {name}")
    if not _INTEGER.fullmatch(values[name]):
        raise FileError(f"{name} of {of} is no integer in range: {values[name][:40]!r}")
    return int(values[name])


def _elements(text: str) -> Iterator[tuple[int, Element]]:
    """Yield (depth, element) in order; nothing is kept, no DTD is read, nesting is bounded."""
    depth = 0
    stack: list[Element] = []
    try:
        for event, element in iterparse(io.BytesIO(text.encode()), events=("start", "end"), forbid_dtd=True):
            if event == "start":
                if depth > 2:
                    raise FileError(f"an element {element.tag[:40]} inside an instruction")
                yield depth, element
                stack.append(element)
                depth += 1
                continue
            depth -= 1
            stack.pop()
            if (element.text or "").strip() or any((child.tail or "").strip() for child in element):
                raise FileError(f"text inside {element.tag[:40]}")
            if len(element):
                del element[:]
    except ParseError as error:
        raise FileError(f"not XML: {error}") from None
    except DefusedXmlException:
        raise FileError("a DTD or an entity: neither may be in this file") from None


def _buffer(values: dict[str, str], name: str, of: str) -> int:
    if values[name] not in ("i", "o", "s"):
        raise FileError(f"{name} of {of} is a buffer i, o or s, not {values[name][:40]!r}")
    return "ios".index(values[name])


def _instruction(element: Element, rank: int, position: int) -> _Instruction:
    kind, values = element.tag, dict(element.attrib)
    of = f"{kind[:40]} at position {position} of rank {rank}"
    if kind not in _ATTRIBUTES:
        raise FileError(f"unknown instruction {of}")
    numbers = {a: _number(values, a, of) for a in _ATTRIBUTES[kind] if a not in ("src", "dst")}
    if numbers.pop("n") != position:
        raise FileError(f"n of {of} is {values['n']}: it must be the position")
    buffers = {}
    for name in ("src", "dst"):
        if name in _ATTRIBUTES[kind]:
            if name not in values:
                raise FileError(f"{of} has no {name}")
            buffers[name] = _buffer(values, name, of)
    ops = None
    if kind == "sync" and "ops" in values:
        if values["ops"] and not _OPS.fullmatch(values["ops"]):
            raise FileError(f"ops of {of} are not positions separated by one space")
        ops = tuple(int(x) for x in values["ops"].split())
    return _Instruction(kind, ops=ops, **numbers, **buffers)


def _read(text: str) -> tuple[dict[str, str], list[_Rank]]:
    head: dict[str, str] = {}
    ranks: list[_Rank] = []
    for depth, element in _elements(text):
        if depth == 2:
            ranks[-1].program.append(_instruction(element, len(ranks) - 1, len(ranks[-1].program)))
            continue
        if element.tag != ("schedule", "rank")[depth]:
            raise FileError(f"element {element.tag[:40]} where {('schedule', 'rank')[depth]} may be")
        values = dict(element.attrib)
        if depth == 0:
            head = values
            missing = [a for a in _SCHEDULE if a not in head]
            if missing:
                raise FileError(f"schedule has no {missing[0]}")
            if (head["format"], head["version"]) != ("linkstep-cpu", "1"):
                raise FileError(f"format {head['format'][:40]!r} version {head['version'][:40]!r} is none we read")
        else:
            if _number(values, "id", "rank") != len(ranks):
                raise FileError(f"rank {values['id']} where rank {len(ranks)} must be")
            i, o, s = (_number(values, a, f"rank {len(ranks)}") for a in ("input", "output", "scratch"))
            ranks.append(_Rank((i, o, s)))
    return head, ranks


def _check_rank(r: int, rank: _Rank, num_ranks: int, findings: Findings) -> None:
    """Bounds, peers and syncs; remembers the first sync of each send and recv."""
    end = len(rank.program)
    pending: set[int] = set()
    for n, x in enumerate((*rank.program, _Instruction("sync"))):
        if x.kind == "sync":
            covers = tuple(pending) if x.ops is None else x.ops
            if list(covers) != sorted(set(covers)) and x.ops is not None:
                findings.error("sync", "ops must be ascending", r, None, n)
            for k in covers:
                if k >= min(n, end) or rank.program[k].kind not in ("send", "recv"):
                    findings.error("sync", f"waits for position {k}, which is no earlier send or recv", r, None, n)
                elif k in pending:
                    pending.remove(k)
                    rank.program[k].covered = n
            continue
        if x.kind in ("send", "recv"):
            pending.add(n)
            if not 0 <= x.peer < num_ranks or x.peer == r:
                findings.error("peer", f"peer must be another rank, not {x.peer}", r, None, n)
            if x.chan < 0:
                findings.error("channel", f"chan must not be negative, not {x.chan}", r, None, n)
        if x.cnt < 1:
            findings.error("count", f"cnt must be at least 1, not {x.cnt}", r, None, n)
        for buffer, at in ((x.src, x.srcoff), (x.dst, x.dstoff)):
            if buffer >= 0 and not 0 <= at <= at + x.cnt <= rank.size[buffer]:
                findings.error(
                    "bounds", f"{'ios'[buffer]}[{at}, {at + x.cnt}) is outside of the buffer's {rank.size[buffer]} "
                    "chunks", r, None, n,
                )  # fmt: skip
        if x.src == x.dst and 0 < abs(x.srcoff - x.dstoff) < x.cnt:
            findings.error("overlap", "src and dst overlap in part", r, None, n)


def _match(ranks: list[_Rank], findings: Findings) -> list[tuple[int, _Instruction, int, _Instruction]]:
    """Return the pairs (rank, send, rank, recv)."""
    ends: dict[tuple[int, int, int], tuple[list[int], list[int]]] = {}
    for r, rank in enumerate(ranks):
        for n, x in enumerate(rank.program):
            if x.kind == "send":
                ends.setdefault((r, x.peer, x.chan), ([], []))[0].append(n)
            elif x.kind == "recv":
                ends.setdefault((x.peer, r, x.chan), ([], []))[1].append(n)
    pairs = []
    for (a, b, chan), (sends, receives) in sorted(ends.items()):
        for n in sends[len(receives) :][:1]:
            findings.error("matching", f"send to rank {b} on channel {chan} has no recv", a, None, n)
        for n in receives[len(sends) :][:1]:
            findings.error("matching", f"recv from rank {a} on channel {chan} has no send", b, None, n)
        for m, n in zip(sends, receives, strict=False):
            send, recv = ranks[a].program[m], ranks[b].program[n]
            if send.cnt != recv.cnt:
                findings.error("matching", f"takes {recv.cnt} chunks, rank {a} step {m} sends {send.cnt}", b, None, n)
            pairs.append((a, send, b, recv))
    return pairs


def _lift(ranks: list[_Rank], pairs: list[tuple[int, _Instruction, int, _Instruction]]) -> Plan:
    plan = PlanBuilder()
    syncs: list[list[int]] = []
    for r, rank in enumerate(ranks):
        chain = [plan.event(r, -1, n, raises=(r, n + 1)) for n in range(len(rank.program) + 1)]
        syncs.append(chain)
        plan.edges.extend(pairwise(chain))
        for event, x in zip(chain, rank.program, strict=False):
            x.started = event
            if x.kind in ("copy", "reduce"):
                dst, src = (3 * r + x.dst, x.dstoff), (3 * r + x.src, x.srcoff)
                plan.move(event, dst, *((src, x.cnt) if x.kind == "copy" else (dst, x.cnt, src)))
    slot = 0
    for a, send, b, recv in pairs:
        send.carried = plan.event(a, -1, int(plan.place[send.started][2]), stamp=(a, send.covered + 1))
        recv.carried = plan.event(b, -1, int(plan.place[recv.started][2]), stamp=(b, recv.covered + 1))
        plan.stamp2[send.carried] = (b, recv.covered + 1)
        plan.edges += [
            (send.started, send.carried), (recv.started, recv.carried), (send.carried, recv.carried),
            (send.carried, syncs[a][send.covered]), (recv.carried, syncs[b][recv.covered]),
        ]  # fmt: skip
        plan.waits.append((recv.started, send.carried))  # a rendezvous: nothing is buffered
        plan.move(send.carried, (SLOT, slot), (3 * a + send.src, send.srcoff), send.cnt)
        plan.move(recv.carried, (3 * b + recv.dst, recv.dstoff), (SLOT, slot), recv.cnt)
        slot += send.cnt
    return plan.build(len(ranks), slot)


def _check_head(head: dict[str, str], ranks: list[_Rank], findings: Findings) -> Task:
    n, chunks, root = (_number(head, a, "schedule") for a in ("ranks", "chunks", "root"))
    coll = head["coll"]
    if coll not in NAMES:
        raise FileError(f"unknown collective {coll[:40]!r}")
    if head["inplace"] not in ("0", "1"):
        raise FileError(f"inplace must be 0 or 1, not {head['inplace'][:40]!r}")
    if n != len(ranks) or n < 1:
        raise FileError(f"{len(ranks)} rank elements, but ranks is {n}")
    if chunks < 1 or ((is_divided(coll) or coll == "allreduce") and chunks % n):
        findings.error("chunks", f"chunks must be a positive multiple of the {n} ranks, not {chunks}")
    if not (0 <= root < n if coll in ROOTED else root == -1):
        findings.error("root", f"root of {coll} cannot be {root}")
    for r, rank in enumerate(ranks):
        for size, want, word in zip(rank.size, sizes(coll, n, chunks), ("input", "output"), strict=False):
            if size != want and not (size == 0 and head["inplace"] == "1"):
                findings.error("chunks", f"{word} must be {want}, not {size}", r)
        if rank.size[2] < 0:
            findings.error("chunks", f"scratch must not be negative, not {rank.size[2]}", r)
    return Task(coll, n, chunks, np.array([rank.size[2] for rank in ranks], np.int64), root)
