"""Cabling plans: which port of which server goes where, and what a patch panel or optical switch must connect.

A port has two fibres, out and in. A pair of links both ways is one duplex cable between two ports; a link one way is a
simplex fibre from the out side of one port to the in side of another (sec:unitobidirectional). Self-loops carry nothing
and are not wired: their ports stay free.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from linkstep.core.errors import TopologyError
from linkstep.core.topology import Topology


@dataclass(frozen=True)
class Cable:
    """A cable from a port to a port. ``duplex``: both directions; otherwise out of the first, into the second."""

    from_node: int
    from_port: int
    to_node: int
    to_port: int
    duplex: bool


@dataclass(frozen=True)
class Plan:
    """All cables of a topology, with ``ports`` on every server, numbered from 0."""

    num_nodes: int
    ports: int
    cables: tuple[Cable, ...]

    def panel(self, node: int, port: int) -> int:
        """Return the panel port that a server's port is plugged into: servers in order, port by port."""
        return node * self.ports + port

    def cross_connects(self) -> list[tuple[int, int]]:
        """Return (panel input, panel output) for every fibre: what the panel or switch must connect."""
        found = []
        for c in self.cables:
            there = (self.panel(c.from_node, c.from_port), self.panel(c.to_node, c.to_port))
            found += [there, there[::-1]] if c.duplex else [there]
        return sorted(found)


def plan_cables(topology: Topology) -> Plan:
    """Return a plan: duplex cables where a link has a partner the other way, simplex fibres for the rest.

    >>> plan_cables(Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 0])).cables[0]
    Cable(from_node=0, from_port=0, to_node=1, to_port=0, duplex=True)
    """
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for u, w in zip(topology.tail.tolist(), topology.head.tolist(), strict=True):
        if u != w:
            counts[u, w] += 1
    both = {(u, w): min(k, counts.get((w, u), 0)) for (u, w), k in sorted(counts.items())}
    duplex = [(u, w) for (u, w), k in both.items() if u < w for _ in range(k)]
    simplex = [(u, w) for (u, w), k in both.items() for _ in range(counts[u, w] - k)]

    cables = []
    used = [0] * topology.num_nodes  # duplex cables take both sides of a port, from port 0 up
    for u, w in duplex:
        cables.append(Cable(u, used[u], w, used[w], True))
        used[u] += 1
        used[w] += 1
    out, into = used.copy(), used.copy()
    for u, w in simplex:
        cables.append(Cable(u, out[u], w, into[w], False))
        out[u] += 1
        into[w] += 1
    plan = Plan(topology.num_nodes, topology.degree, tuple(cables))
    check_plan(plan, topology)
    return plan


def check_plan(plan: Plan, topology: Topology) -> None:
    """Raise unless every port side is used at most once and the cables are the topology's links, no more, no less."""
    taken: dict[tuple[int, int, str], Cable] = {}
    links: list[tuple[int, int]] = []
    for cable in plan.cables:
        ends = [(cable.from_node, cable.from_port, "out"), (cable.to_node, cable.to_port, "in")]
        links.append((cable.from_node, cable.to_node))
        if cable.duplex:
            ends += [(cable.from_node, cable.from_port, "in"), (cable.to_node, cable.to_port, "out")]
            links.append((cable.to_node, cable.from_node))
        for end in ends:
            if end[1] >= plan.ports:
                raise TopologyError(f"node {end[0]} has {plan.ports} ports, but {cable} uses port {end[1]}")
            if end in taken:
                raise TopologyError(
                    f"the {end[2]} side of node {end[0]} port {end[1]} is used twice: {taken[end]} and {cable}"
                )
            taken[end] = cable
    wanted = [(u, w) for u, w in zip(topology.tail.tolist(), topology.head.tolist(), strict=True) if u != w]
    if sorted(links) != sorted(wanted):
        odd = next(iter(set(links).symmetric_difference(wanted)), None)
        raise TopologyError(f"the cables are not the topology's links: {odd or 'some link'} differs in number")
