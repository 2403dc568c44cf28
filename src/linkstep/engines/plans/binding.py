"""A call with its arrays: a session on the arrays themselves, or on padded copies of them.

Copies serve where chunks do not divide the data, where it is small (cheaper than preparing messages for new arrays),
where an array has gaps, and where the program only works the other way, in place or not. Small data has two sets of
buffers that take turns, so that a call need not wait for the sends of the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from linkstep.engines.plans.layout import BufferLayout
from linkstep.engines.plans.plan import Plan
from linkstep.engines.plans.recording import Recording
from linkstep.engines.plans.session import Session
from linkstep.engines.transports.arrays import ArrayLibrary
from linkstep.engines.transports.transport import Transport

SMALL = 2**16
"""Bytes up to which data is copied to buffers of our own: cheaper than binding new arrays."""


@dataclass(frozen=True)
class _Turn:
    """A session with its buffers."""

    session: Session
    load: Callable[[Any], None]
    """Bring a call's input to where the session reads it."""
    store: Callable[[Any], None]
    """Bring the result to the call's output."""


class Bound:
    """What a call runs: one turn, or several one after the other, which are made when they are first needed."""

    def __init__(self, make: Callable[[], _Turn], num_turns: int = 1) -> None:
        self._make, self._num_turns = make, num_turns
        self._turns = [make()]
        self._next = 0

    @property
    def plan(self) -> Plan:
        """What is bound."""
        return self._turns[0].session.plan

    def run(self, array: Any, out: Any) -> None:
        """Run once; raises Stuck if messages stop coming."""
        turn = self._next_turn()
        turn.session.settle()
        turn.load(array)
        turn.session.run()
        turn.store(out)

    def record(self, array: Any, out: Any, recording: Recording) -> None:
        """Run once, and note when what was done."""
        turn = self._next_turn()
        recording.border()
        turn.session.settle()
        turn.load(array)
        recording.border()
        turn.session.run(recording)
        recording.border()
        turn.store(out)
        recording.border()

    def _next_turn(self) -> _Turn:
        if self._next == len(self._turns):
            self._turns.append(self._make())
        turn = self._turns[self._next]
        self._next = (self._next + 1) % self._num_turns
        return turn

    def settle(self) -> None:
        """Wait for the sends that calls have left; raises Stuck if they are not taken."""
        for turn in self._turns:
            turn.session.settle()

    def close(self) -> None:
        """Give back what the sessions hold."""
        for turn in self._turns:
            turn.session.close()


def _nothing(array: Any) -> None:
    pass


def bind_direct(
    plan: Plan, transport: Transport, kind: ArrayLibrary, operation: str, tag: int, layout: BufferLayout, array: Any,
    out: Any,
) -> Bound:  # fmt: skip
    """Bind arrays as they are; they stay referenced until the binding is closed."""
    source, target = array.reshape(-1), out.reshape(-1)
    if plan.is_inplace:  # the longer holds the other
        source = target = source if kind.length(source) >= kind.length(target) else target
    session = Session(plan, transport, kind, operation, tag, source, target, layout.chunk, is_borrowed=True)
    return Bound(lambda: _Turn(session, _nothing, _nothing))


def bind_staged(
    plan: Plan, transport: Transport, kind: ArrayLibrary, operation: str, tag: int, layout: BufferLayout, array: Any,
    out: Any,
) -> Bound:  # fmt: skip
    """Bind buffers of our own, into which every call's input is copied, and its result out of them."""
    is_small = kind.length(array) * kind.item_size(array) <= SMALL
    like = kind.make(0, array)  # the array itself is not ours to keep
    turn = partial(_staged, plan, transport, kind, operation, tag, layout, like)
    return Bound(turn, 2 if transport.acknowledges and is_small else 1)


def _staged(
    plan: Plan, transport: Transport, kind: ArrayLibrary, operation: str, tag: int, layout: BufferLayout, like: Any
) -> _Turn:  # fmt: skip
    sections = (0, 0) if plan.forwards else (layout.input_sections, layout.output_sections)
    sizes = [number * layout.padded_section for number in sections]
    source = kind.make(max(sizes) if plan.is_inplace else sizes[0], like)
    target = source if plan.is_inplace else kind.make(sizes[1], like)
    session = Session(plan, transport, kind, operation, tag, source, target, layout.chunk, is_borrowed=False)
    if plan.forwards:
        return _Turn(session, _nothing, _nothing)

    def part(buffer: Any, sections: int) -> Any:
        """Return the elements of a buffer that are data, a row for each section."""
        own = plan.rank if plan.is_inplace and sections < max(layout.input_sections, layout.output_sections) else 0
        rows = buffer.reshape(-1, layout.padded_section)[own : own + sections]
        return rows[:, : layout.section]

    inside, outside = part(source, layout.input_sections), part(target, layout.output_sections)
    keeps = plan.root >= 0 and plan.collective.reduces and plan.rank != plan.root  # has no result

    def load(given: Any) -> None:
        kind.copy(inside, given.reshape(layout.input_sections, -1))

    def store(result: Any) -> None:
        kind.copy(result, outside.reshape(result.shape))  # an array with gaps cannot be reshaped without a copy

    return _Turn(session, load, _nothing if keeps else store)
