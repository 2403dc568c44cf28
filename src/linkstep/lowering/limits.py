"""What fits a runtime: limits that can be checked before any work, and those a finished program may exceed.

Nothing here changes a program; ``linkstep.lowering.pipeline`` tries again with more channels where that could help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Topology, check_permanent
from linkstep.lowering.targets import TARGETS, Target, target_named
from linkstep.lowering.values import BlockProgram, Placement

MAX_MOVES = 50_000_000
"""Chunks times the links they cross: ten million take minutes and gigabytes."""


@dataclass(frozen=True)
class Excess:
    """A limit that is exceeded; ``more_channels`` tells whether these could help."""

    what: str
    limit: int
    found: int
    more_channels: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.found}, {self.found - self.limit} over the limit of {self.limit}"


@dataclass(frozen=True)
class Sizing:
    """What decides how large a program is at least: the data's cuts and the links' channels."""

    channels: int | None = None
    """Channels of each link; None for the fewest that fit."""
    instances: int = 1
    chunks: int | None = None
    """Chunks of a shard; None for the fewest that the schedule needs."""


def exceeded(rows: Iterable[tuple[str, int | None, int]]) -> Iterator[Excess]:
    """Yield the rows of (what, limit, found) whose limit is exceeded."""
    return (Excess(what, limit, found) for what, limit, found in rows if limit is not None and found > limit)


def _most_peers(tail: Ids, head: Ids) -> int:
    """Return the largest number of other ranks that a rank sends to or receives from."""
    pairs = np.unique(np.stack([tail, head])[:, tail != head], axis=1)
    return max((int(np.unique(ends, return_counts=True)[1].max(initial=0)) for ends in pairs), default=0)


def _foregone(
    target: Target, num_ranks: int, num_peers: int, collective: Collective, sizing: Sizing
) -> Iterator[Excess]:
    """Yield the limits that every program of this size exceeds."""
    width = (sizing.chunks or 1) * sizing.instances
    least_moves = collective.num_shards(num_ranks) * (num_ranks - 1) * width * len(collective.phases)
    yield from exceeded(
        [
            ("ranks", target.max_ranks, num_ranks),
            ("peers of a rank", target.max_peers, num_peers),
            ("channels", target.max_channels, max(sizing.channels or 1, sizing.instances)),
            ("chunks of data", target.max_chunks, collective.num_shards(num_ranks) * width),
            ("moves of a chunk over a link", MAX_MOVES, least_moves),
        ]
    )


def _check_carried(target: Target, schedule: Schedule) -> None:
    """Refuse schedules that say what the runtime's files cannot: who else is there, and when a link is."""
    who = f"lowering to {target.name}"
    if schedule.ranks.has_forwarders and not target.forwards:
        able = " or ".join(t.name for t in TARGETS.values() if t.forwards)
        raise LinkstepError(f"{who} knows no hosts that forward without taking part: lower it to {able}")
    check_permanent(schedule.topology, who)


def _check_spelled(target: Target, collective: Collective, proto: str) -> None:
    if collective not in target.collectives:
        able = [t.name for t in TARGETS.values() if collective in t.collectives]
        raise LinkstepError(f"{target.name} has no {collective}: lower it to {' or '.join(able)}")
    if proto not in target.protocols:
        raise LinkstepError(f"{target.name} has no protocol {proto}, only {', '.join(target.protocols)}")


def _check(target: Target, num_ranks: int, num_peers: int, collective: Collective, sizing: Sizing) -> None:
    for what, value in vars(sizing).items():
        if value is not None and value < 1:
            raise LinkstepError(f"{what} must be at least 1, not {value}")

    def broken(target: Target, sizing: Sizing) -> list[Excess]:
        return list(_foregone(target, num_ranks, num_peers, collective, sizing))

    found = broken(target, sizing)
    if not found:
        return
    advice = []
    if not broken(target, replace(sizing, channels=None)):
        advice.append("leave out --channels")
    elif not broken(target, Sizing()):
        advice.append("leave out --instances and --chunks")
    others = [t.name for t in TARGETS.values() if collective in t.collectives and not broken(t, sizing)]
    if others:
        advice.append(f"lower it to {' or '.join(others)}, which can take more")
    why = "; ".join([*map(str, found), ", or ".join(advice) or "no runtime here can take it"])
    raise LinkstepError(f"{collective} does not fit {target.name}: {why}")


