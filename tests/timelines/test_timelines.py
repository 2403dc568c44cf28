"""Timelines: what they hold of a simulation, the formats they are written in, and a format added in one row."""

import csv
import io
import json
from fractions import Fraction
from itertools import pairwise

import pytest

import linkstep
from linkstep.cli import main
from linkstep.core.errors import FileError, LinkstepError
from linkstep.simulation.training.job import Job, Layer
from linkstep.simulation.training.network import Network
from linkstep.simulation.training.streams import simulate_iteration
from linkstep.timelines import EXPORTS, Export, Lane, Span, SpanFlow, Timeline, export_timeline, timeline_of
from linkstep.timelines.chrome import chrome_text
from linkstep.timelines.table import csv_text

FABRIC = linkstep.Fabric.of("10us", "100Gbps", 2)


@pytest.fixture(scope="module")
def done():
    return linkstep.simulate(linkstep.parse("K_{2,2}").build("allreduce"), FABRIC, "1MB")


@pytest.fixture(scope="module")
def iteration():
    """Backward b (1 s), its allreduce; an all-to-all around a: by hand below."""
    layers = (
        Layer("a", Fraction(1), Fraction(1), Fraction(0), Fraction(8)),
        Layer("b", Fraction(1), Fraction(1), Fraction(8)),
    )
    wire = Network("8 bytes in a second", lambda size: size / 8, lambda size: size / 8)
    return simulate_iteration(Job("two", 2, layers), wire, 8)


def test_every_message_is_a_span(done):
    found = timeline_of(done)
    assert found.title == "K_{2,2}: allreduce for msccl"
    assert [lane.name for lane in found.lanes[:2]] == ["link 0: 0 to 2", "link 1: 0 to 3"]
    assert [lane.group for lane in found.lanes] == [f"from {node}" for node in (0, 0, 1, 1, 2, 2, 3, 3)]
    busy = [sum(span.end - span.start for span in found.spans if span.lane == link) for link in range(8)]
    assert busy == pytest.approx(done.busy.tolist())
    assert found.end <= done.time
    assert {span.name for span in found.spans} == {f"round {k}" for k in range(1, 5)}


def test_hosts_have_their_names():
    topology = linkstep.parse("K_2").topology().with_labels(["ann", "bob"])
    done = linkstep.simulate(linkstep.schedule(topology, "allgather").schedule, FABRIC, "1MB")
    assert timeline_of(done).lanes == (Lane("from ann", "link 0: ann to bob"), Lane("from bob", "link 1: bob to ann"))


def test_an_iteration_flows_between_its_streams(iteration):
    found = timeline_of(iteration, "two")
    names = [(found.lanes[span.lane].name, span.kind, span.name) for span in found.spans]
    assert [lane.name for lane in found.lanes] == ["compute", "communication"]
    flows = [(names[flow.before][1:], names[flow.after][1:]) for flow in found.flows]
    assert flows == [
        (("all-to-all", "a"), ("forward", "a")),
        (("forward", "a"), ("all-to-all", "a")),
        (("all-to-all", "a"), ("forward", "b")),
        (("backward", "b"), ("allreduce", "b")),
        (("backward", "b"), ("all-to-all", "a")),
        (("all-to-all", "a"), ("backward", "a")),
        (("backward", "a"), ("all-to-all", "a")),
    ]
    for flow in found.flows:
        assert found.spans[flow.before].end <= found.spans[flow.after].start
    assert found.end == float(iteration.time)


def test_only_simulations_have_timelines():
    with pytest.raises(LinkstepError, match=r"^a str has no timeline: only a Simulation or an Iteration of training$"):
        timeline_of("K_4")


@pytest.mark.parametrize(
    ("spans", "flows", "message"),
    [
        ([Span(1, "a", "x", 0, 1)], [], "span 'a' is on lane 1, of 1 lanes"),
        ([Span(0, "a", "x", 2, 1)], [], "span 'a' ends at 1 s, before its start at 2 s"),
        ([Span(0, "a", "x", 0, float("nan"))], [], "ends at nan s"),
        ([Span(0, "a", "x", 0, 1)], [SpanFlow(0, 1)], "a flow is from span 0 to 1, of 1 spans"),
    ],
)
def test_what_is_no_timeline(spans, flows, message):
    with pytest.raises(LinkstepError, match=message):
        Timeline("none", (Lane("g", "l"),), tuple(spans), tuple(flows))


