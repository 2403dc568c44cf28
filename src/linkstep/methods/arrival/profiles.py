"""Cap profiles: how long each step may take, for a given sum. Which profile decides more than any other choice.

Caps "as early as possible" are the wrong end: what is taken early must be there to take, and links that idle at a late
step cannot be made up for. The families here lie between that and doing all at the end. Times are whole numbers of
ticks; a step's cap is how long its links may work. Not here: the search that tries them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from linkstep.core.topology import Ints
from linkstep.methods.common.quotient import Quotient

Caps = Ints
"""Ticks a step; caps[0] is 0, so that step s has caps[s]."""
Floats = NDArray[np.float64]
Rounding = Callable[[float], float]

_BLENDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
_POWERS = (0.5, 1.0, 1.5, 2.0, 3.0)
_FEW = 12
"""Caps below this many whole pieces are rounded to whole pieces: a link carries no part of one."""


@dataclass(frozen=True)
class ProfileShape:
    """What profiles depend on besides their sum."""

    steps: int
    grain: int
    """Ticks that a piece takes on a link."""
    whole: int
    """Ticks that a shard takes on a link: step 1 brings nothing but the neighbours' own shards."""
    missing: Floats
    """missing[s]: ticks that the node worst off needs after step s for what cannot reach it by then."""
    growth: float
    """How many times as many nodes are two links away as one."""

    @classmethod
    def of(cls, quotient: Quotient, steps: int, pieces: int, ticks: int) -> ProfileShape:
        """Measure a network; ``ticks`` make the time of a shard over a link of weight 1."""
        network, dist = quotient.network, quotient.dist
        typical = int(np.median(network.weight[quotient.kind, 1]))
        beyond = np.array([np.count_nonzero(dist > s, axis=1) for s in range(max(steps, 2) + 1)])
        missing = (beyond[: steps + 1] / network.in_weight[quotient.nodes]).max(axis=1) * ticks
        near, far = -np.diff(beyond.sum(axis=1))[:2]
        whole = max(1, ticks // typical)
        return cls(steps, max(1, whole // pieces), whole, missing, max(1.0, float(far / max(near, 1))))

    def profiles(self, total: int) -> list[Caps]:
        """Return profiles of this sum, all different, the most promising first."""
        found: dict[bytes, Caps] = {}
        for caps in (*self._likely(total), *self._others(total)):
            if caps.min() >= 0:
                found.setdefault(caps.tobytes(), caps)
        return list(found.values())

    def _likely(self, total: int) -> Iterator[Caps]:
        """The few that most searches need no others than."""
        yield self._whole_pieces(self._power(total, 2.0, 1, self.whole), total, round)
        yield from self._plateau(total, 0.65, 0, round)
        yield self._whole_pieces(self._blend(total, 0.7), total, ceil)
        yield self._whole_pieces(self._blend(total, 0.3), total, round)
        yield self._whole_pieces(self._blend(total, 0.9), total, ceil)
        yield self._whole_pieces(self._power(total, 1.5, 1, self.whole), total, round)
        yield self._whole_pieces(self._blend(total, 0.4), total, ceil)
        yield self._whole_pieces(self._power(total, 3.0, 2, self.whole), total, round)

    def _others(self, total: int) -> Iterator[Caps]:
        """All families."""
        for blend in _BLENDS:
            caps = self._blend(total, blend)
            yield caps
            for rounding in (floor, ceil, round):
                yield self._whole_pieces(caps, total, rounding)
        firsts = {self.whole, max(self.grain, self.whole // 2 // self.grain * self.grain)}
        for power, slope, first in product(_POWERS, (1, 2, 3), sorted(firsts, reverse=True)):
            caps = self._power(total, power, slope, first)
            yield caps
            yield self._whole_pieces(caps, total, round)
        for share, end in product((1.0, 0.8, 0.65, 0.5), (0, 1, 2)):
            yield from self._plateau(total, share, end, None)
            yield from self._plateau(total, share, end, round)

    def _blend(self, total: int, blend: float) -> Caps:
        """Between what can have arrived by each step at best and a geometric series back from the last."""
        steps = self.steps
        early = np.clip(total - self.missing, 0, total)
        late = total * 0.6 / 2.6 ** (steps - 1 - np.arange(steps + 1))
        done = np.exp(blend * np.log(np.maximum(early, 1)) + (1 - blend) * np.log(np.maximum(late, 1)))
        done = np.minimum(done, early)
        done[0], done[1], done[steps] = 0, min(self.whole, total), total
        done = np.maximum.accumulate(np.minimum(done, total))
        return _rounded(np.diff(done, prepend=0.0), total)

    def _power(self, total: int, power: float, slope: int, first: int) -> Caps:
        """Powers of the step, with a slope at the end."""
        number = np.arange(1, self.steps + 1)
        limits = number**power * np.minimum(1.0, (self.steps + 1 - number) / slope)
        caps = np.concatenate([[0.0], limits])
        caps[1] = min(first, total)
        if self.steps > 1:
            caps[2:] *= (total - caps[1]) / caps[2:].sum()
        return _rounded(caps, total)

    def _plateau(self, total: int, share: float, end: int, rounding: Rounding | None) -> Iterator[Caps]:
        """Growth up to a plateau, the same backwards at the end, or not; nothing where growth does not come so far."""
        number = np.arange(1, self.steps + 1)
        growth = max(1.0, share * self.growth)
        limits = np.float64(growth) ** (number - 1.0) * self.whole
        if end:
            limits = np.minimum(limits, growth ** (self.steps - number) * self.whole * end)
        if limits.sum() >= total:
            caps = _rounded(np.concatenate([[0.0], np.minimum(limits, _level(limits, total))]), total)
            yield caps if rounding is None else self._whole_pieces(caps, total, rounding)

    def _whole_pieces(self, caps: Caps, total: int, rounding: Rounding) -> Caps:
        """Round early caps to whole pieces; the last two steps take the difference."""
        found = caps.copy()
        for s in range(2, self.steps - 1):
            if found[s] < _FEW * self.grain:
                found[s] = max(self.grain, int(rounding(found[s] / self.grain)) * self.grain)
        if self.steps > 1:
            rest = total - int(found.sum())
            found[self.steps - 1] += rest // 2
            found[self.steps] += rest - rest // 2
        return found


def _rounded(caps: Floats, total: int) -> Caps:
    done = np.round(np.cumsum(caps)).astype(np.int64)
    done[-1] = total
    return np.diff(done, prepend=0)


def _level(limits: Floats, total: int) -> float:
    """Return the level at which wishes cut off there add up to a total."""
    low, high = 0.0, float(limits.max())
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(limits, middle).sum() < total else (low, middle)
    return high
