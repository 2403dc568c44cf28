"""Exact costs, bounds, and what they are worth in seconds."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.core.errors import LinkstepError, UnitError
from linkstep.core.schedule import Schedule
from linkstep.costs import (
    Cost,
    Fabric,
    all_to_all_bound,
    bandwidth_bound,
    cost_of,
    is_bandwidth_optimal,
    is_moore_optimal,
    loads_of,
    lower_bound,
    moore_levels,
    moore_steps,
    time_of,
)
from linkstep.costs.loads import busiest_links
from linkstep.recipe import parse
from support import reference
from support.strategies import (
    Case,
    complete_bipartite,
    garbage_cases,
    link_lists,
    right_cases,
    ring,
    seeds,
    topology_of,
)

PAPER = Fabric.of("10us", "100Gbps", 4)
"""The fabric of table:paretooptimal; the paper's 1MB is 2^20 bytes."""


def microseconds(seconds: Fraction) -> str:
    return f"{float(seconds * 10**6):.1f}us"


# Costs


@given(st.one_of(right_cases(), garbage_cases()))
def test_cost_against_plain_fractions(case):
    shards = 1 if case.collective == "all-to-all" else case.num_nodes  # of which M is made
    expected = reference.cost(shards, case.links, case.unit, case.rows)
    assert cost_of(case.schedule()) == Cost(*expected)


@st.composite
def rated_schedules(draw):
    """Draw (schedule, links, rows, rates, delays): links of few kinds or of many, rows at random."""
    n, links = draw(link_lists(max_nodes=4))
    rng = Random(draw(seeds))
    kinds = draw(st.sampled_from([1, 2, 4, 40]))
    rates, delays = ([rng.randint(least, kinds) for _ in links] for least in (1, 0))
    order = sorted(range(len(links)), key=lambda e: (links[e], delays[e], rates[e]))
    links, rates, delays = ([column[e] for e in order] for column in (links, rates, delays))
    topology = topology_of(n, links, bandwidth=rates, alpha=delays)
    assert (topology.bandwidth.tolist(), topology.alpha.tolist()) == (rates, delays)
    unit = rng.randint(1, 4)
    rows = [
        (rng.randrange(n), lo, rng.randint(lo + 1, unit), rng.randrange(len(links)), rng.randint(1, 4))
        for lo in (rng.randrange(unit) for _ in range(rng.randrange(15) if links else 0))
    ]
    schedule = Schedule.from_columns(topology, unit, *(list(zip(*rows, strict=True)) or [[]] * 5))
    return schedule, links, rows, rates, delays


@given(rated_schedules())
def test_cost_with_a_bandwidth_column(drawn):
    """Each link's rate rides along in the reference."""
    schedule, links, rows, rates, _ = drawn
    expected = reference.cost(schedule.topology.num_nodes, links, schedule.unit, rows, rates)
    assert cost_of(schedule) == Cost(*expected)


@given(rated_schedules(), st.integers(0, 10**6))
def test_time_with_both_columns(drawn, size):
    """sec:heterogeneous."""
    schedule, _, rows, rates, delays = drawn
    expected = reference.seconds(schedule.topology.num_nodes, schedule.unit, rows, rates, delays, size)
    assert time_of(schedule, size) == expected


@pytest.mark.parametrize("columns", [{}, {"bandwidth": [1, 1]}, {"alpha": [1, 1]}])
def test_times_need_both_columns(columns):
    schedule = Schedule.from_columns(topology_of(2, [(0, 1), (1, 0)], **columns), 1, [], [], [], [], [])
    with pytest.raises(LinkstepError, match=r"^times need both link columns: alpha \(ns\) and bandwidth \(bit/s\)$"):
        time_of(schedule, "1MB")