def test_trace_events(iteration):
    """Read as tools read them: names of processes and threads, then spans in microseconds, then pairs of flow ends."""
    timeline = timeline_of(iteration, "two")
    document = json.loads(chrome_text(timeline))
    events = document["traceEvents"]
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {"server"}
    spans = [e for e in events if e["ph"] == "X"]
    assert [(threads[e["pid"], e["tid"]], e["name"], e["cat"]) for e in spans] == [
        (timeline.lanes[span.lane].name, span.name, span.kind) for span in timeline.spans
    ]
    assert [(e["ts"], e["dur"]) for e in spans] == [
        pytest.approx((1e6 * span.start, 1e6 * (span.end - span.start))) for span in timeline.spans
    ]
    begun = {e["id"]: e for e in events if e["ph"] == "s"}
    ended = {e["id"]: e for e in events if e["ph"] == "f"}
    assert begun.keys() == ended.keys() == set(range(1, len(timeline.flows) + 1))
    for number, flow in enumerate(timeline.flows, 1):
        for event, span in ((begun[number], spans[flow.before]), (ended[number], spans[flow.after])):
            assert (event["pid"], event["tid"], event["ts"]) == (span["pid"], span["tid"], span["ts"])


def test_table(done):
    timeline = timeline_of(done)
    rows = list(csv.DictReader(io.StringIO(csv_text(timeline))))
    assert len(rows) == len(timeline.spans)
    assert [float(row["start_seconds"]) for row in rows] == sorted(span.start for span in timeline.spans)
    written = {(row["lane"], row["name"], float(row["start_seconds"]), float(row["end_seconds"])) for row in rows}
    assert written == {(timeline.lanes[s.lane].name, s.name, s.start, s.end) for s in timeline.spans}


@pytest.mark.parametrize("argv", [["simulate", "K_3"], ["train-sim", "gpt2-small", "--nodes", "8"]])
def test_commands_export(argv, capsys, tmp_path):
    path = tmp_path / "t.JSON"
    assert main([*argv, "--timeline", str(path)]) == 0
    assert capsys.readouterr().out.endswith(f"\nwritten to {path}\n")
    assert json.loads(path.read_text())["traceEvents"]


def test_a_format_is_one_row(done, capsys, tmp_path, monkeypatch):
    """As CONTRIBUTING says: text of a timeline, and its row; commands, their help and refusals know it from there."""

    def lines(timeline):
        return "".join(f"{span.start * 1e6:.0f} {timeline.lanes[span.lane].name}\n" for span in timeline.spans)

    monkeypatch.setitem(EXPORTS, ".txt", Export(".txt", "lines", lines))
    export_timeline(timeline_of(done), tmp_path / "t.txt")
    assert (tmp_path / "t.txt").read_text().startswith("0 link 0: 0 to 2\n")
    assert main(["simulate", "K_3", "--timeline", str(tmp_path / "k.txt")]) == 0
    assert (tmp_path / "k.txt").read_text().startswith("0 link 0: 0 to 1\n")
    capsys.readouterr()
    assert main(["simulate", "--help"]) == 0
    assert ".txt (lines)" in " ".join(capsys.readouterr().out.split())
    assert main(["simulate", "K_3", "--timeline", "t.pdf"]) == 2
    assert capsys.readouterr().err == (
        "linkstep: t.pdf: the name of a timeline must end in .svg, .png, .json, .csv, .perfetto-trace or .txt\n"
    )


def test_endings_that_are_none(done, tmp_path):
    with pytest.raises(
        FileError, match=r"t\.svg: the name of a timeline must end in \.json, \.csv or \.perfetto-trace$"
    ):
        export_timeline(timeline_of(done), tmp_path / "t.svg")
    with pytest.raises(FileError, match="there is no folder"):
        export_timeline(timeline_of(done), tmp_path / "none" / "t.csv")


