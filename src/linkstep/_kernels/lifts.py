"""Local search on lifts: k orbits of m nodes each, link c of node (i, x) leading to node (to[i, c], x + by[i, c]).

Nodes of an orbit are alike, so one search for each orbit scores the digraph; k = N is any regular digraph. The energy
counts, for allgather and for reduce-scatter (the same on the transpose), in units of 1 / lcm(1..d): U(u, t) summed over
orbits and steps, ``heavy`` times sum over t of max over u of U(u, t), a fine for every node out of reach, and a little
for every step of distance, so that what is optimal in T_B becomes good at all-to-all too.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _weights(d):
    """Return lcm(1..d) and, by set of links P, lcm(1..d) / |P|."""
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
    return scale, weight


@njit(cache=True, nogil=True)
def _turn(to, by, m, from_, less):
    """Write the links of the transpose: node (j, y) has a link to (from_[j, c], y + less[j, c])."""
    k, d = to.shape
    fill = np.zeros(k, np.int64)
    for i in range(k):
        for c in range(d):
            j = to[i, c]
            from_[j, fill[j]] = i
            less[j, fill[j]] = (m - by[i, c]) % m
            fill[j] += 1


@njit(cache=True, nogil=True)
def _one_way(to, by, m, steps, scale, weight, limit, dist, mask, queue, counts, worst):
    """Return (sum of U, nodes out of reach, sum of distances) over orbits, searching along ``to`` and ``by``.

    worst[t] is the largest U(u, t); worst[0] the most nodes out of reach. Gives up once over the limit.
    """
    k, d = to.shape
    n = k * m
    total, far, apart = 0, 0, 0
    worst[:] = 0
    for orbit in range(k):
        u = orbit * m
        dist[:] = -1
        dist[u] = 0
        queue[0] = u
        mask[u] = 0
        lo, end, t = 0, 1, 0
        while end < n and t < steps:
            t += 1
            hi = end
            for q in range(lo, hi):
                v = queue[q]
                i = v // m
                x = v - i * m
                for c in range(d):
                    z = x + by[i, c]
                    y = to[i, c] * m + (z if z < m else z - m)
                    if dist[y] < 0:
                        dist[y] = t
                        mask[y] = mask[v] if t > 1 else 1 << c
                        queue[end] = y
                        end += 1
                    elif dist[y] == t:
                        mask[y] |= mask[v] if t > 1 else 1 << c
            lo = hi
            if end == lo:
                break
            counts[:] = 0
            for q in range(lo, end):
                counts[mask[queue[q]]] += 1
            for c in range(d):
                bit = 1 << c
                for p in range(1 << d):
                    if p & bit:
                        counts[p] += counts[p ^ bit]
            most = 0
            for p in range(1, 1 << d):
                most = max(most, counts[p] * weight[p])
            total += most
            apart += t * (end - lo)
            worst[t] = max(worst[t], most)
        far += n - end
        worst[0] = max(worst[0], (n - end) * scale)
        if total + 2 * far * scale > limit:
            break
    return total, far, apart


@njit(cache=True, nogil=True)
def _energy(to, by, m, steps, heavy, limit, from_, less, scale, weight, dist, mask, queue, counts, worst):
    """Return (energy, scaled N / d T_B of the worse way, nodes out of reach, sum of distances over orbits)."""
    _turn(to, by, m, from_, less)
    work = (dist, mask, queue, counts, worst)
    total, far, apart = _one_way(to, by, m, steps, scale, weight, limit, *work)
    bandwidth = worst[1:].sum()
    energy = total + heavy * (bandwidth + worst[0]) + 2 * far * scale + apart * (scale // to.shape[1]) // 2
    if energy > limit:
        return energy, bandwidth, far, 0
    total, more, apart = _one_way(from_, less, m, steps, scale, weight, limit - energy, *work)
    energy += total + heavy * (worst[1:].sum() + worst[0]) + 2 * more * scale
    return energy, max(bandwidth, worst[1:].sum()), far + more, apart


@njit(cache=True, nogil=True)
def _random(state, count):
    """Return a number below ``count`` and step the state (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) % np.uint64(count))


@njit(cache=True, nogil=True)
def _is_plain(to, by, i, c):
    """Whether link c of orbit i is neither a self-loop nor parallel to another."""
    if to[i, c] == i and by[i, c] == 0:
        return False
    for other in range(to.shape[1]):
        if other != c and to[i, other] == to[i, c] and by[i, other] == by[i, c]:
            return False
    return True


