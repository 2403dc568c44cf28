"""Bounds of a wiring: against every set of nodes, against linear programs over all schedules, and by closed forms."""

import time
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
from linkstep.core import faults
from linkstep.core.collective import Collective
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.topology import Topology
from linkstep.costs import (
    Cost,
    bandwidth_bound,
    check_step_bound,
    check_wiring_bound,
    cost_of,
    standing,
    step_bound,
    wiring_bound,
)
from support import lp, reference
from support.strategies import connected_link_lists, pairs, right_cases, topology_of

NEARLY = 1e-6
"""What a linear program in floats may be off by."""
GBPS = Fraction(25 * 10**9)


def shard_times(topology: Topology, bandwidth: Fraction) -> Fraction:
    return bandwidth * topology.num_nodes / topology.degree


def shares(topology: Topology) -> list[Fraction]:
    rates = None if topology.bandwidth is None else topology.bandwidth.tolist()
    return reference._shares(pairs(topology), rates)


def irregular(seed: int, most_nodes: int, loops: bool = True) -> Topology:
    """Return a connected topology of at least 3 nodes, d up to 4, perhaps with parallel links, loops and rates."""
    rng = Random(seed)
    n, d = rng.randint(3, most_nodes), rng.randint(2, 4)
    ring = rng.sample(range(n), n)
    links = list(zip(ring, ring[1:] + ring[:1], strict=True))
    for _ in range(rng.randint(0, n * (d - 1))):
        u, w = rng.randrange(n), rng.randrange(n)
        free = sum(u == x for x, _ in links) < d and sum(w == y for _, y in links) < d
        if free and (loops or u != w):
            links.append((u, w))
    rates = {"bandwidth": [rng.choice([1, 1, 2, 3]) for _ in links]} if rng.random() < 0.5 else {}
    return topology_of(n, links, **rates)


@st.composite
def wirings(draw, max_nodes=6):
    n, links = draw(connected_link_lists(min_nodes=2, max_nodes=max_nodes, max_extra=8))
    rates = st.lists(st.integers(1, 5), min_size=len(links), max_size=len(links))
    return topology_of(n, links, **({"bandwidth": draw(rates)} if draw(st.booleans()) else {}))


# Any number of steps


@given(wirings(max_nodes=7))
def test_no_set_of_nodes_is_tighter(topology):
    rates = None if topology.bandwidth is None else topology.bandwidth.tolist()
    turned = [(w, u) for u, w in pairs(topology)]
    n = topology.num_nodes
    for collective, links in (("allgather", pairs(topology)), ("reduce-scatter", turned)):
        bound = wiring_bound(topology, collective)
        assert shard_times(topology, bound.cost.bandwidth) == reference.tightest_cut(n, links, rates)
        assert bound.cost.steps == diameter(topology)
        check_wiring_bound(bound)
    both = wiring_bound(topology, "allreduce")
    assert shard_times(topology, both.cost.bandwidth) == reference.allreduce_shard_times(n, pairs(topology), rates)
    dist = reference.all_distances(n, pairs(topology))
    assert both.cost.steps == min(max(dist[v]) + max(row[v] for row in dist) for v in range(n))
    assert both.cost.is_within(both.sequential)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_set_of_nine_nodes_is_tighter(seed):
    topology = irregular(seed, 9)
    rates = None if topology.bandwidth is None else topology.bandwidth.tolist()
    found = shard_times(topology, wiring_bound(topology).cost.bandwidth)
    assert found == reference.tightest_cut(topology.num_nodes, pairs(topology), rates)


@given(right_cases(("allgather", "reduce-scatter", "allreduce"), max_nodes=5))
def test_no_schedule_is_below(case):
    schedule = case.schedule()
    bound, cost = wiring_bound(schedule.topology, case.collective), cost_of(schedule)
    assert bound.cost.is_within(cost)
    if case.collective != "allreduce":
        assert step_bound(schedule.topology, cost.steps, case.collective).cost.is_within(cost)


def duplex_links(num_nodes: int, cables: list[tuple[int, int]]) -> Topology:
    return topology_of(num_nodes, cables + [(w, u) for u, w in cables])


def barbell(size: int) -> Topology:
    """Return two complete graphs with one cable between them."""
    inside = [(u, w) for half in (0, size) for u in range(half, half + size) for w in range(u + 1, half + size)]
    return duplex_links(2 * size, [*inside, (size - 1, size)])


@cache
def cut_torus(*sides: int) -> Topology:
    whole = linkstep.parse(f"Torus({','.join(map(str, sides))})").topology()
    return faults.apply(whole, [faults.Cut("0", "1")], GBPS)


