"""What answers must meet: requirements of one's own, what they count, what is found behind a frontier and by search."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.costs import cost_of
from linkstep.problem import Problem
from linkstep.recipe import parse
from linkstep.requirements import Duplex, MaxSteps, Requirement
from linkstep.search import find
from linkstep.search.spot import Spot
from support.strategies import topologies


@dataclass(frozen=True)
class NoParallel(Requirement):
    """A requirement of one's own, in all the lines that it takes."""

    def admits(self, topology):
        return "has parallel links" if topology.num_parallel else None


class Counted(Requirement):
    def admits(self, topology):
        missed = self.excess((topology.tail, topology.head))
        return f"misses it by {missed}" if missed else None


@dataclass(frozen=True)
class NoTriangles(Counted):
    def excess(self, links):
        n = int(max(end.max() for end in links)) + 1
        linked = np.zeros((n, n), np.int64)
        linked[links] = 1
        return int(np.trace(linked @ linked @ linked))


@dataclass(frozen=True)
class HalfInside(Counted):
    """Half of the links at least stay inside racks of so many nodes in a row."""

    rack: int = 8

    def excess(self, links):
        inside = int((links[0] // self.rack == links[1] // self.rack).sum())
        return max(0, len(links[0]) // 2 - inside)


def problem(nodes, degree, *requirements, directed=False):
    return Problem(num_nodes=nodes, degree=degree, directed=directed, requirements=requirements)


def meets(found, requirement):
    """Whether there are rows, each of which meets a requirement, costs what it says, and beats or equals no other."""
    for row in found.frontier:
        assert requirement.admits(row.topology()) is None
        assert cost_of(row.build("allgather")) == row.cost  # checked when built
        for other in found.frontier:
            better = row.allreduce_cost.is_within(other.allreduce_cost) and (row.flow or 0) >= (other.flow or 0)
            assert row is other or not (better and row.is_flow_reached == other.is_flow_reached)
    return bool(found.frontier)


def test_one_that_what_is_known_meets():
    for nodes, degree in ((5, 6), (6, 3), (12, 4)):
        every = find(nodes, degree)
        found = find(problem(nodes, degree, NoParallel()), spot=Spot(0))
        assert {row for row in every.frontier if not row.recipe.topology().num_parallel} <= set(found.frontier)
        assert meets(found, NoParallel()) == (nodes > degree)
        assert found.fewest_steps == every.fewest_steps
    twice = Topology.from_links(2, [0, 0, 1, 1], [1, 1, 0, 0])
    with pytest.raises(LinkstepError, match="the wiring has parallel links"):
        linkstep.schedule(Problem(wiring=twice, requirements=(NoParallel(),)))
    assert linkstep.schedule(Problem(wiring="K_5", requirements=(NoParallel(),))).cost.steps == 2


@pytest.mark.parametrize(("nodes", "steps"), [(16, 3), (17, 3)])
def test_what_a_frontier_had_beaten_is_found(nodes, steps):
    """No wiring of the frontier is without triangles, but others that are known."""
    rule = NoTriangles()
    assert not [row for row in find(nodes, 4, directed=True).frontier if rule.admits(row.topology()) is None]
    found = find(problem(nodes, 4, rule, directed=True), spot=Spot(0))
    assert meets(found, rule) and found.frontier[0].steps == 2 * steps
    assert not find(problem(nodes, 4, rule, MaxSteps(2 * steps - 1), directed=True), spot=Spot(0)).frontier


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "degree", "steps"), [(32, 4, 3), (64, 4, 5), (64, 6, 3)])
def test_what_nobody_knows_is_searched_for(nodes, degree, steps):
    """By swaps that keep links duplex; the same for the same seed."""
    rule = HalfInside()
    asked = problem(nodes, degree, Duplex(), rule)
    found = find(asked)
    assert meets(found, rule) and {row.origin for row in found.frontier} == {"found now"}
    assert all(row.topology().is_bidirectional for row in found.frontier)
    assert found.frontier[0].steps <= 2 * steps
    assert find(asked) == found != find(asked, spot=Spot(seed=1))


@pytest.mark.parametrize("seconds", [0, pytest.param(0.01, marks=pytest.mark.slow)])
def test_where_there_is_nothing(seconds):
    @dataclass(frozen=True)
    class Nothing(Requirement):
        def admits(self, topology):
            return "is not what was wanted"

    assert find(problem(8, 2, Nothing()), spot=Spot(seconds)).frontier == ()


# What requirements count


@given(topologies(), st.integers(1, 5))
def test_property_no_excess_is_what_is_admitted(topology, most):
    links = topology.tail, topology.head
    for rule in (Duplex(), MaxSteps(most), NoParallel()):
        if topology.num_links and int(max(end.max() for end in links)) + 1 == topology.num_nodes:
            try:
                is_admitted = rule.admits(topology) is None
            except LinkstepError:  # not connected
                is_admitted = False
            assert (rule.excess(links) == 0) == is_admitted, rule


def test_counts():
    """By hand: links without one back, and pairs that are too far apart."""
    ring = parse("UniRing(1,5)").topology()
    assert Duplex().excess((ring.tail, ring.head)) == 5
    assert MaxSteps(3).excess((ring.tail, ring.head)) == 5
    assert MaxSteps(4).excess((ring.tail, ring.head)) == 0
    apart = np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2])
    assert MaxSteps(3).excess(apart) == 8
    assert NoParallel().excess((np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))) == 1


# Where nodes go


@dataclass(frozen=True)
class Shifted(Requirement):
    """Any wiring, with node u in place u + by."""

    by: int

    def admits(self, topology):
        return None

    def arrange(self, topology):
        return (np.arange(topology.num_nodes) + self.by) % topology.num_nodes


def test_nodes_go_where_a_requirement_wants_them():
    ring = parse("UniRing(1,5)").topology()
    spread = Topology.from_links(4, [0, 1, 2, 3], [2, 3, 1, 0])
    assert problem(5, 1, Duplex()).arrange(ring) is ring
    assert problem(5, 1, Shifted(2)).arrange(ring) == ring
    arranged = problem(4, 1, Shifted(1)).arrange(spread)
    links = sorted(zip(arranged.tail.tolist(), arranged.head.tolist(), strict=True))
    assert links == sorted(((u + 1) % 4, (v + 1) % 4) for u, v in ((0, 2), (1, 3), (2, 1), (3, 0)))
    with pytest.raises(LinkstepError, match="two requirements say where nodes go"):
        problem(4, 1, Shifted(1), Shifted(2)).arrange(spread)


@dataclass(frozen=True)
class Crowded(Shifted):
    def arrange(self, topology):
        return np.zeros(topology.num_nodes, int)


def test_two_nodes_in_one_place_are_refused():
    with pytest.raises(LinkstepError, match="new must be a permutation of the 4 nodes"):
        problem(4, 1, Crowded(1)).arrange(parse("UniRing(1,4)").topology())
