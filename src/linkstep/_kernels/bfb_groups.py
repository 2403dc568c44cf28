"""Schedules by arrival times, first half: which in-links of u each source may use, sorted into few groups.

A source v that reaches u at step t may use the in-links f(v) of u whose tails v has reached before. As bits of a word,
f(v) sorts the sources of a *problem* (u, t) into groups. Local link k of u is its k-th in-link that is no self-loop; at
most 64. In breadth-first broadcast t is the distance and f(v) holds the links on a shortest path from v: one backward
search from u finds them all, f(v) being the union of f(x) over v's next hops x, and no table of distances is needed.
With arrivals of their own, pieces of shards take the place of sources.
"""

import numpy as np

from linkstep._kernels import njit

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _search(in_ptr, in_tail, u, dist, mask, queue):
    """Fill dist and mask for every node that reaches u; return (nodes reached, last level)."""
    dist[:] = -1
    dist[u] = 0
    end, k = 0, np.uint64(0)
    for e in range(in_ptr[u], in_ptr[u + 1]):
        y = in_tail[e]
        if y == u:
            continue
        if dist[y] < 0:
            dist[y] = 1
            mask[y] = 0
            queue[end] = y
            end += 1
        mask[y] |= _ONE << k
        k += _ONE
    at = 0
    while at < end:
        v = queue[at]
        at += 1
        level = dist[v] + 1
        for e in range(in_ptr[v], in_ptr[v + 1]):
            y = in_tail[e]
            if dist[y] < 0:
                dist[y] = level
                mask[y] = mask[v]
                queue[end] = y
                end += 1
            elif dist[y] == level:
                mask[y] |= mask[v]
    return end + 1, dist[queue[end - 1]] if end else 0


@njit(cache=True, nogil=True)
def _by_level(n, dist, last, ptr, members):
    """Bucket nodes by distance, ascending within a level: members[ptr[t]:ptr[t + 1]] is level t."""
    for t in range(last + 2):
        ptr[t] = 0
    for v in range(n):
        ptr[dist[v] + 1] += 1
    for t in range(last + 1):
        ptr[t + 1] += ptr[t]
    for v in range(n):
        members[ptr[dist[v]]] = v
        ptr[dist[v]] += 1
    for t in range(last + 1, 0, -1):
        ptr[t] = ptr[t - 1]
    ptr[0] = 0


@njit(cache=True, nogil=True)
def _group(level, mask, slots, slot_of, group_mask, group_count, group_of):
    """Number the distinct masks of one level in order of appearance; return how many there are.

    Open addressing in ``slots`` (a power of two, at least twice the nodes; all -1 before and after).
    """
    groups = 0
    top = np.uint64(slots.size - 1)
    for i in range(level.size):
        m = mask[level[i]]
        h = (m ^ (m >> np.uint64(7)) ^ (m >> np.uint64(18)) ^ (m >> np.uint64(41))) & top  # no product: it overflows
        while slots[h] >= 0 and group_mask[slots[h]] != m:
            h = (h + _ONE) & top
        if slots[h] < 0:
            slots[h] = groups
            slot_of[groups] = h
            group_mask[groups] = m
            group_count[groups] = 0
            groups += 1
        group_of[i] = slots[h]
        group_count[slots[h]] += 1
    for g in range(groups):
        slots[slot_of[g]] = -1
    return groups


@njit(cache=True, nogil=True)
def _no_slots(count):
    """Return an empty table for ``_group``: a power of two, at least twice as many places as there are keys."""
    size = 4
    while size < 2 * count:
        size *= 2
    return np.full(size, -1, np.int32)


@njit(cache=True, nogil=True)
def _record(problems, p, node, step, first_group, groups, first_source, end_source):
    problems["node"][p], problems["step"][p] = node, step
    problems["first_group"][p], problems["end_group"][p] = first_group, first_group + groups
    problems["first_source"][p], problems["end_source"][p] = first_source, end_source


