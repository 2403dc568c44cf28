"""Flows that follow prices: each source in turn shifts flow from dear links to cheap ones, as far as that helps.

The prices are those of a soft maximum of the loads of classes of links, exp(eta * load / capacity), kept up to date
from one source to the next. A source's flow has no cycles: ``orders`` lists nodes so that its links lead forward. At
every node flow moves from each link in use to the cheapest one that leads forward, by as much as levels their costs to
second order (after Gallager's minimum delay routing and its Newton variants), and then a line search decides how much
of all that is done. Floats throughout, made whole numbers by ``_whole_flow``.
"""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True)
def _slope(weight, change, eta, step):
    """Return the slope of sum(weight * exp(eta * step * change)) / eta in the step, and its slope."""
    slope, curve = 0.0, 0.0
    for j in range(change.size):
        if change[j] != 0.0:
            term = weight[j] * np.exp(min(eta * step * change[j], 500.0)) * change[j]
            slope += term
            curve += term * eta * change[j]
    return slope, curve


@njit(cache=True)
def _best_step(weight, change, eta):
    """Return the step in [0, 1] at which sum(weight * exp(eta * step * change)) is about least."""
    slope, curve = _slope(weight, change, eta, 0.0)
    if slope >= 0.0 or curve <= 0.0:
        return 0.0
    lo, hi = 0.0, 1.0
    step = min(1.0, -slope / curve)
    for _ in range(20):
        slope, curve = _slope(weight, change, eta, step)
        guess = step - slope / curve
        if slope <= 0.0:
            if step == 1.0:
                return 1.0
            lo = step
        else:
            hi = step
            guess = min(guess, 0.5 * (lo + hi))  # from the steep side Newton's steps are short
        if hi - lo < 0.1 * hi:
            break
        step = guess if lo < guess < hi else 0.5 * (lo + hi)
    return lo


@njit(cache=True)
def _reorder(in_ptr, in_link, tail, price, row, order, label):
    """Sort nodes by their dearest route in use: links in use then lead forward, and so may others."""
    label[order[0]] = 0.0
    for q in range(1, order.size):
        u = order[q]
        dearest = 0.0
        for s in range(in_ptr[u], in_ptr[u + 1]):
            e = in_link[s]
            if row[e] > 0.0:
                dearest = max(dearest, label[tail[e]] + price[e])
        label[u] = dearest
    ranked = order[np.argsort(label[order], kind="mergesort")]
    for q in range(order.size):  # numba takes seconds to compile ``order[:] = ranked``
        order[q] = ranked[q]


@njit(cache=True)
def _shift(in_ptr, in_link, tail, price, bend, order, place, row, cost, stiff, need, moved):
    """Write to ``moved`` where a source's flow should go: at every node, from its dear links to its cheapest one.

    ``cost`` is what a unit to each node costs on average now, ``stiff`` how fast that grows; a link gives up what makes
    both cost the same if they grow on like this. From the last node back, so that what a node needs for those after it
    is known when its turn comes.
    """
    n = order.size
    for q in range(n):
        place[order[q]] = q
        need[q] = 1.0
    cost[order[0]] = 0.0
    stiff[order[0]] = 0.0
    for q in range(1, n):
        u = order[q]
        total, mean, growth = 0.0, 0.0, 0.0
        for s in range(in_ptr[u], in_ptr[u + 1]):
            e = in_link[s]
            if row[e] > 0.0:
                total += row[e]
                mean += row[e] * (price[e] + cost[tail[e]])
                growth += row[e] * (bend[e] + stiff[tail[e]])
        cost[u] = mean / total
        stiff[u] = growth / total
    moved[:] = 0.0
    for q in range(n - 1, 0, -1):
        u = order[q]
        total, best, least = 0.0, -1, np.inf
        for s in range(in_ptr[u], in_ptr[u + 1]):
            e = in_link[s]
            total += row[e]
            if place[tail[e]] < q and price[e] + cost[tail[e]] < least:
                best, least = e, price[e] + cost[tail[e]]
        left = need[u]
        for s in range(in_ptr[u], in_ptr[u + 1]):
            e = in_link[s]
            if row[e] > 0.0 and e != best:
                share = need[u] * row[e] / total
                growth = bend[e] + stiff[tail[e]] + bend[best] + stiff[tail[best]]
                share -= (price[e] + cost[tail[e]] - least) / growth
                if share > 1e-9:
                    moved[e] = share
                    left -= share
                    need[tail[e]] += share
        moved[best] = left
        need[tail[best]] += left


