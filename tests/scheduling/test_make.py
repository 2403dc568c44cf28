"""Making schedules: one way for every topology, collective and method; each thing is worked out once."""

from fractions import Fraction

import pytest
from hypothesis import given

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError, ScheduleError
from linkstep.core.schedule import COLLECTIVES
from linkstep.core.topology import Topology
from linkstep.correctness import check
from linkstep.costs import Cost, Fabric, cost_of
from linkstep.families import cubes
from linkstep.methods.bfb import bfb_cost
from linkstep.methods.bfb import cost as bfb_solver
from linkstep.recipe import parse
from linkstep.scheduling import METHODS, schedule
from support.recipes import RECIPES
from support.strategies import connected_link_lists, topologies

CONNECTED = topologies(connected_link_lists(min_nodes=2, max_nodes=5, max_extra=5))
RING = Topology.from_links(4, [0, 1, 2, 3], [1, 2, 3, 0])


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("given_as", [parse, str, lambda text: parse(text).topology()], ids=["recipe", "text", "graph"])
def test_every_collective_of_whatever_names_a_topology(collective, given_as):
    made = schedule(given_as("Pi_{2,7}"), collective, root=3)
    assert made.schedule.collective is Collective(collective)
    assert made.method == ("exchange" if made.schedule.collective.exchanges else "bfb")
    check(made.schedule)


@given(CONNECTED)
def test_property_bfb_costs_what_its_certificates_say(topology):
    gather, scatter = bfb_cost(topology), bfb_cost(topology.transpose())
    assert schedule(topology, "allgather", method="bfb").cost == gather
    assert schedule(topology, "reduce-scatter", method="bfb").cost == scatter
    both = schedule(topology, "allreduce", method="bfb")
    assert both.cost == gather + scatter
    assert both.halves == (scatter, gather)
    assert both.certificate.cost.bandwidth == max(gather.bandwidth, scatter.bandwidth)


@given(RECIPES.filter(lambda recipe: recipe.num_nodes <= 60))
def test_property_the_best_is_no_worse_than_either(recipe):
    try:
        expanded = cost_of(recipe.build("allreduce"))
    except LinkstepError:  # Bi(G) of a base that is not its own reverse
        return
    best, searched = schedule(recipe, "allreduce"), schedule(recipe, "allreduce", method="bfb").cost
    assert best.method in ("bfb", "expand", "stored", "arrival")
    assert best.cost.is_within(expanded) or best.cost.is_within(searched)
    if searched.is_within(expanded):
        assert best.cost.is_within(searched) and (best.method == "bfb") == (best.cost == searched)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "method", "cost"),
    [("1KB", "bfb", Cost(2, Fraction(1))), ("1GB", "arrival", Cost(3, Fraction(14, 15)))],
)
def test_the_best_at_a_price(size, method, cost):
    """C(15,{1,4,5}) is bandwidth-optimal only with a step more than its diameter."""
    fabric = Fabric.of("10us", "100Gbps", 6)
    made = schedule("C(15,{1,4,5})", "allgather", price=lambda cost: fabric.time(cost, "allgather", size))
    assert (made.method, made.cost) == (method, cost)


@pytest.mark.parametrize(
    ("recipe", "collective", "method", "cost"),
    [
        ("L(Paley(7))", "allgather", "bfb", Cost(3, Fraction(20, 21))),
        ("Paley(5)*2", "allgather", "bfb", Cost(2, Fraction(9, 10))),
        ("Diamond", "allgather", "stored", Cost(3, Fraction(7, 8))),
        ("L(Diamond)", "allgather", "arrival", Cost(4, Fraction(15, 16))),
    ],
)
def test_the_best_method(recipe, collective, method, cost):
    made = schedule(recipe, collective)
    assert (made.method, made.cost) == (method, cost)
    assert schedule(recipe, collective, method=method).cost == cost


