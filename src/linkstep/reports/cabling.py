"""A cabling plan: every cable by hosts and ports, and what a patch panel or optical switch connects."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from linkstep.cabling import Cabling
from linkstep.core.faults import Fault
from linkstep.core.topology import Topology
from linkstep.reports.view import View, fields_of, member_name, to_members

DUPLEX, SIMPLEX = "duplex", "simplex"
CROSS_CONNECT = "input", "output"
"""What the two numbers of a cross-connect are."""


@dataclass(frozen=True)
class CableRow:
    """A cable; ports are numbered from 0."""

    cable: int
    """Its number, from 0."""
    from_: str
    """The host at one end."""
    from_port: int
    """Its port, on that host."""
    to: str
    """The host at the other end."""
    to_port: int
    """Its port, on that host."""
    kind: str
    """"duplex": both ways; "simplex": a fibre from the first to the second."""
    panel_from: int
    """The port of a patch panel that the first end is plugged into: hosts in order, port by port."""
    panel_to: int
    """The same of the second end."""


@dataclass(frozen=True)
class CablingReport(View):
    """All cables of a topology."""

    report: ClassVar[str] = "cabling"

    servers: int
    """How many, N."""
    ports: int
    """Of each server."""
    hosts: tuple[str, ...]
    """Names of the servers, or their numbers."""
    faults: tuple[str, ...]
    """What is cut, down or slow, and is not wired."""
    cables: tuple[CableRow, ...]
    cross_connects: tuple[tuple[int, int], ...]
    """Input and output of the panel for every fibre."""

    @classmethod
    def of(cls, cabling: Cabling, topology: Topology, faults: Sequence[Fault] = ()) -> CablingReport:
        """Name the hosts of a plan."""
        return cls(
            servers=cabling.num_nodes,
            ports=cabling.ports,
            hosts=tuple(topology.host(node) for node in range(topology.num_nodes)),
            faults=tuple(str(fault) for fault in faults),
            cables=tuple(
                CableRow(
                    cable=number,
                    from_=topology.host(c.from_node),
                    from_port=c.from_port,
                    to=topology.host(c.to_node),
                    to_port=c.to_port,
                    kind=DUPLEX if c.duplex else SIMPLEX,
                    panel_from=cabling.panel(c.from_node, c.from_port),
                    panel_to=cabling.panel(c.to_node, c.to_port),
                )
                for number, c in enumerate(cabling.cables)
            ),
            cross_connects=tuple(cabling.cross_connects()),
        )

    def to_csv(self) -> str:
        """Return the cables as comma-separated lines, members by name in the first."""
        rows = [to_members(row) for row in self.cables]
        return _csv([member_name(name) for name, _ in fields_of(CableRow)], [row.values() for row in rows])

    def cross_connects_csv(self) -> str:
        """Return input and output of the panel for every fibre, as comma-separated lines."""
        return _csv(CROSS_CONNECT, self.cross_connects)

    @property
    def num_duplex(self) -> int:
        """How many cables are duplex."""
        return sum(row.kind == DUPLEX for row in self.cables)


def _csv(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
