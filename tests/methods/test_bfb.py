"""BFB schedules: costs against HiGHS and the paper, schedules against the checker, certificates against definitions."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, lcm, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.topology import Topology
from linkstep.correctness import check_allgather
from linkstep.costs import Cost, bandwidth_bound, cost_of, moore_steps, time_of
from linkstep.families._kautz_costs import kautz_costs
from linkstep.methods.bfb import bfb_allgather, bfb_certificate, bfb_cost, bfb_time, equal_split, unequal
from linkstep.methods.bfb import schedule as bfb_schedule
from linkstep.methods.bfb.cost import solve
from linkstep.methods.bfb.plain import is_plain, plain_bfb_cost
from linkstep.methods.common.links import Links
from linkstep.symmetry.translations import translations
from support import lp, reference
from support.strategies import connected_link_lists, pairs, topologies, topology_of

CONNECTED = connected_link_lists(min_nodes=2, max_nodes=7, max_extra=12)


def build(recipe: str) -> Topology:
    return linkstep.parse(recipe).topology()


def without_symmetry(topology: Topology) -> Topology:
    return Topology.from_links(topology.num_nodes, topology.tail, topology.head)


@given(CONNECTED)
def test_property_cost_is_that_of_the_linear_programs(graph):
    n, links = graph
    topology = topology_of(n, links)
    expected = Cost(*lp.bandwidth(n, links, topology.degree, lp.least_load))
    assert bfb_cost(topology) == expected
    assert Cost(*lp.bandwidth(n, links, topology.degree, lp.least_load_by_subsets)) == expected


@given(CONNECTED)
def test_property_both_methods_agree(graph):
    topology = topology_of(*graph)
    links = Links.of(topology)
    by_subsets, by_flows = (solve(topology, links, by_flows=flows) for flows in (False, True))
    assert by_subsets.cost == by_flows.cost
    assert [s.load for s in by_subsets.steps] == [s.load for s in by_flows.steps]


@given(CONNECTED)
def test_property_the_same_without_a_kernel(graph):
    topology = topology_of(*graph)
    assert is_plain(topology) and plain_bfb_cost(topology) == bfb_cost(topology)


@pytest.mark.parametrize(
    "recipe", ["ShiftedRing(6,28)", "ShiftedRing(14,12)", "ShiftedRing(16,500)", "TwistedHypercube(5)", "Pi_{4,37}"]
)
def test_members_cost_the_same_without_a_kernel(recipe):
    """Parallel links, many neighbours, nodes that differ and self-loops."""
    assert plain_bfb_cost(build(recipe)) == bfb_cost(build(recipe))
    assert not is_plain(build("K_64"))


@given(CONNECTED, st.sampled_from([None, 1, 2, 3, 7]))
def test_property_schedule_is_a_bfb_allgather_of_that_cost(graph, chunks):
    n, links = graph
    topology = topology_of(n, links)
    schedule = bfb_allgather(topology, chunks)
    check_allgather(schedule)
    dist = reference.all_distances(n, links)
    for v, e, t in zip(schedule.source.tolist(), schedule.link.tolist(), schedule.step.tolist(), strict=True):
        w, u = pairs(topology)[e]
        assert dist[v][u] == dist[v][w] + 1 == t  # def:shortestpath
    if chunks is None:
        assert cost_of(schedule) == bfb_cost(topology)
        assert lcm(*range(1, topology.degree + 1)) % schedule.unit == 0
    else:
        assert schedule.unit == chunks
        loads = [s.load for s in bfb_certificate(topology).steps]
        least = sum(ceil(chunks * load) for load in loads)  # an integer program can do no better
        assert cost_of(schedule).bandwidth == Fraction(least * topology.degree, n * chunks)


@given(CONNECTED)
def test_property_certificate_holds_by_definition(graph):
    n, links = graph
    topology = topology_of(n, links)
    sorted_links = pairs(topology)
    known = {(u, t): (into, choices) for u, t, into, choices in lp.problems(n, sorted_links)}
    for step in bfb_certificate(topology).steps:
        into, choices = known[step.node, step.step]
        assert set(step.links) <= set(into)
        assert sum(choice <= set(step.links) for choice in choices) == step.sources
        assert step.load == Fraction(step.sources, len(step.links))


@given(CONNECTED, st.integers(2, 5))
def test_property_integer_program_bound(graph, chunks):
    """thm:shortestIP: rounding costs at most d (d^D - 1) / ((d - 1) P N); the exact optimum no more."""
    topology = topology_of(*graph)
    d, best = topology.degree, bfb_cost(topology)
    if d > 1:
        slack = Fraction(d * (d**best.steps - 1), (d - 1) * chunks * topology.num_nodes)
        assert best.bandwidth <= cost_of(bfb_allgather(topology, chunks)).bandwidth <= best.bandwidth + slack


@given(topologies(CONNECTED, columns=True), st.sampled_from([None, 3]))
def test_property_links_of_different_bandwidth(topology, chunks):
    """With bandwidths, U is the least max of load / relative rate; every set of links gives a lower bound."""
    plain = Topology.from_links(topology.num_nodes, topology.tail, topology.head, bandwidth=topology.bandwidth)
    schedule = bfb_allgather(plain, chunks)
    check_allgather(schedule)
    rates = np.ones(plain.num_links, int) if plain.bandwidth is None else plain.bandwidth
    worst: dict[int, Fraction] = {}
    for _, t, into, choices in lp.problems(plain.num_nodes, pairs(plain)):
        if choices:
            load = _weighted_load(into, choices, rates.tolist())
            worst[t] = max(worst.get(t, Fraction(0)), load)
    fastest = max(rate for (u, w), rate in zip(pairs(plain), rates.tolist(), strict=True) if u != w)
    best = sum(worst.values(), Fraction(0)) * fastest * plain.degree / plain.num_nodes
    assert bfb_cost(plain).bandwidth == best
    assert (cost_of(schedule).bandwidth == best) if chunks is None else (cost_of(schedule).bandwidth >= best)


@settings(max_examples=30)
@given(topologies(CONNECTED, columns=True), st.integers(1, 3), st.booleans())
def test_property_a_narrowed_grid_is_the_whole_grid(topology, chunks, with_latency):
    """The least time on the grid is the same whether all its times are looked at or only a few at once."""
    columns = {"bandwidth": topology.bandwidth if topology.bandwidth is not None else [1] * topology.num_links}
    if with_latency:
        columns["alpha"] = topology.alpha if topology.alpha is not None else [7] * topology.num_links
    graph = Topology.from_links(topology.num_nodes, topology.tail, topology.head, **columns)
    size = "1KB" if with_latency else None
    made = []
    for instants in (10**9, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(unequal, "_INSTANTS", instants)
            made.append(bfb_allgather(graph, chunks, size=size))
    assert made[0] == made[1]


def test_work_on_a_grid_does_not_grow_with_the_ratio_of_rates(monkeypatch):
    rows = 0

    def counted(*args):
        nonlocal rows
        rows += args[-2].shape[1]
        return least_table_row(*args)

    least_table_row = unequal._least_table_row
    monkeypatch.setattr(unequal, "_least_table_row", counted)
    torus = without_symmetry(build("Torus(3,3)"))
    for ratio in (10, 10**5, 10**9, 10**15):
        rows = 0
        rates = [1 + ratio * (e > 0) for e in range(torus.num_links)]
        schedule = bfb_allgather(torus.with_bandwidth(rates), 8)
        check_allgather(schedule)
        blocks = torus.num_nodes  # at most: how many there are depends on the cores
        assert rows <= blocks * unequal._INSTANTS * (1 + ceil(log(8 * ratio, unequal._INSTANTS)))
        assert cost_of(schedule).bandwidth >= bfb_cost(schedule.topology).bandwidth


def test_a_self_loop_faster_than_every_link_changes_nothing():
    """It carries nothing, so B/d is the bandwidth of the fastest link that does."""
    links = [(0, 0), (0, 1), (1, 0), (1, 1)]
    topology = topology_of(2, links, bandwidth=[400, 100, 100, 400])
    assert cost_of(bfb_allgather(topology)) == bfb_cost(topology) == bfb_cost(topology_of(2, links))


@given(connected_link_lists(min_nodes=2, max_nodes=5, max_extra=8), st.data())
def test_property_cost_with_fast_self_loops(graph, data):
    n, links = graph
    loops = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4))
    links = links + [(u, u) for u in loops]
    rates = data.draw(st.lists(st.sampled_from([1, 2, 3, 40]), min_size=len(links), max_size=len(links)))
    topology = topology_of(n, links, bandwidth=rates)
    assert cost_of(bfb_allgather(topology)) == bfb_cost(topology)


def _weighted_load(into, choices, rates) -> Fraction:
    sets = [{e for k, e in enumerate(into) if p >> k & 1} for p in range(1, 1 << len(into))]
    return max(Fraction(sum(choice <= chosen for choice in choices), sum(rates[e] for e in chosen)) for chosen in sets)


@settings(max_examples=15)
@given(connected_link_lists(min_nodes=2, max_nodes=4, max_extra=4, loops=False), st.data())
def test_property_links_of_different_latency(graph, data):
    """sec:heterogeneous: HiGHS, solved again without links that only cost latency, gives the same time."""
    n, links = graph
    columns = {
        "alpha": data.draw(st.lists(st.sampled_from([0, 100, 1000, 20_000]), min_size=len(links), max_size=len(links))),
        "bandwidth": data.draw(st.lists(st.sampled_from([10**9, 3 * 10**9]), min_size=len(links), max_size=len(links))),
    }
    topology = topology_of(n, links, **columns)
    size = data.draw(st.sampled_from([1000, 100_000]))
    seconds = [8 * size / n / b for b in topology.bandwidth.tolist()]
    alpha = [a * 1e-9 for a in topology.alpha.tolist()]
    worst: dict[int, float] = {}
    for _, t, into, choices in lp.problems(n, pairs(topology)):
        if choices:
            worst[t] = max(worst.get(t, 0.0), lp.least_time(into, choices, alpha, seconds))
    exact = bfb_time(topology, size)
    assert float(exact) == pytest.approx(sum(worst.values()), rel=1e-6)
    schedule = bfb_allgather(topology, 60, size=size)
    check_allgather(schedule)
    assert exact <= time_of(schedule, size)
    finer = time_of(bfb_allgather(topology, 6000, size=size), size)
    assert exact <= finer <= exact + Fraction(topology.num_nodes * len(worst) * 8 * size, n * 6000 * 10**9)


@pytest.mark.parametrize(
    ("recipe", "bandwidth"),
    [("Pi_{4,1024}", "1.33203125"), ("Pi_{4,64}", "1.3125"), ("DBJ(4,4)", "1.328125"), ("K(4,2)", "1.05")],
    ids=lambda value: f"tab:allourtopos-{value}",
)
def test_paper_bandwidths(recipe, bandwidth):
    assert bfb_cost(build(recipe)).bandwidth == Fraction(bandwidth)


@pytest.mark.parametrize("size", [3, 4, 5, 8, 9, 16, 31])
def test_sec_spathbiring(size):
    """The ring takes floor(N/2) steps and is bandwidth-optimal; only an even ring cuts a shard, in two."""
    schedule = bfb_allgather(build(f"BiRing(2,{size})"))
    check_allgather(schedule)
    assert cost_of(schedule) == Cost(size // 2, bandwidth_bound(size))
    assert schedule.unit == 2 - size % 2


TORI = ["Torus(3,3,2)", "Torus(3,3,3,2)", "Torus(4,6)", "Torus(2,2,2)", "Torus(5,7)", "Torus(3,4,5)", "Torus(16,3)"]


@pytest.mark.parametrize("recipe", TORI, ids=lambda recipe: f"thm:spathcartesianexpopt-{recipe}")
def test_every_torus_is_optimal(recipe):
    topology = build(recipe)
    dims = [int(x) for x in recipe[6:-1].split(",")]
    schedule = bfb_allgather(topology)
    check_allgather(schedule)
    assert cost_of(schedule) == Cost(sum(x // 2 for x in dims), bandwidth_bound(topology.num_nodes))


OPTIMAL = [
    "K_5", "K_{4,4}", "H(2,3)", "H(3,3)", "DirCirculant(4)", "UniRing(3,7)", "BiRing(4,9)", "Q(6)", "C(11,{2,3})",
    "TwistedTorus(4,8)", "TwistedTorus(3,3,6)", "TwistedTorus(2,4,4)", "Paley(13)", "Paley(7)", "J(5,2)", "O(4)",
    "PG(2,3)", "GQ(2,2)", "DistReg(4,45)", "TwistedHypercube(3)", "ShiftedRing(4,12)",
]  # fmt: skip


@pytest.mark.parametrize("recipe", OPTIMAL, ids=lambda recipe: f"table:toposummary-{recipe}")
def test_bandwidth_optimal_families(recipe):
    topology = build(recipe)
    certificate = bfb_certificate(topology)
    assert certificate.cost.bandwidth == bandwidth_bound(topology.num_nodes)
    assert certificate.explain_bandwidth() is None


def test_circulantconjecture_is_wrong():
    """The paper conjectures that every circulant graph is bandwidth-optimal: with three jumps, not all are."""
    topology = build("C(15,{1,4,5})")
    certificate = bfb_certificate(topology)
    assert certificate.cost == Cost(2, Fraction(1))
    assert lp.bandwidth(15, pairs(topology), 6, lp.least_load) == (2, Fraction(1))
    assert certificate.explain_bandwidth() == (
        "step 2, node 0: 3 of its 8 shards can come only over 2 of 6 links, 3/2 a link where 4/3 would be even"
    )


@pytest.mark.parametrize("recipe", ["Torus(4,6)", "Q(5)", "C(30,{3,4})", "PG(2,3)", "TwistedTorus(3,6)"])
def test_one_node_is_enough_where_all_are_alike(recipe):
    topology = build(recipe)
    assert topology.vertex_transitive
    assert bfb_cost(topology) == bfb_cost(without_symmetry(topology))


def test_orbits_stand_for_all_nodes(monkeypatch):
    monkeypatch.setattr("linkstep.methods.bfb.problems._SEARCH_SYMMETRY", 0)
    for recipe in ("Diamond", "Pi_{3,20}", "L(K_{3,3})"):
        topology = build(recipe)
        orbits = bfb_cost(topology)
        monkeypatch.setattr("linkstep.methods.bfb.problems._SEARCH_SYMMETRY", 10**9)
        assert orbits == bfb_cost(topology)
        monkeypatch.setattr("linkstep.methods.bfb.problems._SEARCH_SYMMETRY", 0)


@pytest.mark.parametrize("degree", [11, 16, 33, 64])
def test_any_degree_up_to_64(degree):
    for recipe in (f"K_{degree + 1}", f"K_{{{degree},{degree}}}", f"DirCirculant({degree})"):
        topology = build(recipe)
        schedule = bfb_allgather(topology)
        check_allgather(schedule)
        assert cost_of(schedule).bandwidth == bandwidth_bound(topology.num_nodes)


@given(st.integers(9, 16), st.integers(20, 60))
def test_property_methods_agree_at_higher_degrees(degree, size):
    topology = build(f"Pi_{{{degree},{size}}}")
    links = Links.of(topology)
    assert solve(topology, links, by_flows=True).cost == solve(topology, links, by_flows=False).cost


def test_explains_what_prevents_bandwidth_optimality():
    assert bfb_certificate(build("Pi_{4,64}")).explain_bandwidth() == (
        "step 2, node 0: 4 of its 15 shards can come only over 1 of 4 links, 4 a link where 15/4 would be even"
    )
    path = topology_of(3, [(0, 1), (1, 0), (1, 2), (2, 1)])
    assert bfb_certificate(path).explain_bandwidth() == (
        "step 1, node 0: 1 of its 1 shards can come only over 1 of 2 links, 1 a link where 1/2 would be even"
    )


def test_a_cut_cable_is_routed_around():
    torus = build("Torus(8,8)")
    cut = torus.without_links([0, 17])
    schedule = bfb_allgather(cut)
    check_allgather(schedule)
    assert schedule.topology.num_links == torus.num_links - 2
    assert cost_of(schedule) == bfb_cost(cut)
    assert bfb_cost(cut).bandwidth > bfb_cost(torus).bandwidth


def test_rejections():
    with pytest.raises(TopologyError, match="disconnected: no path from node 2 to node 0"):
        bfb_cost(topology_of(3, [(0, 1), (1, 0), (0, 2)]))
    with pytest.raises(TopologyError, match="at most 64 links into a node; node 0 has 65"):
        bfb_cost(topology_of(66, [(u, w) for u in range(66) for w in range(66) if u != w]))
    with pytest.raises(LinkstepError, match=r"chunks must lie in \[1, 1000000\], not 0"):
        bfb_allgather(topology_of(2, [(0, 1), (1, 0)]), 0)
    for size in ("nan", "", "-1MB"):
        with pytest.raises(
            LinkstepError, match=f"^size must be a number with a unit, such as 1MB or 1MiB, not {size!r}$"
        ):
            bfb_allgather(topology_of(2, [(0, 1), (1, 0)]), size=size)
    for chunks in (1.5, True, float("nan"), "3"):
        with pytest.raises(LinkstepError, match=f"^chunks must be an integer, not {chunks!r}$"):
            bfb_allgather(topology_of(2, [(0, 1), (1, 0)]), chunks)
    with pytest.raises(LinkstepError, match="times need both link columns"):
        bfb_time(topology_of(2, [(0, 1), (1, 0)]), "1MB")
    with pytest.raises(TopologyError, match="no common measure"):
        bfb_cost(topology_of(2, [(0, 1), (1, 0)], bandwidth=[2**62, 2**62 - 1]))


def test_one_node_needs_nothing():
    alone = Topology.from_links(1, [], [])
    assert bfb_cost(alone) == Cost(0, Fraction(0))
    check_allgather(bfb_allgather(alone))


@pytest.mark.parametrize("degree", [2, 4, 8, 16])
def test_fig_genkautzbwtime(degree):
    """T_B is at most 2 T_B* and T_L at most T_L* + 1 for every N up to 2000: the finder's table says so."""
    for size in range(degree + 1, 2001):
        cost, _ = kautz_costs(degree, size)
        assert cost.bandwidth <= 2 * bandwidth_bound(size), size
        assert cost.steps <= moore_steps(size, degree) + 1, size