def check_fits(
    to: str,
    topology: Topology,
    collective: str,
    *,
    proto: str = "Simple",
    channels: int | None = None,
    instances: int = 1,
    chunks: int | None = None,
) -> None:
    """Raise LinkstepError if no schedule of a topology can be lowered to a runtime with these options.

    This needs no schedule and takes no time, so ask it before making one. What passes may still prove too large. That
    every neighbour is a peer is known of collectives without a root only.

    >>> import linkstep
    >>> check_fits("msccl", linkstep.parse("K_5").topology(), "allreduce", instances=40)
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: allreduce does not fit msccl: channels: 40, 8 over the limit of 32; leave out \
--instances and --chunks, or lower it to mscclpp or rccl or cpu, which can take more
    """
    target, kind = target_named(to), Collective(collective)
    check_permanent(topology, f"lowering to {target.name}")
    _check_spelled(target, kind, proto)
    peers = 0 if kind.has_root else _most_peers(topology.tail, topology.head)
    _check(target, topology.num_nodes, peers, kind, Sizing(channels, instances, chunks))


def check_schedule_fits(target: Target, schedule: Schedule, proto: str, sizing: Sizing) -> None:
    """Do the same for a schedule, whose links are peers where it uses them."""
    kind, topology = schedule.collective, schedule.topology
    _check_carried(target, schedule)
    _check_spelled(target, kind, proto)
    used = np.unique(schedule.link)
    _check(target, schedule.num_ranks, _most_peers(topology.tail[used], topology.head[used]), kind, sizing)


def least_excesses(placement: Placement, target: Target) -> Iterator[Excess]:
    """Yield the limits that a placement exceeds before it has threadblocks: they need far longer to fill."""
    topology = placement.schedule.topology
    links = [m.link for m in placement.messages]
    # An instruction sends, receives or does both, so a rank has no fewer than either.
    busiest = max(int(np.bincount(ends[links]).max(initial=0)) for ends in (topology.tail, topology.head))
    yield from exceeded(
        [
            ("chunks in a buffer", target.max_chunks, max(placement.num_chunks, *placement.sizes[0][:2])),
            ("XML elements a rank reads", target.max_elements, 1 + placement.num_nodes + busiest),
            ("channels", target.max_channels, placement.num_channels),
        ]
    )


def excesses(program: BlockProgram, target: Target) -> Iterator[Excess]:
    """Yield the limits of an XML dialect that a program exceeds, those first that more channels cannot mend."""
    placement = program.placement
    n = placement.num_ranks
    elements = max(1 + n + len(b) + sum(len(tb.instructions) for tb in b) for b in program.ranks)
    sends = max((len({tb.send for tb in b if tb.send >= 0}) for b in program.ranks), default=0)
    receives = max((len({tb.recv for tb in b if tb.recv >= 0}) for b in program.ranks), default=0)
    awaited = (i.depends[0] for b in program.ranks for tb in b for i in tb.instructions if i.depends is not None)
    yield from exceeded(
        [
            ("ranks", target.max_ranks, n),
            ("chunks in a buffer", target.max_chunks, max(max(placement.num_chunks, *s) for s in program.sizes)),
            ("XML elements a rank reads", target.max_elements, elements),
            ("threadblocks of a rank", target.max_blocks, max(len(blocks) for blocks in program.ranks)),
            ("channels", target.max_channels, placement.num_channels),
            ("peers of a rank", target.max_peers, max(sends, receives)),
            ("the largest threadblock waited for", target.max_dependency, max(awaited, default=0)),
        ]
    )
    steps = max((len(tb.instructions) for blocks in program.ranks for tb in blocks), default=0)
    if target.max_steps is not None and steps > target.max_steps:
        yield Excess("steps of a threadblock", target.max_steps, steps, True)
