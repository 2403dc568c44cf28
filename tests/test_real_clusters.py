"""Clusters as they are: hosts with a limit, nodes that only forward, hosts of several GPUs, links that open later.

Schedules are made by hand, or from shortest-path trees; each is checked, costed by hand, saved and loaded, drawn,
lowered and verified, simulated, run, and refused in one line by what cannot carry it.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import linkstep
from linkstep import Fabric, LinkstepError, Ranks, Schedule, ScheduleError, Topology, TopologyError
from linkstep.assembly import assemble
from linkstep.cli import main
from linkstep.core.faults import Down, apply
from linkstep.correctness import check
from linkstep.costs import Cost, cost_of, loads_of, seconds_of
from linkstep.engines.plans.compile import compile_plans
from linkstep.engines.plans.source import sources_of
from linkstep.engines.transports.start import mpi_launcher
from linkstep.expansions import line_graph_schedule
from linkstep.methods.transform import allreduce, from_root, relabel, reverse
from linkstep.pictures import draw_broadcast
from linkstep.symmetry.search import automorphism_generators, is_available
from support.pictures import texts
from support.plan_runs import run_plans

US = Fraction(1, 10**6)


def trees(topology: Topology, ranks: Ranks) -> Schedule:
    """Return an allgather along shortest-path trees: a shard goes down its tree, hop by hop, where ranks hang below."""
    rows = []
    for source, home in enumerate(ranks.nodes.tolist()):
        parent, depth, reached = {home: -1}, {home: 0}, [home]
        for u in reached:
            for e in range(topology.out_ptr[u], topology.out_ptr[u + 1]):
                w = int(topology.head[e])
                if w not in parent:
                    parent[w], depth[w] = e, depth[u] + 1
                    reached.append(w)
        needed = set()
        for node in ranks.nodes.tolist():
            while node != home and node not in needed:
                needed.add(node)
                node = int(topology.tail[parent[node]])
        rows += [(source, 0, 1, parent[node], depth[node]) for node in sorted(needed)]
    return Schedule.from_columns(topology, 1, *zip(*rows, strict=True), ranks=ranks)


def everywhere(schedule: Schedule, tmp_path) -> None:
    """Save and load in both forms of linkstep's own, and draw."""
    for suffix in (".npz", ".json"):
        path = tmp_path / f"schedule{suffix}"
        linkstep.save(schedule, path)
        loaded = linkstep.load(path)
        assert loaded == schedule
        for what in ("hosts", "racks", "labels"):
            assert getattr(loaded.topology, what) == getattr(schedule.topology, what)
        check(loaded)
        assert cost_of(loaded) == cost_of(schedule)
        assert main(["check", str(path)]) == 0
    linkstep.draw(schedule, tmp_path / "schedule.svg")
    linkstep.draw(schedule.topology, tmp_path / "topology.svg")
    runs(schedule)
    assert (tmp_path / "schedule.svg").stat().st_size > 1000


def runs(schedule: Schedule) -> None:
    """Lower for CPU clusters, verify what is printed, and run the plans of all nodes, as unluckily as can be."""
    for inplace in (False, True)[: 1 if schedule.collective.exchanges else 2]:
        lowered = linkstep.lower(schedule.permanent(), "cpu", inplace=inplace)
        report = linkstep.verify(lowered.text)
        assert report.status == "verified"
        assert (report.ranks, report.ranks + report.forwarders) == (schedule.num_ranks, schedule.topology.num_nodes)
        program = assemble(lowered)
        assert program.fingerprint == linkstep.read_program(lowered.text, "cpu").fingerprint
        run_plans(compile_plans(program, inplace), root=max(program.root, 0))


def simulated(schedule: Schedule, fabric: Fabric, size: str) -> None:
    """Simulate what is lowered for CPU clusters: it takes what is predicted, or less where ranks need not wait."""
    done = linkstep.simulate(schedule, fabric, size, to="cpu")
    assert done.predicted == pytest.approx(float(seconds_of(schedule, fabric, size)), rel=1e-12)
    assert done.time <= done.predicted * (1 + 1e-9)
    assert done.time > 0.5 * done.predicted


def one_line(match: str):
    """Expect a LinkstepError of one line."""
    return pytest.raises(LinkstepError, match=rf"\A[^\n]*{match}[^\n]*\Z")


# A torus of Frontera's links, whose hosts have a limit of their own


