"""More ports are never worse: idle ports, copies and unions in ``find``, each built at the cost that its row says."""

from fractions import Fraction
from functools import cache

import pytest

import linkstep
from linkstep.costs import Fabric, cost_of
from linkstep.recipe import Copies, Idle, Union, parse
from linkstep.search import find, ports
from linkstep.search.bases import member_choice
from linkstep.search.spot import Spot

DUPLEX, DIRECTED = True, False
KINDS = [pytest.param(DUPLEX, id="duplex"), pytest.param(DIRECTED, id="directed")]
MOST_PORTS = 32
SOME = [
    (3, 1, 12),
    (7, 1, 32),
    (8, 5, 32),
    (12, 8, 24),
    (33, 2, 8),
    (50, 6, 8),
    pytest.param(64, 12, 15, marks=pytest.mark.slow),
]
"""N, and the fewest and the most ports that are looked at."""


@cache
def rows(num_nodes, degree, duplex):
    """What is known, without a search on the spot."""
    return find(num_nodes, degree, directed=not duplex, spot=Spot(0)).frontier


def check_never_worse(num_nodes, degrees, duplex):
    """At a fixed rate a port, whatever d - 1 ports do d ports do too, in as many steps and in no more time."""
    for degree in degrees:
        fewer, more = rows(num_nodes, degree - 1, duplex), rows(num_nodes, degree, duplex)
        costs = [(row.allreduce_cost.steps, row.allreduce_cost.bandwidth / degree) for row in more]
        for row in fewer:
            steps, bandwidth = row.allreduce_cost.steps, row.allreduce_cost.bandwidth / (degree - 1)
            assert any(s <= steps and b <= bandwidth for s, b in costs), (num_nodes, degree, row)


@pytest.mark.parametrize("duplex", KINDS)
@pytest.mark.parametrize(("nodes", "least", "most"), SOME)
def test_more_ports_are_never_worse(nodes, least, most, duplex):
    check_never_worse(nodes, range(least + 1, most + 1), duplex)


@pytest.mark.slow
@pytest.mark.parametrize("duplex", KINDS)
@pytest.mark.parametrize("nodes", range(2, 65))
def test_more_ports_are_never_worse_up_to_64_servers(nodes, duplex, monkeypatch):
    """Of all-to-all only what distances allow is worked out: it takes most of the time, and is not compared here."""
    monkeypatch.setattr("linkstep.search.choice.FLOW_LINKS", 0)
    rows.cache_clear()
    check_never_worse(nodes, range(2, MOST_PORTS + 1), duplex)
    rows.cache_clear()


@pytest.mark.parametrize("duplex", KINDS)
def test_time_at_a_fixed_rate_a_port(duplex):
    """What people feel: 25Gbps a port, and no size takes longer with a port more."""
    port = Fabric.of("10us", "100Gbps", 4)
    for size in ("1KB", "1MB", "1GB"):
        times = [
            min(port.with_degree(d).time(row.allreduce_cost, "allreduce", size) for row in rows(8, d, duplex))
            for d in range(2, MOST_PORTS + 1)
        ]
        assert times == sorted(times, reverse=True), size


def test_a_fixed_rate_a_server_is_another_question():
    """100Gbps a server over 7 or 8 ports: K_8 uses all of 7, and with 8 ports one step leaves an eighth unused."""
    best = {
        d: min(
            Fabric.of("10us", "100Gbps", d).time(row.allreduce_cost, "allreduce", "1MB") for row in rows(8, d, DUPLEX)
        )
        for d in (7, 8)
    }
    assert best[8] > best[7]
    assert min(row.steps for row in rows(8, 8, DUPLEX)) == min(row.steps for row in rows(8, 7, DUPLEX)) == 2


