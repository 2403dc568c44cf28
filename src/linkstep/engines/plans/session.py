"""A plan bound to arrays: everything that a call needs is prepared, so that a call is a short loop.

Bound are the views of every message and every reduction, and the engine's requests. The loop over levels is the whole
executor; what it costs is one call to start messages and one to wait for each level, and one for each reduction.

A call is over when this rank has its result. Sends of little data out of memory of our own may be in flight then, and
are waited for before that memory is used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from linkstep.engines.plans.plan import Level, Plan, Transfer, Work
from linkstep.engines.plans.recording import COMPUTE, FLUSH, SEND, WAIT, Recording
from linkstep.engines.transports.arrays import ArrayLibrary
from linkstep.engines.transports.transport import Silence, Silent, Transport, Wire

_AT_ONCE = 2**14
"""Bytes of a call to one peer that an engine hands to the system when their sends start, whatever the program does
next: an open connection takes those of two calls. More may leave only while somebody waits, and is waited for."""


_Call = Callable[[Sequence[Any]], None]


@dataclass(frozen=True)
class Stuck(Exception):
    """A run that stopped in a level because of a silence."""

    level: int
    silence: Silence


@dataclass(frozen=True)
class _Step:
    """A level with everything prepared."""

    awaited: list[Any]
    settled: list[Any]
    urgent: list[Callable[[], Any]]
    started: list[Any]
    lazy: list[Callable[[], Any]]


class Session:
    """A plan on given arrays; ``run`` may be called any number of times, ``close`` when it is no longer needed."""

    def __init__(
        self, plan: Plan, transport: Transport, kind: ArrayLibrary, operation: str, tag: int, source: Any, target: Any,
        chunk: int, is_borrowed: bool,
    ) -> None:  # fmt: skip
        """Bind a plan to a flat input and output, the same array in place, in chunks of ``chunk`` elements.

        Where they are ``is_borrowed``, the caller may change them as soon as a call has returned.
        """
        self.plan, self.transport, self._kind, self._chunk = plan, transport, kind, chunk
        self.source, self.target = source, target
        self._work = kind.make(plan.work_cells * chunk, source)
        self._combine = kind.combine(operation)
        self._borders = (plan.input_cells, plan.input_cells + (0 if plan.is_inplace else plan.output_cells))
        self._handles: dict[tuple[bool, int, int], Any] = {}
        self._prepare(tag)
        self._sends = [[self._handle(True, t) for t in level.sent] for level in plan.levels]
        self._steps = [self._step(k, level) for k, level in enumerate(plan.levels)]
        self._last: list[Any] = []
        """Sends that a call waits for before it ends."""
        self._late: list[Any] = []
        """Those that the next call waits for."""
        self._sort_sends(is_borrowed)
        self._order = list(self._in_order())
        """What a call does, and on which level: for those that record it."""
        self._is_settled, self._has_run = True, False

    def _sort_sends(self, is_borrowed: bool) -> None:
        """Tell the sends that may be complete after the call from those that may not."""
        chunk = self._chunk * self._kind.item_size(self.source)
        few = {peer for peer, chunks in self.plan.chunks_to.items() if chunks * chunk <= _AT_ONCE}
        for sent in (sent for level in self.plan.levels for sent in level.sent):
            ours = not is_borrowed or sent.cell >= self._borders[1]
            is_late = self.transport.acknowledges and ours and sent.peer in few
            (self._late if is_late else self._last).append(self._handle(True, sent))

    def _view(self, cell: int, count: int) -> Any:
        first, second = self._borders
        if cell < first:
            array, base = self.source, 0
        elif cell < second:
            array, base = self.target, first
        else:
            array, base = self._work, second
        return array[(cell - base) * self._chunk : (cell - base + count) * self._chunk]

    def _prepare(self, tag: int) -> None:
        keys, wires = [], []
        for level in self.plan.levels:
            for is_send, transfers in ((False, level.posted), (True, level.sent)):
                for t in transfers:
                    keys.append((is_send, t.peer, t.number))
                    wires.append(Wire(is_send, t.peer, tag + t.number, self._view(t.cell, t.chunks)))
        self._handles = dict(zip(keys, self.transport.prepare(wires), strict=True))

    def _handle(self, is_send: bool, transfer: Transfer) -> Any:
        return self._handles[is_send, transfer.peer, transfer.number]

    def _step(self, k: int, level: Level) -> _Step:
        posted = level.posted
        if self.transport.posts_late:
            posted = level.arriving
        return _Step(
            awaited=[self._handle(False, t) for t in level.awaited],
            settled=[handle for sends in self._sends[: level.settled] for handle in sends],
            urgent=[self._bound(work) for work in level.urgent],
            started=[self._handle(False, t) for t in posted] + self._sends[k],
            lazy=[self._bound(work) for work in level.lazy],
        )

    def _bound(self, work: Work) -> Callable[[], Any]:
        dst, src = self._view(work.dst, work.chunks), self._view(work.src, work.chunks)
        if work.addend < 0:
            return partial(self._kind.copy, dst, src)
        return partial(self._combine, src, self._view(work.addend, work.chunks), dst)

    def run(self, recording: Recording | None = None) -> None:
        """Execute the plan once, noting when it did what if this is recorded; raises Stuck if messages stop coming."""
        self.settle()
        self._is_settled = not self._late
        transport = self.transport
        start: _Call = transport.start
        wait: _Call = transport.wait
        if recording is not None:
            recording.reserve(self._order)
            start, wait = recording.timed(start), recording.timed(wait)
        level = -1
        try:
            for step in self._steps:
                level += 1
                if step.awaited:
                    wait(step.awaited)
                if step.settled:
                    wait(step.settled)
                for work in step.urgent:
                    work()
                if step.started:
                    start(step.started)
                for work in step.lazy:
                    work()
            if self._last:
                wait(self._last)
            if not self._has_run:  # connections may be opened only while somebody waits
                self._has_run = True
                self.settle()
        except Silent as silent:
            raise Stuck(level, silent.silence) from None

    def _in_order(self) -> Iterator[tuple[str, int]]:
        """Yield what ``run`` does, in order, each with its level: calls of the transport, and work."""
        for level, step in enumerate(self._steps):
            done = (
                (WAIT, step.awaited), (FLUSH, step.settled), (COMPUTE, step.urgent), (SEND, step.started),
                (COMPUTE, step.lazy),
            )  # fmt: skip
            yield from ((kind, level) for kind, some in done if some)
        if self._last:
            yield FLUSH, len(self._steps) - 1

    def settle(self) -> None:
        """Wait for the sends that the last run left; raises Stuck if they are not taken."""
        if not self._is_settled:
            try:
                self.transport.wait(self._late)
            except Silent as silent:
                raise Stuck(self.plan.num_steps, silent.silence) from None
            self._is_settled = True

    def close(self) -> None:
        """Give back the engine's requests; what is in flight must ``settle`` before."""
        handles: Sequence[Any] = list(self._handles.values())
        self._handles = {}
        self.transport.release(handles)