@pytest.mark.parametrize("collective", ["allgather", pytest.param("allreduce", marks=pytest.mark.slow)])
def test_a_torus_whose_hosts_have_a_limit(collective, tmp_path):
    """25 Gbps a port, 60 Gbps a host: BFB, arrival times, the bound of the wiring and the simulation agree."""
    torus = linkstep.parse("Torus(3,3,2)").topology()
    fabric = Fabric.of("10us", "125Gbps", 5, host_bandwidth="60Gbps")
    bound = linkstep.wiring_bound(torus, collective, fabric).cost.bandwidth
    assert bound == Fraction(17, 18) * (2 if collective == "allreduce" else 1)  # hosts are always busy
    for method in ("bfb", "arrival"):
        made = linkstep.schedule(torus, collective, method=method, fabric=fabric)
        assert made.cost.bandwidth == bound
        assert seconds_of(made.schedule, fabric, "100MB") == fabric.time(made.cost, collective, "100MB")
        done = linkstep.simulate(made.schedule, fabric, "100MB", to="cpu")
        assert done.predicted == float(seconds_of(made.schedule, fabric, "100MB"))
        assert done.time == pytest.approx(done.predicted, rel=1e-9)
        everywhere(made.schedule, tmp_path)
    free = replace(fabric, host_bandwidth=None)
    assert seconds_of(made.schedule, free, "100MB") < seconds_of(made.schedule, fabric, "100MB")


# 12 of 16 hosts of a torus take part, the other four forward


@pytest.fixture(scope="module")
def torus() -> Topology:
    return linkstep.parse("Torus(4,4)").topology()


@pytest.fixture(scope="module")
def twelve(torus) -> Ranks:
    return Ranks.of(torus, [u for u in range(16) if u % 5])  # 0, 5, 10 and 15, a diagonal, take no part


def test_twelve_of_sixteen(torus, twelve, tmp_path):
    gather = trees(torus, twelve)
    check(gather)
    scatter = replace(reverse(gather), topology=torus)
    check(scatter)
    both = allreduce(scatter, gather)
    check(both)
    forwards = twelve.rank_of[torus.tail[gather.link]] < 0
    assert forwards.any()
    assert gather.num_ranks == 12

    # M is twelve shards: d/12 times the sum over steps of the busiest link's shards, by hand.
    busiest = [
        max(np.bincount(gather.link[gather.step == t]).tolist()) for t in range(1, gather.num_steps + 1)
    ]  # fmt: skip
    assert cost_of(gather) == Cost(4, Fraction(4 * sum(busiest), 12))
    assert cost_of(both) == cost_of(gather) + cost_of(scatter)
    fabric = Fabric.of("10us", "100Gbps", 4)
    shard = Fraction(8 * 12 * 10**6, 12) / (25 * 10**9)  # a shard of 12MB is 1MB, over a link of 25 Gbit/s
    assert seconds_of(gather, fabric, "12MB") == 4 * 10 * US + sum(busiest) * shard

    everywhere(gather, tmp_path)
    everywhere(both, tmp_path)
    draw_broadcast(gather, tmp_path / "shard.svg", 11)
    picture = (tmp_path / "shard.svg").read_text()
    assert picture.count('fill: #ffffff; stroke: #0072b2; stroke-width: 1.2"') == 4 + 1  # hollow, and in the legend
    assert "hollow: only forwards" in texts(tmp_path / "shard.svg")
    with pytest.raises(ScheduleError, match=r"root must be a rank in \[0, 12\), not 12"):
        draw_broadcast(gather, tmp_path / "shard.svg", 12)
    for made in (gather, both, from_root(gather, 3), from_root(scatter, 3), scatter):
        with one_line("lowering to msccl knows no hosts that forward without taking part: lower it to cpu"):
            linkstep.lower(made, "msccl")
        simulated(made, fabric, "12MB")
    for made in (from_root(gather, 3), from_root(scatter, 3), scatter):
        runs(made)
    with one_line("L\\(G\\) expands a schedule in which everyone takes part"):
        line_graph_schedule(gather)