def test_each_thing_is_worked_out_once(monkeypatch):
    """An allreduce of a recipe: one topology, one solve for each direction; one in all where both are the same."""
    solved, built = [], []
    solve, build = bfb_solver.solve, cubes.hypercube
    monkeypatch.setattr(
        bfb_solver, "solve", lambda topology, *a, **k: solved.append(topology) or solve(topology, *a, **k)
    )
    row = parse("Q(3)").family
    monkeypatch.setitem(row.__dict__, "build", lambda *args: built.append(args) or build(*args))
    schedule("Q(3)", "allreduce")
    assert (len(solved), len(built)) == (1, 1)
    solved.clear()
    schedule("L(Paley(7))", "allreduce")
    assert sorted((t.num_nodes, t.name) for t in solved) == [
        (7, "Paley(7)"), (7, "T(Paley(7))"), (21, "L(Paley(7))"), (21, "T(L(Paley(7)))")
    ]  # fmt: skip


def test_chunks_and_roots():
    made = schedule("Torus(3,3)", "broadcast", chunks=4, root=5)
    assert made.schedule.unit == 4
    assert set(made.schedule.source.tolist()) == {5}


def test_synthesized():
    pytest.importorskip("ortools")
    made = schedule("K_{2,2}", "allreduce", method="synthesized", chunks=2)
    assert (made.method, made.cost) == ("synthesized", Cost(4, Fraction(3, 2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"collective": "gossip"}, "collective must be one of allgather, reduce-scatter, allreduce, broadcast, reduce"),
        (
            {"method": "magic"},
            "method must be one of best, bfb, arrival, overlapped, rooted, relayed, expand, stored, synthesized, "
            "exchange, not 'magic'",
        ),
        ({"method": "exchange"}, "method exchange makes all-to-all schedules only"),
        ({"collective": "all-to-all", "method": "bfb"}, "method bfb makes no all-to-all .*: method exchange does"),
        ({"collective": "all-to-all", "method": "expand"}, "method expand makes no all-to-all schedules"),
        ({"collective": "all-to-all", "method": "synthesized"}, "method synthesized makes no all-to-all schedules"),
        ({"collective": "all-to-all", "steps": 2}, "takes at least as many steps as the diameter, 3, not 2"),
        ({"method": "bfb", "steps": 3}, "takes as many steps as it needs: steps can be chosen for methods arrival"),
        ({"method": "synthesized", "steps": 3}, "for methods arrival and overlapped, and for an all-to-all"),
        ({"collective": "allreduce", "steps": 2}, "steps must be at least the diameter, 3"),
        ({"method": "arrival", "seconds": 0}, "seconds must be positive, not 0"),
        ({"collective": "allgather", "method": "overlapped"}, "method overlapped makes allreduce schedules only"),
        ({"collective": "all-to-all", "method": "arrival"}, "method arrival makes no all-to-all schedules"),
        ({"method": "expand"}, "method expand needs a recipe"),
        ({"method": "stored"}, "method stored needs a recipe"),
        ({"method": "synthesized", "size": "1MB"}, "method synthesized takes no size"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(LinkstepError, match=message):
        schedule(RING, **arguments)


def test_more_refusals():
    with pytest.raises(LinkstepError, match=r"method stored has nothing for K_5"):
        schedule("K_5", method="stored")
    with pytest.raises(LinkstepError, match="method expand takes neither chunks nor size"):
        schedule("K_5", method="expand", chunks=2)
    with pytest.raises(ScheduleError, match=r"root must be a node in \[0, 4\), not 4"):
        schedule(RING, "broadcast", root=4)
    with pytest.raises(LinkstepError, match="the topology is disconnected"):
        schedule(Topology.from_links(2, [0], [1]))


def test_the_table_names_what_it_holds():
    assert [name for name, method in METHODS.items() if method.name != name] == []


@pytest.mark.parametrize("collective", list(Collective))
def test_one_node_has_nothing_to_send(collective):
    made = schedule(Topology.from_links(1, [], []), collective)
    assert (made.schedule.num_rows, made.cost) == (0, Cost.zero())
