"""Bruck's allgather, for any number of nodes: after k rounds a node holds the shards of the 2^k nodes from itself on.

At round k node u sends what it holds to u - 2^k mod N, ceil(log2 N) rounds in all. Made for networks in which every
pair is equally far: here most partners are several links away, and one port is at work at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from linkstep.baselines.routes import Turn, find_links
from linkstep.baselines.tori import torus_routes
from linkstep.core.topology import Ints, Topology
from linkstep.costs import Cost
from linkstep.families.rings import shifted_ring_jumps

Routes = Callable[[Ints], Ints]
"""From every node u to the given ``to[u]``."""


def _rounds(num_nodes: int) -> Iterator[tuple[int, int]]:
    """List (distance, shards a message)."""
    distance = 1
    while distance < num_nodes:
        yield distance, min(distance, num_nodes - distance)
        distance *= 2


def _turns(num_nodes: int, routes: Routes) -> list[Turn]:
    turns = []
    for distance, count in _rounds(num_nodes):
        to = (np.arange(num_nodes) - distance) % num_nodes
        turns.append(Turn(to, routes(to), count))
    return turns


def torus_bruck_turns(topology: Topology, dims: Sequence[int]) -> list[Turn]:
    """Return Bruck's rounds on a torus, nodes in the order of their numbers."""
    return _turns(topology.num_nodes, lambda to: torus_routes(topology, dims, to))


def circulant_bruck_turns(topology: Topology, degree: int, size: int) -> list[Turn]:
    """Return Bruck's rounds on ShiftedRing(d,n); all nodes take the same jumps."""
    jumps = shifted_ring_jumps(degree, size)

    def routes(to: Ints) -> Ints:
        here, hops = np.arange(size), []
        for jump in _jumps_to(int(to[0]), size, jumps):
            there = (here + jump) % size
            hops.append(find_links(topology, here, there))
            here = there
        return np.stack(hops, axis=1)

    return _turns(size, routes)


def circulant_bruck_cost(degree: int, size: int) -> Cost:
    """Return the cost of Bruck's allgather on ShiftedRing(d,n): every hop takes a message over one link of each node.

    >>> print(circulant_bruck_cost(4, 12))
    7 alpha + 7 M/B
    """
    rounds = list(_jump_rounds(degree, size))
    load = sum(count * len(route) for count, route in rounds)
    return Cost(sum(len(route) for _, route in rounds), Fraction(load * degree, size))


def circulant_bruck_cut_through_cost(degree: int, size: int) -> Cost:
    """Return the same where messages cut through: alpha a round, and a link is loaded as often as its jump is taken."""
    rounds = list(_jump_rounds(degree, size))
    load = sum(count * max(map(route.count, route)) for count, route in rounds)
    return Cost(len(rounds), Fraction(load * degree, size))


def _jump_rounds(degree: int, size: int) -> Iterator[tuple[int, list[int]]]:
    jumps = shifted_ring_jumps(degree, size)
    for distance, count in _rounds(size):
        yield count, _jumps_to(size - distance, size, jumps)


def _jumps_to(offset: int, size: int, jumps: Sequence[int]) -> list[int]:
    """Return the fewest jumps that add up to an offset mod n."""
    came, front = {0: 0}, [0]
    while offset not in came:
        reached = []
        for node in front:
            for jump in jumps:
                for way in (jump, -jump):
                    head = (node + way) % size
                    if head not in came:
                        came[head] = way
                        reached.append(head)
        front = reached
    route = []
    while offset:
        route.append(came[offset])
        offset = (offset - came[offset]) % size
    return route
