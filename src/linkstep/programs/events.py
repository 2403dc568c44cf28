"""Events: what a runtime's program does, what must come before what, and which chunks each event reads and writes.

This is the form that every runtime's file is brought into; what reads a file is in the package of its format, and what
proves, times or runs its events is elsewhere. An event happens as a whole. Pairs (a, b) of events say that b comes
after a, in one of four strengths:

* ``edges``: when b begins, a is complete and b sees all that a wrote;
* ``flags``: a is complete, but b need not see what it wrote, unless a caller came between (who ends one kernel and
  starts the next) or it is a chunk of one of the ``packets``, buffers in which every chunk carries a flag of its own;
* ``waits``: b is begun after a, which says nothing about memory;
* ``capacity``: b cannot be complete before a, because the connection between them holds no more.

All four must be free of cycles, or the program never ends. Races are decided by the first two, and by clocks. The
events of a threadblock are a *chain*, numbered in their order, and every event has a clock: for each chain, the highest
number that is complete when it begins. ``raises`` is the mark (chain, number) that an event sets by itself; ``ends`` is
the mark from which on it is known to be complete, its own or that of a later synchronisation. A send may be known to be
complete in two ways, by its own rank's synchronisation or on a rank that learns of the receive: ``ends_elsewhere`` is
the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkstep.programs.columns import Bools, Columns, Ints

SLOT = -1
"""The buffer of an operand that is a slot of a connection, not memory."""
NONE = -2
"""The buffer of an absent operand."""
NEVER = 2**31 - 1
"""The number of a mark that no chain reaches."""
NO_MARK = (-1, NEVER)

Mark = tuple[int, int]
"""A chain and a number in it; the chain is -1 for none."""
Operand = tuple[int, ...]
"""A buffer's number (see ``linkstep.programs.memory``) and an offset in it, or SLOT and a cell; more is ignored."""


@dataclass(frozen=True, eq=False)
class Moves(Columns):
    """Row k: ``event`` sets the ``count`` chunks of dst to those of src, or to src plus the addend if there is one.

    Sorted by event; the moves of one event are in the order in which they happen.
    """

    event: Ints
    dst: Ints
    dst_offset: Ints
    src: Ints
    src_offset: Ints
    addend: Ints
    addend_offset: Ints
    count: Ints

    def sorted(self) -> Moves:
        """Return the moves in the order of their events."""
        return self.take(np.argsort(self.event, kind="stable"))


@dataclass(frozen=True, eq=False)
class Marks(Columns):
    """A mark of each event: a ``chain``, or -1 for none, and a ``number`` in it."""

    chain: Ints
    number: Ints

    def shifted(self, by: Ints) -> Marks:
        """Return the marks with other chains: each that there is, so much further."""
        return Marks(self.chain + np.where(self.chain >= 0, by, 0), self.number)

    @classmethod
    def none(cls, size: int) -> Marks:
        """Return marks that are never reached."""
        return cls(np.full(size, -1, np.int64), np.full(size, NEVER, np.int64))


@dataclass(frozen=True, eq=False)
class Events:
    """The columns; event e is at ``step[e]`` of ``threadblock[e]`` of ``rank[e]``.

    The threadblock is -1 where a rank has a single list of instructions, the step -1 where the event is the rank's
    caller, before or after a run.
    """

    rank: Ints
    threadblock: Ints
    step: Ints
    raises: Marks
    ends: Marks
    ends_elsewhere: Marks
    edges: Ints
    flags: Ints
    waits: Ints
    capacity: Ints
    moves: Moves
    num_chains: int
    num_slots: int
    packets: Ints

    @property
    def num_events(self) -> int:
        """How many events."""
        return len(self.rank)

    @property
    def is_caller(self) -> Bools:
        """Which events are a rank's caller, between whose kernels everything is seen."""
        return self.step < 0

    @property
    def time_edges(self) -> Ints:
        """The pairs (a, b) of which b begins after a, whatever connections hold."""
        return np.concatenate([self.edges, self.flags, self.waits])

    def place(self, event: int) -> tuple[int, int | None, int | None]:
        """Return (rank, threadblock, step) of an event; None where there is none."""
        threadblock, step = int(self.threadblock[event]), int(self.step[event])
        return int(self.rank[event]), (threadblock if threadblock >= 0 else None), (step if step >= 0 else None)

    def describe(self, event: int) -> str:
        """Return the words for an event's place."""
        rank, threadblock, step = self.place(event)
        if step is None:
            return f"the caller of rank {rank} before or after the run"
        return f"rank {rank}{'' if threadblock is None else f' tb {threadblock}'} step {step}"


class EventsBuilder:
    """Collects events one by one; lists of pairs are flat: a, b, a, b, ..."""

    def __init__(self) -> None:
        self.num_events = 0
        self.edges: list[int] = []
        self.flags: list[int] = []
        self.waits: list[int] = []
        self.capacity: list[int] = []
        self._places: list[int] = []
        self._raises: list[int] = []
        self._ends: list[int] = []
        self._moves: list[int] = []
        self._elsewhere: dict[int, Mark] = {}

    def event(self, rank: int, threadblock: int, step: int, raises: Mark = (-1, 0), ends: Mark = NO_MARK) -> int:
        """Add an event and return its number."""
        self._places += (rank, threadblock, step)
        self._raises += raises
        self._ends += ends
        self.num_events += 1
        return self.num_events - 1

    def move(self, event: int, dst: Operand, src: Operand, count: int, addend: Operand = (NONE, 0)) -> None:
        """Let an event set dst = src, or dst = src + addend."""
        self._moves += (event, dst[0], dst[1], src[0], src[1], addend[0], addend[1], count)

    def place(self, event: int) -> tuple[int, int, int]:
        """Return the rank, threadblock and step of an event."""
        rank, threadblock, step = self._places[3 * event : 3 * event + 3]
        return rank, threadblock, step

    def ends(self, event: int) -> Mark:
        """Return the mark from which on an event is known to be complete."""
        chain, number = self._ends[2 * event : 2 * event + 2]
        return chain, number

    def set_ends(self, event: int, mark: Mark) -> None:
        """Change it."""
        self._ends[2 * event : 2 * event + 2] = mark

    def set_ends_elsewhere(self, event: int, mark: Mark) -> None:
        """Say from which mark on an event is known to be complete besides; the first one said stays."""
        self._elsewhere.setdefault(event, mark)

    def build(self, num_chains: int, num_slots: int = 0, packets: Ints | None = None) -> Events:
        """Freeze what was collected."""
        rank, threadblock, step = np.ascontiguousarray(np.array(self._places, np.int64).reshape(-1, 3).T)
        elsewhere = Marks.none(self.num_events)
        if self._elsewhere:
            which = np.fromiter(self._elsewhere, np.int64, len(self._elsewhere))
            marks = Marks.from_rows(list(self._elsewhere.values()))
            elsewhere.chain[which], elsewhere.number[which] = marks.chain, marks.number
        return Events(
            rank=rank, threadblock=threadblock, step=step, raises=Marks.from_rows(self._raises),
            ends=Marks.from_rows(self._ends), ends_elsewhere=elsewhere, edges=_rows(self.edges),
            flags=_rows(self.flags), waits=_rows(self.waits), capacity=_rows(self.capacity),
            moves=Moves.from_rows(self._moves).sorted(), num_chains=num_chains, num_slots=num_slots,
            packets=np.zeros(0, np.int64) if packets is None else packets,
        )  # fmt: skip


def _rows(flat: list[int]) -> Ints:
    return np.array(flat, np.int64).reshape(-1, 2)
