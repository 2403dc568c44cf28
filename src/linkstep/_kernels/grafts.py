"""Local search on regular graphs without symmetry: swap links until no pair is too far apart.

``out[u, :d]`` are the heads of node u's links and ``into[u, :d]`` the tails of those that lead to u; more columns,
to a multiple of four, hold u itself, which changes no distance. With ``both`` links come in edges: what is done to
a -> b is done to b -> a. A swap (a, b, c, e) turns a -> b and c -> e into a -> e and c -> b; (a, e, c, b) undoes it.

Graphs are compared by the ordered pairs farther apart than ``steps``, counted for 64 targets in a word and 16 words in
a row: bit v of node u's row says that u reaches v, and each pass ORs in the rows of the heads of u's links. Most swaps
are refused after one word, of the targets close to the links taken out, which lose the most.
"""

import numpy as np

from linkstep._kernels import njit

_WORDS = 16
_HOPE = 12
"""Pairs that a swap may lose close by and is still tried, in the hope to gain as many elsewhere."""
_WORTH = 4096
"""A swap must make the sum of distances smaller by one part in this many: recipes list every swap."""
_TRIES = 40
"""Swaps tried for one pair that is too far before another is taken."""


@njit(cache=True, nogil=True)
def _draw(state, below):
    """Return a random number in [0, below): xorshift, so that a seed gives the same run everywhere."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(11)) % np.uint64(below))


@njit(cache=True, nogil=True)
def _bits(x):
    """Return how many bits of a word are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def _start(into, n, first, used, reach):
    """Fill in who reaches the targets from ``first`` on, ``used`` words of them, within one step."""
    for u in range(n):
        for w in range(used):
            reach[u, w] = np.uint64(0)
    for v in range(first, min(n, first + 64 * used)):
        w = (v - first) >> 6
        bit = np.uint64(1) << np.uint64((v - first) & 63)
        reach[v, w] |= bit
        for s in range(into.shape[1]):
            reach[into[v, s], w] |= bit


@njit(cache=True, nogil=True)
def _pass(out, n, used, reach, after):
    """Let every node reach what the heads of its links reach."""
    for u in range(n):
        own, new = reach[u], after[u]
        a, b, c, e = reach[out[u, 0]], reach[out[u, 1]], reach[out[u, 2]], reach[out[u, 3]]
        for w in range(used):
            new[w] = own[w] | a[w] | b[w] | c[w] | e[w]
        for s in range(4, out.shape[1], 4):
            a, b, c, e = reach[out[u, s]], reach[out[u, s + 1]], reach[out[u, s + 2]], reach[out[u, s + 3]]
            for w in range(used):
                new[w] |= a[w] | b[w] | c[w] | e[w]


@njit(cache=True, nogil=True)
def _flood(out, into, n, first, used, steps, reach, after):
    """Return the table of who reaches the targets from ``first`` on within ``steps`` steps; one of the two given."""
    _start(into, n, first, used, reach)
    for _ in range(1, steps):
        _pass(out, n, used, reach, after)
        reach, after = after, reach
    return reach


@njit(cache=True, nogil=True)
def _reached(reach, n, used):
    count = np.uint64(0)
    for u in range(n):
        row = reach[u]
        for w in range(used):
            count += _bits(row[w])
    return np.int64(count)


@njit(cache=True, nogil=True)
def _missed(out, into, n, steps, limit, reach, after):
    """Return how many ordered pairs are farther apart than ``steps``, or a number above the limit."""
    missed = 0
    for first in range(0, n, 64 * _WORDS):
        targets = min(n - first, 64 * _WORDS)
        used = (targets + 63) >> 6
        missed += n * targets - _reached(_flood(out, into, n, first, used, steps, reach, after), n, used)
        if missed > limit:
            break
    return missed


@njit(cache=True, nogil=True)
def _apart(out, into, n, steps, limit, reach, after):
    """Return (pairs farther apart than ``steps``, sum of distances, such pairs counted as one step more).

    Stops once the sum is above the limit.
    """
    missed, total = 0, 0
    for first in range(0, n, 64 * _WORDS):
        targets = min(n - first, 64 * _WORDS)
        used = (targets + 63) >> 6
        _start(into, n, first, used, reach)
        total += (n - 1) * targets
        for step in range(1, steps + 1):
            if step > 1:
                _pass(out, n, used, reach, after)
                reach, after = after, reach
            left = n * targets - _reached(reach, n, used)
            total += left
            if total > limit:
                return n * n, total
        missed += left
    return missed, total


