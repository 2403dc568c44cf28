"""What every runtime of MSCCL XML needs of a file and none of them checks whole: numbers, bounds, peers, dependencies.

If nothing is reported here, ``_lift`` can make a plan of the file without looking again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linkstep.programs.findings import Findings
from linkstep.programs.memory import is_divided, sizes
from linkstep.programs.msccl.dialects import collective_of
from linkstep.programs.msccl.flow import MAX_COUNT
from linkstep.programs.msccl.reader import (
    CNT,
    DEPID,
    DEPS,
    DST,
    DSTOFF,
    GPU_I,
    GPU_ID,
    GPU_O,
    GPU_S,
    HASDEP,
    MAX_RANKS,
    POS,
    RANK,
    READS_SRC,
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
    TB_STEPS,
    TYPE,
    TYPES,
    WRITES_DST,
    Columns,
    MscclFile,
    S,
)  # fmt: skip

MAX_CHUNKS = 2**15 - 1
MAX_DEPENDENCY_TB = 127
MAX_FUSED = 16
_RE, _NOP = TYPES.index("re"), TYPES.index("nop")


def check_rules(file: MscclFile, findings: Findings) -> None:
    """Report every broken rule."""
    _check_algo(file, findings)
    if findings.num_errors():
        return
    _check_gpus(file, findings)
    _check_tbs(file, findings)
    if findings.num_errors():
        return
    _check_steps(file, findings)
    if findings.num_errors():
        return
    _check_bounds(file, findings)
    _check_dependencies(file, findings)
    _check_fusion(file, findings)


def _check_algo(file: MscclFile, findings: Findings) -> None:
    if collective_of(file) is None:
        findings.error("coll", f"nothing is known of what {file.algo['coll'][:40]!r} must compute")
    if file.algo["proto"] not in ("Simple", "LL", "LL128"):
        findings.error("proto", f"proto must be Simple, LL or LL128, not {file.algo['proto'][:40]!r}")
    if not 1 <= file.ngpus <= MAX_RANKS:
        findings.error("ngpus", f"ngpus must be 1 to {MAX_RANKS}, not {file.ngpus}")
    if not 1 <= file.nchunks <= MAX_CHUNKS:
        findings.error("chunks", f"nchunksperloop must be 1 to {MAX_CHUNKS}, not {file.nchunks}")
    elif is_divided(collective_of(file) or "") and file.ngpus > 0 and file.nchunks % file.ngpus:
        findings.error("chunks", f"nchunksperloop {file.nchunks} is no multiple of ngpus {file.ngpus}")


def _check_gpus(file: MscclFile, findings: Findings) -> None:
    ids, count = np.unique(file.gpus[:, GPU_ID], return_counts=True)
    for rank in ids[(count > 1) | (ids < 0) | (ids >= file.ngpus)]:
        findings.error("gpu", f"gpu id {rank} is given twice or is not in [0, {file.ngpus})")
    for rank in sorted(set(range(file.ngpus)) - set(ids.tolist()))[:1]:
        findings.error("gpu", f"no gpu {rank}", rank)
    for gpu in file.gpus:
        for column, word in ((GPU_I, "i_chunks"), (GPU_O, "o_chunks"), (GPU_S, "s_chunks")):
            if not 0 <= gpu[column] <= MAX_CHUNKS:
                findings.error("chunks", f"{word} must be 0 to {MAX_CHUNKS}, not {gpu[column]}", int(gpu[GPU_ID]))


def _check_tbs(file: MscclFile, findings: Findings) -> None:
    ids: dict[int, set[int]] = {}
    used: set[tuple[int, int, int, bool]] = set()
    for tb in file.tbs:
        rank, name, send, recv, chan = (int(x) for x in tb[[TB_RANK, TB_ID, TB_SEND, TB_RECV, TB_CHAN]])
        mine = ids.setdefault(rank, set())
        if name in mine:
            findings.error("tb-id", f"tb id {name} is given twice", rank, name)
        mine.add(name)
        if not 0 <= chan < file.nchannels:
            findings.error("channel", f"chan must be in [0, {file.nchannels}), not {chan}", rank, name)
        for peer, word, is_send in ((send, "send", True), (recv, "recv", False)):
            if peer < -1 or peer >= file.ngpus or peer == rank:
                findings.error("peer", f"{word} must be another rank or -1, not {peer}", rank, name)
            elif peer >= 0 and (rank, peer, chan, is_send) in used:
                findings.error(
                    "connection", f"a second threadblock with {word} {peer} on channel {chan}: "
                    f"a connection has one at each end", rank, name,
                )  # fmt: skip
            used.add((rank, peer, chan, is_send))
    for rank, mine in ids.items():
        if mine != set(range(len(mine))):
            findings.error("tb-id", f"tb ids must be 0 to {len(mine) - 1} without gaps", rank)


def _report(file: MscclFile, findings: Findings, rule: str, rows: Iterable[int], message: str, column: int) -> None:
    for row in rows:
        value = int(file.steps[row, column])
        findings.error(rule, message.format(value=value, type=TYPES[file.steps[row, TYPE]]), *file.place(int(row)))


def _check_steps(file: MscclFile, findings: Findings) -> None:
    steps = file.steps
    for row, name in file.bad_types.items():
        findings.error("type", f"no runtime knows a step of type {name[:40]!r}", *file.place(row))
    for row, name in file.bad_buffers.items():
        findings.error("buffer", f"a buffer is i, o or s, not {name[:40]!r}", *file.place(row))
    kind = steps[:, TYPE]
    rows = [
        ("step-id", steps[:, S] != steps[:, POS], "s is {value}, but must be the position in the tb", S),
        ("count", (kind != _NOP) & ((steps[:, CNT] < 1) | (steps[:, CNT] > MAX_COUNT)),
         f"cnt must be 1 to {MAX_COUNT}, not {{value}}", CNT),
        ("peer", SENDS[kind] & (file.tbs[steps[:, TB], TB_SEND] < 0), "{type} in a tb without a send peer", TYPE),
        ("peer", RECEIVES[kind] & (file.tbs[steps[:, TB], TB_RECV] < 0), "{type} in a tb without a recv peer", TYPE),
        ("hasdep", (steps[:, HASDEP] != 0) & (steps[:, HASDEP] != 1), "hasdep must be 0 or 1, not {value}", HASDEP),
    ]  # fmt: skip
    rows += [
        ("offset", (steps[:, column] < -MAX_CHUNKS - 1) | (steps[:, column] > MAX_CHUNKS),
         "an offset must fit into 16 bits, not be {value}", column)
        for column in (SRCOFF, DSTOFF)
    ]  # fmt: skip
    for rule, broken, message, column in rows:
        _report(file, findings, rule, np.flatnonzero(broken), message, column)


def _check_bounds(file: MscclFile, findings: Findings) -> None:
    steps = file.steps
    size = np.zeros((file.ngpus, 3), np.int64)
    i, o = sizes(collective_of(file) or "", file.ngpus, file.nchunks)
    size[file.gpus[:, GPU_ID]] = np.minimum(file.gpus[:, [GPU_I, GPU_O, GPU_S]], [i, o, MAX_CHUNKS])
    for used, buffer, offset, word in ((READS_SRC, SRC, SRCOFF, "src"), (WRITES_DST, DST, DSTOFF, "dst")):
        room = size[steps[:, RANK], steps[:, buffer]]
        outside = used[steps[:, TYPE]] & ((steps[:, offset] < 0) | (steps[:, offset] + steps[:, CNT] > room))
        for row in np.flatnonzero(outside):
            at, count = int(steps[row, offset]), int(steps[row, CNT])
            findings.error(
                "bounds", f"{word} {'ios'[steps[row, buffer]]}[{at}, {at + count}) is outside of the buffer's "
                f"{room[row]} chunks", *file.place(int(row)),
            )  # fmt: skip
    both = READS_SRC[steps[:, TYPE]] & WRITES_DST[steps[:, TYPE]] & (steps[:, SRC] == steps[:, DST])
    apart = np.abs(steps[:, SRCOFF] - steps[:, DSTOFF])
    overlap = both & (apart > 0) & (apart < steps[:, CNT])
    _report(file, findings, "overlap", np.flatnonzero(overlap), "src and dst of {type} overlap in part", TYPE)


def tb_rows(file: MscclFile) -> dict[tuple[int, int], int]:
    """Return the row of each (rank, tb id)."""
    return {(int(tb[TB_RANK]), int(tb[TB_ID])): t for t, tb in enumerate(file.tbs)}


def _check_dependencies(file: MscclFile, findings: Findings) -> None:
    steps, tbs, row_of = file.steps, file.tbs, tb_rows(file)
    for row in np.flatnonzero((steps[:, DEPID] != -1) | (steps[:, TYPE] == _NOP)):
        step = steps[row]
        depid, deps = int(step[DEPID]), int(step[DEPS])
        place = file.place(int(row))
        if step[TYPE] == _NOP:
            last = step[POS] + 1 == tbs[step[TB], TB_STEPS]
            if depid == -1:
                findings.error("nop", "a nop without a dependency: runtimes do not count it as a step", *place)
                continue
            if last:
                findings.warn("nop", "a nop at the end of its tb: runtimes do not wait for what it depends on", *place)
            elif steps[row + 1, DEPID] == -1:
                findings.error("nop", "the step after a nop must carry a dependency too: runtimes refuse it", *place)
        t = row_of.get((int(step[RANK]), depid))
        if t is None or not 0 <= deps < tbs[t, TB_STEPS]:
            findings.error("dependency", f"depends on tb {depid} step {deps}, which does not exist", *place)
            continue
        if depid > MAX_DEPENDENCY_TB:
            findings.error("dependency", f"depends on tb {depid}, ids above {MAX_DEPENDENCY_TB} cannot be", *place)
        target = steps[tbs[t, TB_FIRST] + deps]
        if target[TYPE] == _NOP:
            findings.error("dependency", f"depends on tb {depid} step {deps}, a nop", *place)
        elif not target[HASDEP]:
            findings.error("dependency", f"depends on tb {depid} step {deps}, whose hasdep is 0", *place)


def _continues(before: Columns, step: Columns) -> bool:
    """Whether the runtimes fuse a ``re`` with the ``re`` before it."""
    same = all(before[c] == step[c] for c in (TB, TYPE, SRC, DST, DSTOFF))
    return bool(same and step[DEPID] == -1 and not before[HASDEP])


def _check_fusion(file: MscclFile, findings: Findings) -> None:
    """A chain of ``re`` to one place becomes one instruction, made as the runtimes make it.

    Their counter runs over the whole threadblock and cuts a chain only when it is exactly 16.
    """
    steps = file.steps
    tb, total, fused, before = -1, 0, 0, -1
    for row in np.flatnonzero(steps[:, TYPE] == _RE):
        step = steps[row]
        if step[TB] != tb:
            tb, total, fused, before = int(step[TB]), 0, 0, -1
        chained = before == row - 1 and total != MAX_FUSED and _continues(steps[before], step)
        fused = fused + 1 if chained else 1
        total, before = total + 1, int(row)
        if fused > MAX_FUSED:
            findings.error("fusion", f"a chain of more than {MAX_FUSED} re to one place", *file.place(int(row)))
        if not chained:
            continue
        count, previous = int(step[CNT]), int(steps[row - 1, CNT])
        if count != previous:
            findings.error("fusion", f"fuses with the re before it, whose cnt is {previous}", *file.place(int(row)))
        if step[SRC] == step[DST] and abs(step[SRCOFF] - step[DSTOFF]) < count:
            findings.error("fusion", "fuses with the re before it and reads what that writes", *file.place(int(row)))
