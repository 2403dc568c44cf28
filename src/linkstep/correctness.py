"""The definition of correctness: is this schedule an allgather, a reduce-scatter, an allreduce, an all-to-all?

Decides sec:reducescatterallgather exactly, on chunk intervals, and shows a witness on failure. Knows only the
definitions and imports nothing that makes schedules. The rules are written out in docs/concepts/data-model.md.

A reduce-scatter is an allgather run backwards: a chunk of u's contribution is "delivered" from step t on if it is
passed along rows of later and later steps that end at its destination. Reading rows from the last step to the first
with heads and tails exchanged, delivered sets grow exactly as held sets do in an allgather (thm:scheduleswitch), and
a contribution counts twice exactly when a delivered chunk is delivered again.

Nodes that are no ranks hold nothing at first and need nothing in the end. In a reduction they have no part of their
own: what they pass on must have come before, which one more run, forwards, decides (``_check_forwarders``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkstep._kernels.spread import _phases, _reduced, _rows_by_source, _spread
from linkstep.core.collective import Collective
from linkstep.core.columns import LAST_STEP
from linkstep.core.errors import ScheduleError
from linkstep.core.inputs import MadeScheduleLike, as_made_schedule
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints

Rows = NDArray[np.bool_]
_MAX_CELLS = 10**8
"""The most cells (a chunk of a shard at a node, or in a row) over which roots other than the shard's node are found."""


def _run(
    schedule: Schedule,
    keep: Rows,
    *,
    gather: bool,
    roots: Ints | None = None,
    only: int = -1,
    pieces: int = 1,
    ends: Ids | None = None,
) -> tuple[int, ...]:
    """Follow the rows to keep, of one source if ``only``, to all ranks or ``ends``; return the kernel's witness."""
    topology = schedule.topology
    roots = _own_roots(schedule) if roots is None else roots
    ends = schedule.ranks.nodes if ends is None else ends
    ptr, rows = _rows_by_source(schedule.num_ranks, schedule.source, keep)
    giver, taker = (topology.tail, topology.head) if gather else (topology.head, topology.tail)
    witness = _spread(
        topology.num_nodes, schedule.unit, giver, taker,
        schedule.lo, schedule.hi, schedule.link, schedule.step, ptr, rows, roots, ends, not gather, not gather,
        only, pieces,
    )  # fmt: skip
    return tuple(int(x) for x in witness)


def _own_roots(schedule: Schedule) -> Ints:
    """Return (shard, root, lo, hi) where every shard is its own rank's node's."""
    shard = np.arange(schedule.num_ranks)
    node = schedule.ranks.nodes.astype(np.int64)
    return np.stack([shard, node, np.zeros_like(shard), np.full_like(shard, schedule.unit)], axis=1)


def _every(schedule: Schedule) -> Rows:
    """Return all rows to be followed; every link must exist when it is used."""
    _check_lifetimes(schedule)
    return np.ones(schedule.num_rows, np.bool_)


def _check_lifetimes(schedule: Schedule) -> None:
    """Refuse the first row on a link that is not open at its step."""
    topology = schedule.topology
    if not topology.has_lifetimes:
        return
    opens = 1 if topology.opens is None else topology.opens[schedule.link]
    closes = LAST_STEP if topology.closes is None else topology.closes[schedule.link]
    wrong = np.flatnonzero((schedule.step < opens) | (schedule.step > closes))
    if not wrong.size:
        return
    row, link = int(wrong[0]), schedule.link[wrong[0]]
    if topology.opens is not None and schedule.step[row] < topology.opens[link]:
        why = f"opens at step {topology.opens[link]}"
    else:
        assert topology.closes is not None
        why = f"closes after step {topology.closes[link]}"
    raise ScheduleError(f"{_describe_row(schedule, row)}, but the link {why}", row)


def _shard(schedule: Schedule, source: int) -> str:
    """Say whose shard: ``rack2-07's shard``, or ``shard 7`` where hosts have no names."""
    topology, node = schedule.topology, int(schedule.ranks.nodes[source])
    if topology.labels is not None:
        return f"{topology.called(node)}'s shard"
    return f"shard {source}" if schedule.ranks.is_everyone else f"shard {source} (of node {node})"


