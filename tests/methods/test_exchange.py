"""All-to-all schedules: right, no better than what is proven, close to it, and good for every runtime."""

import json
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.cli import main
from linkstep.core.columns import frozen
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.topology import Topology
from linkstep.correctness import check_all_to_all
from linkstep.costs import Fabric, cost_of, distance_flow_bound
from linkstep.files import load_schedule
from linkstep.lowering import TARGETS, lower
from linkstep.methods.exchange import MAX_CHUNKS, all_to_all_schedule
from linkstep.methods.exchange.action import FreeAction
from linkstep.methods.transform import relabel, reverse
from linkstep.search import find
from linkstep.simulation import simulate_schedule
from linkstep.symmetry import libraries
from linkstep.symmetry.free_groups import free_group, images_of_links
from linkstep.throughput import all_to_all
from linkstep.verification import verify_text
from support import interpreters, lp
from support.strategies import connected_link_lists, pairs, topologies, topology_of, with_rates

pytestmark = pytest.mark.slow  # kernels that nothing else in the default tests needs take long to compile

CONNECTED = topologies(connected_link_lists(max_nodes=5, max_extra=6), columns=True)


def graph(recipe: str) -> Topology:
    return linkstep.parse(recipe).topology()


def slowness(topology: Topology) -> list[float]:
    """How much slower each link is than the fastest that is no loop."""
    rates = [1] * topology.num_links if topology.bandwidth is None else topology.bandwidth.tolist()
    fastest = max((r for r, (u, w) in zip(rates, pairs(topology), strict=True) if u != w), default=1)
    return [fastest / rate for rate in rates]


@settings(max_examples=15)
@given(CONNECTED, st.integers(0, 2), st.one_of(st.none(), st.integers(1, 3)))
def test_property_right_and_no_better_than_the_bound(topology, more, chunks):
    """Parallel links, self-loops, one-way links, unequal rates, one node and two."""
    steps = diameter(topology) + more
    made = all_to_all_schedule(topology, steps=steps, chunks=chunks)
    check_all_to_all(made.schedule)
    assert made.schedule.num_steps <= steps
    cost = cost_of(made.schedule)
    assert cost.bandwidth >= made.bound
    n = topology.num_nodes
    assert made.schedule.unit == n * made.chunks
    assert made.chunks == (chunks if chunks and n > 1 else made.chunks) <= MAX_CHUNKS
    if n > 1:
        assert made.bound >= topology.degree / (n * distance_flow_bound(topology))


@pytest.mark.slow
@settings(max_examples=40)
@given(CONNECTED.filter(lambda topology: topology.num_nodes > 1), st.integers(0, 2))
def test_property_the_bound_is_below_the_optimum_and_near_it(topology, more):
    """HiGHS solves the unrolled graph with pieces divisible at will."""
    steps = diameter(topology) + more
    least = lp.least_exchange(topology.num_nodes, pairs(topology), steps, slowness(topology))
    optimum = least * topology.degree / topology.num_nodes
    made = all_to_all_schedule(topology, steps=steps)
    assert float(made.bound) <= optimum * (1 + 1e-7)
    assert float(made.bound) >= optimum * 0.85
    assert optimum * (1 - 1e-7) <= float(cost_of(made.schedule).bandwidth) <= optimum * 1.15


@pytest.mark.parametrize("ratio", [100, 10**6, 10**9, 9 * 10**18])
def test_rates_far_apart(ratio):
    """No exponential of a load is left, or no whole price fits a float: still right, bounded, and near the bound."""
    for seed in range(40):
        rng = Random(seed)
        topology = with_rates(rng, ratio)
        steps = diameter(topology) + rng.randint(0, 2)
        made = all_to_all_schedule(topology, steps=steps, chunks=rng.choice([None, 1, 2, 8]))
        check_all_to_all(made.schedule)
        assert made.bound <= cost_of(made.schedule).bandwidth <= 5 * made.bound, seed


def test_one_slow_link_on_the_command_line(capsys):
    out = run(capsys, "schedule", "Torus(4,4)", "--collective", "all-to-all", "--slow", "0,1=100Mbps")
    assert "T_B" in out and "slow 0,1=100Mbps" in out


def by_dimensions(dimensions: int) -> Fraction:
    """T_B of a hypercube with all links busy: N/2 pieces over each of its dimensions, of which there are d."""
    return Fraction(dimensions, 2)


