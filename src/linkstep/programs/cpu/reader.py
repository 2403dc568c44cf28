"""CPU schedule XML (docs/reference/cpu-xml.md) as typed rows: the structure of a file, checked by ``rules``."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from linkstep.core.collective import Collective
from linkstep.core.errors import FileError
from linkstep.programs.format import Summary
from linkstep.programs.memory import LETTERS

_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_OPS = re.compile(r"[0-9]{1,9}(?: [0-9]{1,9})*", re.ASCII)
_ATTRIBUTES = {
    "send": ("n", "peer", "chan", "src", "srcoff", "cnt"),
    "recv": ("n", "peer", "chan", "dst", "dstoff", "cnt"),
    "copy": ("n", "src", "srcoff", "dst", "dstoff", "cnt"),
    "reduce": ("n", "src", "srcoff", "dst", "dstoff", "cnt"),
    "sync": ("n",),
}
COLLECTIVES = {collective.value: collective for collective in Collective}
"""What files call them: as we do."""
_SCHEDULE = ("format", "version", "coll", "ranks", "chunks", "inplace", "root")
_VERSIONS = ("1", "2")
"""The second may have forwarders."""


class CpuInstruction(NamedTuple):
    """One instruction of a rank; what its kind does not have is -1 or 0."""

    kind: str
    peer: int = -1
    chan: int = -1
    src: int = -1
    srcoff: int = 0
    dst: int = -1
    dstoff: int = 0
    cnt: int = 0
    ops: tuple[int, ...] | None = None
    """The positions a sync waits for; None for all before it."""


@dataclass(frozen=True)
class Rank:
    """The chunks of a rank's input, output and scratch, and its instructions; a forwarder has scratch alone."""

    size: tuple[int, int, int]
    instructions: list[CpuInstruction] = field(default_factory=list)


@dataclass(frozen=True)
class CpuFile:
    """A CPU schedule: the attributes of its ``schedule`` element, and what its ranks and forwarders do."""

    head: dict[str, str]
    ranks: tuple[Rank, ...]
    """The ranks, then those that forward without taking part."""
    collective: Collective
    chunks: int
    root: int
    num_forwarders: int = 0

    @property
    def num_ranks(self) -> int:
        """How many take part."""
        return len(self.ranks) - self.num_forwarders

    @property
    def is_inplace(self) -> bool:
        """Whether it is called in place."""
        return self.head["inplace"] == "1"

    @property
    def summary(self) -> Summary:
        """What a report says of the file."""
        instructions = sum(len(rank.instructions) for rank in self.ranks)
        return Summary(self.collective.value, self.num_ranks, self.chunks, instructions, "", self.num_forwarders)


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
    if values[name] not in tuple(LETTERS):
        raise FileError(f"{name} of {of} is a buffer i, o or s, not {values[name][:40]!r}")
    return LETTERS.index(values[name])


def _instruction(element: Element, rank: int, position: int) -> CpuInstruction:
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
    return CpuInstruction(kind, ops=ops, **numbers, **buffers)


def read_cpu(text: str) -> CpuFile:
    """Read a text, or raise FileError in one line where it is not a CPU schedule."""
    head: dict[str, str] = {}
    ranks: list[Rank] = []
    forwarders = 0
    for depth, element in _elements(text):
        if depth == 2:
            ranks[-1].instructions.append(_instruction(element, len(ranks) - 1, len(ranks[-1].instructions)))
        elif depth == 0:
            head = _head(element)
        else:
            ranks.append(_rank(element, len(ranks), head["version"], bool(forwarders)))
            forwarders += element.tag == "forwarder"
    return _file(head, ranks, forwarders)


def _head(element: Element) -> dict[str, str]:
    if element.tag != "schedule":
        raise FileError(f"element {element.tag[:40]} where schedule may be")
    head = dict(element.attrib)
    missing = [a for a in _SCHEDULE if a not in head]
    if missing:
        raise FileError(f"schedule has no {missing[0]}")
    if head["format"] != "linkstep-cpu" or head["version"] not in _VERSIONS:
        raise FileError(f"format {head['format'][:40]!r} version {head['version'][:40]!r} is none we read")
    return head


def _rank(element: Element, number: int, version: str, is_after_forwarders: bool) -> Rank:
    """Return a rank, or from version 2 on a forwarder, without its instructions; forwarders come after the ranks."""
    kind, values = element.tag, dict(element.attrib)
    if kind not in ("rank", "forwarder")[: int(version)]:
        raise FileError(f"element {kind[:40]} where rank may be")
    if _number(values, "id", kind) != number:
        raise FileError(f"{kind} {values['id']} where {kind} {number} must be")
    if kind == "forwarder":
        return Rank((0, 0, _number(values, "scratch", f"forwarder {number}")))
    if is_after_forwarders:
        raise FileError(f"rank {number} after a forwarder: ranks come first")
    i, o, s = (_number(values, a, f"rank {number}") for a in ("input", "output", "scratch"))
    return Rank((i, o, s))


def _file(head: dict[str, str], ranks: list[Rank], forwarders: int) -> CpuFile:
    n, chunks, root = (_number(head, a, "schedule") for a in ("ranks", "chunks", "root"))
    said = _number(head, "forwarders", "schedule") if head["version"] != "1" else 0
    if head["coll"] not in COLLECTIVES:
        raise FileError(f"unknown collective {head['coll'][:40]!r}: none of {', '.join(COLLECTIVES)}")
    if head["inplace"] not in ("0", "1"):
        raise FileError(f"inplace must be 0 or 1, not {head['inplace'][:40]!r}")
    if n != len(ranks) - forwarders or n < 1:
        raise FileError(f"{len(ranks) - forwarders} rank elements, but ranks is {n}")
    if said != forwarders:
        raise FileError(f"{forwarders} forwarder elements, but forwarders is {said}")
    return CpuFile(head, tuple(ranks), COLLECTIVES[head["coll"]], chunks, root, forwarders)
