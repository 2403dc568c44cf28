"""The search for grafts: kernels against a plain twin, lists of swaps, the same result for a seed."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep._kernels import grafts as kernels
from linkstep.core.distances import diameter, distance_profiles
from linkstep.costs import moore_steps
from linkstep.recipe import Insert, Recipe, Remove, Swap, parse
from linkstep.search.sweep.bases import kautz_bases, known_bases
from linkstep.search.sweep.grafts import MOST_SWAPS, _improved, _resized, search_grafts
from linkstep.search.sweep.graphs import Draws, RegularGraph, swaps_between
from linkstep.search.sweep.job import SweepJob
from support import reference
from support.strategies import pairs, seeds, topology_of

pytestmark = pytest.mark.slow  # the kernels of the searches take as long to compile as all others

BASES = ["C(16,{1,4})", "Pi_{3,20}", "Pi_{4,67}", "Torus(5,5)", "C(12,{1,6})", "Pi_{5,30}"]


def stirred(base: str, seed: int, swaps: int = 20) -> RegularGraph:
    """Return a graph after random swaps."""
    graph, draws = RegularGraph.of(parse(base).topology()), Draws(seed)
    n, d = len(graph.out), graph.degree
    for _ in range(swaps):
        a, c = draws.below(n), draws.below(n)
        b, e = int(graph.out[a, draws.below(d)]), int(graph.out[c, draws.below(d)])
        if kernels._may_swap(graph.out, d, graph.both, a, b, c, e):
            kernels._swap(graph.out, graph.into, graph.both, a, b, c, e)
    return graph


def work(graph: RegularGraph):
    return np.empty((len(graph.out), 16), np.uint64), np.empty((len(graph.out), 16), np.uint64)


@given(st.sampled_from(BASES), seeds, st.integers(1, 6))
def test_kernels_count_as_a_plain_twin(base, seed, steps):
    graph = stirred(base, seed)
    n, d = len(graph.out), graph.degree
    links = sorted(graph.links().elements())
    assert sorted((w, u) for u in range(n) for w in graph.into[u, :d].tolist()) == [(w, u) for w, u in links]
    assert topology_of(n, links).is_regular and (not graph.both or topology_of(n, links).is_bidirectional)
    dist = reference.all_distances(n, links)
    far = reference.pairs_beyond(dist, steps)
    assert graph.missed(steps) == len(far)
    assert graph.missed(steps, 0) > 0 or not far
    listed, by_target = np.empty((n * n, 2), np.int64), np.empty(n, np.int64)
    assert kernels._far_pairs(graph.out, graph.into, n, steps, listed, by_target, *work(graph)) == len(far)
    assert {(u, v) for u, v in listed[: len(far)].tolist()} == far
    assert by_target.tolist() == [sum(v == w for _, w in far) for v in range(n)]
    total = sum(steps + 1 if (u, v) in far else dist[u][v] for u in range(n) for v in range(n))
    assert kernels._apart(graph.out, graph.into, n, steps, 1 << 60, *work(graph)) == (len(far), total)
    targets = np.arange(0, n, 2)[:64]
    words = np.empty((2, n), np.uint64)
    found = kernels._missed_near(graph.out, n, steps, targets, targets.size, words[0], words[1])
    assert found == sum(v in set(targets.tolist()) for _, v in far)


def test_more_targets_than_a_row_has_bits():
    graph = stirred("Pi_{4,1100}", 1)
    n = len(graph.out)
    levels = distance_profiles(topology_of(n, sorted(graph.links().elements()))).sum(axis=0).tolist()
    assert graph.missed(5) == n * n - sum(levels[:6]) > 0
    far, total = kernels._apart(graph.out, graph.into, n, 5, 1 << 60, *work(graph))
    assert (far, total) == (graph.missed(5), sum(t * width for t, width in enumerate(levels[:6])) + 6 * far)


@given(st.sampled_from(BASES), seeds, st.integers(0, 30))
def test_swaps_lead_from_one_graph_to_another(base, seed, swaps):
    before, after = stirred(base, 0, 0), stirred(base, seed, swaps)
    recipe = parse(base)
    listed = swaps_between(before.links(), after.links(), before.both)
    assert len(listed) <= 2 * swaps
    if listed:
        text = f"Swap({recipe},{{{','.join(str(swap).replace(' ', '') for swap in listed)}}})"
        assert Counter(pairs(parse(text).topology())) == after.links()


def graft(base: Recipe, num_nodes: int, *, target: int, evaluations: int, seed: int) -> Recipe:
    """Return the best graft of one base for a diameter."""
    draws = Draws(num_nodes, base.num_nodes, base.degree, target, seed)
    choices = evaluations // 4
    starts = _resized(base, num_nodes, target, choices, draws)
    share = (evaluations - choices) // len(starts)
    return min((_improved(start, target, share, draws) for start in starts), key=lambda one: one.missed).recipe


@pytest.mark.parametrize(
    ("base", "num_nodes", "target"),
    [
        ("C(16,{1,4})", 17, 3),
        ("C(16,{1,4})", 19, 4),
        ("Torus(5,5)", 23, 4),
        ("C(12,{1,6})", 14, 5),  # d = 3: two nodes at once
        ("C(14,{1,7})", 10, 4),
        ("Pi_{3,20}", 22, 4),
        ("Pi_{4,67}", 67, 4),  # self-loops
        ("Pi_{4,67}", 64, 4),
        ("Pi_{5,30}", 31, 3),
    ],
)
def test_grafts_reach_the_diameter(base, num_nodes, target):
    base = parse(base)
    recipe = graft(base, num_nodes, target=target, evaluations=3000, seed=1)
    topology = recipe.topology()
    assert (topology.num_nodes, topology.degree, topology.is_regular) == (num_nodes, base.degree, True)
    assert diameter(topology) <= target and not topology.num_self_loops and not topology.num_parallel
    assert topology.is_bidirectional == base.topology().is_bidirectional
    assert str(parse(str(recipe))) == str(recipe) and len(getattr(recipe, "changes", ())) <= MOST_SWAPS
    assert graft(base, num_nodes, target=target, evaluations=3000, seed=1) == recipe


def test_seeds_differ():
    found = {graft(parse("C(16,{1,4})"), 18, target=3, evaluations=2000, seed=seed) for seed in range(4)}
    assert len(found) > 1


def test_the_same_everywhere():
    """The kernels' random numbers, and so the recipes, do not depend on machine or versions."""
    draws = Draws(17, 4, 1)
    assert [draws.below(1000) for _ in range(6)] == [570, 898, 673, 757, 276, 565]
    assert (
        str(graft(parse("C(16,{1,4})"), 17, target=3, evaluations=500, seed=0))
        == "Swap(Insert(C(16,{1,4}),{(10,9,4,0)}),{(7,8,8,12),(8,8,10,11)})"
    )


