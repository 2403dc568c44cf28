"""Whether a program of MSCCL XML ends with what its connections hold, as the interpreters move data.

A step of cnt chunks is cut into transfers, each of as many chunks as a slot of the connection holds at the size of the
call; a connection has 2 slots (Simple) or 8 (LL, LL128). A transfer waits for a free slot, and a slot is free again
once its transfer was received; a step that receives and sends frees the slot it reads only once it has one to send
into. Nothing that can proceed is ever stopped by something else that proceeds, so all runs of a program end alike and
one run decides. Larger calls cut steps into more transfers, and whatever ends when cut into more ends when cut into
fewer, so the largest call that the file is selected for is run.

More is asked than the runtimes need: a program must also end where a connection holds one message of any size, and a
step that receives and sends holds another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkstep._kernels.flow import _run_flow
from linkstep.programs.columns import Bools, Ints, pairs
from linkstep.programs.findings import Findings
from linkstep.programs.memory import KINDS
from linkstep.programs.msccl.dialects import MAX_COUNT, Capacity, max_bytes_of
from linkstep.programs.msccl.reader import READS_SRC, RECEIVES, SENDS, WRITES_DST, MscclFile, Steps
from linkstep.programs.order import cycle_words


@dataclass(frozen=True, eq=False)
class MscclMessages:
    """The messages of a file, sorted by connection and then in order: step ``out[i]`` sends what ``into[i]`` receives.

    Step ``rows[k]`` depends on ``targets[k]``.
    """

    file: MscclFile
    capacity: Capacity
    out: Ints
    into: Ints
    connection: Ints
    rows: Ints
    targets: Ints

    @property
    def at_once(self) -> int:
        """How many chunks of a step a transfer carries in the largest call the file is selected for."""
        largest = max_bytes_of(self.file)
        if largest <= 0:
            return 1
        chunk = -(-largest // self.file.nchunks)
        return min(max(self.capacity.slot_bytes // chunk, 1), MAX_COUNT)

    def transfers(self, at_once: int) -> Ints:
        """Return the transfers of each step; one for a step that neither sends nor receives."""
        steps = self.file.steps
        moves = SENDS[steps.type] | RECEIVES[steps.type]
        return np.where(moves, -(-steps.count // at_once), 1)

    def full_connections(self) -> Ints:
        """Return the pairs (receive, send) of which the send cannot be complete before the receive is."""
        if not self.out.size:
            return np.zeros((0, 2), np.int64)
        ends = np.cumsum(self.transfers(self.at_once)[self.out])
        before = np.searchsorted(ends, ends - self.capacity.slots, side="right") - 1
        held = np.flatnonzero((before >= 0) & (self.connection[before] == self.connection))
        return pairs(self.into[before[held]], self.out[held])

    def streams(self) -> tuple[Ints, Ints]:
        """Return (stream, step) for each step by which data of several chunks goes on, in its order.

        A stream is a send, any steps that receive and send on, and a receive; its number is the send's.
        """
        kind = self.file.steps.type
        goes_to = np.full(kind.size, -1, np.int64)
        goes_to[self.out] = self.into
        at = np.flatnonzero(SENDS[kind] & ~RECEIVES[kind] & (self.file.steps.count > 1))
        stream = at
        streams, steps = [stream], [at]
        while at.size:
            at = goes_to[at]
            streams.append(stream)
            steps.append(at)
            stream, at = stream[SENDS[kind[at]]], at[SENDS[kind[at]]]
        return np.concatenate(streams), np.concatenate(steps)

    def cycle(self, at_once: int) -> list[int]:
        """Return steps that wait for each other in the runtime, none if the program ends."""
        file, n = self.file, len(self.file.steps)
        target, comes, goes = np.full((3, n), -1, np.int64)
        target[self.rows] = self.targets
        comes[self.into], goes[self.out] = self.connection, self.connection
        first, length = file.tbs.first, file.tbs.num_steps
        return self._run(first, length, self.transfers(at_once), target, comes, goes, self.capacity.slots)

    def cycle_at_one(self) -> list[int]:
        """Return steps that wait for each other where a connection holds one message, none if the program ends.

        A step that receives and sends is run as two.
        """
        file, n = self.file, len(self.file.steps)
        fused = SENDS[file.steps.type] & RECEIVES[file.steps.type]
        last = np.arange(n) + np.cumsum(fused)  # where a step is now, its second half if it has two
        total = n + int(fused.sum())
        target, comes, goes = np.full((3, total), -1, np.int64)
        target[(last - fused)[self.rows]] = last[self.targets]
        comes[(last - fused)[self.into]], goes[last[self.out]] = self.connection, self.connection
        length = file.tbs.num_steps + np.bincount(file.steps.tb[fused], minlength=len(file.tbs))
        first = np.cumsum(length) - length
        cycle = self._run(first, length, np.ones(total, np.int64), target, comes, goes, 1)
        return list(dict.fromkeys(np.searchsorted(last, cycle).tolist()))

    def _run(
        self, first: Ints, length: Ints, number: Ints, target: Ints, comes: Ints, goes: Ints, slots: int
    ) -> list[int]:  # fmt: skip
        """Run steps as far as they go; return a cycle of those that wait for each other."""
        sender, receiver = np.zeros((2, int(self.connection[-1]) + 1 if self.connection.size else 0), np.int64)
        tb = self.file.steps.tb
        sender[self.connection], receiver[self.connection] = tb[self.out], tb[self.into]
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


def check_flow(flow: MscclMessages, strict: bool, findings: Findings) -> bool:
    """Report a deadlock and, where smaller data ends, up to which size; return whether there is none.

    If ``strict``, the program must also end where a connection holds one message.
    """
    file, now, hint = flow.file, flow.at_once, ""
    cycle = flow.cycle(now)
    if cycle:
        low, high = now, MAX_COUNT
        if file.steps.count.max() > now and not flow.cycle(high):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if flow.cycle(middle) else (low, middle)
            hint = f"; it ends if maxBytes is at most {flow.capacity.slot_bytes // high * file.nchunks}"
    elif strict:
        cycle = flow.cycle_at_one()
        has = f"{file.algo['proto']} holds {flow.capacity.slots}, and with these it ends"
        hint = f", if a connection holds one message ({has}: verify it with capacity runtime to allow that)"
    if cycle:
        names = ["rank {} tb {} step {}".format(*file.place(s)) for s in cycle]
        findings.error("deadlock", f"{cycle_words(names)}{hint}", *file.place(cycle[0]))
    return not cycle


def check_streams(flow: MscclMessages, base: Ints, findings: Findings) -> None:
    """Report data that is sent on and comes back to a rank it passed before, ahead of chunks that have yet to leave.

    When a step of a stream handles a chunk, the steps before it have handled that chunk, but not those after it, unless
    they are in one tb or one waits for the other. Otherwise steps come one after the other as a whole. ``base`` says
    where the buffers begin.
    """
    steps = flow.file.steps
    stream, rows = flow.streams()
    order = np.lexsort((steps.rank[rows], stream))  # stable: in a rank by the stream's order
    stream, rows = stream[order], rows[order]
    rank, tb = steps.rank[rows], steps.tb[rows]
    same = (stream[1:] == stream[:-1]) & (rank[1:] == rank[:-1])
    ends = np.concatenate([[0], np.flatnonzero(~same) + 1, [rows.size]])
    apart = np.flatnonzero(same & (tb[1:] != tb[:-1]))
    for k in np.unique(np.searchsorted(ends, apart, side="right")):
        visits = rows[ends[k - 1] : ends[k]]
        for early, late in np.argwhere(_overtakes(steps.take(visits), base)):
            first, second = int(visits[early]), int(visits[late])
            if not _waits_for(flow.file, second, first):
                findings.error(
                    "race", "may come to a chunk before rank {} tb {} step {} does, from which its data comes: the "
                    "first of it is back before the last has left".format(*flow.file.place(first)),
                    *flow.file.place(second),
                )  # fmt: skip
                break


def _overtakes(visits: Steps, base: Ints) -> Bools:
    """Say of which two steps, in different tbs, the later accesses a chunk that the earlier comes to afterwards."""
    src = base[KINDS * visits.rank + visits.src] + visits.src_offset
    dst = base[KINDS * visits.rank + visits.dst] + visits.dst_offset
    reads, writes = READS_SRC[visits.type], WRITES_DST[visits.type]
    found = np.zeros((len(visits), len(visits)), np.bool_)
    for a, uses_a, b, uses_b in ((src, reads, dst, writes), (dst, writes, src, reads), (dst, writes, dst, writes)):
        ahead = b[None, :] - a[:, None]
        found |= uses_a[:, None] & uses_b[None, :] & (ahead > 0) & (ahead < visits.count[0])
    found &= visits.tb[:, None] != visits.tb[None, :]
    return np.triu(found, 1)


def _waits_for(file: MscclFile, late: int, early: int) -> bool:
    """Whether a step or one before it in its tb depends on another or on one after it there."""
    steps, tbs = file.steps, file.tbs
    before = slice(tbs.first[steps.tb[late]], late + 1)
    target = steps.depid[before] == tbs.id[steps.tb[early]]
    return bool((target & (steps.deps[before] >= steps.position[early])).any())
