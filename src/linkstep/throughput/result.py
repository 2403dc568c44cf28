"""What is known of a topology's all-to-all throughput: a flow that exists, prices that bound it, and how they meet.

A ``Throughput`` can be rechecked by someone who trusts none of the code that made it (``throughput.certificate``): its
value follows from the loads of ``flow()``, its bound from ``prices``. Not here: how flows and prices are found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from linkstep.core.notebook import html_table
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.symmetry.permutations import link_images
from linkstep.throughput.problem import FlowProblem


@dataclass(frozen=True, eq=False)
class Flow:
    """One unit from every node to every other, on wires: links with parallel ones merged and self-loops left out.

    Nodes that an automorphism maps to each other send alike, so ``amounts`` has a row for one source of each orbit.
    """

    problem: FlowProblem
    unit: int
    """How much a source sends to each node, in the whole numbers of ``amounts``."""
    amounts: Ints
    """A row for each of ``sources``: what each of ``wires`` carries for it. Python's integers where 64 bits are few."""

    @property
    def sources(self) -> Ids:
        """The least node of each orbit of nodes."""
        return self.problem.orbits.sources

    @property
    def wires(self) -> Topology:
        """The wires; ``bandwidth`` has their capacities, the fastest link's being ``problem.fastest``."""
        return self.problem.wires

    @property
    def link_class(self) -> Ids:
        """For each wire the number of its orbit: what ``loads`` counts by."""
        return self.problem.orbits.link_class

    def loads(self) -> tuple[int, ...]:
        """Return what each orbit of wires carries in all, of all nodes' flows."""
        orbits = self.problem.orbits
        total = [0] * orbits.num_classes
        for weight, row in zip(orbits.weights.tolist(), self.amounts, strict=True):
            sums = np.zeros(orbits.num_classes, row.dtype)
            np.add.at(sums, orbits.link_class, row)
            total = [t + weight * int(s) for t, s in zip(total, sums, strict=True)]
        return tuple(total)

    def of(self, source: int) -> list[Fraction]:
        """Return what each link of the topology carries when a node sends one unit to every other.

        Taken together over all nodes, these flows load all links of an orbit alike: a source's flow is averaged over
        the automorphisms that fix it, then carried to the nodes of its orbit.
        """
        problem, orbits = self.problem, self.problem.orbits
        first = int(orbits.node_orbit[source])
        row = self.amounts[int(np.searchsorted(self.sources, first))]
        fixing = orbits.fixing(first).link_class
        sums, counts = [0] * (int(fixing.max()) + 1), np.bincount(fixing).tolist()
        for orbit, amount in zip(fixing.tolist(), row.tolist(), strict=True):
            sums[orbit] += amount
        mean = [Fraction(s, c * self.unit) for s, c in zip(sums, counts, strict=True)]
        images = link_images(self.wires, orbits.carrier(source))
        assert images is not None
        on_wire = [Fraction(0)] * self.wires.num_links
        for orbit, image in zip(fixing.tolist(), images.tolist(), strict=True):
            on_wire[image] = mean[orbit]
        rates, wire_of = problem.topology.bandwidth, problem.wire_of.tolist()
        shares = [1] * len(wire_of) if rates is None else rates.tolist()
        whole = [0] * self.wires.num_links
        for wire, share in zip(wire_of, shares, strict=True):
            whole[wire] += share if wire >= 0 else 0
        return [
            on_wire[w] * Fraction(share, whole[w]) if w >= 0 else Fraction(0)
            for w, share in zip(wire_of, shares, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Throughput:
    """All-to-all throughput f: what every ordered pair of nodes can get at once when the fastest link carries 1.

    ``value`` is reached by ``flow()`` and nothing exceeds ``bound``; they are equal where f is known exactly.

    >>> from linkstep import all_to_all
    >>> found = all_to_all("K_{2,2}")
    >>> found, found.value
    (<Throughput of K_{2,2}: f=0.5 exactly>, Fraction(1, 2))
    """

    topology: Topology
    value: Fraction
    bound: Fraction
    method: str
    """How it was found: columns, lp or prices (docs/concepts/all-to-all.md)."""
    distance_bound: Fraction
    """What distances alone allow: all capacity over the sum of all distances."""
    cut_bound: Fraction
    """What the narrowest of the cuts that were tried allows."""
    prices: tuple[int, ...] = field(repr=False)
    """A price for each orbit of wires; their worth over the cost of all shortest routes is ``bound``."""
    _flow: Flow = field(repr=False)

    @property
    def gap(self) -> Fraction:
        """How far apart bound and value are: bound / value - 1."""
        return self.bound / self.value - 1

    @property
    def is_exact(self) -> bool:
        """Whether value and bound are equal."""
        return self.value == self.bound

    def flow(self) -> Flow:
        """Return the flow behind ``value``: what each wire carries, for one source of each orbit of nodes."""
        return self._flow

    def _wiring_(self) -> Topology:
        return self.topology

    def _repr_html_(self) -> str:
        fields = [
            ("f", f"{float(self.value):.6g}"), ("at most", f"{float(self.bound):.6g}"), ("method", self.method),
            ("by distances", f"{float(self.distance_bound):.6g}"), ("by a cut", f"{float(self.cut_bound):.6g}"),
        ]  # fmt: skip
        return html_table(f"all-to-all throughput of {self.topology.name or 'a topology'}", fields)

    def __repr__(self) -> str:
        found = f"f={float(self.value):.6g}" + (" exactly" if self.is_exact else f", gap {float(self.gap):.2%}")
        return f"<Throughput of {self.topology.name or 'a topology'}: {found}>"