@njit(cache=True, nogil=True)
def _anneal(to, by, m, steps, goal, floor, tries, hot, heavy, seed):
    """Change shifts and exchange ends of links, in place; return (scaled N / d T_B, out of reach, sum of distances).

    The best is left in ``to`` and ``by``. ``goal`` and ``floor`` are the T_B and the sum of distances to stop at;
    the temperature falls evenly from ``hot``.
    """
    k, d = to.shape
    n = k * m
    scale, weight = _weights(d)
    from_, less = np.empty((k, d), np.int64), np.empty((k, d), np.int64)
    work = (
        from_,
        less,
        scale,
        weight,
        np.empty(n, np.int16),
        np.empty(n, np.uint32),
        np.empty(n, np.int64),
        np.empty(1 << d, np.int64),
        np.empty(steps + 1, np.int64),
    )
    state = np.array([seed], np.uint64)
    huge = np.int64(1) << 60
    now, best, best_far, best_apart = _energy(to, by, m, steps, heavy, huge, *work)
    kept_to, kept_by = to.copy(), by.copy()
    for turn in range(tries):
        if best_far == 0 and best <= goal and best_apart <= floor:
            break
        i, c = _random(state, k), _random(state, d)
        j, e = _random(state, k), _random(state, d)
        a, p = to[i, c], by[i, c]
        b, q = to[j, e], by[j, e]
        alone = (i == j and c == e) or (m > 1 and turn % 2 == 0)
        if alone:
            by[i, c] = _random(state, m)
        else:
            to[i, c], to[j, e] = b, a
            if m > 1:
                by[i, c], by[j, e] = _random(state, m), _random(state, m)
        good = _is_plain(to, by, i, c) and (alone or _is_plain(to, by, j, e))
        if good:
            luck = (1 + _random(state, 1 << 30)) / float(1 << 30)
            limit = now + np.int64(-np.log(luck) * hot * scale * (1.0 - turn / tries))
            then, bandwidth, far, apart = _energy(to, by, m, steps, heavy, limit, *work)
            good = then <= limit
            if good:
                now = then
                if (far, bandwidth, apart) < (best_far, best, best_apart):
                    best, best_far, best_apart = bandwidth, far, apart
                    kept_to[:], kept_by[:] = to, by
        if not good:
            to[i, c], by[i, c] = a, p
            if not alone:
                to[j, e], by[j, e] = b, q
    to[:], by[:] = kept_to, kept_by
    return best, best_far, best_apart


@njit(cache=True, nogil=True)
def _join(to, by, m, partner, p, q, shift):
    """Make ports p and q (port i d + c is link c of orbit i) the two ends of a link both ways."""
    d = to.shape[1]
    partner[p], partner[q] = q, p
    to[p // d, p % d], by[p // d, p % d] = q // d, shift
    to[q // d, q % d], by[q // d, q % d] = p // d, (m - shift) % m


@njit(cache=True, nogil=True)
def _anneal_pairs(to, by, m, partner, steps, goal, floor, tries, hot, heavy, seed):
    """As ``_anneal`` for links both ways: port p is joined to partner[p], to itself for a link to the far side.

    A graph like its transpose needs one way scored only.
    """
    k, d = to.shape
    n, ports = k * m, k * d
    scale, weight = _weights(d)
    worst = np.empty(steps + 1, np.int64)
    dist, mask, queue = np.empty(n, np.int16), np.empty(n, np.uint32), np.empty(n, np.int64)
    work = (dist, mask, queue, np.empty(1 << d, np.int64), worst)
    state = np.array([seed], np.uint64)
    limit = np.int64(1) << 60
    kept_to, kept_by = to.copy(), by.copy()
    total, best_far, best_apart = _one_way(to, by, m, steps, scale, weight, limit, *work)
    best = worst[1:].sum()
    now = total + heavy * (best + worst[0]) + 2 * best_far * scale + best_apart * (scale // d) // 2
    for turn in range(tries):
        if best_far == 0 and best <= goal and best_apart <= floor:
            break
        p, r = _random(state, ports), _random(state, ports)
        q, s = partner[p], partner[r]
        a, b = by[p // d, p % d], by[r // d, r % d]
        alone = m > 1 and turn % 2 == 0
        if p == q or (not alone and r in (s, p, q)):
            continue
        if alone:
            _join(to, by, m, partner, p, q, _random(state, m))
        else:
            _join(to, by, m, partner, p, s, _random(state, m))
            _join(to, by, m, partner, r, q, _random(state, m))
        good = _is_plain(to, by, p // d, p % d) and _is_plain(to, by, q // d, q % d)
        if not alone:
            good = good and _is_plain(to, by, r // d, r % d) and _is_plain(to, by, s // d, s % d)
        if good:
            luck = (1 + _random(state, 1 << 30)) / float(1 << 30)
            limit = now + np.int64(-np.log(luck) * hot * scale * (1.0 - turn / tries))
            total, far, apart = _one_way(to, by, m, steps, scale, weight, limit, *work)
            bandwidth = worst[1:].sum()
            then = total + heavy * (bandwidth + worst[0]) + 2 * far * scale + apart * (scale // d) // 2
            good = then <= limit
            if good:
                now = then
                if (far, bandwidth, apart) < (best_far, best, best_apart):
                    best, best_far, best_apart = bandwidth, far, apart
                    kept_to[:], kept_by[:] = to, by
        if not good:
            _join(to, by, m, partner, p, q, a)
            if not alone:
                _join(to, by, m, partner, r, s, b)
    to[:], by[:] = kept_to, kept_by
    return best, best_far, best_apart