@pytest.mark.parametrize(
    ("made", "bandwidth", "nodes"),
    [
        (lambda: cut_torus(4, 4), Fraction(5, 4), set(range(1, 16))),
        (lambda: cut_torus(3, 3), Fraction(32, 27), set(range(1, 9))),
        (lambda: barbell(4), Fraction(2), set(range(4, 8))),
        (lambda: barbell(6), Fraction(3), set(range(6, 12))),
        (lambda: duplex_links(4, [(0, 1), (1, 2), (2, 3)]), Fraction(3, 2), {1, 2, 3}),
        (lambda: duplex_links(5, [(0, u) for u in range(1, 5)]), Fraction(16, 5), {0, 2, 3, 4}),
        # All nodes are alike, and yet pairs of them are worse than single ones: parallel links make blocks.
        (
            lambda: replace(duplex_links(4, [(0, 1)] * 3 + [(1, 2)] + [(2, 3)] * 3 + [(3, 0)]), vertex_transitive=True),
            Fraction(1),
            {2, 3},
        ),
        (lambda: Topology.from_links(2, [0, 1, 0], [1, 0, 0]), Fraction(1), {1}),
        (lambda: Topology.from_links(2, [0, 1], [1, 0], bandwidth=[3, 1]), Fraction(3, 2), {1}),
        (lambda: Topology.from_links(1, [], []), Fraction(0), set()),
    ],
    ids=["4x4-cut", "3x3-cut", "K4-K4", "K6-K6", "path", "star", "blocks", "loop", "rates", "one"],
)
def test_closed_forms(made, bandwidth, nodes):
    bound = linkstep.wiring_bound(made())
    assert (bound.cost.bandwidth, set(bound.nodes)) == (bandwidth, nodes)


@pytest.mark.parametrize(
    "recipe", ["UniRing(1,7)", "BiRing(2,6)", "K_5", "Torus(3,4)", "Q_4", "C(16,{3,4})", "K_{4,4}", "Paley(7)"]
)
def test_of_vertex_transitive_graphs_without_parallel_links_no_set_is_worse_than_a_node(recipe):
    alike = linkstep.parse(recipe).topology()
    found = replace(alike, vertex_transitive=False)
    assert alike.vertex_transitive and not alike.num_parallel
    for collective, phases in (("allgather", 1), ("reduce-scatter", 1), ("allreduce", 2)):
        least = phases * bandwidth_bound(alike.num_nodes)
        assert wiring_bound(alike, collective).cost == wiring_bound(found, collective).cost
        assert wiring_bound(alike, collective).cost.bandwidth == least


def test_the_figure_of_overlapped_halves():
    """A 3x3 torus without a cable takes 4.235 shard times, not the 5.333 of its halves."""
    bound = wiring_bound(cut_torus(3, 3), "allreduce")
    assert shard_times(bound.topology, bound.cost.bandwidth) == Fraction(144, 34)
    assert shard_times(bound.topology, bound.sequential.bandwidth) == Fraction(16, 3)


@pytest.mark.slow
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_a_thousand_nodes_take_moments(collective):
    rng = Random(1)
    heads = [w for _ in range(4) for w in rng.sample(range(1024), 1024)]
    wiring_bound(cut_torus(4, 4), collective)  # compiled
    topology = Topology.from_links(1024, [*range(1024)] * 4, heads, bandwidth=[rng.randint(1, 9) for _ in heads])
    began = time.process_time()
    check_wiring_bound(wiring_bound(topology, collective))
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("collective", "text"),
    [
        ("allgather", "node 0 gets the 15 shards of the others over 3 links (3 -> 0, 4 -> 0, 12 -> 0)"),
        ("reduce-scatter", "node 0 adds to the 15 shards of the others over 3 links (0 -> 3, 0 -> 4, 0 -> 12)"),
        ("allreduce", "30 transfers for each of 16 shards go over 62 links"),
    ],
)
def test_why(collective, text):
    assert wiring_bound(cut_torus(4, 4), collective).explain() == text


def test_why_of_larger_sets():
    bell = barbell(4)
    assert wiring_bound(bell).explain() == "nodes 4, 5, 6, 7 send 4 shards to the others over 1 link (4 -> 3)"
    text = "nodes 4, 5, 6, 7 get what the others add to 4 shards over 1 link (3 -> 4)"
    assert wiring_bound(bell, "reduce-scatter").explain() == text
    text = "a part of each of the 8 shards goes from nodes 0, 1, 2, 3 to the others over 1 link (3 -> 4)"
    assert wiring_bound(bell, "allreduce").explain() == text
    assert wiring_bound(barbell(9)).explain().startswith("9 nodes (9, 10, 11, 12, 13, 14, 15, 16, ...) send 9 shards")
    named = Topology.from_links(2, [0, 1], [1, 0], bandwidth=[3, 1], labels=["ant", "bee"])
    text = "bee sends 1 shard to the others over 1 link worth 0.3333 of the fastest (bee -> ant)"
    assert wiring_bound(named).explain() == text