def test_time_is_that_of_the_fabric_where_links_are_alike():
    """alpha T_L + M/B T_B, with B = d times a link's bandwidth."""
    case = hypercube_case(3)
    columns = {"bandwidth": [25 * 10**9] * 24, "alpha": [10_000] * 24}
    plain = case.schedule()
    rated = Schedule.from_columns(
        topology_of(8, case.links, **columns),
        case.unit,
        plain.source,
        plain.lo,
        plain.hi,
        plain.link,
        plain.step,
    )
    assert time_of(rated, "1MiB") == Fabric.of("10us", "75Gbps", 3).time(cost_of(plain), "allgather", "1MiB")


def test_a_slow_link_counts_more():
    """Half the bandwidth, twice the time; B/d is the fastest link's."""
    links, rows = [(0, 1), (1, 0)], [(0, 0, 1, 0, 1), (1, 0, 1, 1, 1)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    assert cost_of(Schedule.from_columns(topology_of(2, links), 1, *columns)) == Cost(1, Fraction(1, 2))
    alike = topology_of(2, links, bandwidth=[50, 50])
    assert cost_of(Schedule.from_columns(alike, 1, *columns)) == Cost(1, Fraction(1, 2))
    uneven = topology_of(2, links, bandwidth=[100, 50])
    assert cost_of(Schedule.from_columns(uneven, 1, *columns)) == Cost(1, Fraction(1))


def test_a_step_that_carries_nothing_still_takes_its_alpha():
    schedule = Schedule.from_columns(ring(2), 1, [0, 1], [0, 0], [1, 1], [0, 1], [1, 3])
    assert cost_of(schedule) == Cost(3, Fraction(1))


@pytest.mark.parametrize("links", [[], [(0, 0)]])
def test_one_node_costs_nothing(links):
    topology = topology_of(1, links, bandwidth=[5] * len(links))
    for one in (topology, topology_of(1, links)):
        assert cost_of(Schedule.from_columns(one, 1, [], [], [], [], [])) == Cost(0, Fraction(0))


def test_loads_past_32_bits():
    unit = 2**60
    schedule = Schedule.from_columns(ring(2), unit, [0, 1, 0], [0, 0, 0], [unit, unit, unit - 1], [0, 1, 0], [1, 1, 2])
    assert cost_of(schedule) == Cost(2, 1 - Fraction(1, 2 * unit))


@given(garbage_cases())
def test_loads_of_links_and_hosts(case):
    """The kernel, and what hosts carry, against their twin."""
    schedule = case.schedule()
    columns = (schedule.source, schedule.lo, schedule.hi, schedule.link, schedule.step)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    expected = reference.link_loads(rows)
    loads = loads_of(schedule)
    assert _table(loads.links) == expected
    counts = Counter((step, link) for *_, link, step in rows)
    assert dict(zip(_table(loads.links), loads.messages.tolist(), strict=True)) == counts
    busiest = [0] * loads.num_steps
    for (step, _), load in expected.items():
        busiest[step - 1] = max(busiest[step - 1], load)
    assert busiest == loads.links.busiest(loads.num_steps).tolist() == busiest_links(schedule).tolist()
    for carried, ends in ((loads.sent, schedule.topology.tail), (loads.received, schedule.topology.head)):
        total = Counter()
        for (step, link), load in expected.items():
            total[step, int(ends[link])] += load
        assert _table(carried) == total


def _table(carried):
    keys = zip(carried.step.tolist(), carried.place.tolist(), strict=True)
    return dict(zip(keys, carried.amount.tolist(), strict=True))


def hypercube_case(dimensions):
    return Case(2**dimensions, reference.hypercube(dimensions), dimensions, reference.hypercube_allgather(dimensions))


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 6])
def test_hypercube_is_bandwidth_optimal(dimensions):
    """T_B* at d = n: recursive doubling in n pieces (coro:CartesianPowerExpansion)."""
    schedule = hypercube_case(dimensions).schedule()
    cost = cost_of(schedule)
    assert cost == Cost(dimensions, Fraction(2**dimensions - 1, 2**dimensions))
    assert is_bandwidth_optimal(schedule.topology, cost)


