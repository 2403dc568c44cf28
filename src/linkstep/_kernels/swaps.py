"""Local search on small regular digraphs: exchange the heads of two links, keep what brings BFB nearer to its bounds.

``head[u, k]`` is where link k of node u leads. The energy counts, for allgather and for reduce-scatter (the same on the
transpose), scaled by the least common multiple of 1..d: N times sum over t of max over u of U(u, t), plus sum over u
and t of U(u, t), plus a fine for every pair of nodes further apart than the steps wanted.
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
def _one_way(tails, steps, scale, weight, dist, mask, queue, counts, worst):
    """Return (sum of U, pairs too far apart) of the allgather; ``tails[u, k]`` are the nodes before u.

    worst[t] is the largest U(u, t), and worst[0] counts the nodes that are too far from one node.
    """
    n, d = tails.shape
    total, far = 0, 0
    worst[:] = 0
    for u in range(n):
        dist[:] = -1
        dist[u] = 0
        end = 0
        for k in range(d):
            y = tails[u, k]
            if y == u:
                continue
            if dist[y] < 0:
                dist[y] = 1
                mask[y] = 0
                queue[end] = y
                end += 1
            mask[y] |= 1 << k
        lo, t = 0, 1
        while True:
            counts[:] = 0
            for i in range(lo, end):
                counts[mask[queue[i]]] += 1
            for k in range(d):
                bit = 1 << k
                for p in range(1 << d):
                    if p & bit:
                        counts[p] += counts[p ^ bit]
            most = 0
            for p in range(1, 1 << d):
                most = max(most, counts[p] * weight[p])
            total += most
            worst[t] = max(worst[t], most)
            if end == n - 1 or t == steps:
                break
            t += 1
            hi = end
            for i in range(lo, hi):
                v = queue[i]
                for k in range(d):
                    y = tails[v, k]
                    if dist[y] < 0:
                        dist[y] = t
                        mask[y] = mask[v]
                        queue[end] = y
                        end += 1
                    elif dist[y] == t:
                        mask[y] |= mask[v]
            lo = hi
        far += n - 1 - end
        worst[0] = max(worst[0], (n - 1 - end) * scale)
    return total, far


@njit(cache=True, nogil=True)
def _energy(head, tail, heavy, steps, scale, weight, dist, mask, queue, counts, worst):
    """Return (energy, scaled N / d T_B of the worse way, pairs too far apart)."""
    n, d = head.shape
    energy, bandwidth, far = 0, 0, 0
    for way in range(2):
        more, pairs = _one_way(tail if way == 0 else head, steps, scale, weight, dist, mask, queue, counts, worst)
        high = worst[1:].sum()
        energy += more + heavy * (high + worst[0]) + 2 * pairs * scale
        bandwidth = max(bandwidth, high)
        far += pairs
    return energy, bandwidth, far


@njit(cache=True, nogil=True)
def _random(state, count):
    """Return a number below ``count`` and step the state (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) % np.uint64(count))


@njit(cache=True, nogil=True)
def _place(links, link, where):
    """Return at which place of a row a number stands."""
    for k in range(links.shape[1]):
        if links[link, k] == where:
            return k
    return -1


@njit(cache=True, nogil=True)
def _anneal(head, tail, steps, goal, tries, hot, heavy, seed, both_ways):
    """Exchange heads of links in place; return (scaled N / d T_B, pairs too far apart) of the best, left in ``head``.

    ``goal`` is where to stop. The temperature falls evenly from ``hot`` (in units of the energy's scale) to none. With
    ``both_ways`` every link keeps its partner: u-w and x-y become u-y and x-w.
    """
    n, d = head.shape
    scale, weight = _weights(d)
    dist, mask, queue = np.empty(n, np.int16), np.empty(n, np.uint32), np.empty(n, np.int64)
    counts, worst = np.empty(1 << d, np.int64), np.empty(steps + 1, np.int64)
    state = np.array([seed], np.uint64)
    now, bandwidth, far = _energy(head, tail, heavy, steps, scale, weight, dist, mask, queue, counts, worst)
    kept = head.copy()
    best, best_far = bandwidth, far
    for i in range(tries):
        if best_far == 0 and best <= goal:
            break
        u, x = _random(state, n), _random(state, n)
        a, b = _random(state, d), _random(state, d)
        w, y = head[u, a], head[x, b]
        if u == x or w == y or u == y or x == w or _place(head, u, y) >= 0 or _place(head, x, w) >= 0:
            continue
        head[u, a], head[x, b] = y, w
        tail[w, _place(tail, w, u)] = x
        tail[y, _place(tail, y, x)] = u
        if both_ways:
            head[w, _place(head, w, u)] = x
            head[y, _place(head, y, x)] = u
            tail[u, _place(tail, u, w)] = y
            tail[x, _place(tail, x, y)] = w
        then, bandwidth, far = _energy(head, tail, heavy, steps, scale, weight, dist, mask, queue, counts, worst)
        heat = hot * scale * (1.0 - i / tries)
        luck = _random(state, 1 << 30) / float(1 << 30)
        if then <= now or (heat > 0 and luck < np.exp((now - then) / heat)):
            now = then
            if far < best_far or (far == best_far and bandwidth < best):
                best, best_far = bandwidth, far
                kept[:] = head
            continue
        head[u, a], head[x, b] = w, y
        tail[w, _place(tail, w, x)] = u
        tail[y, _place(tail, y, u)] = x
        if both_ways:
            head[w, _place(head, w, x)] = u
            head[y, _place(head, y, u)] = x
            tail[u, _place(tail, u, y)] = w
            tail[x, _place(tail, x, w)] = y
    head[:] = kept
    return best, best_far
