"""Send scattered small pieces as one message: the tail copies them together in scratch, the head copies them apart.

That costs two copies for each piece and saves messages, so it pays for several small pieces, in runtimes whose messages
cost more than their copies. Pieces that are neighbours on one side already are not copied there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from linkstep.core.topology import Topology
from linkstep.lowering.values import Message, Move, Place


def _batches(messages: list[Message], limit: int | None) -> Iterator[list[Message]]:
    """Cut a list of messages into batches that one message may carry."""
    batch: list[Message] = []
    count = 0
    for m in messages:
        if limit is not None and count + m.count > limit:
            yield batch
            batch, count = [], 0
        batch.append(m)
        count += m.count
    yield batch


def _are_neighbours(places: list[tuple[Place, int]]) -> bool:
    return all(b == a.after(n) for (a, n), (b, _) in pairwise(places))


def _unpack(m: Message, slot: Place) -> list[Move]:
    """Return the moves that bring a piece from where it arrived to where it belongs."""
    if m.base is None:
        return [Move("cpy", slot, m.dst, m.count)]
    if m.base == m.dst:
        return [Move("re", slot, m.dst, m.count)]
    return [Move("cpy", slot, m.dst, m.count), Move("re", m.base, m.dst, m.count)]


def _together(batch: list[Message], tail: int, head: int, scratch: list[int]) -> Message:
    count = sum(m.count for m in batch)
    src, dst = batch[0].src, batch[0].dst
    packs: list[Move] = []
    unpacks: list[Move] = []
    if not _are_neighbours([(m.src, m.count) for m in batch]):
        src = Place("s", scratch[tail])
        scratch[tail] += count
    if not _are_neighbours([(m.dst, m.count) for m in batch]) or any(m.base is not None for m in batch):
        dst = Place("s", scratch[head])
        scratch[head] += count
    at = 0
    for m in batch:
        if src != batch[0].src:
            packs.append(Move("cpy", m.src, src.after(at), m.count))
        if dst != batch[0].dst:
            unpacks += _unpack(m, dst.after(at))
        at += m.count
    first = batch[0]
    return Message(first.step, first.link, first.channel, count, src, dst, None, None, tuple(packs), tuple(unpacks))


def gathered(
    messages: Iterator[Message], topology: Topology, scratch: list[int], largest: int, fewest: int, limit: int | None
) -> Iterator[Message]:
    """Yield the messages, with pieces of at most ``largest`` chunks of one step and connection joined into one message.

    Fewer than ``fewest`` pieces stay as they are. ``scratch`` is how much scratch each rank uses so far and grows;
    ``limit`` is the most chunks of a message.
    """
    tail, head = topology.tail.tolist(), topology.head.tolist()
    for _, group in groupby(messages, key=lambda m: (m.step, m.link)):
        several = sorted(group, key=lambda m: (m.channel, m.count > largest, m.src))
        for (_, alone), some in groupby(several, key=lambda m: (m.channel, m.count > largest)):
            for batch in [[m] for m in some] if alone else _batches(list(some), limit):
                link = batch[0].link
                if len(batch) < fewest:
                    yield from batch
                else:
                    yield _together(batch, tail[link], head[link], scratch)
