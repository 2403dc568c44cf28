"""A plan from MSCCL XML that broke no rule of ``_rules``: matches sends with receives, then lays out events.

A connection is taken to hold one message: send k waits until receive k - 1 is over. A step that receives and sends
takes its message as soon as its turn comes, but the chunks stay in the connection until they are sent on, so such a
message and the next share the room that the protocol gives. A message that does not fit is sent only as it is
received: the two steps are joint. Whatever ends under these rules ends in the runtimes, which buffer more.
"""

from __future__ import annotations

import numpy as np

from linkstep.verify._msccl import (
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
    TB_RANK,
    TB_RECV,
    TB_SEND,
    TYPE,
    TYPES,
    MscclFile,
)  # fmt: skip
from linkstep.verify._plan import SLOT, Ints, Plan, PlanBuilder
from linkstep.verify._report import Findings
from linkstep.verify._rules import MAX_COUNT, tb_rows

OUTSTANDING = {"Simple": 2, "LL": 8, "LL128": 8}
"""How many chunks a connection holds."""

Connection = tuple[int, int, int]
"""Sender, receiver, channel."""


def scratch_sizes(file: MscclFile) -> Ints:
    """Return each rank's scratch chunks."""
    scratch = np.zeros(file.ngpus, np.int64)
    scratch[file.gpus[:, GPU_ID]] = file.gpus[:, GPU_S]
    return scratch


def _ends(file: MscclFile) -> tuple[dict[Connection, list[int]], dict[Connection, list[int]]]:
    """Return the rows that send and that receive on each connection, in order."""
    sends: dict[Connection, list[int]] = {}
    receives: dict[Connection, list[int]] = {}
    kind = file.steps[:, TYPE]
    for row in np.flatnonzero(SENDS[kind] | RECEIVES[kind]).tolist():
        tb = file.tbs[file.steps[row, TB]]
        rank, chan = int(tb[TB_RANK]), int(tb[TB_CHAN])
        if SENDS[kind[row]]:
            sends.setdefault((rank, int(tb[TB_SEND]), chan), []).append(row)
        if RECEIVES[kind[row]]:
            receives.setdefault((int(tb[TB_RECV]), rank, chan), []).append(row)
    return sends, receives


def _check_matching(
    file: MscclFile, sends: dict[Connection, list[int]], receives: dict[Connection, list[int]], findings: Findings
) -> None:
    for connection in sorted(sends.keys() | receives.keys()):
        out, into = sends.get(connection, []), receives.get(connection, [])
        src, dst, chan = connection
        for row in out[len(into) :][:1]:
            findings.error(
                "matching", f"send {len(into)} to rank {dst} on channel {chan} has no receive", *file.place(row)
            )
        for row in into[len(out) :][:1]:
            findings.error(
                "matching", f"receive {len(out)} from rank {src} on channel {chan} has no send", *file.place(row)
            )
        for k, (a, b) in enumerate(zip(out, into, strict=False)):
            if file.steps[a, CNT] != file.steps[b, CNT]:
                findings.error(
                    "matching", f"receive {k} from rank {src} on channel {chan} takes {file.steps[b, CNT]} chunks, "
                    f"rank {src} sends {file.steps[a, CNT]}", *file.place(b),
                )  # fmt: skip
                break


def _needs(steps: list[list[int]], row: int, target: dict[int, int]) -> list[int]:
    """Return the rows of its own rank that a step comes after: the one before it in its tb, and its dependency."""
    return [row - 1] * bool(steps[row][POS]) + ([target[row]] if row in target else [])


def lift(file: MscclFile, findings: Findings) -> Plan | None:
    """Return the plan, or None if a send or a receive has no partner."""
    sends, receives = _ends(file)
    before = findings.num_errors()
    _check_matching(file, sends, receives, findings)
    if findings.num_errors() > before:
        return None
    plan = PlanBuilder()
    steps = file.steps.tolist()
    names = file.tbs[:, 1].tolist()
    for step in steps:
        plan.event(step[RANK], names[step[TB]], step[POS], raises=(step[TB], step[POS] + 1))
    row_of, first = tb_rows(file), file.tbs[:, TB_FIRST].tolist()
    target = {
        row: first[row_of[step[RANK], step[DEPID]]] + step[DEPS] for row, step in enumerate(steps) if step[DEPID] >= 0
    }
    for row in range(len(steps)):
        plan.edges.extend((p, row) for p in _needs(steps, row, target))
    out_slot: dict[int, int] = {}
    in_slot: dict[int, int] = {}
    room = OUTSTANDING[file.algo["proto"]]
    for c, connection in enumerate(sorted(sends)):
        previous = -1
        for k, (a, b) in enumerate(zip(sends[connection], receives[connection], strict=True)):
            out_slot[a] = in_slot[b] = (2 * c + k % 2) * MAX_COUNT
            plan.edges.append((a, b))
            held = 0
            if previous >= 0 and SENDS[steps[previous][TYPE]]:
                held = steps[previous][CNT]
                plan.waits.extend((p, a) for p in _needs(steps, previous, target))
            elif previous >= 0:
                plan.waits.append((previous, a))
            if held + steps[a][CNT] > room:
                plan.joint.append((a, b))
            previous = b
    for row, step in enumerate(steps):
        _move(plan, row, step, in_slot.get(row, -1), out_slot.get(row, -1))
    return plan.build(len(file.tbs), 2 * len(sends) * MAX_COUNT)


def _move(plan: PlanBuilder, row: int, step: list[int], received: int, sent: int) -> None:
    """Say what a step reads and writes; the src of rrc, rrs and rrcs is read where the data is received."""
    kind, count = TYPES[step[TYPE]], step[CNT]
    src = (3 * step[RANK] + step[SRC], step[SRCOFF])
    dst = (3 * step[RANK] + step[DST], step[DSTOFF])
    into, out = (SLOT, received), (SLOT, sent)
    if kind == "s":
        plan.move(row, out, src, count)
    elif kind == "r":
        plan.move(row, dst, into, count)
    elif kind == "rcs":
        plan.move(row, dst, into, count)
        plan.move(row, out, into, count)
    elif kind == "rrc":
        plan.move(row, dst, into, count, also=src)
    elif kind == "rrs":
        plan.move(row, out, into, count, also=src)
    elif kind == "rrcs":
        plan.move(row, out, into, count, also=src)
        plan.move(row, dst, out, count)
    elif kind == "cpy":
        plan.move(row, dst, src, count)
    elif kind == "re":
        plan.move(row, dst, dst, count, also=src)
