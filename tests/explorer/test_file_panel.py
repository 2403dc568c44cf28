"""The file view's data: places in texts of every format, findings at their lines, what messages carry."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import linkstep
import support
from linkstep.core.errors import LinkstepError
from linkstep.explorer.document import Document
from linkstep.explorer.documents import document_of, usual_pricing
from linkstep.explorer.packing import pack, unpack
from linkstep.explorer.panels import file as panels_file
from linkstep.explorer.panels.file import file_panel, program_panel
from linkstep.explorer.panels.file_places import Lines, find_places
from linkstep.explorer.questions import answer
from linkstep.lowering import TARGETS
from linkstep.programs import read_program
from linkstep.simulation import simulate_program, used_links
from linkstep.verification import verify_text
from support import judge
from support.random_programs import cpu_mutants, plus_mutants

PROGRAMS = sorted((Path(support.__file__).parent / "programs").iterdir())
BY_NAME = {path.name: path.read_text() for path in PROGRAMS}


def data_of(text: str, name: str = "a file", **more: Any) -> Any:
    return file_panel(text, name, usual_pricing(), **more).data


def instructions(text: str) -> dict[tuple[int, int | None, int], str]:
    """Every instruction's text by its place, by readers that know no positions."""
    found: dict[tuple[int, int | None, int], str] = {}
    if text.lstrip().startswith("{"):
        for gpu in json.loads(text)["gpus"]:
            for tb in gpu["threadblocks"]:
                for k, op in enumerate(tb["ops"]):
                    found[gpu["id"], tb["id"], k] = json.dumps(op)
        return found
    import xml.etree.ElementTree as ET

    root = ET.fromstring(text)
    for gpu in root:
        if root.tag == "schedule":
            for k, one in enumerate(gpu):
                found[int(gpu.get("id", "")), None, k] = ET.tostring(one, encoding="unicode")
        for tb in gpu if root.tag == "algo" else ():
            for k, one in enumerate(tb):
                found[int(gpu.get("id", "")), int(tb.get("id", "")), k] = ET.tostring(one, encoding="unicode")
    return found


def same(text: str, other: str) -> bool:
    """Whether two texts are one instruction, however it is spaced."""
    if text.startswith("{"):
        return bool(json.loads(text) == json.loads(other))
    import xml.etree.ElementTree as ET

    a, b = ET.fromstring(text if text.endswith("/>") else f"{text[:-1]}/>"), ET.fromstring(other)
    return a.tag == b.tag and a.attrib == b.attrib


def texts() -> list[Any]:
    lowered = [pytest.param(linkstep.lower("K_{2,2}", target).text, id=f"lowered-{target}") for target in TARGETS]
    written = [pytest.param(text, id=name) for name, text in BY_NAME.items()]
    plan = json.dumps(json.loads(BY_NAME["allpairs-allreduce.mscclpp.json"]))
    prolog = BY_NAME["ring-allreduce.cpu.xml"].replace("<sync", "<!-- <rank> --><sync").replace(" n=", "\n\t n=")
    return [*lowered, *written, pytest.param(plan, id="one-line"), pytest.param(prolog, id="comments and lines")]


@pytest.mark.parametrize("text", texts())
def test_every_instruction_is_found(text: str) -> None:
    places, wanted = find_places(text), instructions(text)
    assert int((places.step >= 0).sum()) == len(wanted) == read_program(text).num_instructions or "ops" in text
    for place, written in wanted.items():
        row = places.find(*place)
        assert row is not None and places.step[row] == place[2]
        assert same(text[places.first[row] : places.last[row]], written), place
    assert places.find(10**6) is None


def test_what_is_missing_is_sought_in_its_threadblock_and_rank() -> None:
    text = BY_NAME["ring-allreduce.msccl.xml"]
    places = find_places(text)
    found = [text[places.first[row] :].split(" ", 2)[:2] for row in (places.find(1, 0, 99), places.find(1, 99, 0))]
    assert found == [["<tb", 'id="0"'], ["<gpu", 'id="1"']]


