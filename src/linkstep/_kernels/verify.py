"""Loops of the verifier: a topological order, data carried along it, and accesses that nothing orders."""

import numpy as np
from numba import njit


@njit(cache=True)
def _topological_order(pred_ptr, succ_ptr, succ):
    """Kahn's order, first come first served; shorter than the number of events if there is a cycle."""
    n = pred_ptr.size - 1
    missing = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    end = 0
    for e in range(n):
        missing[e] = pred_ptr[e + 1] - pred_ptr[e]
        if missing[e] == 0:
            order[end] = e
            end += 1
    head = 0
    while head < end:
        e = order[head]
        head += 1
        for k in range(succ_ptr[e], succ_ptr[e + 1]):
            missing[succ[k]] -= 1
            if missing[succ[k]] == 0:
                order[end] = succ[k]
                end += 1
    return order[:end].copy()


@njit(cache=True)
def _carry(order, move_ptr, dst, src, also, count, chunk, ranks, blame):
    """Run the moves of the events in order on values (chunk, set of ranks); ``blame`` is the move that spoilt one.

    A chunk of -1 is undefined, -2 counts a rank twice, -3 mixes chunks, -4 sums with what is undefined. Sums only
    grow, so a spoilt value never becomes right again and needs no more detail.
    """
    words = ranks.shape[1]
    for i in range(order.size):
        e = order[i]
        for m in range(move_ptr[e], move_ptr[e + 1]):
            for x in range(count[m]):
                d = dst[m] + x
                a = src[m] + x
                if also[m] < 0:
                    chunk[d] = chunk[a]
                    blame[d] = blame[a]
                    for w in range(words):
                        ranks[d, w] = ranks[a, w]
                    continue
                b = also[m] + x
                if chunk[a] < -1 or chunk[b] < -1:
                    spoilt = a if chunk[a] < -1 else b
                    blame[d] = blame[spoilt]
                    chunk[d] = chunk[spoilt]
                    continue
                kind = chunk[a]
                if chunk[a] == -1 or chunk[b] == -1:
                    kind = -4
                elif chunk[a] != chunk[b]:
                    kind = -3
                else:
                    for w in range(words):
                        if ranks[a, w] & ranks[b, w]:
                            kind = -2
                chunk[d] = kind
                blame[d] = m if kind < 0 else -1
                if kind >= 0:
                    for w in range(words):
                        ranks[d, w] = ranks[a, w] | ranks[b, w]


@njit(cache=True)
def _is_before(clock, row, stamps, column, e):
    c = stamps[e, 0]
    if c >= 0 and clock[row, column[c]] >= stamps[e, 1]:
        return True
    c = stamps[e, 2]
    return c >= 0 and clock[row, column[c]] >= stamps[e, 3]


@njit(cache=True)
def _find_race(order, position, pred_ptr, pred, raises, stamps, column, num_columns, access_ptr, cell, count, write,
               lo, hi):  # fmt: skip
    """Find two unordered accesses, one a write, of a cell in [lo, hi); only events in ``order`` exist.

    In a topological order it is enough to compare an access with the cell's last write and a write also with the
    reads since: if those are ordered, so are all others. Returns (earlier, later, cell), or -1s.
    """
    none = np.full(3, -1, np.int64)
    reads = 0
    for i in range(order.size):
        for k in range(access_ptr[order[i]], access_ptr[order[i] + 1]):
            if lo <= cell[k] < hi and not write[k]:
                reads += count[k]
    writer = np.full(hi - lo, -1, np.int64)
    last_read = np.full(hi - lo, -1, np.int64)
    reader = np.empty(reads, np.int64)
    previous = np.empty(reads, np.int64)
    num_reads = 0
    clock = np.zeros((order.size, num_columns), np.int32)
    for i in range(order.size):
        e = order[i]
        for k in range(pred_ptr[e], pred_ptr[e + 1]):
            p = position[pred[k]]
            if p >= 0:
                for c in range(num_columns):
                    if clock[p, c] > clock[i, c]:
                        clock[i, c] = clock[p, c]
        if raises[e, 0] >= 0 and column[raises[e, 0]] >= 0:
            c = column[raises[e, 0]]
            clock[i, c] = max(clock[i, c], raises[e, 1])
        for k in range(access_ptr[e], access_ptr[e + 1]):
            if not lo <= cell[k] < hi:
                continue
            for x in range(cell[k] - lo, cell[k] - lo + count[k]):
                if writer[x] >= 0 and writer[x] != e and not _is_before(clock, i, stamps, column, writer[x]):
                    none[0], none[1], none[2] = writer[x], e, x + lo
                    return none
                if write[k]:
                    r = last_read[x]
                    while r >= 0:
                        if reader[r] != e and not _is_before(clock, i, stamps, column, reader[r]):
                            none[0], none[1], none[2] = reader[r], e, x + lo
                            return none
                        r = previous[r]
                    last_read[x] = -1
                    writer[x] = e
                else:
                    reader[num_reads] = e
                    previous[num_reads] = last_read[x]
                    last_read[x] = num_reads
                    num_reads += 1
    return none
