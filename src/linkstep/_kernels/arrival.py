"""Arrival times: what they load links with, and repair of what exceeds caps.

``arrive[u, q]`` is the step at which piece q reaches node u, ``owner[q]`` the node that has it first, from the end of
step ``start[q]`` on. The in-neighbours of u are ``near[u, :near_count[u]]`` (parallel links merged), its out-neighbours
``after[u]``, and ``after_bit[u, c]`` is u's place among the in-neighbours of ``after[u, c]``. For a piece that reaches
u at step s the mask has bit k set if in-neighbour k has it before s. ``load[u, s, P]`` counts the pieces whose mask is
inside P, and ``limit[kind[u], s, P]`` is what the links of P can carry at step s; the excess of (u, s) is the most by
which a load is above its limit (Hall's condition), and E the sum of all excesses. ``p = (p + 1) | m`` walks the
supersets of a mask m.

Where a group acts freely and arrivals look the same under it, there are rows for one node of each orbit alone, its
*representative*, and a "node" u below is the number of such a row; ``owner[q]`` is -1 for pieces of other nodes. A
neighbour is then what some g makes of a representative, and piece q reaches it when ``turns[t, q]``, which g makes q
of, reaches that; t is ``near_turn[u, k]`` or ``after_turn[u, c]``, 0 for the identity. Without a group all t are 0.
"""

import numpy as np

from linkstep._kernels import njit

_ILLEGAL = 1 << 30
_NONE = np.int64(0)


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
def _add(table, mask, full, amount):
    """Add to the count of every set of links that holds a mask."""
    p = mask
    while p < full:
        table[p] += amount
        p = (p + 1) | mask


@njit(cache=True)
def _excess(table, most, full):
    worst = 0
    for p in range(1, full):
        worst = max(worst, table[p] - most[p])
    return worst


@njit(cache=True, passes=lambda a: a.load.size)
def _worst_loads(load, near_count, kind, weight, num, den):
    """Fill num[s] / den[s] with the largest load / weight over nodes and sets of links at step s."""
    num[:] = 0
    den[:] = 1
    for u in range(load.shape[0]):
        for s in range(1, load.shape[1]):
            for p in range(1, 1 << near_count[u]):
                if load[u, s, p] * den[s] > num[s] * weight[kind[u], p]:
                    num[s], den[s] = load[u, s, p], weight[kind[u], p]


@njit(cache=True)
def _mask_of(arrive, near, near_count, near_turn, turns, u, q, step):
    mask = 0
    for k in range(near_count[u]):
        t = near_turn[u, k]
        if arrive[near[u, k], turns[t, q] if t else q] < step:
            mask |= 1 << k
    return mask


@njit(cache=True)
def _excess_changed(table, most, full, lost, gained):
    """Return the excess once a piece of mask ``lost`` is gone and one of mask ``gained`` is there; 0: none is."""
    worst = 0
    for p in range(1, full):
        x = table[p] - most[p]
        if lost and p & lost == lost:
            x -= 1
        if gained and p & gained == gained:
            x += 1
        worst = max(worst, x)
    return worst


@njit(cache=True)
def _change(
    arrive, near, near_count, near_turn, after, after_count, after_turn, after_bit, turns, owner, kind, limit, load,
    excess, u, q, to,
):  # fmt: skip
    """Return how E changes if piece q reaches u at step ``to`` instead, or ``_ILLEGAL``.

    With a group it is what E would change by if no load were touched twice, which is near enough to choose by.
    """
    at = np.int64(arrive[u, q])
    gained = _mask_of(arrive, near, near_count, near_turn, turns, u, q, to)
    if gained == 0:
        return _ILLEGAL
    full, k = 1 << near_count[u], kind[u]
    change = _excess_changed(load[u, to], limit[k, to], full, _NONE, gained) - excess[u, to]
    if excess[u, at] > 0:
        lost = _mask_of(arrive, near, near_count, near_turn, turns, u, q, at)
        change += _excess_changed(load[u, at], limit[k, at], full, lost, _NONE) - excess[u, at]
    for c in range(after_count[u]):
        y = np.int64(after[u, c])
        r = turns[after_turn[u, c], q] if after_turn[u, c] else q
        t = np.int64(arrive[y, r])
        if y == owner[r] or not min(at, to) < t <= max(at, to):
            continue
        if to < at and excess[y, t] == 0:
            continue  # one more way in never hurts
        before = _mask_of(arrive, near, near_count, near_turn, turns, y, r, t)
        now = before ^ (1 << after_bit[u, c])
        if now == 0:
            return _ILLEGAL
        change += _excess_changed(load[y, t], limit[kind[y], t], 1 << near_count[y], before, now) - excess[y, t]
    return change


@njit(cache=True)
def _note(excess, broken, where, u, s, value):
    """Set an excess, return how much it grew, and keep the list of cells above 0.

    broken[0] is the length of that list, where[cell] the place in it.
    """
    cell = u * excess.shape[1] + s
    change = value - excess[u, s]
    excess[u, s] = value
    if value > 0 and where[cell] == 0:
        broken[0] += 1
        broken[broken[0]] = cell
        where[cell] = broken[0]
    elif value == 0 and where[cell] > 0:
        last = broken[broken[0]]
        broken[where[cell]] = last
        where[last] = where[cell]
        where[cell] = 0
        broken[0] -= 1
    return change