@pytest.mark.parametrize("name", list(BY_NAME))
def test_a_truncated_text_has_the_places_of_its_beginning(name: str) -> None:
    text = BY_NAME[name]
    whole = find_places(text)
    for end in range(0, len(text), 97):
        part = find_places(text[:end])
        assert part.first.tolist() == whole.first[: len(part)].tolist()
        assert (whole.last <= end).sum() - 1 <= len(part) <= (whole.first < end).sum()


def test_lines() -> None:
    lines = Lines("a\nbc\n\nd")
    assert [lines.of(k) for k in range(7)] == [1, 1, 2, 2, 2, 3, 4]
    assert lines.number == 4 and [lines.range(k) for k in (0, 1, 2, 3, 4, 9)] == [
        (0, 1), (0, 1), (2, 4), (5, 5), (6, 7), (6, 7)
    ]  # fmt: skip


def broken() -> list[Any]:
    """Mutants of three formats that are refuted at a step of the file."""
    makers = {
        "ring-allreduce.msccl.xml": judge.mutants,
        "allpairs-allreduce.rccl.xml": judge.mutants,
        "ring-allreduce.cpu.xml": cpu_mutants,
        "allpairs-allreduce.mscclpp.json": plus_mutants,
        "ports-allgather.mscclpp.json": plus_mutants,
    }
    return [
        pytest.param(text, id=f"{name}-{what}")
        for name, make in makers.items()
        for what, text in make(BY_NAME[name], 20, 5)
    ]


@pytest.mark.parametrize("text", broken())
def test_findings_are_marked_where_they_are(text: str) -> None:
    data = data_of(text)
    try:
        report = verify_text(text)
    except LinkstepError as error:
        assert data["facts"]["status"] == "unreadable" and data["facts"]["error"] == str(error)
        return
    assert data["facts"]["status"] == report.status
    assert [one["message"] for one in data["facts"]["findings"]] == [one.message for one in report.findings]
    wanted = instructions(text)
    for finding, mark in zip(report.findings, data["findings"], strict=True):
        if finding.step is None:
            continue
        first, last = mark["spots"][0]
        place = finding.rank, finding.threadblock, finding.step
        if place in wanted:
            assert same(text[first:last], wanted[place])
        assert mark["line"] == text[:first].count("\n") + 1
        assert finding.rank in mark["ranks"]


def test_a_race_marks_both_who_race() -> None:
    text = BY_NAME["ring-allreduce.cpu.xml"].replace('<sync n="2" ops="0"/>', '<sync n="2" ops=""/>', 1)
    data = data_of(text)
    assert "which rank 0 step 3 writes" in data["facts"]["findings"][0]["message"]
    assert [text[first:last].split(" n=")[0] for first, last in data["findings"][0]["spots"]] == ["<recv", "<reduce"]
    assert data["messages"] is not None  # what races is played all the same


def test_a_deadlock_has_its_pairs() -> None:
    text = BY_NAME["ring-allreduce.cpu.xml"]
    text = text.replace('<send n="1" peer="1" chan="0" src="i" srcoff="2" cnt="1"/>', '<sync n="1" ops="0"/>', 1)
    assert verify_text(text).status == "refuted"
    data = data_of(text)
    assert data["messages"] is None and data["why_not_played"].startswith("It cannot run: ")
    assert sorted(zip(data["wires"]["tail"].tolist(), data["wires"]["head"].tolist(), strict=True)) == [
        (0, 1), (1, 2), (2, 0)
    ]  # fmt: skip


@pytest.mark.parametrize("name", list(BY_NAME))
def test_messages_are_what_the_simulator_sends(name: str) -> None:
    program, pricing = read_program(BY_NAME[name]), usual_pricing()
    topology = used_links(program)
    done = simulate_program(program, topology, pricing.fabric_for(topology.degree), pricing.size)
    data = data_of(BY_NAME[name])
    found = data["messages"]
    rows = sorted(zip(*(found[one].tolist() for one in ("link", "start", "end", "round")), strict=True))
    columns = (done.sent_link, done.sent_start, done.sent_end, done.sent_round)
    assert rows == sorted(zip(*(one.tolist() for one in columns), strict=True))
    assert data["simulation"]["simulated_seconds"] == done.time
    assert (found["start"][1:] >= found["start"][:-1]).all() and (found["here"] > found["end"]).all()
    assert (found["rank"] == topology.tail[found["link"]]).all()  # none of these files fetches
    assert (found["first"][1:] - found["first"][:-1] == found["chunks"]).all()


