"""The schedule view's data: rows come back whole, figures are the library's, certificates hold of the loads."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.correctness import split_phases
from linkstep.costs import Fabric, loads_of, seconds_of
from linkstep.costs.seconds import bandwidth_by_step, cost_of
from linkstep.explorer import Document, document_of, pack
from linkstep.explorer.beside import beside_of
from linkstep.explorer.documents import usual_pricing, why_unplayable
from linkstep.explorer.packing import unpack
from linkstep.explorer.panels.schedule import certificate_of, schedule_panel
from linkstep.explorer.questions import answer
from linkstep.explorer.rows import unpacked_rows
from linkstep.reports.pricing import Pricing
from linkstep.scheduling import ScheduleResult
from support.played import random_topology, replay, some_schedules

SCHEDULES = some_schedules()


def panel_of(made: ScheduleResult, **more):
    """Return a panel's data as a page gets them."""
    panel = schedule_panel(made, usual_pricing(), **more)
    return unpack(pack(Document("one", (panel,))))["panels"][0]["data"]


@pytest.mark.parametrize("name", SCHEDULES)
def test_rows_come_back_whole(name):
    schedule = SCHEDULES[name].schedule
    played = panel_of(SCHEDULES[name])["played"]
    columns, reduces = unpacked_rows(played["rows"], schedule.topology, len(played["steps"]))
    wanted = np.stack([schedule.step, schedule.link, schedule.source, schedule.lo, schedule.hi]).astype(np.int64)
    order = np.lexsort(wanted[::-1])
    assert np.array_equal(columns, wanted[:, order])
    assert np.array_equal(reduces, split_phases(schedule)[0][order])


def test_a_reduction_over_cables_that_runs_backwards_is_not_sent():
    rows = {name: panel_of(made)["played"]["rows"]["reduce"] for name, made in SCHEDULES.items()}
    assert rows["cables allreduce"] == rows["parallel cables"] == "mirrored"
    assert all(rows[name] != "mirrored" for name in ("fibres allreduce", "cables reduce-scatter", "cables allgather"))


@pytest.mark.parametrize("name", SCHEDULES)
def test_steps_are_what_costs_and_loads_say(name):
    made = SCHEDULES[name]
    schedule, played = made.schedule, panel_of(made)["played"]
    assert sum(Fraction(one["t_b"]) for one in played["steps"]) == made.cost.bandwidth == Fraction(played["t_b"])
    busiest = loads_of(schedule).links.busiest(schedule.num_steps).tolist()
    assert [Fraction(one["busiest"]) * schedule.unit for one in played["steps"]] == busiest
    fabric = usual_pricing().fabric_for(schedule.topology.degree)
    assert played["seconds"] == float(seconds_of(schedule, fabric, "1MB"))
    assert sum(one["seconds"] for one in played["steps"]) == pytest.approx(played["seconds"] - played["besides"])
    for one, step in zip(played["steps"], range(1, schedule.num_steps + 1), strict=True):
        used = set(schedule.link[schedule.step == step].tolist())
        assert (one["links"], one["links"] + one["idle"]) == (len(used), schedule.topology.num_links)


def test_what_a_call_takes_besides_its_steps_is_apart():
    made = linkstep.schedule("Torus(3,3)")
    pricing = Pricing("1MB", Fabric.of("10us", "100Gbps", 1, overhead="30us"))
    played = schedule_panel(made, pricing).data["played"]
    assert played["besides"] == 30e-6


def test_steps_of_hosts_with_a_limit_add_up_to_its_cost():
    fabric = Fabric.of("10us", "100Gbps", 4, host_bandwidth="50Gbps")
    made = linkstep.schedule("Torus(3,3)", fabric=fabric)
    steps = schedule_panel(made, Pricing("1MB", fabric)).data["played"]["steps"]
    assert sum(Fraction(one["t_b"]) for one in steps) == made.cost.bandwidth
    assert sum(bandwidth_by_step(made.schedule, fabric)) == cost_of(made.schedule, fabric).bandwidth


