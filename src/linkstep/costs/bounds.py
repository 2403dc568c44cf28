"""What no schedule and no graph beats (app-sec:optimality): T_L*, T_B* and the most all-to-all flow of N and d."""

from __future__ import annotations

from fractions import Fraction

from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.costs.cost import Cost
from linkstep.symmetry.distances import measure_distances


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
            raise LinkstepError(f"no graph of degree {first} connects {num_nodes} nodes by duplex links")
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


def cut_through_steps(num_nodes: int, degree: int) -> int:
    """Return the fewest steps of an allgather in which a message may go over several links at once.

    Each of d ports takes one message a step, from anywhere: what a node can have heard of grows d + 1 times.

    >>> cut_through_steps(64, 4), cut_through_steps(125, 4), cut_through_steps(126, 4)
    (3, 3, 4)
    """
    _check_size(num_nodes, degree)
    steps, heard = 0, 1
    while heard < num_nodes:
        steps, heard = steps + 1, heard * (degree + 1)
    return steps


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


def distance_flow_bound(topology: Topology, total_distance: int | None = None) -> Fraction:
    """Return the most all-to-all flow a topology can carry by its distances: links over the sum of all distances.

    A unit of flow takes up a unit of each link it uses, at least as many as its ends are apart; the fastest links have
    capacity 1 and self-loops carry nothing (sec:alltoallmain). So this much for each ordered pair of nodes would keep
    every link busy. It counts the network as a whole: where nodes differ, as in an irregular graph or one with faults,
    the links near one of them may allow less. ``total_distance`` is the sum over all ordered pairs, where it is known.

    >>> distance_flow_bound(Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0]))
    Fraction(1, 6)
    """
    if topology.num_nodes == 1:
        raise LinkstepError("all-to-all needs at least two nodes")
    if total_distance is None:
        check_connected(topology)
        total_distance = measure_distances(topology).total
    carries = topology.tail != topology.head
    if topology.bandwidth is None:
        return Fraction(int(carries.sum()), total_distance)
    rates = topology.bandwidth[carries]
    return Fraction(sum(rates.tolist()), int(rates.max()) * total_distance)


def is_bandwidth_optimal(topology: Topology, cost: Cost) -> bool:
    """Whether T_B = T_B* (thm:bwoptequation)."""
    return cost.bandwidth == bandwidth_bound(topology.num_nodes)


def is_moore_optimal(topology: Topology, cost: Cost) -> bool:
    """Whether T_L = T_L*(N, d) (def:mooreopt)."""
    return cost.steps == moore_steps(topology.num_nodes, topology.degree)
