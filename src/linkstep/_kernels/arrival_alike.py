"""Arrival times where a group takes any node to any other in one way: those of one node serve all.

``arrive[x]`` is the step at which piece x reaches node 0. In-neighbour k of node 0 has it when node 0 has piece
``before[x, k]``, and ``beyond[x, k]`` is the x' with ``before[x', k] = x``. Sets of in-neighbours and loads are as in
``linkstep._kernels.arrival``, of one node.
"""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True)
def _draw(state, below):
    """Return a random number in [0, below): xorshift, so that a seed gives the same run everywhere."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(below))


@njit(cache=True)
def _mask_of(arrive, before, x, step):
    mask = 0
    for k in range(before.shape[1]):
        if arrive[before[x, k]] < step:
            mask |= 1 << k
    return mask


@njit(cache=True)
def _add(table, mask, amount):
    p = mask
    while p < table.size:
        table[p] += amount
        p = (p + 1) | mask


@njit(cache=True)
def _copy(source, target):
    """Copy an array; numba takes seconds to compile ``target[:] = source``."""
    for x in range(source.size):
        target[x] = source[x]


@njit(cache=True)
def _worst(table, weight, parts):
    """Return the largest load over weight, rounded up to whole parts of a shard where there are such."""
    worst = 0.0
    for p in range(1, table.size):
        worst = max(worst, table[p] / weight[p])
    return np.ceil(worst * parts - 1e-9) / parts if parts else worst


@njit(cache=True)
def _anneal(arrive, before, beyond, own, weight, steps, parts, target, rounds, hot, cold, state):
    """Change arrivals, legal ones given, one at a time for a lower sum of worst loads; return it. The best is kept.

    The first ``own`` are node 0's own and stay. Rounds end early at ``target``. The temperature falls from ``hot`` to
    ``cold``.
    """
    n, links = before.shape
    one = np.int64(1)
    load = np.zeros((steps + 1, 1 << links), np.int64)
    for x in range(own, n):
        _add(load[arrive[x]], _mask_of(arrive, before, x, arrive[x]), one)
    worst = np.zeros(steps + 1)
    total = 0.0
    for s in range(1, steps + 1):
        worst[s] = _worst(load[s], weight, parts)
        total += worst[s]
    best, kept = total, arrive.copy()
    moved = np.empty((links + 1, 3), np.int64)  # step, mask lost, mask gained (0: none) of what a change touches
    now = np.empty(steps + 1)
    touched = np.empty(steps + 1, np.bool_)
    for round_number in range(rounds):
        if best <= target + 1e-9:
            break
        x, to = own + _draw(state, n - own), 1 + _draw(state, steps)
        at = arrive[x]
        if to == at:
            continue
        gained = _mask_of(arrive, before, x, to)
        if gained == 0:
            continue
        moved[0, 0], moved[0, 1], moved[0, 2] = at, _mask_of(arrive, before, x, at), 0
        count, legal = 1, True
        for k in range(links):
            y = np.int64(beyond[x, k])
            t = arrive[y]
            if y >= own and min(at, to) < t <= max(at, to):
                mask = _mask_of(arrive, before, y, t)
                if mask == 1 << k and to > at:
                    legal = False
                    break
                moved[count, 0], moved[count, 1], moved[count, 2] = t, mask, mask ^ (1 << k)
                count += 1
        if not legal:
            continue
        touched[:] = False
        touched[to] = True
        _add(load[to], gained, one)
        for i in range(count):
            touched[moved[i, 0]] = True
            _add(load[moved[i, 0]], moved[i, 1], -one)
            if moved[i, 2]:
                _add(load[moved[i, 0]], moved[i, 2], one)
        change = 0.0
        for s in range(1, steps + 1):
            if touched[s]:
                now[s] = _worst(load[s], weight, parts)
                change += now[s] - worst[s]
        heat = hot * (cold / hot) ** (round_number / rounds)
        if change <= 0 or _draw(state, np.int64(1 << 30)) < np.exp(-change / heat) * (1 << 30):
            arrive[x] = to
            total = 0.0
            for s in range(1, steps + 1):
                if touched[s]:
                    worst[s] = now[s]
                total += worst[s]
            if total < best - 1e-9:
                best = total
                _copy(arrive, kept)
        else:
            _add(load[to], gained, -one)
            for i in range(count):
                _add(load[moved[i, 0]], moved[i, 1], one)
                if moved[i, 2]:
                    _add(load[moved[i, 0]], moved[i, 2], -one)
    _copy(kept, arrive)
    return best