@njit(cache=True, nogil=True)
def _far_pairs(out, into, n, steps, pairs, far, reach, after):
    """List pairs farther apart than ``steps``, as many as the table takes; return how many there are in all.

    far[v] is how many there are with target v.
    """
    missed = 0
    far[:n] = 0
    for first in range(0, n, 64 * _WORDS):
        targets = min(n - first, 64 * _WORDS)
        used = (targets + 63) >> 6
        table = _flood(out, into, n, first, used, steps, reach, after)
        for u in range(n):
            for w in range(used):
                lowest = first + 64 * w
                word = ~table[u, w]
                if lowest + 64 > n:
                    word &= (np.uint64(1) << np.uint64(n - lowest)) - np.uint64(1)
                while word:
                    v = lowest + np.int64(_bits((word & (~word + np.uint64(1))) - np.uint64(1)))
                    far[v] += 1
                    if missed < pairs.shape[0]:
                        pairs[missed, 0], pairs[missed, 1] = u, v
                    missed += 1
                    word &= word - np.uint64(1)
    return missed


@njit(cache=True, nogil=True)
def _missed_near(out, n, steps, targets, count, reach, after):
    """Return how many nodes are farther than ``steps`` from each of a few targets, at most 64, added up."""
    for u in range(n):
        reach[u] = np.uint64(0)
    for i in range(count):
        reach[targets[i]] |= np.uint64(1) << np.uint64(i)
    for _ in range(steps):
        for u in range(n):
            new = reach[u] | reach[out[u, 0]] | reach[out[u, 1]] | reach[out[u, 2]] | reach[out[u, 3]]
            for s in range(4, out.shape[1], 4):
                new |= reach[out[u, s]] | reach[out[u, s + 1]] | reach[out[u, s + 2]] | reach[out[u, s + 3]]
            after[u] = new
        reach, after = after, reach
    got = np.uint64(0)
    for u in range(n):
        got += _bits(reach[u])
    return n * count - np.int64(got)


@njit(cache=True, nogil=True)
def _closest(out, d, ends, num_ends, stamp, seen, targets):
    """Fill in the nodes closest from the given ends, at most 64, and return how many; stamp[0] counts the calls."""
    stamp[0] += 1
    count, at = 0, 0
    for i in range(num_ends):
        if seen[ends[i]] != stamp[0]:
            seen[ends[i]] = stamp[0]
            targets[count] = ends[i]
            count += 1
    while at < count and count < 64:
        u = targets[at]
        at += 1
        for s in range(d):
            v = out[u, s]
            if seen[v] != stamp[0] and count < 64:
                seen[v] = stamp[0]
                targets[count] = v
                count += 1
    return count


@njit(cache=True, nogil=True)
def _search_from(links, d, n, root, level, queue, begin):
    """List nodes by their distance from a root: those at distance t are queue[begin[t]:begin[t + 1]].

    Return how many distances there are.
    """
    level[:n] = -1
    level[root] = 0
    queue[0] = root
    at, end, t = 0, 1, 0
    begin[0] = 0
    while at < end:
        begin[t + 1] = end
        for i in range(at, begin[t + 1]):
            u = queue[i]
            for s in range(d):
                v = links[u, s]
                if level[v] < 0:
                    level[v] = t + 1
                    queue[end] = v
                    end += 1
        at = begin[t + 1]
        t += 1
    return t


@njit(cache=True, nogil=True)
def _replace(row, old, new):
    """Put a node in the place of another, which the row holds."""
    i = 0
    while row[i] != old:
        i += 1
    row[i] = new


@njit(cache=True, nogil=True)
def _swap_links(out, into, a, b, c, e):
    _replace(out[a], b, e)
    _replace(out[c], e, b)
    _replace(into[b], a, c)
    _replace(into[e], c, a)


@njit(cache=True, nogil=True)
def _swap(out, into, both, a, b, c, e):
    """Turn a -> b, c -> e into a -> e, c -> b; with ``both`` the links the other way as well."""
    _swap_links(out, into, a, b, c, e)
    if both:
        _swap_links(out, into, b, a, e, c)


@njit(cache=True, nogil=True)
def _has(row, d, node):
    for s in range(d):  # noqa: SIM110 - a generator is slow in a kernel
        if row[s] == node:
            return True
    return False


@njit(cache=True, nogil=True)
def _may_swap(out, d, both, a, b, c, e):
    """Whether a swap leaves neither self-loops nor parallel links that were not there."""
    if a in (c, e) or b in (c, e):
        return False
    if both and (a == b or c == e):
        return False
    return not _has(out[a], d, e) and not _has(out[c], d, b)


