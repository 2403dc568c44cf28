"""A plan from MSCCL XML that broke no rule of ``_rules``: matches sends with receives, then lays out events.

That the program ends is proven by ``_flow``; the plan's ``waits`` say what of it concerns whole messages.
"""

from __future__ import annotations

import numpy as np

from linkstep.programs.events import NEVER, NONE, SLOT, Ints, Plan
from linkstep.programs.findings import Findings
from linkstep.programs.memory import memory
from linkstep.programs.msccl.dialects import collective_of
from linkstep.programs.msccl.flow import Flow, Room, check_flow, check_streams
from linkstep.programs.msccl.reader import (
    CNT,
    DEPID,
    DEPS,
    DST,
    DSTOFF,
    GPU_ID,
    GPU_S,
    POS,
    RANK,
    RECEIVES,
    SENDS,
    SRC,
    SRCOFF,
    TB,
    TB_CHAN,
    TB_FIRST,
    TB_ID,
    TB_RANK,
    TB_RECV,
    TB_SEND,
    TYPE,
    TYPES,
    MscclFile,
)  # fmt: skip
from linkstep.programs.msccl.rules import tb_rows

_SHOWN = 10  # connections shown


def scratch_sizes(file: MscclFile) -> Ints:
    """Return each rank's scratch chunks."""
    scratch = np.zeros(file.ngpus, np.int64)
    scratch[file.gpus[:, GPU_ID]] = file.gpus[:, GPU_S]
    return scratch


