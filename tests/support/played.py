"""Schedules for tests of the schedule view, and what hosts hold in them, found again by plain sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

import linkstep
from linkstep.core.collective import Collective
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.scheduling import ScheduleResult


def random_topology(nodes: int, degree: int, seed: int, labels: list[str] | None = None) -> Topology:
    """Return a ring and ``degree - 1`` random permutations of hosts: one-way links, some of them parallel."""
    rng = np.random.default_rng(seed)
    tail, head = list(range(nodes)), [(v + 1) % nodes for v in range(nodes)]
    while len(tail) < degree * nodes:
        other = rng.permutation(nodes)
        if (other != np.arange(nodes)).all():
            tail += range(nodes)
            head += other.tolist()
    made = Topology.from_links(nodes, tail, head)
    return made if labels is None else made.with_labels(labels)


def some_schedules() -> dict[str, ScheduleResult]:
    """Return schedules of all collectives and kinds: cables and fibres, some ranks, halves that overlap, one root."""
    found = {}
    for collective in Collective:
        found[f"fibres {collective}"] = linkstep.schedule(random_topology(7, 2, 3), collective, root=4)
        found[f"cables {collective}"] = linkstep.schedule("Torus(2,3)", collective, root=2)
    found["ranks"] = linkstep.schedule("Torus(2,4)", ranks=Ranks.of(linkstep.parse("Torus(2,4)").topology(), [6, 0, 3]))
    found["ranks of an all-to-all"] = linkstep.schedule(
        "Torus(2,4)", "all-to-all", ranks=Ranks.of(linkstep.parse("Torus(2,4)").topology(), [6, 0, 3])
    )
    found["parallel cables"] = linkstep.schedule("BiRing(4,5)")
    found["overlapped"] = linkstep.schedule("BiRing(2,5)", method="overlapped")
    found["rooted"] = linkstep.schedule("BiRing(2,6)", method="rooted")
    # a shard that comes twice is held once
    once = linkstep.schedule("BiRing(2,4)", "allgather").schedule
    columns = {name: getattr(once, name) for name in ("source", "lo", "hi", "link", "step")}
    again = {name: np.append(column, column[-1]) for name, column in columns.items()}
    again["step"][-1] += 1
    found["twice"] = ScheduleResult(Schedule.from_columns(once.topology, once.unit, **again), "file")
    return found


@dataclass
class Held:
    """What hosts hold after a step: shares of shards (of pieces, in an all-to-all)."""

    finished: list[Fraction]
    to_pass: list[Fraction]


def replay(schedule: Schedule) -> list[Held]:
    """Return what hosts hold before the first step and after each, by sets of the ranks that are in every sum."""
    collective, topology, unit = schedule.collective, schedule.topology, schedule.unit
    nodes, rank_of = schedule.ranks.nodes.tolist(), schedule.ranks.rank_of.tolist()
    everyone = frozenset(range(len(nodes)))
    only = int(schedule.source[0]) if collective.has_root else None
    sums: dict[tuple[int, int, int], frozenset[int]] = {}
    for rank, node in enumerate(nodes):
        for shard in range(len(nodes)):
            if only is not None and shard != only:
                continue
            for part in range(unit):
                if collective.reduces:
                    sums[node, shard, part] = frozenset([rank])
                elif shard == rank:
                    sums[node, shard, part] = everyone  # finished, where nothing is added up

    def counted() -> Held:
        finished, to_pass = [Fraction(0)] * topology.num_nodes, [Fraction(0)] * topology.num_nodes
        for (node, _, part), ranks in sums.items():
            share = Fraction(1, unit)
            if collective.exchanges:
                if rank_of[node] != part // (unit // len(nodes)):
                    continue
                share *= len(nodes)
            if ranks == everyone:
                finished[node] += share
            elif ranks:
                to_pass[node] += share
        return Held(finished, to_pass)

    found = [counted()]
    for step in range(1, schedule.num_steps + 1):
        before = dict(sums)
        for row in np.flatnonzero(schedule.step == step).tolist():
            link, shard = int(schedule.link[row]), int(schedule.source[row])
            tail, head = int(topology.tail[link]), int(topology.head[link])
            for part in range(int(schedule.lo[row]), int(schedule.hi[row])):
                sent = before[tail, shard, part]
                if sent == everyone:
                    sums[head, shard, part] = everyone
                    continue
                there = sums.get((head, shard, part), frozenset())
                assert not there & sent
                sums[head, shard, part] = there | sent
                sums[tail, shard, part] = frozenset()
        found.append(counted())
    return found


def named(made: ScheduleResult, labels: list[str]) -> ScheduleResult:
    """Return a schedule on hosts with names."""
    topology = made.schedule.topology.with_labels(labels)
    return replace(made, schedule=replace(made.schedule, topology=topology))
