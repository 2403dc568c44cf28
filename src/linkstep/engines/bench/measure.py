"""Measure collectives the way nccl-tests does: time, algbw and busbw, with every result checked.

A repetition begins at an instant that all ranks agree on and ends when the last of them has ended; where ranks do not
share a clock, each takes its own time from a common synchronisation, and the longest counts. The engine's own
collective is measured in the same way, in turn with ours: a repetition of the one, then one of the other, so that
whatever else the machine does meets both.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.engines.bench.clocks import Offset, align
from linkstep.engines.bench.data import count_wrong, fill
from linkstep.engines.bench.watch import watched
from linkstep.engines.communicator import Communicator
from linkstep.engines.plans.layout import BufferLayout
from linkstep.engines.plans.recording import Act, Recording
from linkstep.engines.transports.engine import ENGINES, engine_named
from linkstep.engines.transports.transport import SETUP, Silent, Transport

ITEM_SIZES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int32": 4, "int64": 8}
"""Bytes of an element of each type."""
TYPES = tuple(ITEM_SIZES)
_BUDGET = 3.0
"""Seconds that the repetitions of a size may take, unless their number is given."""
_FEWEST, _MOST = 5, 50
_FEWEST_OWN = 2
"""Repetitions of the engine's own collective, however slow it is."""
_MUCH_SLOWER = 100
"""By what factor the engine's own collective may be slower than ours before it is given up."""
_MARGIN = 2e-3
"""Seconds from agreeing on an instant to that instant, at least."""

Span = tuple[float, float]
Seconds = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class RankRecord:
    """What a rank did when in one repetition, by its own clock, and what brings this to that of the first rank."""

    acts: tuple[Act, ...]
    offset: Offset


@dataclass(frozen=True)
class Measurement:
    """What was measured for one size; times in seconds."""

    size: int
    """Bytes of data in all, M."""
    count: int
    """Elements of a rank's input."""
    repetitions: int
    minimum: float
    median: float
    p99: float
    busfactor: Fraction
    wrong: int
    """Elements that were wrong, on all ranks together."""
    own_median: float | None = None
    """The engine's own collective."""
    predicted: float | None = None
    cables: tuple[float, float] | None = None
    """The least and the most that a cable carried, over what the schedule says."""
    records: tuple[RankRecord, ...] | None = None
    """What each rank did when in the last repetition; None where it was not recorded."""

    @property
    def algbw(self) -> float:
        """Bytes of data in a second."""
        return self.size / self.median

    @property
    def busbw(self) -> float:
        """What of that each rank had to send at least, whatever the algorithm: comparable between collectives."""
        return self.algbw * float(self.busfactor)


def busfactor(collective: Collective, num_ranks: int) -> Fraction:
    """Return busbw over algbw, as nccl-tests defines it.

    >>> busfactor(Collective.ALLREDUCE, 8)
    Fraction(7, 4)
    """
    if collective.has_root:
        return Fraction(1)
    return len(collective.phases) * Fraction(num_ranks - 1, num_ranks)


