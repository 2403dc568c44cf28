"""What ranks record: by hand, on threads that stand for ranks, with clocks that differ, and as a Timeline."""

import time
from itertools import pairwise

import numpy as np
import pytest

from linkstep.core.collective import Collective
from linkstep.engines.bench.clocks import Offset, align, offset_of
from linkstep.engines.bench.measure import Bench, Measurement, RankRecord
from linkstep.engines.bench.preparation import prepare
from linkstep.engines.bench.trace import trace_of
from linkstep.engines.communicator import Communicator
from linkstep.engines.plans.recording import COMPUTE, COPY, FLUSH, KINDS, SEND, WAIT, Act, Recording
from support.late_sends import World

COUNT = 20_000
"""Elements: more than are copied to buffers."""


def test_a_recording_by_hand():
    """Work is what lies between two calls where a plan has any, and nothing where it has none."""
    clock = iter(range(100, 200))
    recording = Recording(lambda: next(clock))
    recording.border()
    recording.border()
    recording.reserve([(SEND, 0), (WAIT, 1), (COMPUTE, 1), (SEND, 1), (WAIT, 2), (FLUSH, 2), (COMPUTE, 2)])
    call = recording.timed(lambda handles: next(clock))
    for _ in range(5):
        call([])
    recording.border()
    recording.border()
    assert recording.acts() == [
        Act(COPY, -1, 100, 101),
        Act(SEND, 0, 102, 104),
        Act(WAIT, 1, 105, 107),
        Act(COMPUTE, 1, 107, 108),
        Act(SEND, 1, 108, 110),
        Act(WAIT, 2, 111, 113),
        Act(FLUSH, 2, 114, 116),
        Act(COMPUTE, 2, 116, 117),
        Act(COPY, -1, 117, 118),
    ]


@pytest.fixture(scope="module")
def recorded():
    """Recordings of an allreduce on eight ranks, whose results are right, and their plans."""
    compiled = prepare("K_{4,4}", Collective.ALLREDUCE, [4 * COUNT], 0).compiled

    def rank(transport):
        communicator = Communicator(compiled[transport.rank], transport)
        array, out = np.full(COUNT, transport.rank, np.float32), np.zeros(COUNT, np.float32)
        communicator.allreduce(array, out)
        out[:] = -1
        begin = time.monotonic_ns()
        recording = communicator.record(Collective.ALLREDUCE, array, out)
        end = time.monotonic_ns()
        assert (out == 28).all()
        communicator.allreduce(array, out)  # what follows is not recorded
        communicator.close()
        return begin, end, recording.acts()

    plans = [one.plan_for(Collective.ALLREDUCE, 4 * COUNT, False, 0) for one in compiled]
    return World(8).run(rank), plans


def test_ranks_record_all_that_their_plans_say(recorded):
    found, plans = recorded
    for (begin, end, acts), plan in zip(found, plans, strict=True):
        times = [time for act in acts for time in (act.begin, act.end)]
        assert begin <= times[0] and times == sorted(times) and times[-1] <= end
        assert {act.kind for act in acts} <= set(KINDS)
        assert [act.level for act in acts if act.kind == WAIT] == [
            k for k, level in enumerate(plan.levels) if level.awaited
        ]
        sends = {act.level for act in acts if act.kind == SEND}
        assert {k for k, level in enumerate(plan.levels) if level.sent} <= sends


def measured(acts, offsets):
    records = tuple(RankRecord(tuple(one), offset) for one, offset in zip(acts, offsets, strict=True))
    return Measurement(
        size=4 * COUNT, count=COUNT, repetitions=1, minimum=1.0, median=1.0, p99=1.0, busfactor=1, wrong=0,
        records=records,
    )  # fmt: skip


