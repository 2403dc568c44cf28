"""All-to-all throughput: closed forms, methods against each other, and certificates that must hold or be refused."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep import LinkstepError, Topology, TopologyError, all_to_all
from linkstep.symmetry import libraries
from linkstep.symmetry.orbits import Orbits
from linkstep.symmetry.permutations import link_images
from linkstep.throughput import lp, quick_all_to_all, solve
from linkstep.throughput.certificate import check_throughput
from linkstep.throughput.columns import solve_by_columns
from linkstep.throughput.master import Master
from linkstep.throughput.prices import solve_by_prices, whole_flow
from linkstep.throughput.problem import FlowProblem
from linkstep.throughput.watch import Watch
from support import reference
from support.lp import concurrent_flow
from support.strategies import pairs, topology_of, with_rates

pytestmark = pytest.mark.slow  # kernels that nothing else in the default tests needs take long to compile


def ring_sum(n, both):
    return sum(min(x, n - x) if both else x for x in range(n))


CLOSED_FORMS = [
    ("UniRing(1,9)", Fraction(1, ring_sum(9, False))),
    ("UniRing(3,5)", Fraction(3, ring_sum(5, False))),
    ("BiRing(2,9)", Fraction(2, ring_sum(9, True))),
    ("BiRing(2,10)", Fraction(2, ring_sum(10, True))),
    ("Q(5)", Fraction(2, 2**5)),
    ("K_7", Fraction(1)),
    ("K_{4,4}", Fraction(4, 4 + 2 * 3)),
    ("K_{3,3}", Fraction(3, 3 + 2 * 2)),
    ("Torus(4,4)", Fraction(2, 4 * ring_sum(4, True))),
    ("Torus(5,5)", Fraction(2, 5 * ring_sum(5, True))),
    ("Torus(4,6)", Fraction(2, 4 * ring_sum(6, True))),  # the longer rings are busy, the shorter ones are not
    ("Torus(3,4,5)", Fraction(2, 3 * 4 * ring_sum(5, True))),
    ("UniRing(1,4)^3 x UniRing(1,8)", Fraction(1, 64 * ring_sum(8, False))),
]


@pytest.mark.parametrize(("recipe", "flow"), CLOSED_FORMS, ids=lambda x: str(x))
def test_closed_forms(recipe, flow):
    found = all_to_all(linkstep.parse(recipe).topology())
    assert found.value == found.bound == flow
    assert found.is_exact and found.gap == 0 and found.method == "columns"
    assert found.value <= min(found.distance_bound, found.cut_bound)
    check_throughput(found)


SIX = [
    ("Z16:Z2[9],{(15,1),(5,0),(5,1),(4,0)}", "5.388e-02", "5.479e-02"),
    ("Z16:Z4[5],{(4,0),(8,2),(13,2),(13,3)}", "1.562e-02", "2.094e-02"),
    ("Z16:Z8[11],{(8,7),(6,6),(3,7),(3,4)}", "9.732e-03", "9.732e-03"),
    ("Z32:Z8[11],{(30,5),(7,5),(3,4),(19,3)}", "4.049e-03", "4.049e-03"),
    ("Z32:Z16[27],{(24,2),(29,6),(17,13),(8,5)}", "1.741e-03", "1.757e-03"),
    ("Z64:Z16[3],{(7,10),(46,5),(36,11),(41,9)}", "8.060e-04", "8.060e-04"),
]


@pytest.mark.parametrize(("group", "flow", "by_distance"), SIX)
def test_cayley_digraphs_are_exact(group, flow, by_distance):
    found = all_to_all(linkstep.parse(f"Cayley({group})").topology())
    assert found.is_exact and found.flow().problem.num_classes == 4
    assert f"{float(found.value):.3e}" == flow
    assert f"{float(found.distance_bound):.3e}" == by_distance
    if found.topology.num_nodes <= 128:
        check_throughput(found)


@pytest.mark.parametrize("recipe", ["Torus(3,4)", "Pi_{2,11}", "Pi_{3,40}", "Lift(7,{(1,0,0,1),(0,1,1,3),(1,2,0,4)})"])
def test_a_quick_interval_is_a_proven_one(recipe):
    topology = linkstep.parse(recipe).topology()
    value, bound = quick_all_to_all(topology)
    full = all_to_all(topology)
    assert value <= full.bound and full.value <= bound and bound <= value * Fraction(11, 10)
    assert (value, bound) == quick_all_to_all(linkstep.parse(recipe).topology())


def test_no_quick_interval_where_a_round_takes_long():
    assert quick_all_to_all(linkstep.parse("Pi_{4,3001}").topology()) is None


def without_symmetry(problem):
    return replace(problem, orbits=Orbits.of(problem.wires, ()))


def interval(problem, found):
    return problem.value(found.flow.loads(), found.flow.unit), found.bound


COMPARED = ["Torus(3,4)", "Pi_{2,11}", "DBJ(2,3)", "L(K_{3,3})", "Cayley(Z16:Z2[9],{(15,1),(5,0),(5,1),(4,0)})"]


@pytest.mark.parametrize("recipe", COMPARED)
def test_methods_agree(recipe):
    """The reduction, the linear program and the approximation: every value lies below every bound."""
    reduced = FlowProblem.of(linkstep.parse(recipe).topology())
    watch = Watch(Fraction(1, 50), 60)
    found = [
        interval(problem, method(problem, watch))
        for problem in (reduced, without_symmetry(reduced))
        for method in (lp.solve_by_lp, solve_by_prices)
    ]
    found.append(interval(reduced, solve_by_columns(reduced, watch)))
    assert max(value for value, _ in found) <= min(bound for _, bound in found)
    assert found[-1][0] == found[-1][1]
    assert all(bound / value < Fraction(103, 100) for value, bound in found)
    assert all(bound / value < 1 + Fraction(1, 10**6) for value, bound in found[::2])


@st.composite
def connected(draw, most=6):
    """Random digraphs: a cycle through all nodes in some order, and more links, some parallel, some self-loops."""
    n = draw(st.integers(2, most))
    order = draw(st.permutations(range(n)))
    links = list(zip(order, [*order[1:], order[0]], strict=True))
    links += draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=8))
    rates = draw(st.lists(st.integers(1, 4), min_size=len(links), max_size=len(links)))
    return topology_of(n, links, bandwidth=rates)


@settings(max_examples=15)
@given(connected(most=4))
def test_property_every_interval_holds_the_program_over_pairs(topology):
    found = all_to_all(topology)
    check_throughput(found)
    rates = topology.bandwidth.tolist()
    fastest = max(r for r, (u, w) in zip(rates, pairs(topology), strict=True) if u != w)
    truth = concurrent_flow(topology.num_nodes, pairs(topology), [r / fastest for r in rates])
    assert float(found.value) <= truth * (1 + 1e-7)
    assert truth <= float(found.bound) * (1 + 1e-7)
    assert found.gap < Fraction(1, 10**6)
    assert found.bound <= min(found.distance_bound, found.cut_bound) * (1 + Fraction(1, 10**6))


@given(connected(), st.data())
def test_property_prices_bound_by_the_definition(topology, data):
    problem = without_symmetry(FlowProblem.of(topology))
    prices = tuple(data.draw(st.lists(st.integers(0, 9), min_size=problem.num_classes, max_size=problem.num_classes)))
    routes = problem.route(prices)
    dist = reference.priced_distances(topology.num_nodes, pairs(problem.wires), list(prices))
    assert routes.total == sum(map(sum, dist))
    assert routes.total == sum(p * load for p, load in zip(prices, routes.loads, strict=True))


@given(connected())
def test_property_flows_of_all_nodes_fit(topology):
    """Every node's flow arrives, and together they load no link beyond what the value says."""
    found = all_to_all(topology)
    n = topology.num_nodes
    rates = topology.bandwidth.tolist()
    fastest = max(r for r, (u, w) in zip(rates, pairs(topology), strict=True) if u != w)
    load = [Fraction(0)] * topology.num_links
    for source in range(n):
        flow = found.flow().of(source)
        assert reference.is_conserved(n, pairs(topology), source, flow)
        load = [a + b for a, b in zip(load, flow, strict=True)]
    assert max(x * fastest / r for x, r in zip(load, rates, strict=True)) == 1 / found.value