def test_forwarders_have_no_part(torus, twelve):
    """What a node that is no rank sends in a reduction must have come to it, and goes on once."""
    scatter = replace(reverse(trees(torus, twelve)), topology=torus)
    columns = [getattr(scatter, what).tolist() for what in ("source", "lo", "hi", "link", "step")]
    rows = list(zip(*columns, strict=True))
    sender = torus.tail[scatter.link]
    r = next(r for r in range(len(rows)) if twelve.rank_of[sender[r]] < 0
             and torus.head[rows[r][3]] == twelve.nodes[rows[r][0]])  # fmt: skip
    source, node = rows[r][0], int(sender[r])
    feeding = [row for row in rows if row[0] == source and torus.head[row[3]] == node]
    home = int(twelve.nodes[source])
    assert feeding

    def scatter_of(some: list) -> Schedule:
        return Schedule.from_columns(torus, 1, *zip(*some, strict=True), "reduce-scatter", twelve)

    # The parts that came by it go straight to the root, over links of a wiring that has them: it has nothing to send.
    direct = Topology.from_links(16, [*torus.tail, *(torus.tail[row[3]] for row in feeding)],
                                 [*torus.head, *[home] * len(feeding)])  # fmt: skip
    pairs = list(zip(direct.tail.tolist(), direct.head.tolist(), strict=True))
    old = [pairs.index((int(torus.tail[e]), int(torus.head[e]))) for e in range(torus.num_links)]
    starved = [(v, a, b, old[e], t) for v, a, b, e, t in rows if (v, a, b, e, t) not in feeding]
    starved += [(source, 0, 1, pairs.index((int(torus.tail[row[3]]), home)), row[4]) for row in feeding]
    with pytest.raises(ScheduleError, match=f"node {node} takes no part and nothing of .0, 1./1 has come to it yet"):
        check(Schedule.from_columns(direct, 1, *zip(*starved, strict=True), "reduce-scatter", twelve))

    # Passed on a second time, to the root by the same link a step later, it counts twice.
    twice = [*rows, (*rows[r][:4], rows[r][4] + 1)]
    with pytest.raises(ScheduleError, match=f"node {node}'s sum of .* is counted .*: it is reduced twice"):
        check(scatter_of(twice))


def test_ranks_of_other_collectives(torus, twelve):
    gather = trees(torus, twelve)
    broadcast = from_root(gather, 3)
    check(broadcast)
    check(from_root(replace(reverse(gather), topology=torus), 3))
    assert broadcast.ranks == twelve
    assert cost_of(broadcast).bandwidth == 4 * broadcast.num_steps  # its data is one shard
    with pytest.raises(ScheduleError, match=r"root must be a rank in \[0, 12\)"):
        from_root(gather, 12)
    moved = relabel(gather, np.arange(15, -1, -1, dtype=np.int32))
    check(moved)
    assert moved.ranks.nodes.tolist() == [15 - u for u in twelve.nodes.tolist()]
    assert cost_of(moved) == cost_of(gather)
    missing = Schedule.from_columns(
        torus, 1, gather.source[:-1], gather.lo[:-1], gather.hi[:-1], gather.link[:-1], gather.step[:-1], ranks=twelve
    )
    with pytest.raises(ScheduleError, match=r"of shard \d+ \(of node \d+\) never arrives at node \d+"):
        check(missing)


def test_all_to_all_of_ranks():
    """Two of three nodes of a path exchange halves through the third."""
    path = Topology.from_links(3, [0, 1, 1, 2], [1, 0, 2, 1])
    ends = Ranks.of(path, [2, 0])
    rows = [(0, 1, 2, 3, 1), (0, 1, 2, 1, 2), (1, 0, 1, 0, 1), (1, 0, 1, 2, 2)]
    exchange = Schedule.from_columns(path, 2, *zip(*rows, strict=True), "all-to-all", ends)
    check(exchange)
    runs(exchange)
    simulated(exchange, Fabric.of("10us", "100Gbps", 2), "1MB")
    assert cost_of(exchange) == Cost(2, Fraction(2 * 2, 2))
    check(replace(reverse(exchange), topology=path))
    with pytest.raises(ScheduleError, match="must be a multiple of the 2 ranks, not 1"):
        check(Schedule.from_columns(path, 1, [], [], [], [], [], "all-to-all", ends))


@pytest.mark.slow
def test_ranks_in_another_order(torus):
    """Without forwarders every runtime has them: its ranks are the schedule's, wherever they sit."""
    backwards = Ranks.of(torus, range(15, -1, -1))
    both = allreduce(replace(reverse(trees(torus, backwards)), topology=torus), trees(torus, backwards))
    check(both)
    runs(both)
    simulated(both, Fabric.of("10us", "100Gbps", 4), "16MB")
    for target in ("msccl", "msccl-azure", "mscclpp", "rccl"):
        lowered = linkstep.lower(both, target)
        assert linkstep.verify(lowered.text, target).status == "verified"
        assert lowered.nodes == tuple(range(15, -1, -1))


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('version="2"', 'version="1"', "element forwarder where rank may be"),
        ('version="2"', 'version="3"', "version '3' is none we read"),
        ('forwarders="4"', 'forwarders="5"', "4 forwarder elements, but forwarders is 5"),
        (' forwarders="4"', "", "schedule has no forwarders"),
        ('ranks="12"', 'ranks="16"', "12 rank elements, but ranks is 16"),
        ('<forwarder id="13"', '<rank id="13"', "rank 13 after a forwarder: ranks come first"),
        ('<forwarder id="13" ', '<forwarder id="12" ', "forwarder 12 where forwarder 13 must be"),
        ('<forwarder id="13" scratch="', '<forwarder id="13" s="', "forwarder 13 has no scratch"),
    ],
)
def test_files_with_forwarders_refuse(torus, twelve, old, new, match):
    text = linkstep.lower(trees(torus, twelve), "cpu").text
    assert text.count(old) == 1
    with one_line(match):
        linkstep.verify(text.replace(old, new))


