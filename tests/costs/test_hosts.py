"""A limit of hosts' ports together: costs, BFB, arrivals, bounds and simulations that count it, and agree."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkstep
from linkstep import Fabric, Topology, bfb_allgather, bfb_certificate, bfb_cost, cost_of, wiring_bound
from linkstep.baselines import baseline, baselines
from linkstep.core.errors import LinkstepError
from linkstep.core.ranks import Ranks
from linkstep.core.schedule import Schedule
from linkstep.correctness import check
from linkstep.costs import Cost, check_wiring_bound, seconds_of
from linkstep.methods.arrival import SearchLimits, arrival_allgather, arrival_certificate
from linkstep.reports.pricing import Pricing
from linkstep.reports.throughput import ThroughputReport
from linkstep.simulation import simulate
from support import reference
from support.strategies import garbage_cases, seeds, topology_of

GBPS = 10**9
LINK = 2 * GBPS


def fabric_for(topology: Topology, host: Fraction | int | None) -> Fabric:
    """Return links of 2 Gbps, and hosts of ``host`` bit/s."""
    limit = None if host is None else Fraction(host)
    return Fabric(Fraction(1, 10**5), Fraction(LINK * topology.degree), topology.degree, host_bandwidth=limit)


@st.composite
def limited(draw):
    """Draw a connected topology, links alike or not, and a fabric whose hosts have a limit."""
    rng = Random(draw(seeds))
    n = rng.randint(2, 7)
    links = [(u, (u + 1) % n) for u in range(n)]
    links += [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randrange(3 * n))]
    rates = [rng.choice([1, 2, 3]) * GBPS for _ in links] if rng.random() < 0.5 else None
    topology = topology_of(n, links) if rates is None else topology_of(n, links, bandwidth=rates)
    return topology, fabric_for(topology, Fraction(rng.randint(2, 24) * GBPS, 4))


def links_of(topology: Topology) -> list[tuple[int, int, int]]:
    """Return (tail, head, rate) of what is no self-loop."""
    rates = [LINK] * topology.num_links if topology.bandwidth is None else topology.bandwidth.tolist()
    rows = zip(topology.tail.tolist(), topology.head.tolist(), rates, strict=True)
    return [row for row in rows if row[0] != row[1]]


# Costs and seconds


@given(garbage_cases(), st.integers(1, 40), st.integers(0, 10**6), st.integers(0, 50))
def test_seconds_against_plain_fractions(case, quarters, size, micros):
    """Every step takes its slowest link, message by message, or its busiest host."""
    schedule = case.schedule()
    topology, message = schedule.topology, Fraction(micros, 10**6)
    host = Fraction(quarters * LINK, 4)
    fabric = Fabric(Fraction(1, 10**5), Fraction(LINK), 1, None, Fraction(1, 10**4), host, message)
    bits = Fraction(8 * size, schedule.collective.num_shards(topology.num_nodes) * schedule.unit)
    expected = fabric.overhead
    rows = list(zip(*(getattr(schedule, what).tolist() for what in ("step", "link", "lo", "hi")), strict=True))
    for step in range(1, schedule.num_steps + 1):
        here = [(link, hi - lo) for at, link, lo, hi in rows if at == step]
        times = [fabric.alpha]
        for link in {link for link, _ in here}:
            amounts = [amount for at, amount in here if at == link]
            times.append(fabric.alpha + len(amounts) * message + sum(amounts) * bits / LINK)
        for ends in (topology.tail, topology.head):
            hosts = [sum(amount for link, amount in here if ends[link] == u) for u in range(topology.num_nodes)]
            times += [fabric.alpha + amount * bits / host for amount in hosts]
        expected += max(times)
    assert seconds_of(schedule, fabric, size) == expected


@given(garbage_cases(), st.integers(1, 40), st.integers(0, 10**6), seeds)
def test_seconds_of_shared_hosts_and_links_that_open(case, quarters, size, seed):
    """A host is all its nodes, links inside do not count against it; a step whose links open takes longer by so much.

    Each counted again in plain fractions, on links whose latencies differ; M is as many shards as there are ranks.
    """
    rng = Random(seed)
    n, links = case.num_nodes, sorted(case.links)
    alpha = [rng.choice([1000, 5000]) for _ in links]
    opens = [rng.choice([1, 1, 2, 3]) for _ in links]
    hosts = [rng.choice("xyz") for _ in range(n)]
    columns = sorted(zip(links, opens, alpha, strict=True))
    topology = topology_of(n, [link for link, _, _ in columns], alpha=[a for _, _, a in columns],
                           opens=[t for _, t, _ in columns], hosts=hosts)  # fmt: skip
    ranks = Ranks.of(topology, rng.sample(range(n), rng.randint(1, n)))
    sent = [(row[0] % ranks.num_ranks, *row[1:]) for row in case.rows if len(set(case.links[row[3]])) == 2]
    schedule = replace(case, ranks=tuple(ranks.nodes.tolist()), rows=sent).schedule()
    schedule = replace(schedule, topology=topology)
    host, switching = Fraction(quarters * LINK, 4), Fraction(1, 1000)
    fabric = Fabric(Fraction(1), Fraction(LINK), 1, host_bandwidth=host, switching=switching)
    bits = Fraction(8 * size, schedule.collective.num_shards(ranks.num_ranks) * schedule.unit)
    rows = list(zip(*(getattr(schedule, what).tolist() for what in ("step", "link", "lo", "hi")), strict=True))
    expected = Fraction(0)
    for step in range(1, schedule.num_steps + 1):
        here = [(link, hi - lo) for at, link, lo, hi in rows if at == step]
        delay = {link: Fraction(columns[link][2], 10**9) for link, _ in here}
        times = [delay[link] + sum(a for e, a in here if e == link) * bits / LINK for link in delay] or [fabric.alpha]
        across = [(e, a) for e, a in here if hosts[links[e][0]] != hosts[links[e][1]]]
        for end, name in product((0, 1), "xyz"):
            own = [(e, a) for e, a in across if hosts[links[e][end]] == name]
            times += [min(delay[e] for e, _ in own) + sum(a for _, a in own) * bits / host] if own else []
        expected += max(times) + (switching if step > 1 and any(columns[e][1] == step for e in delay) else 0)
    assert seconds_of(schedule, fabric, size) == expected


@given(limited(), st.sampled_from(["allgather", "reduce-scatter", "allreduce"]), st.integers(1, 10**9))
def test_a_cost_that_counts_hosts_is_worth_what_the_schedule_takes(drawn, collective, size):
    topology, fabric = drawn
    made = linkstep.schedule(topology, collective, method="bfb", fabric=fabric)
    assert made.cost == cost_of(made.schedule, fabric)
    assert seconds_of(made.schedule, fabric, size) == fabric.on(topology).time(made.cost, collective, size)
    plain = cost_of(linkstep.schedule(topology, collective, method="bfb").schedule)
    assert fabric.on(topology).time(made.cost, collective, size) <= fabric.on(topology).time(plain, collective, size)


def test_a_limit_that_does_not_bind_changes_nothing():
    schedule = linkstep.parse("Torus(3,4)").build("allreduce")
    free, wide = (fabric_for(schedule.topology, host) for host in (None, 4 * LINK))
    assert cost_of(schedule, wide) == cost_of(schedule)
    assert seconds_of(schedule, wide, "1MB") == seconds_of(schedule, free, "1MB")
    assert wide.width(schedule.topology) is None


def test_reductions_count_however_links_differ():
    """Links with both columns of their own, one of them, or none: adding up takes the same."""
    torus = linkstep.parse("K_4").topology()
    columns = {"alpha": [10_000] * 12, "bandwidth": [LINK] * 12}
    fabric = Fabric(Fraction(1, 10**5), Fraction(3 * LINK), 3, Fraction(GBPS))
    seconds = set()
    for names in ((), ("alpha",), ("bandwidth",), ("alpha", "bandwidth")):
        given_columns = {name: columns[name] for name in names}
        topology = Topology.from_links(4, torus.tail, torus.head, **given_columns)
        seconds.add(seconds_of(linkstep.schedule(topology, "allreduce").schedule, fabric, "1MB"))
    assert len(seconds) == 1


def test_latencies_of_hosts_are_the_least_of_their_links():
    """By hand: node 0 sends 1 shard over each of two links, after 1us and 5us; its ports together are the limit."""
    topology = topology_of(3, [(0, 1), (0, 2), (1, 0), (2, 0)], alpha=[1000, 5000, 1000, 1000])
    schedule = Schedule.from_columns(topology, 1, [0, 0], [0, 0], [1, 1], [0, 1], [1, 1])
    fabric = Fabric.of("10us", 2 * LINK, 2, host_bandwidth=GBPS // 2)
    sent = Fraction(2 * 8 * 3000, 3) / (GBPS // 2)
    assert seconds_of(schedule, fabric, 3000) == Fraction(1, 10**6) + sent


# BFB and arrivals


def recounted(certificate, fabric) -> list[Fraction]:
    """Return the loads that a certificate's links and hosts prove, by distances (or arrivals) and nothing else."""
    topology = certificate.topology
    n, rows = topology.num_nodes, links_of(topology)
    pieces = 1 if certificate.arrivals is None else certificate.arrivals.pieces
    if certificate.arrivals is None:
        plain = reference.all_distances(n, [(u, w) for u, w, _ in rows])
        reached = [[plain[v][u] for v in range(n)] for u in range(n)]
    else:
        reached = certificate.arrivals.step.tolist()
    rates = topology.bandwidth if topology.bandwidth is not None else [LINK] * topology.num_links
    fastest, found = max(rate for *_, rate in rows), []
    for step in certificate.steps:
        jobs = 0
        for u in range(n):
            for q in range(n * pieces):
                if reached[u][q] != step.step:
                    continue
                ways = [
                    e for e in topology.in_link[topology.in_ptr[u] : topology.in_ptr[u + 1]].tolist()
                    if topology.tail[e] != u and reached[topology.tail[e]][q] < step.step
                ]  # fmt: skip
                stuck = all(e in step.links or topology.tail[e] in step.senders for e in ways)
                jobs += u in step.receivers or (stuck and not step.receivers and (bool(step.senders) or u == step.node))
        room = sum(int(rates[e]) for e in step.links if not step.receivers)
        room += fabric.host_bandwidth * (len(step.senders) + len(step.receivers))
        found.append(Fraction(jobs * fastest, pieces) / room)
        assert jobs == step.sources
    return found