@njit(cache=True)
def _move(
    arrive, near, near_count, near_turn, after, after_count, after_turn, after_bit, turns, owner, kind, limit, load,
    excess, broken, where, u, q, to,
):  # fmt: skip
    """Let piece q reach u at step ``to`` and bring loads and excesses up to date; return how E changed."""
    at = np.int64(arrive[u, q])
    full, k = 1 << near_count[u], kind[u]
    _add(load[u, at], _mask_of(arrive, near, near_count, near_turn, turns, u, q, at), full, np.int64(-1))
    _add(load[u, to], _mask_of(arrive, near, near_count, near_turn, turns, u, q, to), full, np.int64(1))
    change = _note(excess, broken, where, u, at, _excess(load[u, at], limit[k, at], full))
    change += _note(excess, broken, where, u, to, _excess(load[u, to], limit[k, to], full))
    for c in range(after_count[u]):
        y = np.int64(after[u, c])
        r = turns[after_turn[u, c], q] if after_turn[u, c] else q
        t = np.int64(arrive[y, r])
        if y == owner[r] or not min(at, to) < t <= max(at, to):
            continue
        mask, whole = _mask_of(arrive, near, near_count, near_turn, turns, y, r, t), 1 << near_count[y]
        _add(load[y, t], mask, whole, np.int64(-1))
        _add(load[y, t], mask ^ (1 << after_bit[u, c]), whole, np.int64(1))
        change += _note(excess, broken, where, y, t, _excess(load[y, t], limit[kind[y], t], whole))
    arrive[u, q] = to
    return change


@njit(cache=True)
def _worst_set(table, most, full, state):
    """Return a set of links with the largest excess, ties at random."""
    worst, found, ties = 0, 0, 0
    for p in range(1, full):
        x = table[p] - most[p]
        if x > worst:
            worst, found, ties = x, p, 1
        elif x == worst and x > 0:
            ties += 1
            if _draw(state, ties) == 0:
                found = p
    return found


@njit(cache=True)
def _repair(
    arrive, near, near_count, near_turn, after, after_count, after_turn, after_bit, turns, owner, kind, limit, load,
    excess, tabu, rounds, tries, tenure, state,
):  # fmt: skip
    """Make E smaller by moving pieces, for at most ``rounds`` rounds; return E. ``load`` is that of ``arrive``.

    A round takes an overfull (u, s) at random and its worst set P. Of up to ``tries`` pieces that only P can carry, one
    comes at another step, or an in-neighbour outside P has it before: the best such move, ties at random, made if E
    does not grow, or with probability 0.05 to the power of how much it would. What moved stays for ``tenure`` rounds or
    more.
    """
    n, num_pieces = arrive.shape
    steps = limit.shape[1] - 1
    broken = np.zeros(n * (steps + 1) + 1, np.int64)
    where = np.zeros(n * (steps + 1), np.int64)
    total = 0
    for u in range(n):
        for s in range(1, steps + 1):
            excess[u, s] = 0
            value = _excess(load[u, s], limit[kind[u], s], 1 << near_count[u])
            _note(excess, broken, where, u, s, value)
            total += value
    tabu[:] = 0
    for now in range(1, rounds + 1):
        if broken[0] == 0:
            break
        cell = broken[1 + _draw(state, broken[0])]
        u, s = cell // (steps + 1), cell % (steps + 1)
        tight = _worst_set(load[u, s], limit[kind[u], s], 1 << near_count[u], state)
        best, ties, tried = _ILLEGAL, 0, 0
        node, piece, step = np.int64(-1), np.int64(-1), np.int64(-1)
        q = _draw(state, num_pieces)
        for _ in range(num_pieces):
            q = q + 1 if q + 1 < num_pieces else 0
            if arrive[u, q] != s or owner[q] == u:
                continue
            mask = _mask_of(arrive, near, near_count, near_turn, turns, u, q, s)
            if mask & ~tight:
                continue
            tried += 1
            for k in range(-1, near_count[u]):
                if k >= 0 and ((mask | tight) >> k) & 1:
                    continue
                x = u if k < 0 else near[u, k]
                p = turns[near_turn[u, k], q] if k >= 0 and near_turn[u, k] else q
                if tabu[x, p] > now:
                    continue
                for to in range(1, steps + 1 if k < 0 else s):
                    if k < 0 and to == s:
                        continue
                    change = _change(
                        arrive, near, near_count, near_turn, after, after_count, after_turn, after_bit, turns, owner,
                        kind, limit, load, excess, x, p, to,
                    )  # fmt: skip
                    if change < best:
                        best, ties = change, 1
                        node, piece, step = np.int64(x), np.int64(p), to
                    elif change == best and best < _ILLEGAL:
                        ties += 1
                        if _draw(state, ties) == 0:
                            node, piece, step = np.int64(x), np.int64(p), to
            if tried >= tries or best < 0:
                break
        if best >= _ILLEGAL:
            continue
        if best <= 0 or _draw(state, np.int64(1 << 30)) < 0.05**best * (1 << 30):
            total += _move(
                arrive, near, near_count, near_turn, after, after_count, after_turn, after_bit, turns, owner, kind,
                limit, load, excess, broken, where, node, piece, step,
            )  # fmt: skip
            tabu[node, piece] = now + tenure + _draw(state, tenure + 1)
    return total
