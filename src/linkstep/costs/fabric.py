"""What a cost is worth in seconds, on a fabric of given latency and bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective, Phase
from linkstep.core.errors import LinkstepError
from linkstep.core.inputs import WiringLike, as_topology
from linkstep.core.notebook import html_table
from linkstep.core.tables import look_for_plugins
from linkstep.core.text import shown
from linkstep.core.topology import Ints, Topology
from linkstep.core.units import (
    Number,
    check_count,
    check_quantity,
    parse_bandwidth,
    parse_size,
    parse_time,
    write_bandwidth,
    write_time,
)
from linkstep.costs.cost import Cost
from linkstep.costs.models import MODELS, StepLoads, step_seconds

MAX_DEGREE = 10**6


@dataclass(frozen=True)
class LinkKinds:
    """The links of a topology by kind: alpha (s) and rate (bit/s) of each kind, least alpha first; the kind of each."""

    alpha: tuple[Fraction, ...]
    rate: tuple[Fraction, ...]
    of: Ints


@dataclass(frozen=True)
class Quantity:
    """How a field of a fabric is read from what people write, and written so that it is read back equal."""

    parse: Callable[[Number], Fraction]
    write: Callable[[Fraction], str]
    is_optional: bool
    """Whether it may be None."""

    def read(self, value: Number | None) -> Fraction | None:
        """Return it, or None where that is a value; UnitError if it is neither."""
        return None if value is None and self.is_optional else self.parse(cast(Number, value))


def _rate(value: Number) -> Fraction:
    rate = parse_bandwidth(value)
    if rate <= 0:
        raise LinkstepError(f"bandwidth must be positive, not {value}")
    return rate


_NOTHING = Fraction(0)
_WRITTEN = ("bandwidth", "reduction")
"""What files call ``node_bandwidth`` and ``reduction_bandwidth``."""


SECONDS = {"parse": parse_time, "write": write_time}
BITS_A_SECOND = {"parse": _rate, "write": write_bandwidth}
"""Units of a fabric's fields, as metadata of dataclass fields."""