@pytest.mark.parametrize(
    ("recipe", "bandwidth"),
    [
        ("K_5", Fraction(4, 5)),
        ("UniRing(1,5)", Fraction(2)),
        ("K_{4,4}", Fraction(5, 4)),
        ("Q(3)", by_dimensions(3)),
        ("Torus(4,4)", Fraction(2)),
    ],
)
def test_closed_forms(recipe, bandwidth):
    """Where shortest paths keep all links busy, the bound is the distances' and it is reached, at T = D."""
    made = all_to_all_schedule(graph(recipe))
    assert (made.schedule.num_steps, made.bound) == (diameter(graph(recipe)), bandwidth)
    assert cost_of(made.schedule).bandwidth == bandwidth


CAYLEY = [
    "C(12,{2,3})", "C(16,{1,4})", "C(32,{1,7})", "C(64,{3,4})", "Torus(3,5)", "Torus(4,6)", "Torus(4,4,4)", "Q(6)",
    "K_{8,8}", "L(K_{4,4})", "L(Paley(7))", "Cayley(Z16:Z2[9],{(15,1),(5,0),(5,1),(4,0)})",
    "Cayley(Z16:Z4[5],{(4,0),(8,2),(13,2),(13,3)})", "Cayley(Z16:Z8[11],{(8,7),(6,6),(3,7),(3,4)})",
]  # fmt: skip
OTHERS = ["Pi_{4,64}", "Pi_{4,50}", "K(2,4)", "DBJ(2,5)", "L(Diamond)", "GQ(2,2)"]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [*CAYLEY, *OTHERS])
def test_close_to_the_flow(recipe):
    """Within 5% of what a flow without steps allows on Cayley topologies, within 15% on others, in a step more."""
    topology = graph(recipe)
    flow = all_to_all(topology).bound
    made = all_to_all_schedule(topology, steps=diameter(topology) + 1)
    over = float(cost_of(made.schedule).bandwidth * topology.num_nodes * flow / topology.degree)
    assert 1 <= over + 1e-12 <= (1.05 if recipe in CAYLEY else 1.15)
    assert float(cost_of(made.schedule).bandwidth / made.bound) <= (1.07 if recipe in CAYLEY else 1.15)


def test_the_same_seed_is_the_same_schedule():
    topology = graph("Pi_{2,9}")
    assert all_to_all_schedule(topology, seed=3).schedule == all_to_all_schedule(topology, seed=3).schedule


def test_refusals():
    with pytest.raises(LinkstepError, match="takes at least as many steps as the diameter, 4, not 3"):
        all_to_all_schedule(graph("UniRing(1,5)"), steps=3)
    with pytest.raises(LinkstepError, match="chunks must lie in"):
        all_to_all_schedule(graph("K_3"), chunks=0)
    with pytest.raises(TopologyError, match="path"):
        all_to_all_schedule(topology_of(3, [(0, 1), (1, 0), (1, 2)]))


def test_small_ones():
    alone = all_to_all_schedule(topology_of(1, []))
    assert (alone.schedule.num_rows, alone.bound) == (0, 0)
    check_all_to_all(alone.schedule)
    two = all_to_all_schedule(topology_of(2, [(0, 1), (0, 1), (1, 0)]))
    assert (two.schedule.num_steps, cost_of(two.schedule).bandwidth, two.bound) == (1, 1, 1)
    many = all_to_all_schedule(topology_of(2, [(0, 1), (1, 0)] * 300), chunks=300)  # more links than 8 bits count
    assert cost_of(many.schedule).bandwidth == Fraction(1, 2)


# Symmetries


@settings(max_examples=15)
@given(CONNECTED)
def test_property_groups_act_freely(topology):
    group = free_group(topology)
    assert np.array_equal(group[0], np.arange(topology.num_nodes))
    members = {tuple(g) for g in group.tolist()}
    assert {tuple(g[h]) for g in group for h in group} == members
    assert all((g != group[0]).all() for g in group[1:])
    for new, images in zip(group, images_of_links(topology, group), strict=True):
        assert topology.relabel(new) == topology
        assert np.array_equal(topology.tail[images], new[topology.tail])
        assert np.array_equal(topology.head[images], new[topology.head])
        assert topology.bandwidth is None or np.array_equal(topology.bandwidth[images], topology.bandwidth)


@pytest.mark.parametrize(
    ("recipe", "sources", "classes"),
    [("K_{4,4}", 1, 4), ("Torus(3,4)", 1, 4), ("C(12,{2,3})", 1, 4), ("UniRing(2,5)", 1, 2), ("Pi_{2,9}", 3, 6)],
)
def test_sources_that_are_left(recipe, sources, classes):
    action = FreeAction.of(graph(recipe), 0)
    assert (action.sources.size, action.weight.size) == (sources, classes)


