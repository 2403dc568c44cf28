"""Breadth-first broadcast, cost by subsets: Hall's condition over all 2^d sets of in-links (thm:balancedbfs).

    U(u, t) = max over non-empty sets P of in-links of  |{v : f(v) is inside P}| / weight(P)

where weight(P) adds up relative bandwidths (1 each where links are alike). For small d; ``bfb_flow`` takes any d.
With latencies, U(u, t) is the largest over P of the time at which P's links can have carried what only they can.
"""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True, nogil=True)
def _sums_over_subsets(problem, group_mask, group_count, links, counts):
    """Fill counts[P] with how many sources may use only links in P (zeta transform)."""
    counts[: 1 << links] = 0
    for g in range(problem["first_group"], problem["end_group"]):
        counts[group_mask[g]] += group_count[g]
    for k in range(links):
        bit = 1 << k
        for p in range(1 << links):
            if p & bit:
                counts[p] += counts[p ^ bit]


@njit(cache=True, nogil=True)
def _add_up(weight, links, total):
    """Fill total[P] with the sum of weight over P."""
    for k in range(links):
        bit = 1 << k
        for p in range(bit):
            total[p | bit] = total[p] + weight[k]


@njit(cache=True, nogil=True, passes=lambda a: a.group_mask.size + (a.problems.size << int(np.diff(a.link_ptr).max())))
def _costs_by_subsets(problems, group_mask, group_count, link_ptr, link_weight, num, den, node, tight):
    """Raise num[t]/den[t] to the largest U(u, t) of these problems, with the worst node and its tight set.

    ``link_ptr[u]:link_ptr[u + 1]`` are u's local links in ``link_weight``.
    """
    most = 0
    for u in range(link_ptr.size - 1):
        most = max(most, link_ptr[u + 1] - link_ptr[u])
    counts = np.empty(1 << most, np.int64)
    total = np.zeros(1 << most, np.int64)
    before = -1
    links = 0
    for i in range(problems.shape[0]):
        u, t = problems["node"][i], problems["step"][i] - 1
        if u != before:
            links = link_ptr[u + 1] - link_ptr[u]
            _add_up(link_weight[link_ptr[u] :], links, total)
            before = u
        _sums_over_subsets(problems[i], group_mask, group_count, links, counts)
        for p in range(1, 1 << links):
            if counts[p] * den[t] > num[t] * total[p]:
                num[t], den[t], node[t], tight[t] = counts[p], total[p], u, np.uint64(p)


@njit(cache=True, nogil=True)
def _by_latency(alpha):
    """Return the links of a node by latency, equal ones in order; numba takes seconds to compile ``np.argsort``."""
    order = np.empty(alpha.size, np.int64)
    for k in range(alpha.size):
        at = k
        while at > 0 and alpha[order[at - 1]] > alpha[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    return order


@njit(cache=True, nogil=True)
def _finish(jobs, p, order, alpha, rate, shard):
    """Return the least T with  sum over k in P of max(0, T - alpha[k]) rate[k] = jobs * shard.

    Links join in order of latency as long as they start before the others would be done.
    """
    amount, sum_rate = jobs * shard, 0.0
    finish = np.inf
    for i in range(order.size):
        k = order[i]
        if (p >> k) & 1:
            if alpha[k] >= finish:
                break
            amount += alpha[k] * rate[k]
            sum_rate += rate[k]
            finish = amount / sum_rate
    return finish


@njit(cache=True, nogil=True)
def _times_by_subsets(problems, group_mask, group_count, link_ptr, link_class, alpha, rate, shard, margin, best, found):
    """Two uses of one enumeration, in floating point. ``found`` empty: raise best[t] to the largest finishing time of
    any (u, P). Otherwise: write (t, jobs, links of each class ...) of every set within ``margin`` of best[t] to
    ``found`` and return how many there are, so that the caller can compare those few exactly.
    """
    most = 0
    for u in range(link_ptr.size - 1):
        most = max(most, link_ptr[u + 1] - link_ptr[u])
    counts = np.empty(1 << most, np.int64)
    rows = 0
    for i in range(problems.shape[0]):
        u, t = problems["node"][i], problems["step"][i] - 1
        links = link_ptr[u + 1] - link_ptr[u]
        classes = link_class[link_ptr[u] : link_ptr[u + 1]]
        a, b = alpha[classes], rate[classes]
        order = _by_latency(a)
        _sums_over_subsets(problems[i], group_mask, group_count, links, counts)
        for p in range(1, 1 << links):
            if counts[p] == 0:
                continue
            finish = _finish(counts[p], p, order, a, b, shard)
            if found.shape[0] == 0:
                if finish > best[t]:
                    best[t] = finish
            elif finish >= best[t] * (1 - margin):
                if rows == found.shape[0]:
                    return -1
                found[rows, :] = 0
                found[rows, 0], found[rows, 1] = t, counts[p]
                for k in range(links):
                    if (p >> k) & 1:
                        found[rows, 2 + classes[k]] += 1
                rows += 1
    return rows
