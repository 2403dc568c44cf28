"""What people use today, as schedules like ours: every row is checked, and costs what its formula says."""

from fractions import Fraction
from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
from linkstep.baselines import BASELINES, Pipeline, baseline, baselines, baselines_on, double_tree_time, usual_baselines
from linkstep.baselines.bruck import circulant_bruck_cost, circulant_bruck_cut_through_cost, circulant_bruck_turns
from linkstep.baselines.doubling import doubling_turns, twisted_doubling_cost, twisted_doubling_cut_through_cost
from linkstep.baselines.routes import cut_through_cost, routed_allgather, store_and_forward_cost, without_repeats
from linkstep.baselines.swing import swing_cost, swing_cut_through_cost, swing_distance, swing_parts
from linkstep.baselines.tori import torus_flow, torus_rings_allgather, torus_rings_cost
from linkstep.baselines.trees import (
    depths,
    least_steps,
    tree_allgather,
    tree_allreduce,
    tree_cost,
    tree_halves,
    tree_height,
)
from linkstep.core.errors import LinkstepError
from linkstep.correctness import check, check_allgather, split_phases
from linkstep.costs import Cost, Fabric, bandwidth_bound, cost_of, seconds_of
from linkstep.families import family_written
from linkstep.families.rings import shifted_ring
from linkstep.families.torus import torus
from linkstep.families.trees import double_binary_tree, tree_parents
from linkstep.lowering import lower
from linkstep.recipe import Member
from linkstep.simulation import simulate_schedule
from linkstep.verification import verify_text
from support import strategies  # noqa: F401  (sets hypothesis up)

FABRIC = Fabric.of("10us", "100Gbps", 4)
SMALL = [(2, 1), (3, 2), (3, 4), (4, 4), (6, 4), (7, 4), (8, 3), (12, 4), (16, 4), (18, 5)]
LARGE = [(24, 5), (27, 6), (32, 4), (36, 4), (40, 6), (54, 7), (64, 6), (100, 4)]


def listed(sizes, *marks):
    found = [one for n, d in sizes for one in baselines(n, d, directed=True)]
    return [pytest.param(one, id=f"{one.row.key}-{one.recipe}", marks=marks) for one in found]


MESHES = [
    pytest.param(one, id=f"{one.row.key}-{recipe}")
    for recipe in ("Mesh(2,2)", "Mesh(3,4)", "Mesh(4,4)", "Mesh(2,5)", "Mesh(3,3,2)", "Mesh(2,3,5)")
    for one in baselines_on(linkstep.parse(recipe))
]
"""Wirings that lists for N and d leave out."""
EVERY = [*listed(SMALL), *MESHES, *listed(LARGE, pytest.mark.slow)]


@pytest.mark.parametrize("one", EVERY)
def test_schedules_are_right_and_cost_what_rows_say(one):
    """Of several hops too: charged on every link, alpha a hop. Reductions leave repeats out, and cost no more."""
    for depth in one.row.depths(one.recipe.args):
        cost = one.row.cost(one.recipe.args, depth)
        gathered = one.schedule("allgather", depth=depth)
        check(gathered)
        assert cost_of(gathered) == cost
        for collective, phases in (("reduce-scatter", 1), ("allreduce", 2)):
            made = one.schedule(collective, depth=depth)
            check(made)
            charged = Cost(phases * cost.steps, phases * cost.bandwidth)
            assert cost_of(made) == charged or (one.takes_several_hops and cost_of(made).is_within(charged))


@pytest.mark.parametrize("size", ["1KB", "100KB", "1MB", "1GB"])
@pytest.mark.parametrize("one", listed([(8, 3), (12, 4), (13, 4)]))
def test_what_is_listed_at_a_size_is_what_is_made(one, size):
    depth, is_rooted = one.pipeline_for(FABRIC, size)
    made = one.schedule("allreduce", depth=depth, is_rooted=is_rooted)
    check(made)
    first, second = one.halves_at(FABRIC, size)
    assert cost_of(made) == first + second or one.takes_several_hops
    assert one.allreduce_time(FABRIC, size) == FABRIC.time(first + second, "allreduce", size)


@pytest.mark.parametrize("one", listed([(8, 3), (12, 4)]))
def test_no_cost_is_below_the_bound_and_cutting_through_takes_fewer_steps(one):
    cost, cut = one.cost_at(FABRIC, "1MB"), one.cutting_through().cost_at(FABRIC, "1MB")
    assert cost.bandwidth >= cut.bandwidth >= bandwidth_bound(one.num_nodes)
    assert (cut.steps < cost.steps) is one.takes_several_hops
    assert one.ours is not None
    if not one.row.is_ours and one.name != "double binary tree":  # a pipeline has as little, and more steps
        assert one.ours.steps <= cost.steps and one.ours.bandwidth <= cost.bandwidth


