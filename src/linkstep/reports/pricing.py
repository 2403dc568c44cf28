"""For which data and which fabric the times of a report are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Annotated, Any

from linkstep.core.faults import format_rate
from linkstep.core.text import shortened
from linkstep.core.topology import Topology
from linkstep.costs import Fabric
from linkstep.reports.view import BitRate, FieldForm, Seconds

_LONGEST = 44
"""Characters of a quantity in a line of text."""


def _known(fabric: Fabric, name: str) -> Fraction | None:
    """Return a quantity; None where a fabric says nothing of it, and for what would add 0s, but for a call's."""
    value: Fraction | None = getattr(fabric, name)
    return None if not value and name in ("message", "switching") else value


@dataclass(frozen=True)
class FabricFacts:
    """What a step, a byte and a call take."""

    alpha_seconds: Seconds
    """Of a step."""
    node_bandwidth: BitRate
    """Of a node over all its ports."""
    overhead_seconds: Seconds
    """Of a call, however many steps it has."""
    host_bandwidth: Annotated[BitRate | None, FieldForm.OPTIONAL]
    """Of all ports of a host together, where it has such a limit."""
    reduction_bandwidth: Annotated[BitRate | None, FieldForm.OPTIONAL]
    """At which a node adds up what it receives, where that counts."""
    message_seconds: Annotated[Seconds | None, FieldForm.OPTIONAL]
    """That a link takes for each message besides, where it does."""
    hop_seconds: Annotated[Seconds | None, FieldForm.OPTIONAL]
    """Of each hop after the first, where messages over several hops cut through."""
    switching_seconds: Annotated[Seconds | None, FieldForm.OPTIONAL]
    """That a step takes longer at which links open, where it does."""

    @classmethod
    def of(cls, fabric: Fabric) -> FabricFacts:
        """Take a fabric apart."""
        names = (one.name.removesuffix("_seconds") for one in fields(cls))
        return cls(*(_known(fabric, name) for name in names))  # type: ignore[arg-type]  # the first three are never None


@dataclass(frozen=True)
class FabricText:
    """A fabric as people read it, exactly, as text with units; JSON has its numbers."""

    alpha: Annotated[str, FieldForm.UNWRITTEN]
    """Seconds of a step, such as "10us"."""
    bandwidth: Annotated[str, FieldForm.UNWRITTEN]
    """bit/s of a node over all its ports, such as "100Gbps"."""
    overhead: Annotated[str, FieldForm.UNWRITTEN]
    """Seconds of a call, however many steps it has."""
    facts: Annotated[FabricFacts, FieldForm.INLINE]
    host_bandwidth: Annotated[str | None, FieldForm.UNWRITTEN] = None
    """bit/s of all ports of a host together, where it has such a limit."""
    reduction_bandwidth: Annotated[str | None, FieldForm.UNWRITTEN] = None
    """bit/s at which a node adds up what it receives, where that counts."""
    message: Annotated[str | None, FieldForm.UNWRITTEN] = None
    """Seconds that a link takes for each message besides, where it does."""
    hop: Annotated[str | None, FieldForm.UNWRITTEN] = None
    """Seconds of each hop after the first, where messages over several hops cut through."""
    switching: Annotated[str | None, FieldForm.UNWRITTEN] = None
    """Seconds that a step takes longer at which links open, where it does."""
    more: Annotated[str | None, FieldForm.OPTIONAL] = None
    """Numbers of cost models of plug-ins, such as "sync 100us", where there are some."""

    @classmethod
    def of(cls, fabric: Fabric) -> FabricText:
        """Write the quantities of a fabric."""
        quantities = fabric.quantities()
        names = {one.name for one in fields(cls)} & quantities.keys()  # a model of one's own may have more
        known = {name: _known(fabric, name) for name in names}
        written = {name: quantities[name].write(value) for name, value in known.items() if value is not None}
        node = quantities["node_bandwidth"].write(fabric.node_bandwidth)
        more = ", ".join(f"{name} {quantities[name].write(value)}" for name, value in fabric.more if name in quantities)
        return cls(bandwidth=node, more=more or None, facts=FabricFacts.of(fabric), **written)

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
        times += "" if self.more is None else f", {shortened(self.more, _LONGEST)}"
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
        given: dict[str, Any] = dict(self.as_given)
        return replace(FabricText.of(self.fabric_for(degree)), **given)

    def words_for(self, topology: Topology) -> str:
        """Return the fabric of a topology, whose links may have rates and latencies of their own, in a line.

        >>> from linkstep.recipe import parse
        >>> Pricing("1MB", Fabric.of("10us", "100Gbps", 4)).words_for(parse("K_5").topology())
        'alpha 10us, 100Gbps a server'
        """
        text = self.text_for(topology.degree)
        alpha = f"alpha {shortened(text.alpha, _LONGEST)}"
        if topology.alpha is not None:
            alpha = "alpha of each link"
        rates = f"{shortened(text.bandwidth, _LONGEST)} a server"
        if topology.bandwidth is not None:
            rates = f"links of up to {format_rate(int(topology.bandwidth.max(initial=1)))}"
        if text.host_bandwidth is not None:
            rates += f", {shortened(text.host_bandwidth, _LONGEST)} a host"
        return f"{alpha}, {rates}{text.besides}"
