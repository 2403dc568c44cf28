"""Recursive halving and doubling: a reduce-scatter that halves the data, an allgather that doubles it.

At round k of the allgather node u exchanges all it holds with u xor 2^k, as MPI libraries do: a neighbour in a
hypercube, and for four nodes of the twisted one a node two links away. One link of d is used at a time.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linkstep.baselines.routes import Turn, shortest_routes
from linkstep.core.topology import Topology
from linkstep.costs import Cost, bandwidth_bound


def doubling_turns(topology: Topology, dimension: int) -> list[Turn]:
    """Return the rounds of recursive doubling for N = 2^n."""
    partners = [np.arange(2**dimension) ^ 1 << k for k in range(dimension)]
    return [Turn(to, shortest_routes(topology, to), 2**k) for k, to in enumerate(partners)]


def hypercube_doubling_cost(dimension: int) -> Cost:
    """Return the cost of recursive doubling on Q(n): n steps, and one link of n at work.

    >>> print(hypercube_doubling_cost(3))
    3 alpha + 21/8 M/B
    """
    return Cost(dimension, dimension * bandwidth_bound(2**dimension))


def twisted_doubling_cost(dimension: int) -> Cost:
    """Return the cost of recursive doubling on TwistedHypercube(n).

    At the first round nodes 0 to 3 are two links from their partners: a step more, with a shard on the busiest link.
    """
    return Cost(dimension + 1, hypercube_doubling_cost(dimension).bandwidth + _detour(dimension))


def twisted_doubling_cut_through_cost(dimension: int) -> Cost:
    """Return the same where messages cut through: no step more, but two messages share a link at the first round."""
    return Cost(dimension, hypercube_doubling_cost(dimension).bandwidth + _detour(dimension))


def _detour(dimension: int) -> Fraction:
    return dimension * (1 - bandwidth_bound(2**dimension))
