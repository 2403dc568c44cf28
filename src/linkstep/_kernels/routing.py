"""Cheapest routes from one node under prices of links, and what flows along them put on links.

Links are sorted by tail (``out_ptr``), no two of them join the same nodes the same way, and none is a self-loop. Prices
are whole numbers or floats, never negative. A route tree is ``parent``: the link by which each node is reached, -1 at
the source; ``order`` lists nodes as they were settled, so every node comes after the one before it on its route.
"""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True)
def _cheapest_tree(out_ptr, head, price, source, dist, parent, order, heap_key, heap_node, place):
    """Dijkstra's algorithm with a binary heap in which every node appears at most once (``place``)."""
    n = out_ptr.size - 1
    for u in range(n):
        place[u] = -1
        parent[u] = -1
    size, settled = 1, 0
    heap_key[0] = 0
    heap_node[0] = source
    place[source] = 0
    dist[source] = 0
    while size:
        u = heap_node[0]
        order[settled] = u
        settled += 1
        place[u] = -2
        size -= 1
        if size:
            key, node = heap_key[size], heap_node[size]
            i = 0
            while True:
                child = 2 * i + 1
                if child >= size:
                    break
                if child + 1 < size and heap_key[child + 1] < heap_key[child]:
                    child += 1
                if heap_key[child] >= key:
                    break
                heap_key[i], heap_node[i] = heap_key[child], heap_node[child]
                place[heap_node[i]] = i
                i = child
            heap_key[i], heap_node[i] = key, node
            place[node] = i
        for e in range(out_ptr[u], out_ptr[u + 1]):
            w = head[e]
            if place[w] == -2:
                continue
            key = dist[u] + price[e]
            if place[w] == -1:
                i = size
                size += 1
            elif key < dist[w]:
                i = place[w]
            else:
                continue
            dist[w] = key
            parent[w] = e
            while i:
                up = (i - 1) // 2
                if heap_key[up] <= key:
                    break
                heap_key[i], heap_node[i] = heap_key[up], heap_node[up]
                place[heap_node[i]] = i
                i = up
            heap_key[i], heap_node[i] = key, w
            place[w] = i
    return settled


@njit(cache=True)
def _subtree_sizes(parent, order, tail, size):
    """Fill in how many nodes are reached through each node, itself included: what its parent link carries."""
    n = order.size
    for u in range(n):
        size[u] = 1
    for k in range(n - 1, 0, -1):
        u = order[k]
        size[tail[parent[u]]] += size[u]


@njit(cache=True, passes=lambda a: 4 * a.sources.size * a.tail.size)
def _route_loads(out_ptr, tail, head, price, link_class, num_classes, sources, weights, parents):
    """Send one unit from each source to every node by its cheapest route.

    Fills in a row of ``parents`` for each source; returns how much each class of links carries, sources counted
    ``weights`` times, and the sums of distances, source by source.
    """
    n = out_ptr.size - 1
    dist = np.zeros(n, price.dtype)
    heap_key = np.empty(n, price.dtype)
    order, heap_node, place = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    size = np.empty(n, np.int64)
    loads = np.zeros(num_classes, np.int64)
    totals = np.zeros(sources.size, price.dtype)
    for i in range(sources.size):
        parent = parents[i]
        _cheapest_tree(out_ptr, head, price, sources[i], dist, parent, order, heap_key, heap_node, place)
        _subtree_sizes(parent, order, tail, size)
        for k in range(1, n):
            u = order[k]
            loads[link_class[parent[u]]] += weights[i] * size[u]
            totals[i] += dist[u]
    return loads, totals


@njit(cache=True)
def _send_first(out_ptr, tail, head, link_class, capacity, sources, weights, eta, amounts, orders, load):
    """Let one source after another send everything by the cheapest routes, given what those before it sent."""
    n, num_links = out_ptr.size - 1, head.size
    dist, heap_key = np.zeros(n), np.empty(n)
    parent, heap_node, place = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    carried, price = np.empty(n), np.empty(num_links)
    for i in range(sources.size):
        top = load.max()
        for e in range(num_links):
            j = link_class[e]
            price[e] = np.exp(eta * (load[j] - top)) / capacity[j]
        _cheapest_tree(out_ptr, head, price, sources[i], dist, parent, orders[i], heap_key, heap_node, place)
        carried[:] = 1.0
        for q in range(n - 1, 0, -1):
            u = orders[i, q]
            e = parent[u]
            carried[tail[e]] += carried[u]
            amounts[i, e] = carried[u]
            load[link_class[e]] += weights[i] * carried[u] / capacity[link_class[e]]


@njit(cache=True, passes=lambda a: 3 * a.parent.size)
def _tree_flow(parent, source, tail, flow):
    """Write what each link carries when one unit goes to every node along a tree; the tree needs no order."""
    n = parent.size
    waiting = np.zeros(n, np.int32)
    for u in range(n):
        if u != source:
            waiting[tail[parent[u]]] += 1
    size = np.ones(n, np.int64)
    for leaf in range(n):
        u = leaf
        while u != source and waiting[u] == 0:
            waiting[u] = -1
            flow[parent[u]] = size[u]
            above = tail[parent[u]]
            size[above] += size[u]
            waiting[above] -= 1
            u = above
