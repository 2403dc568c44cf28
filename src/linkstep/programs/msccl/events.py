"""Events of an MSCCL XML file that broke no rule: matches sends with receives, and says what each step moves.

Every step is one event. That the program ends is proven by ``flow``, transfer by transfer; the events' ``capacity``
holds what of that concerns whole messages.
"""

from __future__ import annotations

import numpy as np

from linkstep.programs.columns import Ints, pairs
from linkstep.programs.events import NONE, SLOT, Events, Marks, Moves
from linkstep.programs.findings import Findings
from linkstep.programs.memory import KINDS, Memory
from linkstep.programs.msccl.dialects import DIALECTS, capacity_of, modes_of
from linkstep.programs.msccl.flow import MscclMessages, check_flow, check_streams
from linkstep.programs.msccl.reader import RECEIVES, SENDS, TYPES, MscclFile, Steps
from linkstep.programs.msccl.rules import tb_rows
from linkstep.programs.program import Program

_SHOWN = 10  # connections shown


def _scratch(file: MscclFile) -> Ints:
    scratch = np.zeros(file.ngpus, np.int64)
    scratch[file.gpus.rank] = file.gpus.scratch
    return scratch


def _ends(file: MscclFile) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the rows that send with their connections, and those that receive; by connection, then in order."""
    tbs, kind, tb = file.tbs, file.steps.type, file.steps.tb

    def sorted_by(rows: Ints, src: Ints, dst: Ints) -> tuple[Ints, Ints]:
        key = (src * file.ngpus + dst) * file.nchannels + tbs.chan[tb[rows]]
        order = np.argsort(key, kind="stable")
        return rows[order], key[order]

    out, into = np.flatnonzero(SENDS[kind]), np.flatnonzero(RECEIVES[kind])
    return (
        *sorted_by(out, tbs.rank[tb[out]], tbs.send[tb[out]]),
        *sorted_by(into, tbs.recv[tb[into]], tbs.rank[tb[into]]),
    )


def _check_matching(
    file: MscclFile, out: Ints, out_key: Ints, into: Ints, into_key: Ints, findings: Findings
) -> None:  # fmt: skip
    count = file.steps.count
    keys, where = np.unique(np.concatenate([out_key, into_key]), return_inverse=True)
    number = np.bincount(where[: out.size], minlength=keys.size) - np.bincount(where[out.size :], minlength=keys.size)
    wrong = keys[number != 0]
    if not wrong.size:
        wrong = np.unique(out_key[count[out] != count[into]])
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
        sent, taken = count[a[:both]], count[b[:both]]
        for k in np.flatnonzero(sent != taken)[:1].tolist():
            findings.error(
                "matching", f"receive {k} from rank {src} on channel {chan} takes {taken[k]} chunks, "
                f"rank {src} sends {sent[k]}", *file.place(int(b[k])),
            )  # fmt: skip


def _targets(file: MscclFile) -> tuple[Ints, Ints]:
    """Return the rows with a dependency and the rows these depend on."""
    steps = file.steps
    rows = np.flatnonzero(steps.depid >= 0)
    row_of = tb_rows(file)
    wanted = zip(steps.rank[rows].tolist(), steps.depid[rows].tolist(), strict=True)
    tbs = np.array([row_of[place] for place in wanted], np.int64)
    return rows, file.tbs.first[tbs] + steps.deps[rows]


def build(file: MscclFile, name: str, strict: bool, findings: Findings) -> Program | None:
    """Return the program, or None if a send or a receive has no partner or if the program may never end.

    It must end with what connections hold in the runtime and, if ``strict``, where they hold one message.
    """
    dialect, steps = DIALECTS[name], file.steps
    out, key, into, into_key = _ends(file)
    if not np.array_equal(key, into_key) or (steps.count[out] != steps.count[into]).any():
        _check_matching(file, out, key, into, into_key, findings)
        return None
    connection = np.unique(key, return_inverse=True)[1].astype(np.int64)
    flow = MscclMessages(file, capacity_of(file, dialect), out, into, connection, *_targets(file))
    if not check_flow(flow, strict, findings):
        return None
    collective, scratch = file.collective, _scratch(file)
    assert collective is not None
    for inplace in _declared_modes(file):
        memory = Memory.of(collective, file.ngpus, file.nchunks, scratch, inplace)
        check_streams(flow, memory.base, findings)
    return Program(
        dialect=name, collective=collective, num_ranks=file.ngpus, chunks=file.nchunks, scratch=scratch,
        modes=modes_of(file, dialect), events=_events(flow), is_instruction=np.ones(len(steps), np.bool_),
    )  # fmt: skip


def _declared_modes(file: MscclFile) -> list[bool]:
    """Return each way the file says it may be used, whatever a runtime makes of it."""
    inplace, outofplace = (file.algo.get(flag) == "1" for flag in ("inplace", "outofplace"))
    return [True] * inplace + [False] * (outofplace or not inplace)


def _events(flow: MscclMessages) -> Events:
    file, steps, n = flow.file, flow.file.steps, len(flow.file.steps)
    after = np.flatnonzero(steps.position > 0)
    received, sent = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    sent[flow.out], num_slots = _slots(steps.count[flow.out], flow.connection, flow.capacity.slots)
    received[flow.into] = sent[flow.out]
    own, none = Marks(steps.tb, steps.position + 1), np.zeros((0, 2), np.int64)
    return Events(
        rank=steps.rank, threadblock=file.tbs.id[steps.tb], step=steps.position, raises=own, ends=own,
        ends_elsewhere=Marks.none(n),
        edges=np.concatenate([pairs(after - 1, after), pairs(flow.targets, flow.rows), pairs(flow.out, flow.into)]),
        flags=none, waits=none, capacity=flow.full_connections(), moves=_moves(steps, received, sent),
        num_chains=len(file.tbs), num_slots=num_slots, packets=np.zeros(0, np.int64),
    )  # fmt: skip


def _slots(count: Ints, connection: Ints, depth: int) -> tuple[Ints, int]:
    """Return where each message lies in flight, and how many chunks of slots there are in all.

    At most ``depth`` messages of a connection are in flight at once, so its slots are used in turn.
    """
    size = int(connection[-1]) + 1 if connection.size else 0
    starts = np.searchsorted(connection, np.arange(size))
    number = np.arange(connection.size) - starts[connection]
    widest = np.zeros(size, np.int64)
    np.maximum.at(widest, connection, count)
    sizes = widest * np.minimum(np.bincount(connection, minlength=size), depth)
    first = np.cumsum(sizes) - sizes
    return first[connection] + number % depth * widest[connection], int(sizes.sum())


def _moves(steps: Steps, received: Ints, sent: Ints) -> Moves:
    """Say what each step reads and writes; the src of rrc, rrs and rrcs is read where the data is received."""
    n = len(steps)
    src = (KINDS * steps.rank + steps.src, steps.src_offset)
    dst = (KINDS * steps.rank + steps.dst, steps.dst_offset)
    into, out = (np.full(n, SLOT), received), (np.full(n, SLOT), sent)
    nothing = (np.full(n, NONE), np.zeros(n, np.int64))
    # By type: what is set to what, plus what; a step's own moves are in this order.
    table = (
        ("s", out, src, nothing), ("r", dst, into, nothing), ("rcs", dst, into, nothing), ("rcs", out, into, nothing),
        ("rrc", dst, into, src), ("rrs", out, into, src), ("rrcs", out, into, src), ("rrcs", dst, out, nothing),
        ("cpy", dst, src, nothing), ("re", dst, dst, src),
    )  # fmt: skip
    parts = []
    for name, to, a, b in table:
        rows = np.flatnonzero(steps.type == TYPES.index(name))
        operands = (column[rows] for operand in (to, a, b) for column in operand)
        parts.append(Moves.from_columns([rows, *operands, steps.count[rows]]))
    return Moves.concatenate(parts).sorted()