def count_for(collective: Collective, num_ranks: int, size: int, item_size: int) -> int:
    """Return the elements of a rank's input for about ``size`` bytes of data in all, at least one in each part.

    >>> count_for(Collective.ALLGATHER, 8, 1000003, 4)
    31250
    """
    parts = num_ranks if collective.is_divided else 1
    section = max(size // item_size // parts, 1)
    return section if collective.starts_with_shard else section * parts


def actual_sizes(
    sizes: Sequence[int], collective: Collective, num_ranks: int, type_name: str
) -> tuple[int, ...]:  # fmt: skip
    """Return the bytes that are really moved for each of some sizes, ascending, each once.

    >>> actual_sizes((1, 5, 1000003), Collective.ALLGATHER, 8, "float32")
    (32, 1000000)
    """
    item, found = ITEM_SIZES[type_name], set()
    for size in sizes:
        layout = BufferLayout.of(collective, num_ranks, num_ranks, count_for(collective, num_ranks, size, item))
        found.add(layout.total * item)
    return tuple(sorted(found))


@dataclass
class _Turns:
    """Our collective and the engine's own, one after the other."""

    ours: Callable[[], None]
    own_once: Callable[[], Span] | None
    """Run the engine's own; return when that began and ended."""
    repetitions: int
    num_own: int = 0
    """Repetitions of the engine's own."""
    last: Callable[[], None] | None = None
    """What runs in place of the last repetition of ours, which it is besides."""

    def our_turn(self, k: int) -> Callable[[], None]:
        """Return the k-th of ours."""
        return self.ours if self.last is None or k < self.repetitions - 1 else self.last

    def limit_own(self, once: float) -> None:
        """Choose how often the engine's own is run: as often as ours, unless that takes very long."""
        self.num_own = min(self.repetitions, max(int(_BUDGET / max(once, 1e-9)), _FEWEST_OWN))

    def is_turn(self, k: int) -> bool:
        """Whether the engine's own comes after the k-th of ours: its repetitions are spread over all of them.

        >>> turns = _Turns(print, print, 5, 2)
        >>> [turns.is_turn(k) for k in range(5)]
        [False, False, True, False, True]
        """
        return (k + 1) * self.num_own // self.repetitions > k * self.num_own // self.repetitions


@dataclass
class Bench:
    """What is measured, on this rank: a collective of a communicator on arrays of one type."""

    communicator: Communicator
    collective: Collective
    type_name: str = "float32"
    operation: str = "sum"
    root: int = 0
    repetitions: int | None = None
    warmups: int = 0
    """Calls of each size that are not measured, besides those that check results and estimate times."""
    counters: Callable[[], dict[int, int]] | None = None
    """Return the bytes that this rank has sent to each neighbour so far, if someone counts them."""

    def __post_init__(self) -> None:
        self._transport = self.communicator.transport
        self._ranks: Transport | None = None
        """Those who take part, without those who only forward; None on these, and until it ``_has_split``."""
        self._has_split = False
        self._lag = 0.0
        self._counted: dict[int, int] = {}
        """What the counters said when the last repetition began."""

    def row(self, size: int, own: bool = True, record: bool = False) -> Measurement:
        """Measure one size, and record its last repetition if asked to; every rank returns the same."""
        n, item = self.communicator.size, ITEM_SIZES[self.type_name]
        if own and not self._has_split:
            self._has_split = True
            self._ranks = self._transport.split(range(n)) if self._transport.size > n else self._transport
        count = count_for(self.collective, n, size, item)
        layout = BufferLayout.of(self.collective, n, n, count)
        source = self._transport.array(count, self.type_name)
        target = self._transport.array(layout.section * layout.output_sections, self.type_name)

        recordings: list[Recording] = []

        def ours() -> None:
            self.communicator.run(self.collective, source, target, self.operation, self.root)

        def recorded() -> None:
            made = self.communicator.record(self.collective, source, target, self.operation, self.root)
            recordings.append(made)

        wrong = sum(self._check(ours, source, target, layout, k) for k in range(2))
        for _ in range(self.warmups):
            ours()
        estimate = self._duration([self._once(ours)])[0]
        repetitions = self.repetitions or int(min(max(_BUDGET / max(estimate, 1e-9), _FEWEST), _MOST))
        theirs = self._own(source, target) if own else None
        turns = _Turns(ours, theirs and partial(self._own_once, theirs, size, estimate), repetitions)
        turns.last = recorded if record else None
        if turns.own_once is not None:
            turns.limit_own(self._duration([turns.own_once()])[0])
        times, own_times, sent = self._in_turn(turns)
        cables = None if self.counters is None else self._cables(sent, repetitions, layout, item)
        records = self._records(recordings[0]) if record else None
        wrong += self._check(ours, source, target, layout, 2)
        return Measurement(
            size=layout.total * item, count=count, repetitions=repetitions, minimum=float(times.min()),
            median=float(np.median(times)), p99=float(np.quantile(times, 0.99)),
            busfactor=busfactor(self.collective, n), wrong=wrong,
            own_median=None if own_times is None else float(np.median(own_times)), cables=cables,
            records=records,
        )  # fmt: skip

    def _gather(self, value: Any) -> list[Any]:
        """Return every rank's value; to check much data takes ranks that share cores differently long."""
        try:
            return [json.loads(text) for text in self._transport.gather(json.dumps(value).encode(), SETUP)]
        except Silent as silent:
            raise self.communicator.failure("between two measurements", silent.silence) from None

    def _records(self, recording: Recording) -> tuple[RankRecord, ...]:
        """Return what every rank recorded, with the offsets of their clocks."""
        try:
            offsets = align(self._transport)
        except Silent as silent:
            raise self.communicator.failure("when the ranks compared their clocks", silent.silence) from None
        found = self._gather(recording.acts())
        rows = (tuple(Act(*act) for act in acts) for acts in found)
        return tuple(map(RankRecord, rows, offsets))

    def _check(self, run: Callable[[], None], source: Any, target: Any, layout: BufferLayout, repetition: int) -> int:
        """Run once on data of a repetition and return the wrong elements of all ranks."""
        n, rank = self.communicator.size, self.communicator.rank
        if self.communicator.forwards:
            run()
            return sum(self._gather(0))
        fill(source, rank, repetition, n, self.operation, self.type_name)
        target[:] = 3  # what an earlier repetition left must not pass for a result
        if self.collective is Collective.BROADCAST and rank == self.root:
            target[:] = source
        run()
        wrong = count_wrong(
            target, self.collective, layout, rank, repetition, n, self.operation, self.type_name, self.root
        )
        return sum(self._gather(wrong))

    def _own(self, source: Any, target: Any) -> Callable[[], None] | None:
        """Return the engine's own collective of the ranks, if it has one; who only forwards does nothing in it."""
        ranks = self._transport if self._ranks is None else self._ranks
        found = ranks.own(self.collective, source, target, self.operation, self.root)
        return found if found is None or self._ranks is not None else lambda: None

    def _own_once(self, theirs: Callable[[], None], size: int, estimate: float) -> Span:
        """Run the engine's own collective once; end it if it takes very much longer than ours or a rank is lost."""
        longest = self._transport.timeout + _MUCH_SLOWER * estimate
        words = f"rank {self.communicator.rank}: the engine's own {self.collective} of {size} bytes"
        with watched(longest, self._transport.dead, words):
            return self._once(theirs)

    def _in_turn(self, turns: _Turns) -> tuple[Seconds, Seconds | None, dict[int, int]]:
        """Run all repetitions; return the seconds of ours and of the engine's own, and the bytes that ours sent."""
        ours, own, sent = [], [], dict[int, int]()
        for k in range(turns.repetitions):
            ours.append(self._once(turns.our_turn(k)))
            before = self._counted
            if turns.own_once is not None and turns.is_turn(k):
                own.append(turns.own_once())  # when it begins, all ranks have done ours
            else:
                self._gather(None)
                self._count()
            for peer, count in self._counted.items():
                sent[peer] = sent.get(peer, 0) + count - before.get(peer, 0)
        return self._duration(ours), self._duration(own) if own else None, sent

    def _once(self, run: Callable[[], None]) -> Span:
        """Run once; return when that began and ended."""
        begin = self._begin()
        run()
        return begin, time.monotonic()

    def _duration(self, spans: list[Span]) -> Seconds:
        """Return the seconds that each repetition took, the same on all ranks."""
        times = np.array(self._gather(spans))
        if self._transport.shares_clock:
            return np.asarray(times[:, :, 1].max(axis=0) - times[0, :, 0])
        return np.asarray((times[:, :, 1] - times[:, :, 0]).max(axis=0))

    def _count(self) -> None:
        if self.counters is not None:
            self._counted = self.counters()

    def _begin(self) -> float:
        """Synchronise the ranks and return when a repetition begins.

        The instant is later than anyone leaves the synchronisation, judging by how long that took the last time.
        """
        times = self._gather([time.monotonic(), self._lag])
        entered, lag = (max(values) for values in zip(*times, strict=True))
        self._count()
        if not self._transport.shares_clock:
            return time.monotonic()
        self._lag = time.monotonic() - entered
        begin = float(entered + 2 * lag + _MARGIN)
        _sleep_until(begin)
        return begin

    def _cables(self, sent: dict[int, int], repetitions: int, layout: BufferLayout, item: int) -> tuple[float, float]:
        """Return the least and the most that a cable carried, over what the schedule says."""
        size = layout.total * item
        plan = self.communicator.plan_for(self.collective, size, False, self.root)
        chunk = BufferLayout.of(
            self.collective, plan.num_ranks, plan.chunks, layout.section * layout.input_sections
        ).chunk
        found = []
        for peer, chunks in plan.chunks_to.items():
            said = chunks * chunk * item * repetitions
            found.append(sent.get(peer, 0) / said)
        ratios = [ratio for answer in self._gather(found) for ratio in answer]
        return min(ratios), max(ratios)


def _sleep_until(instant: float) -> None:
    """Sleep until shortly before an instant, then watch the clock, giving way to others."""
    while (left := instant - time.monotonic()) > 0:
        if left > 1e-3:
            time.sleep(left - 8e-4)
        else:
            os.sched_yield()


def check_type(name: str, engine: str) -> str:
    """Return an element type that an engine's arrays can have."""
    if name not in TYPES:
        raise LinkstepError(f"the element type must be one of {', '.join(TYPES)}, not {name!r}")
    row = engine_named(engine)
    if name not in row.types:
        able = " or ".join(other.name for other in ENGINES.values() if name in other.types)
        raise LinkstepError(f"{row.arrays} has no {name}: use --engine {able}")
    return name
