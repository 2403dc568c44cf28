"""What a cost is worth in seconds, on a fabric of given latency and bandwidth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective, Phase
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Ints, Topology
from linkstep.core.units import Number, check_count, parse_bandwidth, parse_size, parse_time
from linkstep.costs.cost import Cost

MAX_DEGREE = 10**6


@dataclass(frozen=True)
class LinkKinds:
    """The links of a topology by kind: alpha (s) and rate (bit/s) of each kind, least alpha first; the kind of each."""

    alpha: tuple[Fraction, ...]
    rate: tuple[Fraction, ...]
    of: Ints


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

    alpha: Fraction
    node_bandwidth: Fraction
    degree: int
    reduction_bandwidth: Fraction | None = None
    overhead: Fraction = Fraction(0)
    host_bandwidth: Fraction | None = None
    message: Fraction = Fraction(0)
    hop: Fraction | None = None
    switching: Fraction = Fraction(0)

    @classmethod
    def of(
        cls,
        alpha: Number,
        node_bandwidth: Number,
        degree: int,
        reduction_bandwidth: Number | None = None,
        overhead: Number = 0,
        *,
        host_bandwidth: Number | None = None,
        message: Number = 0,
        hop: Number | None = None,
        switching: Number = 0,
    ) -> Fabric:
        """Take quantities as people write them."""
        return cls(
            parse_time(alpha),
            _rate(node_bandwidth),
            check_count("degree", degree, 1, MAX_DEGREE),
            None if reduction_bandwidth is None else _rate(reduction_bandwidth),
            parse_time(overhead),
            None if host_bandwidth is None else _rate(host_bandwidth),
            parse_time(message),
            None if hop is None else parse_time(hop),
            parse_time(switching),
        )

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
        return replace(self, node_bandwidth=self.link_bandwidth * degree, degree=degree)

    def on(self, topology: Topology) -> Fabric:
        """Return the fabric with the rates that a topology gives its links, if it does: B is d times the fastest.

        Self-loops carry nothing and do not count.
        """
        carries = topology.tail != topology.head
        if topology.bandwidth is None or not carries.any():
            return self
        return replace(self, node_bandwidth=Fraction(self.degree * int(topology.bandwidth[carries].max())))

    def slowest_on(self, topology: Topology) -> Fabric:
        """Return the fabric as ``on`` does, with the largest latency of links that have one: no step takes more."""
        carries = topology.tail != topology.head
        if topology.alpha is None or not carries.any():
            return self.on(topology)
        return replace(self.on(topology), alpha=Fraction(int(topology.alpha[carries].max()), 10**9))

    def links_of(self, topology: Topology) -> LinkKinds:
        """Return what a topology's links are like; what it does not say of them is the fabric's.

        >>> ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0], alpha=[1000, 5000, 1000])
        >>> kinds = Fabric.of("10us", "100Gbps", 4).links_of(ring)
        >>> kinds.alpha, kinds.of.tolist()
        ((Fraction(1, 1000000), Fraction(1, 200000)), [0, 1, 0])
        """
        same = np.zeros(topology.num_links, np.int64)
        columns = [same if column is None else column for column in (topology.alpha, topology.bandwidth)]
        kinds, of = np.unique(np.stack(columns), axis=1, return_inverse=True)
        alphas, rates = kinds.tolist()
        return LinkKinds(
            tuple(self.alpha if topology.alpha is None else Fraction(a, 10**9) for a in alphas),
            tuple(self.link_bandwidth if topology.bandwidth is None else Fraction(b) for b in rates),
            of.reshape(-1).astype(np.int64),
        )

    def width(self, topology: Topology) -> Fraction | None:
        """Return how many of the fastest links a host can keep busy at once, each way; None if all its ports.

        None, too, where several nodes share a host: no one number says what links inside and outside come to, and
        ``seconds_of`` alone counts the limit.

        >>> ring = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1])
        >>> [Fabric.of("10us", "100Gbps", 4, host_bandwidth=h).width(ring) for h in ("30Gbps", "50Gbps", None)]
        [Fraction(6, 5), None, None]
        """
        if self.host_bandwidth is None or not topology.num_links or topology.shares_hosts:
            return None
        wires = self.on(topology)
        width = self.host_bandwidth / wires.link_bandwidth
        return width if width < topology.degree else None

    def time(self, cost: Cost, collective: Collective | str, size: Number) -> Fraction:
        """Return seconds for one call of a collective of ``size`` bytes in all (M), its schedule being of this cost.

        An allreduce's cost is that of its reduce-scatter and its allgather together. Adding up what arrives takes
        gamma a bit; that is an upper bound (thm:computebound), and of an allreduce half the bandwidth cost reduces.
        Where hosts have a limit, B is that limit: exact for a cost that counts it (``cost_of`` with a fabric), and at
        most what a schedule takes whose cost counts links alone, since its links could all run that much slower.
        """
        check_kind("cost", cost, Cost)
        wanted = Collective(check_kind("collective", collective, str))
        sent = 8 * parse_size(size) * cost.bandwidth / self.bandwidth
        return self.overhead + cost.steps * self.alpha + sent + self.reduction_time(cost, wanted, size)

    def reduction_time(self, cost: Cost, collective: Collective, size: Number) -> Fraction:
        """Return seconds for adding up what arrives, at most."""
        phases = collective.phases
        reduced = Fraction(phases.count(Phase.REDUCE), len(phases))
        return 8 * parse_size(size) * cost.bandwidth * reduced * self.gamma

    def all_to_all_time(self, flow: Fraction, num_nodes: int, size: Number) -> Fraction:
        """Seconds for each node to send ``size`` bytes, one N-th to each node.

        ``flow`` is f of app-sec:all-to-all: what each pair gets at once when a link carries 1. Where hosts have a limit
        their links are all taken to run slower by as much: exact where all of them are busy, else at most this.
        """
        return 8 * parse_size(size) * self.degree / (num_nodes * flow * self.bandwidth)


def check_host_limit(topology: Topology, fabric: Fabric | None, who: str) -> None:
    """Refuse a limit of hosts that several nodes share, for those who count it by nodes."""
    if fabric is not None and fabric.host_bandwidth is not None and topology.shares_hosts:
        raise LinkstepError(f"{who} knows no limit of hosts that several nodes share")


def _rate(value: Number) -> Fraction:
    rate = parse_bandwidth(value)
    if rate <= 0:
        raise LinkstepError(f"bandwidth must be positive, not {value}")
    return rate