def test_figure_of_the_complete_bipartite_graph():
    """fig:notationexample: K_{2,2} by BFB takes 2 steps and 3/4, Moore and bandwidth-optimal."""
    topology = complete_bipartite(2)
    assert is_moore_optimal(topology, Cost(2, Fraction(3, 4)))
    assert is_bandwidth_optimal(topology, Cost(2, Fraction(3, 4)))
    assert not is_moore_optimal(topology, Cost(3, Fraction(3, 4)))
    assert not is_bandwidth_optimal(topology, Cost(2, Fraction(1)))


def test_cost_arithmetic():
    assert Cost(2, Fraction(3, 4)) + Cost(1, Fraction(1, 4)) == Cost(3, Fraction(1))
    assert str(Cost(5, Fraction(341, 256))) == "5 alpha + 341/256 M/B"


@given(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2)
def test_is_within_is_an_order(a, b):
    one, two = (Cost(steps, Fraction(bandwidth, 2)) for steps, bandwidth in (a, b))
    assert one.is_within(two) == (a[0] <= b[0] and a[1] <= b[1])
    assert (one.is_within(two) and two.is_within(one)) == (one == two)


# Bounds


@given(st.integers(1, 400), st.integers(1, 6), st.booleans())
def test_moore_against_the_formula(num_nodes, degree, bidirectional):
    """def:mooreopt: T_L* = k means M_{d,k-1} < N <= M_{d,k}; levels fill up from the nearest."""
    if bidirectional and degree == 1 and num_nodes > 2:
        with pytest.raises(LinkstepError) as caught:
            moore_steps(num_nodes, degree, bidirectional=True)
        assert str(caught.value) == f"no graph of degree 1 connects {num_nodes} nodes by duplex links"
        return
    k = next(k for k in range(num_nodes) if reference.moore_bound(degree, k, bidirectional) >= num_nodes)
    assert moore_steps(num_nodes, degree, bidirectional=bidirectional) == k
    within = [min(num_nodes, reference.moore_bound(degree, x, bidirectional)) for x in range(k + 1)]
    levels = moore_levels(num_nodes, degree, bidirectional=bidirectional)
    assert levels == [within[0], *(b - a for a, b in pairwise(within))]
    assert lower_bound(num_nodes, degree, bidirectional=bidirectional) == Cost(k, 1 - Fraction(1, num_nodes))
    if num_nodes > 1:
        flow = all_to_all_bound(num_nodes, degree, bidirectional=bidirectional)
        distances = [x for x, width in enumerate(levels) for _ in range(width)]
        assert flow * sum(distances) == degree


def test_bounds_at_the_edges():
    assert moore_levels(1, 0) == [1]
    assert lower_bound(1, 1) == Cost(0, Fraction(0))
    assert moore_levels(2, 1) == moore_levels(2, 1, bidirectional=True) == [1, 1]
    assert lower_bound(2, 1) == Cost(1, Fraction(1, 2))
    assert all_to_all_bound(2, 1) == 1
    assert moore_steps(5, 1) == 4
    assert moore_steps(5, 2, bidirectional=True) == 2
    assert bandwidth_bound(1) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: moore_levels(0, 4), "the number of nodes must be at least 1, not 0"),
        (lambda: moore_steps(2, 0), "degree must be at least 1, not 0"),
        (lambda: bandwidth_bound(0), "the number of nodes must be at least 1, not 0"),
        (lambda: lower_bound(-1, 4), "the number of nodes must be at least 1, not -1"),
        (lambda: all_to_all_bound(1, 4), "all-to-all needs at least two nodes"),
        (
            lambda: all_to_all_bound(3, 1, bidirectional=True),
            "no graph of degree 1 connects 3 nodes by duplex links",
        ),
    ],
)
def test_bounds_refuse(call, message):
    with pytest.raises(LinkstepError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("num_nodes", "steps", "bandwidth", "flow"),
    [
        pytest.param(32, 3, "0.969", "5.80e-02", id="tab:allourtopos-N=32"),
        pytest.param(64, 3, "0.984", "2.42e-02", id="tab:allourtopos-N=64"),
        pytest.param(128, 4, "0.992", "1.00e-02", id="tab:allourtopos-N=128"),
        pytest.param(256, 4, "0.996", "4.39e-03", id="tab:allourtopos-N=256"),
        pytest.param(512, 5, "0.998", "1.90e-03", id="tab:allourtopos-N=512"),
        pytest.param(1024, 5, "0.999", "8.57e-04", id="tab:allourtopos-N=1024"),
    ],
)
def test_theoretical_bounds_of_the_paper(num_nodes, steps, bandwidth, flow):
    """The rows "Theoretical Bound" at d = 4: T_L, T_B, D(G) = T_L, MCF."""
    bound = lower_bound(num_nodes, 4)
    assert (bound.steps, f"{float(bound.bandwidth):.3f}") == (steps, bandwidth)
    assert f"{float(all_to_all_bound(num_nodes, 4)):.2e}" == flow


