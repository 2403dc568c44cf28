"""For which data and which fabric the times of a report are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from linkstep.core.faults import format_rate
from linkstep.core.text import shortened
from linkstep.core.topology import Topology
from linkstep.costs import Fabric
from linkstep.reports.view import FieldForm

_LONGEST = 44
"""Characters of a quantity in a line of text."""


def _written(fabric: Fabric, name: str) -> Any:
    """Return a quantity as text; None where a fabric says nothing of it, and what would add 0s, but for a call's."""
    value = getattr(fabric, name)
    is_left_out = value is None or (not value and name in ("message", "switching"))
    return None if is_left_out else fabric.quantities()[name].write(value)


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
    reduction_bandwidth: Annotated[str | None, FieldForm.OPTIONAL] = None
    """bit/s at which a node adds up what it receives, where that counts."""
    message: Annotated[str | None, FieldForm.OPTIONAL] = None
    """Seconds that a link takes for each message besides, where it does."""
    hop: Annotated[str | None, FieldForm.OPTIONAL] = None
    """Seconds of each hop after the first, where messages over several hops cut through."""
    switching: Annotated[str | None, FieldForm.OPTIONAL] = None
    """Seconds that a step takes longer at which links open, where it does."""

    @classmethod
    def of(cls, fabric: Fabric) -> FabricText:
        """Write the quantities of a fabric."""
        names = {one.name for one in fields(cls)} & fabric.quantities().keys()  # a model of one's own may have more
        written = {name: _written(fabric, name) for name in names}
        return cls(bandwidth=_written(fabric, "node_bandwidth"), **written)

    @property
    def besides(self) -> str:
        """What calls, messages, hops and so on take besides, in words after a comma; nothing where none does.

        >>> FabricText.of(Fabric.of("10us", "100Gbps", 4, overhead="30us", message="1us", hop="100ns")).besides
        ', 30us a call, 1us a message, 100ns a hop passed through'
        """
        words = {
            "a call": None if self.overhead == "0s" else self.overhead,
            "a message": self.message,
            "a hop passed through": self.hop,
            "to switch links": self.switching,
        }
        times = "".join(f", {shortened(text, _LONGEST)} {what}" for what, text in words.items() if text is not None)
        return times + ("" if self.reduction_bandwidth is None else f", sums at {self.reduction_bandwidth}")

    @property
    def rates(self) -> str:
        """B of a server, and its own limit where it has one, in words."""
        limit = "" if self.host_bandwidth is None else f", at most {self.host_bandwidth} together"
        return f"{self.bandwidth} a server{limit}"


@dataclass(frozen=True)
class Pricing:
    """The size of the data, and the fabric of nodes with any number of ports.

    >>> pricing = Pricing("1MB", Fabric.of("10us", "100Gbps", 4))
    >>> pricing.fabric_for(2).link_bandwidth == pricing.fabric.link_bandwidth * 2
    True
    """

    size: str
    """With its unit, such as "1MB"."""
    fabric: Fabric
    """Of a node with as many ports as it says."""
    is_of_wires: bool = False
    """Whether a link keeps its rate whatever the number of ports; if not, a node keeps B, over all of them."""
    as_given: Mapping[str, str] = field(default_factory=dict)
    """Members of the fabric's text that somebody wrote, word for word: ``{"alpha": "0.01ms"}``."""

    @classmethod
    def of(cls, fabric: Fabric, size: str = "1MB") -> Pricing:
        """Return the pricing of wires: a node with another number of ports has links of the same rate."""
        return cls(size, fabric, is_of_wires=True)

    def fabric_for(self, degree: int) -> Fabric:
        """Return the fabric of nodes with this many ports."""
        ports = max(degree, 1)
        return self.fabric.with_degree(ports) if self.is_of_wires else replace(self.fabric, degree=ports)

    def text_for(self, degree: int) -> FabricText:
        """Return the fabric of nodes with this many ports as text: as it was given, else written exactly."""
        return replace(FabricText.of(self.fabric_for(degree)), **self.as_given)

    def words_for(self, topology: Topology) -> str:
        """Return the fabric of a topology, whose links may have rates and latencies of their own, in a line.

        >>> from linkstep.recipe import parse
        >>> Pricing("1MB", Fabric.of("10us", "100Gbps", 4)).words_for(parse("K_5").topology())
        'alpha 10us, 100Gbps a node'
        """
        text = self.text_for(topology.degree)
        alpha = f"alpha {shortened(text.alpha, _LONGEST)}"
        if topology.alpha is not None:
            alpha = "alpha of each link"
        rates = f"{shortened(text.bandwidth, _LONGEST)} a node"
        if topology.bandwidth is not None:
            rates = f"links of up to {format_rate(int(topology.bandwidth.max(initial=1)))}"
        if text.host_bandwidth is not None:
            rates += f", {shortened(text.host_bandwidth, _LONGEST)} a host"
        return f"{alpha}, {rates}{text.besides}"