@njit(cache=True)
def _follow_prices(in_ptr, in_link, tail, link_class, capacity, weights, turns, eta, amounts, orders, load):
    """Let each source in ``turns`` shift flow to cheaper links; ``amounts``, ``orders`` and ``load`` change.

    ``load`` is that of classes over their capacities.
    """
    n, num_links, k = in_ptr.size - 1, tail.size, capacity.size
    label, cost, stiff, need = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    place = np.empty(n, np.int32)
    price, bend, moved = np.empty(num_links), np.empty(num_links), np.empty(num_links)
    weight, change = np.empty(k), np.empty(k)
    for i in turns:
        top = load.max()
        for j in range(k):
            weight[j] = max(np.exp(eta * (load[j] - top)), 1e-15)
            change[j] = 0.0
        for e in range(num_links):
            j = link_class[e]
            price[e] = weight[j] / capacity[j]
            bend[e] = price[e] * eta * weights[i] / capacity[j]
        row = amounts[i]
        _reorder(in_ptr, in_link, tail, price, row, orders[i], label)
        _shift(in_ptr, in_link, tail, price, bend, orders[i], place, row, cost, stiff, need, moved)
        for e in range(num_links):
            if moved[e] != row[e]:
                j = link_class[e]
                change[j] += (moved[e] - row[e]) * weights[i] / capacity[j]
        step = _best_step(weight, change, eta)
        if step == 0.0:
            continue
        for e in range(num_links):
            row[e] += step * (moved[e] - row[e])
        for j in range(k):
            load[j] += step * change[j]


@njit(cache=True)
def _cancel_cycles(out_ptr, head, row, threshold):
    """Take flow off cycles until links that carry more than the threshold have none; links below it carry nothing.

    A depth-first walk along such links; a cycle that closes loses what its least link carries, and the walk goes back
    to where that link began.
    """
    n = out_ptr.size - 1
    for e in range(row.size):
        if row[e] <= threshold:
            row[e] = 0.0
    state = np.zeros(n, np.int8)  # 0 not seen, 1 on the walk, 2 done
    cursor = out_ptr[:-1].copy()
    walk = np.empty(n, np.int64)  # the link by which each node of the walk was left
    nodes = np.empty(n + 1, np.int32)
    for start in range(n):
        if state[start]:
            continue
        depth = 0
        nodes[0] = start
        state[start] = 1
        while depth >= 0:
            u = nodes[depth]
            if cursor[u] == out_ptr[u + 1]:
                state[u] = 2
                depth -= 1
                continue
            e = cursor[u]
            w = head[e]
            if row[e] <= 0.0 or state[w] == 2:
                cursor[u] += 1
                continue
            walk[depth] = e
            if state[w] == 0:
                depth += 1
                nodes[depth] = w
                state[w] = 1
                continue
            first = depth
            while nodes[first] != w:
                first -= 1
            least, at = row[walk[first]], first
            for q in range(first, depth + 1):
                if row[walk[q]] < least:
                    least, at = row[walk[q]], q
            for q in range(first, depth + 1):
                row[walk[q]] -= least
                if row[walk[q]] <= threshold:
                    row[walk[q]] = 0.0
            for q in range(at + 1, depth + 1):
                state[nodes[q]] = 0
            depth = at


@njit(cache=True)
def _whole_flow(out_ptr, in_ptr, in_link, tail, head, source, unit, row, whole):
    """Turn a flow without cycles into whole numbers that arrive exactly: every node gets ``unit``.

    From the ends back to the source: what a node receives, for itself and for those after it, comes over its links in
    the proportions of ``row``, rounded; the link that carries most takes what is left. Returns how many nodes were
    settled: fewer than all if a node is reached by no link.
    """
    n = out_ptr.size - 1
    waiting = np.zeros(n, np.int32)
    for e in range(row.size):
        if row[e] > 0.0:
            waiting[tail[e]] += 1
        whole[e] = 0
    needed = np.full(n, unit, np.int64)
    ready = np.empty(n, np.int32)
    count = 0
    for u in range(n):
        if waiting[u] == 0 and u != source:
            ready[count] = u
            count += 1
    done = 0
    while done < count:
        u = ready[done]
        done += 1
        if u == source:
            break
        total, most = 0.0, -1
        for q in range(in_ptr[u], in_ptr[u + 1]):
            e = in_link[q]
            if row[e] > 0.0:
                total += row[e]
                if most < 0 or row[e] > row[most]:
                    most = e
        if most < 0:
            return done - 1
        left = needed[u]
        for q in range(in_ptr[u], in_ptr[u + 1]):
            e = in_link[q]
            if row[e] > 0.0 and e != most:
                share = min(left, np.int64(needed[u] * (row[e] / total)))
                whole[e] = share
                left -= share
        whole[most] = left
        for q in range(in_ptr[u], in_ptr[u + 1]):
            e = in_link[q]
            if row[e] > 0.0:
                above = tail[e]
                needed[above] += whole[e]
                waiting[above] -= 1
                if waiting[above] == 0:
                    ready[count] = above
                    count += 1
    return done