def test_what_forwarders_may_not_do(torus, twelve):
    """They have no data: what they name of it is out of bounds, and what they lose is missed."""
    text = linkstep.lower(trees(torus, twelve), "cpu").text
    first, forwarder = text.split('<forwarder id="12"')
    sends = [line for line in forwarder.splitlines() if line.startswith("<send")]
    own = text.replace(sends[0], sends[0].replace('src="s"', 'src="i"'))
    assert any("outside of the buffer's 0 chunks" in str(found) for found in linkstep.verify(own).errors)
    swapped = next(line for line in sends if 'srcoff="0"' in line)
    wrong = first + '<forwarder id="12"' + forwarder.replace(swapped, swapped.replace('srcoff="0"', 'srcoff="1"'), 1)
    assert linkstep.verify(wrong).status == "refuted"


def test_which_programs_go_together(torus, twelve):
    gather = trees(torus, twelve)
    (source,) = sources_of(gather)  # its topology serves no other collective: that would be one of all nodes
    assert (source.num_ranks, source.num_nodes, source.order[:2], source.order[12:]) == (12, 16, (1, 2), (0, 5, 10, 15))
    with one_line("it is for 16 nodes, 12 of them ranks, and there are 12"):
        sources_of(gather, 12)
    with one_line("not the same nodes take part in all that was given"):
        sources_of([gather, trees(torus, Ranks.everyone(torus))])


@pytest.mark.parametrize(
    ("nodes", "match"),
    [
        ([], "ranks must have at least one node"),
        ([0, 16], r"rank 1: must sit at a node in \[0, 16\), not 16"),
        ([3, 1, 3], "ranks 0 and 2 both sit at node 3: a node is one rank"),
        ([0.5], "ranks must hold integers, not float64"),
        (["x"], "no host is called 'x'"),
        ("7", "ranks must be a list of nodes, not '7'"),
        (7, "ranks must be a list of nodes, not 7"),
    ],
)
def test_ranks_refuse(torus, nodes, match):
    with one_line(match):
        Ranks.of(torus, nodes)


def test_ranks_as_values(torus, twelve):
    named = torus.with_labels([f"h{u}" for u in range(16)])
    assert Ranks.of(named, [f"h{u}" for u in twelve.nodes.tolist()]) == twelve
    assert Ranks.everyone(torus).is_everyone
    assert not Ranks.of(torus, [*range(1, 16), 0]).is_everyone
    assert not Ranks.of(torus, [*range(1, 16), 0]).has_forwarders
    assert twelve.without_ranks([1, 0]).nodes.tolist() == [u for u in range(2, 16) if u % 5]
    left = twelve.without_nodes([0, 1])
    assert (left.num_nodes, left.num_ranks) == (14, 11)
    assert {twelve: 1}[Ranks(16, twelve.nodes)] == 1
    schedule = linkstep.schedule(torus, "allgather").schedule
    assert schedule.ranks.is_everyone
    assert Schedule.from_columns(
        torus, schedule.unit, schedule.source, schedule.lo, schedule.hi, schedule.link, schedule.step,
        ranks=Ranks.everyone(torus),
    ) == schedule  # fmt: skip
    with one_line("ranks are of 16 nodes, the topology has 14"):
        replace(trees(torus, twelve), topology=torus.without_nodes([0, 1]))
    with one_line("ranks must be a Ranks"):
        Schedule.from_columns(torus, 1, [], [], [], [], [], ranks=[1, 2])
    with one_line(r"row 0: source must be a rank in \[0, 12\), not 12"):
        Schedule.from_columns(torus, 1, [12], [0], [1], [0], [1], ranks=twelve)


# Two hosts of four GPUs: a full mesh inside, GPU j of one host cabled to GPU j of the other