@njit(cache=True, nogil=True)
def _focus(out, into, d, both, steps, evaluations, most_swaps, state):
    """Swap links until no pair is farther apart than ``steps``; return (pairs left, evaluations left).

    For a pair (x, y) that is, a node p at distance r from x gets a link to a node z at distance steps - 1 - r to y. A
    swap may leave a few pairs more than before, rarely; the best graph seen is kept.
    """
    n = out.shape[0]
    reach, after = np.empty((n, _WORDS), np.uint64), np.empty((n, _WORDS), np.uint64)
    word, next_word = np.empty(n, np.uint64), np.empty(n, np.uint64)
    pairs = np.empty((4096, 2), np.int64)
    stamp, seen, targets = np.zeros(1, np.int64), np.zeros(n, np.int64), np.empty(64, np.int64)
    ends = np.empty(4, np.int64)
    level, from_x, to_y = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    begin_x, begin_y = np.empty(n + 2, np.int64), np.empty(n + 2, np.int64)
    far = np.empty(n, np.int64)
    missed = _far_pairs(out, into, n, steps, pairs, far, reach, after)
    best, best_out, best_into = missed, out.copy(), into.copy()
    swaps = 0
    while missed > 0 and evaluations > 0 and swaps < most_swaps:
        i = _draw(state, min(missed, pairs.shape[0]))
        depth_x = _search_from(out, d, n, pairs[i, 0], level, from_x, begin_x)
        depth_y = _search_from(into, d, n, pairs[i, 1], level, to_y, begin_y)
        for _ in range(_TRIES):
            evaluations -= 1
            r = _draw(state, steps)
            if r >= depth_x or steps - 1 - r >= depth_y:
                continue
            p = from_x[begin_x[r] + _draw(state, begin_x[r + 1] - begin_x[r])]
            r = steps - 1 - r
            z = to_y[begin_y[r] + _draw(state, begin_y[r + 1] - begin_y[r])]
            p_next, z_before = np.int64(out[p, _draw(state, d)]), np.int64(into[z, _draw(state, d)])
            if not _may_swap(out, d, both, p, p_next, z_before, z):
                continue
            _swap(out, into, both, p, p_next, z_before, z)
            limit = missed
            while _draw(state, 3) == 0:
                limit += 1
            ends[0], ends[1], ends[2], ends[3] = p_next, z, p, z_before
            count = _closest(out, d, ends, 4 if both else 2, stamp, seen, targets)
            found = _missed_near(out, n, steps, targets, count, word, next_word)
            before = 0
            for j in range(count):
                before += far[targets[j]]
            if found <= min(limit, before + _HOPE):
                found = _missed(out, into, n, steps, limit, reach, after)
            else:
                found = limit + 1
            if found > limit:
                _swap(out, into, both, p, z, z_before, p_next)
                continue
            swaps += 1
            missed = _far_pairs(out, into, n, steps, pairs, far, reach, after)
            if missed < best:
                best, best_out[:], best_into[:] = missed, out, into
            break
    out[:], into[:] = best_out, best_into
    return best, evaluations


@njit(cache=True, nogil=True)
def _split(out, into, both, a, b, v, slot):
    """Turn a -> b into a -> v -> b, v's links in the given slot; with ``both`` the other way in the next."""
    for _ in range(2 if both else 1):
        _replace(out[a], b, v)
        _replace(into[b], a, v)
        out[v, slot], into[v, slot] = b, a
        a, b, slot = b, a, slot + 1


@njit(cache=True, nogil=True)
def _unsplit(out, into, both, a, b, v):
    for _ in range(2 if both else 1):
        _replace(out[a], v, b)
        _replace(into[b], v, a)
        a, b = b, a


@njit(cache=True, nogil=True)
def _draw_link(out, n, d, both, taken, state):
    """Return a link that gives a new node no parallel links beside those taken, if some attempts find one."""
    a, b = 0, 0
    for attempt in range(1000):
        a = _draw(state, n)
        b = np.int64(out[a, _draw(state, d)])
        good = a != b and b < n
        for k in range(0, taken.size if attempt < 500 else 0, 2):
            good = good and a != taken[k] and b != taken[k + 1]
            good = good and not (both and (a == taken[k + 1] or b == taken[k]))
        if good:
            break
    return a, b