@given(limited(), st.integers(1, 12))
def test_bfb_reaches_what_its_certificate_proves(drawn, chunks):
    topology, fabric = drawn
    certificate = bfb_certificate(topology, fabric)
    assert [step.load for step in certificate.steps] == recounted(certificate, fabric)
    made = bfb_allgather(topology, fabric=fabric)
    check(made)
    assert cost_of(made, fabric) == certificate.cost == bfb_cost(topology, fabric)
    coarse = bfb_allgather(topology, chunks, fabric=fabric)
    check(coarse)
    assert coarse.unit == chunks
    assert cost_of(coarse, fabric).bandwidth >= certificate.cost.bandwidth
    assert certificate.cost.bandwidth >= wiring_bound(topology, fabric=fabric).cost.bandwidth


@given(limited())
def test_arrivals_are_no_worse_than_distances(drawn):
    topology, fabric = drawn
    limits = SearchLimits(rounds=0, width=fabric.width(topology))
    certificate = arrival_certificate(topology, limits)
    assert [step.load for step in certificate.steps] == recounted(certificate, fabric)
    made = arrival_allgather(topology, limits)
    check(made)
    assert cost_of(made, fabric) == certificate.cost
    assert certificate.cost.bandwidth <= bfb_cost(topology, fabric).bandwidth


