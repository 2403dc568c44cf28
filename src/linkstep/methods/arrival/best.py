"""What a search for arrivals has found so far, and when it is to stop; not the search itself.

A greedy pass leaves arrivals as bits, eight times smaller than steps; they are written as steps only where needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.arrival_greedy import _unpack
from linkstep.core.topology import Ids
from linkstep.methods.arrival.quotient import Steps
from linkstep.symmetry.free_orbits import FreeOrbits


class OutOfTime(Exception):
    """The budget of time is used up; what was found so far stands."""


@dataclass
class Clock:
    """When to stop, and whom to tell."""

    seconds: float | None = None
    tell: Callable[[Fraction], None] | None = None
    _start: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise ``OutOfTime`` if there is no time left."""
        if self.seconds is not None and time.monotonic() - self._start > self.seconds:
            raise OutOfTime

    def say(self, total: Fraction) -> None:
        """Tell of a better total time."""
        if self.tell is not None:
            self.tell(total)


@dataclass(frozen=True)
class Bits:
    """Arrivals as a greedy pass leaves them, a bit for each piece that reaches a row's node at a step."""

    got: NDArray[np.uint64]
    owner: Ids
    begin: Steps

    def unpack(self) -> Steps:
        """Return the steps of arrival."""
        arrive = np.zeros((self.got.shape[1], self.owner.size), np.int16)
        _unpack(self.got, self.owner, self.begin, arrive)
        return arrive


@dataclass
class Best:
    """The arrivals of least total time so far, in shards a unit of weight."""

    total: Fraction
    found: Steps | Bits
    """Rows for all nodes, or for the representatives of the group's orbits."""
    pieces: int = 1
    group: Ids | None = None
    """What arrivals look the same under, where such a group is known."""

    @cached_property
    def step(self) -> Steps:
        """The rows as steps of arrival."""
        return self.found.unpack() if isinstance(self.found, Bits) else self.found

    @property
    def num_steps(self) -> int:
        """How many steps something arrives at."""
        if isinstance(self.found, Bits):
            return sum(bool(step.any()) for step in self.found.got)
        return int(np.count_nonzero(np.bincount(self.found.ravel()))) - 1

    def everywhere(self) -> Steps:
        """Return the arrivals at all nodes."""
        if self.group is None or len(self.step) == self.group.shape[1]:
            return self.step
        return FreeOrbits.of(self.group).expand(self.step, self.pieces)


def random_state(seed: int) -> NDArray[np.uint64]:
    """Return the state that the kernels draw random numbers from."""
    return np.array([(seed + 1) * 0x9E3779B97F4A7C15 % 2**64 | 1], np.uint64)


def packed(table: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return rows of bits as words."""
    padded = np.zeros((len(table), -(-table.shape[1] // 64) * 64), np.bool_)
    padded[:, : table.shape[1]] = table
    return np.packbits(padded, axis=1, bitorder="little").view(np.dtype("<u8")).astype(np.uint64)
