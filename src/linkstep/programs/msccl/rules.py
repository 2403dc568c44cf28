"""What every runtime of MSCCL XML needs of a file and none of them checks whole: numbers, bounds, peers, dependencies.

If nothing is reported here, ``events`` can bring the file into events without looking again. What differs between
runtimes is in ``limits``.
"""

from __future__ import annotations

import numpy as np

from linkstep.programs.columns import Ints
from linkstep.programs.findings import SHOWN, Findings
from linkstep.programs.memory import LETTERS
from linkstep.programs.msccl.dialects import MAX_COUNT
from linkstep.programs.msccl.reader import (
    CUSTOM,
    MAX_RANKS,
    READS_SRC,
    RECEIVES,
    SENDS,
    TYPES,
    WRITES_DST,
    MscclFile,
)

MAX_CHUNKS = 2**15 - 1
MAX_DEPENDENCY_TB = 127
MAX_FUSED = 16
_RE, _NOP = TYPES.index("re"), TYPES.index("nop")


def check_rules(file: MscclFile, findings: Findings) -> None:
    """Report every broken rule."""
    _check_algo(file, findings)
    if findings.num_obstacles():
        return
    _check_gpus(file, findings)
    _check_tbs(file, findings)
    if findings.num_obstacles():
        return
    _check_steps(file, findings)
    if findings.num_obstacles():
        return
    _check_bounds(file, findings)
    _check_dependencies(file, findings)
    _check_fusion(file, findings)


def _check_algo(file: MscclFile, findings: Findings) -> None:
    if file.algo["coll"] == CUSTOM:
        findings.unknown("coll", f"nothing says what coll={CUSTOM!r} must compute")
    elif file.collective is None:
        findings.error("coll", f"no runtime knows a coll {file.algo['coll'][:40]!r}")
    if file.algo["proto"] not in ("Simple", "LL", "LL128"):
        findings.error("proto", f"proto must be Simple, LL or LL128, not {file.algo['proto'][:40]!r}")
    if not 1 <= file.ngpus <= MAX_RANKS:
        findings.error("ngpus", f"ngpus must be 1 to {MAX_RANKS}, not {file.ngpus}")
    if not 1 <= file.nchunks <= MAX_CHUNKS:
        findings.error("chunks", f"nchunksperloop must be 1 to {MAX_CHUNKS}, not {file.nchunks}")
    elif file.collective and file.collective.is_divided and file.ngpus > 0 and file.nchunks % file.ngpus:
        findings.error("chunks", f"nchunksperloop {file.nchunks} is no multiple of ngpus {file.ngpus}")


def _check_gpus(file: MscclFile, findings: Findings) -> None:
    gpus = file.gpus
    ids, count = np.unique(gpus.rank, return_counts=True)
    for rank in ids[(count > 1) | (ids < 0) | (ids >= file.ngpus)]:
        findings.error("gpu", f"gpu id {rank} is given twice or is not in [0, {file.ngpus})")
    for rank in sorted(set(range(file.ngpus)) - set(ids.tolist()))[:1]:
        findings.error("gpu", f"no gpu {rank}", rank)
    for column, word in ((gpus.input, "i_chunks"), (gpus.output, "o_chunks"), (gpus.scratch, "s_chunks")):
        for row in np.flatnonzero((column < 0) | (column > MAX_CHUNKS)):
            findings.error("chunks", f"{word} must be 0 to {MAX_CHUNKS}, not {column[row]}", int(gpus.rank[row]))


def _check_tbs(file: MscclFile, findings: Findings) -> None:
    ids: dict[int, set[int]] = {}
    used: set[tuple[int, int, int, bool]] = set()
    tbs = file.tbs
    columns = (column.tolist() for column in (tbs.rank, tbs.id, tbs.send, tbs.recv, tbs.chan))
    for rank, name, send, recv, chan in zip(*columns, strict=True):
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


def _report(
    file: MscclFile, findings: Findings, rule: str, rows: Ints, message: str, column: Ints
) -> None:  # fmt: skip
    for row in rows[:SHOWN]:
        says = message.format(value=int(column[row]), type=TYPES[file.steps.type[row]])
        findings.error(rule, says, *file.place(int(row)))
    findings.more_errors(rule, len(rows) - SHOWN)


def _check_steps(file: MscclFile, findings: Findings) -> None:
    steps = file.steps
    for row, name in file.bad_types.items():
        findings.error("type", f"no runtime knows a step of type {name[:40]!r}", *file.place(row))
    for row, name in file.bad_buffers.items():
        findings.error("buffer", f"a buffer is i, o or s, not {name[:40]!r}", *file.place(row))
    kind = steps.type
    rows = [
        ("step-id", steps.s != steps.position, "s is {value}, but must be the position in the tb", steps.s),
        ("count", (kind != _NOP) & ((steps.count < 1) | (steps.count > MAX_COUNT)),
         f"cnt must be 1 to {MAX_COUNT}, not {{value}}", steps.count),
        ("peer", SENDS[kind] & (file.tbs.send[steps.tb] < 0), "{type} in a tb without a send peer", kind),
        ("peer", RECEIVES[kind] & (file.tbs.recv[steps.tb] < 0), "{type} in a tb without a recv peer", kind),
        ("hasdep", (steps.hasdep != 0) & (steps.hasdep != 1), "hasdep must be 0 or 1, not {value}", steps.hasdep),
    ]  # fmt: skip
    rows += [
        ("offset", (offset < -MAX_CHUNKS - 1) | (offset > MAX_CHUNKS),
         "an offset must fit into 16 bits, not be {value}", offset)
        for offset in (steps.src_offset, steps.dst_offset)
    ]  # fmt: skip
    for rule, broken, message, column in rows:
        _report(file, findings, rule, np.flatnonzero(broken), message, column)


