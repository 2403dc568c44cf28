"""What ranks recorded as a Timeline: two lanes a rank, its steps and what it did in them, and which send ended a wait.

Times count from when the first rank began. A send leads to the wait in which its message was awaited; plans say which
that is, as they say the peers and the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkstep.engines.bench.measure import ITEM_SIZES, Measurement, RankRecord
from linkstep.engines.plans.layout import BufferLayout
from linkstep.engines.plans.plan import Plan
from linkstep.engines.plans.recording import FLUSH, SEND, WAIT, Act
from linkstep.timelines import Lane, Span, SpanFlow, Timeline
from linkstep.timelines.columns import Detail

STEP, POST = "step", "post"
_NANO = 1e-9


def trace_of(
    title: str, row: Measurement, plans: Sequence[Plan], type_name: str, names: Sequence[str] | None = None
) -> Timeline:  # fmt: skip
    """Return what the ranks of a measurement recorded; ``plans`` are theirs for its size, ``names`` their hosts'."""
    assert row.records is not None
    layout = BufferLayout.of(plans[0].collective, plans[0].num_ranks, plans[0].chunks, row.count)
    made = _Trace(plans, row.records, layout.chunk * ITEM_SIZES[type_name])
    error = max(record.offset.error for record in row.records)
    clocks = f", clocks within {error / 1000:.3g} us" if error else ""
    lanes = []
    for plan in plans:
        rank = f"rank {plan.rank}" + ("" if names is None else f" ({names[plan.rank]})")
        lanes += [Lane(rank, "steps"), Lane(rank, "calls")]
    return Timeline(f"{title}{clocks}", lanes, made.spans, made.flows, made.critical)


@dataclass(frozen=True)
class _Place:
    """Where an act is: the rank, and its number among those of the rank."""

    rank: int
    number: int


class _Trace:
    """Spans, flows and the critical path, made from what all ranks recorded."""

    def __init__(self, plans: Sequence[Plan], records: Sequence[RankRecord], chunk: int) -> None:
        self.plans, self.chunk = plans, chunk
        self.acts = [_aligned(record) for record in records]
        self.first = min((acts[0].begin for acts in self.acts if acts), default=0)
        self.spans: list[Span] = []
        self._number: dict[_Place, int] = {}
        for rank, acts in enumerate(self.acts):
            self.spans += self._steps(rank, acts)
            for k, act in enumerate(acts):
                self._number[_Place(rank, k)] = len(self.spans)
                self.spans.append(self._call(rank, act))
        self._causes = self._sends_of_waits()
        self.flows = [
            SpanFlow(self._number[send], self._number[wait]) for wait, sends in self._causes.items() for send in sends
        ]
        self.critical = tuple(self._number[place] for place in self._path())

    def _span(self, lane: int, name: str, kind: str, act: Act, details: Sequence[tuple[str, Detail]]) -> Span:
        begin, end = ((time - self.first) * _NANO for time in (act.begin, act.end))
        return Span(lane, name, kind, begin, end, tuple(details))

    def _call(self, rank: int, act: Act) -> Span:
        details = self._details(rank, act)
        if act.kind == SEND and not self.plans[rank].levels[act.level].sent:
            return self._span(2 * rank + 1, "post receives", POST, act, details)
        return self._span(2 * rank + 1, _name(act), act.kind, act, details)

    def _steps(self, rank: int, acts: Sequence[Act]) -> Iterator[Span]:
        """Yield each step of a rank: from starting its messages to having those of the others."""
        times: dict[int, list[int]] = {}
        for act in acts:
            if act.kind == WAIT or (act.kind == SEND and self.plans[rank].levels[act.level].sent):
                times.setdefault(_step(act), []).extend((act.begin, act.end))
        for step, found in sorted(times.items()):
            yield self._span(2 * rank, f"step {step}", STEP, Act(STEP, step, min(found), max(found)), [("step", step)])

    def _details(self, rank: int, act: Act) -> list[tuple[str, Detail]]:
        if act.level < 0:
            return []
        found: list[tuple[str, Detail]] = [("step", _step(act))]
        level = self.plans[rank].levels[act.level]
        if act.kind in (SEND, WAIT):
            word, messages = ("to", level.sent) if act.kind == SEND else ("from", level.awaited)
            if messages:
                peers = sorted({message.peer for message in messages})
                found.append((word, " ".join(map(str, peers))))
                found.append(("bytes", sum(message.chunks for message in messages) * self.chunk))
        return found

    def _sends_of_waits(self) -> dict[_Place, list[_Place]]:
        """Return for each wait the sends of its messages."""
        sends = {}
        for rank, acts in enumerate(self.acts):
            for k, act in enumerate(acts):
                for message in self.plans[rank].levels[act.level].sent if act.kind == SEND else ():
                    sends[rank, message.peer, message.number] = _Place(rank, k)
        found = {}
        for rank, acts in enumerate(self.acts):
            for k, act in enumerate(acts):
                if act.kind == WAIT:
                    awaited = ((m.peer, rank, m.number) for m in self.plans[rank].levels[act.level].awaited)
                    found[_Place(rank, k)] = list(dict.fromkeys(sends[key] for key in awaited if key in sends))
        return found

    def _path(self) -> list[_Place]:
        """Return the critical path: back from what ended last, and from a wait to a send that began during it."""
        ends = [(acts[-1].end, rank, len(acts) - 1) for rank, acts in enumerate(self.acts) if acts]
        place: _Place | None = _Place(*max(ends)[1:]) if ends else None
        found: dict[_Place, None] = {}
        while place is not None and place not in found:  # clocks that are off could make a ring
            found[place] = None
            begin = self._begin(place)
            late = [send for send in self._causes.get(place, ()) if self._begin(send) > begin]
            if late:
                place = max(late, key=self._begin)
            else:
                place = _Place(place.rank, place.number - 1) if place.number else None
        return list(found)[::-1]

    def _begin(self, place: _Place) -> int:
        return self.acts[place.rank][place.number].begin


def _aligned(record: RankRecord) -> list[Act]:
    """Return what took any time, by the clock of the first rank."""
    add = record.offset.add
    taking = (act for act in record.acts if act.end > act.begin)
    return [act._replace(begin=act.begin + add, end=act.end + add) for act in taking]


def _step(act: Act) -> int:
    """Return the step of the schedule: its messages are sent on one level and awaited on the next."""
    return act.level + 1 if act.kind == SEND else act.level


def _name(act: Act) -> str:
    if act.level < 0:
        return act.kind
    if act.kind == FLUSH:
        return "wait for own sends"
    return f"{act.kind} step {_step(act)}"