def _ends(file: MscclFile) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the rows that send with their connections, and those that receive; by connection, then in order."""
    kind, tb = file.steps[:, TYPE], file.tbs[file.steps[:, TB]]

    def sorted_by(rows: Ints, src: Ints, dst: Ints) -> tuple[Ints, Ints]:
        key = (src * file.ngpus + dst) * file.nchannels + tb[rows, TB_CHAN]
        order = np.argsort(key, kind="stable")
        return rows[order], key[order]

    out, into = np.flatnonzero(SENDS[kind]), np.flatnonzero(RECEIVES[kind])
    return (
        *sorted_by(out, tb[out, TB_RANK], tb[out, TB_SEND]),
        *sorted_by(into, tb[into, TB_RECV], tb[into, TB_RANK]),
    )


def _check_matching(
    file: MscclFile, out: Ints, out_key: Ints, into: Ints, into_key: Ints, findings: Findings
) -> None:  # fmt: skip
    keys, where = np.unique(np.concatenate([out_key, into_key]), return_inverse=True)
    number = np.bincount(where[: out.size], minlength=keys.size) - np.bincount(where[out.size :], minlength=keys.size)
    wrong = keys[number != 0]
    if not wrong.size:
        wrong = np.unique(out_key[file.steps[out, CNT] != file.steps[into, CNT]])
    for key in wrong[:_SHOWN].tolist():
        a, b = out[out_key == key], into[into_key == key]
        (src, dst), chan = divmod(key // file.nchannels, file.ngpus), key % file.nchannels
        for row in a[len(b) :][:1].tolist():
            findings.error(
                "matching", f"send {len(b)} to rank {dst} on channel {chan} has no receive", *file.place(row)
            )
        for row in b[len(a) :][:1].tolist():
            findings.error(
                "matching", f"receive {len(a)} from rank {src} on channel {chan} has no send", *file.place(row)
            )
        both = min(len(a), len(b))
        sent, taken = file.steps[a[:both], CNT], file.steps[b[:both], CNT]
        for k in np.flatnonzero(sent != taken)[:1].tolist():
            findings.error(
                "matching", f"receive {k} from rank {src} on channel {chan} takes {taken[k]} chunks, "
                f"rank {src} sends {sent[k]}", *file.place(int(b[k])),
            )  # fmt: skip


def _targets(file: MscclFile) -> tuple[Ints, Ints]:
    """Return the rows with a dependency and the rows these depend on."""
    steps = file.steps
    rows = np.flatnonzero(steps[:, DEPID] >= 0)
    row_of = tb_rows(file)
    tbs = [row_of[rank, tb] for rank, tb in steps[rows][:, [RANK, DEPID]].tolist()]
    return rows, file.tbs[np.array(tbs, np.int64), TB_FIRST] + steps[rows, DEPS]


def lift(file: MscclFile, room: Room, strict: bool, findings: Findings) -> Plan | None:
    """Return the plan, or None if a send or a receive has no partner or if the program may never end.

    It must end with the room that connections have in the runtime and, if ``strict``, with room for one message.
    """
    steps, n = file.steps, len(file.steps)
    out, key, into, into_key = _ends(file)
    if not np.array_equal(key, into_key) or (steps[out, CNT] != steps[into, CNT]).any():
        _check_matching(file, out, key, into, into_key, findings)
        return None
    rows, targets = _targets(file)
    connection = np.unique(key, return_inverse=True)[1].astype(np.int64)
    flow = Flow(file, room, out, into, connection, rows, targets)
    if not check_flow(flow, strict, findings):
        return None
    _check_streams(flow, findings)
    after = np.flatnonzero(steps[:, POS] > 0)
    edges = np.concatenate([_pairs(after - 1, after), _pairs(targets, rows), _pairs(out, into)])
    received, sent = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    sent[out], num_slots = _slots(steps[out, CNT], connection, room.slots)
    received[into] = sent[out]
    stamps = _pairs(steps[:, TB], steps[:, POS] + 1)
    return Plan(
        place=np.stack([steps[:, RANK], file.tbs[steps[:, TB], TB_ID], steps[:, POS]], axis=1),
        raises=stamps, stamps=np.hstack([stamps, np.full((n, 2), (-1, NEVER))]),
        edges=edges, waits=flow.waits(), moves=_moves(steps, received, sent),
        num_chains=len(file.tbs), num_slots=num_slots,
    )  # fmt: skip


def _check_streams(flow: Flow, findings: Findings) -> None:
    """Look where the buffers lie in each way the file may be used."""
    file, scratch = flow.file, scratch_sizes(flow.file)
    inplace, outofplace = (file.algo.get(flag) == "1" for flag in ("inplace", "outofplace"))
    for mode in [True] * inplace + [False] * (outofplace or not inplace):
        where = memory(collective_of(file) or "", file.ngpus, file.nchunks, scratch, mode)
        check_streams(flow, where.base, findings)


def _slots(count: Ints, connection: Ints, depth: int) -> tuple[Ints, int]:
    """Return where each message lies on its way, and the room for all: at most ``depth`` of a connection are under way
    at once, so its places are used in turn.
    """
    size = int(connection[-1]) + 1 if connection.size else 0
    starts = np.searchsorted(connection, np.arange(size))
    number = np.arange(connection.size) - starts[connection]
    widest = np.zeros(size, np.int64)
    np.maximum.at(widest, connection, count)
    room = widest * np.minimum(np.bincount(connection, minlength=size), depth)
    first = np.cumsum(room) - room
    return first[connection] + number % depth * widest[connection], int(room.sum())


def _pairs(a: Ints, b: Ints) -> Ints:
    return np.stack([a, b], axis=1).astype(np.int64)


def _moves(steps: Ints, received: Ints, sent: Ints) -> Ints:
    """Say what each step reads and writes; the src of rrc, rrs and rrcs is read where the data is received."""
    n = len(steps)
    src = _pairs(3 * steps[:, RANK] + steps[:, SRC], steps[:, SRCOFF])
    dst = _pairs(3 * steps[:, RANK] + steps[:, DST], steps[:, DSTOFF])
    into, out = _pairs(np.full(n, SLOT), received), _pairs(np.full(n, SLOT), sent)
    nothing = np.full((n, 2), (NONE, 0))
    # By type: what is set to what, plus what; in the order of the file's steps, a step's own moves in this order.
    table = (
        ("s", out, src, nothing), ("r", dst, into, nothing), ("rcs", dst, into, nothing), ("rcs", out, into, nothing),
        ("rrc", dst, into, src), ("rrs", out, into, src), ("rrcs", out, into, src), ("rrcs", dst, out, nothing),
        ("cpy", dst, src, nothing), ("re", dst, dst, src),
    )  # fmt: skip
    parts = []
    for name, to, a, b in table:
        rows = np.flatnonzero(steps[:, TYPE] == TYPES.index(name))
        parts.append(np.hstack([rows[:, None], to[rows], a[rows], b[rows], steps[rows, CNT : CNT + 1]]))
    moves = np.concatenate(parts)
    return moves[np.argsort(moves[:, 0], kind="stable")]
