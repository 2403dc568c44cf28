"""From a schedule to a placement: cut shards into chunks, give each a place, make messages of neighbouring chunks.

Every output chunk is received once (what a rank already has is not received again) and every partial sum has a place of
its own. So the only hazard left is to read before the data is written, which dependencies prevent. In an allreduce the
partial sums lie in the output; the gather phase overwrites them only with sums that they already went into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ints
from linkstep.correctness import split_phases
from linkstep.lowering.gathering import gathered
from linkstep.lowering.limits import MAX_MOVES, Excess
from linkstep.lowering.progress import SILENT, Meter
from linkstep.lowering.values import BufferSizes, Copy, Message, Place, Placement


@dataclass(frozen=True)
class Options:
    """What may be chosen when lowering; the defaults suit every runtime."""

    inplace: bool = False
    chunks: int | None = None
    """Chunks of a shard, a multiple of the fewest that the schedule needs; None for the fewest."""
    channels: int = 1
    """Channels of each link: its messages take turns on them."""
    instances: int = 1
    """Pieces that every message is cut into, each on channels of its own."""
    stay: bool = False
    """Whether a forwarded piece stays on the channel it came on, so that one instruction can receive and forward it."""
    max_count: int | None = None
    """The most chunks one instruction may move."""
    gather: int = 0
    """The most chunks of a piece that is gathered with others of its step and link; 0 to gather none."""
    gather_fewest: int = 2
    """The fewest pieces that are gathered."""
    slots: bool = False
    """Whether receiving and reducing are two instructions, with scratch between."""


def chunk_grid(schedule: Schedule) -> int:
    """Return the fewest equal chunks a shard can be cut into so that every row carries whole ones.

    Of an all-to-all, so that every piece is whole ones too.
    """
    ends = np.gcd.reduce(np.concatenate([schedule.lo, schedule.hi])) if schedule.num_rows else schedule.unit
    fewest = schedule.unit // gcd(int(ends), schedule.unit)
    return lcm(fewest, schedule.num_ranks) if schedule.collective.exchanges else fewest


def shard_chunks(schedule: Schedule, options: Options) -> int:
    """Return P, the chunks of a shard; LinkstepError if the schedule cannot be cut so, or it is too much work."""
    fewest = chunk_grid(schedule)
    wanted = fewest if options.chunks is None else options.chunks
    if wanted < 1 or wanted % fewest:
        raise LinkstepError(f"chunks must be a multiple of {fewest}, what this schedule cuts shards into, not {wanted}")
    width = wanted * options.instances
    moves = int((schedule.hi - schedule.lo).sum()) * width // schedule.unit
    if moves > MAX_MOVES:
        raise LinkstepError(f"{width} chunks of a shard: {Excess('moves of a chunk over a link', MAX_MOVES, moves)}")
    return width


def num_chunks(schedule: Schedule, options: Options) -> int:
    """Return how many chunks the data M is cut into."""
    shards = schedule.collective.num_shards(schedule.num_ranks)
    return shards * shard_chunks(schedule, options)


class _Layout:
    """Where a rank keeps chunk c of shard v: in its input, as gathered from others, and as a partial sum.

    Nodes from ``num_ranks`` on only forward. They have scratch alone, and one place there for each chunk: for its
    partial sum, and for the whole sum or what is gathered once that comes by.
    """

    def __init__(self, schedule: Schedule, inplace: bool, shard_chunks: int) -> None:
        self.collective, self.inplace, self.width = schedule.collective, inplace, shard_chunks
        self.gathers, self.reduces = self.collective.gathers, self.collective.reduces
        self.starts_with_shard = self.collective.starts_with_shard
        self.ends_with_shard = self.collective.ends_with_shard
        n = self.num_ranks = schedule.num_ranks
        self.root = (int(schedule.source[0]) if schedule.num_rows else 0) if self.collective.has_root else -1
        whole = self.collective.num_shards(n) * shard_chunks
        self.input, self.output = self.collective.num_chunks(n, whole)
        self.scratch = [0] * schedule.topology.num_nodes
        self.sums: dict[tuple[int, int], Place] = {}
        self.passing: dict[tuple[int, int], Place] = {}
        """Where a node keeps a chunk that is meant for others only, as (node, chunk of all shards)."""
        self.piece = shard_chunks // n if self.collective.exchanges else 0

    def _in_whole(self, source: int, chunk: int) -> int:
        return chunk if self.root >= 0 else source * self.width + chunk

    def given(self, source: int, chunk: int) -> Place:
        """Where a rank has it at the start; if the collective only gathers, that is the source alone."""
        if self.piece:
            return Place("i", chunk)
        at = self._in_whole(source, chunk)
        if self.starts_with_shard:
            return Place("o", at) if self.inplace else Place("i", chunk)
        return Place("o" if self.inplace and not self.ends_with_shard else "i", at)

    def gathered(self, rank: int, source: int, chunk: int) -> Place:
        """Where a node puts what it receives: in the output, or in scratch if it only passes it on."""
        if rank < self.num_ranks:
            if not self.piece:
                return Place("o", chunk if self.root >= 0 else source * self.width + chunk)
            if chunk // self.piece == rank:
                return Place("o", source * self.piece + chunk % self.piece)
        key = rank, source * self.width + chunk
        if key not in self.passing:
            self.passing[key] = Place("s", self.scratch[rank])
            self.scratch[rank] += 1
        return self.passing[key]

    def reserve_sum(self, rank: int, source: int, chunk: int) -> None:
        """Give a partial sum a place in scratch, unless the output will have all sums."""
        if not self.gathers and rank < self.num_ranks:  # a caller of reduce has an output at the root only
            self.sums[rank, source * self.width + chunk] = Place("s", self.scratch[rank])
            self.scratch[rank] += 1

    def summed(self, rank: int, source: int, chunk: int) -> Place:
        if self.ends_with_shard and rank == source:
            return Place("i", source * self.width + chunk) if self.inplace else Place("o", chunk)
        if not self.sums:
            return self.gathered(rank, source, chunk)
        return self.sums.get((rank, source * self.width + chunk)) or self.gathered(rank, source, chunk)

    def sizes(self) -> tuple[BufferSizes, ...]:
        data = [(self.input, self.output) if node < self.num_ranks else (0, 0) for node in range(len(self.scratch))]
        return tuple(BufferSizes(*sides, scratch) for sides, scratch in zip(data, self.scratch, strict=True))


def _cells(schedule: Schedule, width: int) -> tuple[list[int], list[int], list[int]]:
    """Return (row, source, chunk) for every chunk of every row, in order."""
    unit = schedule.unit
    starts: Ints = np.array([int(x) * width // unit for x in schedule.lo.tolist()], np.int64)
    stops: Ints = np.array([int(x) * width // unit for x in schedule.hi.tolist()], np.int64)
    counts = stops - starts
    row = np.repeat(np.arange(schedule.num_rows), counts)
    chunk = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
    return row.tolist(), schedule.source[row].tolist(), chunk.tolist()


_Single = tuple[int, int, Place, Place, Place | None]
"""A chunk that crosses a link: its step, link, src, dst and base, as of a ``Message``."""


def _single_chunks(schedule: Schedule, layout: _Layout, meter: Meter) -> Iterator[_Single]:
    """Yield each chunk that its receiver still needs, in the order of the schedule."""
    topology, width = schedule.topology, layout.width
    rows, sources, chunks = _cells(schedule, width)
    reducing, roots = split_phases(schedule)
    reduces = reducing.tolist()
    tail, head = topology.tail[schedule.link].tolist(), topology.head[schedule.link].tolist()
    step, link = schedule.step.tolist(), schedule.link.tolist()
    has = np.zeros((topology.num_nodes, schedule.num_ranks * width), np.bool_)  # a sum, then the gathered chunk
    received_sum = {(head[r], v * width + c) for r, v, c in zip(rows, sources, chunks, strict=True) if reduces[r]}
    for r, v, c in zip(rows, sources, chunks, strict=True):
        if reduces[r] and (tail[r], v * width + c) in received_sum:
            layout.reserve_sum(tail[r], v, c)
    gathered = np.zeros_like(has)
    for v, root, lo, hi in roots.tolist():  # who has a chunk before anyone gathers it
        gathered[root, v * width + lo * width // schedule.unit : v * width + hi * width // schedule.unit] = True
    for r, v, c in meter.through(zip(rows, sources, chunks, strict=True), len(rows)):
        u, w, at = tail[r], head[r], v * width + c
        if reduces[r]:
            src = layout.summed(u, v, c) if has[u, at] else layout.given(v, c)
            dst = layout.summed(w, v, c)
            base = dst if has[w, at] else layout.given(v, c) if w < layout.num_ranks else None
            has[w, at] = True
            yield step[r], link[r], src, dst, base
        elif not gathered[w, at]:
            gathered[w, at] = True
            own = layout.summed(v, v, c) if layout.reduces else layout.given(v, c)
            src = own if u == v else layout.gathered(u, v, c)
            yield step[r], link[r], src, layout.gathered(w, v, c), None


def _is_after(place: Place, first: Place, count: int) -> bool:
    return place.offset == first.offset + count and place.buffer == first.buffer


def _follows(first: _Single, count: int, single: _Single) -> bool:
    """Whether a chunk continues a message that grew to ``count``: it comes right after, in every buffer."""
    (step, link, src, dst, base), (its_step, its_link, its_src, its_dst, its_base) = first, single
    if step != its_step or link != its_link or not _is_after(its_src, src, count):
        return False
    if not _is_after(its_dst, dst, count) or (base is None) != (its_base is None):
        return False
    if base is None or its_base is None:
        return True
    same_kind = (base == dst) == (its_base == its_dst)  # both input, or both the sum so far
    return same_kind and _is_after(its_base, base, count)


def _merged(singles: Iterator[_Single]) -> Iterator[Message]:
    """Make messages of chunks of one link and step that are neighbours."""
    first, count = next(singles, None), 1
    for single in singles:
        assert first is not None
        if _follows(first, count, single):
            count += 1
        else:
            yield Message(first[0], first[1], 0, count, *first[2:])
            first, count = single, 1
    if first is not None:
        yield Message(first[0], first[1], 0, count, *first[2:])


def _piece(message: Message, start: int, count: int, channel: int) -> Message:
    if (start, count, channel) == (0, message.count, message.channel):
        return message
    base = None if message.base is None else message.base.after(start)
    return Message(message.step, message.link, channel, count, message.src.after(start), message.dst.after(start), base)


def _split(message: Message, limit: int | None) -> Iterator[tuple[int, int]]:
    size = message.count if limit is None else limit
    for start in range(0, message.count, size):
        yield start, min(size, message.count - start)


def _parallel(schedule: Schedule) -> list[int]:
    """Return each link's number among the links between its two nodes."""
    seen: dict[tuple[int, int], int] = {}
    numbers = []
    for pair in zip(schedule.topology.tail.tolist(), schedule.topology.head.tolist(), strict=True):
        numbers.append(seen.get(pair, 0))
        seen[pair] = numbers[-1] + 1
    return numbers


