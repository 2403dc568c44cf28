"""Least cuts by maximum flows in whole numbers: Dinic's algorithm, searching backwards from the sink.

A residual graph is (ptr, node, twin, left): arc a of node v, for a in ptr[v]:ptr[v + 1], leads to node[a] and has
left[a] of its capacity left; twin[a] is the same arc the other way. What enters the flow is ``supply``, by node, so
that there is no node for a source; flows end as soon as ``need`` has arrived.
"""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True, nogil=True)
def _arcs(num_nodes, tail, head):
    """Return (ptr, node, twin, place): link e is arc place[e] of its tail, and its twin an arc of its head."""
    ptr = np.zeros(num_nodes + 1, np.int64)
    for e in range(tail.size):
        ptr[tail[e] + 1] += 1
        ptr[head[e] + 1] += 1
    for v in range(num_nodes):
        ptr[v + 1] += ptr[v]
    at = ptr[:-1].copy()
    node = np.empty(2 * tail.size, np.int64)
    twin = np.empty(2 * tail.size, np.int64)
    place = np.empty(tail.size, np.int64)
    for e in range(tail.size):
        a, b = at[tail[e]], at[head[e]]
        at[tail[e]] += 1
        at[head[e]] += 1
        node[a], node[b] = head[e], tail[e]
        twin[a], twin[b] = b, a
        place[e] = a
    return ptr, node, twin, place


@njit(cache=True, nogil=True)
def _levels(ptr, node, twin, left, supply, sink, want, level, queue):
    """Find how far from the sink each node is by arcs with capacity left, until supplies add up to ``want``.

    Return how many nodes are in ``queue``, which begins with the sink, and how much supply there is at them. ``level``
    must be -1 everywhere.
    """
    queue[0] = sink
    level[sink] = 0
    begin, end, found = 0, 1, np.int64(0)
    while begin < end and found < want:
        x = queue[begin]
        begin += 1
        for a in range(ptr[x], ptr[x + 1]):
            y = node[a]
            if level[y] < 0 and left[twin[a]] > 0:
                level[y] = level[x] + 1
                queue[end] = y
                end += 1
                found += supply[y]
    return end, found


@njit(cache=True, nogil=True)
def _push(ptr, node, twin, left, sink, level, at, path, start, want):
    """Send up to ``want`` from start to the sink by arcs that lead one level down; return how much arrived."""
    sent = np.int64(0)
    depth, v = 0, start
    while want > 0:
        if v == sink:
            amount = want
            for k in range(depth):
                amount = min(amount, left[path[k]])
            first = depth
            for k in range(depth - 1, -1, -1):
                left[path[k]] -= amount
                left[twin[path[k]]] += amount
                if left[path[k]] == 0:
                    first = k
            want -= amount
            sent += amount
            if first < depth:
                depth = first
                v = node[twin[path[depth]]]
            else:
                depth, v = 0, start
            continue
        while at[v] < ptr[v + 1]:
            a = at[v]
            if left[a] > 0 and level[node[a]] == level[v] - 1:
                break
            at[v] += 1
        if at[v] < ptr[v + 1]:
            path[depth] = at[v]
            v = node[at[v]]
            depth += 1
        elif depth == 0:
            break
        else:
            depth -= 1
            v = node[twin[path[depth]]]
            at[v] += 1
    return sent


@njit(cache=True, nogil=True)
def _max_flow(ptr, node, twin, left, supply, sink, need, level, queue, at, path):
    """Send supplies to the sink, ``need`` at most, using up ``left`` and ``supply``; return (sent, size).

    Where less than ``need`` arrives, ``queue[:size]`` are the nodes from which the sink can still be
    reached: the links into this set from all others are full, and its own supply is used up. The supply of the sink
    itself is not counted. ``level`` is -1 everywhere before and after.
    """
    sent = np.int64(0)
    supply[sink] = 0
    while sent < need:
        end, found = _levels(ptr, node, twin, left, supply, sink, need - sent, level, queue)
        if found > 0:
            for i in range(end):
                at[queue[i]] = ptr[queue[i]]
            for i in range(end):
                v = queue[i]
                if supply[v] > 0 and sent < need:
                    amount = _push(
                        ptr, node, twin, left, sink, level, at, path, v, min(supply[v], need - sent)
                    )  # fmt: skip
                    supply[v] -= amount
                    sent += amount
        for i in range(end):
            level[queue[i]] = -1
        if found == 0:
            return sent, end
    return sent, 0


@njit(cache=True, nogil=True, passes=lambda a: 6 * a.sinks.size * a.tail.size)
def _tightest_cut(tail, head, weight, sinks, rooted, held, fixed, num, den, inside):
    """Raise num / den to the largest (held in S + fixed) / (weight of links out of S); ``inside`` becomes S's mask.

    Over all sets S that some node of ``sinks`` is not in; if ``rooted``, over those with sinks[0] in them. At a ratio
    num / den, all sets without a sink w are within it if and only if flows of ``den held`` from every node, and of
    ``den fixed`` besides from the root, reach w through links of capacity ``num weight``; a flow that fails names a set
    that is beyond (Newton's method on the ratio). Sets without earlier sinks are known to be within, so that later
    flows may start from these with as much as they want: they soon become short.
    """
    num_nodes, total = held.size, held.sum()
    ptr, node, twin, place = _arcs(num_nodes, tail, head)
    left = np.empty(node.size, np.int64)
    supply = np.empty(num_nodes, np.int64)
    level = np.full(num_nodes, -1, np.int64)
    queue = np.empty(num_nodes, np.int64)
    at = np.empty(num_nodes, np.int64)
    path = np.empty(num_nodes, np.int64)
    for k in range(1 if rooted else 0, sinks.size):
        while True:
            need = den * (total - held[sinks[k]] + fixed)
            left[:] = 0
            for e in range(tail.size):
                left[place[e]] = num * weight[e]
            for v in range(num_nodes):
                supply[v] = den * held[v]
            for i in range(k):
                supply[sinks[i]] = need
            sent, rest = _max_flow(ptr, node, twin, left, supply, sinks[k], need, level, queue, at, path)
            if sent == need:
                break
            inside[:] = True
            num, den = total + fixed, np.int64(0)
            for i in range(rest):
                inside[queue[i]] = False
                num -= held[queue[i]]
            for e in range(tail.size):
                if inside[tail[e]] and not inside[head[e]]:
                    den += weight[e]
    return num, den