@pytest.mark.parametrize("recipe", ["Torus(3,3,2)", "L(Paley(7))", "Kautz(2,2)", "Pi_{4,24}", "C(16,{3,4})"])
@pytest.mark.parametrize("quarters", [2, 5, 9])
def test_families_alike_or_not(recipe, quarters):
    """Where all nodes are alike one node is solved; the schedule shows that it stands for all."""
    topology = linkstep.parse(recipe).topology()
    fabric = fabric_for(topology, Fraction(quarters * LINK, 4))
    made = bfb_allgather(topology, fabric=fabric)
    check(made)
    assert cost_of(made, fabric) == bfb_cost(topology, fabric)


@pytest.mark.parametrize(
    "recipe", ["Torus(3,3)", pytest.param("Torus(23,23)", marks=pytest.mark.slow), "K_{4,4}", "Torus(3,3,2)"]
)
@pytest.mark.parametrize("host", [1_234_567_891, 999_999_937, 3_333_333_333])
def test_odd_limits_need_few_chunks(recipe, host):
    """What was measured has many digits: where links have room to spare, the schedule does not."""
    topology = linkstep.parse(recipe).topology()
    fabric = fabric_for(topology, host)
    made = bfb_allgather(topology, fabric=fabric)
    assert made.unit <= 60
    assert cost_of(made, fabric) == bfb_cost(topology, fabric)