def _describe_row(schedule: Schedule, row: int) -> str:
    topology, e = schedule.topology, int(schedule.link[row])
    ends = f"{topology.host(int(topology.tail[e]))} -> {topology.host(int(topology.head[e]))}"
    chunk = f"[{schedule.lo[row]}, {schedule.hi[row]})/{schedule.unit}"
    shard = _shard(schedule, int(schedule.source[row]))
    return f"row {row}: step {schedule.step[row]}, link {e} ({ends}) carries {chunk} of {shard}"


def _refuse_gather(schedule: Schedule, witness: tuple[int, ...]) -> None:
    kind, row, source, node, a, b = witness
    topology, piece = schedule.topology, f"[{a}, {b})/{schedule.unit}"
    if kind == 1:
        raise ScheduleError(f"{_describe_row(schedule, row)}, but the link is a self-loop", row)
    if kind == 2:
        holder = topology.called(node)
        raise ScheduleError(f"{_describe_row(schedule, row)}, but {holder} does not hold {piece} yet", row)
    if kind == 4:
        raise ScheduleError(f"{piece} of {_shard(schedule, source)} never arrives at {topology.called(node)}")


def _refuse_reduce(schedule: Schedule, witness: tuple[int, ...], roots: Ints | None = None) -> None:
    kind, row, source, node, a, b = witness
    topology, piece = schedule.topology, f"[{a}, {b})/{schedule.unit}"
    root = int(schedule.ranks.nodes[source])
    if roots is not None:
        root = next((r for v, r, lo, hi in roots[roots[:, 0] == source].tolist() if lo <= a < hi), root)
    if kind == 1:
        raise ScheduleError(f"{_describe_row(schedule, row)}, but the link is a self-loop", row)
    if kind == 2:
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but {topology.called(node)} does not pass {piece} on at a later step: "
            f"the reduction misses it",
            row,
        )
    if kind == 3:
        what = "part" if schedule.ranks.rank_of[node] >= 0 else "sum"
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but {topology.called(node)}'s {what} of {piece} is counted "
            f"{'already' if node == root else 'by a later row too'}: it is reduced twice",
            row,
        )
    if kind == 4:
        part = f"{topology.called(node)}'s part of {piece} of {_shard(schedule, source)}"
        raise ScheduleError(f"{part} never reaches {topology.called(root)}")


def _check_forwarders(schedule: Schedule, keep: Rows) -> None:
    """Refuse a row of a reduction by which a node that is no rank sends a chunk of which nothing has come to it yet.

    Ranks have a part of every shard to send at any time. So these hold everything they ever send, forwarders what has
    come: the rule of a gathering, of which nobody needs anything in the end.
    """
    if not schedule.ranks.has_forwarders:
        return
    sender = schedule.topology.tail[schedule.link]
    own = keep & (schedule.ranks.rank_of[sender] >= 0)
    pairs = np.unique(np.stack([schedule.source[own], sender[own]]).astype(np.int64), axis=1)
    start = np.stack([*pairs, np.zeros_like(pairs[0]), np.full_like(pairs[0], schedule.unit)], axis=1)
    nobody = np.zeros(0, np.int32)
    kind, row, _, node, a, b = _run(schedule, keep, gather=True, roots=start, ends=nobody)
    if kind == 2:
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but {schedule.topology.called(node)} takes no part and nothing of "
            f"[{a}, {b})/{schedule.unit} has come to it yet",
            row,
        )


def check_allgather(schedule: MadeScheduleLike) -> None:
    """Raise ScheduleError with a witness unless every rank ends with every other rank's whole shard (def:allgather).

    Every row must send what its sender holds before that step. Receiving a chunk again is allowed: it wastes
    bandwidth and harms nothing.

    >>> from linkstep import schedule
    >>> check_allgather(schedule("K_{2,2}", "allgather"))
    """
    schedule = as_made_schedule(schedule)
    _refuse_gather(schedule, _run(schedule, _every(schedule), gather=True))


def check_reduce_scatter(schedule: MadeScheduleLike) -> None:
    """Raise ScheduleError with a witness unless every rank v ends with the sum of all ranks' parts of shard v.

    A row sends the sender's sum so far and the receiver adds it to its own; each rank's part must reach v exactly
    once, and every row must help (a sum that is never passed on is refused, and so is one of nothing).

    >>> from linkstep import schedule
    >>> check_reduce_scatter(schedule("K_{2,2}", "reduce-scatter"))
    """
    schedule = as_made_schedule(schedule)
    rows = _every(schedule)
    _refuse_reduce(schedule, _run(schedule, rows, gather=False))
    _check_forwarders(schedule, rows)


