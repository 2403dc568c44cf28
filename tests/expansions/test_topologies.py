"""Expansions against their definitions, networkx and the paper's theorems on them."""

from fractions import Fraction
from random import Random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkstep.core.distances import diameter
from linkstep.core.errors import TopologyError
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import Cost, cost_of, is_bandwidth_optimal, is_moore_optimal
from linkstep.expansions import cartesian_power, cartesian_product, degree_expand, line_graph, to_bidirectional
from support import reference
from support.strategies import (
    Case,
    complete,
    complete_bipartite,
    connected_link_lists,
    link_lists,
    pairs,
    random_allgather,
    ring,
    seeds,
    topologies,
    topology_of,
)

small = link_lists(max_nodes=4, max_links=8)


def numbered(graph: nx.MultiDiGraph) -> Topology:
    """Return a networkx graph with its nodes numbered in sorted order."""
    nodes = {node: i for i, node in enumerate(sorted(graph.nodes))}
    return topology_of(len(nodes), [(nodes[u], nodes[w]) for u, w in graph.edges()])


# Definitions


@given(topologies(small))
def test_line_graph(topology):
    if not topology.num_links:
        with pytest.raises(TopologyError, match=r"^num_nodes must lie in \[1, 2147483647\], not 0$"):
            line_graph(topology)
        return
    expanded = line_graph(topology)
    assert expanded == topology_of(topology.num_links, reference.line_graph(pairs(topology)))
    assert expanded == numbered(nx.line_graph(topology.to_networkx()))
    assert expanded.num_self_loops == topology.num_self_loops


@given(topologies(link_lists(max_nodes=4, max_links=8, loops=False)), st.integers(1, 3))
def test_degree_expand(topology, times):
    expanded = degree_expand(topology, times)
    assert expanded == topology_of(topology.num_nodes * times, reference.degree_expand(pairs(topology), times))
    copies = nx.empty_graph(times, create_using=nx.MultiDiGraph)
    assert expanded == numbered(nx.lexicographic_product(topology.to_networkx(), copies))
    assert expanded.degree == topology.degree * times


@given(topologies(small), topologies(small))
def test_cartesian_product(left, right):
    expanded = cartesian_product(left, right)
    n, m = left.num_nodes, right.num_nodes
    assert expanded == topology_of(n * m, reference.cartesian_product(n, pairs(left), m, pairs(right)))
    if not (left.num_self_loops and right.num_self_loops):  # networkx makes one of the loops of either side
        assert expanded == numbered(nx.cartesian_product(left.to_networkx(), right.to_networkx()))


@given(topologies(link_lists(max_nodes=3, max_links=5)), st.integers(1, 3))
def test_cartesian_power(topology, times):
    power = cartesian_power(topology, times)
    n, links = topology.num_nodes, pairs(topology)
    for _ in range(times - 1):
        links = reference.cartesian_product(topology.num_nodes, pairs(topology), n, links)  # from the other end
        n *= topology.num_nodes
    assert power == topology_of(n, links)


@given(topologies())
def test_to_bidirectional(topology):
    both = to_bidirectional(topology)
    assert sorted(pairs(both)) == sorted(pairs(topology) + pairs(topology.transpose()))
    assert both.is_bidirectional
    assert both.num_self_loops == 2 * topology.num_self_loops


EXPANSIONS = [
    (line_graph, "L(G)"),
    (lambda g: degree_expand(g, 2), "G*n"),
    (lambda g: cartesian_product(g, ring(3)), "G x H"),
    (lambda g: cartesian_product(ring(3), g), "G x H"),
    (lambda g: cartesian_power(g, 2), "G x H"),
    (to_bidirectional, "Bi(G)"),
]


@given(topologies(connected_link_lists(max_nodes=4, loops=False), columns=True), st.sampled_from(EXPANSIONS))
def test_link_columns_are_refused(topology, expansion):
    function, what = expansion
    if topology.bandwidth is None and topology.alpha is None:
        if topology.num_links:
            function(topology)
        return
    with pytest.raises(TopologyError) as caught:
        function(topology)
    assert str(caught.value) == f"{what} takes a topology whose links are all alike, not one with link columns"


def test_degree_expansion_refuses_self_loops():
    """def:degreeexp."""
    with pytest.raises(TopologyError) as caught:
        degree_expand(topology_of(3, [(0, 1), (1, 2), (2, 0), (2, 2)]), 2)
    assert str(caught.value) == "G*n needs a topology without self-loops; node 2 has one (def:degreeexp)"


@pytest.mark.parametrize(("function", "what"), [(degree_expand, "G*n"), (cartesian_power, "G^n")])
@pytest.mark.parametrize("times", [0, -1])
def test_counts_are_refused(function, what, times):
    with pytest.raises(TopologyError) as caught:
        function(ring(3), times)
    assert str(caught.value) == f"{what}: n must be at least 1, not {times}"


# What the paper says of them


