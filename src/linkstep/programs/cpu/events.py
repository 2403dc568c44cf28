"""Events of a CPU schedule that broke no rule: sends and receives run beside the instructions until a sync.

Each rank's instructions are a chain; a transfer is two more events, the reading on one side and the writing on the
other. The chunks that a send reads are free once its own rank's sync covers the send, or for a rank that knows, from
a sync of the receiver, that they have arrived.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkstep.programs.columns import Columns, Ints, pairs
from linkstep.programs.cpu.reader import CpuFile, Rank
from linkstep.programs.cpu.rules import covering_syncs
from linkstep.programs.events import NONE, SLOT, Events, Marks, Moves
from linkstep.programs.findings import Findings
from linkstep.programs.memory import KINDS, SCRATCH
from linkstep.programs.program import Program, first_of_places


def build(file: CpuFile, dialect: str, strict: bool, findings: Findings) -> Program | None:
    """Return the program, or None if a send or a receive has no partner; nothing is buffered, whatever ``strict``."""
    matched = _match(file.ranks, findings)
    if findings.num_obstacles():
        return None
    events = _events(file.ranks, matched)
    length = np.array([len(rank.instructions) for rank in file.ranks], np.int64)[events.rank]
    return Program(
        dialect=dialect, collective=file.collective, num_ranks=file.num_ranks, chunks=file.chunks,
        scratch=np.array([rank.size[SCRATCH] for rank in file.ranks], np.int64), modes=(file.is_inplace,),
        events=events, is_instruction=first_of_places(events, length), root=file.root, keeps_input=True,
        num_forwarders=file.num_forwarders,
    )  # fmt: skip


def _match(ranks: tuple[Rank, ...], findings: Findings) -> list[tuple[int, int, int, int]]:
    """Return the pairs (rank, position of the send, rank, position of the recv)."""
    ends: dict[tuple[int, int, int], tuple[list[int], list[int]]] = {}
    for r, rank in enumerate(ranks):
        for n, x in enumerate(rank.instructions):
            if x.kind == "send":
                ends.setdefault((r, x.peer, x.chan), ([], []))[0].append(n)
            elif x.kind == "recv":
                ends.setdefault((x.peer, r, x.chan), ([], []))[1].append(n)
    pairs = []
    for (a, b, chan), (sends, receives) in sorted(ends.items()):
        for n in sends[len(receives) :][:1]:
            findings.error("matching", f"send to rank {b} on channel {chan} has no recv", a, None, n)
        for n in receives[len(sends) :][:1]:
            findings.error("matching", f"recv from rank {a} on channel {chan} has no send", b, None, n)
        for m, n in zip(sends, receives, strict=False):
            send, recv = ranks[a].instructions[m], ranks[b].instructions[n]
            if send.cnt != recv.cnt:
                findings.error("matching", f"takes {recv.cnt} chunks, rank {a} step {m} sends {send.cnt}", b, None, n)
            pairs.append((a, m, b, n))
    return pairs


@dataclass(frozen=True, eq=False)
class _Operands(Columns):
    """The instructions of all ranks, one after the other: what they read, what they write, and how many chunks."""

    src: Ints
    src_offset: Ints
    dst: Ints
    dst_offset: Ints
    count: Ints


def _events(ranks: tuple[Rank, ...], matched: list[tuple[int, int, int, int]]) -> Events:
    """Return the events of the ranks' lists, each with one for its end, and then the two of each transfer."""
    length = np.array([len(rank.instructions) for rank in ranks], np.int64)
    first = np.cumsum(length + 1) - (length + 1)
    rank = np.repeat(np.arange(len(ranks)), length + 1)
    step = np.arange(rank.size) - first[rank]
    kinds = np.array([x.kind for one in ranks for x in one.instructions], np.str_)
    operands = _Operands.from_rows([x[3:8] for one in ranks for x in one.instructions])
    moves = [_local_moves(kinds, operands, np.flatnonzero(step < length[rank]), rank)]

    a, m, b, n = np.ascontiguousarray(np.array(matched, np.int64).reshape(-1, 4).T)
    covered = [covering_syncs(one) for one in ranks]
    free = np.array([covered[r][k] for r, k, _, _ in matched], np.int64)
    here = np.array([covered[r][k] for _, _, r, k in matched], np.int64)
    send, recv = first[a] + m, first[b] + n
    reads = rank.size + 2 * np.arange(a.size)
    writes = reads + 1
    sent, received = operands.take(send - a), operands.take(recv - b)  # an end is an event and no instruction
    slot = (np.full(a.size, SLOT), np.cumsum(sent.count) - sent.count)
    moves.append(_moves(reads, slot, (KINDS * a + sent.src, sent.src_offset), sent.count))
    moves.append(_moves(writes, (KINDS * b + received.dst, received.dst_offset), slot, received.count))

    own, after, none = Marks(rank, step + 1), np.flatnonzero(step > 0), np.zeros((0, 2), np.int64)
    elsewhere = Marks.none(rank.size + 2 * a.size)
    elsewhere.chain[reads], elsewhere.number[reads] = b, here + 1
    nothing = np.zeros(2 * a.size, np.int64)
    begun, over = (send, reads, recv, writes), (reads, first[a] + free, writes, first[b] + here)
    edges = np.stack([*begun, reads, writes, *over], axis=1).reshape(-1, 2)
    return Events(
        rank=np.concatenate([rank, _in_turn(a, b)]), threadblock=np.full(rank.size + 2 * a.size, -1, np.int64),
        step=np.concatenate([step, _in_turn(m, n)]), raises=Marks.concatenate([own, Marks(nothing - 1, nothing)]),
        ends=Marks.concatenate([own, Marks(_in_turn(a, b), _in_turn(free, here) + 1)]), ends_elsewhere=elsewhere,
        edges=np.concatenate([pairs(after - 1, after), edges]), flags=none, waits=none,
        capacity=pairs(recv, reads),  # a rendezvous: nothing is buffered
        moves=Moves.concatenate(moves).sorted(), num_chains=len(ranks), num_slots=int(sent.count.sum()),
        packets=np.zeros(0, np.int64),
    )  # fmt: skip


def _in_turn(first: Ints, second: Ints) -> Ints:
    """Return what belongs to reading and what to writing, transfer by transfer."""
    return np.stack([first, second], axis=1).ravel()


def _local_moves(kinds: npt.NDArray[np.str_], operands: _Operands, event: Ints, rank: Ints) -> Moves:
    """Return the moves of copies (dst = src) and reductions (dst = dst + src)."""
    rows = np.flatnonzero((kinds == "copy") | (kinds == "reduce"))
    event, x, adds = event[rows], operands.take(rows), kinds[rows] == "reduce"
    dst, src = (KINDS * rank[event] + x.dst, x.dst_offset), (KINDS * rank[event] + x.src, x.src_offset)
    read = [np.where(adds, ours, theirs) for ours, theirs in zip(dst, src, strict=True)]
    addend = np.where(adds, src[0], NONE), np.where(adds, src[1], 0)
    return Moves.from_columns([event, *dst, *read, *addend, x.count])


def _moves(event: Ints, dst: tuple[Ints, Ints], src: tuple[Ints, Ints], count: Ints) -> Moves:
    return Moves.from_columns([event, *dst, *src, np.full(event.size, NONE), np.zeros(event.size), count])
