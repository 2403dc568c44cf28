"""Expansions of schedules: an allgather of the larger topology from one of the smaller (sec:expansion).

Each takes the base's schedule, whose topology is the base, and returns a schedule on the expanded topology. Everything
is columns: rows are repeated and shifted by whole arrays. The link numbers of an expanded topology come from sorting
its links once, as ``Topology.from_links`` does.
"""

from __future__ import annotations

from math import lcm

import numpy as np

from linkstep.core.errors import ScheduleError, TopologyError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Ids, Ints, Topology
from linkstep.expansions.topologies import (
    cartesian_power,
    check_times,
    degree_expand,
    degree_expanded_links,
    line_graph,
    power_links,
    to_bidirectional,
)


def check_allgather(schedule: Schedule, what: str) -> None:
    """Raise unless a schedule is one that expansions take."""
    if schedule.collective != "allgather":
        raise ScheduleError(f"{what} expands an allgather, not a {schedule.collective}")
    if not schedule.ranks.is_everyone:
        raise ScheduleError(f"{what} expands a schedule in which everyone takes part, in node order, not {schedule!r}")


def _repeat_ranges(start: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return (i, x) for every i and every x in start[i] .. start[i] + count[i] - 1."""
    which = np.repeat(np.arange(start.size), count)
    offset = np.arange(which.size) - np.repeat(np.cumsum(count) - count, count)
    return which, start[which] + offset


def line_graph_schedule(schedule: Schedule) -> Schedule:
    """Return the schedule of L(G) (def:linegraph): T_L + 1, T_B at most 1/N more (thm:linegraphperformance).

    Step 1: node e sends its shard to every link that starts where e ends. A row ((v, C), (u, w), t) becomes, for every
    in-link e of v and out-link f of w other than e, the row ((e, C), (link u->w, f), t + 1).
    """
    check_allgather(schedule, "L(G)")
    base = schedule.topology
    expanded = line_graph(base)
    first = np.flatnonzero(expanded.tail != expanded.head)

    # All pairs (row, in-link of its source), then all triples (row, in-link, out-link of its head).
    in_degree = np.diff(base.in_ptr)
    row, at = _repeat_ranges(base.in_ptr[schedule.source], in_degree[schedule.source])
    source = base.in_link[at]
    head = base.head[schedule.link[row]]
    pair, target = _repeat_ranges(base.out_ptr[head], np.diff(base.out_ptr)[head])
    row, source = row[pair], source[pair]
    keep = source != target
    row, source, target = row[keep], source[keep], target[keep]
    # Node link[row] of L(G) has its links in the order of the out-links of w.
    carrier = schedule.link[row]
    link = expanded.out_ptr[carrier] + target - base.out_ptr[base.head[carrier]]

    return Schedule.from_columns(
        expanded,
        schedule.unit,
        np.concatenate([expanded.tail[first], source]),
        np.concatenate([np.zeros(first.size, np.int64), schedule.lo[row]]),
        np.concatenate([np.full(first.size, schedule.unit), schedule.hi[row]]),
        np.concatenate([first, link]),
        np.concatenate([np.ones(first.size, np.int64), schedule.step[row].astype(np.int64) + 1]),
    )


def degree_expand_schedule(schedule: Schedule, times: int) -> Schedule:
    """Return the schedule of G*n (def:degexpschedule): T_L + 1, T_B + (n - 1)/(n N) (thm:degexp).

    Data travels within its copy of G and changes copy on the last hop only; at a final step each node receives its
    twins' shards, an equal part of each over each in-link.
    """
    check_allgather(schedule, "G*n")
    check_times(times, "G*n")
    base = schedule.topology
    expanded = degree_expand(base, times)
    number = degree_expanded_links(base, times)
    unit = lcm(schedule.unit, times * base.degree) if times > 1 else schedule.unit
    scale = unit // schedule.unit
    rows, home, away = (x.ravel() for x in np.indices((schedule.num_rows, times, times)))
    columns = [
        (schedule.source[rows] * np.int64(times) + home, schedule.lo[rows] * scale, schedule.hi[rows] * scale,
         number[schedule.link[rows], home, away], schedule.step[rows].astype(np.int64)),
    ]  # fmt: skip
    if times > 1:
        columns.append(_twins(expanded, times, unit, schedule.num_steps + 1))
    source, lo, hi, link, step = (np.concatenate(c) for c in zip(*columns, strict=True))
    return Schedule.from_columns(expanded, unit, source, lo, hi, link, step)


def _twins(expanded: Topology, times: int, unit: int, step: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return the rows of the last step: over its k-th in-link each node receives the k-th part of each twin's shard."""
    ports = np.diff(expanded.in_ptr)
    if (ports == 0).any() or (unit % ports).any():
        raise TopologyError("G*n needs a regular topology to share out the last step (def:degexpschedule)")
    node, at = _repeat_ranges(expanded.in_ptr[:-1], ports)
    part = at - expanded.in_ptr[node]
    twin = np.arange(times)
    which, copy = (x.ravel() for x in np.indices((node.size, times)))
    keep = node[which] % times != copy
    which, copy = which[keep], copy[keep]
    source = node[which] // times * times + twin[copy]
    size = unit // ports[node[which]]
    lo = part[which] * size
    return source, lo, lo + size, expanded.in_link[at[which]].astype(np.int64), np.full(which.size, step)


def cartesian_power_schedule(schedule: Schedule, times: int) -> Schedule:
    """Return the schedule of G^n (app-subsec:cartesian): n T_L steps, T_B N/(N-1) (N^n - 1)/N^n.

    The i-th part of each shard is gathered along one dimension after the other, starting with dimension i, so that at
    every step each part has a dimension to itself.
    """
    check_allgather(schedule, "G^n")
    check_times(times, "G^n")
    base = schedule.topology
    n = base.num_nodes
    number = power_links(base, times)
    weight = n ** np.arange(times - 1, -1, -1, dtype=np.int64)  # of each coordinate in a node's number
    columns = []
    for part in range(times):
        for turn in range(times):
            axis = (part + turn) % times
            done = [(part + k) % times for k in range(turn)]  # dimensions gathered before this turn
            ahead = [k for k in range(times) if k != axis and k not in done]
            rows, x, y, z = (i.ravel() for i in np.indices((schedule.num_rows, n**turn, n**turn, n ** len(ahead))))
            rest = _place(z, ahead, weight, n)
            source = _place(x, done, weight, n) + rest + schedule.source[rows] * weight[axis]
            others = _place(y, done, weight, n) + rest  # the link's nodes but for the axis
            lo = part * schedule.unit + schedule.lo[rows]
            hi = part * schedule.unit + schedule.hi[rows]
            step = schedule.step[rows].astype(np.int64) + turn * schedule.num_steps
            columns.append((source, lo, hi, number[axis, schedule.link[rows], others], step))
    source, lo, hi, link, step = (np.concatenate(c) for c in zip(*columns, strict=True))
    return Schedule.from_columns(cartesian_power(base, times), schedule.unit * times, source, lo, hi, link, step)


def _place(digits: Ints, axes: list[int], weight: Ints, n: int) -> Ints:
    """Read ``digits`` in base n and put one digit on each axis; return the node numbers."""
    total = np.zeros(digits.size, np.int64)
    for axis in reversed(axes):
        digits, digit = np.divmod(digits, n)
        total += digit * weight[axis]
    return total


def to_bidirectional_schedule(schedule: Schedule, mapping: Ids) -> Schedule:
    """Return the schedule of G with its transpose (sec:unitobidirectional): same T_L, same T_B, twice the degree.

    ``mapping`` is an isomorphism from G to its transpose: half of each shard follows the schedule, the other half the
    mapped schedule on the links the other way.
    """
    check_allgather(schedule, "Bi(G)")
    base = schedule.topology
    both = to_bidirectional(base)
    order = np.lexsort((np.concatenate([base.head, base.tail]), np.concatenate([base.tail, base.head])))
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    # Link e = (u, w) of G becomes (g(u), g(w)) of G^T, which is link e' = (g(w), g(u)) of G turned round.
    turned = np.lexsort((mapping[base.tail], mapping[base.head]))
    image = np.empty(turned.size, np.int64)
    image[turned] = np.arange(turned.size)
    if not (
        np.array_equal(mapping[base.head][turned], base.tail) and np.array_equal(mapping[base.tail][turned], base.head)
    ):
        raise TopologyError("Bi(G): the mapping is no isomorphism from G to its transpose")
    unit = schedule.unit
    return Schedule.from_columns(
        both,
        2 * unit,
        np.concatenate([schedule.source, mapping[schedule.source]]),
        np.concatenate([schedule.lo, schedule.lo + unit]),
        np.concatenate([schedule.hi, schedule.hi + unit]),
        np.concatenate([number[schedule.link], number[base.num_links + image[schedule.link]]]),
        np.concatenate([schedule.step, schedule.step]),
    )
