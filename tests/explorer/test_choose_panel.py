"""The choose panel and the questions and documents that it comes by."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from linkstep.baselines import usual_baselines
from linkstep.baselines.trees import depths, tree_cost, tree_halves, tree_height
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.costs import Cost, Fabric
from linkstep.explorer import pack
from linkstep.explorer.documents import document_of, usual_pricing
from linkstep.explorer.packing import unpack
from linkstep.explorer.panels.choose import LARGEST, SMALLEST, choose_panel
from linkstep.explorer.questions import answer
from linkstep.reports.pricing import Pricing
from linkstep.search import find
from linkstep.search.windows import windows
from linkstep.simulation.training import compare, load_model

SMALL = {"ask": "choose", "nodes": 12, "degree": 4}


def test_facts_are_those_of_find() -> None:
    found = find(64, 4)
    data = choose_panel(found, usual_pricing()).data
    facts = data["facts"]
    assert facts["best"]["name"] == "Cat(64,4,26778)"
    assert [(row["steps"], row["t_b"]) for row in facts["frontier"]] == [
        (row.allreduce_cost.steps, str(row.allreduce_cost.bandwidth)) for row in found.frontier
    ]
    fabric = Fabric.of("10us", "100Gbps", 4)
    expected = [(one.smallest, one.largest) for one in windows(found, fabric, (SMALLEST, LARGEST))]
    assert [(row["min_bytes"], row["max_bytes"]) for row in facts["windows"]] == expected
    assert data["times"] is None
    assert json.loads(json.dumps(data)) == unpack(pack(document_of(found)))["panels"][0]["data"] | {"shown": {}}


def test_cables_are_counted() -> None:
    data = choose_panel(find(64, 4), usual_pricing()).data
    counts = {row["name"]: row["cables"]["count"] for row in data["today"]}
    assert (counts["Torus(8,8)"], counts["DoubleBinaryTree(64)"]) == (128, 126)
    directed = choose_panel(find(64, 4, directed=True), usual_pricing()).data
    assert directed["cables"][0] == {"count": 256, "is_duplex": False, "is_at_most": False}


def _offers(pipeline: dict[str, Any]) -> list[Cost]:
    """Return all costs that a pipeline's data stand for, as the page reads them."""
    one = pipeline["through_roots"]
    lead, each = one["steps"] - 1, Fraction(one["t_b"]) / one["steps"]
    rooted = [Cost(lead + k, each * (lead + k) / k) for k in range(1, min(one["most_pieces"], 2000) + 1)]
    return rooted + [Cost(cost["steps"], Fraction(cost["t_b"])) for cost in pipeline["costs"]]


@pytest.mark.parametrize("nodes", [12, *(pytest.param(nodes, marks=pytest.mark.slow) for nodes in (5, 35, 66, 300))])
def test_a_pipeline_is_as_fast_as_the_page_makes_it(nodes: int) -> None:
    found = find(nodes, 4)
    data = choose_panel(found, usual_pricing()).data
    at = next(k for k, row in enumerate(data["today"]) if row["pipeline"])
    offers = _offers(data["today"][at]["pipeline"])
    for alpha in ("1us", "10us", "1ms"):
        fabric = Fabric.of(alpha, "100Gbps", 4)
        for size in (1, 10**4, 10**6, 3 * 10**6):
            least = min(fabric.time(cost, Collective.ALLREDUCE, size) for cost in offers)
            assert least == found.baselines[at].allreduce_time(fabric, size)


@pytest.mark.parametrize("nodes", [67, 128, 200, 1024, 1500])
def test_only_small_trees_gain_by_pipelines_of_halves(nodes: int) -> None:
    for depth in depths(nodes):
        half = tree_cost(nodes, depth)
        pieces = 2 * half.steps - 2 * tree_height(nodes) + 1
        up, down = tree_halves(nodes, pieces)
        assert (up + down).is_within(half + half)


def test_where_a_fabric_has_more_times_are_worked_out() -> None:
    fabric = Fabric.of("10us", "100Gbps", 4, overhead="5us", host_bandwidth="80Gbps")
    found = find(12, 4, fabric=fabric)
    times = choose_panel(found, Pricing("3MB", fabric)).data["times"]
    assert "3000000" in times["sizes"]
    at = times["sizes"].index("3000000")
    for row, said in zip(found.frontier, times["frontier"], strict=True):
        assert said["allreduce"][at] == float(fabric.time(row.allreduce_cost, Collective.ALLREDUCE, "3MB"))
    for today, said in zip(found.baselines, times["today"], strict=True):
        assert said["allreduce"][at] == float(today.allreduce_time(fabric, "3MB"))


