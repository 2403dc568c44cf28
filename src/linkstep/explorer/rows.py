"""A schedule's rows as a page gets them: exact, and a few bits each.

Rows of a gathering stand by receiver, shard and chunk; a link is then the number of its port at that host, and most
shards follow each other, so that the columns deflate well. Rows of a reduction stand so by their senders or, where it
is the gathering run backwards over the same cables, are not there at all: ``reduce`` is ``"mirrored"``.
``explorer/src/model/schedule.ts`` makes rows of them again, and ``unpacked_rows`` for tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Topology
from linkstep.costs import loads_of
from linkstep.methods.transform import link_numbers

MAX_ROWS = 8 * 10**6
"""The most rows that a page plays: a browser holds some hundred megabytes."""
_EXACT = 2**53
"""Below this a browser's numbers are exact."""
_MIRRORED = "mirrored"

Ints = NDArray[np.int64]
Rows = NDArray[np.bool_]


def why_unplayable(schedule: Schedule) -> str | None:
    """Return why a page cannot play a schedule, or None.

    >>> import linkstep
    >>> why_unplayable(linkstep.schedule("K_3", "allgather").schedule)
    """
    if schedule.num_rows > MAX_ROWS:
        return f"the schedule has {schedule.num_rows:,} rows; a page plays {MAX_ROWS:,} at most"
    most = max(schedule.unit, int(loads_of(schedule).links.amount.max(initial=0)))
    if most >= _EXACT:
        return f"the schedule cuts a shard into {schedule.unit:,} parts; a page counts {_EXACT:,} on a link at most"
    return None


def rows_of(schedule: Schedule, reduces: Rows) -> dict[str, Any]:
    """Return a schedule's rows; ``reduces`` says which add what comes to the receiver's own."""
    topology = schedule.topology
    gathered = _part(schedule, ~reduces, topology.head)
    return {"gather": gathered, "reduce": _MIRRORED if _is_mirrored(schedule, reduces) else _reduced(schedule, reduces)}


def _reduced(schedule: Schedule, reduces: Rows) -> dict[str, Any]:
    return _part(schedule, reduces, schedule.topology.tail)


def _part(schedule: Schedule, kept: Rows, end: Ids) -> dict[str, Any]:
    """Return some rows by their receivers or senders: ``end`` is the one end of each link that rows stand by."""
    host, port = end[schedule.link[kept]], _ports(schedule.topology, end)[schedule.link[kept]]
    source, lo, hi, step = (column[kept] for column in (schedule.source, schedule.lo, schedule.hi, schedule.step))
    order = np.lexsort((port, step, lo, source, host))
    return {
        "count": np.bincount(host, minlength=schedule.topology.num_nodes),
        "source": source[order],
        "port": port[order],
        "lo": lo[order],
        "hi": hi[order],
        "step": step[order],
    }


def _ports(topology: Topology, end: Ids) -> Ints:
    """Return the number of each link among those with the same end, in the order of links."""
    order = np.argsort(end, kind="stable")
    first = np.searchsorted(end[order], np.arange(topology.num_nodes))
    port = np.empty(end.size, np.int64)
    port[order] = np.arange(end.size) - first[end[order]]
    return port


def _is_mirrored(schedule: Schedule, reduces: Rows) -> bool:
    """Whether the rows that reduce are those that gather, backwards in time over the other links of the cables."""
    topology = schedule.topology
    if 2 * int(reduces.sum()) != schedule.num_rows or not schedule.num_rows or not topology.is_bidirectional:
        return False
    back = link_numbers(topology, topology.head, topology.tail)
    gathered = (~reduces, schedule.link, schedule.step.astype(np.int64))
    reduced = (reduces, back[schedule.link], schedule.num_steps + 1 - schedule.step.astype(np.int64))
    first, second = (_sorted(schedule, *rows) for rows in (gathered, reduced))
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def _sorted(schedule: Schedule, kept: Rows, link: Ids | Ints, step: Ints) -> list[Ints]:
    columns = [np.asarray(one, np.int64)[kept] for one in (schedule.hi, schedule.lo, schedule.source, link, step)]
    order = np.lexsort(columns)
    return [column[order] for column in columns]


def unpacked_rows(rows: dict[str, Any], topology: Topology, steps: int) -> tuple[Ints, Rows]:
    """Return what ``rows_of`` took, sorted: (step, link, source, lo, hi) of each row, and which of them reduce."""
    gathered = _restored(rows["gather"], topology, topology.head)
    if rows["reduce"] == _MIRRORED:
        reduced = gathered.copy()
        reduced[0] = steps + 1 - gathered[0]
        reduced[1] = link_numbers(topology, topology.head, topology.tail)[gathered[1]]
    else:
        reduced = _restored(rows["reduce"], topology, topology.tail)
    whole = np.concatenate([gathered, reduced], axis=1)
    reduces = np.arange(whole.shape[1]) >= gathered.shape[1]
    order = np.lexsort(whole[::-1])
    return whole[:, order], reduces[order]


def _restored(part: dict[str, Any], topology: Topology, end: Ids) -> Ints:
    host = np.repeat(np.arange(topology.num_nodes), part["count"])
    order = np.argsort(end, kind="stable")
    first = np.searchsorted(end[order], np.arange(topology.num_nodes))
    if not host.size:
        return np.zeros((5, 0), np.int64)
    link = order[first[host] + part["port"]]
    return np.stack([np.asarray(one, np.int64) for one in (part["step"], link, part["source"], part["lo"], part["hi"])])
