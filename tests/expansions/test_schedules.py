"""Expanded schedules against plain twins, and every theorem on them with its label as id."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.distances import distances_from
from linkstep.core.errors import LinkstepError, RecipeError, ScheduleError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.correctness import check_allgather
from linkstep.costs import Cost, bandwidth_bound, cost_of, is_moore_optimal, moore_steps
from linkstep.expansions import (
    cartesian_power_schedule,
    degree_expand_schedule,
    line_graph_keeps_bfb,
    line_graph_schedule,
    to_bidirectional_schedule,
)
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.recipe import parse
from linkstep.symmetry.isomorphisms import isomorphism
from support import lp, reference
from support.recipes import RECIPES
from support.strategies import Case, connected_link_lists, pairs, random_allgather, seeds, topology_of


def bfb(recipe: str) -> Schedule:
    return bfb_allgather(parse(recipe).topology())


def as_case(schedule: Schedule) -> tuple[int, list, int, list]:
    columns = (schedule.source, schedule.lo, schedule.hi, schedule.link, schedule.step)
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    return schedule.topology.num_nodes, pairs(schedule.topology), schedule.unit, rows


def random_schedule(graph: tuple[int, list], seed: int) -> Schedule:
    n, links = graph
    rng = Random(seed)
    unit = rng.randint(1, 2)
    return Case(n, links, unit, random_allgather(rng, n, links, unit, once=True)).schedule()


GRAPHS = connected_link_lists(min_nodes=2, max_nodes=4, max_extra=3)


@given(GRAPHS, seeds)
def test_property_line_graph_is_the_definition(graph, seed):
    """def:linegraph, self-loops and parallel links included."""
    schedule = random_schedule(graph, seed)
    expanded = line_graph_schedule(schedule)
    _, links, unit, rows = as_case(schedule)
    twin = Case(len(links), reference.line_graph(links), unit, reference.line_graph_schedule(links, unit, rows))
    if not schedule.topology.num_parallel:  # the twin numbers links by their ends
        assert expanded == twin.schedule()
    check_allgather(expanded)
    assert expanded.num_steps <= schedule.num_steps + 1  # rows to a node's own shard fall away: see L(UniRing(1,3))


@given(connected_link_lists(min_nodes=2, max_nodes=3, max_extra=0, loops=False), seeds, st.integers(1, 3))
def test_property_power_is_the_definition(graph, seed, times):
    """app-subsec:cartesian."""
    schedule = random_schedule(graph, seed)
    expanded = cartesian_power_schedule(schedule, times)
    n, links, unit, rows = as_case(schedule)
    ends, unit, rows = reference.cartesian_power_schedule(n, links, unit, rows, times)
    assert expanded == Case(n**times, ends, unit, rows).schedule()
    check_allgather(expanded)


@pytest.mark.parametrize("recipe", ["K_3", "UniRing(1,4)", "K_{2,2}", "Diamond", "UniRing(2,3)"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_degree_expansion_is_the_definition(recipe, times):
    """def:degexpschedule."""
    schedule = bfb(recipe)
    expanded = degree_expand_schedule(schedule, times)
    n, links, unit, rows = as_case(schedule)
    unit, rows = reference.degree_expand_schedule(n, links, unit, rows, times)
    twin = Case(n * times, reference.degree_expand(links, times), unit, rows).schedule()
    check_allgather(expanded)
    check_allgather(twin)
    assert cost_of(expanded) == cost_of(twin)
    if not schedule.topology.num_parallel:
        assert expanded.num_rows == twin.num_rows


BASES = ["K_{2,2}", "K_{4,4}", "K_5", "DirCirculant(4)", "H(2,3)", "C(7,{2,3})", "Pi_{3,10}", "BiRing(2,5)", "Diamond"]


@pytest.mark.parametrize("recipe", BASES, ids=lambda r: f"thm:linegraphperformance-{r}")
def test_thm_linegraphperformance(recipe):
    base = parse(recipe).build()
    line = line_graph_schedule(base)
    check_allgather(line)
    before, after = cost_of(base), cost_of(line)
    assert after.steps == before.steps + 1
    assert after.bandwidth <= before.bandwidth + Fraction(1, base.topology.num_nodes)


@pytest.mark.parametrize(("recipe", "times"), [("K_{2,2}", 4), ("K_5", 3), ("C(16,{3,4})", 2), ("Pi_{2,6}", 4)],
                         ids=lambda v: f"thm:linegraphconclusion-{v}")  # fmt: skip
def test_thm_linegraphconclusion(recipe, times):
    base = parse(recipe)
    schedule = parse(f"L^{times}({recipe})").build()
    check_allgather(schedule)
    n, d = base.num_nodes, base.degree
    bound = base.cost.bandwidth + Fraction(d, d - 1) * (Fraction(1, n) - Fraction(1, d**times * n))
    assert cost_of(schedule).steps == base.cost.steps + times
    assert cost_of(schedule).bandwidth <= bound


@pytest.mark.parametrize("recipe", BASES, ids=lambda r: f"thm:linemooreopt-{r}")
def test_thm_linemooreopt(recipe):
    base = parse(recipe)
    optimal = base.cost.steps == moore_steps(base.num_nodes, base.degree)
    for times in (1, 2):
        line = parse(f"L^{times}({recipe})")
        assert (line.cost.steps == moore_steps(line.num_nodes, line.degree)) == optimal


@pytest.mark.parametrize("recipe", ["K_{2,2}", "K_5", "H(2,3)", "C(7,{2,3})", "DirCirculant(3)"],
                         ids=lambda r: f"thm:linebwopt-{r}")  # fmt: skip
def test_thm_linebwopt(recipe):
    base = parse(recipe)
    assert base.cost.bandwidth == bandwidth_bound(base.num_nodes)
    for times in range(1, 8):
        line = parse(f"L^{times}({recipe})")
        limit = 1 + Fraction(1, (base.degree - 1) * base.num_nodes)
        assert line.cost.bandwidth / bandwidth_bound(line.num_nodes) <= limit


@pytest.mark.parametrize("recipe", ["K_{2,2}", "K_5", "C(7,{2,3})", "Pi_{3,12}", "K(2,2)", "Torus(3,4)", "Paley(13)"],
                         ids=lambda r: f"thm:shortestpathlinegraph-{r}")  # fmt: skip
def test_thm_shortestpathlinegraph(recipe):
    """Where each node has two targets, the line graph of the best BFB schedule is the best BFB schedule."""
    base = bfb(recipe)
    line = line_graph_schedule(base)
    assert cost_of(line) == bfb_cost(line.topology)
    assert cost_of(line).bandwidth == cost_of(base).bandwidth + Fraction(1, base.topology.num_nodes)


def test_thm_shortestpathlinegraph_asks_too_little():
    """Each node of Paley(7) has three out-neighbours, yet BFB on its line graph beats the expanded schedule."""
    base = bfb("Paley(7)")
    line = line_graph_schedule(base)
    assert not line_graph_keeps_bfb(base.topology)
    assert cost_of(line) == Cost(3, Fraction(1))
    assert bfb_cost(line.topology) == Cost(3, Fraction(20, 21))
    assert lp.bandwidth(21, pairs(line.topology), 3, lp.least_load) == (3, Fraction(20, 21))


@given(connected_link_lists(min_nodes=2, max_nodes=6, max_extra=14, loops=False))
def test_property_line_graph_keeps_bfb_where_it_says_so(graph):
    topology = topology_of(*graph)
    if topology.is_regular and line_graph_keeps_bfb(topology):
        line = line_graph_schedule(bfb_allgather(topology))
        more = Cost(1, Fraction(1, topology.num_nodes))
        assert cost_of(line) == bfb_cost(line.topology) == bfb_cost(topology) + more


@pytest.mark.slow
def test_line_graph_keeps_bfb_on_random_regular_digraphs():
    """Regular digraphs are rare among random ones: these are unions of random permutations, self-loops included."""
    proven = 0
    for seed in range(4000):
        rng = Random(seed)
        size, degree = rng.randint(4, 9), rng.randint(2, 3)
        maps = [rng.sample(range(size), size) for _ in range(degree)]
        topology = topology_of(size, [(u, m[u]) for m in maps for u in range(size)])
        if (distances_from(topology, 0) < 0).any() or not line_graph_keeps_bfb(topology):
            continue
        proven += 1
        line = line_graph_schedule(bfb_allgather(topology))
        assert cost_of(line) == bfb_cost(line.topology) == bfb_cost(topology) + Cost(1, Fraction(1, size))
    assert proven > 50


@pytest.mark.parametrize("recipe", ["K_3", "UniRing(1,4)", "K_{2,2}", "BiRing(2,5)", "C(7,{2,3})", "Diamond"],
                         ids=lambda r: f"thm:degexp-{r}")  # fmt: skip
def test_thm_degexp(recipe):
    base = parse(recipe).build()
    for times in (2, 3):
        expanded = degree_expand_schedule(base, times)
        check_allgather(expanded)
        more = Fraction(times - 1, times * base.topology.num_nodes)
        assert cost_of(expanded) == cost_of(base) + Cost(1, more)


@pytest.mark.parametrize("recipe", ["K_3", "UniRing(1,4)", "Diamond", "Pi_{2,7}", "BiRing(2,4)"],
                         ids=lambda r: f"thm:cartesianpowperformance-{r}")  # fmt: skip
def test_thm_cartesianpowperformance(recipe):
    base = parse(recipe).build()
    n = base.topology.num_nodes
    for times in (2, 3) if n < 5 else (2,):
        power = cartesian_power_schedule(base, times)
        check_allgather(power)
        grown = cost_of(base).bandwidth * Fraction(n, n - 1) * Fraction(n**times - 1, n**times)
        assert cost_of(power) == Cost(times * base.num_steps, grown)


LARGEST_PRODUCT = pytest.param("UniRing(1,4)^3 x UniRing(1,8)", marks=pytest.mark.slow)
LARGE_PRODUCT = pytest.param("BiRing(2,8) x UniRing(1,4)^2", marks=pytest.mark.slow)


@pytest.mark.parametrize("recipe", ["K_3 x K_4", "Torus(3,4) x UniRing(1,4)", LARGE_PRODUCT,
                                    "K_{3,3} x Paley(7)", LARGEST_PRODUCT],
                         ids=lambda r: f"thm:spathcartesianexpopt-{r}")  # fmt: skip
def test_thm_spathcartesianexpopt(recipe):
    product = parse(recipe)
    schedule = product.build()
    check_allgather(schedule)
    assert cost_of(schedule) == product.cost
    assert product.cost.bandwidth == bandwidth_bound(product.num_nodes)


@pytest.mark.parametrize("recipe", ["UniRing(1,5)", "L(K_{2,2})", "DBJ(2,3)", "Paley(7)", "K_5", "UniRing(2,4)"],
                         ids=lambda r: f"sec:unitobidirectional-{r}")  # fmt: skip
def test_sec_unitobidirectional(recipe):
    base = bfb(recipe)
    both = to_bidirectional_schedule(base, isomorphism(base.topology, base.topology.transpose()))
    check_allgather(both)
    assert both.topology.is_bidirectional
    assert both.topology.degree == 2 * base.topology.degree
    assert cost_of(both) == cost_of(base)


# Recipes predict and build


def check_prediction(recipe) -> None:
    schedule = recipe.build()
    check_allgather(schedule)
    assert schedule.topology == recipe.topology()
    found, predicted = cost_of(schedule), recipe.cost
    if recipe.cost_is_exact:
        assert found == predicted
    else:
        assert found.steps <= predicted.steps
        assert found.bandwidth <= predicted.bandwidth


@settings(max_examples=25)
@given(RECIPES.filter(lambda recipe: recipe.num_nodes <= 150))
def test_property_build_costs_what_was_predicted(recipe):
    try:
        check_prediction(recipe)
    except RecipeError as error:
        assert "is not isomorphic to its transpose" in str(error)


@settings(max_examples=15)
@given(RECIPES.filter(lambda recipe: recipe.num_nodes <= 60))
def test_property_every_collective_of_a_recipe(recipe):
    try:
        allreduce = recipe.build("allreduce")
    except RecipeError as error:
        assert "is not isomorphic to its transpose" in str(error)
        return
    linkstep.check_allreduce(allreduce)
    assert cost_of(allreduce) == cost_of(recipe.build()) + cost_of(recipe.build("reduce-scatter"))
    for collective in ("reduce-scatter", "broadcast", "reduce"):
        linkstep.check(recipe.build(collective, root=recipe.num_nodes - 1))


# (label, recipe, T_L, T_B) as the tables give them; T_B to three digits, exactly (N-1)/N where None.
TABLE = [
    ("table:paretooptimal", "Pi_{4,1024}", 5, "1.332"),
    ("table:paretooptimal", "L^3(C(16,{3,4}))", 6, "1.020"),
    ("table:paretooptimal", "L^2(Diamond^2)", 8, "1.004"),
    ("table:paretooptimal", "L(DBJMod(2,4)^2)", 11, "1.000"),
    ("table:paretooptimal", "(UniRing(1,4) x UniRing(1,8))^2", 20, None),
    ("tab:allourtopos", "L(K_{4,4})", 3, "1.000"),
    ("tab:allourtopos", "DistReg(4,32)", 4, None),
    ("tab:allourtopos", "Pi_{4,64}", 3, "1.312"),
    ("tab:allourtopos", "L(DBJMod(4,2))", 4, "1.000"),
    ("tab:allourtopos", "Diamond^2", 6, None),
    ("tab:allourtopos", "L^2(K_{4,4})", 4, "1.031"),
    ("tab:allourtopos", "L(DistReg(4,32))", 5, "1.000"),
    ("tab:allourtopos", "BiRing(2,8) x UniRing(1,4)^2", 10, None),
    ("tab:allourtopos", "DBJ(4,4)", 4, "1.328"),
    ("tab:allourtopos", "L^2(DBJMod(4,2))", 5, "1.016"),
    ("tab:allourtopos", "L(Diamond^2)", 7, "1.000"),
    ("tab:allourtopos", "DBJMod(2,4)^2", 10, None),
    ("tab:allourtopos", "L^3(K_{4,4})", 5, "1.039"),
    ("tab:allourtopos", "L^2(DistReg(4,32))", 6, "1.008"),
    ("tab:allourtopos", "L(UniRing(1,4)^3 x UniRing(1,2))", 11, "1.000"),
    ("tab:allourtopos", "UniRing(1,4)^3 x UniRing(1,8)", 16, None),
    ("tab:ourtopologies", "K_5", 1, None),
    ("tab:ourtopologies", "K_3*2", 2, None),
    ("tab:ourtopologies", "C(7,{2,3})", 2, None),
    ("tab:ourtopologies", "K_{4,4}", 2, None),
    ("tab:ourtopologies", "H(2,3)", 2, None),
    ("tab:ourtopologies", "C(11,{2,3})", 2, None),
    ("tab:ourtopologies", "C(12,{2,3})", 2, None),
]


@pytest.mark.parametrize(
    ("label", "recipe", "steps", "bandwidth"),
    [pytest.param(*row, id=f"{row[0]}-{row[1]}", marks=[pytest.mark.slow] * (parse(row[1]).num_nodes > 200))
     for row in TABLE],
)  # fmt: skip
def test_tables_of_the_paper(label, recipe, steps, bandwidth):
    """Built, checked and costed for allgather, reduce-scatter and allreduce."""
    made = parse(recipe)
    gather, scatter, reduce = (made.build(c) for c in ("allgather", "reduce-scatter", "allreduce"))
    linkstep.check_allgather(gather)
    linkstep.check_reduce_scatter(scatter)
    linkstep.check_allreduce(reduce)
    cost = cost_of(gather)
    assert cost == made.cost if made.cost_is_exact else cost.bandwidth <= made.cost.bandwidth
    assert cost.steps == steps
    if bandwidth is None:
        assert cost.bandwidth == bandwidth_bound(made.num_nodes)
    else:
        assert abs(cost.bandwidth - Fraction(bandwidth)) <= Fraction(1, 1000)
    assert cost_of(scatter) == cost
    assert cost_of(reduce) == cost + cost


def test_tab_ourtopologies_biring():
    """BiRing(2,5)*2 takes 3 steps as expanded; the table's 2 come from BFB on the expanded topology."""
    recipe = parse("BiRing(2,5)*2")
    assert recipe.cost == Cost(3, Fraction(9, 10))
    assert bfb_cost(recipe.topology()) == Cost(2, Fraction(9, 10))


