"""A call with its arrays: a session on the arrays themselves, or on padded copies of them.

Copies serve where chunks do not divide the data, where it is small (cheaper than preparing messages for new arrays),
where an array has gaps, and where the program only works the other way, in place or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkstep.engines.arrays import Kind
from linkstep.engines.layout import Layout
from linkstep.engines.plan import Plan
from linkstep.engines.session import Session
from linkstep.engines.transport import Transport


@dataclass(frozen=True)
class Bound:
    """What a call runs."""

    session: Session
    load: Callable[[Any], None]
    """Bring the call's input to where the session reads it."""
    store: Callable[[Any], None]
    """Bring the result to the call's output."""

    def run(self, array: Any, out: Any) -> None:
        """Run once."""
        self.load(array)
        self.session.run()
        self.store(out)

    def close(self) -> None:
        """Give back what the session holds."""
        self.session.close()


def _nothing(array: Any) -> None:
    pass


def bind_direct(
    plan: Plan, transport: Transport, kind: Kind, operation: str, tag: int, layout: Layout, array: Any, out: Any
) -> Bound:  # fmt: skip
    """Bind arrays as they are; they stay referenced until the binding is closed."""
    source, target = array.reshape(-1), out.reshape(-1)
    if plan.is_inplace:  # the longer holds the other
        source = target = source if kind.length(source) >= kind.length(target) else target
    return Bound(Session(plan, transport, kind, operation, tag, source, target, layout.chunk), _nothing, _nothing)


def bind_staged(
    plan: Plan, transport: Transport, kind: Kind, operation: str, tag: int, layout: Layout, array: Any, out: Any
) -> Bound:  # fmt: skip
    """Bind buffers of our own, into which every call's input is copied, and its result out of them."""
    sizes = [sections * layout.padded_section for sections in (layout.input_sections, layout.output_sections)]
    source = kind.make(max(sizes) if plan.is_inplace else sizes[0], array)
    target = source if plan.is_inplace else kind.make(sizes[1], array)
    session = Session(plan, transport, kind, operation, tag, source, target, layout.chunk)

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

    return Bound(session, load, _nothing if keeps else store)
