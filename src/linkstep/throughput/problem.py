"""The throughput problem of a topology, reduced by its symmetries: what the methods solve and certificates speak of.

Parallel links are one wire with their rates added up, since a flow can be divided between them at will, and self-loops
are left out. Routes are chosen for one source of each orbit of nodes, which sends a unit to every node and stands for
``orbits.weights`` sources. All sources together put a load L_j on the wires of orbit (class) j, whose capacities add up
to C_j. Spread evenly over the orbit, which symmetry allows, that gives every pair the least C_j / (L_j F), where F is
the capacity of the fastest link: f is in units of that link. Not here: which routes are best (``columns``, ``prices``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.routing import _route_loads
from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.core.weights import link_weights
from linkstep.symmetry import known_symmetry
from linkstep.symmetry.orbits import Orbits
from linkstep.symmetry.search import symmetry_of

MAX_DISTANCE = 2**62


@dataclass(frozen=True, eq=False)
class Routes:
    """One unit from each source to every node, by trees: the column of a program, or one end of a bound."""

    loads: tuple[int, ...]
    """What each class of links carries in all."""
    parents: Ids
    """A row for each source: the wire by which each node is reached."""
    total: int
    """The sum of all distances under the prices that made it: what no other routes undercut."""


@dataclass(frozen=True, eq=False)
class FlowProblem:
    """A topology's wires, their capacities and orbits."""

    topology: Topology
    wires: Topology
    """Without self-loops and parallel links; ``bandwidth`` is their capacity, in units of the rates' common divisor."""
    wire_of: Ids
    """For each link of the topology its wire, -1 for a self-loop."""
    fastest: int
    """The capacity of the fastest link, which counts as 1 in f."""
    orbits: Orbits

    @classmethod
    def of(cls, topology: Topology) -> FlowProblem:
        """Merge parallel links and find symmetries; refuses what has no throughput."""
        if topology.num_nodes == 1:
            raise LinkstepError("all-to-all needs at least two nodes")
        check_connected(topology)
        carries = topology.tail != topology.head
        n = np.int64(topology.num_nodes)
        rates = np.zeros(topology.num_links, np.int64)
        rates[carries], common = link_weights(topology, carries)
        if sum(rates[carries].tolist()) >= MAX_DISTANCE:
            raise LinkstepError(
                f"all-to-all throughput needs bandwidths that add up to less than 2^62 times their common divisor, "
                f"{common} bit/s: round them"
            )
        keys = topology.tail.astype(np.int64) * n + topology.head
        merged, place = np.unique(keys[carries], return_inverse=True)
        capacity = np.zeros(merged.size, np.int64)
        np.add.at(capacity, place, rates[carries])
        wire_of = np.full(topology.num_links, -1, np.int32)
        wire_of[carries] = place
        alike = bool(topology.vertex_transitive)
        wires = Topology.from_links(int(n), *np.divmod(merged, n), bandwidth=capacity)
        wires = replace(wires, vertex_transitive=alike)
        # What takes links to links takes wires to wires; where that is not known, wires may be more alike than links.
        known = known_symmetry(topology) or symmetry_of(wires)
        return cls(topology, wires, wire_of, int(rates[carries].max()), Orbits.of(wires, known.generators))

    @property
    def capacity(self) -> Ints:
        """What each wire carries."""
        assert self.wires.bandwidth is not None
        return self.wires.bandwidth

    @property
    def num_classes(self) -> int:
        """How many classes of links there are: the rows that couple the flows."""
        return self.orbits.num_classes

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """C_j: what all wires of each class carry together."""
        total = np.zeros(self.num_classes, np.int64)
        np.add.at(total, self.orbits.link_class, self.capacity)
        return tuple(total.tolist())

    def value(self, loads: tuple[int, ...], unit: int = 1) -> Fraction:
        """Return the flow that these loads of classes leave to every pair, ``unit`` to each pair being sent."""
        pairs = zip(self.capacities, loads, strict=True)
        return min(Fraction(c * unit, load * self.fastest) for c, load in pairs if load)

    def bound(self, prices: tuple[int, ...], total: int) -> Fraction:
        """Return what no flow exceeds, given a price for each class and the sum of all distances under them."""
        pairs = zip(prices, self.capacities, strict=True)
        return Fraction(sum(p * c for p, c in pairs), total * self.fastest)

    def fits(self, prices: tuple[int, ...]) -> bool:
        """Whether distances under whole prices stay below 2^62."""
        return max(prices) * self.wires.num_nodes < MAX_DISTANCE

    def route(self, prices: tuple[int, ...] | NDArray[np.int64]) -> Routes:
        """Send everything by the cheapest routes under whole prices of classes."""
        orbits, wires = self.orbits, self.wires
        price = np.asarray(prices, np.int64)[orbits.link_class]
        parents = np.empty((orbits.sources.size, wires.num_nodes), np.int32)
        loads, _ = _route_loads(
            wires.out_ptr, wires.tail, wires.head, price, orbits.link_class, self.num_classes, orbits.sources,
            orbits.weights, parents,
        )  # fmt: skip
        whole = tuple(loads.tolist())
        return Routes(whole, parents, sum(int(p) * load for p, load in zip(prices, whole, strict=True)))
