"""What an event waits for, as columns: pairs of events, each with the transfer that it waits for, or with a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ints, Topology
from linkstep.programs import Program
from linkstep.simulation.wires import WireTraffic


@dataclass(frozen=True, eq=False)
class TimeEdges:
    """Edge k: event ``head[k]`` begins after event ``tail[k]``; sorted by tail."""

    tail: Ints
    head: Ints
    wire: Ints
    """The transfer whose arrival it waits for, -1 where it waits for the event's end."""
    time: Ints
    """Ticks from that end: a signal's way, or none."""
    tells: NDArray[np.bool_]
    """Whether it is a message or a signal to another rank."""
    stays: NDArray[np.bool_]
    """Whether both events are of one rank."""

    @classmethod
    def of(
        cls, program: Program, wires: WireTraffic, topology: Topology, latency: Ints, signal: int, tight: bool
    ) -> TimeEdges:
        """Return the edges of a program; ``latency`` is each link's alpha, in ticks, and ``signal`` that of no link."""
        rank, always, if_tight = program.events.rank, program.events.time_edges, program.events.capacity
        edges = np.concatenate([always, if_tight[: len(if_tight) * tight]])
        order = np.argsort(edges[:, 0], kind="stable")
        tail, head = edges[order].T
        across = rank[tail] != rank[head]
        tells = across & (order < len(always))
        n, a, b = program.num_nodes, rank[tail], rank[head]
        written = np.flatnonzero(wires.head != rank[wires.event])
        carries = _lookup(wires.event[written] * n + wires.head[written], tail * n + b, written)
        pairs, links = topology.tail.astype(np.int64) * n + topology.head, np.arange(topology.num_links)
        there, back = (_lookup(pairs, key, links) for key in (a * n + b, b * n + a))
        link = np.where(there >= 0, there, back)  # a signal finds its way back
        takes = np.append(latency, signal)[link]
        carries[~tells], takes[~across] = -1, 0
        return cls(tail, head, carries, takes, tells, ~across)


def _lookup(keys: Ints, wanted: Ints, values: Ints) -> Any:
    """Return the value of the first of the sorted keys that is the one wanted, or -1 where none is."""
    at = np.searchsorted(keys, wanted)
    found = np.append(keys, -1)[at] == wanted
    return np.where(found, np.append(values, -1)[at], -1)