@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_messages_carry_what_their_collective_needs(target: str, collective: str) -> None:
    """What ranks hear, with their own data, is what they must end with; nothing is ever spoilt."""
    schedule = linkstep.schedule("K_{3,3}", collective).schedule
    data = data_of(linkstep.lower(schedule, target).text)
    found, ranks = data["messages"], data["facts"]["ranks"]
    assert data["facts"]["status"] == "verified" and (found["chunk"] >= 0).all() and (found["parts"] >= 1).all()
    assert ((found["whose"] >= 0) == (found["parts"] == 1)).all()
    heard = defaultdict(set)
    for k, link in enumerate(found["link"].tolist()):
        for x in range(found["first"][k], found["first"][k + 1]):
            heard[int(data["wires"]["head"][link])].add((found["chunk"][x].item(), found["whose"][x].item()))
    if collective == "allgather":
        own = data["facts"]["chunks"] // ranks
        for rank in range(ranks):
            assert heard[rank] == {(c, r) for c in range(own) for r in range(ranks) if r != rank}
        return
    assert (found["parts"] < ranks).all() == (collective == "reduce-scatter")


def test_a_small_program_by_hand() -> None:
    data = data_of(BY_NAME["ring-allreduce.cpu.xml"])
    found, wires = data["messages"], data["wires"]
    said = [
        (int(wires["tail"][e]), int(wires["head"][e]), c, p, w)
        for e, c, p, w in zip(*(found[one].tolist() for one in ("link", "chunk", "parts", "whose")), strict=True)
    ]
    assert said[:6] == [
        (0, 1, 2, 1, 0),
        (1, 2, 0, 1, 1),
        (2, 0, 1, 1, 2),
        (0, 1, 1, 2, -1),
        (1, 2, 2, 2, -1),
        (2, 0, 0, 2, -1),
    ]
    assert {p for *_, p, _ in said[6:]} == {3} and len(said) == 12


HOSTILE = {
    "script": "<script>alert(1)</script>", "end": "]]></script>", "line": "x" * 10**7, "empty": "", "space": " \n ",
    "binary": "".join(map(chr, range(256))) * 1000, "truncated": BY_NAME["ring-allreduce.msccl.xml"][:3000],
    "laughs": '<!DOCTYPE s [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY a{k} "{f"&a{k - 1};" * 10 if k else "&a;" * 10}">' for k in range(9))
        + ']><schedule>&a8;</schedule>',
    "surrogate": '{"gpus": [], "name": "\ud800"', "quotes": '<a "' * 10**6, "comments": "<!--" * 10**6,
    "deep": "<algo>" * 10**5, "escapes": '{"gpus": ["' + '\\"' * 10**6, "lists": '{"gpus":' + "[" * 10**6,
    "keys": '{"a":' * 10**5, "name": json.dumps({"name": "\ud800" * 40, "gpus": "x"}),
}  # fmt: skip


@pytest.mark.parametrize("what", list(HOSTILE))
def test_hostile_texts_are_a_verdict_in_one_line(what: str) -> None:
    began = time.process_time()
    panel = file_panel(HOSTILE[what], "<b>\ud800</b>", usual_pricing())
    packed = pack(Document("x", (panel,)))
    assert time.process_time() - began < 20
    facts = unpack(packed)["panels"][0]["data"]["facts"]
    assert facts["status"] == "unreadable" and facts["error"] and "\n" not in facts["error"]
    assert len(facts["error"]) <= 300