@pytest.fixture(scope="module")
def gpus() -> Topology:
    inside = [(4 * h + i, 4 * h + j) for h in range(2) for i in range(4) for j in range(4) if i != j]
    outside = [(j, 4 + j) for j in range(4)] + [(4 + j, j) for j in range(4)]
    links = inside + outside
    return Topology.from_links(
        8, [u for u, _ in links], [w for _, w in links], "two hosts",
        bandwidth=[300 * 10**9] * len(inside) + [100 * 10**9] * len(outside),
        labels=[f"{host}-gpu{j}" for host in ("ant", "bee") for j in range(4)],
        hosts=["ant"] * 4 + ["bee"] * 4, racks=["r1"] * 8,
    )  # fmt: skip


def two_level(gpus: Topology) -> Schedule:
    """Step 1: every GPU sends its shard to its host's GPUs and across; step 2: what came across goes inside."""
    number = {
        (u, w): e for e, (u, w) in enumerate(zip(gpus.tail.tolist(), gpus.head.tolist(), strict=True))
    }  # fmt: skip
    rows = [(u, 0, 1, e, 1) for (u, _), e in number.items()]
    for u in range(8):
        there = (u + 4) % 8
        rows += [(u, 0, 1, number[there, w], 2) for w in range(8) if w // 4 == there // 4 and w != there]
    return Schedule.from_columns(gpus, 1, *zip(*rows, strict=True))


def test_two_hosts_of_four(gpus, tmp_path):
    gather = two_level(gpus)
    check(gather)
    assert gpus.shares_hosts
    assert gpus.host_of.tolist() == [0] * 4 + [4] * 4
    loads = loads_of(gather)
    # Four shards leave each host, in step 1; what stays inside is nobody's limit.
    assert [column.tolist() for column in (loads.sent.step, loads.sent.place, loads.sent.amount)] == [
        [1, 1], [0, 4], [4, 4]
    ]  # fmt: skip
    # d = 4, the fastest links are inside: 3 for a shard across, then 1 for a shard inside, of 8 shards.
    assert cost_of(gather) == Cost(2, Fraction(4 * (3 + 1), 8))
    free = Fabric.of("1us", "1200Gbps", 4)
    limited = Fabric.of("1us", "1200Gbps", 4, host_bandwidth="200Gbps")
    shard = Fraction(8 * 10**6)
    across, inside = shard / (100 * 10**9), shard / (300 * 10**9)
    assert seconds_of(gather, free, "8MB") == 2 * US + across + inside
    # With the limit step 1 takes as long as four shards at 200 Gbit/s; step 2 stays inside.
    assert seconds_of(gather, limited, "8MB") == 2 * US + 4 * shard / (200 * 10**9) + inside
    assert limited.width(gpus) is None
    assert cost_of(gather, limited) == cost_of(gather)
    alone = gpus.with_places(hosts=[f"h{u}" for u in range(8)])
    assert not alone.shares_hosts
    assert limited.width(alone) == limited.width(replace(gpus, hosts=None)) == Fraction(2, 3)

    everywhere(gather, tmp_path)
    simulated(gather, free, "8MB")
    simulated(gather, limited, "8MB")
    for makes in (
        lambda: linkstep.schedule(gpus, fabric=limited),
        lambda: linkstep.wiring_bound(gpus, fabric=limited),
        lambda: linkstep.bfb_cost(gpus, limited),
    ):
        with one_line("knows no limit of hosts that several nodes share"):
            makes()
    made = linkstep.schedule(gpus, fabric=free)
    assert made.schedule.topology.hosts == gpus.hosts


def test_hosts_and_racks_go_along(gpus, tmp_path):
    new = np.array([7, 6, 5, 4, 3, 2, 1, 0])
    assert gpus.relabel(new).hosts == ("bee",) * 4 + ("ant",) * 4
    assert gpus.transpose().hosts == gpus.hosts
    assert gpus.transpose().racks == gpus.racks
    assert gpus.without_nodes([0, 5]).hosts == ("ant",) * 3 + ("bee",) * 3
    assert gpus.without_links([0]).racks == gpus.racks
    assert gpus.with_labels([f"n{u}" for u in range(8)]).hosts == gpus.hosts
    assert gpus.with_bandwidth([1] * gpus.num_links).hosts == gpus.hosts
    assert apply(gpus, [Down("ant-gpu1")], Fraction(10**11)).hosts == ("ant",) * 3 + ("bee",) * 4
    assert replace(gpus, hosts=None) == gpus  # names do not count
    assert Topology.from_networkx(gpus.to_networkx()).hosts == gpus.hosts
    odd = gpus.with_places(hosts=['a, "b"', *["#c<&"] * 7])
    for suffix in (".csv", ".graphml", ".json", ".npz"):
        for topology in (gpus, odd, replace(odd, labels=None)):
            path = tmp_path / f"gpus{suffix}"
            linkstep.save(topology, path)
            loaded = linkstep.load(path)
            assert loaded == topology
            assert (loaded.hosts, loaded.racks, loaded.labels) == (topology.hosts, topology.racks, topology.labels)


@pytest.mark.parametrize(
    ("hosts", "match"),
    [
        (["a"], "hosts must have one name for each of the 8 nodes, not 1"),
        (["a"] * 7 + [""], "the host of node 7 must be one line of printable text, not ''"),
        (["a"] * 7 + ["b\n"], "the host of node 7 must be one line of printable text"),
        (["a"] * 7 + [7], "hosts must be a list of names"),
        ("aaaaaaaa", "hosts must be a list of names, not 'aaaaaaaa'"),
        (5, "hosts must be a list of names, not 5"),
    ],
)
def test_hosts_refuse(gpus, hosts, match):
    with pytest.raises(TopologyError, match=match):
        gpus.with_places(hosts=hosts)
    with pytest.raises(TopologyError, match=match.replace("host", "rack")):
        gpus.with_places(racks=hosts)


# A ring of four whose chord opens at step 2


@pytest.fixture(scope="module")
def switched() -> Topology:
    """Return the duplex ring 0, 1, 2, 3, there at all steps; 0 -> 2 and 2 -> 0 open at step 2 and close after it."""
    tail, head = [0, 1, 2, 3, 1, 2, 3, 0, 0, 2], [1, 2, 3, 0, 0, 1, 2, 3, 2, 0]
    return Topology.from_links(
        4, tail, head, "switched", opens=[1] * 8 + [2, 2], closes=[32767] * 8 + [2, 2], racks=list("aabb")
    )


def chord_gather(switched: Topology, step: int = 2) -> Schedule:
    """Neighbours at step 1; then 0 and 2 over the chord, 1 and 3 over the ring."""
    number = {
        (u, w): e for e, (u, w) in enumerate(zip(switched.tail.tolist(), switched.head.tolist(), strict=True))
    }  # fmt: skip
    rows = [(u, 0, 1, number[u, (u + k) % 4], 1) for u in range(4) for k in (1, 3)]
    rows += [(0, 0, 1, number[0, 2], step), (2, 0, 1, number[2, 0], step)]
    rows += [(1, 0, 1, number[2, 3], 2), (3, 0, 1, number[0, 1], 2)]
    return Schedule.from_columns(switched, 1, *zip(*rows, strict=True))


def test_a_link_that_opens(switched, tmp_path):
    gather = chord_gather(switched)
    check(gather)
    assert cost_of(gather) == Cost(2, Fraction(3 * 2, 4))
    fabric = Fabric.of("10us", "300Gbps", 3, switching="25us")
    shard = Fraction(8 * 10**6) / (100 * 10**9)
    assert seconds_of(gather, fabric, "4MB") == 2 * (10 * US + shard) + 25 * US
    assert seconds_of(gather, replace(fabric, switching=Fraction(0)), "4MB") == 2 * (10 * US + shard)
    unused = replace(gather, topology=replace(switched, opens=None))
    assert seconds_of(unused, fabric, "4MB") == 2 * (10 * US + shard)
    path = tmp_path / "fabric.json"
    linkstep.save_fabric(fabric, path)
    assert '"switching": "25us"' in path.read_text()
    assert linkstep.load_fabric(path) == fabric

    everywhere(gather, tmp_path)
    done = linkstep.simulate(gather, fabric, "4MB", to="cpu")
    assert done.time == pytest.approx(float(2 * (10 * US + shard) + 25 * US), rel=1e-9)  # it waits for the chord
    chord = np.flatnonzero(switched.opens == 2)
    assert done.sent_start[np.isin(done.sent_link, chord)] == pytest.approx(float(35 * US + shard), rel=1e-9)
    with one_line(r"the link from node 0 to node 1 closes after 90us and is in use until 170us"):
        closing = replace(switched, closes=np.where(switched.head == 1, 1, 2).astype(np.int16))
        linkstep.simulate(replace(gather, topology=closing), fabric, "4MB", to="cpu")
    with one_line("simulating a program knows no links that open later or close"):
        program = assemble(linkstep.lower(gather.permanent(), "cpu"))
        linkstep.simulate(program, fabric, "4MB", topology=switched)
    with pytest.raises(
        ScheduleError, match=r"row 1: step 1, link 1 \(0 -> 2\) carries .* but the link opens at step 2"
    ):
        check(chord_gather(switched, 1))
    with pytest.raises(ScheduleError, match=r"link 1 \(0 -> 2\) carries .* but the link closes after step 2"):
        check(chord_gather(switched, 3))


def test_what_counts_no_steps_refuses(switched):
    gather = chord_gather(switched)
    for does in (
        lambda: linkstep.schedule(switched),
        lambda: linkstep.all_to_all(switched),
        lambda: linkstep.synthesize(switched, 2, 1),
        lambda: linkstep.wiring_bound(switched),
        lambda: linkstep.step_bound(switched, 2),
        lambda: linkstep.bfb_cost(switched),
        lambda: linkstep.bfb_allgather(switched),
        lambda: linkstep.trade_off(switched),
        lambda: linkstep.describe(switched),
        lambda: linkstep.lower(gather, "msccl"),
        lambda: line_graph_schedule(gather),
        lambda: reverse(gather),
    ):
        with one_line("knows no links that open later or close"):
            does()


def test_lifetimes_go_along(switched, tmp_path):
    ends = list(zip(switched.tail.tolist(), switched.head.tolist(), switched.opens.tolist(), strict=True))
    new = np.array([1, 2, 3, 0])
    moved = switched.relabel(new)
    assert sorted(zip(moved.tail.tolist(), moved.head.tolist(), moved.opens.tolist(), strict=True)) == sorted(
        ((u + 1) % 4, (w + 1) % 4, t) for u, w, t in ends
    )
    assert switched.transpose().transpose() == switched
    assert switched.is_bidirectional
    assert switched.without_links([0]).opens.tolist().count(2) == 2
    assert switched.without_nodes([0]).opens is None  # a column that says nothing is none
    assert switched.with_bandwidth([5] * 10).closes.tolist().count(2) == 2
    assert Topology.from_networkx(switched.to_networkx()) == switched
    always = Topology.from_links(4, switched.tail, switched.head)
    assert switched != always
    assert Topology.from_links(4, switched.tail, switched.head, opens=[1] * 10, closes=[32767] * 10) == always
    if is_available():
        turned = [1, 2, 3, 0]  # of the plain ring and chord no symmetry either, but of the ring alone it is
        assert turned not in [new.tolist() for new in automorphism_generators(switched)]
        ring = Topology.from_links(3, [0, 1, 2], [1, 2, 0])
        later = Topology.from_links(3, [0, 1, 2], [1, 2, 0], opens=[1, 1, 2])
        assert automorphism_generators(ring)
        assert not automorphism_generators(later)
    for suffix in (".csv", ".graphml", ".json", ".npz"):
        linkstep.save(switched, tmp_path / f"t{suffix}")
        loaded = linkstep.load(tmp_path / f"t{suffix}")
        assert loaded == switched
        assert loaded.racks == switched.racks
    for suffix in (".edges", ".gph", ".adj"):
        with one_line("cannot hold a topology with links that open later or close"):
            linkstep.save(switched, tmp_path / f"t{suffix}")


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"opens": [0, 1]}, "link 0: opens must be at least 1, not 0"),
        ({"closes": [1, 32768]}, "link 1: closes must be at most 32767, not 32768"),
        ({"opens": [1, 3], "closes": [1, 2]}, "link 1: closes must be at least opens, not 2 where it opens at step 3"),
        ({"opens": [1]}, r"opens must have one value a link \(2\), not 1"),
        ({"closes": [1.5, 2]}, "closes must hold integers"),
    ],
)
def test_lifetimes_refuse(columns, match):
    with pytest.raises(TopologyError, match=match):
        Topology.from_links(2, [0, 1], [1, 0], **columns)


