"""A plan: any runtime's program as events, the order among them, and the reads and writes each makes.

An event is what happens at once. ``edges`` say what surely happens before what; ``waits`` hold besides, for want of
room, and matter to deadlock only.

Ordering is asked through stamps: an event may raise the clock of a chain (a totally ordered row of events) to a
number, and event a is before b if b's clock of a's chain has reached a's number. An event outside of any chain is
stamped with the first chain event after it; one with two ways out (a send that its own rank or the receiver may know
to be over) has a second stamp. ``flags`` are edges of time only: what is read before one is over, but what is
written before one is seen after it only if a caller came between, which ends and begins kernels, or if it is in one of
the ``packets``, buffers whose every chunk brings its own flag.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
SLOT = -1
"""The buffer of an operand that is a slot of a connection, not memory."""
NONE = -2
"""The buffer of an absent operand."""
NEVER = 2**31 - 1
"""The number of a stamp that is never reached."""


@dataclass
class PlanBuilder:
    """Collects a plan row by row."""

    place: list[tuple[int, int, int]] = field(default_factory=list)
    raises: list[tuple[int, int]] = field(default_factory=list)
    stamp: list[tuple[int, int]] = field(default_factory=list)
    stamp2: dict[int, tuple[int, int]] = field(default_factory=dict)
    edges: list[tuple[int, int]] = field(default_factory=list)
    waits: list[tuple[int, int]] = field(default_factory=list)
    moves: list[tuple[int, ...]] = field(default_factory=list)

    def event(
        self, rank: int, tb: int, step: int, raises: tuple[int, int] = (-1, 0), stamp: tuple[int, int] | None = None
    ) -> int:
        """Add an event; ``raises`` and ``stamp`` are (chain, number), the stamp what it raises unless given."""
        self.place.append((rank, tb, step))
        self.raises.append(raises)
        self.stamp.append(raises if stamp is None else stamp)
        return len(self.place) - 1

    def move(
        self, event: int, dst: tuple[int, int], src: tuple[int, int], count: int, also: tuple[int, int] = (NONE, 0)
    ) -> None:
        """Let an event set dst = src, or dst = src + also; operands are (3 rank + buffer, offset) or (SLOT, cell)."""
        self.moves.append((event, *dst, *src, *also, count))

    def build(self, num_chains: int, num_slots: int) -> Plan:
        """Freeze what was collected."""
        n = len(self.place)
        second = np.full((n, 2), (-1, NEVER), np.int64)
        for event, stamp in self.stamp2.items():
            second[event] = stamp
        moves = np.array(self.moves, np.int64).reshape(-1, 8)
        moves = moves[np.argsort(moves[:, 0], kind="stable")]
        return Plan(
            place=np.array(self.place, np.int64).reshape(-1, 3),
            raises=np.array(self.raises, np.int64).reshape(-1, 2),
            stamps=np.hstack([np.array(self.stamp, np.int64).reshape(-1, 2), second]),
            edges=np.array(self.edges, np.int64).reshape(-1, 2),
            waits=np.array(self.waits, np.int64).reshape(-1, 2),
            moves=moves, num_chains=num_chains, num_slots=num_slots,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plan:
    """The frozen columns; ``moves`` rows are event, dst, dst offset, src, src offset, also, also offset, count."""

    place: Ints
    raises: Ints
    stamps: Ints
    edges: Ints
    waits: Ints
    moves: Ints
    num_chains: int
    num_slots: int
    flags: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    packets: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def num_events(self) -> int:
        """How many events."""
        return len(self.place)

    def cells(self, base: Ints, num_cells: int, column: int) -> Ints:
        """Return the first cell of a column's operands: memory by ``base``, slots after it, -1 where absent."""
        buffer, offset = self.moves[:, column], self.moves[:, column + 1]
        cells = np.where(buffer >= 0, base[np.maximum(buffer, 0)] + offset, num_cells + offset)
        return np.where(buffer == NONE, -1, cells)


def grouped(keys: Ints, values: Ints, num_groups: int) -> tuple[Ints, Ints]:
    """Return (ptr, items): the values of key k are ``items[ptr[k]:ptr[k + 1]]``, in their order."""
    order = np.argsort(keys, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=num_groups))]).astype(np.int64)
    return ptr, np.ascontiguousarray(values[order])