def test_many_alike_nodes_by_translation():
    topology = linkstep.parse("Torus(23,23)").topology()
    fabric = fabric_for(topology, 3 * GBPS)
    assert (
        cost_of(bfb_allgather(topology, fabric=fabric), fabric)
        == bfb_cost(topology, fabric)
        == Cost(22, Fraction(528, 529))
    )


def test_what_hosts_send_can_decide():
    """A hub passes on all that the others need of each other: its ports out are the limit, as the certificate says."""
    hub = topology_of(4, [link for w in (1, 2, 3) for link in ((0, w), (w, 0))])
    fabric = fabric_for(hub, LINK)
    certificate = bfb_certificate(hub, fabric)
    assert certificate.cost == Cost(2, Fraction(3 + 6, 4))  # each leaf's shard to the hub; six to the leaves
    assert (certificate.steps[1].senders, certificate.steps[1].sources) == ((0,), 6)
    assert certificate.explain_bandwidth().startswith("step ")


# Bounds


def capacity(rows, inside, n, limit) -> Fraction:
    """Return what can leave a set of nodes, by trying all hosts of it that send at their limit."""
    cross = [(u, w, rate) for u, w, rate in rows if u in inside and w not in inside]
    begins, found = sorted({u for u, _, _ in cross}), []
    for count in range(len(begins) + 1):
        for full in combinations(begins, count):
            into: dict[int, int] = {}
            for u, w, rate in cross:
                into[w] = into.get(w, 0) + (0 if u in full else rate)
            found.append(limit * count + sum(min(limit, rate) for rate in into.values()))
    return min(found)


@given(limited(), st.sampled_from(["allgather", "reduce-scatter", "allreduce"]))
def test_wiring_bounds_against_all_sets(drawn, collective):
    topology, fabric = drawn
    n, rows = topology.num_nodes, links_of(topology)
    width = fabric.width(topology)
    limit = fabric.host_bandwidth if width is not None else Fraction(10**18)
    scale = max(rate for *_, rate in rows) * (width or topology.degree) / Fraction(n)
    turned = [(w, u, rate) for u, w, rate in rows] if collective == "reduce-scatter" else rows
    sets = [set(one) for count in range(1, n) for one in combinations(range(n), count)]
    shards = {"allreduce": lambda one: n}.get(collective, len)
    expected = max(shards(one) / capacity(turned, one, n, limit) for one in sets) * scale
    if collective == "allreduce":
        sent = [sum(rate for u, _, rate in rows if u == node) for node in range(n)]
        expected = max(expected, 2 * n * (n - 1) / Fraction(sum(min(limit, total) for total in sent)) * scale)
    bound = wiring_bound(topology, collective, fabric)
    assert bound.cost.bandwidth == expected
    check_wiring_bound(bound)
    assert bound.explain()


def test_a_proof_must_not_count_a_limit_that_is_not_there():
    bound = wiring_bound(linkstep.parse("Torus(3,3)").topology())
    with pytest.raises(LinkstepError, match=r"it counts a limit of hosts that have none$"):
        check_wiring_bound(replace(bound, hosts=(0,)))


# Simulation, baselines


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
@pytest.mark.parametrize("recipe", ["Torus(3,3,2)", "K_{4,4}", "Torus(3,3,3)"])
def test_simulations_take_what_is_predicted(recipe, collective):
    """BFB, the bound and the simulation agree on tori of Frontera's links: 25 Gbps a port, 100 Gbps a host."""
    topology = linkstep.parse(recipe).topology()
    fabric = Fabric.of("10us", 25 * GBPS * topology.degree, topology.degree, host_bandwidth="60Gbps")
    made = linkstep.schedule(topology, collective, fabric=fabric)
    assert made.cost.bandwidth == wiring_bound(topology, collective, fabric).cost.bandwidth
    done = simulate(made.schedule, fabric, "100MB", to="cpu")
    assert done.predicted == float(fabric.time(made.cost, collective, "100MB"))
    assert done.loss == pytest.approx(0, abs=1e-9)


