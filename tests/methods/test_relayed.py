"""Relays over spare links: two steps at (N-1)/N wherever every two nodes are linked and some once more."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import LinkstepError, ScheduleError
from linkstep.core.topology import Topology
from linkstep.costs import Cost, Fabric, cost_of, usual_fabric
from linkstep.methods.relayed import MAX_CELLS, relayed_allgather, relayed_cost, why_not
from linkstep.recipe import parse

TOO_MANY = MAX_CELLS // 3**2 + 1
"""Ports of three nodes."""


@settings(deadline=None)
@given(st.integers(3, 9), st.integers(1, 25))
def test_property_bundles_take_two_steps_at_the_bound(size, more):
    degree = size - 1 + more
    if degree % (size - 1) == 0:
        return
    topology = parse(f"Bundle({degree},{size})").topology()
    assert relayed_cost(topology) == Cost(2, Fraction(size - 1, size))
    for one in (topology, topology.transpose()):
        made = relayed_allgather(one)
        linkstep.check(made)
        assert cost_of(made) == relayed_cost(one)


@settings(deadline=None)
@given(st.integers(3, 8), st.integers(1, 3), st.randoms(use_true_random=False), st.data())
def test_property_any_regular_rest_will_do(size, each, random, data):
    """K_N some times over, and permutations without fixed points or common links: any wiring of that kind."""
    rest: set[tuple[int, int]] = set()
    for _ in range(data.draw(st.integers(1, size - 2))):
        for _ in range(50):
            new = random.sample(range(size), size)
            links = set(enumerate(new))
            if all(u != w for u, w in links) and not links & rest:
                rest |= links
                break
    if not rest:
        return
    pairs = [(u, w) for u in range(size) for w in range(size) if u != w] * each + sorted(rest)
    topology = Topology.from_links(size, *zip(*pairs, strict=True))
    if len(rest) == size * (size - 1):
        assert why_not(topology) is not None
        return
    made = relayed_allgather(topology)
    linkstep.check(made)
    assert cost_of(made) == relayed_cost(topology) == Cost(2, Fraction(size - 1, size))


def test_idle_ports_count():
    topology = parse("Idle(Bundle(8,8),2)").topology()
    made = relayed_allgather(topology)
    linkstep.check(made)
    assert cost_of(made) == relayed_cost(topology) == Cost(2, Fraction(7, 8) * Fraction(10, 8))


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("K_{4,4}", "needs a link between every two nodes, both ways"),
        ("BiRing(8,8)", "needs a link between every two nodes, both ways"),
        ("K_5", "has nothing to relay: all bundles are alike, and one step is enough"),
        ("Copies(K_5,3)", "has nothing to relay: all bundles are alike, and one step is enough"),
        ("Bundle(3,2)", "needs three nodes or more"),
        ("K_5 + UniRing(2,5)", "needs bundles that differ by one link at most, of each width as many at every node"),
        (f"Bundle({TOO_MANY},3)", f"cuts shards into {TOO_MANY} cells: too many for 3 nodes"),
    ],
)
def test_refusals(recipe, reason):
    topology = parse(recipe).topology()
    assert why_not(topology) == reason
    with pytest.raises(ScheduleError, match=r"^method relayed "):
        relayed_allgather(topology)
    with pytest.raises(LinkstepError, match=r"^method relayed "):
        linkstep.schedule(topology, "allgather", method="relayed")


def test_links_that_differ_are_refused():
    topology = parse("Bundle(4,4)").topology()
    assert why_not(topology.with_bandwidth([10**9] * 16)) == "takes a topology whose links are all alike"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"chunks": 2}, "takes no chunks"),
        ({"steps": 3}, "takes as many steps as it needs"),
        ({"fabric": Fabric.of("10us", "100Gbps", 8, host_bandwidth="50Gbps")}, "knows no limit of hosts"),
    ],
)
def test_requests_it_does_not_serve(more, message):
    with pytest.raises(LinkstepError, match=f"method relayed {message}"):
        linkstep.schedule("Bundle(8,8)", "allgather", method="relayed", **more)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce"])
def test_every_collective(collective):
    made = linkstep.schedule("Bundle(5,4)", collective, method="relayed")
    linkstep.check(made.schedule)
    assert made.method == "relayed"
    assert linkstep.verify(linkstep.lower(made.schedule, "cpu").text).status == "verified"


def test_best_takes_it_for_large_data():
    """One step at 17/12 M/B for small data, two at 11/12 for large."""
    fabric = usual_fabric(17)

    def by_size(size):
        return lambda cost: fabric.time(cost, "allgather", size)

    small = linkstep.schedule("Bundle(17,12)", "allgather", price=by_size(1000))
    large = linkstep.schedule("Bundle(17,12)", "allgather", price=by_size(10**9))
    assert (small.method, small.cost.steps) == ("bfb", 1)
    assert large.cost == Cost(2, Fraction(11, 12))
