"""Choosing arrival times in one pass under caps, with sets of pieces as bits of words.

Names are as in ``linkstep._kernels.arrival``: rows u, in-neighbours ``near[u]``, masks of those that have a piece, and
``load[u, s, P]``, the pieces of step s that only in-neighbours in P can bring, within ``limit[kind[u], s, P]``. Bit
``q % 64`` of word ``q // 64`` stands for piece q. ``due[t, u]`` has the pieces that must reach u by step t,
``onward[j, u]`` those with many nodes beyond u, fewer as j grows: the last has all. ``got[s, u]`` is what u receives.
"""

import numpy as np

from linkstep._kernels import njit

_FAR = 1 << 30
_ONE = np.uint64(1)
_NONE = np.uint64(0)


@njit(cache=True)
def _draw(state, below):
    """Return a random number in [0, below): xorshift, so that a seed gives the same run everywhere."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(below))


@njit(cache=True, passes=lambda a: a.deadline.size * (a.near.shape[1] + a.after.shape[1]))
def _deadlines(far, near, near_count, after, after_count, pieces, steps, state, deadline, beyond):
    """Fill in when each piece must reach each node at the latest so that a tree of shortest paths is in time.

    ``far[i, u]`` is how far node u is from source i, whose pieces have the rows from ``i * pieces`` on; here nodes are
    nodes, group or not. From the farthest node on, each takes as its parent the in-neighbour on a shortest path whose
    deadline is earliest already, ties as a draw has it: few nodes then need a piece early. ``beyond`` counts the
    out-neighbours that a shortest path goes on to.
    """
    n, farthest = near_count.size, 0
    for q in range(far.shape[0]):
        for u in range(n):
            farthest = max(farthest, far[q, u])
    order = np.empty(n, np.int32)
    place = np.empty(farthest + 2, np.int64)
    latest = np.empty(n, np.int16)
    for q in range(deadline.shape[0]):
        dist = far[q // pieces]
        place[:] = 0
        for u in range(n):
            place[dist[u] + 1] += 1
        for t in range(farthest + 1):
            place[t + 1] += place[t]
        for u in range(n):
            order[place[dist[u]]] = u
            place[dist[u]] += 1
        latest[:] = steps
        first = _draw(state, np.int64(1 << 32))
        for i in range(n - 1, 0, -1):
            x = order[i]
            links, towards = near_count[x], dist[x] - 1
            parent, least = -1, np.int16(32767)
            first = (first * 1664525 + 1013904223) & 0xFFFFFFFF
            k = (first * links) >> 32
            for _ in range(links):
                w = near[x, k]
                if dist[w] == towards and latest[w] < least:
                    parent, least = w, latest[w]
                k = k + 1 if k + 1 < links else 0
            latest[parent] = min(least, latest[x] - 1)
        for u in range(n):
            onward, further = 0, dist[u] + 1
            for c in range(after_count[u]):
                onward += dist[after[u, c]] == further
            deadline[q, u] = latest[u]
            beyond[q, u] = onward


@njit(cache=True)
def _count(some, others):
    """Return how many pieces two sets share."""
    total = _NONE
    for i in range(some.size):
        x = some[i] & others[i]
        x -= (x >> _ONE) & np.uint64(0x5555555555555555)
        x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
        x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        x += x >> np.uint64(8)
        x += x >> np.uint64(16)
        x += x >> np.uint64(32)
        total += x & np.uint64(0x7F)
    return np.int64(total)


@njit(cache=True)
def _held(has, near, near_turn, turns, u, links, held):
    """Fill held[k] with what in-neighbour k has, in numbers as u sees them."""
    num_pieces = turns.shape[1]
    for k in range(links):
        row, turn = has[near[u, k]], turns[near_turn[u, k]]
        for i in range(row.size):
            if near_turn[u, k] == 0:
                held[k, i] = row[i]
                continue
            word = _NONE
            for b in range(min(64, num_pieces - 64 * i)):
                q = turn[64 * i + b]
                word |= (row[q >> 6] >> np.uint64(q & 63) & _ONE) << np.uint64(b)
            held[k, i] = word


@njit(cache=True)
def _split(missing, held, links, pool):
    """Fill pool[m] with the missing pieces of mask m."""
    for i in range(missing.size):
        pool[0, i] = missing[i]
    for k in range(links):
        for m in range(1 << k):
            with_k, without = pool[m | 1 << k], pool[m]
            for i in range(missing.size):
                with_k[i] = without[i] & held[k, i]
                without[i] &= ~held[k, i]


@njit(cache=True)
def _add(table, mask, full, amount):
    """Add to the count of every set of links that holds a mask."""
    p = mask
    while p < full:
        table[p] += amount
        p = (p + 1) | mask


@njit(cache=True)
def _add_rows(table, limit, step, sign):
    """Add the limits of a step; numba takes seconds to compile sums of arrays of two dimensions."""
    for k in range(table.shape[0]):
        for p in range(table.shape[1]):
            table[k, p] += sign * limit[k, step, p]


@njit(cache=True)
def _capacity(table, most, mask, full):
    """Return how many more pieces of a mask keep every set of links within its limit."""
    p, least = mask, _FAR
    while p < full:
        least = min(least, most[p] - table[p])
        p = (p + 1) | mask
    return least


@njit(cache=True)
def _take_all(pool, among, taken):
    """Move the pieces in pool and among to taken; return whether any are left in pool."""
    rest = _NONE
    for i in range(pool.size):
        x = pool[i] & among[i]
        taken[i] |= x
        pool[i] ^= x
        rest |= pool[i]
    return rest != 0


@njit(cache=True)
def _take(pool, among, count, begin, taken):
    """Move ``count`` of the pieces in both pool and among to taken, from piece ``begin`` on."""
    i = begin >> 6
    before = (_ONE << np.uint64(begin & 63)) - _ONE
    x = pool[i] & among[i] & ~before
    while count > 0:
        chosen = _NONE
        while x and count > 0:
            lowest = x & (~x + _ONE)
            chosen |= lowest
            x ^= lowest
            count -= 1
        pool[i] ^= chosen
        taken[i] |= chosen
        i = i + 1 if i + 1 < pool.size else 0
        x = pool[i] & among[i]


@njit(cache=True)
def _fill(pool, masks, count, due, onward, table, most, full, begin, among, taken):
    """Take pieces by deadline, then by how many nodes are beyond, while they fit; ``due`` begins with the next step."""
    for t in range(due.shape[0]):
        for j in range(onward.shape[0]):
            for i in range(among.size):
                among[i] = due[t, i] & onward[j, i]
            kept = 0
            for c in range(count):
                m = masks[c]
                found = _count(pool[m], among)
                if found:
                    capacity = max(0, _capacity(table, most, m, full))
                    amount = min(found, capacity)
                    if amount == found:
                        _take_all(pool[m], among, taken)
                    else:
                        _take(pool[m], among, amount, begin, taken)
                    _add(table, m, full, amount)
                    if amount == capacity:
                        continue
                masks[kept] = m
                kept += 1
            count = kept
            if count == 0 or table[full - 1] >= most[full - 1]:
                return


@njit(cache=True, passes=lambda a: 2 * a.load.size * a.got.shape[2] + a.owner.size * a.near.size * a.got.shape[0])
def _greedy(
    near, near_count, near_turn, turns, owner, start, kind, limit, due, onward, got, load, excess, give_up, state
):  # fmt: skip
    """Fill got step by step, load and excess with it; return E, or what it cannot stay below once above ``give_up``.

    A node takes every piece whose deadline has come, even beyond its limits, so that all is in time; then others while
    they fit.
    """
    steps, rows, width = got.shape[0] - 1, got.shape[1], got.shape[2]
    most_links = near.shape[1]
    has, missing = np.zeros((rows, width), np.uint64), np.empty((rows, width), np.uint64)
    lacking = np.empty(rows, np.int64)
    for u in range(rows):
        lacking[u] = owner.size
        for i in range(width):
            missing[u, i] = onward[-1, u, i]
    for q in range(owner.size):
        if owner[q] >= 0:
            missing[owner[q], q >> 6] ^= _ONE << np.uint64(q & 63)
            lacking[owner[q]] -= 1
    held, pool = np.empty((most_links, width), np.uint64), np.empty((1 << most_links, width), np.uint64)
    among, masks = np.empty(width, np.uint64), np.empty(1 << most_links, np.int64)
    later = np.zeros((limit.shape[0], limit.shape[2]), np.int64)  # what sets of links carry after a step
    for s in range(1, steps + 1):
        _add_rows(later, limit, s, np.int64(1))
    total = 0
    for s in range(1, steps + 1):
        for q in range(owner.size):
            if owner[q] >= 0 and start[q] == s - 1:
                has[owner[q], q >> 6] |= _ONE << np.uint64(q & 63)
        _add_rows(later, limit, s, np.int64(-1))
        forced = 0
        for u in range(rows):
            links, full = near_count[u], 1 << near_count[u]
            table, most, taken = load[u, s], limit[kind[u], s], got[s, u]
            table[:] = 0
            taken[:] = 0
            _held(has, near, near_turn, turns, u, links, held)
            _split(missing[u], held, links, pool)
            count = np.int64(0)
            for m in range(1, full):
                found = _count(pool[m], due[s, u])
                if found:
                    _add(table, m, full, found)
                if _take_all(pool[m], due[s, u], taken):
                    masks[count] = m
                    count += 1
            if count and table[full - 1] < most[full - 1]:
                begin = _draw(state, owner.size)
                for c in range(count - 1, 0, -1):
                    other = _draw(state, c + 1)
                    masks[c], masks[other] = masks[other], masks[c]
                _fill(pool, masks, count, due[s + 1 :, u], onward[:, u], table, most, full, begin, among, taken)
            for i in range(width):
                missing[u, i] ^= taken[i]
            lacking[u] -= table[full - 1]
            worst = 0
            for p in range(1, full):
                worst = max(worst, table[p] - most[p])
            excess[u, s] = worst
            total += worst
            forced += max(0, lacking[u] - later[kind[u], full - 1])
        if total + forced > give_up:
            return total + forced
        for u in range(rows):
            for i in range(width):
                has[u, i] |= got[s, u, i]
    return total


@njit(cache=True, passes=lambda a: a.got.shape[0] * a.arrive.size)
def _unpack(got, owner, start, arrive):
    """Fill arrive[u, q] with the step at which u receives piece q, or has it of its own."""
    for q in range(owner.size):
        if owner[q] >= 0:
            arrive[owner[q], q] = start[q]
    for s in range(1, got.shape[0]):
        for u in range(got.shape[1]):
            for i in range(got.shape[2]):
                word = got[s, u, i]
                for b in range(min(64, owner.size - 64 * i) if word else 0):
                    if word >> np.uint64(b) & _ONE:
                        arrive[u, 64 * i + b] = s