@pytest.mark.parametrize("duplex", KINDS)
@pytest.mark.parametrize(
    ("nodes", "degree"),
    [
        (3, 5),
        (5, 17),
        (7, 9),
        (8, 8),
        (8, 14),
        (8, 17),
        (9, 7),
        (12, 17),
        pytest.param(64, 13, marks=pytest.mark.slow),
        (64, 15),
        pytest.param(61, 20, marks=pytest.mark.slow),
    ],
)
def test_rows_are_built_at_the_cost_they_say(nodes, degree, duplex):
    for row in rows(nodes, degree, duplex):
        made = row.build("allreduce")
        linkstep.check(made)
        assert cost_of(made) == row.allreduce_cost, row
        assert (cost_of(row.build()), cost_of(row.build("reduce-scatter"))) == (row.cost, row.reduce_scatter)
        topology = made.topology
        assert (topology.num_nodes, topology.degree) == (nodes, degree) == (row.num_nodes, row.recipe.degree)
        assert topology.is_bidirectional or not duplex
        assert not row.is_simple or topology.num_parallel == topology.num_self_loops == 0
        assert not row.is_loop_free or topology.num_self_loops == 0
        assert row.diameter == linkstep.describe(topology).diameter
        assert parse(str(row.recipe)) == row.recipe


@pytest.mark.parametrize("duplex", KINDS)
@pytest.mark.parametrize("nodes", [3, 5, 8, pytest.param(13, marks=pytest.mark.slow)])
def test_with_as_many_ports_as_servers_nothing_is_better(nodes, duplex):
    """One step takes what the thinnest bundle does, two take (N-1)/N; of odd N and d, duplex, one port is idle."""
    for degree in range(nodes - 1, MOST_PORTS + 1):
        used = degree - 1 if duplex and nodes * degree % 2 else degree
        straight = Fraction(degree, nodes * (degree // (nodes - 1)))
        relayed = Fraction((nodes - 1) * degree, nodes * used)
        found = {(row.worse_half.steps, row.worse_half.bandwidth) for row in rows(nodes, degree, duplex)}
        assert (1, straight) in found
        assert straight == relayed or (2, relayed) in found


def test_odd_servers_with_odd_ports_leave_one_idle():
    """No duplex wiring uses all ports of 7 servers with 5: some server has one left, and T_B counts that."""
    (row,) = rows(7, 5, DUPLEX)
    assert isinstance(row.recipe, Idle) and row.recipe.count == 1
    assert row.cost.bandwidth == Fraction(6, 7) * Fraction(5, 4)
    assert not linkstep.wire(row.topology()).cables[0].from_port >= 5
    assert len(linkstep.wire(row.topology()).cables) == 7 * 4 // 2


def test_unions_and_copies_are_found():
    assert any(isinstance(row.recipe, Union) and row.steps == 4 for row in rows(64, 15, DUPLEX))
    assert any(isinstance(row.recipe, Copies) for row in rows(64, 24, DUPLEX))


@pytest.mark.parametrize("recipe", ["K_8", "Q(3)", "Pi_{3,12}", "L(K_{2,2})"])
def test_idle_and_copied_choices_cost_what_their_wirings_do(recipe):
    base = member_choice(parse(recipe)) if not parse(recipe).parts else None
    if base is None:
        base = next(row for row in rows(8, 2, DIRECTED))
    for choice in (ports.idle(base), ports.idle(ports.idle(base)), ports.copied(base, 3)):
        assert cost_of(choice.build("allreduce")) == choice.allreduce_cost
        measured = linkstep.schedule(choice.recipe, "allreduce", **choice.how)
        assert measured.cost == choice.allreduce_cost


def test_what_is_known_of_fewer_ports_is_not_asked_for_twice(monkeypatch):
    """Where a row is as good as any wiring of fewer ports could be, those are not looked at: `find 64 4` is as fast."""
    asked = []
    looked = ports.over_ports

    def counted(frontier, num_nodes, degree, *more):
        asked.append(degree)
        return looked(frontier, num_nodes, degree, *more)

    monkeypatch.setattr(ports, "over_ports", counted)
    monkeypatch.setattr("linkstep.search.answer.over_ports", counted)
    for duplex in (True, False):
        find(64, 4, directed=not duplex)
    assert asked == [4, 4]


def test_large_clusters_look_at_the_catalog_only(monkeypatch):
    """Beyond some hundred servers no search for fewer ports is started."""
    monkeypatch.setattr(ports, "SEARCHED_NODES", 63)
    asked = []
    found = find(64, 13, spot=Spot(0)).frontier
    monkeypatch.setattr("linkstep.search.answer._frontier", lambda *a: asked.append(a[:2]) or [])
    assert any(isinstance(row.recipe, Idle) and row.steps == 4 for row in found)
    assert find(64, 13, spot=Spot(0)).frontier
    assert asked == [(64, 13)]