def split_phases(schedule: Schedule) -> tuple[Rows, Ints]:
    """Return which rows reduce, all, none or some, and the root of every chunk as sorted rows (shard, root, lo, hi).

    A chunk's root is where its sum is complete: its own node or, of an allreduce in which everyone takes part, another
    (``_phases_by_roots``).
    """
    collective, topology = schedule.collective, schedule.topology
    roots = _own_roots(schedule)
    if not (collective.reduces and collective.gathers):
        return np.full(schedule.num_rows, collective.reduces), roots
    ptr, rows = _rows_by_source(schedule.num_ranks, schedule.source, _every(schedule))
    columns = (schedule.source, schedule.lo, schedule.hi, schedule.link, schedule.step)
    phase: NDArray[np.int8] = _phases(topology.tail, *columns, ptr, rows, schedule.ranks.nodes)
    reduced = _reduced(schedule.num_ranks, schedule.source, schedule.lo, schedule.hi, phase)
    elsewhere = []
    unusual = np.flatnonzero(reduced != (topology.num_nodes - 1) * schedule.unit)
    for shard in [] if schedule.ranks.has_forwarders else unusual.tolist():
        found = _phases_by_roots(schedule, shard, rows[ptr[shard] : ptr[shard + 1]])
        if found is not None:
            phase[rows[ptr[shard] : ptr[shard + 1]]] = found[0]
            elsewhere.append(found[1])
    if elsewhere:
        kept = roots[~np.isin(roots[:, 0], [found[0, 0] for found in elsewhere])]
        roots = np.concatenate([kept, *elsewhere])
        roots = roots[np.lexsort((roots[:, 2], roots[:, 0]))]
    mixed = np.flatnonzero(phase == 2)
    if mixed.size:
        row = int(mixed[0])
        node = topology.called(int(schedule.ranks.nodes[schedule.source[row]]))
        raise ScheduleError(
            f"{_describe_row(schedule, row)}, but {node} has sent a part of that by then and not the rest: "
            f"a row either reduces or gathers",
            row,
        )
    return phase == 0, roots


def _phases_by_roots(schedule: Schedule, shard: int, rows: Ints) -> tuple[NDArray[np.int8], Ints] | None:
    """Return the phase of each of a shard's rows and the shard's roots, if other nodes than its own may be these.

    In a reduction every node but the root sends a chunk once, and the root sends it only when all have: so the root is
    the node that is the last to send it for the first time. None where a chunk has no such node, where a row is one too
    many, or where no row brings a sum to some node: then the shard's own node is the better witness.
    """
    n = schedule.topology.num_nodes
    lo, hi, step = schedule.lo[rows], schedule.hi[rows], schedule.step[rows].astype(np.int64)
    ends = np.unique(np.concatenate([lo, hi]))
    cells, at, count = ends.size - 1, np.searchsorted(ends, lo), np.searchsorted(ends, hi) - np.searchsorted(ends, lo)
    if not rows.size or ends[0] != 0 or ends[-1] != schedule.unit or max(cells * n, int(count.sum())) > _MAX_CELLS:
        return None
    row = np.repeat(np.arange(rows.size), count)
    cell = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count) + at[row]
    never = np.iinfo(np.int64).max
    first = np.full((cells, n), never)
    np.minimum.at(first, (cell, schedule.topology.tail[schedule.link[rows]][row]), step[row])
    root = first.argmax(axis=1)
    start = first[np.arange(cells), root]
    gathers = step[row] >= start[cell]
    reduced = np.bincount(cell[~gathers], minlength=cells)
    reached = np.zeros((cells, n), np.bool_)
    reached[cell[gathers], schedule.topology.head[schedule.link[rows]][row[gathers]]] = True
    reached[np.arange(cells), root] = True
    sent_before = (first < start[:, None]).sum(axis=1)
    if not reached.all() or (start == never).any() or (sent_before != n - 1).any() or (reduced != n - 1).any():
        return None
    begin = np.cumsum(count) - count
    some, every = np.logical_or.reduceat(gathers, begin), np.logical_and.reduceat(gathers, begin)
    phase = np.where(some, np.where(every, 1, 2), 0).astype(np.int8)
    return phase, _joined(np.stack([np.full(cells, shard), root, ends[:-1], ends[1:]], axis=1))