def test_the_critical_path_of_an_iteration(iteration):
    """Nothing is idle in between: its events follow each other without a gap, from 0 to the end."""
    found = timeline_of(iteration)
    path = [found.spans[k] for k in found.critical]
    assert path[0].start == 0 and path[-1].end == found.end == float(iteration.time)
    assert all(before.end == after.start for before, after in pairwise(path))
    named = [(span.kind, span.name) for span in path]
    assert named[-3:] == [("all-to-all", "a"), ("backward", "a"), ("all-to-all", "a")]
    assert ("allreduce", "b") in named  # the all-to-all before the backward pass of a waits for it on its stream


def test_details_and_the_critical_path_are_in_every_format(done):
    timeline = timeline_of(done)
    said = [dict(span.details) for span in timeline.spans]
    position = {span: k for k, span in enumerate(timeline.critical, 1)}
    events = [event for event in json.loads(chrome_text(timeline))["traceEvents"] if event["ph"] == "X"]
    for k, event in enumerate(events):
        assert event["args"] == said[k] | ({"critical path": position[k]} if k in position else {})
    rows = list(csv.DictReader(io.StringIO(csv_text(timeline))))
    assert sum(int(row["bytes"]) for row in rows) == sum(one["bytes"] for one in said)
    assert {row["first_chunk"] for row in rows} == {one["first chunk"] for one in said}
    path = sorted((int(row["critical_path"]), row["lane"]) for row in rows if row["critical_path"])
    assert path == [(n, timeline.lanes[timeline.spans[k].lane].name) for k, n in position.items()]


def test_marked_instants(done):
    timeline = timeline_of(done)
    assert [(one.name, one.time) for one in timeline.instants] == [
        ("done", done.time), ("what the schedule costs", done.predicted),
    ]  # fmt: skip
    events = [event for event in json.loads(chrome_text(timeline))["traceEvents"] if event["ph"] == "i"]
    assert [(event["name"], event["ts"] / 1e6) for event in events] == [
        (one.name, pytest.approx(one.time)) for one in timeline.instants
    ]


def test_an_arrow_to_what_had_begun_ends_where_that_ends():
    spans = [Span(0, "wait", "wait", 0.0, 2.0), Span(1, "send", "send", 1.0, 1.5)]
    timeline = Timeline("t", [Lane("g", "a"), Lane("g", "b")], spans, [SpanFlow(1, 0)])
    events = {event["ph"]: event["ts"] for event in json.loads(chrome_text(timeline))["traceEvents"] if "ts" in event}
    assert (events["s"], events["f"]) == (1e6, 2e6)


def test_spans_are_a_sequence():
    spans = [
        Span(0, "a", "x", 0.0, 1.0, (("bytes", 3),)),
        Span(1, "b", "y", 1.0, 2.0),
        Span(0, "c", "x", 2.0, 2.0, (("bytes", 0.5), ("to", "d"))),
    ]
    timeline = Timeline("t", [Lane("g", "a"), Lane("g", "b")], spans, [SpanFlow(0, 1), SpanFlow(1, 2)], [0, 1])
    assert list(timeline.spans) == spans and timeline.spans[-1] == spans[2] and len(timeline.spans) == 3
    assert list(timeline.spans[1:]) == spans[1:] and timeline.spans.end.tolist() == [1.0, 2.0, 2.0]
    assert list(timeline.flows) == [SpanFlow(0, 1), SpanFlow(1, 2)] and list(timeline.flows[1:]) == [SpanFlow(1, 2)]
    assert timeline == Timeline("t", timeline.lanes, timeline.spans, timeline.flows, (0, 1))
    assert timeline != Timeline("t", timeline.lanes, spans[:2], [SpanFlow(0, 1)], (0, 1))
    with pytest.raises(IndexError, match="span 3 of 3"):
        timeline.spans[3]
    with pytest.raises(LinkstepError, match=r"^span 3 is on the critical path, of 3 spans$"):
        Timeline("t", timeline.lanes, spans, (), [3])
    empty = Timeline("nothing", [], [])
    assert empty.end == 0 and csv_text(empty).count("\n") == 1 and json.loads(chrome_text(empty))["traceEvents"] == []