@pytest.mark.parametrize("recipe", ["Torus(3,4)", "Q(3)", "L(K_{3,3})", "DBJ(2,3)"])
def test_flows_of_symmetric_topologies_are_level(recipe, monkeypatch):
    topology = linkstep.parse(recipe).topology()
    found = all_to_all(topology)
    load = [sum(column) for column in zip(*(found.flow().of(s) for s in range(topology.num_nodes)), strict=True)]
    assert max(load) == 1 / found.value
    monkeypatch.setattr(libraries, "LIBRARIES", ())
    if topology.vertex_transitive:
        again = all_to_all(topology)
        assert again.value == found.value and again.flow().sources.tolist() == [0]
        load = [sum(column) for column in zip(*(again.flow().of(s) for s in range(topology.num_nodes)), strict=True)]
        assert max(load) == 1 / found.value


def test_without_highs_prices_take_over(monkeypatch):
    monkeypatch.setattr(lp, "is_available", lambda: False)
    seen = []
    found = all_to_all(linkstep.parse("Pi_{4,33}").topology(), gap=0.02, progress=seen.append)
    assert found.method == "prices" and 0 < found.gap <= Fraction(21, 1000)
    assert seen and seen[-1] < seen[0]
    check_throughput(found)


def test_time_stops_it(monkeypatch):
    monkeypatch.setattr(lp, "is_available", lambda: False)
    found = all_to_all(linkstep.parse("Pi_{4,33}").topology(), gap=0, seconds=1e-3)
    assert found.method == "prices" and found.gap > 0
    check_throughput(found)
    monkeypatch.setattr(solve, "MAX_CLASSES", 10**6)
    found = all_to_all(linkstep.parse("Pi_{4,33}").topology(), seconds=1e-3)
    assert found.method == "columns" and found.gap > 0
    check_throughput(found)


