"""A runtime's program as one value: what it is for, its events, and what is asked of it besides.

This is all that a proof, a simulation or an engine needs to know of a file, whatever its format; ``read_program`` of
``linkstep.programs.formats`` makes one of a file's text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from linkstep.core.arguments import check_flag
from linkstep.core.collective import Collective
from linkstep.core.notebook import html_table
from linkstep.programs.columns import Bools, Ints
from linkstep.programs.events import Events
from linkstep.programs.findings import Finding
from linkstep.programs.memory import Memory


@dataclass(frozen=True, eq=False)
class Doubt:
    """Something the file asks for that some versions of its runtime do not do: ``events`` without it.

    If these race, the ``warnings`` are due; if not, it does no harm.
    """

    events: Callable[[], Events]
    warnings: tuple[Finding, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """What a file of ``dialect`` makes its ranks do for a collective.

    >>> from linkstep import lower, read_program
    >>> read_program(lower("K_{2,2}", "msccl").text)
    <Program allreduce for msccl: 4 ranks, 8 chunks, 80 instructions>
    """

    dialect: str
    collective: Collective
    num_ranks: int
    """How many take part."""
    chunks: int
    """How many chunks the data M is."""
    scratch: Ints
    """The chunks of the scratch buffer of each rank, and of each that only forwards."""
    modes: tuple[bool, ...]
    """How it may be called: in place (True), out of place (False) or both."""
    events: Events
    is_instruction: Bools
    """One event of each instruction; the others are what it sets off."""
    root: int = -1
    """The root of a broadcast or reduce, -1 where the format does not name it."""
    keeps_input: bool = False
    """Whether a reduce-scatter in place must leave the rest of its input as it was."""
    several_runs: Callable[[], Events] | None = None
    """Where a run can be disturbed by the next: the events of several in a row, with their callers."""
    doubts: tuple[Doubt, ...] = field(default=())
    num_forwarders: int = 0
    """How many pass data on and take no part: numbers from ``num_ranks`` on, which have scratch alone."""

    def __repr__(self) -> str:
        what = f"{self.collective} for {self.dialect}"
        ranks = f"{self.num_ranks} ranks" + f" and {self.num_forwarders} that forward" * bool(self.num_forwarders)
        return f"<Program {what}: {ranks}, {self.chunks} chunks, {self.num_instructions} instructions>"

    def _repr_html_(self) -> str:
        fields = [("ranks", self.num_ranks), ("chunks", self.chunks), ("instructions", self.num_instructions)]
        return html_table(f"{self.collective} for {self.dialect}", fields)

    @property
    def num_nodes(self) -> int:
        """Ranks, and those that only forward."""
        return self.num_ranks + self.num_forwarders

    @property
    def num_instructions(self) -> int:
        """Instructions of all ranks."""
        return int(self.is_instruction.sum())

    @cached_property
    def fingerprint(self) -> str:
        """A text that differs between programs that do different things."""
        head = (self.collective.value, self.num_ranks, self.num_nodes, self.chunks, self.modes)
        digest = hashlib.sha256(repr(head).encode())
        for column in vars(self.events.moves).values():
            digest.update(column.tobytes())
        digest.update(self.events.rank.tobytes())
        return digest.hexdigest()

    def memory(self, inplace: bool) -> Memory:
        """Return where its buffers lie."""
        return Memory.of(self.collective, self.num_ranks, self.chunks, self.scratch, check_flag("inplace", inplace))


def first_of_places(events: Events, length: Ints) -> Bools:
    """Return one event for each instruction; a position at or beyond ``length`` of its list (the end) is none."""
    blocks, steps = (int(column.max(initial=0)) + 2 for column in (events.threadblock, events.step))  # -1 is none
    places = (events.rank * blocks + events.threadblock + 1) * steps + events.step + 1
    chosen = np.zeros(events.num_events, np.bool_)
    chosen[np.unique(places, return_index=True)[1]] = True
    return chosen & (events.step >= 0) & (events.step < length)
