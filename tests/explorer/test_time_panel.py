"""The data of the time and the runs view: columns that say what the library's values say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import linkstep
from linkstep.core.errors import FileError, LinkstepError
from linkstep.explorer import Document, document_of, pack
from linkstep.explorer.packing import unpack
from linkstep.explorer.panels import time as time_module
from linkstep.explorer.panels.runs import runs_panel
from linkstep.explorer.panels.time import time_panel
from linkstep.explorer.questions import answer
from linkstep.simulation.training import compare, load_model
from linkstep.timelines import Lane, Span, SpanFlow, Timeline, export_timeline, timeline_of
from linkstep.timelines.chrome_reading import read_trace
from support.runs_file import write_runs


def test_columns_are_those_of_the_simulation() -> None:
    done = linkstep.simulate("Torus(4,4)")
    timeline = timeline_of(done)
    data = time_panel(timeline).data
    spans = data["spans"]
    assert np.array_equal(data["lanes"]["busy"], done.busy)
    assert data["lasts"] == done.time
    assert sorted(zip(spans["lane"].tolist(), spans["start"].tolist(), spans["end"].tolist(), strict=True)) == sorted(
        (span.lane, span.start, span.end) for span in timeline.spans
    )
    assert not spans["track"].any()

    def described(k: int) -> tuple[object, ...]:
        return (int(spans["lane"][k]), float(spans["start"][k]), data["names"][spans["name"][k]])

    before, after = data["flows"]["before"].tolist(), data["flows"]["after"].tolist()
    ours = sorted((described(a), described(b)) for a, b in zip(before, after, strict=True))
    rows = [(span.lane, span.start, span.name) for span in timeline.spans]
    assert ours == sorted((rows[flow.before], rows[flow.after]) for flow in timeline.flows)
    assert [described(k) for k in data["critical"].tolist()] == [rows[k] for k in timeline.critical]
    sizes = next(one for one in data["details"] if one["name"] == "bytes")["values"]
    assert sizes.sum() == sum(dict(span.details)["bytes"] for span in timeline.spans)


def test_spans_at_once_have_tracks_of_their_own() -> None:
    spans = [
        Span(0, name, "k", start, end) for name, start, end in (("a", 0, 4), ("b", 1, 2), ("c", 2, 3), ("d", 4, 5))
    ]
    data = time_panel(Timeline("t", [Lane("g", "l")], [*spans, Span(0, "e", "k", 4.0, 4.0)])).data
    tracks = {
        data["names"][name]: int(track)
        for name, track in zip(data["spans"]["name"], data["spans"]["track"], strict=True)
    }
    assert tracks == {"a": 0, "b": 1, "c": 1, "d": 0, "e": 0}
    assert data["lanes"]["busy"].tolist() == [5.0]


def test_details_may_be_missing_or_texts() -> None:
    rows = [Span(0, "a", "k", 0.0, 1.0, (("bytes", 3), ("to", "1"))), Span(0, "b", "k", 1.0, 2.0)]
    bytes_, to = time_panel(Timeline("t", [Lane("g", "l")], rows)).data["details"]
    assert bytes_["texts"] is None
    assert bytes_["values"][0] == 3
    assert np.isnan(bytes_["values"][1])
    assert (to["texts"], to["values"].tolist()) == (["1"], [0, -1])


def test_too_many_spans_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_module, "MAX_SPANS", 10)
    with pytest.raises(LinkstepError, match=r"at most 10 spans, not 164: .*Perfetto"):
        document_of(linkstep.simulate("K_{4,4}"))


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_million_spans_are_packed(count: int) -> None:
    start = np.arange(count, dtype=np.float64) * 1e-6
    text = np.full(count, "round 1", object)
    from linkstep.timelines import Flows, Spans

    spans = Spans(np.arange(count) % 4096, text, text, start, start + 1e-6, {})
    ends = np.arange(count - 4096)
    lanes = [Lane(f"from {k // 4}", f"link {k}") for k in range(4096)]
    panel = time_panel(Timeline("million", lanes, spans, Flows(ends, ends + 4096)))
    found = unpack(pack(Document("million", (panel,))))["panels"][0]["data"]
    assert len(found["spans"]["start"]) == count
    assert np.allclose(np.sort(found["spans"]["start"]), start)


def test_training_has_its_parts_and_the_others_beside() -> None:
    found = compare(load_model("resnet18").job(8), linkstep.find(8, 4), linkstep.Fabric.of("10us", "100Gbps", 4))
    data = document_of(found).panels[0].data
    assert data["end"] == float(found.ours.time)
    assert [row[0] for row in data["beside"]["rows"]] == [one.name for one in found.outcomes]
    assert not data["spans"]["track"].any()
    assert document_of(found.ours.iteration).panels[0].data["end"] == data["end"]


def test_a_trace_is_read_back(tmp_path: Path) -> None:
    timeline = timeline_of(linkstep.simulate("Torus(4,4)"))
    path = tmp_path / "trace.json"
    export_timeline(timeline, path)
    found = read_trace(path)
    assert (found.title, found.lanes, found.critical) == (timeline.title, timeline.lanes, timeline.critical)
    assert list(found.flows) == list(timeline.flows)
    assert np.allclose(found.spans.end, timeline.spans.end, rtol=1e-12, atol=0)
    assert [span.details for span in found.spans] == [span.details for span in timeline.spans]
    assert document_of(str(path)).panels[0].kind == "time"


def test_a_wait_that_began_before_its_send_keeps_its_flow(tmp_path: Path) -> None:
    spans = [
        Span(0, "wait", "wait", 0.0, 3e-6),
        Span(1, "send", "send", 2e-6, 2.5e-6),
        Span(0, "next", "wait", 3.5e-6, 4e-6),
    ]
    made = Timeline("t", [Lane("rank 0", "calls"), Lane("rank 1", "calls")], spans, [SpanFlow(1, 0), SpanFlow(1, 2)])
    export_timeline(made, tmp_path / "t.json")
    assert list(read_trace(tmp_path / "t.json").flows) == [SpanFlow(1, 0), SpanFlow(1, 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"traceEvents": [', "not JSON"),
        ('{"traceEvents": {}}', "no trace events"),
        ('{"traceEvents": [{"ph": "X"}]}', "event 1 is none"),
        ('{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": -1}]}', "ends at"),
        (
            '{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"a": []}}]}',
            "event 1",
        ),
    ],
)
def test_broken_traces_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(FileError if "ends" not in said else LinkstepError, match=f"broken.json.*{said}"):
        document_of(path)


def test_runs_say_what_their_file_says(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    written = write_runs(path)
    panel = document_of(path).panels[0]
    assert panel.kind == "runs"
    (run,) = panel.data["runs"]
    assert run["cost"] == "4 alpha + 7/4 M/B"
    for name in ("size", "median_seconds", "busbw", "own_median_seconds", "predicted_seconds"):
        assert [row[name] for row in run["rows"]] == [row[name] for row in written["rows"]]
    (bare,) = document_of(linkstep.load_runs(path)).panels[0].data["runs"]
    assert [row["algbw"] for row in bare["rows"]] == [row["size"] / row["median_seconds"] for row in written["rows"]]
    assert bare["rows"][0]["own_median_seconds"] is None


def test_odd_numbers_of_a_run_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    written = write_runs(path)
    written["rows"][0].update(busbw="much", own_median_seconds=-1, predicted_seconds=True, p99_seconds=10**400)
    path.write_text(json.dumps(written))
    row = runs_panel(path).data["runs"][0]["rows"][0]
    assert [row[name] for name in ("busbw", "own_median_seconds", "predicted_seconds", "p99_seconds")] == [None] * 4


def test_a_file_without_a_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    written = write_runs(path)
    path.write_text(json.dumps(written | {"rows": []}))
    with pytest.raises(LinkstepError, match="no size was measured"):
        document_of(path)


def test_a_page_asks_for_a_collective_in_time() -> None:
    seen: list[str] = []
    asked = {"ask": "time", "what": "K_{4,4}", "collective": "allgather", "to": "rccl", "size": "16MB"}
    data = answer(asked, lambda label, done, total: seen.append(label)).panels[0].data
    made = linkstep.schedule("K_{4,4}", "allgather")
    assert data["lasts"] == linkstep.simulate(made.schedule, size="16MB", to="rccl").time
    assert {"schedule", "simulate"} <= set(seen)
    assert (data["asked"]["collective"], data["asked"]["to"], data["asked"]["size"]) == ("allgather", "rccl", "16MB")


def test_a_page_asks_for_training_on_its_wiring() -> None:
    data = answer({"ask": "time", "what": "Torus(3,3)", "job": "resnet18"}).panels[0].data
    assert data["beside"]["rows"][0][0] == "Torus(3,3)"
    assert {data["groups"][0], *data["kinds"]} == {"server", "forward", "backward", "allreduce"}


def test_what_does_not_fit_keeps_what_may_be_asked_instead() -> None:
    question = {"ask": "time", "what": "UniRing(1,40)", "to": "mscclpp"}
    data = answer(question).panels[0].data
    assert data["why_not"].startswith("allreduce does not fit mscclpp: ")
    assert (data["asked"]["to"], "cpu" in data["asked"]["targets"]) == ("mscclpp", True)
    assert "spans" not in data
    assert "why_not" not in answer(question | {"to": "cpu"}).panels[0].data


def test_minutes_of_work_are_not_begun_unasked() -> None:
    data = answer({"ask": "time", "what": "Torus(32,32)"}).panels[0].data
    assert data["why_not"].startswith("To simulate 2,095,104 messages or more takes minutes")
    assert data["asked"]["to"] == "cpu"


def test_a_schedule_of_few_messages_is_simulated_however_many_hosts_there_are(tmp_path: Path) -> None:
    path = tmp_path / "broadcast.npz"
    linkstep.save(linkstep.schedule("Torus(32,32)", "broadcast").schedule, path)
    data = answer({"ask": "time", "what": str(path), "size": "1KiB"}).panels[0].data
    assert "why_not" not in data and data["lasts"] > 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"to": "nccl"}, "the runtimes are .*not 'nccl'"),
        ({"job": "nothing"}, "the models are .*not 'nothing'"),
        ({"collective": "gossip"}, "collective"),
        ({"size": "0B"}, "more than 0 bytes"),
        ({"what": "Torus(1)"}, "Torus"),
    ],
)
def test_what_cannot_be_simulated_is_one_line(more: dict[str, str], said: str) -> None:
    with pytest.raises(LinkstepError, match=said) as found:
        answer({"ask": "time", "what": "K_3", **more})
    assert "\n" not in str(found.value)