@pytest.mark.slow
@pytest.mark.parametrize("degree", [2, 3, 4, 5, 6, 7, 8, 12, 16])
def test_the_table_of_generalized_kautz_costs_is_right(degree):
    """A sample of the table, computed again."""
    for size in range(degree + 1, 2049, 61):
        topology = build(f"Pi_{{{degree},{size}}}")
        assert kautz_costs(degree, size) == (bfb_cost(topology), bfb_cost(topology.transpose())), size


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["Q(10)", "Torus(50,50)", "Pi_{4,1024}", "TwistedTorus(8,8,16)", "K(4,4)"])
def test_large_schedules_pass_the_checker(recipe):
    topology = build(recipe)
    schedule = bfb_allgather(topology)
    check_allgather(schedule)
    assert cost_of(schedule) == bfb_cost(topology)


@pytest.mark.slow
def test_cost_of_a_million_nodes():
    topology = build("Torus(100,100,100)")
    assert bfb_cost(topology) == Cost(150, bandwidth_bound(10**6))


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [None, 3])
@pytest.mark.parametrize(
    "recipe",
    ["Torus(3,4)", "Q(4)", "BiRing(4,9)", "Torus(2,2,2)", "C(12,{1,5})", "Cayley(Z8:Z2[3],{(1,0),(1,1)})", "O(3)"],
)
def test_translated_rows(monkeypatch, recipe, chunks):
    """Rows made for one node and taken to the others cost the same and are right, parallel links included."""
    topology = build(recipe)
    made = bfb_allgather(without_symmetry(topology), chunks)
    assert translations(topology) is not None or recipe == "O(3)"  # Petersen's graph is no Cayley graph
    monkeypatch.setattr(bfb_schedule, "_WORTH_TRANSLATING", 2)
    translated = bfb_allgather(topology, chunks)
    check_allgather(translated)
    assert (cost_of(translated), translated.unit) == (cost_of(made), made.unit)