@njit(cache=True, nogil=True, fills=("problems",), passes=lambda a: 2 * a.nodes.size * a.in_tail.size)
def _problems(in_ptr, in_tail, nodes, problems):
    """Fill ``problems``; return (how many, group masks and counts, sources and their groups, stuck).

    There is a problem for every step of every node in ``nodes``: a record with its node and step, its groups (rows of
    mask and count from ``first_group`` to ``end_group``) and its sources, ascending in ``members`` from
    ``first_source`` to ``end_source``, each with its group's number within the problem. ``stuck`` is -1, or a node
    that not every node reaches.
    """
    n = in_ptr.size - 1
    dist = np.empty(n, np.int32)
    mask = np.empty(n, np.uint64)
    queue = np.empty(n, np.int32)
    ptr = np.empty(n + 2, np.int64)
    slots, slot_of = _no_slots(n), np.empty(n, np.int64)

    total = nodes.size * (n - 1)
    group_mask = np.empty(total, np.uint64)
    group_count = np.empty(total, np.int64)
    members = np.empty(nodes.size * n, np.int32)
    group_of = np.empty(nodes.size * n, np.int32)
    p, g = np.int64(0), np.int64(0)
    for i in range(nodes.size):
        u = nodes[i]
        reached, last = _search(in_ptr, in_tail, u, dist, mask, queue)
        if reached < n:
            return p, group_mask[:g], group_count[:g], members, group_of, u
        base = i * n
        _by_level(n, dist, last, ptr, members[base : base + n])
        for t in range(1, last + 1):
            lo, hi = base + ptr[t], base + ptr[t + 1]
            groups = _group(members[lo:hi], mask, slots, slot_of, group_mask[g:], group_count[g:], group_of[lo:hi])
            _record(problems, p, u, t, g, groups, lo, hi)
            p += 1
            g += groups
    return p, group_mask[:g], group_count[:g], members, group_of, -1


@njit(cache=True, nogil=True, passes=lambda a: 2 * a.in_tail.size * a.arrive.shape[1])
def _problems_of_arrivals(in_ptr, in_tail, nodes, arrive, last, problems):
    """As ``_problems`` where piece q reaches node u at step arrive[u, q], at most ``last``.

    Empty problems are left out. ``stuck`` is -1, or a node that some piece reaches before any of its in-neighbours.
    """
    num_pieces = arrive.shape[1]
    mask = np.empty(num_pieces, np.uint64)
    ptr = np.empty(last + 2, np.int64)
    slots, slot_of = _no_slots(num_pieces), np.empty(num_pieces, np.int64)
    group_mask = np.empty(nodes.size * num_pieces, np.uint64)
    group_count = np.empty(nodes.size * num_pieces, np.int64)
    members = np.empty(nodes.size * num_pieces, np.int32)
    group_of = np.empty(nodes.size * num_pieces, np.int32)
    p, g = np.int64(0), np.int64(0)
    for i in range(nodes.size):
        u = nodes[i]
        mask[:] = 0
        bit = _ONE
        for e in range(in_ptr[u], in_ptr[u + 1]):
            w = in_tail[e]
            if w != u:
                for q in range(num_pieces):
                    if arrive[w, q] < arrive[u, q]:
                        mask[q] |= bit
                bit <<= _ONE
        base = i * num_pieces
        _by_level(num_pieces, arrive[u], last, ptr, members[base : base + num_pieces])
        for t in range(1, last + 1):
            lo, hi = base + ptr[t], base + ptr[t + 1]
            if lo == hi:
                continue
            for j in range(lo, hi):
                if mask[members[j]] == 0:
                    return p, group_mask[:g], group_count[:g], members, group_of, u
            groups = _group(members[lo:hi], mask, slots, slot_of, group_mask[g:], group_count[g:], group_of[lo:hi])
            _record(problems, p, u, t, g, groups, lo, hi)
            p += 1
            g += groups
    return p, group_mask[:g], group_count[:g], members, group_of, -1