@pytest.mark.parametrize(
    ("num_nodes", "one_way", "duplex"),
    [
        pytest.param(n, one, both, id=f"tab:exampledistreg-N={n}")
        for n, one, both in [
            (6, 2, 2), (9, 2, 2), (10, 2, 2), (14, 2, 2), (15, 2, 2), (16, 2, 2), (21, 2, 3), (26, 3, 3),
            (32, 3, 3), (35, 3, 3), (45, 3, 3), (70, 3, 4), (80, 3, 4), (189, 4, 5), (728, 5, 6),
        ]
    ],
)  # fmt: skip
def test_moore_optima_of_distance_regular_graphs(num_nodes, one_way, duplex):
    """Columns T_L* and T_L** at d = 4."""
    assert moore_steps(num_nodes, 4) == one_way
    assert moore_steps(num_nodes, 4, bidirectional=True) == duplex


# Seconds


@pytest.mark.parametrize(
    ("cost", "allreduce"),
    [
        pytest.param(Cost(5, Fraction(341, 256)), "323.5us", id="table:paretooptimal-Pi_{4,1024}"),
        pytest.param(Cost(6, Fraction(261, 256)), "291.0us", id="table:paretooptimal-L^3(C(16,{3,4}))"),
        pytest.param(Cost(8, Fraction(257, 256)), "328.4us", id="table:paretooptimal-L^2(Diamond^2)"),
        pytest.param(Cost(11, Fraction(1)), "387.8us", id="table:paretooptimal-L(DBJMod(2,4)^2)"),
        pytest.param(Cost(20, Fraction(1023, 1024)), "567.6us", id="table:paretooptimal-torus"),
        pytest.param(lower_bound(1024, 4), "267.6us", id="table:paretooptimal-bound"),
    ],
)
def test_allreduce_times_of_the_paper(cost, allreduce):
    assert microseconds(PAPER.time(cost + cost, "allreduce", "1MiB")) == allreduce
    assert PAPER.time(cost + cost, "allreduce", "1MiB") == 2 * PAPER.time(cost, "allgather", "1MiB")


@pytest.mark.parametrize(
    ("flow", "time"),
    [
        pytest.param("8.01e-4", 409.1, id="table:paretooptimal-Pi_{4,1024}"),
        pytest.param("8.12e-4", 403.5, id="table:paretooptimal-L^3(C(16,{3,4}))"),
        pytest.param("7.34e-4", 446.6, id="table:paretooptimal-L^2(Diamond^2)"),
        pytest.param("6.18e-4", 529.9, id="table:paretooptimal-L(DBJMod(2,4)^2)"),
        pytest.param("2.79e-4", 1174.4, id="table:paretooptimal-torus"),
        pytest.param("8.57e-4", 382.3, id="table:paretooptimal-bound"),
    ],
)
def test_all_to_all_times_of_the_paper(flow, time):
    """tab:allourtopos gives f to three digits: the time of table:paretooptimal lies between its two ends."""
    half = Fraction("0.005e-4")
    slow, quick = (
        PAPER.all_to_all_time(f, 1024, "1MiB") * 10**6 for f in (Fraction(flow) - half, Fraction(flow) + half)
    )
    assert quick <= Fraction(str(time)) <= slow