def test_faults_and_slow_cables():
    whole = linkstep.parse("Torus(4,4)").topology()
    cut = whole.without_links([0])
    found = all_to_all(cut)
    check_throughput(found)
    assert found.bound < all_to_all(whole).value
    slow = whole.with_bandwidth([10 * 10**9] + [25 * 10**9] * (whole.num_links - 1))
    assert found.value < all_to_all(slow).value < all_to_all(whole).value


def test_self_loops_and_parallel_links_do_not_change_what_they_cannot():
    ring = topology_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    with_loops = topology_of(4, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 2)])
    doubled = topology_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)] * 2)
    assert all_to_all(ring).value == all_to_all(with_loops).value == all_to_all(doubled).value / 2
    assert all_to_all(doubled).flow().of(0) == [Fraction(x, 2) for x in (3, 3, 2, 2, 1, 1, 0, 0)]
    assert all_to_all(with_loops).flow().of(0)[2] == 0


def test_refusals(monkeypatch):
    with pytest.raises(TopologyError, match="disconnected: no path from node 0 to node 2"):
        all_to_all(topology_of(3, [(0, 1), (1, 0)]))
    with pytest.raises(LinkstepError, match="at least two nodes"):
        all_to_all(Topology.from_links(1, [], []))
    ring = linkstep.parse("UniRing(1,4)").topology()
    with pytest.raises(LinkstepError, match=r"gap must lie in \[0, 1\), not 2$"):
        all_to_all(ring, gap=2)
    with pytest.raises(LinkstepError, match="seconds must be positive, not 0"):
        all_to_all(ring, seconds=0)
    monkeypatch.setattr(solve, "MAX_AMOUNTS", 10)
    with pytest.raises(LinkstepError, match=r"33 nodes with 128 links .* more than the 10 we hold"):
        all_to_all(linkstep.parse("Pi_{4,33}").topology())