def certified() -> list:
    """Return what certificates are made of: (method, wiring or seed of one, collective)."""
    every = product(
        ["bfb", "arrival"], ["Torus(4,4)", "L(Diamond)", 1, 3], ["allgather", "reduce-scatter", "allreduce"]
    )
    long = {("arrival", "L(Diamond)", "reduce-scatter"), ("arrival", "L(Diamond)", "allreduce")}
    return [
        pytest.param(*one, marks=pytest.mark.slow if one in long or one[:2] == ("arrival", 1) else []) for one in every
    ]


@pytest.mark.parametrize(("method", "what", "collective"), certified())
def test_links_of_a_certificate_carry_just_what_it_says(what, collective, method):
    made = linkstep.schedule(random_topology(9, 2, what) if isinstance(what, int) else what, collective, method=method)
    schedule, topology = made.schedule, made.schedule.topology
    found = certificate_of(made, split_phases(schedule)[0])
    assert found["steps"]
    loads = loads_of(schedule).links
    for one in found["steps"]:
        load = {e: a for s, e, a in zip(loads.step, loads.place, loads.amount, strict=True) if s == one["step"]}
        ends = topology.tail if one["sends"] else topology.head
        assert {int(ends[e]) for e in one["links"]} == {one["node"]}
        carried = [Fraction(int(load[e]), schedule.unit) for e in one["links"]]
        assert carried == [Fraction(one["load"])] * len(carried)
        assert max(load.values()) == carried[0] * schedule.unit
        assert Fraction(one["shards"]) <= sum(carried)
        assert one["sends"] == bool(split_phases(schedule)[0][schedule.step == one["step"]].all())
    assert len(found["steps"]) == schedule.num_steps // (
        1 if _is_of_one_half(made) else len(schedule.collective.phases)
    )


def _is_of_one_half(made: ScheduleResult) -> bool:
    """Whether a certificate speaks of all steps there are: cables are duplex, or there is one half."""
    return made.schedule.topology.is_bidirectional or len(made.schedule.collective.phases) == 1


def test_a_certificate_of_another_method_is_not_shown():
    made = linkstep.schedule("Torus(2,3)", "broadcast")
    assert panel_of(made)["certificate"] is None
    overlapped = linkstep.schedule("BiRing(2,5)", method="overlapped")
    assert panel_of(overlapped)["certificate"] is None


@pytest.mark.parametrize(
    ("what", "collective", "names"),
    [
        ("Torus(4,4)", "allreduce", ["torus rings", "Swing", "Bruck"]),
        ("Torus(3,3)", "broadcast", ["torus rings", "Bruck"]),
        ("Q(3)", "reduce-scatter", ["recursive doubling", "NCCL ring"]),
        ("DoubleBinaryTree(8)", "allreduce", ["double binary tree"]),
        ("Torus(4,4)", "all-to-all", []),
        ("C(12,{2,3})", "allreduce", []),
    ],
)
def test_what_runs_on_these_wires_today_is_beside(what, collective, names):
    made = linkstep.schedule(what, collective, root=1 if collective == "broadcast" else 0)
    found = beside_of(made, usual_pricing())
    assert [one.name for one in found] == names
    for one in found:
        linkstep.check(one.schedule)
        assert (one.schedule.collective, one.schedule.topology) == (made.schedule.collective, made.schedule.topology)
        if collective == "broadcast":
            assert set(one.schedule.source.tolist()) == {1}
    shown = panel_of(made, beside=found)["beside"]
    assert [one["name"] for one in shown] == names


def test_breadth_first_broadcast_is_beside_what_beats_it():
    made = linkstep.schedule("Cat(16,4,53548)")
    assert (made.method, [one.name for one in beside_of(made, usual_pricing())]) == (
        "arrival",
        ["breadth-first broadcast"],
    )