def test_the_timeline_of_a_recording(recorded):
    found, plans = recorded
    row = measured([acts for *_, acts in found], [Offset(0, 0)] * 8)
    timeline = trace_of("K_{4,4}", row, plans, "float32", [f"host{k}" for k in range(8)])
    assert timeline.title == "K_{4,4}"
    assert [(lane.group, lane.name) for lane in timeline.lanes[:3]] == [
        ("rank 0 (host0)", "steps"), ("rank 0 (host0)", "calls"), ("rank 1 (host1)", "steps"),
    ]  # fmt: skip
    assert min(span.start for span in timeline.spans) == 0
    said = [dict(span.details) for span in timeline.spans]
    for rank, plan in enumerate(plans):
        steps = [span for span in timeline.spans if span.lane == 2 * rank]
        assert [span.name for span in steps] == [f"step {k}" for k in range(1, plan.num_steps + 1)]
        sent = sum(one["bytes"] for one, span in zip(said, timeline.spans, strict=True)
                   if span.lane == 2 * rank + 1 and span.kind == SEND)  # fmt: skip
        assert sent == sum(plan.chunks_to.values()) * 4 * COUNT // plan.chunks
    pairs = {
        (timeline.lanes[timeline.spans[flow.before].lane].group, timeline.lanes[timeline.spans[flow.after].lane].group)
        for flow in timeline.flows
    }
    assert pairs == {
        (f"rank {plan.rank} (host{plan.rank})", f"rank {peer} (host{peer})")
        for plan in plans
        for peer in plan.chunks_to
    }
    for flow in timeline.flows:
        before, after = timeline.spans[flow.before], timeline.spans[flow.after]
        assert (before.kind, after.kind) == (SEND, WAIT)
        assert before.start <= after.end
        assert dict(before.details)["step"] <= dict(after.details)["step"]  # what is needed late is awaited late
    path = [timeline.spans[k] for k in timeline.critical]
    assert path[-1].end == timeline.end
    assert all(span.lane % 2 for span in path)
    for before, after in pairwise(path):
        assert before.end <= after.start or (before.kind, after.kind) == (SEND, WAIT)


def test_clocks_are_aligned_before_they_are_compared(recorded):
    """The clocks of ranks are off by seconds, which their offsets undo: the timeline is that of one clock."""
    found, plans = recorded
    off = [k * 3_000_000_000 for k in range(8)]
    acts = [
        [act._replace(begin=act.begin + add, end=act.end + add) for act in one]
        for (*_, one), add in zip(found, off, strict=True)
    ]
    same = trace_of("t", measured([one for *_, one in found], [Offset(0, 0)] * 8), plans, "float32")
    aligned = trace_of("t", measured(acts, [Offset(-add, 1500) for add in off]), plans, "float32")
    assert aligned.title == "t, clocks within 1.5 us"
    assert (aligned.spans, aligned.flows, aligned.critical) == (same.spans, same.flows, same.critical)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_offsets_of_clocks(size):
    """Clocks that are off by known amounts are found to be, within the bound that is given."""
    off = [0, 5_000_000_000, -7, 123_456_789, -(10**12)][:size]

    def rank(transport):
        transport.shares_clock = False
        return align(transport, lambda: time.monotonic_ns() + off[transport.rank])

    found = World(size).run(rank)
    assert all(one == found[0] for one in found)
    for offset, wrong in zip(found[0], off, strict=True):
        assert abs(offset.add + wrong) <= offset.error
    assert found[0][0] == Offset(0, 0)


def test_one_clock_needs_no_messages():
    class Here:
        shares_clock, size = True, 3

    assert align(Here()) == [Offset(0, 0)] * 3


def test_the_shortest_round_trip_counts():
    slow, quick = (0, 1000), (5000, 5100)
    assert offset_of([slow, quick], [(900, 900), (5050 + 70, 5050 + 70)]) == Offset(-70, 50)


def test_the_bench_records_the_last_repetition_alone():
    compiled = prepare("K_3", Collective.ALLREDUCE, [4 * 1000], 0).compiled

    def rank(transport):
        communicator = Communicator(compiled[transport.rank], transport)
        bench = Bench(communicator, Collective.ALLREDUCE, repetitions=3)
        calls = []
        plain = communicator.run
        communicator.run = lambda *words: (calls.append("run"), plain(*words))[1]
        without = bench.row(4000, own=False)
        runs = len(calls)
        row = bench.row(4000, own=False, record=True)
        communicator.close()
        return without, row, runs, len(calls) - runs

    for without, row, runs, recorded_runs in World(3).run(rank):
        assert without.records is None and (without.wrong, row.wrong) == (0, 0)
        assert recorded_runs == runs - 1  # one of the repetitions is the one that is recorded
        assert len(row.records) == 3 and row.repetitions == 3
        assert all(record.acts[0].kind == record.acts[-1].kind == COPY for record in row.records)
