"""What a schedule costs, exactly, and what none can beat.

A cost is (steps, bandwidth): ``steps`` times alpha plus ``bandwidth`` times M/B seconds (sec:costmodelmain).
Both are exact; only ``Fabric`` knows seconds. Bounds are those of app-sec:optimality.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep._kernels.rows import _step_loads
from linkstep.errors import LinkstepError
from linkstep.schedule import Schedule
from linkstep.topology import Topology
from linkstep.units import Number, parse_bandwidth, parse_size, parse_time


@dataclass(frozen=True)
class Cost:
    """T_L in units of alpha and T_B in units of M/B.

    >>> Cost(2, Fraction(3, 4)).dominates(Cost(2, Fraction(1)))
    True
    """

    steps: int
    bandwidth: Fraction

    def __add__(self, other: Cost) -> Cost:
        """One after the other."""
        return Cost(self.steps + other.steps, self.bandwidth + other.bandwidth)

    def dominates(self, other: Cost) -> bool:
        """Whether this is no worse in either part and better in one."""
        return self != other and self.steps <= other.steps and self.bandwidth <= other.bandwidth

    def __str__(self) -> str:
        return f"{self.steps} alpha + {self.bandwidth} M/B"


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


def cost_of(schedule: Schedule) -> Cost:
    """Return T_L and T_B of a schedule exactly.

    M is N shards (one, of a broadcast or a reduce) and every link has bandwidth B/d, so T_B is d/N times the sum over
    steps of the busiest link's load in shards. With a ``bandwidth`` column, B/d is the fastest link's and a load counts
    in proportion to how much slower its link is.
    """
    topology = schedule.topology
    if topology.bandwidth is None:
        rates, link_class = np.ones(1, np.int64), np.zeros(topology.num_links, np.int64)
    else:
        rates, link_class = np.unique(topology.bandwidth, return_inverse=True)
    loads = _step_loads(
        schedule.num_steps, rates.size, link_class, schedule.lo, schedule.hi, schedule.link, schedule.step
    )
    fastest = int(rates.max()) if rates.size else 1
    slowdown = [Fraction(fastest, int(rate)) for rate in rates]
    if len(slowdown) == 1:
        total = Fraction(int(loads.sum()))
    else:
        total = sum(
            (max(load * s for load, s in zip(row, slowdown, strict=True)) for row in loads.tolist()), Fraction(0)
        )
    return Cost(schedule.num_steps, total * topology.degree / (_num_shards(schedule) * schedule.unit))


def _num_shards(schedule: Schedule) -> int:
    """Return how many shards the data M is: N, but one where a root has it all."""
    return 1 if schedule.collective in ("broadcast", "reduce") else schedule.topology.num_nodes


def time_of(schedule: Schedule, size: Number) -> Fraction:
    """Return seconds for ``size`` bytes in all where links have columns: steps wait for their slowest used link.

    A step takes max over the links it uses of alpha + load / bandwidth (sec:heterogeneous).
    """
    topology = schedule.topology
    if topology.alpha is None or topology.bandwidth is None:
        raise LinkstepError("times need both link columns: alpha (ns) and bandwidth (bit/s)")
    kinds, link_class = np.unique(np.stack([topology.alpha, topology.bandwidth]), axis=1, return_inverse=True)
    loads = _step_loads(
        schedule.num_steps,
        kinds.shape[1],
        link_class.reshape(-1),
        schedule.lo,
        schedule.hi,
        schedule.link,
        schedule.step,
    )
    bits = 8 * parse_size(size) / (_num_shards(schedule) * schedule.unit)
    kind = [(Fraction(a, 10**9), b) for a, b in kinds.T.tolist()]
    return sum(
        (
            max((a + load * bits / b for load, (a, b) in zip(row, kind, strict=True) if load), default=Fraction(0))
            for row in loads.tolist()
        ),
        Fraction(0),
    )


def _check_size(num_nodes: int, degree: int) -> None:
    if num_nodes < 1:
        raise LinkstepError(f"the number of nodes must be at least 1, not {num_nodes}")
    if degree < 1 and num_nodes > 1:
        raise LinkstepError(f"degree must be at least 1, not {degree}")


def _moore_levels(num_nodes: int, first: int, growth: int) -> list[int]:
    """Return how many nodes a Moore tree of num_nodes nodes has at distance 0, 1, 2, ..."""
    levels, left, width = [1], num_nodes - 1, first
    while left > 0:
        if width == 0:
            raise LinkstepError(f"no graph of degree {first} connects {num_nodes} nodes both ways")
        levels.append(min(left, width))
        left -= width
        width *= growth
    return levels


def moore_levels(num_nodes: int, degree: int, *, bidirectional: bool = False) -> list[int]:
    """Return the most nodes there can be at distance 0, 1, 2, ... when all are as near as possible.

    >>> moore_levels(64, 4), moore_levels(64, 4, bidirectional=True)
    ([1, 4, 16, 43], [1, 4, 12, 36, 11])
    """
    _check_size(num_nodes, degree)
    return _moore_levels(num_nodes, degree, degree - 1 if bidirectional else degree)


def moore_steps(num_nodes: int, degree: int, *, bidirectional: bool = False) -> int:
    """Return T_L* (def:mooreopt), or T_L** of tab:exampledistreg for bidirectional graphs.

    >>> moore_steps(1024, 4), moore_steps(21, 4), moore_steps(21, 4, bidirectional=True)
    (5, 2, 3)
    """
    return len(moore_levels(num_nodes, degree, bidirectional=bidirectional)) - 1


def bandwidth_bound(num_nodes: int) -> Fraction:
    """Return T_B* = (N-1)/N (thm:bwoptequation)."""
    _check_size(num_nodes, 1)
    return Fraction(num_nodes - 1, num_nodes)


def lower_bound(num_nodes: int, degree: int, *, bidirectional: bool = False) -> Cost:
    """Return (T_L*, T_B*): no allgather or reduce-scatter beats either part; allreduce costs at least twice it."""
    return Cost(moore_steps(num_nodes, degree, bidirectional=bidirectional), bandwidth_bound(num_nodes))


def all_to_all_bound(num_nodes: int, degree: int, *, bidirectional: bool = False) -> Fraction:
    """Return the most concurrent flow f any graph can carry: d over the sum of distances in a Moore tree.

    >>> f"{float(all_to_all_bound(1024, 4)):.2e}"
    '8.57e-04'
    """
    levels = moore_levels(num_nodes, degree, bidirectional=bidirectional)
    if len(levels) == 1:
        raise LinkstepError("all-to-all needs at least two nodes")
    return Fraction(degree, sum(x * width for x, width in enumerate(levels)))


def is_bandwidth_optimal(topology: Topology, cost: Cost) -> bool:
    """Whether T_B = T_B* (thm:bwoptequation)."""
    return cost.bandwidth == bandwidth_bound(topology.num_nodes)


def is_moore_optimal(topology: Topology, cost: Cost) -> bool:
    """Whether T_L = T_L*(N, d) (def:mooreopt)."""
    return cost.steps == moore_steps(topology.num_nodes, topology.degree)
