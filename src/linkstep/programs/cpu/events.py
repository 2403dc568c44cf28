"""Events of a CPU schedule that broke no rule: sends and receives run beside the instructions until a sync.

Each rank's instructions are a chain; a transfer is two more events, the reading on one side and the writing on the
other. The chunks that a send reads are free once its own rank's sync covers the send, or for whoever knows, from a
sync of the receiver, that they have arrived.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from linkstep.programs.cpu.reader import CpuFile, Rank
from linkstep.programs.cpu.rules import covering_syncs
from linkstep.programs.events import SLOT, Events, EventsBuilder
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


def _events(ranks: tuple[Rank, ...], matched: list[tuple[int, int, int, int]]) -> Events:
    made = EventsBuilder()
    chains: list[list[int]] = []
    for r, rank in enumerate(ranks):
        chain = [made.event(r, -1, n, (r, n + 1), (r, n + 1)) for n in range(len(rank.instructions) + 1)]
        chains.append(chain)
        for a, b in pairwise(chain):
            made.edges += (a, b)
        for event, x in zip(chain, rank.instructions, strict=False):
            dst, src = (KINDS * r + x.dst, x.dstoff), (KINDS * r + x.src, x.srcoff)
            if x.kind == "copy":
                made.move(event, dst, src, x.cnt)
            elif x.kind == "reduce":
                made.move(event, dst, dst, x.cnt, src)
    covered = [covering_syncs(rank) for rank in ranks]
    slot = 0
    for a, m, b, n in matched:
        send, recv = ranks[a].instructions[m], ranks[b].instructions[n]
        free, here = covered[a][m], covered[b][n]
        reads = made.event(a, -1, m, ends=(a, free + 1))
        writes = made.event(b, -1, n, ends=(b, here + 1))
        made.set_ends_elsewhere(reads, (b, here + 1))
        made.edges += (chains[a][m], reads, chains[b][n], writes, reads, writes)
        made.edges += (reads, chains[a][free], writes, chains[b][here])
        made.capacity += (chains[b][n], reads)  # a rendezvous: nothing is buffered
        made.move(reads, (SLOT, slot), (KINDS * a + send.src, send.srcoff), send.cnt)
        made.move(writes, (KINDS * b + recv.dst, recv.dstoff), (SLOT, slot), recv.cnt)
        slot += send.cnt
    return made.build(len(ranks), slot)
