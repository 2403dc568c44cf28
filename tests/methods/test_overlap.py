"""Allreduce as one schedule: right, no worse than its halves one after the other, no better than the wiring's bound."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.collective import Collective
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError, ScheduleError
from linkstep.core.faults import Cut, apply
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import Cost, cost_of
from linkstep.lowering import lower
from linkstep.methods.arrival import SearchLimits, arrival_cost
from linkstep.methods.arrival.best import Best
from linkstep.methods.arrival.search import ArrivalSearch
from linkstep.methods.common.budget import Clock
from linkstep.methods.common.network import ArrivalNetwork
from linkstep.methods.overlap import least_overlapped_steps, overlapped_allreduce, overlapped_cost
from linkstep.methods.overlap.halves import Middle, plan_halves
from linkstep.methods.overlap.improve import score, staggered
from linkstep.methods.overlap.split import TransportationProblem, Wiring, build, groups_of
from linkstep.scheduling import schedule
from linkstep.verification import verify_text
from methods.test_arrival import random_digraph
from support.strategies import connected_link_lists, topologies

SMALL = topologies(connected_link_lists(min_nodes=2, max_nodes=5, max_extra=7))
UNEQUAL = topologies(connected_link_lists(min_nodes=2, max_nodes=4, max_extra=4), columns=True)
SHORT = SearchLimits(rounds=0)
IN_TWO = SearchLimits(chunks=2, rounds=0)
UNEVEN = random_digraph(6, 2, 5)
"""No node is at the end of a longest path and at the beginning of another."""


def damaged_torus() -> Topology:
    """Return the 3x3 torus without the cable between nodes 0 and 1."""
    return apply(linkstep.parse("Torus(3,3)").topology(), [Cut("0", "1")], Fraction(10**11))


def halves_cost(topology: Topology, limits: SearchLimits) -> Cost:
    return arrival_cost(topology.transpose(), limits) + arrival_cost(topology, limits)


@settings(max_examples=3)
@given(SMALL | UNEQUAL, st.integers(0, 2))
def test_property_right_and_within_its_bounds(topology, more):
    least = least_overlapped_steps(topology)
    bound = linkstep.wiring_bound(topology, Collective.ALLREDUCE).cost
    assert least >= bound.steps
    limits = replace(SHORT, steps=least + more)
    made = overlapped_allreduce(topology, limits)
    check(made)
    cost = cost_of(made)
    assert cost == overlapped_cost(topology, limits)
    assert cost.steps <= least + more
    assert cost.bandwidth >= bound.bandwidth
    if least + more >= 2 * diameter(topology):
        assert cost.bandwidth <= halves_cost(topology, replace(SHORT, steps=diameter(topology))).bandwidth


def least_by_sets(groups, weight) -> Fraction:
    """The twin of ``least_load``: over all sets of groups, pieces for all links that may carry any of them."""
    links = [set(groups.arc_link[groups.arc_group == g].tolist()) for g in range(groups.count.size)]
    return max(
        Fraction(
            int(groups.count[list(chosen)].sum()), int(weight[list(set().union(*(links[g] for g in chosen)))].sum())
        )
        for size in range(1, groups.count.size + 1)
        for chosen in combinations(range(groups.count.size), size)
    )


@settings(max_examples=8)
@given(topologies(connected_link_lists(min_nodes=2, max_nodes=4, max_extra=4)) | UNEQUAL, st.integers(1, 2))
def test_property_loads_are_the_least(topology, period):
    wiring, middle = Wiring.of(topology), Middle(topology)
    plan = plan_halves(middle, replace(SHORT, steps=middle.least_steps))[0]
    for groups in groups_of(wiring, staggered(plan, plan.steps + 1, period)):
        if groups.count.size <= 8:
            assert TransportationProblem(wiring, groups).least_load() == least_by_sets(groups, wiring.weight)


@given(SMALL, st.data())
def test_property_greedy_starts_when_told(topology, data):
    network = ArrivalNetwork.of(topology)
    n, beyond = network.num_nodes, network.dist.max(axis=0)
    start = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.int16)
    steps = int((start + beyond).max())
    search = ArrivalSearch(network, steps, 1, 1, None, 0, Clock(), [Best(Fraction(n), network.dist)], start)
    search.greedy(np.ones(steps + 1, np.int64))
    arrive, owner = search.present().unpack(), np.arange(n)
    assert (np.diag(arrive) == start).all()
    assert arrive.max() <= steps
    for u, v in zip(*np.nonzero(owner[:, np.newaxis] != owner), strict=True):
        assert any(arrive[w, v] < arrive[u, v] for w in network.near[u, : network.near_count[u]])


def test_fewer_steps_than_two_halves():
    assert (diameter(UNEVEN), least_overlapped_steps(UNEVEN)) == (3, 5)
    made = overlapped_allreduce(UNEVEN, IN_TWO)
    check(made)
    assert cost_of(made).steps == 5


def test_pieces_in_turn_take_less_than_two_halves():
    topology = damaged_torus()
    wiring, middle = Wiring.of(topology), Middle(topology)
    plan = plan_halves(middle, replace(SHORT, steps=4))[0]
    assert score(wiring, plan).total == Fraction(16, 3)
    in_turn = staggered(plan, 7, 3)
    assert score(wiring, in_turn).total == Fraction(244, 51)
    made = build(wiring, in_turn)
    check(made)
    assert cost_of(made) == Cost(7, Fraction(244, 51) * Fraction(4, 9))


@pytest.mark.parametrize("chunks", [1, 2, 6])
def test_whole_chunks(chunks):
    made = overlapped_allreduce(damaged_torus(), SearchLimits(steps=7, chunks=chunks, rounds=0))
    check(made)
    assert made.unit == chunks
    assert cost_of(made).bandwidth <= {1: Fraction(8, 3), 2: Fraction(22, 9), 6: Fraction(58, 27)}[chunks]


def test_a_fine_grid_where_loads_have_no_common_measure():
    """The exact split would take more chunks than a schedule has."""
    rates = [10**10 + 7 * k for k in range(6)]
    topology = Topology.from_links(3, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1], bandwidth=rates)
    made = overlapped_allreduce(topology, SHORT)
    check(made)
    exact = overlapped_cost(topology, SHORT).bandwidth
    assert made.unit % 5040 == 0
    assert exact <= cost_of(made).bandwidth <= exact * Fraction(1001, 1000)


def test_pieces_must_divide_the_chunks():
    wiring, middle = Wiring.of(damaged_torus()), Middle(damaged_torus())
    plan = staggered(plan_halves(middle, replace(SHORT, steps=4))[0], 7, 3)
    with pytest.raises(ScheduleError, match="2 pieces of a shard go apart: chunks must be a multiple, not 3"):
        build(wiring, plan, 3)


def test_too_few_steps_are_refused():
    with pytest.raises(LinkstepError, match=r"steps must be at least 4, not 3: the farthest part of .* takes 2 steps"):
        schedule("Torus(3,3)", "allreduce", method="overlapped", steps=3)


@pytest.mark.slow
def test_the_same_for_the_same_seed():
    kite = [0, 1, 1, 2, 0, 2, 2, 3], [1, 0, 2, 1, 2, 0, 3, 2]
    one, two = (
        overlapped_allreduce(Topology.from_links(4, *kite), SearchLimits(steps=5, rounds=0, seed=5)) for _ in range(2)
    )
    assert one == two


def test_rates_too_fine_for_flows_are_refused():
    topology = Topology.from_links(2, [0, 1], [1, 0], bandwidth=[2**60 + 1, 2**60])
    with pytest.raises(LinkstepError, match="no common measure"):
        overlapped_allreduce(topology)


def test_one_node():
    alone = Topology.from_links(1, [], [])
    assert (overlapped_cost(alone), overlapped_allreduce(alone).num_rows) == (Cost.zero(), 0)


@pytest.mark.parametrize("to", ["msccl", "cpu"])
@pytest.mark.parametrize(("topology", "more"), [(damaged_torus(), 3), (UNEVEN, 0)], ids=["torus", "uneven"])
def test_lowered_files_verify(topology, more, to):
    limits = replace(IN_TWO, steps=least_overlapped_steps(topology) + more) if more else IN_TWO
    report = verify_text(lower(overlapped_allreduce(topology, limits), to).text)
    assert (report.collective, report.status) == ("allreduce", "verified")


@pytest.mark.slow
def test_best_overlaps_only_at_a_price():
    topology = damaged_torus()
    assert schedule(topology, "allreduce").method != "overlapped"
    few, least = (schedule(topology, "allreduce", price=price) for price in (lambda c: Fraction(c.steps), _bandwidth))
    assert few.method != "overlapped"
    assert least.method == "overlapped"
    assert least.cost.bandwidth < halves_cost(topology, SHORT).bandwidth


def _bandwidth(cost: Cost) -> Fraction:
    return cost.bandwidth


@pytest.mark.slow
@settings(max_examples=25)
@given(SMALL | UNEQUAL, st.integers(0, 4), st.sampled_from([None, 1, 2, 6]))
def test_property_right_and_within_its_bounds_at_length(topology, more, chunks):
    limits = SearchLimits(steps=least_overlapped_steps(topology) + more, chunks=chunks, rounds=0)
    made = overlapped_allreduce(topology, limits)
    check(made)
    assert cost_of(made) == overlapped_cost(topology, limits)
    if more >= 2 * diameter(topology) - least_overlapped_steps(topology):
        halves = halves_cost(topology, replace(limits, steps=diameter(topology)))
        assert cost_of(made).bandwidth <= halves.bandwidth or chunks is not None


@pytest.mark.slow
def test_a_torus_without_a_cable():
    found = [overlapped_cost(damaged_torus(), SearchLimits(steps=steps)) for steps in (4, 7)]
    assert found == [Cost(4, Fraction(64, 27)), Cost(7, Fraction(56, 27))]


@pytest.mark.slow
def test_random_digraphs_in_fewer_steps():
    topology = random_digraph(500, 4, 0)
    assert (diameter(topology), least_overlapped_steps(topology)) == (7, 13)
    made = overlapped_allreduce(topology, SearchLimits(steps=13, rounds=0))
    check(made)
    assert cost_of(made).bandwidth <= Fraction(2 * 499, 500) * Fraction(102, 100)
