"""What a cost is worth in seconds, on a fabric of given latency and bandwidth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from linkstep.core.arguments import check_kind
from linkstep.core.collective import Collective, Phase
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.core.units import Number, check_count, parse_bandwidth, parse_size, parse_time
from linkstep.costs.cost import Cost, cost_of, time_of

MAX_DEGREE = 10**6


@dataclass(frozen=True)
class Fabric:
    """What a cost is worth in seconds: alpha (s) a hop, ``node_bandwidth`` = B (bit/s) over ``degree`` ports.

    ``reduction_bandwidth`` is the rate at which a node adds what it received to what it has (1/gamma of
    sec:computeopt); None leaves that out, as the paper does. ``overhead`` (s) is what every call of a collective takes
    besides, whatever the topology (epsilon of fig:latencyfit).

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

    @classmethod
    def of(
        cls,
        alpha: Number,
        node_bandwidth: Number,
        degree: int,
        reduction_bandwidth: Number | None = None,
        overhead: Number = 0,
    ) -> Fabric:
        """Take quantities as people write them."""
        rate = parse_bandwidth(node_bandwidth)
        reduction = None if reduction_bandwidth is None else parse_bandwidth(reduction_bandwidth)
        if rate <= 0 or (reduction is not None and reduction <= 0):
            raise LinkstepError(
                f"bandwidth must be positive, not {node_bandwidth if rate <= 0 else reduction_bandwidth}"
            )
        ports = check_count("degree", degree, 1, MAX_DEGREE)
        return cls(parse_time(alpha), rate, ports, reduction, parse_time(overhead))

    @property
    def link_bandwidth(self) -> Fraction:
        """B/d in bit/s."""
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

    def time_of(self, schedule: Schedule, size: Number) -> Fraction:
        """Return seconds for a schedule of ``size`` bytes in all: by its links' own columns where it has them."""
        topology = schedule.topology
        if topology.alpha is None:
            return self.on(topology).time(cost_of(schedule), schedule.collective, size)
        seconds = self.overhead + time_of(schedule, size, bandwidth=self.link_bandwidth)
        if topology.bandwidth is None:
            seconds += self._reduction_time(cost_of(schedule), schedule.collective, size)
        return seconds

    def time(self, cost: Cost, collective: Collective | str, size: Number) -> Fraction:
        """Return seconds for one call of a collective of ``size`` bytes in all (M), its schedule being of this cost.

        An allreduce's cost is that of its reduce-scatter and its allgather together. Adding up what arrives takes
        gamma a bit; that is an upper bound (thm:computebound), and of an allreduce half the bandwidth cost reduces.
        """
        check_kind("cost", cost, Cost)
        wanted = Collective(check_kind("collective", collective, str))
        sent = 8 * parse_size(size) * cost.bandwidth / self.node_bandwidth
        return self.overhead + cost.steps * self.alpha + sent + self._reduction_time(cost, wanted, size)

    def _reduction_time(self, cost: Cost, collective: Collective, size: Number) -> Fraction:
        phases = collective.phases
        reduced = Fraction(phases.count(Phase.REDUCE), len(phases))
        return 8 * parse_size(size) * cost.bandwidth * reduced * self.gamma

    def all_to_all_time(self, flow: Fraction, num_nodes: int, size: Number) -> Fraction:
        """Seconds for each node to send ``size`` bytes, one N-th to each node.

        ``flow`` is f of app-sec:all-to-all: what each pair gets at once when a link carries 1.
        """
        return 8 * parse_size(size) / (num_nodes * flow * self.link_bandwidth)
