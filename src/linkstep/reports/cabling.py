"""A cabling plan: every cable by hosts and ports, and what a patch panel or optical switch connects."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from linkstep.cabling import Cabling
from linkstep.core.faults import Fault
from linkstep.core.topology import Topology
from linkstep.reports.view import FieldForm, View, fields_of, member_name, to_members

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
    from_port_name: Annotated[str | None, FieldForm.OPTIONAL] = None
    """What the file that the topology came from calls the first port."""
    to_port_name: Annotated[str | None, FieldForm.OPTIONAL] = None
    """The same of the second end."""
    details: Annotated[dict[str, str] | None, FieldForm.OPTIONAL] = None
    """Other columns of that file: label, length, colour, whatever it has."""


@dataclass(frozen=True)
class CablingReport(View):
    """All cables of a topology."""

    report: ClassVar[str] = "cabling"

    nodes: int
    """Servers, N."""
    degree: int
    """Ports of a server, d."""
    labels: tuple[str, ...]
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
            nodes=cabling.num_nodes,
            degree=cabling.ports,
            labels=tuple(topology.host(node) for node in range(topology.num_nodes)),
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
                    from_port_name=c.from_name or None,
                    to_port_name=c.to_name or None,
                    details=dict(c.details) or None,
                )
                for number, c in enumerate(cabling.cables)
            ),
            cross_connects=tuple(cabling.cross_connects()),
        )

    def to_csv(self) -> str:
        """Return the cables as comma-separated lines, members by name in the first, details as columns at the end."""
        rows = [to_members(row) for row in self.cables]
        names = [member_name(name) for name, _ in fields_of(CableRow)]
        head = [name for name in names if name != "details" and any(name in row for row in rows)]
        said = [row.pop("details", {}) for row in rows]
        details = list(dict.fromkeys(what for one in said for what in one))
        titles = [f"given {what}" if what.lower() in names else what for what in details]
        lines = [
            [*(row.get(name, "") for name in head), *(one.get(what, "") for what in details)]
            for row, one in zip(rows, said, strict=True)
        ]
        return _csv([*head, *titles], lines)

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