def _on_channels(messages: Iterator[Message], schedule: Schedule, options: Options) -> Iterator[Message]:
    """Cut messages into pieces and put each on the least used channel of its link; parallel links share no channel.

    With ``stay`` a piece takes the channel it came on if no other is used less; a rank's own data starts on a channel
    that depends on its number.
    """
    parallel, width = _parallel(schedule), options.channels * options.instances
    tail, head = schedule.topology.tail.tolist(), schedule.topology.head.tolist()
    used = [[0] * width for _ in parallel]
    came: dict[tuple[int, Place], int] = {}
    for message in messages:
        each, link = message.count // options.instances, message.link
        for instance in range(options.instances):
            part = _piece(message, instance * each, each, 0)
            first = instance * options.channels
            for start, count in _split(part, options.max_count):
                busy = used[link][first : first + options.channels]
                turn = busy.index(min(busy))
                if options.stay:
                    before = came.get((tail[link], part.src.after(start)), tail[link] % options.channels)
                    turn = before if busy[before] == busy[turn] else turn
                    came[head[link], part.dst.after(start)] = turn
                used[link][first + turn] += 1
                yield _piece(part, start, count, parallel[link] * width + first + turn)


def _with_slots(messages: Iterator[Message], schedule: Schedule, layout: _Layout) -> Iterator[Message]:
    """Give messages that are added to a sum a place in scratch where they arrive."""
    head = schedule.topology.head.tolist()
    for message in messages:
        if message.base is None or message.base != message.dst:
            yield message
        else:
            m, rank = message, head[message.link]
            slot = Place("s", layout.scratch[rank])
            yield Message(m.step, m.link, m.channel, m.count, m.src, m.dst, m.base, slot, m.packs, m.unpacks)
            layout.scratch[rank] += m.count