def test_of_what_nothing_is_known(monkeypatch):
    """Every node is routed then: slower, and as right."""
    monkeypatch.setattr(libraries, "LIBRARIES", ())
    known = graph("Torus(3,3)")
    made = all_to_all_schedule(Topology.from_links(known.num_nodes, known.tail, known.head))
    check_all_to_all(made.schedule)
    assert made.bound <= cost_of(made.schedule).bandwidth <= made.bound * Fraction(21, 20)


# As any collective


@settings(max_examples=15)
@given(CONNECTED, st.randoms(use_true_random=False))
def test_property_reversed_and_relabelled(topology, random):
    """thm:scheduleswitch: who sent a piece receives it, on the transpose, at the same cost."""
    made = all_to_all_schedule(topology, chunks=2).schedule
    back = reverse(made)
    check_all_to_all(back)
    assert (back.collective, back.topology) == ("all-to-all", topology.transpose())
    assert cost_of(back) == cost_of(made)
    assert cost_of(reverse(back)) == cost_of(made)
    new = frozen(random.sample(range(topology.num_nodes), topology.num_nodes), "int32", "new")
    renamed = relabel(made, new)
    check_all_to_all(renamed)
    assert renamed.topology == topology.relabel(new)
    assert cost_of(renamed) == cost_of(made)


@pytest.mark.slow
@settings(max_examples=30)
@given(CONNECTED, st.sampled_from(list(TARGETS)), st.integers(1, 2), st.integers(1, 2), st.integers())
def test_property_made_checked_lowered_verified(topology, to, chunks, instances, seed):
    made = linkstep.schedule(topology, "all-to-all", chunks=chunks).schedule
    text = lower(made, to, instances=instances).text
    assert verify_text(text, to).is_verified
    interpreters.run(text, to, seed)


@pytest.mark.slow
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("recipe", ["K_{4,4}", "Torus(3,3)", "Pi_{4,16}", "UniRing(1,5)", "L(K_4)", "C(12,{2,3})"])
def test_simulated_as_predicted(recipe, to):
    made = linkstep.schedule(recipe, "all-to-all").schedule
    fabric = Fabric.of("10us", "100Gbps", made.topology.degree)
    assert verify_text(lower(made, to).text, to).is_verified
    for size in ("1MB", "100MB"):
        done = simulate_schedule(made, to, fabric, size)
        assert done.predicted * 0.5 < done.time < done.predicted * 1.05


def test_recipes_and_choices_build_it():
    for built in (linkstep.parse("L(K_3)").build("all-to-all"), find(6, 2).frontier[0].build("all-to-all")):
        check_all_to_all(built)


def run(capsys, *argv: str) -> str:
    code = main(list(argv))
    captured = capsys.readouterr()
    assert (code, captured.err) == (0, ""), captured.err
    return captured.out


def test_on_the_command_line(capsys, tmp_path):
    file = str(tmp_path / "a.npz")
    out = run(capsys, "schedule", "K_{4,4}", "--collective", "all-to-all", "-o", file)
    assert "M/B (T_B)       5/4 = 1.2500\n" in out
    assert "1.2500 M/B in 2 steps; M is what each node has" in out
    assert "valid all-to-all on K_{4,4}, N=8" in " ".join(run(capsys, "check", file).split())
    again = str(tmp_path / "a.json")
    run(capsys, "convert", file, again)
    assert load_schedule(again) == load_schedule(file)
    xml = str(tmp_path / "a.xml")
    run(capsys, "lower", file, "--to", "msccl", "-o", xml)
    assert "verified" in run(capsys, "verify", xml)
    assert "all-to-all" in run(capsys, "simulate", file)
    facts = json.loads(run(capsys, "schedule", "C(12,{2,3})", "--collective", "all-to-all", "--steps", "3",
                           "--chunks", "2", "--json"))  # fmt: skip
    assert (facts["collective"], facts["method"], facts["chunks_per_shard"]) == ("all-to-all", "exchange", 24)
    assert facts["steps"] <= 3


def test_around_a_cut_cable(capsys, tmp_path):
    file = str(tmp_path / "cut.npz")
    facts = json.loads(run(capsys, "schedule", "K_{4,4}", "--collective", "all-to-all", "--cut", "0,4", "-o", file,
                           "--json"))  # fmt: skip
    made = load_schedule(file)
    assert made.topology.num_links == 30
    check_all_to_all(made)
    assert facts["steps"] == 3
