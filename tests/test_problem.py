"""Questions as values: every objective counted by hand, requirements, refusals, and the short calls made of them."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.costs import Cost, Fabric
from linkstep.problem import (
    Call,
    Figures,
    PriceObjective,
    Problem,
    SizeRange,
    Workload,
    ranked,
)
from linkstep.recipe import parse
from linkstep.requirements import Duplex, MaxSteps
from linkstep.scheduling import METHODS, Request
from linkstep.search import find, pick
from linkstep.simulation.training import Job, Training
from linkstep.simulation.training.job import Layer

F = Fraction
ALLREDUCE = Collective.ALLREDUCE
FABRIC = Fabric.of("1us", "8Gbps", 2, overhead="3us")  # a byte of M in a nanosecond
ONE_WAY = Topology.from_links(3, [0, 1, 2], [1, 2, 0])


def figures(steps, bandwidth, flow=None):
    return Figures(4, ((ALLREDUCE, Cost(steps, F(bandwidth))), (Collective.ALLGATHER, Cost(2, F(1)))), flow)


RING = figures(6, F(3, 2), F(1, 2))


# Objectives


def test_a_call():
    """3 us a call, 1 us a step, 1.5 ns a byte; of an all-to-all M/N for every pair, at f times the rate of a link."""
    assert Call("allreduce", "2KB").seconds(RING, FABRIC) == F(3 + 6 + 3, 10**6)
    assert Call("allgather", 1000).seconds(RING, FABRIC) == F(3 + 2 + 1, 10**6)
    assert Call("all-to-all", 1000).seconds(RING, FABRIC) == F(1000 * 2, 4) / F(1, 2) / 10**9
    assert Call("all-to-all", 1000).seconds(figures(6, 1), FABRIC) is None
    assert Call("broadcast", 1000).seconds(RING, FABRIC) is None
    exchange = Figures(4, ((Collective.ALL_TO_ALL, Cost(2, F(1))),), F(1, 100))
    assert Call("all-to-all", 1000).seconds(exchange, FABRIC) == F(3 + 2 + 1, 10**6)  # of a schedule: what it costs
    assert (Call("all-to-all", 1).exchanges, Call("allreduce", 1).exchanges) == (True, False)


def test_a_workload():
    job = Workload(((F(2000), F(10)), (F(0), F(1, 2))), ((F(1000), F(3)),))
    assert job.seconds(RING, FABRIC) == F(10 * 12, 10**6) + F(9, 2 * 10**6) + F(3, 10**6)
    assert job.exchanges and not Workload.of("1MB").exchanges
    assert job.seconds(figures(6, 1), FABRIC) is None
    assert Workload.of("1MB").seconds(RING, FABRIC) == Call("allreduce", "1MB").seconds(RING, FABRIC)
    assert Workload.of(9, all_to_all=True).seconds(RING, FABRIC) == Call("all-to-all", 9).seconds(RING, FABRIC)


def test_a_range_of_sizes():
    sizes = SizeRange((1000, 2000))
    assert sizes.seconds(RING, FABRIC) == F(2 * 9, 10**6) + F(3 * 1500, 10**9)
    assert SizeRange((1000,), "all-to-all").seconds(figures(6, 1), FABRIC) is None
    assert list(SizeRange((5, 9), "all-to-all").windows([figures(6, 1)], FABRIC)) == []


costs = st.tuples(st.integers(0, 6), st.integers(0, 4))


@settings(max_examples=30)
@given(st.lists(costs, min_size=1, max_size=4), st.integers(0, 20), st.integers(0, 30))
def test_property_windows_are_what_trying_every_size_says(pairs, first, more):
    """A step is worth 8 bytes: sizes of tens tell every crossing."""
    fabric = Fabric.of("8ns", "8Gbps", 2)
    rows = [figures(*pair) for pair in pairs]
    found = list(SizeRange((first, first + more)).windows(rows, fabric))
    assert [size for _, least, most in found for size in range(least, most + 1)] == [*range(first, first + more + 1)]
    for row, least, most in found:
        for size in range(least, most + 1):
            call = Call("allreduce", size)
            assert call.seconds(row, fabric) == min(call.seconds(one, fabric) for one in rows)


LAYERS = (
    Layer("a", F(1), F(2), gradient_bytes=F(10**9)),
    Layer("b", F(1), F(3), gradient_bytes=F(10**9), all_to_all_bytes=F(10**9)),
)


def test_a_training_job():
    """Without latency RING averages 1 GB in 1.5 s and exchanges it in 1 s, and buckets hold at most 1 GB."""
    fabric, averaging = (
        Fabric.of("0s", "8Gbps", 2),
        Training(Job("averages", 4, (LAYERS[0], replace(LAYERS[1], all_to_all_bytes=F(0))))),
    )
    # forward to 2, backward of b to 5, of a to 7; b is averaged from 5 to 6.5, a from 7 to 8.5
    assert averaging.seconds(RING, fabric) == F(17, 2)
    experts = Training(Job("experts", 4, LAYERS))
    # b waits for an exchange before and after, in both passes: 4 s more
    assert experts.seconds(RING, fabric) == F(17, 2) + 4
    assert (averaging.exchanges, experts.exchanges) == (False, True)
    assert averaging.seconds(figures(6, F(3, 2)), fabric) == F(17, 2)
    assert experts.seconds(figures(6, F(3, 2)), fabric) is None
    assert averaging.seconds(Figures(4), fabric) is None
    with pytest.raises(LinkstepError, match="what an allreduce costs is not known"):
        averaging.iteration(Figures(4), fabric)


OBJECTIVES = [
    Call("allreduce", "1MB"),
    Call("all-to-all", "1MB"),
    Workload(((F(10**6), F(2)),), ((F(10), F(1)),)),
    SizeRange((1, 1000)),
    Training(Job("experts", 4, LAYERS)),
    PriceObjective(lambda cost: cost.steps + cost.bandwidth, ALLREDUCE),
]
flows = st.fractions(F(1, 100), 1, max_denominator=100)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: type(objective).__name__)
@settings(max_examples=20)
@given(costs, costs, flows, flows)
def test_property_what_is_better_in_all_takes_no_longer(objective, cost, more, flow, less):
    better = figures(*cost, max(flow, less))
    worse = figures(cost[0] + more[0], cost[1] + more[1], min(flow, less))
    assert objective.seconds(better, FABRIC) <= objective.seconds(worse, FABRIC)


def test_ranked_is_stable_and_leaves_out_what_is_not_known():
    same, other, unknown = figures(6, F(3, 2), F(1, 2)), figures(1, 1, F(1, 4)), figures(1, 1)
    found = ranked([other, unknown, RING, same], Call("all-to-all", 1), FABRIC)
    assert [id(row) for _, row in found] == [id(RING), id(same), id(other)]
    assert [seconds for seconds, _ in found] == sorted(seconds for seconds, _ in found)


# Problems


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "the number of nodes must be .* not None"),
        ({"num_nodes": 12}, "the degree must be .* not None"),
        ({"num_nodes": 1, "degree": 4}, r"the number of nodes must .* not 1"),
        ({"num_nodes": 12, "degree": "4"}, "the degree must .* not '4'"),
        ({"num_nodes": 5, "degree": 4, "wiring": "K_5"}, "a wiring, or N and d that are to be wired, not both"),
        ({"wiring": 5}, "topology must be a wiring .* or a result with one, not 5"),
        ({"wiring": "K_"}, "recipe 'K_'"),
        ({"wiring": "K_5", "collectives": "gossip"}, "collective must be one of allgather, .* not 'gossip'"),
        ({"wiring": "K_5", "collectives": 5}, "collective must be a str, not 5"),
        ({"wiring": "K_5", "collectives": ()}, "must have a collective"),
        ({"wiring": "K_5", "fabric": "fast"}, "fast: no such file"),
        ({"wiring": "K_5", "objective": 5}, "objective must be the name of a collective or an Objective, not 5"),
        ({"wiring": "K_5", "requirements": 5}, "requirements must be a tuple or a list, not 5"),
        ({"wiring": "K_5", "requirements": (4,)}, "requirements must be Requirements, such as MaxSteps, not 4"),
    ],
)
def test_what_is_no_problem(fields, message):
    with pytest.raises(LinkstepError, match=message) as refused:
        Problem(**fields)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Call("allreduce", -1), "size must be at least 0, not -1"),
        (lambda: Call("gossip", 1), "collective must be one of"),
        (lambda: Workload(()), "must have an allreduce or an all-to-all"),
        (lambda: Workload(((F(1), F(-1)),)), "how often must be at least 0, not "),
        (lambda: Workload((5,)), "allreduce must be pairs of a size and how often, not 5"),
        (lambda: SizeRange(()), "a range must have a size"),
        (lambda: SizeRange((-1,)), "a size must .* not -1"),
        (lambda: MaxSteps(0), "max_steps must be at least 1, not 0"),
        (lambda: find(Problem(wiring="K_5")), "`find` answers problems of N and d, not of a wiring"),
        (
            lambda: find(Problem(num_nodes=5, degree=4), 4),
            "a Problem says d, the fabric, the objective and what is required",
        ),
        (lambda: find(Problem(num_nodes=5, degree=4, collectives="broadcast")), "knows no costs of broadcast"),
        (lambda: linkstep.schedule(Problem(num_nodes=5, degree=4)), "a schedule is of a wiring, not of N and d"),
        (lambda: linkstep.schedule(Problem(wiring="K_5"), "reduce"), "a Problem says the ranks, the collective"),
        (
            lambda: linkstep.schedule(Problem(wiring="K_5", collectives=("allgather", "allreduce"))),
            "a schedule is of one collective, not of allgather, allreduce",
        ),
        (
            lambda: linkstep.schedule(Problem(wiring="K_5", objective=Call("broadcast", 1))),
            "the objective needs more than what allreduce costs",
        ),
        (
            lambda: linkstep.schedule(Problem(wiring=ONE_WAY, requirements=(Duplex(),))),
            "the wiring has links that go one way",
        ),
        (
            lambda: linkstep.schedule(Problem(wiring="Q(3)", requirements=(MaxSteps(2),))),
            r"Q\(3\) takes 3 steps at least, more than 2",
        ),
        (
            lambda: linkstep.schedule(Problem(wiring="Diamond", requirements=(MaxSteps(3),)), steps=5, rounds=0),
            "no method makes a schedule that meets the requirements",
        ),
        (
            lambda: linkstep.schedule(
                Problem(wiring="Diamond", requirements=(MaxSteps(3),)), method="arrival", steps=5, rounds=0
            ),
            "method arrival makes what does not meet the requirements: 8 alpha",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(LinkstepError, match=message):
        make()


def test_a_problem_is_a_value():
    asked = Problem(wiring="K_5", collectives=["allgather"], requirements=[MaxSteps(2)])
    assert asked == Problem(wiring=parse("K_5"), collectives=Collective.ALLGATHER, requirements=(MaxSteps(2),))
    assert replace(asked, fabric=FABRIC).wiring == parse("K_5")
    assert hash(asked) == hash(replace(asked))


def test_find_by_a_problem_is_the_short_call():
    for fields, short in (
        ({}, {}),
        ({"directed": True}, {"directed": True}),
        ({"requirements": (MaxSteps(5),)}, {"max_steps": 5}),
        ({"fabric": Fabric.of("1us", "100Gbps", 4, host_bandwidth="60Gbps")},) * 2,
    ):
        assert find(Problem(num_nodes=64, degree=4, **fields)) == find(64, 4, **short)
    assert find(Problem(num_nodes=64, degree=4, requirements=(Duplex(),))) == replace(find(64, 4), other=())
    with pytest.raises(LinkstepError, match="directed allows one-way fibres, which Duplex"):
        Problem(num_nodes=64, degree=4, directed=True, requirements=(Duplex(),))


@pytest.mark.parametrize("size", ["1KB", "1GB"])
def test_find_by_an_objective_has_the_best_row_first(size):
    call, plain = Call("allreduce", size), find(64, 4, directed=True)
    found = find(Problem(num_nodes=64, degree=4, directed=True, objective=call))
    assert set(found.frontier) == set(plain.frontier)
    fabric = Fabric.of("10us", "100Gbps", 4)
    assert found.frontier[0] == pick(plain, fabric, call)
    times = [fabric.time(row.allreduce_cost, "allreduce", size) for row in found.frontier]
    assert times == sorted(times) and times[0] < times[-1]


@pytest.mark.slow
def test_schedule_by_a_problem_is_the_short_call():
    fabric = Fabric.of("10us", "100Gbps", 4)
    for size, method in ((1000, "rooted"), (10**9, "overlapped")):
        asked = Problem(wiring="Pi_{4,17}", fabric=fabric, objective=Call("allreduce", size))
        made = linkstep.schedule(asked)
        short = linkstep.schedule(
            "Pi_{4,17}", "allreduce", fabric=fabric, price=lambda cost, size=size: fabric.time(cost, "allreduce", size)
        )
        assert made.method == short.method == method
        assert made.cost == short.cost and made.schedule == short.schedule
    slow = Problem(
        wiring=Topology.from_links(3, [0, 1, 2], [1, 2, 0], alpha=[1000, 9000, 1000]), objective=Call("allreduce", 1)
    )
    assert slow.price()(Cost(2, F(0))) == F(18, 10**6)  # every step takes the slowest link's


@pytest.mark.slow
def test_steps_limit_what_the_best_may_be():
    """At 1 GB overlapping halves of Pi_{4,17} pay, in more steps than two diameters."""
    asked = Problem(wiring="Pi_{4,17}", objective=Call("allreduce", 10**9))
    free, held = (linkstep.schedule(replace(asked, requirements=some)) for some in ((), (MaxSteps(6),)))
    assert free.cost.steps > 6 >= held.cost.steps
    assert free.cost.bandwidth < held.cost.bandwidth


# What methods say they cost, and the best of them

SOURCES = ["L(Paley(7))", "Diamond", "Paley(5)*2", "K_4^2", "Pi_{2,9}", "L(K_4)"]


def costed(source, collective, price=None):
    """What each method that can costs: by making it."""
    found = {}
    recipe = parse(source)
    least = linkstep.schedule(source, "allgather", method="bfb").cost.steps
    asked = [("bfb", {}), ("stored", {}), ("expand", {}), ("arrival", {"rounds": 0})]
    if price is not None:
        asked += [("arrival", {"rounds": 0, "steps": least + more}) for more in (1, 2)]
        asked += [("rooted", {}), ("overlapped", {"rounds": 0})]
    for method, more in asked:
        request = Request(recipe.topology(), Collective(collective), recipe, **more)
        if METHODS[method].refuse(request) is None:
            cost = linkstep.schedule(source, collective, method=method, **more).cost
            assert METHODS[method].cost(request) == cost, (source, method)
            found[method, cost.steps] = cost
    return found


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
@pytest.mark.parametrize(
    "source", [pytest.param(one, marks=pytest.mark.slow if one == "Pi_{2,9}" else []) for one in SOURCES]
)
def test_the_best_of_what_methods_cost(source, collective):
    """The rule in plain words: the recipe's own unless BFB is within it, arrivals if they improve on that."""
    known = {method: cost for (method, _), cost in costed(source, collective).items()}
    own = known.get("stored", known["expand"])
    best = known["bfb"] if known["bfb"].is_within(own) else own
    best = known["arrival"] if known["arrival"].is_within(best) else best
    assert linkstep.schedule(source, collective).cost == best


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 10**5, 10**9])
@pytest.mark.parametrize("source", [*SOURCES, "Pi_{4,17}"])
def test_the_best_at_a_price_is_no_dearer_than_any(source, size):
    fabric = Fabric.of("10us", "100Gbps", parse(source).degree)

    def price(cost):
        return fabric.time(cost, "allreduce", size)

    made = linkstep.schedule(source, "allreduce", price=price)
    others = costed(source, "allreduce", price)
    least = min(price(cost) for cost in others.values())
    assert price(made.cost) <= least
    assert price(made.cost) == least or made.method == "overlapped"