def test_rejections():
    reduce_scatter = parse("K_3").build("reduce-scatter")
    for expand in (
        line_graph_schedule,
        lambda s: degree_expand_schedule(s, 2),
        lambda s: cartesian_power_schedule(s, 2),
    ):
        with pytest.raises(ScheduleError, match="expands an allgather, not a reduce-scatter"):
            expand(reduce_scatter)
    with pytest.raises(TopologyError, match=r"G\^n: n must be at least 1, not 0"):
        cartesian_power_schedule(bfb("K_3"), 0)
    with pytest.raises(RecipeError, match=r"DBJ\(2,3\)\*2: G\*n needs a topology without self-loops"):
        parse("DBJ(2,3)*2").build()
    with pytest.raises(RecipeError, match=r"Bi\(Diamond\): Diamond is not isomorphic to its transpose"):
        parse("Bi(Diamond)").build()
    with pytest.raises(TopologyError, match="the mapping is no isomorphism"):
        base = bfb("UniRing(1,3)")
        to_bidirectional_schedule(base, isomorphism(base.topology, base.topology))
    with pytest.raises(LinkstepError, match="collective must be one of allgather"):
        parse("K_3").build("gather")


def test_moore_optimal_flag():
    assert is_moore_optimal(parse("L(K_{4,4})").topology(), parse("L(K_{4,4})").cost)
