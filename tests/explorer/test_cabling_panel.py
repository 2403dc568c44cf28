"""The cabling view's data: what the command says, of whatever has cables."""

from __future__ import annotations

import pytest

from linkstep.cabling import wire
from linkstep.core.errors import LinkstepError
from linkstep.explorer.document import Document
from linkstep.explorer.documents import document_of
from linkstep.explorer.packing import pack, unpack
from linkstep.explorer.panels import cabling
from linkstep.explorer.panels.cabling import cabling_panel
from linkstep.explorer.questions import answer
from linkstep.files import load
from linkstep.recipe import parse
from linkstep.reports.cabling import CablingReport

LIST = """\
Cable;A side;A port;Rack A;B side;B port;Rack B;Length
C-01;h1;eth1;r1;h2;eth1;r2;2 m
C-02;h2;eth2;r2;h3;eth1;r2;10 m
"""


def test_a_plan_is_a_document():
    topology = parse("Torus(3,4)").topology()
    plan, wiring = document_of(wire(topology)).panels
    assert (plan.kind, wiring.kind) == ("cabling", "wiring")
    expected = CablingReport.of(wire(topology), topology).to_json()
    assert plan.data["cross_connects"].reshape(-1, 2).tolist() == expected.pop("cross_connects")
    assert plan.data["facts"] == expected


def test_a_wiring_has_its_plan_beside_it():
    panels = document_of("K_4").panels
    assert [one.kind for one in panels] == ["wiring", "schedule", "cabling"]
    assert len(panels[2].data["facts"]["cables"]) == 6


def test_a_list_keeps_ports_racks_and_details(tmp_path):
    path = tmp_path / "cables.csv"
    path.write_text(LIST)
    data = unpack(pack(document_of(str(path))))["panels"][2]["data"]
    assert data["racks"] == ["r1", "r2", "r2"]
    first = data["facts"]["cables"][0]
    assert (first["from_port_name"], first["details"]["Cable"], first["details"]["Length"]) == ("eth1", "C-01", "2 m")


def test_a_page_asks_for_the_plan_that_faults_leave(tmp_path):
    path = tmp_path / "cables.csv"
    path.write_text(LIST + "C-03;h3;eth2;r2;h1;eth2;r1;3 m\n")
    asked = {"ask": "cabling", "what": str(path), "faults": [{"kind": "cut", "text": "h1,h2"}]}
    facts = answer(asked).panels[0].data["facts"]
    assert [row["details"]["Cable"] for row in facts["cables"]] == ["C-03", "C-02"]
    assert len(facts["faults"]) == 1


def test_two_plans(tmp_path):
    (tmp_path / "a.csv").write_text(LIST)
    (tmp_path / "b.csv").write_text(LIST.replace("h3;eth1", "h3;eth9"))
    first, second = load(tmp_path / "a.csv"), load(tmp_path / "b.csv")
    panel = cabling_panel(wire(first), first, "a.csv", other=(wire(second), second), other_argument="b.csv")
    difference = panel.data["difference"]
    assert difference["argument"] == "b.csv" and difference["labels"] == ["h1", "h2", "h3"]
    assert [one["words"] for one in difference["move"]] == [
        "Move cable C-02 between h2 and h3: at h3 from port eth1 to port eth9."
    ]
    assert unpack(pack(Document("both", (panel,))))["panels"][0]["data"]["difference"]["unplug"] == []


def test_more_cables_than_a_page_lists(monkeypatch):
    monkeypatch.setattr(cabling, "MAX_CABLES", 5)
    with pytest.raises(LinkstepError, match=r"^the plan has 6 cables, a page lists 5 at most: use linkstep wire$"):
        cabling_panel(wire(parse("K_4").topology()))