def test_the_checker_refuses_what_is_not_proven():
    found = all_to_all(linkstep.parse("DBJ(2,3)").topology())
    check_throughput(found)
    flow, problem = found.flow(), found.flow().problem
    wrong = flow.amounts.copy()
    wrong[0, 0] += 1
    moved = replace(problem.orbits, generators=(np.roll(np.arange(8, dtype=np.int32), 1),))
    fewer = replace(problem.orbits, generators=())
    other = linkstep.parse("Pi_{2,8}").topology().without_links([3])
    for bad, message in (
        (replace(found, value=found.value * 2), "its flow allows"),
        (replace(found, bound=found.bound / 2), "its prices allow"),
        (replace(found, prices=tuple(-p for p in found.prices)), "price of at least 0"),
        (replace(found, prices=found.prices[1:]), "price of at least 0"),
        (replace(found, _flow=replace(flow, amounts=wrong)), "keeps"),
        (replace(found, _flow=replace(flow, amounts=-flow.amounts)), "less than nothing"),
        (replace(found, _flow=replace(flow, amounts=flow.amounts[1:])), "one flow for each orbit"),
        (replace(found, _flow=replace(flow, problem=replace(problem, orbits=moved))), "to none like it"),
        (replace(found, _flow=replace(flow, problem=replace(problem, orbits=fewer))), "orbits are not those"),
        (replace(found, topology=other), "not the topology's links"),
        (replace(found, _flow=replace(flow, problem=replace(problem, fastest=2))), "has capacity 1/2"),
    ):
        with pytest.raises(LinkstepError, match=message):
            check_throughput(bad)


def test_a_flow_that_misses_a_node_is_not_made_whole():
    problem = without_symmetry(FlowProblem.of(linkstep.parse("BiRing(2,5)").topology()))
    assert whole_flow(problem, np.zeros((5, 10))) is None


@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=6))
def test_property_master_is_optimal(rows):
    """Weights and prices prove each other: no mixture does better and no prices prove less."""
    rows = [tuple(x + 1 for x in row) for row in rows]
    capacities = (2, 1, 3)
    master = Master(capacities)
    for row in rows:
        master.add(row)
        value, prices = master.value_and_prices()
        weights = master.weights()
        assert sum(weights) == 1 and min(weights) >= 0 and min(prices) >= 0
        mixed = [sum(w * r[j] for w, r in zip(weights, master.columns, strict=True)) for j in range(3)]
        assert max(Fraction(x) / c for x, c in zip(mixed, capacities, strict=True)) == value
        assert sum(p * c for p, c in zip(prices, capacities, strict=True)) == 1
        assert min(sum(p * x for p, x in zip(prices, r, strict=True)) for r in master.columns) == value


def test_symmetries_are_checked():
    wires = FlowProblem.of(linkstep.parse("UniRing(1,5)").topology()).wires
    with pytest.raises(AssertionError, match="no automorphism"):
        Orbits.of(wires, (np.array([1, 0, 2, 3, 4], np.int32),))
    assert link_images(wires, np.array([0, 0, 2, 3, 4], np.int32)) is None


@pytest.mark.slow
def test_hundred_thousand_nodes():
    found = all_to_all(linkstep.parse("Cayley(Z1000:Z100[7],{(1,3),(46,5),(36,11),(41,9)})").topology())
    assert found.is_exact and f"{float(found.value):.6e}" == "3.200549e-06"


@pytest.mark.parametrize("ratio", [100, 10**6, 10**9])
@pytest.mark.parametrize("with_lp", [True, False])
def test_rates_far_apart(ratio, with_lp, monkeypatch):
    """A linear program in floats loses its way there: what it says is kept only if it is as near as was asked for."""
    if not with_lp:
        monkeypatch.setattr(lp, "is_available", lambda: False)
    for seed in range(90):
        found = all_to_all(with_rates(Random(seed), ratio, 10))
        check_throughput(found)
        assert found.gap <= solve.GAP, seed


def test_rates_beyond_whole_numbers():
    topology = topology_of(3, [(0, 1), (1, 2), (2, 0)], bandwidth=[9 * 10**18, 9 * 10**18, 1])
    with pytest.raises(LinkstepError, match="bandwidths that add up to less than"):
        all_to_all(topology)