@pytest.mark.slow
def test_translated_rows_where_links_differ(monkeypatch):
    """Translations keep rates: of a ring with two rates only every other step round is one."""
    tail, head, rates = [0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3], [2, 1, 2, 1, 2, 1, 2, 1]
    ring = replace(topology_of(4, list(zip(tail, head, strict=True)), bandwidth=rates), vertex_transitive=True)
    group = translations(ring)
    assert group is not None and all(ring.relabel(image) == ring for image in group)
    monkeypatch.setattr(bfb_schedule, "_WORTH_TRANSLATING", 2)
    check_allgather(bfb_allgather(ring))
    assert cost_of(bfb_allgather(ring)) == bfb_cost(ring)


# thm:shortestbwoptsuff


@pytest.mark.parametrize(
    ("recipe", "constants"),
    [
        ("K_5", [(4, 1, 1)]),
        ("K_{4,4}", [(4, 1, 1), (3, 3, 4)]),
        ("Q(4)", [(4, 1, 1), (6, 3, 2), (4, 3, 3), (1, 1, 4)]),
        ("GQ(2,2)", [(3, 1, 1), (6, 2, 1), (12, 4, 1), (8, 8, 3)]),
        ("BiRing(2,9)", [(2, 1, 1)] * 4),
        ("Paley(7)", [(3, 1, 1), (3, 2, 2)]),  # one way
    ],
)
def test_thm_shortestbwoptsuff(recipe, constants):
    """N_x = d a_x / b_x in distance-regular graphs, and BFB is bandwidth-optimal."""
    topology = build(recipe)
    found = equal_split(topology)
    assert list(found.constants) == constants
    assert all(n * b == topology.degree * a for n, a, b in constants)
    assert equal_split(without_symmetry(topology)) == found
    assert bfb_cost(topology).bandwidth == bandwidth_bound(topology.num_nodes)