def test_commands_refuse_in_one_line(switched, torus, twelve, tmp_path, capsys):
    linkstep.save(switched, tmp_path / "switched.csv")
    linkstep.save(trees(torus, twelve), tmp_path / "twelve.npz")
    linkstep.save(chord_gather(switched), tmp_path / "chord.npz")
    for argv in (
        ["schedule", "switched.csv"], ["show", "switched.csv"], ["lower", "twelve.npz", "--to", "msccl", "-o", "-"],
        ["lower", "chord.npz", "--to", "cpu", "-o", "-"], ["simulate", "twelve.npz", "--to", "msccl"],
    ):  # fmt: skip
        argv[1] = str(tmp_path / argv[1])
        assert main(argv) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.strip().splitlines()) == 1
        assert "knows no" in captured.err
    assert main(["check", str(tmp_path / "twelve.npz")]) == 0
    told = capsys.readouterr().out
    assert "N=16 (12 take part)" in told
    assert "optimal" not in told


def test_commands_carry_ranks(torus, twelve, switched, tmp_path, capsys, wide):
    file, chord, xml = (str(tmp_path / name) for name in ("twelve.npz", "chord.npz", "twelve.xml"))
    linkstep.save(trees(torus, twelve), file)
    linkstep.save(chord_gather(switched), chord)
    assert main(["lower", file, "--to", "cpu", "-o", xml]) == 0
    told = capsys.readouterr().out
    assert "  hosts        rank 0, 1, ... on nodes 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14\n" in told
    assert "  forward      nodes 0, 5, 10, 15\n" in told
    assert main(["verify", xml]) == 0
    assert "verified allgather of 12 ranks (4 more nodes forward)" in capsys.readouterr().out
    for argv in (["simulate", file, "--to", "cpu"], ["simulate", xml], ["simulate", chord, "--to", "cpu"]):
        assert main([*argv, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["ranks"] == (4 if chord in argv else 12)
        assert found["simulated_seconds"] > 0
        assert not found.get("wiring_bound")


# The same over MPI and torch: every node is a process


def clusters(torus, twelve, gpus, switched) -> dict[str, Schedule]:
    """Return the cases of this file, by name."""
    shuffled = Ranks.of(torus, np.roll(twelve.nodes[::-1], 5))
    gather = trees(torus, shuffled)
    frontera = linkstep.parse("Torus(3,3,2)").topology()
    limited = linkstep.schedule(frontera, "allreduce", fabric=Fabric.of("10us", "100Gbps", 5, host_bandwidth="60Gbps"))
    return {
        "twelve": allreduce(replace(reverse(gather), topology=torus), gather),
        "gathering": gather,
        "gpus": two_level(gpus),
        "switched": chord_gather(switched),
        "frontera": limited.schedule,
    }


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["mpi", "torch"])
@pytest.mark.parametrize("case", ["twelve", "gathering", "gpus", "switched", "frontera"])
def test_run_clusters(torus, twelve, gpus, switched, case, engine, tmp_path, capfd):
    pytest.importorskip({"mpi": "mpi4py", "torch": "torch"}[engine], reason=f"needs {engine}")
    schedule, path = clusters(torus, twelve, gpus, switched)[case], str(tmp_path / "schedule.npz")
    linkstep.save(schedule, path)
    options = ["--sizes", "1KiB,100003", "--repetitions", "2", "--timeout", "30s", "--json"]
    assert main(["run", path, "--engine", engine, *options]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["ranks"], found["forwarders"]) == (
        schedule.num_ranks, schedule.topology.num_nodes - schedule.num_ranks
    )  # fmt: skip
    assert [row["wrong"] for row in found["rows"]] == [0, 0]


_PROGRAM = """
import sys
import numpy as np
import linkstep
gather = linkstep.load(sys.argv[1])
communicator = linkstep.Communicator(gather, timeout=30)
node = communicator.transport.inner.rank
assert communicator.forwards == (gather.ranks.rank_of[node] < 0)
assert communicator.size == 12 and (communicator.forwards or gather.ranks.nodes[communicator.rank] == node)
for length in (3, 50_000):
    out = communicator.allgather(np.arange(length, dtype=np.int64) * 16 + node)
    wanted = np.concatenate([np.arange(length) * 16 + u for u in gather.ranks.nodes.tolist()])
    assert communicator.forwards or np.array_equal(out, wanted), (node, length)
open(sys.argv[2] + f"/{node}.done", "w").close()
"""


@pytest.mark.slow
def test_forwarders_make_the_same_calls(torus, twelve, tmp_path):
    """Processes that others start are nodes: ranks are found by where they sit."""
    pytest.importorskip("mpi4py", reason="needs MPI: pip install '.[mpi]'")
    launcher, more = mpi_launcher()
    linkstep.save(trees(torus, Ranks.of(torus, twelve.nodes[::-1])), tmp_path / "twelve.npz")
    (tmp_path / "program.py").write_text(_PROGRAM)
    files = [str(tmp_path / name) for name in ("program.py", "twelve.npz", "")]
    command = [*launcher, "-n", "16", sys.executable, *files]
    done = subprocess.run(command, env=os.environ | more, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.done"))) == 16