def test_what_is_too_large_is_named_before_it_is_made(monkeypatch):
    monkeypatch.setattr("linkstep.explorer.beside._MOST_ROWS", 1000)
    made = linkstep.schedule("Torus(4,4)")
    monkeypatch.setattr("linkstep.baselines.row.Baseline.schedule", None)
    found = beside_of(made, usual_pricing())
    assert [(one.name, one.schedule) for one in found] == [("torus rings", None), ("Swing", None), ("Bruck", None)]
    data = panel_of(made, beside=found)
    assert (data["beside"], data["left_out"]) == ([], ["torus rings", "Swing", "Bruck"])


def test_schedules_from_files_are_played(tmp_path):
    path = tmp_path / "one.json"
    linkstep.save(linkstep.schedule("Torus(2,3)", "allgather").schedule, path)
    panel = document_of(str(path)).panels[0]
    assert panel.data["played"]["collective"] == "allgather"
    assert panel.data["certificate"] is None


def test_what_cannot_be_played_says_why_in_a_line():
    ring = linkstep.parse("UniRing(1,2)").topology()
    fine = Schedule.from_columns(ring, 2**55, [0, 1], [0, 0], [2**55] * 2, [0, 1], [1, 1])
    document = document_of(fine)
    assert (
        document.panels[0].data["unplayable"].startswith("the schedule cuts a shard into 36,028,797,018,963,968 parts")
    )
    assert unpack(pack(document))["panels"][0]["data"]["facts"]["steps"] == 1
    large = linkstep.explorer.documents.read_argument("Torus(64,64)")[0]
    assert why_unplayable(large, linkstep.Collective("broadcast")) is None
    assert "33,546,240 rows or more" in why_unplayable(large, linkstep.Collective("allreduce"))


def test_a_live_page_asks_for_collectives_methods_and_roots():
    asked = {"ask": "schedule", "what": "Torus(2,3)", "collective": "broadcast", "method": "bfb", "root": "4"}
    data = answer(asked).panels[0].data
    assert data["played"]["root"] == 4
    assert (data["asked"]["method"], data["asked"]["root"]) == ("bfb", 4)
    assert [one["name"] for one in data["asked"]["methods"]][:2] == ["bfb", "arrival"]
    seen = []
    answer({"ask": "schedule", "what": "K_4"}, lambda label, done, total: seen.append(label))
    assert seen[0] == "allreduce on K_4"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ({"collective": "gossip"}, "collective must be one of"),
        ({"method": "magic"}, "method must be one of"),
        ({"method": "exchange"}, "makes all-to-all schedules only"),
        ({"root": "17", "collective": "broadcast"}, "no host is called '17'"),
        ({"what": "Torus(64,64)"}, "a page plays 8,000,000 at most"),
    ],
)
def test_what_cannot_be_asked_is_one_line(question, text):
    with pytest.raises(LinkstepError, match=text) as error:
        answer({"ask": "schedule", "what": "Torus(2,3)"} | question)
    assert "\n" not in str(error.value)


def test_a_file_with_a_schedule_is_played_until_another_is_asked_for(tmp_path):
    path = tmp_path / "one.json"
    linkstep.save(linkstep.schedule("Torus(2,3)", "allgather", method="bfb").schedule, path)
    own = answer({"ask": "schedule", "what": str(path)}).panels[0].data
    assert (own["asked"]["method"], own["played"]["collective"]) == ("file", "allgather")
    other = answer({"ask": "schedule", "what": str(path), "collective": "broadcast"}).panels[0].data
    assert (other["asked"]["method"], other["played"]["collective"]) == ("best", "broadcast")


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_replay_ends_with_what_the_collective_promises(name):
    schedule = SCHEDULES[name].schedule
    last = replay(schedule)[-1]
    assert not any(last.to_pass)
    nodes = schedule.ranks.nodes.tolist()
    shards = 1 if schedule.collective.has_root else schedule.num_ranks
    if str(schedule.collective) in ("allgather", "allreduce", "broadcast", "all-to-all"):
        assert all(last.finished[node] == shards for node in nodes)
    else:
        assert sum(last.finished) == shards
