"""For which data and which fabric the times of a report are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from linkstep.core.faults import format_rate
from linkstep.core.text import shortened
from linkstep.core.units import write_bandwidth, write_time
from linkstep.reports.view import Form

if TYPE_CHECKING:
    from linkstep.core.topology import Topology
    from linkstep.costs import Fabric

_LONGEST = 44
"""Characters of a quantity in a line of text."""


@dataclass(frozen=True)
class FabricText:
    """What a step, a byte and a call take, exactly, as text with units."""

    alpha: str
    """Seconds of a step, such as "10us"."""
    bandwidth: str
    """bit/s of a node over all its ports, such as "100Gbps"."""
    overhead: str
    """Seconds of a call, however many steps it has."""
    host_bandwidth: Annotated[str | None, Form.OPTIONAL] = None
    """bit/s of all ports of a host together, where it has such a limit."""

    @classmethod
    def of(cls, fabric: Fabric) -> FabricText:
        """Write what a fabric says."""
        host = fabric.host_bandwidth
        return cls(
            write_time(fabric.alpha),
            write_bandwidth(fabric.node_bandwidth),
            write_time(fabric.overhead),
            None if host is None else write_bandwidth(host),
        )

    def words(self, topology: Topology) -> str:
        """Say for which fabric a time on a topology is: ``alpha 10us, 100Gbps a node``."""
        alpha = f"alpha {shortened(self.alpha, _LONGEST)}" if topology.alpha is None else "alpha of each link"
        rates = f"{shortened(self.bandwidth, _LONGEST)} a node"
        if topology.bandwidth is not None:
            rates = f"links of up to {format_rate(int(topology.bandwidth.max(initial=1)))}"
        if self.host_bandwidth is not None:
            rates += f", {shortened(self.host_bandwidth, _LONGEST)} a host"
        call = "" if self.overhead == "0s" else f", {shortened(self.overhead, _LONGEST)} a call"
        return f"{alpha}, {rates}{call}"

    @property
    def rates(self) -> str:
        """B of a server, and its own limit where it has one, in words."""
        limit = "" if self.host_bandwidth is None else f", at most {self.host_bandwidth} together"
        return f"{self.bandwidth} a server{limit}"


@dataclass(frozen=True)
class Pricing:
    """The size of the data, and the fabric of nodes with a number of ports: as a value and in words."""

    size: str
    """With its unit, such as "1MB"."""
    fabric: Callable[[int], Fabric]
    """By the number of ports of a node: a bandwidth of a node is that of all its ports."""
    text: Callable[[int], FabricText]
    """The same, as text."""
    words: Callable[[Topology], str]
    """The fabric of a topology, whose links may have rates and latencies of their own, in a line."""

    @classmethod
    def of(cls, fabric: Fabric, size: str = "1MB") -> Pricing:
        """Return the pricing of wires: a node with another number of ports has links of the same rate."""
        return cls(
            size=size,
            fabric=fabric.with_degree,
            text=lambda degree: FabricText.of(fabric.with_degree(degree)),
            words=lambda topology: FabricText.of(fabric.with_degree(topology.degree)).words(topology),
        )
