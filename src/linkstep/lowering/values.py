"""What lowering makes: buffers, messages, and per-rank instruction lists. Values only; the passes are elsewhere.

A ``Plan`` is a schedule whose chunks have places in buffers: runtimes that move data by themselves (CPU, MSCCL++) are
printed from it. A ``Program`` has threadblocks and dependencies as MSCCL's interpreters want them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from linkstep.core.schedule import Schedule


class Place(NamedTuple):
    """Chunk ``offset`` of a buffer: ``i`` input, ``o`` output, ``s`` scratch."""

    buffer: str
    offset: int

    def after(self, count: int) -> Place:
        """Return the place ``count`` chunks on."""
        return Place(self.buffer, self.offset + count)


def spread(place: Place, count: int) -> list[Place]:
    """Return the places of ``count`` chunks from one on."""
    buffer, offset = place
    return [Place(buffer, x) for x in range(offset, offset + count)]


@dataclass(frozen=True, slots=True)
class Move:
    """``cpy``: dst = src, or ``re``: dst = dst + src, ``count`` chunks on one rank."""

    type: str
    src: Place
    dst: Place
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """``count`` chunks over a link at a step: from ``src`` on the tail to ``dst`` on the head.

    In a reduction the head stores ``base`` + what it received, ``base`` being its input or its sum so far; where these
    are not one instruction it may first receive to ``slot``. ``base`` is None where it only stores.
    """

    step: int
    link: int
    channel: int
    count: int
    src: Place
    dst: Place
    base: Place | None = None
    slot: Place | None = None
    packs: tuple[Move, ...] = ()
    """What the tail does before it sends, to gather scattered chunks."""
    unpacks: tuple[Move, ...] = ()
    """What the head does with what it received, to scatter them again."""

    @property
    def landing(self) -> Place:
        """Where the data arrives if receiving and reducing are two instructions."""
        return self.dst if self.slot is None else self.slot

    @property
    def connection(self) -> tuple[int, int]:
        """(link, channel)."""
        return self.link, self.channel

    @property
    def reads(self) -> list[Place]:
        """The chunks that it needs on the tail."""
        return [p for move in self.packs for p in spread(move.src, move.count)] or spread(self.src, self.count)

    @property
    def adds_to(self) -> list[Place]:
        """The chunks that it needs on the head: what it is added to."""
        if self.unpacks:
            return [p for move in self.unpacks if move.type == "re" for p in spread(move.dst, move.count)]
        return [] if self.base is None else spread(self.base, self.count)

    @property
    def writes(self) -> list[Place]:
        """The chunks that the head has from it in the end."""
        return [p for move in self.unpacks for p in spread(move.dst, move.count)] or spread(self.dst, self.count)


@dataclass(frozen=True, slots=True)
class Copy:
    """``count`` chunks from one place to another on the same rank."""

    rank: int
    src: Place
    dst: Place
    count: int


@dataclass(frozen=True)
class Plan:
    """Messages in an order that runs one after another: by step, then by link."""

    schedule: Schedule
    inplace: bool
    root: int
    """The root of a broadcast or a reduce, else -1."""
    shard_chunks: int
    """P, chunks a shard."""
    sizes: tuple[tuple[int, int, int], ...]
    """Chunks of input, output and scratch for each rank."""
    messages: tuple[Message, ...]
    copies: tuple[Copy, ...]

    @property
    def num_ranks(self) -> int:
        """N."""
        return self.schedule.topology.num_nodes

    @property
    def num_chunks(self) -> int:
        """How many chunks the data M is."""
        return self.shard_chunks * (1 if self.root >= 0 else self.num_ranks)

    @property
    def num_channels(self) -> int:
        """One more than the largest channel."""
        return 1 + max((m.channel for m in self.messages), default=0)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a threadblock; ``depends`` is a (threadblock, position) to wait for.

    Its type is a word of MSCCL: s send, r receive, rrc receive and add, rcs, rrs and rrcs the same and send on (rrs
    without storing it), cpy, re add, nop.
    """

    type: str
    src: Place
    dst: Place
    count: int
    depends: tuple[int, int] | None = None
    has_dependent: bool = False
    step: int = 0
    """The schedule's step it belongs to; 0 for local work."""


@dataclass(frozen=True)
class Threadblock:
    """Instructions in order, with at most one peer to send to and one to receive from (-1: none)."""

    send: int
    recv: int
    channel: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Program:
    """Threadblocks for each rank; a threadblock's id is its position."""

    plan: Plan
    ranks: tuple[tuple[Threadblock, ...], ...]
    sizes: tuple[tuple[int, int, int], ...]
    """Chunks of input, output and scratch for each rank: no scratch for what is sent on without storing it."""

    @property
    def num_fused(self) -> int:
        """Instructions that receive and send on."""
        return sum(i.type in ("rcs", "rrs", "rrcs") for i in self.instructions())

    def instructions(self) -> Iterator[Instruction]:
        """Yield the instructions of all ranks, nops too."""
        return (instruction for blocks in self.ranks for tb in blocks for instruction in tb.instructions)

    @property
    def num_instructions(self) -> int:
        """Instructions of all ranks, nops counted."""
        return sum(len(tb.instructions) for blocks in self.ranks for tb in blocks)
