"""A rank's cells while its plan is compiled: from when on each may be read or written, and where each value lies.

A cell is a chunk of memory, first those of the program (input, output, scratch), then workspace that is added here. A
cell has a version for each time the program writes it. Who reads a cell asks where its version is (``find``): in the
cell itself, or in workspace if it is one that is overwritten while a send of it may still be in flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from linkstep.engines.plans.plan import Work

Versions = frozenset[tuple[int, int]]
"""Values as (cell, version)."""


@dataclass
class PlannedMessage:
    """Chunks in flight from ``sender``; the receiver is known once it asks for them."""

    sender: int
    cell: int
    """Where they lie at the sender."""
    count: int
    level: int
    receiver: int = -1
    arrived: int = -1
    """Where they lie at the receiver."""
    posted: int = 0
    needed: int = 2**31
    """The first level that uses what arrived."""
    number: int = 0


@dataclass
class Cells:
    """What is known of a rank's cells, and what it does."""

    ready: list[int]
    """The level from which on a cell holds what was written to it last."""
    free: list[int]
    """The level from which on a cell may be written: all that reads it is done, sends once they are waited for."""
    sent: list[int]
    """One more than the level of the last send that reads a cell and was not waited for."""
    coming: list[PlannedMessage | None]
    """What a cell was received from, and was not written since."""
    version: list[int]
    """How often the program has written each of its cells."""
    spare: Versions
    """Values to be put into workspace."""
    moved: dict[int, int] = field(default_factory=dict)
    """Where the value of a program's cell is, if not in it."""
    overwritten: set[tuple[int, int]] = field(default_factory=set)
    """Values that were overwritten in their cells after they were sent."""
    work: list[tuple[int, Work]] = field(default_factory=list)
    """(level, work) in the order of the program."""
    settled: dict[int, int] = field(default_factory=dict)
    sends: list[PlannedMessage] = field(default_factory=list)
    receives: list[PlannedMessage] = field(default_factory=list)

    @classmethod
    def of(cls, num_cells: int, spare: Versions) -> Cells:
        """Return the cells of a program before it begins."""
        return cls([0] * num_cells, [0] * num_cells, [0] * num_cells, [None] * num_cells, [0] * num_cells, spare)

    def allocate(self, count: int) -> int:
        """Return fresh cells at the end of the workspace."""
        cell = len(self.ready)
        for column in (self.ready, self.free, self.sent):
            column.extend([0] * count)
        self.coming.extend([None] * count)
        return cell

    def touch(self, cell: int, count: int, level: int) -> None:
        """Note that cells are used at a level: what they were received from must have arrived."""
        last = None
        for message in self.coming[cell : cell + count]:
            if message is not last and message is not None:
                last = message
                if level < message.needed:
                    message.needed = level

    def writable(self, cell: int, count: int) -> int:
        """Return the level from which on cells may be written."""
        return max(*self.free[cell : cell + count], *self.ready[cell : cell + count])

    def settle(self, cell: int, count: int, level: int) -> None:
        """Note which sends must be complete before cells are written at a level."""
        last = max(self.sent[cell : cell + count])
        if last:
            program = range(cell, min(cell + count, len(self.version)))
            versions = [(c, self.version[c]) for c in program if self.sent[c]]
            self.overwritten.update(one for one in versions if one[1])  # nobody can move what the rank begins with
            self.settled[level] = max(self.settled.get(level, 0), last)
            self.sent[cell : cell + count] = [0] * count

    def do(self, dst: int, src: int, addend: int, count: int, floor: int) -> None:
        """Add work at the first level at which it can be done, ``floor`` at least."""
        ready = self.ready
        level = max(floor, *self.free[dst : dst + count], *ready[dst : dst + count], *ready[src : src + count])
        if addend >= 0:
            level = max(level, *ready[addend : addend + count])
        self.settle(dst, count, level)
        for cell in (dst, src, addend):
            if cell >= 0:
                self.touch(cell, count, level)
        ready[dst : dst + count] = [level] * count
        self.coming[dst : dst + count] = [None] * count
        free = self.free
        for cell in (src, addend):
            for k in range(cell, cell + count) if cell >= 0 else ():
                if free[k] < level:
                    free[k] = level
        self.work.append((level, Work(dst, src, addend, count)))

    def set(self, dst: int, src: int, addend: int, count: int, floor: int) -> None:
        """Let the program write its cells: as ``do``, with what must be spared in workspace."""
        shifted = any(at >= 0 and 0 < abs(at - dst) < count for at in (src, addend))
        for begin, end in [(0, count)] if shifted else self._runs(dst, count):
            home, size = dst + begin, end - begin
            place = self.allocate(size) if self.is_spare(home, size) and not shifted else home
            self.do(place, src + begin, addend + begin if addend >= 0 else -1, size, floor)
            self.renew(home, size, place)

    def _runs(self, cell: int, count: int) -> Iterator[tuple[int, int]]:
        """Cut cells into runs whose next versions are alike in whether they are spared."""
        if not self.spare:
            yield 0, count
            return
        begin = 0
        for k in range(1, count + 1):
            if k == count or self.is_spare(cell + k, 1) != self.is_spare(cell + begin, 1):
                yield begin, k
                begin = k

    def is_spare(self, cell: int, count: int) -> bool:
        """Whether one of the next versions of cells of the program is to be put into workspace."""
        spare, version = self.spare, self.version
        if not spare:
            return False
        if count == 1:
            return (cell, version[cell] + 1) in spare
        return any((c, version[c] + 1) in spare for c in range(cell, cell + count))

    def renew(self, cell: int, count: int, place: int) -> None:
        """Note that the program has written its cells, and where that is."""
        version, moved = self.version, self.moved
        for k in range(cell, cell + count):
            version[k] += 1
        if place != cell:
            moved.update(zip(range(cell, cell + count), range(place, place + count), strict=True))
        elif moved:
            for k in range(cell, cell + count):
                moved.pop(k, None)

    def find(self, cell: int, count: int, floor: int) -> int:
        """Return where the value of the program's cells is; parts that lie apart are brought together."""
        if not self.moved:
            return cell
        if count == 1:
            return self.moved.get(cell, cell)
        places = [self.moved.get(c, c) for c in range(cell, cell + count)]
        runs = _consecutive(places)
        if len(runs) == 1:
            return places[0]
        fresh = self.allocate(count)
        for begin, end in runs:
            self.do(fresh + begin, places[begin], -1, end - begin, floor)
        return fresh

    def bring_home(self, num_cells: int) -> None:
        """Copy what lies in workspace at the end to its place among the first cells, which others see."""
        cells = sorted(cell for cell in self.moved if cell < num_cells)
        for begin, end in _consecutive(cells):
            places = [self.moved[cell] for cell in cells[begin:end]]
            for first, last in _consecutive(places):
                self.do(cells[begin + first], places[first], -1, last - first, 0)


def _consecutive(numbers: list[int]) -> list[tuple[int, int]]:
    """Return the (begin, end) of runs of numbers that follow each other.

    >>> _consecutive([4, 5, 9, 10, 11])
    [(0, 2), (2, 5)]
    """
    cuts = [0, *(k for k in range(1, len(numbers)) if numbers[k] != numbers[k - 1] + 1), len(numbers)]
    return [(a, b) for a, b in pairwise(cuts) if a < b]