def _copies(schedule: Schedule, layout: _Layout, limit: int | None) -> Iterator[Copy]:
    """Copy from the input to the output what crosses no link: a rank's own shard, or everything if it is alone."""
    n, width = layout.num_ranks, layout.width
    if layout.inplace or (n > 1 and layout.collective.reduces):
        return
    for rank in range(n) if not layout.collective.has_root or n == 1 else [layout.root]:
        first, number = (rank * layout.piece, layout.piece) if layout.piece else (0, width)
        src, dst = layout.given(rank, first), layout.summed(rank, rank, first)
        for start, count in _split(Message(0, -1, 0, number, src, dst), limit):
            yield Copy(rank, src.after(start), dst.after(start), count)


def place(schedule: Schedule, options: Options, meter: Meter = SILENT) -> Placement:
    """Return the placement of a schedule, which must be valid (``linkstep.correctness``).

    Its ranks must be its first nodes, in their order.
    """
    if options.inplace and schedule.collective.exchanges:
        raise LinkstepError(
            f"{schedule.collective} is lowered out of place only: what arrives would overwrite what is to be sent"
        )
    layout = _Layout(schedule, options.inplace, shard_chunks(schedule, options))
    merged = list(_merged(_single_chunks(schedule, layout, meter)))  # chunks have places before gathering takes any
    messages = _on_channels(iter(merged), schedule, options)
    if options.gather:
        limit = options.max_count
        messages = gathered(messages, schedule.topology, layout.scratch, options.gather, options.gather_fewest, limit)
    if options.slots:
        messages = _with_slots(messages, schedule, layout)
    done = tuple(messages)
    copies = tuple(_copies(schedule, layout, options.max_count))
    return Placement(schedule, options.inplace, layout.root, layout.width, layout.sizes(), done, copies)