def test_all_to_all_bound_of_the_paper():
    """table:paretooptimal, exactly rounded."""
    assert microseconds(PAPER.all_to_all_time(all_to_all_bound(1024, 4), 1024, "1MiB")) == "382.3us"


def test_fabric_is_exact():
    fabric = Fabric.of("10us", "100Gbps", 4)
    assert fabric == Fabric(Fraction(1, 10**5), Fraction(10**11), 4)
    assert fabric.link_bandwidth == 25 * 10**9
    assert fabric.gamma == 0
    cost = Cost(3, Fraction(7, 8))
    assert fabric.time(cost, "allgather", "1MB") == Fraction(3, 10**5) + Fraction(7, 8) * Fraction(8 * 10**6, 10**11)
    assert fabric.time(cost, "reduce-scatter", "1MB") == fabric.time(cost, "allgather", "1MB")


@given(st.integers(0, 30), st.fractions(0, 3, max_denominator=64), st.integers(1, 10**9), st.integers(1, 500))
def test_computation_is_counted_as_in_sec_computeopt(steps, y, size, reduction_gbps):
    """thm:computebound: T_B + T_C <= M (2/B + gamma) y, which is 2 M/B' y with 1/B' = 1/B + gamma/2."""
    cost = Cost(steps, y)
    plain = Fabric.of("10us", "100Gbps", 4)
    counted = Fabric.of("10us", "100Gbps", 4, f"{reduction_gbps}Gbps")
    bits, gamma = 8 * size, Fraction(1, reduction_gbps * 10**9)
    assert counted.gamma == gamma
    assert counted.time(cost, "allgather", size) == plain.time(cost, "allgather", size)
    scattered = counted.time(cost, "reduce-scatter", size)
    assert scattered - plain.time(cost, "reduce-scatter", size) == bits * gamma * y
    assert counted.time(cost + cost, "allreduce", size) == scattered + counted.time(cost, "allgather", size)
    merged = 1 / (1 / plain.node_bandwidth + gamma / 2)
    assert counted.time(cost + cost, "allreduce", size) == 2 * (steps * plain.alpha + bits / merged * y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("10us", 0, 4), "bandwidth must be positive, not 0"),
        (("10us", "100Gbps", 4, "0bps"), "bandwidth must be positive, not 0bps"),
        (("10us", "100Gbps", 0), "degree must lie in [1, 1000000], not 0"),
    ],
)
def test_fabric_refuses(arguments, message):
    with pytest.raises(LinkstepError) as caught:
        Fabric.of(*arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("arguments", [("10", "100Gbps", 4), (-1, "100Gbps", 4), ("10us", -5, 4), ("10us", "100", 4)])
def test_fabric_refuses_bad_quantities(arguments):
    with pytest.raises(UnitError):
        Fabric.of(*arguments)


@pytest.mark.parametrize("recipe", ["K_{4,4}", "UniRing(1,5)", "Pi_{2,7}"])
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_the_time_of_a_schedule_counts_each_phase_once(recipe, collective):
    """The cost of an allreduce's schedule covers both halves already."""
    fabric = Fabric.of("10us", "100Gbps", 4)
    cost = cost_of(parse(recipe).build(collective))
    seconds = cost.steps * fabric.alpha + cost.bandwidth * Fraction(8 * 10**6, 10**11)
    assert fabric.time(cost, collective, "1MB") == seconds


def test_a_collective_that_is_none_is_refused():
    with pytest.raises(LinkstepError, match=r"collective must be one of allgather, .*, not 'gossip'"):
        Fabric.of("10us", "100Gbps", 4).time(Cost(1, Fraction(1)), "gossip", "1MB")
