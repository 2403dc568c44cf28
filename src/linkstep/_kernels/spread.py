"""What ``linkstep.correctness`` loops over: which rows reduce and which gather, and who holds what before each step.

``_spread`` follows the shards one after the other. What a node holds of a shard is a sorted list of disjoint intervals
that do not touch, so [lo, hi) is held if and only if one of them contains it. The lists of all nodes lie in one pool,
with room for an interval for each row that arrives at a node and each that it starts with.
"""

import numpy as np

from linkstep._kernels import njit

# Kinds of witness, by number in linkstep.correctness too (a kernel freezes globals: never edit one alone).
# 0 none, 1 self-loop, 2 sender does not hold, 3 arrives twice, 4 never arrives


@njit(cache=True, fills=(), passes=lambda a: a.num_ranks + 2 * a.source.size)
def _rows_by_source(num_ranks, source, keep):
    """Return (ptr, rows): the rows of each source that are to be kept, in schedule order.

    A stable counting sort: two passes, no comparison.
    """
    ptr = np.zeros(num_ranks + 1, np.int64)
    for r in range(source.size):
        if keep[r]:
            ptr[source[r] + 1] += 1
    for v in range(num_ranks):
        ptr[v + 1] += ptr[v]
    at = ptr[:-1].copy()
    rows = np.empty(ptr[num_ranks], np.int64)
    for r in range(source.size):
        if keep[r]:
            v = source[r]
            rows[at[v]] = r
            at[v] += 1
    return ptr, rows


@njit(cache=True, fills=(), passes=lambda a: 4 * a.source.size)
def _phases(tail, source, lo, hi, link, step, ptr, rows, nodes):
    """Return for each row 0 if its chunks have not been sent by their node yet, 1 if all have, 2 if only some have.

    A node sends a chunk for the first time at the step of the first row that takes it away. ``ptr, rows`` are all rows
    by source; their steps ascend. Shard v is that of ``nodes[v]``.
    """
    phase = np.zeros(source.size, np.int8)
    most = 0
    for v in range(ptr.size - 1):
        own = 0
        for i in range(ptr[v], ptr[v + 1]):
            own += tail[link[rows[i]]] == nodes[v]
        most = max(most, own)
    size = 2 * most + 1  # a new row fills at most one gap more than the rows before it
    cell_lo, cell_hi = np.empty(size, np.int64), np.empty(size, np.int64)
    cell_first = np.empty(size, np.int64)
    for v in range(ptr.size - 1):
        count = 0
        for i in range(ptr[v], ptr[v + 1]):
            r = rows[i]
            if tail[link[r]] != nodes[v]:
                continue
            a, k = lo[r], 0
            while k < count and cell_hi[k] <= a:
                k += 1
            while a < hi[r]:
                b = min(hi[r], cell_lo[k]) if k < count else hi[r]
                if a < b:
                    for j in range(count, k, -1):
                        cell_lo[j], cell_hi[j], cell_first[j] = cell_lo[j - 1], cell_hi[j - 1], cell_first[j - 1]
                    cell_lo[k], cell_hi[k], cell_first[k] = a, b, step[r]
                    count += 1
                    k += 1
                if k < count:
                    b = max(b, cell_hi[k])
                    k += 1
                a = b
        for i in range(ptr[v], ptr[v + 1]):
            r = rows[i]
            k, end = 0, count
            while k < end:  # the first cell that ends after lo
                middle = (k + end) // 2
                if cell_hi[middle] <= lo[r]:
                    k = middle + 1
                else:
                    end = middle
            a = lo[r]
            sent, kept = False, False
            while a < hi[r]:
                if k == count or cell_lo[k] > a:
                    kept = True
                    a = hi[r] if k == count else cell_lo[k]
                else:
                    if cell_first[k] <= step[r]:
                        sent = True
                    else:
                        kept = True
                    a = cell_hi[k]
                    k += 1
            phase[r] = (2 if kept else 1) if sent else 0
    return phase


@njit(cache=True, fills=(), passes=lambda a: a.num_ranks + a.source.size)
def _reduced(num_ranks, source, lo, hi, phase):
    """Return how many chunks of each shard the rows of phase 0 carry, counted as often as they are sent."""
    total = np.zeros(num_ranks, np.int64)
    for r in range(source.size):
        if phase[r] == 0:
            total[source[r]] += hi[r] - lo[r]
    return total


@njit(cache=True)
def _missing_piece(pool_lo, pool_hi, at, size, lo, hi):
    """Return the first piece [a, b) of [lo, hi) outside the intervals at:at+size, or (hi, hi)."""
    a = lo
    for k in range(at, at + size):
        if pool_hi[k] <= a:
            continue
        if pool_lo[k] > a:
            return a, min(pool_lo[k], hi)
        a = pool_hi[k]
        if a >= hi:
            return hi, hi
    return a, hi


