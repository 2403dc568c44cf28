"""Perfetto's traces, read back by Perfetto's own message classes: every span, flow, detail and order of tracks."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import linkstep
from linkstep.core.errors import LinkstepError
from linkstep.timelines import Instant, Lane, Span, SpanFlow, Timeline, export_timeline, timeline_of
from linkstep.timelines.perfetto import perfetto_bytes
from support import strategies as _settings  # noqa: F401  (the profile)

trace_pb2 = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="needs perfetto: pip install '.[test]'"
)
BEGIN, END, INSTANT = 1, 2, 3


class Read:
    """A trace as a viewer reads it: tracks with their parents, and slices that are closed by a stack for each track."""

    def __init__(self, data):
        trace = trace_pb2.Trace()
        trace.ParseFromString(data)
        trace.DiscardUnknownFields()
        assert trace.ByteSize() == len(data)  # nothing that these classes do not know
        assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
        described = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
        self.tracks = {track.uuid: track for track in described}
        [self.root] = [track.uuid for track in described if not track.HasField("parent_uuid")]
        assert len(self.tracks) == len(described)
        below = {track.parent_uuid for track in described}
        self.critical = {track.uuid for track in described if track.parent_uuid == self.root} - below
        self.slices, self.instants, self.begun, self.ended = [], [], {}, {}
        stacks, last = {}, 0
        for packet in trace.packet:
            if not packet.HasField("track_event"):
                continue
            event, time = packet.track_event, packet.timestamp
            stack = stacks.setdefault(event.track_uuid, [])
            assert event.track_uuid in self.tracks
            if event.type == INSTANT:
                self.instants.append((event.name, time))
                continue
            assert time >= last or self.is_critical(event.track_uuid)
            last = time if not self.is_critical(event.track_uuid) else last
            if event.type == BEGIN:
                said = {one.name: getattr(one, one.WhichOneof("value")) for one in event.debug_annotations}
                names = event.name, tuple(event.categories)
                stack.append([event.track_uuid, *names, time, None, said])
                self.slices.append(stack[-1])
                this = stack[-1]
            else:
                this = stack.pop()  # there is one: an end without a begin is an error of the writer
                this[4] = time
            for flow in event.flow_ids:
                assert flow not in self.begun
                self.begun[flow] = this
            for flow in event.terminating_flow_ids:
                assert flow in self.begun or flow not in self.ended
                self.ended[flow] = this
        assert not any(stacks.values())

    def is_critical(self, track):
        return track in self.critical

    def spans(self):
        return [one for one in self.slices if not self.is_critical(one[0])]

    def lane(self, track):
        """Return (group, lane) of a track; one beside a lane has its name and a number."""
        found = self.tracks[track]
        return self.tracks[found.parent_uuid].name, found.name


def nano(seconds):
    return round(seconds * 1e9)


def check(timeline):
    """Compare a timeline with what is read back, slices as a multiset, since tracks beside lanes have no order."""
    read = Read(perfetto_bytes(timeline))
    found = [
        (one[1], one[2], one[3], one[4], sorted((k, str(v)) for k, v in one[5].items() if k != "critical path"))
        for one in read.spans()
    ]
    wanted = [
        (s.name, (s.kind,), nano(s.start), nano(s.end), sorted((k, str(v)) for k, v in s.details))
        for s in timeline.spans
    ]
    assert sorted(found) == sorted(wanted)
    for one in read.spans():
        group, name = read.lane(one[0])
        lanes = [lane for lane in timeline.lanes if lane.group == group and name.startswith(lane.name)]
        assert lanes
    arrows = [(tuple(read.begun[k][1:5]), tuple(read.ended[k][1:5])) for k in sorted(read.begun)]
    assert read.begun.keys() == read.ended.keys()

    def key(span):
        return span.name, (span.kind,), nano(span.start), nano(span.end)

    assert arrows == [(key(timeline.spans[flow.before]), key(timeline.spans[flow.after])) for flow in timeline.flows]
    assert read.instants == [(instant.name, nano(instant.time)) for instant in timeline.instants]
    return read


@pytest.fixture(scope="module")
def simulated():
    made = linkstep.schedule("Torus(3,3)", "allreduce").schedule
    return timeline_of(linkstep.simulate(made, linkstep.Fabric.of("10us", "100Gbps", 4), "1MB"))


def test_a_simulation_is_read_back(simulated):
    read = check(simulated)
    assert len(read.spans()) == len(simulated.spans) and len(read.begun) == len(simulated.flows) > 0
    said = read.spans()[0][5]
    assert {"from", "to", "round", "bytes", "chunks", "first chunk"} <= said.keys()
    assert isinstance(said["bytes"], int | float) and isinstance(said["from"], str)


def test_tracks_are_in_the_order_of_the_lanes(simulated):
    read = check(simulated)
    assert read.tracks[read.root].name == simulated.title
    groups = [track for track in read.tracks.values() if track.parent_uuid == read.root]
    groups.sort(key=lambda track: track.sibling_order_rank)
    names = dict.fromkeys(lane.group for lane in simulated.lanes)
    assert [track.name for track in groups] == ["critical path", *names]
    assert all(track.child_ordering == 3 for track in read.tracks.values())  # EXPLICIT
    lanes = sorted(
        (track for track in read.tracks.values() if track.parent_uuid not in (0, read.root)),
        key=lambda track: (read.tracks[track.parent_uuid].sibling_order_rank, track.sibling_order_rank),
    )
    assert [(read.lane(track.uuid)) for track in lanes] == [(lane.group, lane.name) for lane in simulated.lanes]


def test_the_critical_path_has_its_own_track(simulated):
    read = Read(perfetto_bytes(simulated))
    path = [one for one in read.slices if read.is_critical(one[0])]
    wanted = [simulated.spans[k] for k in simulated.critical]
    assert [(one[3], one[4]) for one in path] == [(nano(span.start), nano(span.end)) for span in wanted]
    assert path[0][1] == f"{simulated.lanes[wanted[0].lane].name}: {wanted[0].name}"
    marked = sorted((one[5]["critical path"], one[3]) for one in read.spans() if "critical path" in one[5])
    assert marked == [(k, nano(span.start)) for k, span in enumerate(wanted, 1)]


def test_spans_that_overlap_are_on_tracks_beside():
    lane = Lane("g", "l")
    spans = [
        Span(0, name, "x", start, end) for name, start, end in (("a", 0, 2), ("b", 1, 3), ("c", 1, 2), ("d", 3, 4))
    ]
    read = check(Timeline("t", [lane], spans))
    at = {one[1]: read.lane(one[0])[1] for one in read.spans()}
    assert at == {"a": "l", "b": "l (2)", "c": "l", "d": "l"}


def test_an_arrow_into_what_had_begun_ends_at_its_end():
    """A receive is waited for before its message is sent: the arrow must not run against the order of events."""
    spans = [Span(0, "wait", "wait", 0.0, 2.0), Span(1, "send", "send", 1.0, 1.5)]
    timeline = Timeline("t", [Lane("g", "a"), Lane("g", "b")], spans, [SpanFlow(1, 0)])
    check(timeline)
    trace = trace_pb2.Trace()
    trace.ParseFromString(perfetto_bytes(timeline))
    [end] = [p for p in trace.packet if list(p.track_event.terminating_flow_ids)]
    assert (end.track_event.type, end.timestamp) == (END, 2 * 10**9)


HOSTILE = st.text(max_size=20) | st.sampled_from(
    ['"quoted"', "line\nbreak", "x" * 200, "\U0001f600", "", "\x00", "a,b;'c"]
)
NAMES = st.one_of(HOSTILE)
TIMES = st.one_of(
    st.floats(0, 9e9),
    st.sampled_from([0.0, 5e-324, 1e-9, 1.5e-9, 1.0, 9.2e9]),
    st.integers(0, 20).map(lambda k: k * 1e-9),
)
VALUES = st.one_of(HOSTILE, st.integers(-(2**70), 2**70), st.floats(allow_nan=False))


@st.composite
def timelines(draw):
    lanes = draw(st.lists(st.builds(Lane, NAMES, NAMES), min_size=1, max_size=4))
    spans = []
    for _ in range(draw(st.integers(0, 8))):
        start, end = sorted([draw(TIMES), draw(TIMES)])
        details = tuple(draw(st.dictionaries(NAMES.filter(lambda n: n != "critical path"), VALUES, max_size=2)).items())
        spans.append(Span(draw(st.integers(0, len(lanes) - 1)), draw(NAMES), draw(NAMES), start, end, details))
    some = st.integers(0, max(len(spans) - 1, 0))
    flows = draw(st.lists(st.builds(SpanFlow, some, some), max_size=6 if spans else 0))
    flows = [flow for flow in flows if flow.before != flow.after]
    instants = draw(st.lists(st.builds(Instant, NAMES, TIMES), max_size=2))
    critical = draw(st.lists(some, max_size=3, unique=True)) if spans else []
    return Timeline(draw(NAMES), lanes, spans, flows, critical, instants)


@given(timelines())
@example(Timeline("t", [Lane("g", "l")], [Span(0, "a", "k", 0, 0), Span(0, "b", "k", 0, 1), Span(0, "c", "k", 1, 1)]))
def test_property_anything_is_read_back(timeline):
    check(timeline)


@pytest.mark.parametrize("start", [-1.0, 9.3e9])
def test_times_that_no_trace_has(start, tmp_path):
    timeline = Timeline("t", [Lane("g", "l")], [Span(0, "early", "x", start, 1e10)])
    path = tmp_path / "t.perfetto-trace"
    with pytest.raises(LinkstepError, match=r"^'early' is at .* s: a Perfetto trace has times from 0 to 9.223e\+09 s$"):
        export_timeline(timeline, path)
    assert not path.exists()