def test_no_node_can_be_taken_out_of_a_small_dense_graph():
    assert _resized(parse("Pi_{8,11}"), 10, 3, 2, Draws(0)) == []


def known(table: dict[int, list[str]]):
    def bases(job: SweepJob) -> list[Recipe]:
        return [parse(text) for _, texts in sorted(table.items()) for text in texts]

    return bases


def test_search_uses_what_is_known_near_by():
    bases = known({16: ["C(16,{1,4})", "C(16,{1,6})"], 20: ["C(20,{1,6})"], 19: ["C(19,{2,7})"]})
    job = SweepJob(18, 4, True, seed=3, budget=4000)
    found = search_grafts(job, bases)
    assert found and found == search_grafts(job, bases)
    assert all(recipe.num_nodes == 18 and recipe.topology().is_bidirectional for recipe in found)
    steps = [diameter(recipe.topology()) for recipe in found]
    assert steps == sorted(steps) and steps[0] == 3
    assert search_grafts(SweepJob(19, 3, True, budget=100), bases) == []  # no 19 nodes have 3 edges each


def test_search_has_nothing_to_add_to_a_base_of_the_best_diameter():
    assert search_grafts(SweepJob(17, 4, True, budget=1000), known({17: ["C(17,{1,4})"]})) == []


def test_a_base_whose_edges_come_by_two_nodes_is_no_base_for_one_more():
    """Of K_10 with 9 edges a node, 11 nodes cannot be made."""
    assert search_grafts(SweepJob(11, 9, False, budget=500), known({10: ["K_10"]})) == []


def test_directed_search_takes_the_self_loops_out_of_generalized_kautz_graphs():
    """Pi_{4,101} has the least diameter there can be, but self-loops."""
    assert parse("Pi_{4,101}").topology().num_self_loops == 4
    recipe, *_ = search_grafts(SweepJob(101, 4, False, budget=4000), kautz_bases)
    topology = recipe.topology()
    assert (diameter(topology), topology.num_self_loops, topology.num_parallel) == (4, 0, 0)


@pytest.mark.slow
def test_lifts_near_by_are_searched_for_where_none_are_known():
    recipe, *_ = search_grafts(SweepJob(1031, 6, True, budget=20_000), known({}))
    assert isinstance(recipe, (Insert, Remove, Swap)) and "Lift(" in str(recipe)
    topology = recipe.topology()
    assert (topology.num_nodes, topology.degree, topology.is_bidirectional) == (1031, 6, True)
    assert diameter(topology) <= moore_steps(1031, 6, bidirectional=True) + 1


@pytest.mark.slow
@pytest.mark.parametrize(("num_nodes", "steps"), [(97, 5), (211, 6), (482, 7)])
def test_duplex_sizes_without_good_groups(num_nodes, steps):
    """From the catalog's entries for other sizes."""

    def bases(job: SweepJob) -> list[Recipe]:
        return [recipe for recipe in known_bases(job) if recipe.num_nodes != num_nodes]

    found = search_grafts(SweepJob(num_nodes, 4, True, budget=50_000), bases)
    assert diameter(found[0].topology()) <= steps and found[0].topology().is_bidirectional