# A given number of steps


@pytest.mark.parametrize("seed", range(5))
def test_bounds_in_order(seed):
    check_bounds_in_order(irregular(seed, 5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_bounds_in_order_of_more_nodes(seed):
    check_bounds_in_order(irregular(seed, 12))


def check_bounds_in_order(topology: Topology) -> None:
    """Of any wiring: the wiring's bound, that of its steps, what no schedule is below by a linear program, and BFB."""
    n, steps = topology.num_nodes, diameter(topology)
    bfb = linkstep.bfb_cost(topology).bandwidth
    any_steps = wiring_bound(topology).cost.bandwidth
    here, later = (step_bound(topology, t) for t in (steps, steps + 1))
    assert any_steps <= later.cost.bandwidth <= here.cost.bandwidth <= bfb
    best = lp.least_allgather(n, pairs(topology), steps, shares(topology))
    assert float(shard_times(topology, here.cost.bandwidth)) <= best + NEARLY
    assert best <= float(shard_times(topology, bfb)) + NEARLY
    assert here.is_highest and sum(here.loads) == shard_times(topology, here.cost.bandwidth)
    by_lp = lp.least_flow_to_each(n, pairs(topology), steps, shares(topology))
    assert float(shard_times(topology, here.cost.bandwidth)) == pytest.approx(by_lp, abs=NEARLY)
    turned = step_bound(topology.transpose(), steps, "reduce-scatter")
    assert turned.cost == here.cost


def circulant(n: int, jumps: tuple[int, ...]) -> tuple[Topology, list[int]]:
    """Return C(n, jumps) and the jump of each link, which rotations keep."""
    topology = linkstep.parse(f"C({n},{{{','.join(map(str, jumps))}}})").topology()
    return topology, [(w - u) % n for u, w in pairs(topology)]


@pytest.mark.parametrize(("steps", "bandwidth"), [(2, Fraction(1)), (3, Fraction(14, 15))])
def test_a_circulant_whose_steps_count(steps, bandwidth):
    """C(15,{1,4,5}) is bandwidth-optimal in three steps; in two nothing beats BFB, which takes 1."""
    topology, jumps = circulant(15, (1, 4, 5))
    bound = step_bound(topology, steps)
    assert bound.cost == Cost(steps, bandwidth)
    assert bound.cuts and all(cut.sink == 0 for cut in bound.cuts)
    best = lp.least_allgather(15, pairs(topology), steps, shares(topology), jumps)
    assert best == pytest.approx(float(shard_times(topology, bandwidth)), abs=NEARLY)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "jumps"), [(24, (1, 5)), (30, (1, 7)), (40, (1, 6)), (40, (1, 5, 12))])
def test_bounds_in_order_of_circulants(n, jumps):
    topology, classes = circulant(n, jumps)
    steps = diameter(topology)
    best = lp.least_allgather(n, pairs(topology), steps, shares(topology), classes)
    bound = step_bound(topology, steps).cost.bandwidth
    assert float(shard_times(topology, bound)) <= best + NEARLY
    assert best <= float(shard_times(topology, linkstep.bfb_cost(topology).bandwidth)) + NEARLY


def test_of_a_damaged_torus_bfb_is_the_best_there_is():
    topology = cut_torus(4, 4)
    cost = linkstep.bfb_cost(topology)
    assert cost == wiring_bound(topology).cost == step_bound(topology, 4).cost == Cost(4, Fraction(5, 4))


def test_few_sinks_still_bound(monkeypatch):
    topology = irregular(3, 9)
    every = step_bound(topology, diameter(topology))
    monkeypatch.setattr("linkstep.costs.wiring_steps.MANY_SINKS", 0)
    monkeypatch.setattr("linkstep.costs.wiring_steps.FEW_SINKS", 2)
    few = step_bound(topology, diameter(topology))
    assert (len(every.sinks), len(few.sinks)) == (topology.num_nodes, 2)
    assert (every.is_highest, few.is_highest) == (True, False)
    assert wiring_bound(topology).cost.bandwidth <= few.cost.bandwidth <= every.cost.bandwidth


