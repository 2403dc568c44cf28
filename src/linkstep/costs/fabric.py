"""What a cost is worth in seconds, on a fabric of given latency and bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from linkstep.core.errors import LinkstepError
from linkstep.core.units import Number, parse_bandwidth, parse_size, parse_time
from linkstep.costs.cost import Cost


@dataclass(frozen=True)
class Fabric:
    """What a cost is worth in seconds: alpha (s) a hop, ``node_bandwidth`` = B (bit/s) over ``degree`` ports.

    ``reduction_bandwidth`` is the rate at which a node adds what it received to what it has (1/gamma of
    sec:computeopt); None leaves that out, as the paper does.

    >>> fabric = Fabric.of("10us", "100Gbps", 4)
    >>> float(fabric.allreduce_time(Cost(5, Fraction(341, 256)), "1MiB") * 10**6)  # Pi_{4,1024}: 323.5us
    323.47776
    """

    alpha: Fraction
    node_bandwidth: Fraction
    degree: int
    reduction_bandwidth: Fraction | None = None

    @classmethod
    def of(
        cls, alpha: Number, node_bandwidth: Number, degree: int, reduction_bandwidth: Number | None = None
    ) -> Fabric:
        """Take quantities as people write them."""
        rate = parse_bandwidth(node_bandwidth)
        reduction = None if reduction_bandwidth is None else parse_bandwidth(reduction_bandwidth)
        if rate <= 0 or (reduction is not None and reduction <= 0):
            raise LinkstepError(
                f"bandwidth must be positive, not {node_bandwidth if rate <= 0 else reduction_bandwidth}"
            )
        if degree < 1:
            raise LinkstepError(f"degree must be at least 1, not {degree}")
        return cls(parse_time(alpha), rate, degree, reduction)

    @property
    def link_bandwidth(self) -> Fraction:
        """B/d in bit/s."""
        return self.node_bandwidth / self.degree

    @property
    def gamma(self) -> Fraction:
        """Seconds a node takes to reduce one bit."""
        return Fraction(0) if self.reduction_bandwidth is None else 1 / self.reduction_bandwidth

    def _time(self, cost: Cost, size: Number, passes: int, reductions: int) -> Fraction:
        bits = 8 * parse_size(size)
        per_bit = passes / self.node_bandwidth + reductions * self.gamma
        return passes * cost.steps * self.alpha + bits * per_bit * cost.bandwidth

    def allgather_time(self, cost: Cost, size: Number) -> Fraction:
        """Seconds to gather ``size`` bytes in all (M, one shard from each node)."""
        return self._time(cost, size, 1, 0)

    def reduce_scatter_time(self, cost: Cost, size: Number) -> Fraction:
        """Seconds for a reduce-scatter of M bytes; an upper bound where gamma counts (thm:computebound)."""
        return self._time(cost, size, 1, 1)

    def allreduce_time(self, cost: Cost, size: Number) -> Fraction:
        """Seconds for a reduce-scatter and an allgather, each of this cost: 2 (T_L + T_B)."""
        return self._time(cost, size, 2, 1)

    def all_to_all_time(self, flow: Fraction, num_nodes: int, size: Number) -> Fraction:
        """Seconds for each node to send ``size`` bytes, one N-th to each node.

        ``flow`` is f of app-sec:all-to-all: what each pair gets at once when a link carries 1.
        """
        return 8 * parse_size(size) / (num_nodes * flow * self.link_bandwidth)