def test_long_texts_are_cut_around_their_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    text = BY_NAME["ring-allreduce.msccl.xml"]
    at = text.rindex('type="r"')
    wrong = text[:at] + 'type="s"' + text[at + 8 :]
    monkeypatch.setattr(panels_file, "SHOWN", 1000)
    monkeypatch.setattr(panels_file, "_AROUND", 100)
    data = data_of(wrong)
    assert len(data["text"]) >= 2 and sum(len(one["text"]) for one in data["text"]) < len(wrong)
    for piece in data["text"]:
        assert wrong[piece["at"] :].startswith(piece["text"])
        assert piece["line"] == wrong[: piece["at"]].count("\n") + 1
    for mark in data["findings"]:
        for first, last in mark["spots"]:
            assert any(one["at"] <= first and last <= one["at"] + len(one["text"]) for one in data["text"])


def test_positions_are_a_browsers() -> None:
    text = (
        BY_NAME["ring-allreduce.cpu.xml"]
        .replace("ring by hand", "\U0001f9ff\U0001f9ff")
        .replace('ops="0"', 'ops=""', 1)
    )
    data = data_of(text)
    units = text.encode("utf-16-le")
    first, last = data["findings"][0]["spots"][0]
    assert units[2 * first : 2 * last].decode("utf-16-le").startswith('<recv n="0"')


def test_on_a_topology_of_ones_own() -> None:
    text = BY_NAME["ring-allreduce.cpu.xml"]
    ring = linkstep.parse("K_3").topology()
    data = data_of(text, on=ring)
    assert data["wires"]["name"] == "K_3" and len(data["wires"]["tail"]) == 6 and data["messages"] is not None
    elsewhere = data_of(text, on=linkstep.parse("K_4").topology())
    assert elsewhere["messages"] is None and "the topology 4 nodes" in elsewhere["why_not_played"]
    assert len(elsewhere["wires"]["tail"]) == 3


def test_things_of_the_library(tmp_path: Path) -> None:
    lowered = linkstep.lower("Torus(3,3)", "msccl")
    path = tmp_path / "torus.xml"
    path.write_text(lowered.text)
    documents = [document_of(one) for one in (lowered, path, str(path), read_program(lowered.text))]
    assert [[panel.kind for panel in one.panels] for one in documents] == [["file"]] * 4
    assert [one.title for one in documents] == [
        "allreduce on Torus(3,3) for msccl", "torus.xml", "torus.xml", "allreduce for msccl"
    ]  # fmt: skip
    facts = [one.panels[0].data["facts"] for one in documents]
    assert {one["status"] for one in facts} == {"verified"}
    assert len({one["instructions"] for one in facts}) == 1
    assert documents[0].panels[0].data["wires"]["layouts"][0]["name"] == "grid"
    assert documents[3].panels[0].data["text"] == [{"at": 0, "line": 1, "text": ""}]


def test_nothing_to_play() -> None:
    head = '<schedule format="linkstep-cpu" version="1" coll="reduce" ranks="1" chunks="1" inplace="0" root="0">'
    copy = '<copy n="0" src="i" srcoff="0" dst="o" dstoff="0" cnt="1"/>'
    text = f'{head}<rank id="0" input="1" output="1" scratch="0">{copy}</rank></schedule>'
    data = data_of(text)
    assert data["facts"]["status"] == "verified" and data["why_not_played"] == "Nothing is sent between ranks."
    assert program_panel(read_program(text), "one", usual_pricing()).data["messages"] is None


def test_a_page_asks_for_a_text() -> None:
    text = BY_NAME["ring-allreduce.cpu.xml"]
    panel = answer({"ask": "file", "name": "ring.xml", "text": text, "size": "3MB", "on": "K_3"}).panels[0]
    assert panel.title == "ring.xml" and panel.data["simulation"]["size"] == 3 * 10**6
    assert panel.data["wires"]["name"] == "K_3"
    with pytest.raises(LinkstepError, match="text must be"):
        answer({"ask": "file", "name": "x", "text": None})
    path = str(PROGRAMS[0])
    assert answer({"ask": "file", "text": path}).panels[0].data["facts"]["status"] == "unreadable"  # no path is opened