@njit(cache=True)
def _insert(pool_lo, pool_hi, at, size, lo, hi):
    """Unite [lo, hi) with the intervals at:at+size; return (new size, overlap [a, b) or a == b if none)."""
    k = at
    end = at + size
    while k < end and pool_hi[k] < lo:
        k += 1
    if k == end or hi < pool_lo[k]:  # touches none: make room
        for j in range(end, k, -1):
            pool_lo[j] = pool_lo[j - 1]
            pool_hi[j] = pool_hi[j - 1]
        pool_lo[k] = lo
        pool_hi[k] = hi
        return size + 1, lo, lo
    twice_lo, twice_hi = lo, lo
    new_lo, new_hi = min(lo, pool_lo[k]), hi
    j = k
    while j < end and pool_lo[j] <= hi:
        a, b = max(lo, pool_lo[j]), min(hi, pool_hi[j])
        if a < b and twice_lo == twice_hi:
            twice_lo, twice_hi = a, b
        new_hi = max(new_hi, pool_hi[j])
        j += 1
    pool_lo[k] = new_lo
    pool_hi[k] = new_hi
    gone = j - k - 1
    for i in range(j, end):
        pool_lo[i - gone] = pool_lo[i]
        pool_hi[i - gone] = pool_hi[i]
    return size - gone, twice_lo, twice_hi


@njit(cache=True, fills=(), passes=lambda a: a.num_nodes * a.ptr.size + 4 * a.rows.size)
def _spread(num_nodes, unit, giver, taker, lo, hi, link, step, ptr, rows, roots, ends, backward, once, only, pieces):
    """Return the first witness (kind, row, source, node, a, b); kind 0 if each of ``ends`` ends with every shard.

    ``giver[e]`` must hold what link e carries, ``taker[e]`` then holds it too. At first [lo, hi) of a shard is held by
    its root alone: rows of ``roots``, sorted, are (shard, root, lo, hi), and those of one root do not touch. Backward
    runs the steps from last to first; ``once`` refuses what arrives a second time; ``only``, unless -1, follows one
    source alone. The witness is the earliest row that fails for any source (the latest if backward); a shard that never
    arrives is reported only if no row fails. If a shard is more than one of ``pieces``, as many as ``ends`` are, each
    of these must end with its own piece alone.
    """
    best = (0, np.int64(-1), np.int64(0), np.int64(0), np.int64(0), np.int64(0))
    start = np.zeros(num_nodes + 1, np.int64)
    size = np.zeros(num_nodes, np.int64)
    pool_lo = np.empty(0, np.int64)
    pool_hi = np.empty(0, np.int64)
    first_root, last_root = 0, 0
    for v in range(ptr.size - 1):
        first_root = last_root
        while last_root < roots.shape[0] and roots[last_root, 0] == v:
            last_root += 1
        if only >= 0 and v != only:
            continue
        begin, end = ptr[v], ptr[v + 1]
        start[:] = 0
        for i in range(begin, end):
            start[taker[link[rows[i]]] + 1] += 1
        for k in range(first_root, last_root):
            start[roots[k, 1] + 1] += 1
        for u in range(num_nodes):
            start[u + 1] += start[u]
            size[u] = 0
        if start[num_nodes] > pool_lo.size:
            pool_lo = np.empty(2 * start[num_nodes], np.int64)
            pool_hi = np.empty(2 * start[num_nodes], np.int64)
        for k in range(first_root, last_root):
            u = roots[k, 1]
            pool_lo[start[u] + size[u]] = roots[k, 2]
            pool_hi[start[u] + size[u]] = roots[k, 3]
            size[u] += 1

        failed = False
        i = begin
        while i < end and not failed:
            j = i
            now = step[rows[end - 1 - (i - begin)] if backward else rows[i]]
            while j < end:
                r = rows[end - 1 - (j - begin)] if backward else rows[j]
                if step[r] != now:
                    break
                u = giver[link[r]]
                kind = 0
                a, b = lo[r], lo[r]
                if u == taker[link[r]]:
                    kind = 1
                else:
                    a, b = _missing_piece(pool_lo, pool_hi, start[u], size[u], lo[r], hi[r])
                    if a < b:
                        kind = 2
                if kind:
                    if best[0] in (0, 4) or (r > best[1] if backward else r < best[1]):
                        best = (kind, np.int64(r), np.int64(v), np.int64(u), a, b)
                    failed = True
                    break
                j += 1
            if failed:
                break
            for k in range(i, j):
                r = rows[end - 1 - (k - begin)] if backward else rows[k]
                w = taker[link[r]]
                size[w], a, b = _insert(pool_lo, pool_hi, start[w], size[w], lo[r], hi[r])
                if once and a < b:
                    if best[0] in (0, 4) or (r > best[1] if backward else r < best[1]):
                        best = (3, np.int64(r), np.int64(v), np.int64(w), a, b)
                    failed = True
                    break
            i = j
        if best[0] == 0 and not failed:
            for k in range(ends.size):
                u = ends[k]
                wanted_lo, wanted_hi = np.int64(0), np.int64(unit)
                if pieces > 1:
                    wanted_lo, wanted_hi = unit // pieces * k, unit // pieces * (k + 1)
                a, b = _missing_piece(pool_lo, pool_hi, start[u], size[u], wanted_lo, wanted_hi)
                if a < b:
                    best = (4, np.int64(-1), np.int64(v), np.int64(u), a, b)
                    break
    return best
