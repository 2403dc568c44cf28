"""Collectives as values: what each rank starts with, what it must end with, and what lies between.

A ``Collective`` is its name (it compares, prints and saves as one) with its definition attached, so that code
which checks, costs, lowers, verifies or runs one asks it instead of comparing names. Not here: how to check a schedule
(``linkstep.correctness``) and what a runtime calls it (the spelling rows of each format).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown

Ints = NDArray[np.int64]


class Phase(StrEnum):
    """What happens to a shard: its parts are added up at its node, it is sent out from its node, or both in a row."""

    REDUCE = "reduce"
    GATHER = "gather"
    EXCHANGE = "exchange"
    """Every node sends every other a piece of its own (all-to-all)."""


@dataclass(frozen=True, eq=False)
class Postcondition:
    """Output chunk ``index`` of ``rank`` must be chunk ``chunk`` of rank ``source``'s input.

    Where ``source`` is -1, it must be the sum of that chunk over all ranks.
    """

    rank: Ints
    index: Ints
    source: Ints
    chunk: Ints


class Collective(StrEnum):
    """What N ranks do together.

    >>> Collective("reduce-scatter").reverse, Collective.ALLREDUCE.phases
    (<Collective.ALLGATHER: 'allgather'>, (<Phase.REDUCE: 'reduce'>, <Phase.GATHER: 'gather'>))
    >>> Collective.ALLGATHER.num_chunks(4, 8), Collective.ALLREDUCE.num_chunks(4, 8)
    ((2, 8), (8, 8))
    """

    phases: tuple[Phase, ...]
    """In the order each shard goes through them."""
    has_root: bool
    """Whether one rank is apart: it alone has the data at first (broadcast) or in the end (reduce)."""
    starts_with_shard: bool
    """Whether a rank's input is one N-th of the data, its own shard; otherwise it is as long as the data."""
    ends_with_shard: bool
    """The same of its output."""

    ALLGATHER = "allgather", (Phase.GATHER,), False, True
    REDUCE_SCATTER = "reduce-scatter", (Phase.REDUCE,), False, False, True
    ALLREDUCE = "allreduce", (Phase.REDUCE, Phase.GATHER)
    BROADCAST = "broadcast", (Phase.GATHER,), True
    REDUCE = "reduce", (Phase.REDUCE,), True
    ALL_TO_ALL = "all-to-all", (Phase.EXCHANGE,)

    def __new__(
        cls,
        name: str,
        phases: tuple[Phase, ...] = (),
        has_root: bool = False,
        starts_with_shard: bool = False,
        ends_with_shard: bool = False,
    ) -> Collective:
        """Attach the definition to the name; called with a name alone, ``Collective("reduce")`` is that member."""
        self = str.__new__(cls, name)
        self._value_ = name
        self.phases, self.has_root = phases, has_root
        self.starts_with_shard, self.ends_with_shard = starts_with_shard, ends_with_shard
        return self

    @classmethod
    def _missing_(cls, value: object) -> Collective:
        raise LinkstepError(f"collective must be one of {', '.join(cls)}, not {shown(value)}")

    @property
    def reduces(self) -> bool:
        """Whether anything is added up."""
        return Phase.REDUCE in self.phases

    @property
    def gathers(self) -> bool:
        """Whether shards are sent out from their nodes."""
        return Phase.GATHER in self.phases

    @property
    def exchanges(self) -> bool:
        """Whether every rank has a piece for every other: the w-th N-th of its data is for rank w."""
        return Phase.EXCHANGE in self.phases

    @property
    def ends_apart(self) -> bool:
        """Whether rank w ends with the w-th N-th of what it takes from others' inputs, not with all of it."""
        return self.ends_with_shard or self.exchanges

    @property
    def ends_at_root(self) -> bool:
        """Whether the root alone has a result."""
        return self.has_root and self.reduces

    @property
    def is_divided(self) -> bool:
        """Whether ranks start or end with different parts of the data, so that N must divide its chunks."""
        return self.starts_with_shard or self.ends_apart

    @property
    def reverse(self) -> Collective:
        """The collective that its schedules become when they run backwards on the transpose (thm:scheduleswitch)."""
        return _REVERSE.get(self, self)

    def num_shards(self, num_ranks: int) -> int:
        """Return how many shards the data M is: one of each rank, or the root's alone.

        Of an all-to-all M is what each rank has, and that is its shard.
        """
        return 1 if self.has_root or self.exchanges else num_ranks

    def num_chunks(self, num_ranks: int, chunks: int) -> tuple[int, int]:
        """Return the chunks of a rank's input and of its output when the data is ``chunks`` of them.

        This is the precondition: input chunk c of rank r is its contribution (r, c), whatever the collective.
        """
        shard = chunks // num_ranks
        return (shard if self.starts_with_shard else chunks), (shard if self.ends_with_shard else chunks)

    def postcondition(self, num_ranks: int, chunks: int, root: int = 0) -> Postcondition:
        """Return what must be where in the end, a row for every output chunk that the collective speaks of.

        >>> wanted = Collective.REDUCE_SCATTER.postcondition(2, 2)
        >>> wanted.rank.tolist(), wanted.source.tolist(), wanted.chunk.tolist()
        ([0, 1], [-1, -1], [0, 1])
        """
        output = self.num_chunks(num_ranks, chunks)[1]
        shard = max(chunks // num_ranks, 1)
        rank = np.repeat(np.arange(num_ranks), output)
        index = np.tile(np.arange(output), num_ranks)
        own = rank * shard if self.ends_apart else np.zeros_like(rank)
        if self.reduces or self.has_root:  # everyone's part of one chunk, or the root's chunk
            source, chunk = np.full(rank.size, -1 if self.reduces else root), own + index
        else:  # of each rank: the whole of what it had, or the piece meant for this one
            source, chunk = index // shard, own + index % shard
        kept = rank == root if self.ends_at_root else np.ones(rank.size, bool)
        return Postcondition(rank[kept], index[kept], source[kept], chunk[kept])


_REVERSE = {
    Collective.ALLGATHER: Collective.REDUCE_SCATTER,
    Collective.REDUCE_SCATTER: Collective.ALLGATHER,
    Collective.BROADCAST: Collective.REDUCE,
    Collective.REDUCE: Collective.BROADCAST,
}