def test_a_page_asks_for_servers_ports_and_a_workload() -> None:
    watched: list[str] = []
    for question, best in (
        ({}, "C(12,{2,3})"),
        ({"rank_by": "all-to-all"}, "C(12,{2,3})"),
        ({"nodes": 64}, "Cat(64,4,26778)"),
    ):
        made = answer(SMALL | question, lambda label, done, total: watched.append(label))
        assert [panel.kind for panel in made.panels] == ["choose"]
        assert made.panels[0].data["facts"]["best"]["name"] == best
    assert set(watched) == {"find", "all-to-all", "rank"}
    assert answer(SMALL | {"kind": "directed"}).panels[0].data["facts"]["kind"] == "directed"


def test_a_page_asks_for_a_training_job() -> None:
    data = answer(SMALL | {"rank_by": "job", "job": "resnet18", "alpha": "20us"}).panels[0].data
    found = compare(load_model("resnet18").job(12), find(12, 4), Fabric.of("20us", "100Gbps", 4))
    assert data["facts"]["best"]["seconds"] == float(found.ours.time)
    assert [row["seconds"] for row in data["job"]["today"]] == [float(one.time) for one in found.today]
    assert data["job"]["bound"]["seconds"] == float(found.bound.time)
    assert min(row["seconds"] for row in data["job"]["frontier"]) == float(found.ours.time)


def test_rows_of_one_wiring_have_iterations_of_their_own() -> None:
    question = {"nodes": 1024, "kind": "directed", "rank_by": "job", "job": "gpt2-small"}
    data = answer(SMALL | question).panels[0].data
    rows, ranked = data["job"]["frontier"], data["facts"]["job"]["rows"]
    assert len({(row["recipe"], row["method"]) for row in rows}) < len(rows)
    assert sorted(row["seconds"] for row in rows) == [row["seconds"] for row in ranked]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"nodes": 0}, "the number of nodes must lie in [2, 10000000], not 0"),
        ({"nodes": "64"}, "the number of nodes must be an integer, not '64'"),
        ({"nodes": None}, "the number of nodes must be an integer, not None"),
        ({"nodes": 2.5}, "the number of nodes must be an integer, not 2.5"),
        ({"degree": 0}, "the degree must lie in [1, 64], not 0"),
        ({"degree": True}, "the degree must be an integer, not True"),
        ({"kind": "magic"}, "kind must be one of duplex, directed, not 'magic'"),
        ({"rank_by": "luck"}, "rank_by must be one of allreduce, all-to-all, job, not 'luck'"),
        ({"rank_by": "job", "job": "/etc/passwd"}, "job must be one of alexnet, "),
        ({"size": "0MB"}, "size must be positive, not 0MB"),
        ({"size": "-1MB"}, "size must be a number with a unit"),
        ({"size": 5}, "size must be a str, not 5"),
        ({"alpha": "soon"}, "time must be a number with a unit"),
        ({"bandwidth": "0Gbps"}, "bandwidth must be positive, not 0Gbps"),
    ],
)
def test_what_cannot_be_asked_is_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(LinkstepError) as error:
        answer(SMALL | wrong)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("thing", ["12 4", " 12  4 ", (12, 4), find(12, 4)])
def test_an_answer_is_a_page_with_its_best_wiring(thing: object) -> None:
    made = document_of(thing)
    assert made.title == "12 servers with 4 ports"
    assert [panel.kind for panel in made.panels] == ["choose", "wiring", "schedule", "cabling"]
    assert made.panels[0].data["shown"] == {"C(12,{2,3})": 1}
    assert made.panels[1].title == "C(12,{2,3})"


def test_without_a_row_only_the_answer_is_shown() -> None:
    made = document_of("3 1")
    assert [panel.kind for panel in made.panels] == ["choose"]
    assert made.panels[0].data["facts"]["best"] is None


def test_a_ranked_answer_shows_its_first_row() -> None:
    ranked = find(1024, 4, directed=True, size="1GB")
    assert ranked.is_ranked
    from linkstep.explorer.documents import best_row

    assert best_row(ranked, usual_pricing()) is ranked.frontier[0]
    assert best_row(find(1024, 4, directed=True), usual_pricing()) is not ranked.frontier[0]


@pytest.mark.parametrize(
    ("thing", "said"), [((0, 4), "the number of nodes must lie in"), ("64 99", "the degree must lie in")]
)
def test_servers_that_cannot_be(thing: object, said: str) -> None:
    with pytest.raises(LinkstepError, match=said):
        document_of(thing)


def test_baselines_in_the_panel_are_those_of_the_answer() -> None:
    data = choose_panel(find(64, 4, directed=True), usual_pricing()).data
    assert [row["name"] for row in data["today"]] == [row.recipe.short for row in usual_baselines(64, 4, directed=True)]
