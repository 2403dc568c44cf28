"""Faults: what is read, what is left, what is refused."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linkstep.core.distances import check_connected
from linkstep.core.errors import LinkstepError, TopologyError
from linkstep.core.faults import Cut, Down, Slow, apply, format_rate, parse
from linkstep.core.topology import Topology
from linkstep.methods.bfb import bfb_cost
from support.strategies import complete, connected_link_lists, pairs, topologies, topology_of

RATE = Fraction(25 * 10**9)
SQUARE = topology_of(4, [(u, w) for u in range(4) for w in ((u + 1) % 4, (u - 1) % 4)], "square")
HOSTS = SQUARE.with_labels(["ant", "bee", "cat", "dog"])


def is_connected(topology):
    try:
        check_connected(topology)
    except TopologyError:
        return False
    return True


# As people write them


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        ("cut", "a,b", Cut("a", "b")),
        ("cut", " a , b ,oneway", Cut("a", "b", True)),
        ("cut", '"rack 1, host 2",b', Cut("rack 1, host 2", "b")),
        ("cut", "a,oneway", Cut("a", "oneway")),
        ("down", "rack2-07", Down("rack2-07")),
        ("slow", "a,b=10Gbps", Slow("a", "b", Fraction(10**10))),
        ("slow", "a=1,b,oneway=1.5GB/s", Slow("a=1", "b", Fraction(12 * 10**9), True)),
    ],
)
def test_parse(kind, text, fault):
    assert parse(kind, text) == fault
    said, _, rest = str(fault).partition(" ")
    assert (said, parse(said, rest)) == (kind, fault)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("cut", "a", "a cut cable is written A,B, or with oneway after the hosts, not 'a'"),
        ("cut", "a,b,c", "a cut cable is written A,B, or with oneway"),
        ("cut", "a,", "a cut cable is written A,B"),
        ("cut", '"a,b', "a cut cable is written A,B"),
        ("cut", "a,a", "a cable joins two hosts, not 'a' to itself"),
        ("down", "", "a host that is down is named alone, not ''"),
        ("down", "a,b", "a host that is down is named alone, not 'a,b'"),
        ("slow", "a,b", "a slow cable is written A,B=10Gbps: 'a,b' says no rate"),
        ("slow", "a=10Gbps", "a slow cable is written A,B=10Gbps"),
        ("slow", "a,b=10", "bandwidth '10' has no known unit"),
        ("slow", "a,b=0Gbps", "a slow cable has a rate above 0, not 0Gbps: one without is cut"),
        ("burn", "a", "a fault is one of cut, down, slow, forward, not 'burn'"),
    ],
)
def test_parse_refuses(kind, text, message):
    with pytest.raises(LinkstepError) as caught:
        parse(kind, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rate", "text"), [(10**13, "10Tbps"), (Fraction(10**11, 3), "33.3333Gbps"), (1500, "1.5kbps"), (7, "7bps")]
)
def test_format_rate(rate, text):
    assert format_rate(rate) == text


# What is left


@given(st.data(), topologies(connected_link_lists(min_nodes=2), columns=True), st.booleans())
def test_property_a_cut_costs_what_the_graph_without_the_links_does(data, topology, one_way):
    cables = sorted({(u, w) for u, w in pairs(topology) if u != w})
    assume(cables)
    u, w = data.draw(st.sampled_from(cables))
    ways = [(u, w)] if one_way else [(u, w), (w, u)]
    gone = [pairs(topology).index(way) for way in ways if way in pairs(topology)]
    expected = topology.without_links(gone)
    cut = Cut(str(u), str(w), one_way)
    if not is_connected(expected):
        with pytest.raises(TopologyError, match=rf"^the topology is disconnected: no path .* \({cut}\)$"):
            apply(topology, [cut], RATE)
        return
    left = apply(topology, [cut], RATE)
    assert (left.num_nodes, pairs(left)) == (expected.num_nodes, pairs(expected))
    if topology.bandwidth is not None or left.degree == topology.degree:
        assert left == expected
    assert bfb_cost(left) == bfb_cost(expected)
    assert not left.vertex_transitive


@given(st.data(), topologies(connected_link_lists(min_nodes=2, max_nodes=6), columns=True), st.booleans())
def test_property_hosts_that_are_left_keep_their_names(data, topology, named):
    names = [f"host{u}" for u in range(topology.num_nodes)] if named else [str(u) for u in range(topology.num_nodes)]
    whole = topology.with_labels(names) if named else topology
    down = data.draw(st.sets(st.integers(0, topology.num_nodes - 1), min_size=1, max_size=topology.num_nodes - 1))
    expected = whole.without_nodes(sorted(down))
    faults = [Down(whole.host(u)) for u in data.draw(st.permutations(sorted(down)))]
    if not is_connected(expected):
        with pytest.raises(TopologyError, match=r"^the topology is disconnected: .* \(down \w+\)$"):
            apply(whole, faults, RATE)
        return
    left = apply(whole, faults, RATE)
    assert left.labels == tuple(name for u, name in enumerate(names) if u not in down)
    by_name = [(left.labels[u], left.labels[w]) for u, w in pairs(left)]
    assert by_name == [(names[u], names[w]) for u, w in pairs(topology) if not {u, w} & down]
    assert left.node_named(names[max(set(range(topology.num_nodes)) - down)]) == left.num_nodes - 1


@given(st.data(), connected_link_lists(min_nodes=3), st.integers(1, 50), st.integers(2, 7))
def test_property_rates_keep_their_proportions(data, graph, gigabits, degree):
    """Also where B/d is not whole: costs stay exact."""
    topology = topology_of(*graph)
    cables = sorted({(min(link), max(link)) for link in pairs(topology) if link[0] != link[1]})
    u, w = data.draw(st.sampled_from(cables))
    usual, slow = Fraction(100 * 10**9, degree), Fraction(gigabits * 10**9)
    fault = Slow(str(u), str(w), slow)
    if slow > usual:
        with pytest.raises(TopologyError, match=r"the link from node \d to node \d runs at .*bps: .*bps is not slow"):
            apply(topology, [fault], usual)
        return
    left = apply(topology, [fault], usual)
    rates = set(left.bandwidth.tolist())
    assert len(rates) <= 2
    assert all(min(abs(rate - wanted) / wanted for wanted in (usual, slow)) < Fraction(1, 10**7) for rate in rates)
    if len(rates) == 2:
        assert Fraction(min(rates), max(rates)) == slow / usual


def test_links_that_differ_are_exact_thirds():
    left = apply(complete(4), [Slow("0", "1", Fraction(10**10))], Fraction(10**11, 3))
    assert sorted(set(left.bandwidth.tolist())) == [9999999999, 33333333330]
    assert bfb_cost(left).bandwidth == Fraction(5, 2)


def test_the_order_of_faults_does_not_count_and_numbers_are_those_of_the_whole():
    tight = complete(5)
    faults = [Down("0"), Cut("3", "4"), Slow("1", "2", Fraction(10**9))]
    orders = [apply(tight, order, RATE) for order in (faults, faults[::-1])]
    assert orders[0] == orders[1]
    assert orders[0].labels == orders[1].labels == ("1", "2", "3", "4")
    assert (2, 3) not in pairs(orders[0])


def test_links_keep_their_rate_where_ports_are_left_idle():
    """K_3 without a host has one port in use, which is no faster for it."""
    left = apply(complete(3), [Down("2")], RATE)
    assert (left.degree, left.bandwidth.tolist(), left.labels) == (1, [25 * 10**9] * 2, ("0", "1"))


def test_parallel_cables_go_one_by_one():
    double = topology_of(3, [(0, 1), (0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)])
    once = apply(double, [Cut("0", "1")], RATE)
    assert pairs(once) == [(0, 1), (0, 2), (1, 2), (2, 0), (2, 1)]
    twice = apply(double, [Cut("0", "1"), Cut("1", "0")], RATE)
    assert pairs(twice) == [(0, 2), (1, 2), (2, 0), (2, 1)]
    with pytest.raises(TopologyError, match="cut 0,1: there is no cable left between node 0 and node 1"):
        apply(double, [Cut("0", "1")] * 3, RATE)
    slow = apply(double, [Slow("0", "1", Fraction(10**9)), Cut("0", "1", True)], RATE)
    assert dict(zip(pairs(slow), slow.bandwidth.tolist(), strict=True))[0, 1] == 10**9


def test_faults_are_in_the_name():
    left = apply(HOSTS, [Cut("ant", "bee"), Slow("cat", "dog", Fraction(10**9))], RATE)
    assert left.name == "square, cut ant,bee, slow cat,dog=1Gbps"
    assert left.labels == HOSTS.labels
    assert apply(HOSTS, [], RATE) is HOSTS


def test_a_topology_in_two_parts_is_not_the_faults_doing():
    apart = topology_of(5, [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2)])
    assert apply(apart, [Down("4")], RATE).num_nodes == 4


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ([Cut("ant", "cow")], "no host is called 'cow': the first is 'ant'"),
        ([Cut("ant", "bees")], "no host is called 'bees': did you mean 'bee'?"),
        ([Cut("ant", "cat")], "cut ant,cat: there is no cable between ant and cat"),
        ([Cut("ant", "0")], "cut ant,0: both are ant, and a cable joins two hosts"),
        ([Cut("ant", "bee", True)] * 2, "cut ant,bee,oneway: there is no link left from ant to bee"),
        ([Cut("ant", "bee"), Slow("ant", "bee", Fraction(1))], "slow ant,bee=1bps: there is no cable left between"),
        ([Down("ant"), Down("0")], "down 0: that host is down already"),
        ([Down("ant"), Cut("ant", "bee")], "cut ant,bee: ant is down, and its cables with it"),
        ([Down("0"), Down("1"), Down("2"), Down("3")], "no host is left"),
        ([Slow("ant", "bee", RATE + 1)], "the link from ant to bee runs at 25Gbps: 25Gbps is not slow"),
        (
            [Cut("ant", "bee"), Slow("bee", "cat", Fraction(1)), Down("cat")],
            "slow bee,cat=1bps: cat is down, and its cables with it",
        ),
        (
            [Cut("ant", "bee"), Slow("ant", "dog", Fraction(1)), Down("cat")],
            "the topology is disconnected: no path from ant to bee (down cat)",
        ),
        ([Slow("ant", "bee", Fraction(10**10, 7**9))], "rates of links have no common measure"),
    ],
)
def test_apply_refuses(faults, message):
    with pytest.raises(TopologyError) as caught:
        apply(HOSTS, faults, RATE)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_of_a_file_are_kept():
    rated = Topology.from_links(3, [0, 1, 2, 1], [1, 2, 0, 0], bandwidth=[5, 6, 7, 8], alpha=[1, 2, 3, 4])
    left = apply(rated, [Slow("1", "2", Fraction(3)), Cut("1", "0", True)], RATE)
    assert (left.bandwidth.tolist(), left.alpha.tolist()) == ([5, 3, 7], [1, 2, 3])
    with pytest.raises(TopologyError, match=r"whole bit/s, not 1\.5bps"):
        apply(rated, [Slow("1", "2", Fraction(3, 2))], RATE)