def test_every_row_is_met():
    met = {(one.name, one.row.notation) for param in EVERY for one in param.values}
    assert met == {(row.name, row.notation) for row in BASELINES}


@pytest.mark.parametrize(
    "dims",
    [*(pytest.param(dims, marks=pytest.mark.slow) for dims in [(3, 4, 6), (2, 4, 8)]), (2, 3), (4, 8), (2, 2, 3)],
    ids=str,
)
def test_a_torus_has_one_baseline_in_any_order_of_its_dimensions(dims):
    """Names, costs and schedules: those of ascending dimensions, nodes renumbered."""
    ascending = baselines_on(Member(family_written("Torus(d1,d2,...)"), dims))
    assert ascending
    for order in sorted(set(permutations(dims))):
        found = baselines_on(Member(family_written("Torus(d1,d2,...)"), order))
        assert [(one.name, one.cost, one.flow) for one in found] == [(b.name, b.cost, b.flow) for b in ascending]
        assert [one.cutting_through().cost for one in found] == [b.cutting_through().cost for b in ascending]
        for one, same in zip(found, ascending, strict=True):
            for collective in ("allgather", "allreduce"):
                made, plain = one.schedule(collective), same.schedule(collective)
                check(made)
                assert made.topology == torus(*order) and made.topology.name == str(one.recipe)
                assert (cost_of(made), made.num_rows, made.unit) == (cost_of(plain), plain.num_rows, plain.unit)


def test_meshes_with_an_odd_number_of_nodes_have_no_ring():
    assert baselines_on(linkstep.parse("Mesh(3,3)")) == baselines_on(linkstep.parse("Mesh(6)")) == ()
    assert "Mesh(4,4)" not in {str(one.recipe) for one in baselines(16, 4)}


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_rooted(collective):
    check(baseline("swing", "Torus(2,8)").schedule(collective, root=5))


@pytest.mark.slow
@pytest.mark.parametrize("one", listed([(8, 3), (12, 4)]))
def test_lowered_verified_and_simulated_like_ours(one):
    made, fabric = (
        one.schedule("allreduce", is_rooted=one.row.rooted is not None),
        FABRIC.with_degree(one.recipe.degree),
    )
    for runtime in ("msccl", "cpu", "mscclpp"):
        assert verify_text(lower(made, runtime).text, runtime).is_verified
    done = simulate_schedule(made, "cpu", fabric, "1MB")
    assert done.time <= float(seconds_of(made, fabric, "1MB")) * 1.001


# Tori


