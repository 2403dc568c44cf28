"""Cayley digraphs by the million: one backward search from the identity gives steps, T_B and the sum of distances.

``back[g, x]`` numbers x g^-1, the node before x over a link of generator g; the identity is 0. A set of generators is
made of pairs {g, g^-1} and of singles. T_B is kept as an integer: N / d T_B = sum over t of U(t), times the least
common multiple of 1..d, with U(t) by subset sums as in ``bfb_subsets``. A search keeps, for every number of steps S,
three records over sets with at most S steps: the least T_B of allgather and reduce-scatter both (slot 0), of the
allgather alone (slot 1), and the least sum of distances (slot 2); each breaks ties by the other figure.
"""

import numpy as np

from linkstep._kernels import njit

BIG = 1 << 24
"""A record is one number: its first figure times this, plus its second; sums of distances stay below."""


@njit(cache=True, nogil=True)
def _bound(n, t, reached, bandwidth, total, scale, degree, up):
    """Return (steps, T_B, sum of distances) that no set with these first t levels can beat.

    An element at distance s + t is a product of one at distance s and one at distance t, so levels grow at most
    submultiplicatively: |S_(s+t)| <= |S_s| |S_t|.
    """
    left = n - reached
    bandwidth += left * (scale // degree)
    while left > 0:
        t += 1
        most = up[t - 1] * up[1]
        for s in range(2, min(5, t)):
            most = min(most, up[t - s] * up[s])
        most = min(most, left)
        up[t] = most
        left -= most
        total += t * most
    return t, bandwidth, total


@njit(cache=True, nogil=True)
def _evaluate(back, gens, weight, scale, records, heavy, limit, dist, mask, queue, counts, up):
    """Return (steps, scaled T_B, sum of distances), or steps = -1 once nothing useful can come of it.

    Useful is what improves a record, or has  sum of distances * scale + heavy * degree * T_B  at most ``limit``.
    """
    n, d = back.shape[1], gens.size
    dist[:] = -1
    dist[0] = 0
    for k in range(d):
        y = back[gens[k], 0]
        dist[y] = 1
        mask[y] = 1 << k
        queue[k] = y
    lo, hi, t = 0, d, 1
    up[0], up[1] = 1, d
    bandwidth, total = scale, d
    while hi + 1 < n:
        least, tb, ds = _bound(n, t, hi + 1, bandwidth, total, scale, d, up)
        if (
            tb * BIG + ds >= records[0, least]
            and ds * BIG + tb // scale >= records[2, least]
            and ds * scale + heavy * d * tb > limit
        ):
            return -1, bandwidth, total
        t += 1
        end = hi
        for i in range(lo, hi):
            v = queue[i]
            m = mask[v]
            for k in range(d):
                y = back[gens[k], v]
                if dist[y] < 0:
                    dist[y] = t
                    mask[y] = m
                    queue[end] = y
                    end += 1
                elif dist[y] == t:
                    mask[y] |= m
        if end == hi:
            return -1, bandwidth, total
        counts[:] = 0
        for i in range(hi, end):
            counts[mask[queue[i]]] += 1
        for k in range(d):
            bit = 1 << k
            for p in range(1 << d):
                if p & bit:
                    counts[p] += counts[p ^ bit]
        worst = 0
        for p in range(1, 1 << d):
            worst = max(worst, counts[p] * weight[p])
        bandwidth += worst
        total += t * (end - hi)
        up[t] = end - hi
        lo, hi = hi, end
    return t, bandwidth, total


@njit(cache=True, nogil=True)
def _workspace(n, d):
    """Return (weight by set of links, scratch arrays) for a degree: weight[P] = lcm(1..d) / |P|."""
    scale = 1
    for k in range(2, d + 1):
        a, b = scale, k
        while b:
            a, b = b, a % b
        scale *= k // a
    weight = np.zeros(1 << d, np.int64)
    for p in range(1, 1 << d):
        size, rest = 0, p
        while rest:
            size += rest & 1
            rest >>= 1
        weight[p] = scale // size
    dist, mask, queue = np.empty(n, np.int16), np.empty(n, np.uint32), np.empty(n, np.int64)
    return scale, weight, (dist, mask, queue, np.empty(1 << d, np.int64), np.empty(n + 1, np.int64))


@njit(cache=True, nogil=True)
def _score(back, gens, inverse):
    """Return (steps or -1 if disconnected, scaled T_B, of the reduce-scatter, sum of distances, scale)."""
    n, d = back.shape[1], gens.size
    scale, weight, work = _workspace(n, d)
    none = np.empty((3, n + 1), np.int64)
    none[:] = np.iinfo(np.int64).max
    steps, forth, total = _evaluate(back, gens, weight, scale, none, 0, -1, *work)
    _, other, _ = _evaluate(back, inverse[gens], weight, scale, none, 0, -1, *work)
    return steps, forth, other, total, scale


@njit(cache=True, nogil=True)
def _record(back, gens, inverse, weight, scale, records, found, steps, bandwidth, total, work, none):
    """Enter a set that may improve a record; the transpose's T_B is worked out only here."""
    if (
        bandwidth * BIG + total >= records[0, steps]
        and bandwidth * BIG + total >= records[1, steps]
        and total * BIG + bandwidth // scale >= records[2, steps]
    ):
        return
    turned = inverse[gens]
    _, other, _ = _evaluate(back, turned, weight, scale, none, 0, -1, *work)
    both, alone, swapped = max(bandwidth, other), bandwidth, False
    if other < bandwidth:  # as good, turned round
        alone, swapped = other, True
    keys = (both * BIG + total, alone * BIG + total, total * BIG + both // scale)
    for slot in range(3):
        if keys[slot] < records[slot, steps]:
            for s in range(steps, records.shape[1]):
                records[slot, s] = min(records[slot, s], keys[slot])
            found[slot, steps, :] = turned if swapped and slot == 1 else gens


@njit(cache=True, nogil=True)
def _fill(chosen, pairs, singles, num_pairs, inverse, gens):
    """Write out the generators of the chosen pairs (first) and singles."""
    for i in range(chosen.size):
        if i < num_pairs:
            gens[2 * i] = pairs[chosen[i]]
            gens[2 * i + 1] = inverse[gens[2 * i]]
        else:
            gens[num_pairs + i] = singles[chosen[i]]


@njit(cache=True, nogil=True)
def _next_subset(subset, count):
    """Step an ascending subset of range(count) to the next in order; False after the last, back at the first."""
    size = subset.size
    i = size - 1
    while i >= 0 and subset[i] == count - size + i:
        i -= 1
    for k in range(max(i, 0), size):
        subset[k] = k if i < 0 else (subset[i] + 1 if k == i else subset[k - 1] + 1)
    return i >= 0


@njit(cache=True, nogil=True)
def _scan(back, inverse, pairs, singles, num_pairs, num_singles, records, found):
    """Try every set of ``num_pairs`` pairs and ``num_singles`` singles; return how many there were."""
    n, d = back.shape[1], 2 * num_pairs + num_singles
    scale, weight, work = _workspace(n, d)
    none = np.empty((3, n + 1), np.int64)
    none[:] = np.iinfo(np.int64).max
    gens = np.empty(d, np.int64)
    chosen = np.concatenate((np.arange(num_pairs), np.arange(num_singles)))
    tried = 0
    while True:
        _fill(chosen, pairs, singles, num_pairs, inverse, gens)
        steps, bandwidth, total = _evaluate(back, gens, weight, scale, records, 0, -1, *work)
        tried += 1
        if steps > 0:
            _record(back, gens, inverse, weight, scale, records, found, steps, bandwidth, total, work, none)
        if not _next_subset(chosen[num_pairs:], singles.size) and not _next_subset(chosen[:num_pairs], pairs.size):
            return tried


@njit(cache=True, nogil=True)
def _random(state, count):
    """Return a number below ``count`` and step the state (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) % np.uint64(count))


@njit(cache=True, nogil=True)
def _draw(state, chosen, at, first, end, count):
    """Replace chosen[at] by a random number that none of chosen[first:end] is."""
    while True:
        value = _random(state, count)
        fresh = True
        for i in range(first, end):
            fresh = fresh and chosen[i] != value
        if fresh:
            chosen[at] = value
            return


@njit(cache=True, nogil=True)
def _climb(back, inverse, pairs, singles, num_pairs, num_singles, tries, patience, seed, records, found):
    """Try random sets: each is improved by exchanging one pair or single until ``patience`` exchanges fail in a row.

    Climbs take turns in how much T_B weighs against the sum of distances.
    """
    n, size, d = back.shape[1], num_pairs + num_singles, 2 * num_pairs + num_singles
    scale, weight, work = _workspace(n, d)
    none = np.empty((3, n + 1), np.int64)
    none[:] = np.iinfo(np.int64).max
    gens = np.empty(d, np.int64)
    chosen = np.empty(size, np.int64)
    state = np.array([seed], np.uint64)
    climb, stuck, limit, heavy = -1, patience, np.int64(-1), 0
    worst = np.iinfo(np.int64).max
    for _ in range(tries):
        fresh, at, before = stuck >= patience, 0, np.int64(0)
        if fresh:
            climb, stuck, limit = climb + 1, 0, worst
            heavy = (0, 1, 4)[climb % 3]
            chosen[:] = -1
            for i in range(size):
                first, end, count = (0, num_pairs, pairs.size) if i < num_pairs else (num_pairs, size, singles.size)
                _draw(state, chosen, i, first, end, count)
        else:
            at = _random(state, size)
            before = chosen[at]
            first, end, count = (0, num_pairs, pairs.size) if at < num_pairs else (num_pairs, size, singles.size)
            if count == end - first:  # all are in use
                stuck += 1
                continue
            _draw(state, chosen, at, first, end, count)
        _fill(chosen, pairs, singles, num_pairs, inverse, gens)
        steps, bandwidth, total = _evaluate(back, gens, weight, scale, records, heavy, limit, *work)
        if steps > 0:
            _record(back, gens, inverse, weight, scale, records, found, steps, bandwidth, total, work, none)
        value = total * scale + heavy * d * bandwidth if steps > 0 else worst
        if fresh:
            if steps < 0:
                stuck = patience
            limit = value
        elif value < limit:
            limit, stuck = value, 0
        else:
            stuck += 1
            if value > limit:
                chosen[at] = before
