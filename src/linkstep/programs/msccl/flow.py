"""Whether a program of MSCCL XML ends with the room its connections have, as the interpreters move data.

A step of cnt chunks is cut into transfers, each of as many chunks as fit into a slot of the connection at the size of
the call; a connection has 2 slots (Simple) or 8 (LL, LL128). A transfer waits for a free slot, and a slot is free when
its transfer was received; a step that receives and sends gives its slot back only when it has one to send into.
Nobody can keep another from what it can do, so all runs end alike and one decides. Larger calls cut finer, and whatever
ends when cut finer ends when not, so the largest call that the file is selected for is run.

We ask for more than the runtimes: that it ends, too, where a connection has room for one message, of any size, and what
receives and sends on has room for the one in its hands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkstep._kernels.flow import _run_flow
from linkstep.programs.events import Ints
from linkstep.programs.findings import Findings
from linkstep.programs.msccl.dialects import DEFAULT_MAX_BYTES
from linkstep.programs.msccl.reader import (
    CNT,
    DEPID,
    DEPS,
    DST,
    POS,
    RANK,
    READS_SRC,
    RECEIVES,
    SENDS,
    SRC,
    TB,
    TB_FIRST,
    TB_ID,
    TB_STEPS,
    TYPE,
    WRITES_DST,
    Columns,
    MscclFile,
    long_integer,
)  # fmt: skip

MAX_COUNT = 71
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Room:
    """The slots of a connection and the bytes of data they take, with buffers of the default size."""

    slots: int
    slot_bytes: int


# Buffers have 8 steps; a slot is 4 of them (Simple, 4 MiB) or one. LL: 8 lines of 16 bytes a thread, half of it data,
# 512 threads or RCCL's 256. LL128: 120 words a thread, 15 of 16 data, 640 threads; RCCL: 28 words, 7 of 8, 256 threads.
_ROOM = {"Simple": Room(2, 2**21), "LL": Room(8, 2**15), "LL128": Room(8, 576000)}
_RCCL_ROOM = {"Simple": Room(2, 2**21), "LL": Room(8, 2**14), "LL128": Room(8, 50176)}


def room_in(dialect: str, file: MscclFile) -> Room:
    """Return the room that a runtime gives to the file's protocol."""
    return (_RCCL_ROOM if dialect == "rccl" else _ROOM)[file.algo["proto"]]


