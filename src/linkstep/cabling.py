"""Cabling plans: which port of which server goes where, and what a patch panel or optical switch must connect.

A port has two fibres, out and in. Two links, one each way, are one duplex cable between two ports; a single link is a
simplex fibre from the out side of one port to the in side of another (sec:unitobidirectional). Self-loops carry nothing
and are not wired: their ports stay free. Where a topology was read from a list of cables, its plan has that list's
ports, labels and other columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from linkstep.core.arguments import check_kind
from linkstep.core.errors import TopologyError
from linkstep.core.frames import frame_of_rows
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.notebook import MAX_ROWS, html_rows, html_table
from linkstep.core.topology import Topology
from linkstep.core.units import check_count
from linkstep.files.cables import ListedCable, cables_of, natural

MAX_LINKS = 2**20
"""The most links whose cables are listed one by one."""


@dataclass(frozen=True)
class Cable:
    """A cable from a port to a port. ``duplex``: both directions; otherwise out of the first, into the second.

    >>> Cable(0, 1, 2, 0, duplex=True)
    Cable(from_node=0, from_port=1, to_node=2, to_port=0, duplex=True)
    """

    from_node: int
    from_port: int
    to_node: int
    to_port: int
    duplex: bool
    from_name: str = field(default="", repr=False)
    """What the first port is called; "" where it has a number only."""
    to_name: str = field(default="", repr=False)
    details: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Whatever else the list that it came from says of it: label, length, colour."""

    def _row_(self) -> dict[str, Any]:
        return asdict(self)

    def _repr_html_(self) -> str:
        return html_table("cable", self._row_().items())


@dataclass(frozen=True)
class Cabling:
    """All cables of a topology, with ``ports`` on every server, numbered from 0.

    >>> plan = wire("K_{2,2}")
    >>> plan, plan.cables[0].to_node
    (<Cabling of 4 servers, 2 ports: 4 duplex, 0 simplex cables>, 2)
    """

    num_nodes: int
    ports: int
    cables: tuple[Cable, ...]

    def __repr__(self) -> str:
        duplex = sum(cable.duplex for cable in self.cables)
        simplex = len(self.cables) - duplex
        return f"<Cabling of {self.num_nodes} servers, {self.ports} ports: {duplex} duplex, {simplex} simplex cables>"

    def _wiring_(self) -> Topology:
        """Return the links of the cables."""
        ends = [(cable.from_node, cable.to_node) for cable in self.cables]
        ends += [(cable.to_node, cable.from_node) for cable in self.cables if cable.duplex]
        return Topology.from_links(self.num_nodes, [tail for tail, _ in ends], [head for _, head in ends])

    def to_frame(self) -> Any:
        """Return a row for each cable, as a DataFrame of pandas or polars."""
        return frame_of_rows(self.cables)

    def _repr_html_(self) -> str:
        title = f"{len(self.cables)} cables of {self.num_nodes} servers with {self.ports} ports"
        return html_rows(title, [cable._row_() for cable in self.cables[:MAX_ROWS]], len(self.cables))

    def panel(self, node: int, port: int) -> int:
        """Return the panel port that a server's port is plugged into: servers in order, port by port."""
        node = check_count("node", node, 0, self.num_nodes - 1)
        return node * self.ports + check_count("port", port, 0, self.ports - 1)

    def cross_connects(self) -> list[tuple[int, int]]:
        """Return (panel input, panel output) for every fibre: what the panel or switch must connect."""
        found = []
        for c in self.cables:
            there = (self.panel(c.from_node, c.from_port), self.panel(c.to_node, c.to_port))
            found += [there, there[::-1]] if c.duplex else [there]
        return sorted(found)


def wire(topology: WiringLike, whole: Topology | None = None) -> Cabling:
    """Return the cabling: duplex cables where a link has a partner the other way, simplex fibres for the rest.

    Ports and other columns are those of the file that the topology was read from, or, where it is what faults left,
    those of the ``whole``.

    >>> wire(Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 0])).cables[0]
    Cable(from_node=0, from_port=0, to_node=1, to_port=0, duplex=True)
    """
    topology = as_topology(topology)
    if topology.num_links > MAX_LINKS:
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
    whole = topology if whole is None else check_kind("whole", whole, Topology)
    if cables_of(whole):
        cables = _plugged(cables, _still_there(topology, whole), _port_numbers(topology, whole))
    ports = 1 + max((max(cable.from_port, cable.to_port) for cable in cables), default=-1)
    cabling = Cabling(topology.num_nodes, max(topology.degree, ports), tuple(cables))
    check_cabling(cabling, topology)
    return cabling


# --- ports by name ---


def _still_there(topology: Topology, whole: Topology) -> list[ListedCable]:
    """Return the cables that a file listed between hosts that a topology still has, in its numbers."""
    number = {topology.host(node): node for node in range(topology.num_nodes)}
    found = []
    for cable in cables_of(whole):
        tail, head = number.get(whole.host(cable.tail)), number.get(whole.host(cable.head))
        if tail is not None and head is not None and tail != head:
            found.append(replace(cable, tail=tail, head=head))
    return found


def _plugged(
    cables: Sequence[Cable], listed: Iterable[ListedCable], numbers: Mapping[int, Mapping[str, int]]
) -> list[Cable]:
    """Return the cables with the ports that a list gives them, which have these numbers.

    Of parallel cables the first listed are taken: which of them a fault is about, nobody said.
    """
    waiting: dict[tuple[int, int, bool], list[ListedCable]] = defaultdict(list)
    for line in listed:
        tail, head = (line.tail, line.head) if not line.duplex or line.tail < line.head else (line.head, line.tail)
        waiting[tail, head, line.duplex].append(line)
    known: list[tuple[Cable, ListedCable | None]] = []
    for cable in cables:
        mine = waiting[cable.from_node, cable.to_node, cable.duplex]
        known.append((cable, mine.pop(0) if mine else None))
    free = {node: len(ports) for node, ports in numbers.items()}
    found = []
    for cable, one in known:
        ends = {cable.from_node: "", cable.to_node: ""}
        if one is not None:
            ends = {one.tail: one.tail_port, one.head: one.head_port}
        place = {}
        for node, port in ends.items():
            if not port:
                free[node] += 1
            place[node] = numbers[node][port] if port else free[node] - 1
        first, second = cable.from_node, cable.to_node
        details = () if one is None else one.details
        found.append(
            Cable(first, place[first], second, place[second], cable.duplex, ends[first], ends[second], details)
        )
    return found


def _port_numbers(topology: Topology, whole: Topology) -> dict[int, dict[str, int]]:
    """Return the number of each port of each host, of cables that are cut too, so that no other takes it.

    That is the port's name, if all are numbers that fit, else its place among the names of its host.
    """
    number = {topology.host(node): node for node in range(topology.num_nodes)}
    names: dict[int, set[str]] = {node: set() for node in number.values()}
    for one in cables_of(whole):
        for node, port in ((one.tail, one.tail_port), (one.head, one.head_port)):
            if port and whole.host(node) in number:
                names[number[whole.host(node)]].add(port)
    every = {port for ports in names.values() for port in ports}
    if all(port.isascii() and port.isdigit() and len(port) < 10 and int(port) < whole.degree for port in every):
        return {node: {port: int(port) for port in ports} for node, ports in names.items()}
    return {node: {port: i for i, port in enumerate(sorted(ports, key=natural))} for node, ports in names.items()}


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