@given(topologies(connected_link_lists(max_nodes=5, max_extra=8, loops=False)))
def test_line_graph_diameter(topology):
    """Where every node has two links out or more, D(L(G)) = D(G) + 1 (sec:linegraph)."""
    if topology.num_nodes > 1 and min(topology.out_ptr[1:] - topology.out_ptr[:-1]) > 1:
        assert diameter(line_graph(topology)) == diameter(topology) + 1


@given(topologies(connected_link_lists(max_nodes=4)), topologies(connected_link_lists(max_nodes=4)))
def test_cartesian_product_diameter(left, right):
    """thm:spathcartesianexpopt: D(G x H) = D(G) + D(H)."""
    assert diameter(cartesian_product(left, right)) == diameter(left) + diameter(right)


BASES = {
    "UniRing(1,4)": ring(4),
    "UniRing(2,3)": topology_of(3, pairs(ring(3)) * 2),
    "K_4": complete(4),
    "K_{2,2}": complete_bipartite(2),
    "K_{3,3}": complete_bipartite(3),
    "BiRing(2,5)": to_bidirectional(ring(5)),
}


@pytest.mark.parametrize("base", BASES.values(), ids=[f"tab:expansiontechniques-{name}" for name in BASES])
def test_sizes_and_degrees(base):
    """Columns "# of Nodes" and "Deg" for d-regular bases; regularity is kept."""
    n, d = base.num_nodes, base.degree
    lines = line_graph(line_graph(base))
    for expanded, size, degree in [
        (line_graph(base), d * n, d),
        (lines, d * d * n, d),
        (degree_expand(base, 3), 3 * n, 3 * d),
        (cartesian_power(base, 2), n**2, 2 * d),
        (cartesian_product(base, ring(3)), 3 * n, d + 1),
        (to_bidirectional(base), n, 2 * d),
    ]:
        assert (expanded.num_nodes, expanded.degree, expanded.is_regular) == (size, degree, True)


def test_figures_of_the_paper():
    """fig:linegraphtopology: L(K_{2,2}), N=8, d=2; fig:degreeexampletopology: a 4-ring * 2, N=8, d=2."""
    lines = line_graph(complete_bipartite(2))
    assert (lines.num_nodes, lines.degree, lines.is_regular, diameter(lines)) == (8, 2, True, 3)
    assert (lines.num_self_loops, lines.num_parallel) == (0, 0)
    doubled = degree_expand(ring(4), 2)
    assert (doubled.num_nodes, doubled.degree, doubled.is_regular, diameter(doubled)) == (8, 2, True, 4)


def test_hypercube_is_a_power():
    """H(n, 2) = K_2^n (table:toposummary)."""
    assert cartesian_power(ring(2), 4) == topology_of(16, reference.hypercube(4))
    assert cartesian_power(ring(2), 10).num_nodes == 1024


def test_kautz_graphs_are_line_graphs():
    """K(d, n) = L^n(K_{d+1}): d^n (d+1) nodes, diameter n + 1 (table:toposummary)."""
    kautz = complete(4)
    for n in range(4):
        assert (kautz.num_nodes, kautz.degree, diameter(kautz)) == (4 * 3**n, 3, n + 1)
        kautz = line_graph(kautz)


def test_self_loops_and_parallel_links_of_lines():
    """A loop becomes a node with a loop; parallel links become nodes side by side."""
    assert pairs(line_graph(topology_of(1, [(0, 0)]))) == [(0, 0)]
    assert pairs(line_graph(topology_of(1, [(0, 0)] * 2))) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    lines = line_graph(topology_of(2, [(0, 1), (0, 1), (1, 0)]))
    assert pairs(lines) == [(0, 2), (1, 2), (2, 0), (2, 1)]


# The paper's schedules on them: the topologies are the ones the theorems speak of, and the checker agrees.


