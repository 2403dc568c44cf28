"""Recheck a ``Throughput`` from its definition, in whole numbers: what it claims, it must prove.

Shares nothing with what finds flows and prices: automorphisms are applied link by link, flows are counted at every
node, and distances under prices are settled by relaxing links until none changes.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.throughput.result import Throughput


def check_throughput(found: Throughput) -> None:
    """Raise a ``LinkstepError`` that names the first thing that does not hold; return if value and bound are proven.

    >>> from linkstep.core.topology import Topology
    >>> from linkstep.throughput import all_to_all
    >>> check_throughput(all_to_all(Topology.from_links(3, [0, 1, 2], [1, 2, 0])))
    """
    _check_wires(found)
    orbit_of_node, orbit_of_wire = _check_symmetry(found)
    _check_flow(found, orbit_of_node, orbit_of_wire)
    _check_bound(found, orbit_of_node, orbit_of_wire)


def _fail(what: str) -> None:
    raise LinkstepError(f"not a proof of this throughput: {what}")


def _check_wires(found: Throughput) -> None:
    """The wires must be the topology's links, parallel ones added up, in units of a common part of their rates."""
    topology, problem = found.topology, found.flow().problem
    rates = [1] * topology.num_links if topology.bandwidth is None else topology.bandwidth.tolist()
    merged: dict[tuple[int, int], int] = {}
    fastest = 0
    for u, w, rate in zip(topology.tail.tolist(), topology.head.tolist(), rates, strict=True):
        if u != w:
            merged[u, w] = merged.get((u, w), 0) + rate
            fastest = max(fastest, rate)
    ends = list(zip(problem.wires.tail.tolist(), problem.wires.head.tolist(), strict=True))
    if ends != sorted(merged):
        _fail("its wires are not the topology's links")
    for pair, capacity in zip(ends, problem.capacity.tolist(), strict=True):
        if capacity * fastest != merged[pair] * problem.fastest:
            _fail(f"the wire from {pair[0]} to {pair[1]} has capacity {Fraction(capacity, problem.fastest)}")


def _check_symmetry(found: Throughput) -> tuple[list[int], list[int]]:
    """Generators must map wires to wires of the same capacity; return what they generate as orbits."""
    problem = found.flow().problem
    wires, orbits = problem.wires, problem.orbits
    number = {ends: e for e, ends in enumerate(zip(wires.tail.tolist(), wires.head.tolist(), strict=True))}
    capacity = problem.capacity.tolist()
    node_sets, wire_sets = _Sets(wires.num_nodes), _Sets(wires.num_links)
    for generator in orbits.generators:
        image = generator.tolist()
        if sorted(image) != list(range(wires.num_nodes)):
            _fail("a symmetry is no permutation of the nodes")
        for u, w in enumerate(image):
            node_sets.join(u, w)
        for (u, w), e in number.items():
            other = number.get((image[u], image[w]))
            if other is None or capacity[other] != capacity[e]:
                _fail(f"a symmetry takes the wire from {u} to {w} to none like it")
            else:
                wire_sets.join(e, other)
    nodes, links = node_sets.roots(), wire_sets.roots()
    classes = orbits.link_class.tolist()
    together = set(zip(links, classes, strict=True))
    if nodes != orbits.node_orbit.tolist() or not len(set(links)) == len(set(classes)) == len(together):
        _fail("its orbits are not those of its symmetries")
    return nodes, classes


class _Sets:
    """Disjoint sets of numbers, each called by its least."""

    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def find(self, x: int) -> int:
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def join(self, x: int, y: int) -> None:
        a, b = self.find(x), self.find(y)
        self.parent[max(a, b)] = min(a, b)

    def roots(self) -> list[int]:
        return [self.find(x) for x in range(len(self.parent))]


def _check_flow(found: Throughput, orbit_of_node: list[int], orbit_of_wire: list[int]) -> None:
    """Every source must send a unit to every node, and the busiest orbit of wires must allow ``value``."""
    flow, problem = found.flow(), found.flow().problem
    wires = problem.wires
    sources = sorted(set(orbit_of_node))
    if sources != flow.sources.tolist() or len(flow.amounts) != len(sources):
        _fail("it has not one flow for each orbit of nodes")
    load = [0] * problem.num_classes
    for source, row in zip(sources, flow.amounts, strict=True):
        weight = orbit_of_node.count(source)
        kept = [0] * wires.num_nodes
        for u, w, j, amount in zip(wires.tail.tolist(), wires.head.tolist(), orbit_of_wire, row.tolist(), strict=True):
            if amount < 0:
                _fail(f"the wire from {u} to {w} carries less than nothing for node {source}")
            kept[u] -= amount
            kept[w] += amount
            load[j] += weight * amount
        for node, amount in enumerate(kept):
            if node != source and amount != flow.unit:
                _fail(f"node {node} keeps {Fraction(amount, flow.unit)} of what node {source} sends, not 1")
    capacities = [0] * problem.num_classes
    for j, capacity in zip(orbit_of_wire, problem.capacity.tolist(), strict=True):
        capacities[j] += capacity
    value = min(Fraction(c * flow.unit, x * problem.fastest) for c, x in zip(capacities, load, strict=True) if x)
    if value != found.value:
        _fail(f"its flow allows {value}, not {found.value}")


def _check_bound(found: Throughput, orbit_of_node: list[int], orbit_of_wire: list[int]) -> None:
    """All capacity at its price over the sum of all distances must be ``bound``."""
    problem, prices = found.flow().problem, found.prices
    if len(prices) != problem.num_classes or min(prices) < 0:
        _fail("it has not one price of at least 0 for each orbit of wires")
    wires = problem.wires
    price = np.array([prices[j] for j in orbit_of_wire], object)
    far = sum(prices) * wires.num_nodes + 1
    total = 0
    for source in sorted(set(orbit_of_node)):
        distance = np.full(wires.num_nodes, far, object)
        distance[source] = 0
        while True:
            nearer = distance.copy()
            np.minimum.at(nearer, wires.head, distance[wires.tail] + price)
            if (nearer == distance).all():
                break
            distance = nearer
        total += orbit_of_node.count(source) * sum(distance.tolist())
    worth = sum(p * c for p, c in zip(price.tolist(), problem.capacity.tolist(), strict=True))
    if Fraction(worth, total * problem.fastest) != found.bound:
        _fail(f"its prices allow {Fraction(worth, total * problem.fastest)}, not {found.bound}")
    if found.value > found.bound:
        _fail(f"its value {found.value} exceeds its bound {found.bound}")