def test_a_message_takes_its_time_in_simulations_too():
    made = linkstep.parse("K_4").build("allgather")
    plain, slow = (Fabric.of("10us", "75Gbps", 3, message=time) for time in (0, "1us"))
    times = [simulate(made, fabric, "1MB", to="cpu") for fabric in (plain, slow)]
    assert times[1].time - times[0].time == pytest.approx(1e-6)
    assert times[1].loss == pytest.approx(0, abs=1e-9)


def test_hosts_that_cut_through_take_a_hop_for_each_link_after_the_first():
    """Recursive doubling on a torus goes over several links: alpha once a round, a hop for each link more."""
    plain, cutting = (Fabric.of("10us", "100Gbps", 4, hop=hop) for hop in (None, "1us"))
    found = [one for one in baselines(16, 4) if one.takes_several_hops]
    assert found
    for one in found:
        rounds, hops = one.cutting_through().cost.steps, one.cost_at(plain, "1KB").steps
        cut = plain.time(one.cutting_through().cost + one.cutting_through().cost, "allreduce", "1KB")
        assert one.allreduce_time(cutting, "1KB") == cut + 2 * (hops - rounds) * Fraction(1, 10**6)


@pytest.mark.parametrize("host", ["60Gbps", "30Gbps"])
def test_find_counts_the_limit_in_its_rows(host):
    """Rows cost what is built for them, bound and all; what is bandwidth-optimal stays it; nothing gets worse."""
    fabric = Fabric.of("10us", "100Gbps", 4, host_bandwidth=host)
    answer, plain = linkstep.find(16, 4, fabric=fabric), linkstep.find(16, 4)
    assert answer.frontier
    for row in answer.frontier:
        built = row.build("allreduce")
        assert seconds_of(built, fabric, "1MB") == fabric.time(row.allreduce_cost, "allreduce", "1MB")
    for before in plain.frontier:
        assert any(row.allreduce_cost.is_within(before.allreduce_cost) for row in answer.frontier)
    for one in answer.baselines:
        if one.cost is not None:
            made = one.schedule("allreduce")
            assert seconds_of(made, fabric, "1MB") <= one.allreduce_time(fabric, "1MB")
            assert seconds_of(made, fabric, "1MB") == one.allreduce_time(fabric, "1MB") or one.takes_several_hops


def test_baselines_say_where_the_limit_is_counted_at_most():
    """Exact without a limit, where schedules are bandwidth-optimal, and of few nodes, where they are built."""
    plain, limited = (Fabric.of("10us", "100Gbps", 4, host_bandwidth=host) for host in (None, "60Gbps"))
    for n, many in ((64, False), (144, True)):
        for one in baselines(n, 4, directed=True):
            assert one.is_time_exact(plain, "1MB")
            optimal = all(half.bandwidth == Fraction(n - 1, n) for half in one.halves_at(limited, "1MB"))
            assert one.is_time_exact(limited, "1MB") == (not many or optimal), one.name
    rings = baseline("torus-rings", "Torus(9,16)")
    taken = seconds_of(rings.schedule("allreduce"), limited, "1MB")
    assert not rings.is_time_exact(limited, "1MB") and taken < rings.allreduce_time(limited, "1MB")


def test_least_all_to_all_times_under_a_limit():
    """By links where a cut is what everybody waits for, by what hosts pass on where these are."""
    here, there = [0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3]
    triangles = Topology.from_links(6, here + there, there + here)
    pricing = Pricing("1MB", Fabric.of("10us", "90Gbps", 3, host_bandwidth="60Gbps"))
    report = ThroughputReport.of(linkstep.all_to_all(triangles), pricing, "two triangles")
    assert (report.all_to_all, report.all_to_all_exact) == (Fraction(1, 9), True)  # nine pairs cross one link, each way
    crossing = 9 * Fraction(8 * 10**6, 6) / (30 * 10**9)
    assert report.all_to_all_bound_seconds == crossing < report.all_to_all_seconds and report.all_to_all_at_most
    torus = ThroughputReport.of(linkstep.all_to_all(linkstep.parse("Torus(4,4)").topology()), pricing, "torus")
    assert torus.all_to_all_bound_seconds == torus.all_to_all_seconds  # every link is busy
    assert not torus.all_to_all_at_most