def _check_bounds(file: MscclFile, findings: Findings) -> None:
    steps, gpus, collective = file.steps, file.gpus, file.collective
    assert collective is not None
    size_in, size_out = collective.num_chunks(file.ngpus, file.nchunks)
    size = np.zeros((file.ngpus, len(LETTERS)), np.int64)
    size[gpus.rank] = np.stack(
        [np.minimum(gpus.input, size_in), np.minimum(gpus.output, size_out), gpus.scratch], axis=1
    )
    for used, buffer, offset, word in (
        (READS_SRC, steps.src, steps.src_offset, "src"), (WRITES_DST, steps.dst, steps.dst_offset, "dst")
    ):  # fmt: skip
        most = size[steps.rank, buffer]
        outside = used[steps.type] & ((offset < 0) | (offset + steps.count > most))
        for row in np.flatnonzero(outside):
            at, count = int(offset[row]), int(steps.count[row])
            findings.error(
                "bounds", f"{word} {LETTERS[buffer[row]]}[{at}, {at + count}) is outside of the buffer's "
                f"{most[row]} chunks", *file.place(int(row)),
            )  # fmt: skip
    both = READS_SRC[steps.type] & WRITES_DST[steps.type] & (steps.src == steps.dst)
    apart = np.abs(steps.src_offset - steps.dst_offset)
    overlap = both & (apart > 0) & (apart < steps.count)
    _report(file, findings, "overlap", np.flatnonzero(overlap), "src and dst of {type} overlap in part", steps.type)


def tb_rows(file: MscclFile) -> dict[tuple[int, int], int]:
    """Return the row of each (rank, tb id)."""
    return {place: t for t, place in enumerate(zip(file.tbs.rank.tolist(), file.tbs.id.tolist(), strict=True))}


def _check_dependencies(file: MscclFile, findings: Findings) -> None:
    steps, row_of = file.steps, tb_rows(file)
    first, num_steps = file.tbs.first.tolist(), file.tbs.num_steps.tolist()
    kinds, hasdep, depids, deps_of = (c.tolist() for c in (steps.type, steps.hasdep, steps.depid, steps.deps))
    rows = np.flatnonzero((steps.depid != -1) | (steps.type == _NOP))
    is_last = (steps.position + 1 == file.tbs.num_steps[steps.tb])[rows]
    for row, rank, last in zip(rows.tolist(), steps.rank[rows].tolist(), is_last.tolist(), strict=True):
        depid, deps = depids[row], deps_of[row]
        if kinds[row] == _NOP:
            _check_nop(depid, last, last or depids[row + 1] != -1, findings, file.place(row))
            if depid == -1:
                continue
        t = row_of.get((rank, depid))
        if t is None or not 0 <= deps < num_steps[t]:
            says = f"depends on tb {depid} step {deps}, which does not exist"
        elif depid > MAX_DEPENDENCY_TB:
            says = f"depends on tb {depid}, ids above {MAX_DEPENDENCY_TB} cannot be"
        elif kinds[first[t] + deps] == _NOP:
            says = f"depends on tb {depid} step {deps}, a nop"
        elif not hasdep[first[t] + deps]:
            says = f"depends on tb {depid} step {deps}, whose hasdep is 0"
        else:
            continue
        findings.error("dependency", says, *file.place(row))


def _check_nop(depid: int, last: bool, carried: bool, findings: Findings, place: tuple[int, int, int]) -> None:
    """A nop carries a dependency for the step after it, which is ``carried`` on."""
    if depid == -1:
        findings.error("nop", "a nop without a dependency: runtimes do not count it as a step", *place)
    elif last:
        findings.warn("nop", "a nop at the end of its tb: runtimes do not wait for what it depends on", *place)
    elif not carried:
        findings.error("nop", "the step after a nop must carry a dependency too: runtimes refuse it", *place)


def _check_fusion(file: MscclFile, findings: Findings) -> None:
    """A chain of ``re`` to one place becomes one instruction, made as the runtimes make it.

    Their counter runs over the whole threadblock and cuts a chain only when it is exactly 16.
    """
    steps = file.steps
    rows = np.flatnonzero(steps.type == _RE)
    before = np.maximum(rows - 1, 0)
    chained = (rows > 0) & (steps.depid[rows] == -1) & (steps.hasdep[before] == 0)
    for column in (steps.tb, steps.type, steps.src, steps.dst, steps.dst_offset):
        chained &= column[before] == column[rows]
    number = np.arange(rows.size)
    chained &= number - np.searchsorted(steps.tb[rows], steps.tb[rows]) != MAX_FUSED
    length = number - np.maximum.accumulate(np.where(chained, 0, number)) + 1
    count, previous = steps.count[rows], steps.count[before]
    near = (steps.src == steps.dst)[rows] & (np.abs(steps.src_offset - steps.dst_offset)[rows] < count)
    for broken, says in (
        (length > MAX_FUSED, f"a chain of more than {MAX_FUSED} re to one place"),
        (chained & (count != previous), "fuses with the re before it, whose cnt is {value}"),
        (chained & near, "fuses with the re before it and reads what that writes"),
    ):
        _report(file, findings, "fusion", rows[broken], says, np.append(0, steps.count))
