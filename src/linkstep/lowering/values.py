"""What lowering makes: buffers, messages and the instructions of each rank. Values only; the passes are elsewhere.

A ``Placement`` is a schedule whose chunks have places in buffers: the writers for CPU clusters and for MSCCL++ start
from it. A ``BlockProgram`` adds threadblocks and dependencies, which MSCCL's interpreters need. Neither is the
``Program`` of ``linkstep.programs``, which is read back from a finished file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from linkstep.core.collective import Collective
from linkstep.core.schedule import Schedule


class Place(NamedTuple):
    """Chunk ``offset`` of a buffer: ``i`` input, ``o`` output, ``s`` scratch."""

    buffer: str
    offset: int

    def after(self, count: int) -> Place:
        """Return the place ``count`` chunks later."""
        return Place(self.buffer, self.offset + count)


def spread(place: Place, count: int) -> list[Place]:
    """Return the places of ``count`` neighbouring chunks, of which ``place`` is the first."""
    buffer, offset = place
    return [Place(buffer, x) for x in range(offset, offset + count)]


@dataclass(frozen=True, slots=True)
class Move:
    """Local work on ``count`` chunks of one rank: ``cpy`` sets dst = src, ``re`` sets dst = dst + src."""

    type: str
    src: Place
    dst: Place
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """``count`` chunks that cross a link at a step: from ``src`` on the tail to ``dst`` on the head.

    In a reduction the head stores ``base`` + what it received, where ``base`` is its input or its sum so far. If
    receiving and adding are two instructions, the data may first arrive in ``slot``. Without a reduction ``base`` is
    None.
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
    """What the tail does before it sends: gather scattered chunks."""
    unpacks: tuple[Move, ...] = ()
    """What the head does with what it received: scatter the chunks again."""

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
        """The chunks that it needs on the head: those it is added to."""
        if self.unpacks:
            return [p for move in self.unpacks if move.type == "re" for p in spread(move.dst, move.count)]
        return [] if self.base is None else spread(self.base, self.count)

    @property
    def writes(self) -> list[Place]:
        """The chunks that it leaves on the head in the end."""
        return [p for move in self.unpacks for p in spread(move.dst, move.count)] or spread(self.dst, self.count)


@dataclass(frozen=True, slots=True)
class Copy:
    """``count`` chunks that a rank copies from its input to its output."""

    rank: int
    src: Place
    dst: Place
    count: int


class BufferSizes(NamedTuple):
    """Chunks of a rank's three buffers."""

    input: int
    output: int
    scratch: int


@dataclass(frozen=True)
class Placement:
    """A schedule as messages between places; in their order (by step, then by link) they can run one by one.

    Rank r is node r of the schedule (``methods.in_rank_order``).
    """

    schedule: Schedule
    inplace: bool
    root: int
    """The root of a broadcast or a reduce, else -1."""
    shard_chunks: int
    """P, the chunks of a shard."""
    sizes: tuple[BufferSizes, ...]
    """For each node; those that only forward have scratch alone."""
    messages: tuple[Message, ...]
    copies: tuple[Copy, ...]

    @property
    def num_ranks(self) -> int:
        """R, how many take part."""
        return self.schedule.num_ranks

    @property
    def num_nodes(self) -> int:
        """N: nodes R, ..., N - 1 are no ranks and only forward."""
        return self.schedule.topology.num_nodes

    @property
    def collective(self) -> Collective:
        """What the schedule does."""
        return self.schedule.collective

    @property
    def num_chunks(self) -> int:
        """How many chunks the data M is."""
        return self.shard_chunks * self.collective.num_shards(self.num_ranks)

    @property
    def num_channels(self) -> int:
        """One more than the largest channel."""
        return 1 + max((m.channel for m in self.messages), default=0)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a threadblock; ``depends`` is a (threadblock, position) to wait for.

    ``type`` is one of MSCCL's words: s (send), r (receive), rrc (receive and add), cpy (copy), re (add), nop, and those
    that also forward what they received: rcs, rrcs, and rrs, which does not store it. The ``dst`` of an s is where the
    data arrives on the peer, and the ``src`` of an r or rcs where it came from on the peer: runtimes ignore both.
    """

    type: str
    src: Place
    dst: Place
    count: int
    depends: tuple[int, int] | None = None
    has_dependent: bool = False
    step: int = 0
    """The step of the schedule that it belongs to; 0 for local work."""


@dataclass(frozen=True)
class Threadblock:
    """Instructions in order, with at most one peer to send to and one to receive from (-1: none)."""

    send: int
    recv: int
    channel: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class BlockProgram:
    """A placement as threadblocks of each rank; a threadblock's id is its position."""

    placement: Placement
    ranks: tuple[tuple[Threadblock, ...], ...]
    sizes: tuple[BufferSizes, ...]
    """For each rank; less scratch than in the placement where data is forwarded without storing it."""

    @property
    def num_fused(self) -> int:
        """Instructions that receive and forward."""
        return sum(i.type in ("rcs", "rrs", "rrcs") for i in self.instructions())

    def instructions(self) -> Iterator[Instruction]:
        """Yield the instructions of all ranks, nops too."""
        return (instruction for blocks in self.ranks for tb in blocks for instruction in tb.instructions)

    @property
    def num_instructions(self) -> int:
        """Instructions of all ranks, nops counted."""
        return sum(len(tb.instructions) for blocks in self.ranks for tb in blocks)