@njit(cache=True, nogil=True)
def _insert(out, into, n, d, both, steps, tries, state, chosen, scores):
    """Try to put in a node, or two linked ones, at random and list the ways that leave the fewest pairs too far apart.

    chosen[i, j] are the ends of the links that new node n + j is put into, scores[i] the pairs then too far apart, from
    the best on. The tables have rows for the new nodes; they are left as they were.
    """
    kept, added, ends = chosen.shape
    now = n + added
    reach, after = np.empty((now, _WORDS), np.uint64), np.empty((now, _WORDS), np.uint64)
    word, next_word = np.empty(now, np.uint64), np.empty(now, np.uint64)
    stamp, seen, targets = np.zeros(1, np.int64), np.zeros(now, np.int64), np.empty(64, np.int64)
    near = np.empty(1 + ends, np.int64)
    drawn = np.empty((added, ends), np.int64)
    if added == 2:
        out[n, d - 1] = into[n, d - 1] = n + 1
        out[n + 1, d - 1] = into[n + 1, d - 1] = n
    scores[:] = np.int64(1) << 60
    for _ in range(tries):
        for i in range(added):
            for j in range(0, ends, 2):
                drawn[i, j], drawn[i, j + 1] = _draw_link(out, n, d, both, drawn[i, :j], state)
                _split(out, into, both, drawn[i, j], drawn[i, j + 1], n + i, j if both else j // 2)
        near[0] = n
        near[1:] = drawn[0]
        count = _closest(out, d, near, near.size, stamp, seen, targets)
        found = _missed_near(out, now, steps, targets, count, word, next_word)
        if found < scores[-1]:
            found = _missed(out, into, now, steps, scores[-1], reach, after)
        if found < scores[-1]:
            i = kept - 1
            while i > 0 and scores[i - 1] > found:
                scores[i] = scores[i - 1]
                chosen[i] = chosen[i - 1]
                i -= 1
            scores[i] = found
            chosen[i] = drawn
        for i in range(added - 1, -1, -1):
            for j in range(ends - 2, -1, -2):
                _unsplit(out, into, both, drawn[i, j], drawn[i, j + 1], n + i)


@njit(cache=True, nogil=True)
def _is_spare(out, u, s):
    """Whether a link is a self-loop or parallel to an earlier one: it leads nowhere new."""
    if out[u, s] == u:
        return True
    return _has(out[u], s, out[u, s])


@njit(cache=True, nogil=True)
def _mend(out, into, d, both, steps, evaluations, state):
    """Swap every self-loop and parallel link with the link that leaves the fewest pairs too far apart.

    All links are tried, from a random one on, until no pair is too far apart; return how many evaluations are left.
    """
    n = out.shape[0]
    reach, after = np.empty((n, _WORDS), np.uint64), np.empty((n, _WORDS), np.uint64)
    for u in range(n):
        for s in range(d):
            b = np.int64(out[u, s])
            if not _is_spare(out, u, s) or (both and b == u):
                continue
            best, best_c, best_e = np.int64(1) << 60, -1, -1
            shift = _draw(state, n * d)
            for i in range(n * d):
                if best == 0 or (evaluations <= 0 and best_c >= 0):
                    break
                link = (i + shift) % (n * d)
                c, e = link // d, np.int64(out[link // d, link % d])
                if not _may_swap(out, d, both, u, b, c, e):
                    continue
                _swap(out, into, both, u, b, c, e)
                evaluations -= 1
                found = _missed(out, into, n, steps, best, reach, after)
                _swap(out, into, both, u, e, c, b)
                if found < best:
                    best, best_c, best_e = found, c, e
            if best_c >= 0:
                _swap(out, into, both, u, b, best_c, best_e)
    return evaluations


@njit(cache=True, nogil=True)
def _polish(out, into, d, both, steps, evaluations, most_swaps, state):
    """Swap links at random where that makes the sum of distances smaller and leaves no pair too far apart.

    Return (pairs too far apart, sum of distances); does nothing where pairs are.
    """
    n = out.shape[0]
    reach, after = np.empty((n, _WORDS), np.uint64), np.empty((n, _WORDS), np.uint64)
    word, next_word = np.empty(n, np.uint64), np.empty(n, np.uint64)
    stamp, seen, targets = np.zeros(1, np.int64), np.zeros(n, np.int64), np.empty(64, np.int64)
    ends = np.empty(4, np.int64)
    missed, total = _apart(out, into, n, steps, np.int64(1) << 60, reach, after)
    swaps = 0
    for _ in range(evaluations):
        if missed or swaps == most_swaps:
            break
        a, c = _draw(state, n), _draw(state, n)
        b, e = np.int64(out[a, _draw(state, d)]), np.int64(out[c, _draw(state, d)])
        if not _may_swap(out, d, both, a, b, c, e):
            continue
        _swap(out, into, both, a, b, c, e)
        ends[0], ends[1], ends[2], ends[3] = b, e, a, c
        count = _closest(out, d, ends, 4 if both else 2, stamp, seen, targets)
        good = _missed_near(out, n, steps, targets, count, word, next_word) == 0
        if good:
            limit = total - 1 - total // _WORTH
            far, found = _apart(out, into, n, steps, limit, reach, after)
            good = far == 0 and found <= limit
        if good:
            total = found
            swaps += 1
        else:
            _swap(out, into, both, a, e, c, b)
    return missed, total