@dataclass(frozen=True, eq=False)
class Flow:
    """Messages, sorted by connection and then in order: ``out[i]`` sends what ``into[i]`` receives. Row ``rows[k]``
    depends on ``targets[k]``.
    """

    file: MscclFile
    room: Room
    out: Ints
    into: Ints
    connection: Ints
    rows: Ints
    targets: Ints

    @property
    def at_once(self) -> int:
        """How many chunks of a step are sent at once in the largest call the file is selected for."""
        algo = self.file.algo
        largest = long_integer(algo, "maxBytes") if "maxBytes" in algo else DEFAULT_MAX_BYTES
        if largest <= 0:
            return 1
        chunk = -(-largest // self.file.nchunks)
        return min(max(self.room.slot_bytes // chunk, 1), MAX_COUNT)

    def transfers(self, at_once: int) -> Ints:
        """Return the transfers of each step; one for a step that neither sends nor receives."""
        steps = self.file.steps
        moves = SENDS[steps[:, TYPE]] | RECEIVES[steps[:, TYPE]]
        return np.where(moves, -(-steps[:, CNT] // at_once), 1)

    def waits(self) -> Ints:
        """Return the pairs (receive, send) of which the send cannot end before the receive has."""
        if not self.out.size:
            return np.zeros((0, 2), np.int64)
        ends = np.cumsum(self.transfers(self.at_once)[self.out])
        before = np.searchsorted(ends, ends - self.room.slots, side="right") - 1
        held = np.flatnonzero((before >= 0) & (self.connection[before] == self.connection))
        return np.stack([self.into[before[held]], self.out[held]], axis=1)

    def streams(self) -> Ints:
        """Return (stream, row) for each step by which data of several chunks goes on, in its order: a send, steps that
        pass it on, and a receive.
        """
        kind = self.file.steps[:, TYPE]
        goes_to = np.full(kind.size, -1, np.int64)
        goes_to[self.out] = self.into
        at = np.flatnonzero(SENDS[kind] & ~RECEIVES[kind] & (self.file.steps[:, CNT] > 1))
        stream, found = at, [np.stack([at, at], axis=1)]
        while at.size:
            at = goes_to[at]
            found.append(np.stack([stream, at], axis=1))
            stream, at = stream[SENDS[kind[at]]], at[SENDS[kind[at]]]
        return np.concatenate(found)

    def cycle(self, at_once: int) -> list[int]:
        """Return steps that wait for each other in a circle in the runtime, none if all ends."""
        file, n = self.file, len(self.file.steps)
        target, comes, goes = np.full((3, n), -1, np.int64)
        target[self.rows] = self.targets
        comes[self.into], goes[self.out] = self.connection, self.connection
        first, length = (np.ascontiguousarray(file.tbs[:, column]) for column in (TB_FIRST, TB_STEPS))
        return self._run(first, length, self.transfers(at_once), target, comes, goes, self.room.slots)

    def cycle_at_one(self) -> list[int]:
        """Return steps that wait for each other in a circle where a connection holds one message, none if all ends.

        A step that receives and sends is two of them.
        """
        file, n = self.file, len(self.file.steps)
        fused = SENDS[file.steps[:, TYPE]] & RECEIVES[file.steps[:, TYPE]]
        last = np.arange(n) + np.cumsum(fused)  # where a step is now, its second half if it has two
        total = n + int(fused.sum())
        target, comes, goes = np.full((3, total), -1, np.int64)
        target[(last - fused)[self.rows]] = last[self.targets]
        comes[(last - fused)[self.into]], goes[last[self.out]] = self.connection, self.connection
        halves = np.bincount(file.steps[fused, TB], minlength=len(file.tbs))
        length = file.tbs[:, TB_STEPS] + halves
        first = np.cumsum(length) - length
        circle = self._run(first, length, np.ones(total, np.int64), target, comes, goes, 1)
        return list(dict.fromkeys(np.searchsorted(last, circle).tolist()))

    def _run(
        self, first: Ints, length: Ints, number: Ints, target: Ints, comes: Ints, goes: Ints, slots: int
    ) -> list[int]:  # fmt: skip
        """Run steps as far as they go; return some that wait for each other in a circle."""
        sender, receiver = np.zeros((2, int(self.connection[-1]) + 1 if self.connection.size else 0), np.int64)
        steps = self.file.steps
        sender[self.connection], receiver[self.connection] = steps[self.out, TB], steps[self.into, TB]
        at, left, sent, received = _run_flow(first, length, number, target, comes, goes, sender, receiver, slots)
        stuck = np.flatnonzero(at < length)
        if not stuck.size:
            return []
        block_of = np.repeat(np.arange(length.size), length)
        block, seen = int(stuck[0]), dict[int, int]()
        while block not in seen:
            step = int(first[block] + at[block])
            seen[block] = step
            awaited = int(target[step])
            if not left[block] and awaited >= 0 and first[block_of[awaited]] + at[block_of[awaited]] <= awaited:
                block = int(block_of[awaited])
            elif comes[step] >= 0 and sent[comes[step]] == received[comes[step]]:
                block = int(sender[comes[step]])
            else:
                block = int(receiver[goes[step]])
        blocks = list(seen)
        return [seen[b] for b in blocks[blocks.index(block) :]]


def _names(file: MscclFile, circle: list[int]) -> str:
    names = ["rank {} tb {} step {}".format(*file.place(s)) for s in circle]
    return ", which waits for ".join(names[1:_NAMES_SHOWN] + ["..."] * (len(names) > _NAMES_SHOWN) + names[:1])


def check_flow(flow: Flow, strict: bool, findings: Findings) -> bool:
    """Report a deadlock and, where smaller data ends, up to which size; return whether there is none.

    Unless ``strict``, room for one message is not asked to be enough.
    """
    file = flow.file
    now = flow.at_once
    circle = flow.cycle(now)
    hint = ""
    if circle:
        low, high = now, MAX_COUNT
        if file.steps[:, CNT].max() > now and not flow.cycle(high):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if flow.cycle(middle) else (low, middle)
            hint = f"; it ends if maxBytes is at most {flow.room.slot_bytes // high * file.nchunks}"
    elif strict:
        circle = flow.cycle_at_one()
        has = f"{file.algo['proto']} has room for {flow.room.slots} and ends"
        hint = f", if a connection has room for one message ({has}: verify it with capacity runtime to allow that)"
    if circle:
        findings.error("deadlock", f"waits for {_names(file, circle)}{hint}", *file.place(circle[0]))
    return not circle


def check_streams(flow: Flow, base: Ints, findings: Findings) -> None:
    """Report what data that is passed on overtakes when it comes back to a rank that it passed before.

    When a step of a stream does a chunk, the steps before it have done that chunk, but not those after it, unless they
    are in one tb or one waits for the other. Else steps come one after the other as a whole. ``base`` says where the
    buffers begin.
    """
    steps = flow.file.steps
    found = flow.streams()
    found = found[np.lexsort((steps[found[:, 1], RANK], found[:, 0]))]  # stable: in a rank by the stream's order
    rows, tb = found[:, 1], steps[found[:, 1], TB]
    same = (found[1:, 0] == found[:-1, 0]) & (steps[rows[1:], RANK] == steps[rows[:-1], RANK])
    ends = np.concatenate([[0], np.flatnonzero(~same) + 1, [rows.size]])
    apart = np.flatnonzero(same & (tb[1:] != tb[:-1]))
    for k in np.unique(np.searchsorted(ends, apart, side="right")):
        visits = rows[ends[k - 1] : ends[k]]
        for early, late in np.argwhere(_overtaken(steps[visits], base)):
            first, second = int(visits[early]), int(visits[late])
            if not _waits_for(flow.file, second, first):
                findings.error(
                    "race", "may come to a chunk before rank {} tb {} step {} does, from which its data comes: the "
                    "first of it is back before the last has left".format(*flow.file.place(first)),
                    *flow.file.place(second),
                )  # fmt: skip
                break


def _overtaken(visits: Columns, base: Ints) -> npt.NDArray[np.bool_]:
    """Say of which two steps, in different tbs, the later accesses a chunk that the earlier comes to afterwards."""
    src, dst = (base[3 * visits[:, RANK] + visits[:, k]] + visits[:, k + 1] for k in (SRC, DST))
    found = np.zeros((len(visits), len(visits)), np.bool_)
    for a, b, both in ((src, dst, (READS_SRC, WRITES_DST)), (dst, src, (WRITES_DST, READS_SRC)),
                       (dst, dst, (WRITES_DST, WRITES_DST))):  # fmt: skip
        ahead = b[None, :] - a[:, None]
        used = both[0][visits[:, TYPE]][:, None] & both[1][visits[:, TYPE]][None, :]
        found |= used & (ahead > 0) & (ahead < visits[0, CNT])
    found &= visits[:, TB][:, None] != visits[:, TB][None, :]
    return np.triu(found, 1)


def _waits_for(file: MscclFile, late: int, early: int) -> bool:
    """Whether a step or one before it in its tb depends on another or on one after it there."""
    step, target = file.steps[late], file.steps[early]
    first = file.tbs[step[TB], TB_FIRST]
    before = file.steps[first : first + step[POS] + 1]
    return bool(((before[:, DEPID] == file.tbs[target[TB], TB_ID]) & (before[:, DEPS] >= target[POS])).any())
