"""The difference of two cabling plans: doing what it says makes one of the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.cabling import Cabling, wire
from linkstep.core.topology import Topology
from linkstep.files import load
from linkstep.recipe import parse
from linkstep.reports.cabling import CablingReport
from linkstep.reports.plan_difference import CablingDifference
from linkstep.reports.view import to_members
from support.strategies import topologies


def report(topology: Topology, plan: Cabling | None = None) -> CablingReport:
    return CablingReport.of(wire(topology) if plan is None else plan, topology)


def named(recipe: str) -> Topology:
    topology = parse(recipe).topology()
    return topology.with_labels([f"h{node}" for node in range(topology.num_nodes)])


def plugs(rows):
    """Return cables as what a technician sees: pairs of (host, port, side), none first if it is duplex."""
    found = []
    for row in rows:
        ends = (row.from_, row.from_port), (row.to, row.to_port)
        found.append((row.kind, *(sorted(ends) if row.kind == "duplex" else ends)))
    return sorted(found)


def done(before: CablingReport, found: CablingDifference):
    """Return the plan after the work was done on it."""
    gone = {one.cable.cable for one in found.unplug} | {one.before.cable for one in found.move}
    rows = [row for row in before.cables if row.cable not in gone]
    return rows + [one.after for one in found.move] + [one.cable for one in found.plug]


@given(topologies(), topologies(), st.data())
def test_property_doing_what_it_says_makes_the_other_plan(first, second, data):
    names = [f"h{node}" for node in range(max(first.num_nodes, second.num_nodes))]
    order = data.draw(st.permutations(names))
    before = report(first.with_labels(names[: first.num_nodes]))
    after = report(second.with_labels(order[: second.num_nodes]))
    found = CablingDifference.of(before, after)
    assert plugs(done(before, found)) == plugs(after.cables)
    assert found.num_kept + len(found.move) + len(found.unplug) == len(before.cables)
    assert found.num_kept + len(found.move) + len(found.plug) == len(after.cables)


@given(topologies())
def test_property_a_plan_does_not_differ_from_itself(topology):
    found = CablingDifference.of(report(topology), report(topology))
    assert not (found.unplug or found.move or found.plug or found.hosts_gone or found.hosts_added)
    assert found.words == f"The plans are the same: {found.num_kept} cable{'s' * (found.num_kept != 1)}."


def test_other_numbers_of_the_same_hosts_change_nothing():
    topology = named("Torus(3,4)")
    order = [7, 3, 11, 0, 5, 1, 10, 2, 9, 4, 8, 6]
    place = {node: at for at, node in enumerate(order)}
    again = Topology.from_links(
        12, [place[u] for u in topology.tail.tolist()], [place[w] for w in topology.head.tolist()]
    ).with_labels([f"h{node}" for node in order])
    found = CablingDifference.of(report(topology), report(again))
    assert not (found.unplug or found.plug)  # ports follow the numbers of hosts, so cables may move


def test_two_cables_with_their_ports_swapped():
    topology = named("K_4")
    plan = wire(topology)
    first, second, *rest = plan.cables  # h0 port 0 to h1, h0 port 1 to h2
    swapped = (replace(first, from_port=second.from_port), replace(second, from_port=first.from_port), *rest)
    found = CablingDifference.of(report(topology), report(topology, replace(plan, cables=swapped)))
    assert [one.words for one in found.move] == [
        "Move cable 0 between h0 and h1: at h0 from port 0 to port 1.",
        "Move cable 1 between h0 and h2: at h0 from port 1 to port 0.",
    ]
    assert found.words == "0 cables to unplug, 2 to move to other ports, 0 to plug; 4 cables stay as they are."


def test_two_cables_with_their_ends_swapped():
    before = Topology.from_links(4, [0, 1, 2, 3], [1, 0, 3, 2]).with_labels(["a", "b", "c", "d"])
    after = Topology.from_links(4, [0, 3, 2, 1], [3, 0, 1, 2]).with_labels(["a", "b", "c", "d"])
    found = CablingDifference.of(report(before), report(after))
    assert [one.words for one in found.unplug] == [
        "Unplug cable 0: a port 0 to b port 0.", "Unplug cable 1: c port 0 to d port 0.",
    ]  # fmt: skip
    assert [one.words for one in found.plug] == [
        "Plug cable 0 of the second plan: a port 0 to d port 0.",
        "Plug cable 1 of the second plan: b port 0 to c port 0.",
    ]  # fmt: skip
    assert not found.move and not found.num_kept


def test_a_fibre_turned_around_is_another():
    there = Topology.from_links(2, [0], [1]).with_labels(["a", "b"])
    back = Topology.from_links(2, [1], [0]).with_labels(["a", "b"])
    found = CablingDifference.of(report(there), report(back))
    assert (len(found.unplug), len(found.plug), len(found.move)) == (1, 1, 0)


def test_hosts_that_come_and_go():
    found = CablingDifference.of(report(named("K_3")), report(named("K_4")))
    assert found.hosts_added == ("h3",) and found.hosts_gone == ()
    assert to_members(found)["hosts_added"] == ["h3"]


LINES = "Cable,A side,A port,B side,B port\nC-01,h1,{},h2,eth1\nC-02,h2,eth2,h3,eth1\nC-03,h3,eth2,h1,eth2\n"


@pytest.fixture
def lists(tmp_path):
    """Two lists that differ in a port of C-01."""
    found = []
    for k, port in enumerate(("eth1", "eth3")):
        path = tmp_path / f"{k}.csv"
        path.write_text(LINES.format(port))
        found.append(load(path))
    return found


def test_ports_and_cables_are_called_as_in_their_lists(lists):
    found = CablingDifference.of(report(lists[0]), report(lists[1]))
    assert found.by_name
    assert [one.words for one in found.move] == [
        "Move cable C-01 between h1 and h2: at h1 from port eth1 to port eth3."
    ]


def test_a_plan_without_names_of_ports_is_compared_by_their_numbers(lists):
    plain = Topology.from_links(3, lists[0].tail, lists[0].head).with_labels(list(lists[0].labels))
    found = CablingDifference.of(report(lists[0]), report(plain))
    assert not found.by_name
    assert not (found.unplug or found.plug)
