"""What one rank does for a program, level by level: the form that engines execute.

A plan is compiled once and serves every size and element type, because all in it is counted in chunks. Its levels are
the rounds of messages that wait for each other: a message of level k carries what arrived before level k. On reaching
a level a rank waits for what it needs there, adds up, and sends on. Between levels nobody waits,
and a receive is posted as soon as its place is free, at the start unless something else was there. Not here: how a
program becomes plans (``linkstep.engines.plans.compile``), and whatever moves bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError


class Transfer(NamedTuple):
    """A message to or from ``peer``: ``chunks`` chunks at ``cell``; ``number`` tells it from others of the pair."""

    peer: int
    number: int
    cell: int
    chunks: int


class Work(NamedTuple):
    """Set ``chunks`` chunks at ``dst`` to those at ``src``, combined with those at ``addend`` unless it is -1."""

    dst: int
    src: int
    addend: int
    chunks: int


@dataclass(frozen=True)
class Level:
    """What happens at a level, in this order."""

    awaited: tuple[Transfer, ...]
    """Receives that must be complete: what they bring is used here."""
    settled: int
    """Sends of levels below this one must be complete: their chunks are about to be overwritten."""
    urgent: tuple[Work, ...]
    """Work that the sends need."""
    posted: tuple[Transfer, ...]
    """Receives whose place is free from here on."""
    sent: tuple[Transfer, ...]
    arriving: tuple[Transfer, ...]
    """What others send to this rank in the same level: receives that were posted here or before."""
    lazy: tuple[Work, ...]
    """The rest of the work, while messages are in flight."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The levels of one rank.

    A rank's cells are chunks: those of the input, of the output and of the workspace, one after the other; in place,
    the input and the output are one array, as long as the longer of the two, the shorter being the rank's part of it.
    """

    collective: Collective
    rank: int
    num_ranks: int
    fingerprint: str
    """Equal for all ranks' plans of one program, and different for another's."""
    root: int
    """Of a broadcast or reduce; -1 where the program does not name it."""
    chunks: int
    """How many chunks the data M is."""
    is_inplace: bool
    input_cells: int
    output_cells: int
    work_cells: int
    most_messages: int
    """The most messages from one rank to another, of all pairs: their numbers are below this."""
    levels: tuple[Level, ...]

    @property
    def forwards(self) -> bool:
        """Whether it is of a node that passes data on and takes no part: its number is beyond those of the ranks."""
        return self.rank >= self.num_ranks

    def __repr__(self) -> str:
        place = "in place" if self.is_inplace else "out of place"
        return f"<Plan {self.collective} {place} of rank {self.rank} of {self.num_ranks}: {len(self.levels)} levels>"

    @property
    def num_steps(self) -> int:
        """Rounds of messages that wait for each other."""
        return len(self.levels) - 1

    @property
    def chunks_to(self) -> dict[int, int]:
        """How many chunks this rank sends to each peer."""
        found: dict[int, int] = {}
        for level in self.levels:
            for sent in level.sent:
                found[sent.peer] = found.get(sent.peer, 0) + sent.chunks
        return found


class Plans(Protocol):
    """Where a communicator finds its plans: made when asked for, or compiled before."""

    @property
    def fingerprint(self) -> str:
        """Equal on all ranks that were given the same."""

    @property
    def num_ranks(self) -> int:
        """How many take part."""

    @property
    def order(self) -> Sequence[int] | None:
        """The node of each rank, then of those that only forward; None where these have the same numbers."""

    def has_plan(self, collective: Collective, size: int, inplace: bool, root: int) -> bool:
        """Whether a plan is there already; to make one may take a while."""

    def plan_for(self, collective: Collective, size: int, inplace: bool, root: int) -> Plan:
        """Return this rank's plan for a collective of ``size`` bytes in all, in place if it can be."""


@dataclass(frozen=True)
class CompiledPlans:
    """Plans that were compiled before: for one collective and root, each up to and with a size."""

    fingerprint: str
    root: int
    plans: tuple[tuple[int, Plan], ...]
    order: Sequence[int] | None = None

    @property
    def num_ranks(self) -> int:
        """How many take part."""
        return self.plans[0][1].num_ranks if self.plans else 0

    def has_plan(self, collective: Collective, size: int, inplace: bool, root: int) -> bool:
        """Return True: all there are."""
        return True

    def plan_for(self, collective: Collective, size: int, inplace: bool, root: int) -> Plan:
        """Return the first plan that reaches as far as the size."""
        for largest, plan in self.plans:
            if plan.collective is collective and root == self.root and size <= largest:
                return plan
        raise LinkstepError(f"no plan was compiled for {collective} of {size} bytes")