def test_an_equal_split_without_constants():
    assert equal_split(build("Torus(5,5)")).constants is None
    assert equal_split(build("Torus(5,5)")).loads == (1, 2, 2, 1)


@pytest.mark.parametrize("recipe", ["Torus(4,6)", "Pi_{4,16}", "Diamond", "L(K_5)", "DBJ(2,3)"])
def test_no_equal_split(recipe):
    """Self-loops, nodes that see different distances, or links that do: of the first BFB is optimal all the same."""
    assert equal_split(build(recipe)) is None


def test_two_constants_are_not_enough():
    """thm:shortestbwoptsuff as printed: N_2 = 2 and b_2 = 4 exist in C(8,{1,3,4}), and BFB is not bandwidth-optimal."""
    links = [(u, (u + k) % 8) for u in range(8) for k in (1, 3, 4, 5, 7)]
    topology = topology_of(8, links)
    dist = reference.all_distances(8, links)
    by_two = {(u, v) for u in range(8) for v in range(8) if dist[u][v] == 2}
    assert {sum(u == 0 for u, _ in by_two)} == {2}
    assert {sum(dist[w][v] == 1 for t, w in links if t == u) for u, v in by_two} == {4}
    assert equal_split(topology) is None
    assert bfb_cost(topology).bandwidth > bandwidth_bound(8)


@given(CONNECTED)
def test_property_an_equal_split_proves_the_best_bandwidth(graph):
    topology = topology_of(*graph)
    found = equal_split(topology)
    if found is not None:
        cost = bfb_cost(topology)
        assert cost.bandwidth == bandwidth_bound(topology.num_nodes)
        assert cost.bandwidth == sum(found.loads) * topology.degree / topology.num_nodes
        assert cost.steps == len(found.loads)


@pytest.mark.parametrize("size", range(4, 15))
def test_equal_splits_of_circulants(size):
    """Wherever it holds BFB is bandwidth-optimal; it holds for some and not for others."""
    verdicts = set()
    for chords in ((1,), (1, 2), (1, 3), (2, 3), (1, size // 2)):
        jumps = {k % size for c in chords for k in (c, -c)} - {0}
        topology = topology_of(size, [(u, (u + k) % size) for u in range(size) for k in jumps])
        if chords == (2, 3) and size == 6:
            continue
        holds = equal_split(topology) is not None
        verdicts.add(holds)
        assert not holds or bfb_cost(topology).bandwidth == bandwidth_bound(size)
    assert True in verdicts
