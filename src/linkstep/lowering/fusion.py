"""Receiving and forwarding in one instruction, and an order of all messages in which that never deadlocks.

A threadblock has one peer to receive from and one to send to, so connections are joined, not messages: at a rank, one
in and one out, where at least half of what either carries goes straight through and nobody waits longer for it. With
less, a threadblock loses more by doing its work in turn than the fused instructions save (up to a quarter of the time,
in simulation). So rings are fused, and few other topologies: a balanced schedule forwards most chunks in several
directions or in parts. Messages joined at every rank they pass are a *chain*.

In the strictest runtime a connection holds nothing, and a chain happens all at once. So chains are what is ordered: as
messages follow each other on a connection, sends before receives of the same step, reads after writes. Connections that
leave no such order are separated again: in a ring, one rank receives and sends in two threadblocks.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from linkstep.lowering.progress import SILENT, Meter
from linkstep.lowering.values import Message, Place, Placement

Connection = tuple[int, int]
"""(link, channel)."""
_Pair = tuple[int, int]  # messages of which the first goes first


@dataclass(frozen=True)
class Fusion:
    """Chains of messages in the order they run in; a message is received by the instruction that sends the next one."""

    chains: tuple[tuple[int, ...], ...]
    """Messages by their number in the placement."""
    onward: dict[Connection, Connection]
    """For a connection in, the connection out that the same threadblock serves."""
    passing: frozenset[int]
    """Messages that nobody needs on the rank they pass: forwarded there, they are not stored."""


def unfused(placement: Placement) -> Fusion:
    """Return every message as a chain of its own."""
    return Fusion(tuple((k,) for k in range(len(placement.messages))), {}, frozenset())


@dataclass(frozen=True)
class _Flow:
    """For each message: the one that it forwards, if that can be fused, and all that it needs."""

    sends_on: dict[int, int]
    needs: list[set[int]]
    passing: frozenset[int]


def _flow(placement: Placement, meter: Meter) -> _Flow:
    topology = placement.schedule.topology
    tail, head = topology.tail.tolist(), topology.head.tolist()
    writer: dict[tuple[int, Place], int] = {}
    sends_on: dict[int, int] = {}
    needs: list[set[int]] = []
    readers: list[set[int]] = [set() for _ in placement.messages]
    for k, m in enumerate(meter.through(placement.messages, len(placement.messages))):
        sources = {writer.get((tail[m.link], place), -1) for place in m.reads}
        needs.append((sources | {writer.get((head[m.link], place), -1) for place in m.adds_to}) - {-1})
        for other in needs[k]:
            readers[other].add(k)
        if len(sources) == 1 and sources != {-1} and _is_whole(placement.messages[min(sources)], m):
            sends_on[k] = min(sources)
        writer.update(((head[m.link], place), k) for place in m.writes)
    kept = {k for (_, place), k in writer.items() if place.buffer != "s"}
    passing = (
        k for k, m in enumerate(placement.messages) if m.base is not None and len(readers[k]) == 1 and k not in kept
    )
    return _Flow(_without_delay(placement, sends_on, readers), needs, frozenset(passing))


def _without_delay(placement: Placement, sends_on: dict[int, int], readers: list[set[int]]) -> dict[int, int]:
    """Return those of ``sends_on`` that make nobody wait longer.

    Other threadblocks see the end of a fused instruction, and of all that this threadblock receives after it, only when
    its data has left. So none of them may need the message, or a later one of the same step.
    """
    found: dict[int, int] = {}
    forward = {other: k for k, other in sends_on.items()}
    by_step: defaultdict[tuple[int, Connection], list[int]] = defaultdict(list)
    for k, m in enumerate(placement.messages):
        by_step[m.step, m.connection].append(k)
    for several in by_step.values():
        readers_since: set[Connection] = set()
        for k in reversed(several):
            readers_since |= {placement.messages[x].connection for x in readers[k]}
            then = forward.get(k)
            if then is not None and readers[k] == {then} and readers_since == {placement.messages[then].connection}:
                found[then] = k
    return found


def _is_whole(first: Message, then: Message) -> bool:
    """Whether a message carries what the other stored, no more and no less, on the same channel."""
    same = (first.dst, first.count, first.channel) == (then.src, then.count, then.channel)
    return same and not first.unpacks and not then.packs


def _join(placement: Placement, flow: _Flow) -> dict[Connection, Connection]:
    """Join connections, beginning with those between which most goes straight through."""
    through: defaultdict[tuple[Connection, Connection], int] = defaultdict(int)
    carried: defaultdict[Connection, int] = defaultdict(int)
    for k, m in enumerate(placement.messages):
        carried[m.connection] += 1
        if k in flow.sends_on:
            through[placement.messages[flow.sends_on[k]].connection, m.connection] += 1
    onward: dict[Connection, Connection] = {}
    taken: set[Connection] = set()
    for (a, b), number in sorted(through.items(), key=lambda item: (-item[1], item[0])):
        if a not in onward and b not in taken and 2 * number >= max(carried[a], carried[b]):
            onward[a] = b
            taken.add(b)
    return onward


def _make_chains(placement: Placement, flow: _Flow, onward: dict[Connection, Connection]) -> list[list[int]]:
    chains: list[list[int]] = []
    ends: dict[int, list[int]] = {}
    for k, m in enumerate(placement.messages):
        other = flow.sends_on.get(k, -1)
        joined = other in ends and onward.get(placement.messages[other].connection) == m.connection
        chain = ends.pop(other) if joined else []
        if not joined:
            chains.append(chain)
        chain.append(k)
        ends[k] = chain
    return chains


def _sequences(placement: Placement, chains: list[list[int]], onward: dict[Connection, Connection]) -> Iterator[_Pair]:
    """Yield pairs of messages of which the first goes first: on a connection, and out before in at a joined pair."""
    carried: defaultdict[Connection, list[int]] = defaultdict(list)
    for k, m in enumerate(placement.messages):
        carried[m.connection].append(k)
    for several in carried.values():
        yield from pairwise(several)
    starts, ends = {chain[0] for chain in chains}, {chain[-1] for chain in chains}
    for a, b in onward.items():
        sends = [k for k in carried[b] if k in starts]
        at = 0
        for k in (k for k in carried[a] if k in ends):
            while at < len(sends) and placement.messages[sends[at]].step <= placement.messages[k].step:
                at += 1
            if at:
                yield sends[at - 1], k


def _order(chains: list[list[int]], pairs: list[_Pair]) -> tuple[list[int], list[_Pair]]:
    """Return the chains in an order that keeps the pairs, ties by their first messages; or pairs that leave no order.

    These are a cycle: the second message of each is of the chain of the first message of the next.
    """
    chain_of = {k: c for c, chain in enumerate(chains) for k in chain}
    later: list[dict[int, _Pair]] = [{} for _ in chains]
    missing = [0] * len(chains)
    for pair in pairs:
        first, then = chain_of[pair[0]], chain_of[pair[1]]
        if first != then and then not in later[first]:
            later[first][then] = pair
            missing[then] += 1
    heap = [(chains[c][0], c) for c, number in enumerate(missing) if not number]
    heapq.heapify(heap)
    order = []
    while heap:
        c = heapq.heappop(heap)[1]
        order.append(c)
        for x in later[c]:
            missing[x] -= 1
            if not missing[x]:
                heapq.heappush(heap, (chains[x][0], x))
    if len(order) == len(chains):
        return order, []
    before = {x: pair for c in set(range(len(chains))) - set(order) for x, pair in later[c].items()}
    path, c = [], min(before)
    while c not in path:
        path.append(c)
        c = chain_of[before[c][0]]
    return order, [before[x] for x in reversed(path[path.index(c) :])]


def _separate(
    placement: Placement, onward: dict[Connection, Connection], chains: list[list[int]], cycle: list[_Pair]
) -> None:
    """Separate two joined connections to break the cycle.

    They are where it leaves a chain before the place where it entered, or where a threadblock sends before it receives.
    """
    head = placement.schedule.topology.head.tolist()
    chain_of = {k: chain for chain in chains for k in chain}
    found = []
    for (first, entry), (leave, _) in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        chain = chain_of[entry]
        found += [placement.messages[k] for k in chain[chain.index(leave) : chain.index(entry)]]
        if onward.get(placement.messages[entry].connection) == placement.messages[first].connection:
            found.append(placement.messages[entry])
    latest = min(
        found, key=lambda m: (-m.step, head[m.link], m.connection)
    )  # of the rules tried, this separates the fewest
    del onward[latest.connection]


def fuse(placement: Placement, meter: Meter = SILENT) -> Fusion:
    """Join the connections where that pays and an order is left."""
    flow = _flow(placement, meter)
    onward = _join(placement, flow)
    needed = [(other, k) for k, several in enumerate(flow.needs) for other in several]
    while True:
        chains = _make_chains(placement, flow, onward)
        order, cycle = _order(chains, [*needed, *_sequences(placement, chains, onward)])
        if not cycle:
            return Fusion(tuple(tuple(chains[c]) for c in order), onward, flow.passing)
        _separate(placement, onward, chains, cycle)