@dataclass(frozen=True)
class Fabric:
    """What a cost is worth in seconds: alpha (s) a hop, ``node_bandwidth`` = B (bit/s) over ``degree`` ports.

    ``reduction_bandwidth`` is the rate at which a node adds what it received to what it has (1/gamma of
    sec:computeopt); None leaves that out, as the paper does. ``overhead`` (s) is what every call of a collective takes
    besides, whatever the topology (epsilon of fig:latencyfit). ``host_bandwidth`` (bit/s) is what all ports of a host
    carry together, in and out each; None: as much as they are. ``message`` (s) is what a link takes for each message
    besides. ``hop`` (s) is what each hop after the first adds to a message that cuts through; None: hosts on the way
    store and forward it. ``switching`` (s) is what a step takes longer at which links open that it uses.

    >>> fabric = Fabric.of("10us", "100Gbps", 4)
    >>> allgather = Cost(5, Fraction(341, 256))  # of Pi_{4,1024}; its reduce-scatter costs the same
    >>> float(fabric.time(allgather + allgather, "allreduce", "1MiB") * 10**6)
    323.47776
    """

    alpha: Fraction = field(metadata=SECONDS)
    node_bandwidth: Fraction = field(metadata=BITS_A_SECOND)
    degree: int
    reduction_bandwidth: Fraction | None = field(default=None, metadata=BITS_A_SECOND)
    overhead: Fraction = field(default=Fraction(0), metadata=SECONDS)
    host_bandwidth: Fraction | None = field(default=None, metadata=BITS_A_SECOND)
    message: Fraction = field(default=Fraction(0), metadata=SECONDS)
    hop: Fraction | None = field(default=None, metadata=SECONDS)
    switching: Fraction = field(default=Fraction(0), metadata=SECONDS)
    more: tuple[tuple[str, Fraction], ...] = ()
    """Numbers of cost models that were registered, by name."""

    def __post_init__(self) -> None:
        check_count("degree", self.degree, 0, MAX_DEGREE)
        for one in fields(self):
            value = getattr(self, one.name)
            if (value is None and one.default is None) or (one.name == "more" and isinstance(value, tuple)):
                continue
            if not isinstance(value, Fraction | int):
                wanted = "an int or a Fraction, as Fabric.of reads it"
                raise LinkstepError(f"{one.name} of a fabric must be {wanted}, not {shown(value)}")
            check_quantity(Fraction(value), one.name.replace("_", " "))

    def __str__(self) -> str:
        text = f"{write_time(self.alpha)} a hop, {write_bandwidth(self.node_bandwidth)} over {self.degree} ports"
        return text if self.host_bandwidth is None else f"{text}, {write_bandwidth(self.host_bandwidth)} a host"

    def __repr__(self) -> str:
        return f"<Fabric {self}>"

    def _repr_html_(self) -> str:
        more = dict(self.more)
        given = [(name, getattr(self, name, more.get(name)), one.write) for name, one in self.quantities().items()]
        fields = [(name.replace("_", " "), write(value)) for name, value, write in given if value]
        return html_table("fabric", [*fields, ("ports", self.degree)])

    @classmethod
    def of(
        cls,
        alpha: Number,
        node_bandwidth: Number,
        degree: int,
        reduction_bandwidth: Number | None = None,
        overhead: Number = 0,
        **more: Number | None,
    ) -> Fabric:
        """Take quantities as people write them; ``more`` are fields by their names, such as ``message="1us"``."""
        given = {"alpha": alpha, "node_bandwidth": node_bandwidth, "overhead": overhead, **more}
        given["reduction_bandwidth"] = reduction_bandwidth
        quantities = cls.quantities()
        for name in given:
            if name not in quantities:
                raise LinkstepError(f"a fabric has no {name!r}: there are {', '.join(quantities)}")
        values: dict[str, Any] = {name: quantities[name].read(value) for name, value in given.items()}
        own = {one.name for one in fields(cls)}
        named = tuple(sorted((name, value) for name, value in values.items() if name not in own and value))
        values = {name: value for name, value in values.items() if name in own}
        return cls(degree=check_count("degree", degree, 1, MAX_DEGREE), more=named, **values)

    @classmethod
    def quantities(cls) -> dict[str, Quantity]:
        """Return the numbers that have a unit, by name: all fields but the degree, and what registered models read.

        Fabric files hold these.
        """
        found = {
            one.name: Quantity(**one.metadata, is_optional=one.default is None) for one in fields(cls) if one.metadata
        }
        look_for_plugins()
        for model in MODELS.added:
            for name in model.members:
                unit: dict[str, Any] = BITS_A_SECOND if name in model.rates else SECONDS
                if name not in _WRITTEN:
                    found.setdefault(name, Quantity(**unit, is_optional=True))
        return found

    def number(self, name: str) -> Fraction:
        """Return a number of a cost model that was registered; 0 where the fabric says nothing of it."""
        return next((value for known, value in self.more if known == name), _NOTHING)

    def value_of(self, name: str) -> Fraction | None:
        """Return what any of the ``quantities`` is, or None where the fabric says nothing of it."""
        value: Fraction | None = getattr(self, name, None)
        return value if value is not None else self.number(name) or None

    @property
    def bandwidth(self) -> Fraction:
        """B in bit/s: what a host sends, and receives, at most, by its ports together or by its own limit."""
        return min(self.node_bandwidth, self.host_bandwidth or self.node_bandwidth)

    @property
    def is_limited_by_hosts(self) -> bool:
        """Whether a host carries less than its ports together."""
        return self.bandwidth < self.node_bandwidth

    @property
    def link_bandwidth(self) -> Fraction:
        """What one port runs at, in bit/s: B/d, unless hosts have a limit of their own."""
        return self.node_bandwidth / self.degree

    @property
    def gamma(self) -> Fraction:
        """Seconds a node takes to reduce one bit."""
        return Fraction(0) if self.reduction_bandwidth is None else 1 / self.reduction_bandwidth

    def with_degree(self, degree: int) -> Fabric:
        """Return the same wires with another number of ports a node: a link keeps its rate, B follows.

        >>> Fabric.of("10us", "100Gbps", 4).with_degree(2) == Fabric.of("10us", "50Gbps", 2)
        True
        """
        degree = check_count("degree", degree, 0, MAX_DEGREE)
        return replace(self, node_bandwidth=self.link_bandwidth * degree, degree=degree)

    def on(self, topology: WiringLike) -> Fabric:
        """Return the fabric with the rates that a topology gives its links, if it does: B is d times the fastest.

        Self-loops carry nothing and do not count.
        """
        topology = as_topology(topology)
        carries = topology.tail != topology.head
        if topology.bandwidth is None or not carries.any():
            return self
        return replace(self, node_bandwidth=Fraction(self.degree * int(topology.bandwidth[carries].max())))

    def slowest_on(self, topology: WiringLike) -> Fabric:
        """Return the fabric as ``on`` does, with the largest latency of links that have one: no step takes more."""
        topology = as_topology(topology)
        carries = topology.tail != topology.head
        if topology.alpha is None or not carries.any():
            return self.on(topology)
        return replace(self.on(topology), alpha=Fraction(int(topology.alpha[carries].max()), 10**9))

    def links_of(self, topology: WiringLike) -> LinkKinds:
        """Return what a topology's links are like; what it does not say of them is the fabric's.

        >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0], alpha=[1000, 5000, 1000])
        >>> kinds = Fabric.of("10us", "100Gbps", 4).links_of(ring)
        >>> kinds.alpha, kinds.of.tolist()
        ((Fraction(1, 1000000), Fraction(1, 200000)), [0, 1, 0])
        """
        topology = as_topology(topology)
        same = np.zeros(topology.num_links, np.int64)
        columns = [same if column is None else column for column in (topology.alpha, topology.bandwidth)]
        kinds, of = np.unique(np.stack(columns), axis=1, return_inverse=True)
        alphas, rates = kinds.tolist()
        return LinkKinds(
            tuple(self.alpha if topology.alpha is None else Fraction(a, 10**9) for a in alphas),
            tuple(self.link_bandwidth if topology.bandwidth is None else Fraction(b) for b in rates),
            of.reshape(-1).astype(np.int64),
        )

    def width(self, topology: WiringLike) -> Fraction | None:
        """Return how many of the fastest links a host can keep busy at once, each way; None if all its ports.

        None, too, where several nodes share a host: no one number says what links inside and outside come to, and
        ``seconds_of`` alone counts the limit.

        >>> ring = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
        >>> [Fabric.of("10us", "100Gbps", 4, host_bandwidth=h).width(ring) for h in ("30Gbps", "50Gbps", None)]
        [Fraction(6, 5), None, None]
        """
        topology = as_topology(topology)
        if self.host_bandwidth is None or not topology.num_links or topology.shares_hosts:
            return None
        wires = self.on(topology)
        width = self.host_bandwidth / wires.link_bandwidth
        return width if width < topology.degree else None

    def time(self, cost: Cost, collective: Collective | str, size: Number) -> Fraction:
        """Return seconds for one call of a collective of ``size`` bytes in all (M), its schedule being of this cost.

        An allreduce's cost is that of its reduce-scatter and its allgather together. Adding up what arrives takes
        gamma a bit; that is an upper bound (thm:computebound), and of an allreduce half the bandwidth cost reduces.
        A cost knows no messages; of each step one is counted, so that times with ``message`` are at least this.
        Where hosts have a limit, B is that limit: exact for a cost that counts it (``cost_of`` with a fabric), and at
        most what a schedule takes whose cost counts links alone, since its links could all run that much slower.
        """
        check_kind("cost", cost, Cost)
        wanted = Collective(check_kind("collective", collective, str))
        bits = 8 * parse_size(size) * cost.bandwidth
        return self.overhead + self._steps_time(cost.steps, bits) + self.reduction_time(cost, wanted, size)

    def _steps_time(self, steps: int, bits: Fraction) -> Fraction:
        """Return seconds for steps, at each of which a link carries an equal part of the bits at B, as one message.

        With alpha and B alone that is steps alpha + bits / B; other rows of ``MODELS`` add what they count of a step.
        """
        if not steps:
            return bits / self.bandwidth
        return steps * step_seconds(StepLoads(links=((self.alpha, self.bandwidth, 1, bits / steps),)), self)

    def reduction_time(self, cost: Cost, collective: Collective, size: Number) -> Fraction:
        """Return seconds for adding up what arrives, at most."""
        if self.reduction_bandwidth is None:
            return Fraction(0)
        phases = collective.phases
        reduced = Fraction(phases.count(Phase.REDUCE), len(phases))
        return 8 * parse_size(size) * cost.bandwidth * reduced * self.gamma

    def all_to_all_time(self, flow: Fraction, num_nodes: int, size: Number) -> Fraction:
        """Seconds for each node to send ``size`` bytes, one N-th to each node.

        ``flow`` is f of app-sec:all-to-all: what each pair gets at once when a link carries 1. Where hosts have a limit
        their links are all taken to run slower by as much: exact where all of them are busy, else at most this.
        """
        return 8 * parse_size(size) * self.degree / (num_nodes * flow * self.bandwidth)

    def all_to_all_rate(self, flow: Fraction, num_nodes: int) -> Fraction:
        """bit/s that each node sends to the others in an all-to-all; of any size, the same."""
        return Fraction(8 * (num_nodes - 1), num_nodes) / self.all_to_all_time(flow, num_nodes, 1)


def check_host_limit(topology: Topology, fabric: Fabric | None, who: str) -> None:
    """Refuse a limit of hosts that several nodes share, for those who count it by nodes."""
    if fabric is not None and fabric.host_bandwidth is not None and topology.shares_hosts:
        raise LinkstepError(f"{who} knows no limit of hosts that several nodes share")
