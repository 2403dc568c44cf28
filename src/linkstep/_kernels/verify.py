"""Loops of the verifier: a topological order, data carried along it, and accesses that nothing orders.

Columns come as arrays of their own, by the names of ``linkstep.programs.events``.
"""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True, passes=lambda a: a.succ_ptr.size + a.succ.size)
def _topological_order(pred_ptr, succ_ptr, succ):
    """Return Kahn's order, first come first served; shorter than the number of events if there is a cycle."""
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


@njit(cache=True, passes=lambda a: 2 * int(a.count.sum()) * a.ranks.shape[1])
def _carry(order, move_ptr, dst, src, addend, count, chunk, ranks, blame):
    """Run the moves of the events in order on values (chunk, set of ranks); ``blame`` is the move that spoilt one.

    A chunk of -1 is undefined, -2 counts a rank twice, -3 mixes chunks, -4 sums with what is undefined. Sums
    only grow, so a spoilt value never becomes right again and needs no more detail.
    """
    words = ranks.shape[1]
    for i in range(order.size):
        e = order[i]
        for m in range(move_ptr[e], move_ptr[e + 1]):
            for x in range(count[m]):
                d = dst[m] + x
                a = src[m] + x
                if addend[m] < 0:
                    chunk[d] = chunk[a]
                    blame[d] = blame[a]
                    for w in range(words):
                        ranks[d, w] = ranks[a, w]
                    continue
                b = addend[m] + x
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
def _is_before(clock, row, end_chain, end_number, far_chain, far_number, column, e):
    """Whether event e is known to be complete by the clock of a row, by either of its marks."""
    c = end_chain[e]
    if c >= 0 and clock[row, column[c]] >= end_number[e]:
        return True
    c = far_chain[e]
    return c >= 0 and clock[row, column[c]] >= far_number[e]


@njit(cache=True)
def _raise_to(clock, row, other, other_row):
    for c in range(clock.shape[1]):
        if other[other_row, c] > clock[row, c]:
            clock[row, c] = other[other_row, c]


@njit(cache=True)
def _add_pair(found, num, earlier, later, cell):
    """Add a pair unless it is the last one added, for another cell."""
    if num and found[num - 1, 0] == earlier and found[num - 1, 1] == later:
        return num
    if num < found.shape[0]:
        found[num, 0], found[num, 1], found[num, 2] = earlier, later, cell
        return num + 1
    return num


@njit(cache=True, passes=lambda a: 2 * a.order.size * a.num_columns + a.cell.size)
def _find_unordered(order, position, pred_ptr, pred, flag_ptr, flag, settles, raise_chain, raise_number, end_chain,
                    end_number, far_chain, far_number, column, num_columns, access_ptr, cell, count, write,
                    after_write, after_read, lo, hi, limit):  # fmt: skip
    """Find pairs of accesses, one a write, of a cell in [lo, hi) that the events in ``order`` do not order.

    In a topological order it is enough to compare an access with the cell's last write and a write also with the
    reads since: if those are ordered, so are all others. ``after_write`` and ``after_read`` tell which accesses to
    compare with either. A predecessor in ``flag`` passes on only what an event that settles knew before it. Returns
    rows (earlier, later, cell) in order; one more than ``limit`` of them if there are too many.
    """
    found = np.empty((limit + 1, 3), np.int64)
    num = np.int64(0)
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
    settled = np.zeros((order.size if flag.size else 1, num_columns), np.int32)
    for i in range(order.size):
        e = order[i]
        for k in range(pred_ptr[e], pred_ptr[e + 1]):
            p = position[pred[k]]
            if p >= 0:
                _raise_to(clock, i, clock, p)
                if flag.size:
                    _raise_to(settled, i, settled, p)
        if flag.size:
            for k in range(flag_ptr[e], flag_ptr[e + 1]):
                p = position[flag[k]]
                if p >= 0:
                    _raise_to(settled, i, settled, p)
            _raise_to(clock, i, settled, i)
        if raise_chain[e] >= 0 and column[raise_chain[e]] >= 0:
            c = column[raise_chain[e]]
            clock[i, c] = max(clock[i, c], raise_number[e])
        if flag.size and settles[e]:
            _raise_to(settled, i, clock, i)
        for k in range(access_ptr[e], access_ptr[e + 1]):
            if not lo <= cell[k] < hi:
                continue
            for x in range(cell[k] - lo, cell[k] - lo + count[k]):
                w = writer[x]
                if after_write[k] and w >= 0 and w != e and not _is_before(
                    clock, i, end_chain, end_number, far_chain, far_number, column, w
                ):  # fmt: skip
                    num = _add_pair(found, num, w, e, x + lo)
                if write[k]:
                    r = last_read[x] if after_read[k] else -1
                    while r >= 0:
                        p = reader[r]
                        if p != e and not _is_before(
                            clock, i, end_chain, end_number, far_chain, far_number, column, p
                        ):  # fmt: skip
                            num = _add_pair(found, num, p, e, x + lo)
                        r = previous[r]
                    last_read[x] = -1
                    writer[x] = e
                else:
                    reader[num_reads] = e
                    previous[num_reads] = last_read[x]
                    last_read[x] = num_reads
                    num_reads += 1
                if num > limit:
                    return found
    return found[:num]


@njit(cache=True, passes=lambda a: 2 * (a.source.size // 64 + 1) * (a.order.size + a.pred.size))
def _is_reached(order, position, pred_ptr, pred, flag_ptr, flag, settles, source, target_ptr, target):
    """Tell for each source event, in order, to which of its targets a path leads.

    Sixty-four at a time, each a bit that events pass on as they do clocks.
    """
    answer = np.zeros(target.size, np.bool_)
    seen = np.zeros(order.size, np.uint64)
    settled = np.zeros(order.size if flag.size else 1, np.uint64)
    one = np.uint64(1)
    for begin in range(0, source.size, 64):
        end = min(begin + 64, source.size)
        first = position[source[begin]]
        last = first
        for q in range(target_ptr[begin], target_ptr[end]):
            last = max(last, position[target[q]])
        start = begin
        for i in range(first, last + 1):
            e = order[i]
            bits = np.uint64(0)
            kept = np.uint64(0)
            for k in range(pred_ptr[e], pred_ptr[e + 1]):
                p = position[pred[k]]
                if p >= first:
                    bits |= seen[p]
                    if flag.size:
                        kept |= settled[p]
            if start < end and source[start] == e:
                bits |= one << np.uint64(start - begin)
                start += 1
            if flag.size:
                for k in range(flag_ptr[e], flag_ptr[e + 1]):
                    p = position[flag[k]]
                    if p >= first:
                        kept |= settled[p]
                bits |= kept
                settled[i] = bits if settles[e] else kept
            seen[i] = bits
        for s in range(begin, end):
            for q in range(target_ptr[s], target_ptr[s + 1]):
                i = position[target[q]]
                answer[q] = i >= position[source[s]] and (seen[i] >> np.uint64(s - begin)) & one
    return answer
