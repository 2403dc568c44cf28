"""For which data and which fabric the times of a report are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from linkstep.reports.view import FieldForm

if TYPE_CHECKING:
    from linkstep.core.topology import Topology
    from linkstep.costs import Fabric


@dataclass(frozen=True)
class FabricText:
    """What a step, a byte and a call take, exactly, as text with units."""

    alpha: str
    """Seconds of a step, such as "10us"."""
    bandwidth: str
    """bit/s of a node over all its ports, such as "100Gbps"."""
    overhead: str
    """Seconds of a call, however many steps it has."""
    host_bandwidth: Annotated[str | None, FieldForm.OPTIONAL] = None
    """bit/s of all ports of a host together, where it has such a limit."""

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
