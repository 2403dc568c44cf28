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
from linkstep.engines.plans.recording import FLUSH, SEND, WAIT, Piece
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
    """Where a piece is: the rank, and its number among those of the rank."""

    rank: int
    number: int


class _Trace:
    """Spans, flows and the critical path, made from what all ranks recorded."""

    def __init__(self, plans: Sequence[Plan], records: Sequence[RankRecord], chunk: int) -> None:
        self.plans, self.chunk = plans, chunk
        self.pieces = [_aligned(record) for record in records]
        self.first = min((pieces[0].begin for pieces in self.pieces if pieces), default=0)
        self.spans: list[Span] = []
        self._number: dict[_Place, int] = {}
        for rank, pieces in enumerate(self.pieces):
            self.spans += self._steps(rank, pieces)
            for k, piece in enumerate(pieces):
                self._number[_Place(rank, k)] = len(self.spans)
                self.spans.append(self._call(rank, piece))
        self._causes = self._sends_of_waits()
        self.flows = [
            SpanFlow(self._number[send], self._number[wait]) for wait, sends in self._causes.items() for send in sends
        ]
        self.critical = tuple(self._number[place] for place in self._path())

    def _span(self, lane: int, name: str, kind: str, piece: Piece, details: Sequence[tuple[str, Detail]]) -> Span:
        begin, end = ((time - self.first) * _NANO for time in (piece.begin, piece.end))
        return Span(lane, name, kind, begin, end, tuple(details))

    def _call(self, rank: int, piece: Piece) -> Span:
        details = self._details(rank, piece)
        if piece.kind == SEND and not self.plans[rank].levels[piece.level].sent:
            return self._span(2 * rank + 1, "post receives", POST, piece, details)
        return self._span(2 * rank + 1, _name(piece), piece.kind, piece, details)

    def _steps(self, rank: int, pieces: Sequence[Piece]) -> Iterator[Span]:
        """Yield each step of a rank: from starting its messages to having those of the others."""
        times: dict[int, list[int]] = {}
        for piece in pieces:
            if piece.kind == WAIT or (piece.kind == SEND and self.plans[rank].levels[piece.level].sent):
                times.setdefault(_step(piece), []).extend((piece.begin, piece.end))
        for step, found in sorted(times.items()):
            yield self._span(
                2 * rank, f"step {step}", STEP, Piece(STEP, step, min(found), max(found)), [("step", step)]
            )

    def _details(self, rank: int, piece: Piece) -> list[tuple[str, Detail]]:
        if piece.level < 0:
            return []
        found: list[tuple[str, Detail]] = [("step", _step(piece))]
        level = self.plans[rank].levels[piece.level]
        if piece.kind in (SEND, WAIT):
            word, messages = ("to", level.sent) if piece.kind == SEND else ("from", level.awaited)
            if messages:
                peers = sorted({message.peer for message in messages})
                found.append((word, " ".join(map(str, peers))))
                found.append(("bytes", sum(message.chunks for message in messages) * self.chunk))
        return found

    def _sends_of_waits(self) -> dict[_Place, list[_Place]]:
        """Return for each wait the sends of its messages."""
        sends = {}
        for rank, pieces in enumerate(self.pieces):
            for k, piece in enumerate(pieces):
                for message in self.plans[rank].levels[piece.level].sent if piece.kind == SEND else ():
                    sends[rank, message.peer, message.number] = _Place(rank, k)
        found = {}
        for rank, pieces in enumerate(self.pieces):
            for k, piece in enumerate(pieces):
                if piece.kind == WAIT:
                    awaited = ((m.peer, rank, m.number) for m in self.plans[rank].levels[piece.level].awaited)
                    found[_Place(rank, k)] = list(dict.fromkeys(sends[key] for key in awaited if key in sends))
        return found

    def _path(self) -> list[_Place]:
        """Return the critical path: back from what ended last, and from a wait to a send that began during it."""
        ends = [(pieces[-1].end, rank, len(pieces) - 1) for rank, pieces in enumerate(self.pieces) if pieces]
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
        return self.pieces[place.rank][place.number].begin


def _aligned(record: RankRecord) -> list[Piece]:
    """Return what took any time, by the clock of the first rank."""
    add = record.offset.add
    taking = (piece for piece in record.pieces if piece.end > piece.begin)
    return [piece._replace(begin=piece.begin + add, end=piece.end + add) for piece in taking]


def _step(piece: Piece) -> int:
    """Return the step of the schedule: its messages are sent on one level and awaited on the next."""
    return piece.level + 1 if piece.kind == SEND else piece.level


def _name(piece: Piece) -> str:
    if piece.level < 0:
        return piece.kind
    if piece.kind == FLUSH:
        return "wait for own sends"
    return f"{piece.kind} step {_step(piece)}"