def bfb_case(topology: Topology, unit: int = 2) -> Case:
    """Return a bandwidth-optimal allgather where one is plain to see."""
    number = {link: e for e, link in enumerate(pairs(topology))}
    n = topology.num_nodes
    if topology == ring(n):
        rows = [(v, 0, unit, number[(v + t) % n, (v + t + 1) % n], t + 1) for v in range(n) for t in range(n - 1)]
    elif topology == complete(n):
        rows = [(u, 0, unit, e, 1) for (u, _), e in number.items()]
    else:
        half = n // 2
        assert topology == complete_bipartite(half)
        unit = half
        rows = [(u, 0, unit, e, 1) for (u, _), e in number.items()]
        for v in range(n):
            mates = [u for u in range(n) if u != v and u // half == v // half]
            across = [w for w in range(n) if w // half != v // half]
            rows += [(v, i, i + 1, number[w, u], 2) for u in mates for i, w in enumerate(across)]
    return Case(n, pairs(topology), unit, rows)


OPTIMAL = {
    "UniRing(1,4)": (ring(4), Cost(3, Fraction(3, 4))),
    "K_3": (complete(3), Cost(1, Fraction(2, 3))),
    "K_{2,2}": (complete_bipartite(2), Cost(2, Fraction(3, 4))),
    "K_{3,3}": (complete_bipartite(3), Cost(2, Fraction(5, 6))),
}
optimal = pytest.mark.parametrize("name", OPTIMAL)


@optimal
def test_bases_are_bandwidth_optimal(name):
    topology, cost = OPTIMAL[name]
    schedule = bfb_case(topology).schedule()
    check(schedule)
    assert cost_of(schedule) == cost
    assert is_bandwidth_optimal(topology, cost)
    assert is_moore_optimal(topology, cost)  # a ring too: d = 1 leaves nothing shorter


@optimal
@pytest.mark.parametrize("turns", [1, 2], ids=["thm:linegraphperformance", "thm:linegraphconclusion"])
def test_line_graph_schedules(name, turns):
    """T_L + n and T_B + d/(d-1) (1/N - 1/(d^n N)), equal where every node has two links out or more."""
    topology, cost = OPTIMAL[name]
    case = bfb_case(topology)
    rows, expanded, more = case.rows, topology, Fraction(0)
    for _ in range(turns):
        more += Fraction(1, expanded.num_nodes)
        rows = reference.line_graph_schedule(pairs(expanded), case.unit, rows)
        expanded = line_graph(expanded)
    schedule = Case(expanded.num_nodes, pairs(expanded), case.unit, rows).schedule()
    found = cost_of(schedule)
    if topology.degree > 1:
        check(schedule)
        assert found == Cost(cost.steps + turns, cost.bandwidth + more)
        assert is_moore_optimal(expanded, found) == is_moore_optimal(topology, cost)  # thm:linemooreopt


@settings(max_examples=25)
@given(seeds, st.sampled_from([complete(3), complete_bipartite(2), topology_of(2, [(0, 1), (1, 0)] * 2)]))
def test_any_schedule_expands_to_the_line_graph(seed, topology):
    """thm:linegraphperformance for whatever allgather: still one, within the bound."""
    rows = random_allgather(Random(seed), topology.num_nodes, pairs(topology), 2, once=False)
    base = cost_of(Case(topology.num_nodes, pairs(topology), 2, rows).schedule())
    expanded = line_graph(topology)
    case = Case(expanded.num_nodes, pairs(expanded), 2, reference.line_graph_schedule(pairs(topology), 2, rows))
    assert case.is_right
    schedule = case.schedule()
    check(schedule)
    assert cost_of(schedule).steps == base.steps + 1
    assert cost_of(schedule).bandwidth <= base.bandwidth + Fraction(1, topology.num_nodes)


@optimal
@pytest.mark.parametrize("times", [2, 3])
def test_degree_expanded_schedules(name, times):
    """thm:degexp: T_L + 1 and T_B + (n-1)/(nN), so bandwidth-optimal again."""
    topology, cost = OPTIMAL[name]
    case = bfb_case(topology)
    unit, rows = reference.degree_expand_schedule(topology.num_nodes, pairs(topology), case.unit, case.rows, times)
    expanded = degree_expand(topology, times)
    schedule = Case(expanded.num_nodes, reference.degree_expand(pairs(topology), times), unit, rows).schedule()
    assert schedule.topology == expanded
    check(schedule)
    more = Fraction(times - 1, times * topology.num_nodes)
    assert cost_of(schedule) == Cost(cost.steps + 1, cost.bandwidth + more)
    assert is_bandwidth_optimal(expanded, cost_of(schedule))


@pytest.mark.parametrize(("name", "times"), [("UniRing(1,4)", 2), ("K_3", 2), ("K_3", 3), ("K_{2,2}", 2)])
def test_cartesian_power_schedules(name, times):
    """thm:cartesianpowperformance: n T_L and T_B N/(N-1) (N^n - 1)/N^n, so bandwidth-optimal again."""
    topology, cost = OPTIMAL[name]
    case = bfb_case(topology)
    n = topology.num_nodes
    links, unit, rows = reference.cartesian_power_schedule(n, pairs(topology), case.unit, case.rows, times)
    expanded = cartesian_power(topology, times)
    schedule = Case(n**times, links, unit, rows).schedule()
    assert schedule.topology == expanded
    check(schedule)
    bandwidth = cost.bandwidth * Fraction(n, n - 1) * Fraction(n**times - 1, n**times)
    assert cost_of(schedule) == Cost(times * cost.steps, bandwidth)
    assert is_bandwidth_optimal(expanded, cost_of(schedule))


def test_bidirectional_schedules():
    """sec:unitobidirectional: half of each shard each way round a ring; T_L and T_B stay."""
    n = 5
    both = to_bidirectional(ring(n))
    number = {link: e for e, link in enumerate(pairs(both))}
    rows = [
        (v, half, half + 1, number[(v + way * t) % n, (v + way * (t + 1)) % n], t + 1)
        for v in range(n)
        for half, way in ((0, 1), (1, -1))
        for t in range(n - 1)
    ]
    schedule = Case(n, pairs(both), 2, rows).schedule()
    check(schedule)
    assert cost_of(schedule) == Cost(n - 1, Fraction(n - 1, n))