@pytest.mark.parametrize(("num_nodes", "degree"), [(16, 4), (18, 5), (36, 4), (48, 6), (64, 5), (72, 7)])
def test_every_torus_of_a_size_is_there(num_nodes, degree):
    """Two dimensions, three, more; equal and unequal; dimensions of size 2 have one port."""

    def grids(product_left, least):
        yield ()
        for dim in range(least, product_left + 1):
            if product_left % dim == 0:
                yield from ((dim, *rest) for rest in grids(product_left // dim, dim))

    wanted = {
        dims for dims in grids(num_nodes, 2)
        if prod(dims) == num_nodes and sum(2 - (dim == 2) for dim in dims) == degree and len(dims) > 1 and max(dims) > 2
    }  # fmt: skip
    assert {one.recipe.args for one in usual_baselines(num_nodes, degree) if one.name == "torus rings"} == wanted
    assert wanted


tori = st.lists(st.integers(2, 6), min_size=2, max_size=4).filter(lambda dims: prod(dims) <= 60)
powers = st.lists(st.sampled_from([2, 4, 8, 16, 32]), min_size=2, max_size=3).filter(lambda dims: prod(dims) <= 64)


@given(tori)
def test_property_torus_rings_cost(dims):
    made = torus_rings_allgather(torus(*dims), dims)
    check_allgather(made)
    assert cost_of(made) == torus_rings_cost(dims)
    assert cost_of(made).steps == sum(dim - 1 for dim in dims)
    if len(set(dims)) == 1 and dims[0] > 2:
        assert cost_of(made).bandwidth == bandwidth_bound(prod(dims))


@given(tori)
def test_property_torus_flow_is_what_the_busiest_dimension_allows(dims):
    """A shortest path crosses a dimension of size a as often as its ring's distance; its links are all alike."""
    across = [sum(min(x, a - x) for x in range(a)) * prod(dims) // a for a in dims]
    links = [1 if a == 2 else 2 for a in dims]
    assert torus_flow(dims) == min(Fraction(k, x) for k, x in zip(links, across, strict=True))


@given(powers)
def test_property_swing_costs(dims):
    wiring = torus(*dims)
    parts = swing_parts(wiring, dims)
    made = routed_allgather(wiring, parts)
    check_allgather(made)
    check_allgather(without_repeats(made))
    assert cost_of(made) == store_and_forward_cost(wiring, parts) == swing_cost(dims)
    assert cut_through_cost(wiring, parts) == swing_cut_through_cost(dims)
    assert swing_cut_through_cost(dims).steps == prod(dims).bit_length() - 1


@pytest.mark.parametrize("dims", [(4, 4), (8, 8), (16, 16), (32, 32), (8, 8, 8), (4, 4, 4, 4), (8, 8, 8, 8)], ids=str)
def test_swing_loads_links_as_its_paper_says(dims):
    """Exchange i halves the data and goes over delta(i // D) links, delta = 1, 1, 3, 5, 11, ...: 1.2 for large 2D tori.

    All ports are at work, so T_B is the sum of delta(i // D) / 2^(i+1); in D dimensions 1.2, 1.037 and 1.008 at most.
    """
    exchanges = prod(dims).bit_length() - 1
    delta = [Fraction(2 ** (s + 1) + (-1) ** s, 3) for s in range(exchanges)]
    expected = sum(delta[i // len(dims)] / 2 ** (i + 1) for i in range(exchanges))
    cost = swing_cut_through_cost(dims)
    assert (cost.steps, cost.bandwidth) == (exchanges, expected)
    assert cost.bandwidth < {2: 1.2, 3: 1.0371, 4: 1.0085}[len(dims)]


def test_swing_partners_of_its_paper():
    """rho(s) is the sum of (-2)^i for i up to s; on a ring of 16 node 0 meets 1, 15, 3 and 11."""
    assert [swing_distance(s) for s in range(8)] == [sum((-2) ** i for i in range(s + 1)) for s in range(8)]
    met = [int(turn.to[0]) % 16 for turn in swing_parts(torus(2, 16), (2, 16))[2][::-1]]
    assert [node for node in met if node] == [1, 15, 3, 11]  # node 16 is across the dimension of size 2


# Several hops


@given(st.integers(3, 40), st.sampled_from([4, 6]))
def test_property_bruck_costs(size, degree):
    wiring = shifted_ring(degree, size)
    turns = circulant_bruck_turns(wiring, degree, size)
    made = routed_allgather(wiring, [turns])
    check_allgather(made)
    assert cost_of(made) == store_and_forward_cost(wiring, [turns]) == circulant_bruck_cost(degree, size)
    assert cut_through_cost(wiring, [turns]) == circulant_bruck_cut_through_cost(degree, size)


@pytest.mark.parametrize("dimension", [3, 4, 5, 6])
def test_doubling_on_a_twisted_hypercube(dimension):
    wiring = linkstep.parse(f"TwistedHypercube({dimension})").topology()
    turns = doubling_turns(wiring, dimension)
    assert store_and_forward_cost(wiring, [turns]) == twisted_doubling_cost(dimension)
    assert cut_through_cost(wiring, [turns]) == twisted_doubling_cut_through_cost(dimension)
    assert [turn.num_hops for turn in turns] == [2] + [1] * (dimension - 1)


# Double binary trees


@given(st.integers(4, 40), st.data())
def test_property_tree_costs(size, data):
    depth = data.draw(st.sampled_from(depths(size)))
    made = tree_allgather(double_binary_tree(size), size, depth)
    check_allgather(made)
    assert cost_of(made) == tree_cost(size, depth)
    assert tree_cost(size, depth).steps >= least_steps(size, depth)


@given(st.integers(4, 40), st.integers(1, 100))
def test_property_tree_allreduce_costs(size, pieces):
    made = tree_allreduce(double_binary_tree(size), size, pieces)
    check(made)
    first, second = tree_halves(size, pieces)
    assert cost_of(made) == first + second == Cost(2 * tree_height(size) + pieces - 1, (first + second).bandwidth)


@pytest.mark.parametrize(("size", "steps"), [(8, 6), (10, 8), (12, 8), (64, 12), (256, 16), (1024, 20)])
def test_trees_go_to_the_roots_and_back(size, steps):
    """NCCL's double binary trees: twice their height for small data; for large data twice M/B, as no graph goes below
    by more than one N-th."""
    tree = baseline("double binary tree", f"DoubleBinaryTree({size})")
    first, second = tree.halves_at(FABRIC, "1B")
    assert first.steps + second.steps == steps == 2 * tree_height(size)
    first, second = tree.halves_at(FABRIC, "100GB")
    assert 2 * bandwidth_bound(size) < first.bandwidth + second.bandwidth < Fraction(201, 100)


def test_trees_go_through_their_roots():
    """Half of every shard is complete at the root of each tree; while later pieces go up, earlier ones come down."""
    made = baseline("double binary tree", "DoubleBinaryTree(9)").schedule("allreduce", depth=9, is_rooted=True)
    reduces, roots = split_phases(made)
    both = [int(np.flatnonzero(parents < 0)[0]) for parents in tree_parents(9)]
    assert sorted({root for _, root, _, _ in roots.tolist()}) == sorted(both) and len(roots) == 18
    assert made.step[~reduces].min() < made.step[reduces].max()


@pytest.mark.parametrize("num_nodes", [5, 64])
@pytest.mark.parametrize("size", ["1KB", "100KB", "10MB", "1GB"])
def test_the_best_pipeline_is_chosen_for_each_size(num_nodes, size):
    tree = baseline("double binary tree", f"DoubleBinaryTree({num_nodes})")
    halves = {Pipeline(depth): (tree_cost(num_nodes, depth),) * 2 for depth in depths(num_nodes)}
    rooted = {Pipeline(pieces, is_rooted=True): tree_halves(num_nodes, pieces) for pieces in range(1, 1000)}
    times = {one: FABRIC.time(a + b, "allreduce", size) for one, (a, b) in (halves | rooted).items()}
    assert tree.allreduce_time(FABRIC, size) == min(times.values()) == times[tree.pipeline_for(FABRIC, size)]
    assert times[Pipeline(tree.depth_for(FABRIC, size))] == min(times[one] for one in halves)


def test_trees_are_deeper_for_larger_data():
    tree = baseline("double binary tree", "DoubleBinaryTree(256)")
    found = [tree.depth_for(FABRIC, size) for size in ("1B", "100KB", "10MB", "100GB")]
    assert found == sorted(found) and found[0] <= 4 and found[-1] >= 128
    found = [tree.pipeline_for(FABRIC, size) for size in ("1B", "100KB", "10MB", "100GB")]
    assert found == sorted(found) and found[0] == (1, True) and found[-1].depth > 1000


# The paper


def test_table_paretooptimal():
    """Shifted rings 20640us, which is 2 (N alpha + M/B) with 1MB of 80us; it takes N - 1 steps, and 1MiB 84us.

    Double binary trees 1434us, by a formula that is not printed: ours is 0.3% below.
    """
    rings = baseline("shifted rings", "ShiftedRing(4,1024)").allreduce_time(FABRIC, "1MiB")
    assert float(rings) == pytest.approx(20640e-6, rel=1e-3)
    assert 1.425e-3 < double_tree_time(FABRIC, 1024, "1MiB") < 1.435e-3


def test_fig_comparisonwithringdbt():
    """Near N = 1000 ours takes 56 times less than shifted rings and a tenth of the trees as published.

    Both at once and pipelined, the same trees take half as long as published.
    """
    ours = FABRIC.time(Cost(12, Fraction(1023, 512)), "allreduce", "1MB")  # L(Cayley...) with 6 steps a half
    rings = baseline("shifted rings", "ShiftedRing(4,1024)").allreduce_time(FABRIC, "1MB")
    assert rings / ours > 56
    tree = baseline("double binary tree", "DoubleBinaryTree(1024)").allreduce_time(FABRIC, "1MB")
    assert 4 * ours < double_tree_time(FABRIC, 1024, "1MB") < Fraction(21, 10) * tree
    assert 2 * ours < tree < double_tree_time(FABRIC, 1024, "1MB")


def test_fig_hypercubecompare():
    """N = 8, d = 3: doubling and NCCL's ring use a third of the ports; BFB takes 67% less for large data (paper: 60%).

    Doubling takes more on the twisted one, where BFB has a step less.
    """
    doubling, ring, ours = (baseline(name, "Q(3)") for name in ("recursive doubling", "NCCL ring", "NCCL ring"))
    assert doubling.cost == Cost(3, 3 * Fraction(7, 8)) and ring.cost == Cost(7, 3 * Fraction(7, 8))
    assert ours.ours == Cost(3, Fraction(7, 8))
    twisted = baseline("recursive doubling", "TwistedHypercube(3)")
    assert twisted.cost == Cost(4, Fraction(3)) and twisted.ours == Cost(2, Fraction(7, 8))
    assert twisted.cutting_through().cost == Cost(3, Fraction(3))


@pytest.mark.parametrize(
    ("dims", "steps", "bandwidth"),
    [((3, 3, 2), 5, Fraction(95, 54)), ((3, 3, 3), 6, Fraction(26, 27)), ((3, 3, 3, 2), 7, Fraction(833, 432))],
    ids=["3x3x2", "3x3x3", "3x3x3x2"],
)
def test_fig_supercomp(dims, steps, bandwidth):
    """The traditional schedule is bandwidth-optimal in equal dimensions only; BFB in all, and in half the steps."""
    rings = baseline("torus rings", f"Torus({','.join(map(str, dims))})")
    assert rings.cost == Cost(steps, bandwidth)
    assert rings.ours == Cost(sum(dim // 2 for dim in dims), bandwidth_bound(prod(dims)))


def test_sec_spathbiring_and_latencyfit():
    """fig:latencyfit: 2(N-1) steps for ShiftedRing; BFB on a ring has floor(N/2) a half."""
    for size in range(5, 13):
        assert baseline("shifted rings", f"ShiftedRing(4,{size})").cost.steps == size - 1
        assert baseline("bidirectional ring", f"BiRing(4,{size})").ours.steps == size // 2


# Refusals


@pytest.mark.parametrize(
    ("name", "recipe", "message"),
    [
        ("swing", "Torus(3,3)", "no baseline called 'swing' runs on Torus(3,3); those that do: torus-rings, bruck"),
        ("ring", "K_5", "no baseline called 'ring' runs on K_5; those that do: none"),
        ("ring", "L(K_5)", "no baseline called 'ring' runs on L(K_5); those that do: none"),
        (
            "shifted rings",
            "ShiftedRing(3,8)",
            "recipe 'ShiftedRing(3,8)', character 1: ShiftedRing(d,n): d must be even, from 2 to 1024, not 3",
        ),
    ],
    ids=["odd", "no-row", "expanded", "no-wiring"],
)
def test_no_such_baseline(name, recipe, message):
    with pytest.raises(LinkstepError) as error:
        baseline(name, recipe)
    assert str(error.value) == message


def test_what_cannot_be_made():
    with pytest.raises(LinkstepError, match="ring makes no all-to-all"):
        baseline("ring", "UniRing(1,4)").schedule("all-to-all")
    with pytest.raises(
        LinkstepError, match=r"depth of double binary tree on .* must be one of 1, 2, 3, 4, 6, 7, not 5"
    ):
        baseline("double binary tree", "DoubleBinaryTree(8)").schedule(depth=5)
    with pytest.raises(LinkstepError, match="ring makes no allreduce through roots"):
        baseline("ring", "UniRing(1,4)").schedule(is_rooted=True)
    with pytest.raises(LinkstepError, match="double binary tree makes no allgather through roots"):
        baseline("double binary tree", "DoubleBinaryTree(8)").schedule("allgather", is_rooted=True)
    with pytest.raises(LinkstepError, match=r"depth must lie in \[1, 16384\], not 0"):
        baseline("double binary tree", "DoubleBinaryTree(8)").schedule(depth=0, is_rooted=True)
    with pytest.raises(LinkstepError, match="above the 214748364 of a file: its cost is known without"):
        baseline("ring", "UniRing(4,20000)").schedule()


@pytest.mark.parametrize(
    ("num_nodes", "degree"),
    [(2, 1), (10**4, 4), (10**7, 1), (10**7, 2), (2**20, 3), pytest.param(2**20, 20, marks=pytest.mark.slow)],
)
def test_costs_of_large_clusters_are_quick(num_nodes, degree):
    for one in usual_baselines(num_nodes, degree, directed=True):
        assert one.allreduce_time(FABRIC.with_degree(degree), "1MB") > 0


def test_rows_of_a_wiring_are_those_of_its_size():
    of_size = {(one.name, str(one.recipe)) for one in baselines(16, 4, directed=True)}
    wirings = {recipe for _, recipe in of_size}
    assert of_size == {(b.name, wiring) for wiring in wirings for b in baselines_on(linkstep.parse(wiring))}