def _joined(roots: Ints) -> Ints:
    """Return the rows (shard, root, lo, hi) of one shard with neighbours of one root as one."""
    new = np.flatnonzero(np.diff(roots[:, 1], prepend=-1))
    last = np.append(new[1:], len(roots)) - 1
    return np.stack([roots[new, 0], roots[new, 1], roots[new, 2], roots[last, 3]], axis=1)


def check_allreduce(schedule: MadeScheduleLike) -> None:
    """Raise ScheduleError with a witness unless each chunk is reduced to one node, its root, and gathered from it.

    Rows that carry a chunk before its root first sends it are the chunk's reduction, the rest its gathering: no valid
    reduction has the root send, and every gathering starts with that. The split is found for each chunk by itself, so
    the two phases of different chunks may overlap in time; a row has chunks of one phase only.

    >>> from linkstep import schedule
    >>> check_allreduce(schedule("K_{2,2}"))
    """
    schedule = as_made_schedule(schedule)
    reduces, roots = split_phases(schedule)
    _refuse_reduce(schedule, _run(schedule, reduces, gather=False, roots=roots), roots)
    _check_forwarders(schedule, reduces)
    _refuse_gather(schedule, _run(schedule, ~reduces, gather=True, roots=roots))


def _root(schedule: Schedule) -> int:
    """Return the one source of a broadcast's or a reduce's rows."""
    if not schedule.num_rows:
        if schedule.num_ranks == 1:
            return 0
        raise ScheduleError(f"a {schedule.collective} has rows for its root, this one has none")
    root = int(schedule.source[0])
    other = np.flatnonzero(schedule.source != root)
    if other.size:
        row, name = int(other[0]), schedule.topology.called(int(schedule.ranks.nodes[root]))
        raise ScheduleError(f"{_describe_row(schedule, row)}, but the root is {name}: row 0 is of its shard", row)
    return root


def check_broadcast(schedule: MadeScheduleLike) -> None:
    """Raise ScheduleError with a witness unless all rows are of one root's shard and bring it to every other rank.

    >>> from linkstep import schedule
    >>> check_broadcast(schedule("K_{2,2}", "broadcast"))
    """
    schedule = as_made_schedule(schedule)
    root = _root(schedule)
    _refuse_gather(schedule, _run(schedule, _every(schedule), gather=True, only=root))


def check_reduce(schedule: MadeScheduleLike) -> None:
    """Raise ScheduleError with a witness unless every rank's part of one root's shard reaches the root once.

    >>> from linkstep import schedule
    >>> check_reduce(schedule("K_{2,2}", "reduce"))
    """
    schedule = as_made_schedule(schedule)
    root, rows = _root(schedule), _every(schedule)
    _refuse_reduce(schedule, _run(schedule, rows, gather=False, only=root))
    _check_forwarders(schedule, rows)


def check_all_to_all(schedule: MadeScheduleLike) -> None:
    """Raise ScheduleError with a witness unless every rank w ends with the w-th R-th of every other rank's shard.

    As in an allgather, a row must send what its sender holds before that step; on its way a piece may be held by any
    number of nodes.

    >>> from linkstep import schedule
    >>> check_all_to_all(schedule("K_{2,2}", "all-to-all"))
    """
    schedule = as_made_schedule(schedule)
    n = schedule.num_ranks
    if schedule.unit % n:
        who = "nodes" if schedule.ranks.is_everyone else "ranks"
        raise ScheduleError(f"the unit of an all-to-all must be a multiple of the {n} {who}, not {schedule.unit}")
    _refuse_gather(schedule, _run(schedule, _every(schedule), gather=True, pieces=n))


CHECKS: dict[Collective, Callable[[Schedule], None]] = {
    Collective.ALLGATHER: check_allgather,
    Collective.REDUCE_SCATTER: check_reduce_scatter,
    Collective.ALLREDUCE: check_allreduce,
    Collective.BROADCAST: check_broadcast,
    Collective.REDUCE: check_reduce,
    Collective.ALL_TO_ALL: check_all_to_all,
}


def check(schedule: MadeScheduleLike) -> None:
    """Check a schedule, a result that holds one, or one in a file, as the collective it says it is.

    >>> from linkstep import schedule
    >>> check(schedule("K_{2,2}", "allgather"))
    """
    made = as_made_schedule(schedule)
    CHECKS[made.collective](made)
