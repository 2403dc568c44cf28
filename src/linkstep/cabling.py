"""Cabling plans: which port of which server goes where, and what a patch panel or optical switch must connect.

A port has two fibres, out and in. Two links, one each way, are one duplex cable between two ports; a single link is a
simplex fibre from the out side of one port to the in side of another (sec:unitobidirectional). Self-loops carry nothing
and are not wired: their ports stay free.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from linkstep.core.arguments import check_kind
from linkstep.core.errors import TopologyError
from linkstep.core.topology import Topology

MAX_LINKS = 2**20
"""The most links whose cables are listed one by one."""


@dataclass(frozen=True)
class Cable:
    """A cable from a port to a port. ``duplex``: both directions; otherwise out of the first, into the second."""

    from_node: int
    from_port: int
    to_node: int
    to_port: int
    duplex: bool


@dataclass(frozen=True)
class Cabling:
    """All cables of a topology, with ``ports`` on every server, numbered from 0."""

    num_nodes: int
    ports: int
    cables: tuple[Cable, ...]

    def __repr__(self) -> str:
        duplex = sum(cable.duplex for cable in self.cables)
        simplex = len(self.cables) - duplex
        return f"<Cabling of {self.num_nodes} servers, {self.ports} ports: {duplex} duplex, {simplex} simplex cables>"

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


def wire(topology: Topology) -> Cabling:
    """Return the cabling: duplex cables where a link has a partner the other way, simplex fibres for the rest.

    >>> wire(Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 0])).cables[0]
    Cable(from_node=0, from_port=0, to_node=1, to_port=0, duplex=True)
    """
    if check_kind("topology", topology, Topology).num_links > MAX_LINKS:
        raise TopologyError(f"has {topology.num_links} links: cables are planned for up to {MAX_LINKS}")
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
    cabling = Cabling(topology.num_nodes, topology.degree, tuple(cables))
    check_cabling(cabling, topology)
    return cabling


def check_cabling(cabling: Cabling, topology: Topology) -> None:
    """Raise unless every port side is used at most once and the cables are the topology's links, no more, no less."""
    taken: set[tuple[int, int, str]] = set()
    links: list[tuple[int, int]] = []
    for cable in cabling.cables:
        ends = [(cable.from_node, cable.from_port, "out"), (cable.to_node, cable.to_port, "in")]
        links.append((cable.from_node, cable.to_node))
        if cable.duplex:
            ends += [(cable.from_node, cable.from_port, "in"), (cable.to_node, cable.to_port, "out")]
            links.append((cable.to_node, cable.from_node))
        for node, port, side in ends:
            if port >= cabling.ports:
                raise TopologyError(
                    f"{topology.called(node)} has {cabling.ports} ports, but a cable is plugged into port {port}"
                )
            if (node, port, side) in taken:
                raise TopologyError(f"two cables use the {side} side of {topology.called(node)} port {port}")
            taken.add((node, port, side))
    wanted = [(u, w) for u, w in zip(topology.tail.tolist(), topology.head.tolist(), strict=True) if u != w]
    if sorted(links) != sorted(wanted):
        u, w = next(iter((Counter(links) - Counter(wanted)) | (Counter(wanted) - Counter(links))))
        ends_text = f"from {topology.called(u)} to {topology.called(w)}"
        raise TopologyError(f"the cables are not the topology's links: those {ends_text} differ in number")