def test_capacities_beyond_64_bits_are_rounded_and_still_bound(monkeypatch):
    topology = linkstep.parse("L(K_{2,2})").topology()
    exact = step_bound(topology, 3)
    monkeypatch.setattr("linkstep.costs.wiring_steps._WHOLE", 40)
    bound = step_bound(topology, 3)
    check_step_bound(bound)
    assert bandwidth_bound(8) <= bound.cost.bandwidth <= exact.cost.bandwidth == Fraction(11, 12)
    assert (exact.is_highest, bound.is_highest) == (True, False)


# How a cost stands


def torus44() -> Topology:
    return cut_torus(4, 4)


def jumps15() -> Topology:
    return circulant(15, (1, 4, 5))[0]


@pytest.mark.parametrize(
    ("made", "collective", "cost", "verdict", "says"),
    [
        (torus44, "allgather", Cost(4, Fraction(5, 4)), "optimal", "4 alpha + 5/4 M/B at least: node 0 gets"),
        (jumps15, "allgather", Cost(2, Fraction(1)), "optimal in 2 steps", "1 M/B in 2 steps"),
        (jumps15, "allgather", Cost(3, Fraction(1)), "within 7.14% of the least", "14/15 M/B at"),
        (
            torus44, "allreduce", Cost(8, Fraction(5, 2)), "optimal for halves that do not overlap",
            "8 alpha + 5/2 M/B at least, overlapped 8 alpha + 60/31 M/B: node 0 adds",
        ),
        (torus44, "allreduce", Cost(9, Fraction(2)), "within 3.33% of the least", "go over 62 links"),
        (torus44, "allreduce", Cost(9, Fraction(60, 31)), "optimal", "8 alpha + 60/31 M/B at least: 30"),
    ],
)  # fmt: skip
def test_standing(made, collective, cost, verdict, says):
    found = standing(made(), Collective(collective), cost)
    assert found.verdict == verdict and found.is_optimal == verdict.startswith("optimal")
    assert says in found.summary


def test_nothing_to_say(monkeypatch):
    """Of a cost that N alone asks for, of collectives with a root, of one node, of what would take long."""
    torus = linkstep.parse("Torus(3,4)").topology()
    assert standing(torus, Collective.ALLGATHER, Cost(3, Fraction(11, 12))).summary is None
    assert standing(torus, Collective.BROADCAST, Cost(3, Fraction(1))) is None
    assert standing(Topology.from_links(1, [], []), Collective.ALLGATHER, Cost.zero()) is None
    monkeypatch.setattr("linkstep.costs.wiring_standing.MANY", 100)
    assert standing(cut_torus(3, 3), Collective.ALLGATHER, Cost(2, Fraction(32, 27))) is None


# What is refused


def test_refusals():
    apart = Topology.from_links(3, [0, 1], [1, 0])
    for bound in (wiring_bound, lambda topology: step_bound(topology, 2)):
        with pytest.raises(TopologyError, match="the topology is disconnected: no path from node 0 to node 2"):
            bound(apart)
    ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
    with pytest.raises(LinkstepError, match="a wiring bounds allgather, reduce-scatter, allreduce, not broadcast"):
        wiring_bound(ring, "broadcast")
    with pytest.raises(LinkstepError, match="steps bound an allgather or a reduce-scatter, not allreduce"):
        step_bound(ring, 2, "allreduce")
    with pytest.raises(LinkstepError, match="steps must be at least the diameter, 2, not 1"):
        step_bound(ring, 1)
    with pytest.raises(TopologyError, match="no common measure"):
        wiring_bound(Topology.from_links(2, [0, 1], [1, 0], bandwidth=[2**61 - 1, 2**61 - 2]))


def test_false_proofs_are_refused():
    bound = wiring_bound(cut_torus(4, 4))
    for nodes in ((), tuple(range(16)), (0, 0, 1), (0, 16)):
        with pytest.raises(LinkstepError, match="its nodes are not some of the topology's"):
            check_wiring_bound(replace(bound, nodes=nodes))
    with pytest.raises(LinkstepError, match="its nodes prove 1/16, not 5/4"):
        check_wiring_bound(replace(bound, nodes=(5,), halves=()))
    in_time = step_bound(circulant(15, (1, 4, 5))[0], 2)
    first = in_time.cuts[0]
    for cuts, why in (
        (in_time.cuts[:1], "its cuts prove"),
        ((replace(first, weight=first.weight * 2), *in_time.cuts[1:]), "its cuts take"),
        ((replace(first, since=(0, *first.since[1:])),), "holds its sink"),
        ((replace(first, since=first.since[1:]),), "has no step for some node"),
    ):
        with pytest.raises(LinkstepError, match=why):
            check_step_bound(replace(in_time, cuts=cuts))
