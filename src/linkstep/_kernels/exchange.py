"""Route an all-to-all step by step: paths in a graph unrolled in time, rerouted until links are equally busy.

At (u, t) is what node u holds after step t. From (u, t - 1) it can wait, which is free, or cross a link at step t. A
path leads from (s, 0) to (w, T). It is stored backwards from w: for every step the in-link by which it came to where it
is then, by its position among that node's in-links, or 255 if it waited. Path (number, w) is of source number // P.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def _set_prices(load, weight, sharpness, price):
    """Set the price of every link at every step: what its load adds to the busiest one's, smoothly; 1 in all a step.

    ``weight`` is how much slower a link is than the fastest.
    """
    steps, links = load.shape
    for t in range(steps):
        most = 0.0
        for e in range(links):
            most = max(most, load[t, e] * weight[e])
        scale = max(most, 1e-9)
        total = 0.0
        for e in range(links):
            if weight[e] > 0:
                price[t, e] = weight[e] * np.exp(sharpness * (load[t, e] * weight[e] - most) / scale)
                total += price[t, e] / weight[e]
        for e in range(links):
            price[t, e] = price[t, e] / total if weight[e] > 0 else np.inf


@njit(cache=True)
def _grow(source, in_ptr, in_link, tail, price, hop, cost, tree):
    """Fill ``tree`` with the cheapest way from a source to every node at every step; ``hop`` breaks ties."""
    steps = price.shape[0]
    num_nodes = in_ptr.size - 1
    for u in range(num_nodes):
        cost[0, u] = np.inf
    cost[0, source] = 0
    for t in range(steps):
        for u in range(num_nodes):
            best, way = cost[t, u], 255
            for k in range(in_ptr[u], in_ptr[u + 1]):
                e = in_link[k]
                there = cost[t, tail[e]] + price[t, e] + hop
                if there < best:
                    best, way = there, k - in_ptr[u]
            cost[t + 1, u] = best
            tree[t, u] = way


@njit(cache=True)
def _put(w, path, in_ptr, in_link, tail, amount, load):
    """Add ``amount`` to the load of every link on a path."""
    u = w
    for t in range(path.size - 1, -1, -1):
        if path[t] != 255:
            e = in_link[in_ptr[u] + path[t]]
            load[t, e] += amount
            u = tail[e]


@njit(cache=True)
def _trace(w, tree, in_ptr, in_link, tail, path):
    """Set a path to the way that a tree has to w."""
    u = w
    for t in range(path.size - 1, -1, -1):
        path[t] = tree[t, u]
        if path[t] != 255:
            u = tail[in_link[in_ptr[u] + path[t]]]


@njit(cache=True)
def _busiest(load, weight):
    """Return the sum over steps of the busiest link's load."""
    total = 0.0
    for t in range(load.shape[0]):
        most = 0.0
        for e in range(load.shape[1]):
            most = max(most, load[t, e] * weight[e])
        total += most
    return total


@njit(cache=True)
def _route(order, group, num_groups, first, in_ptr, in_link, tail, weight, sharpness, paths, load, price, cost, tree):
    """Reroute the paths of ``order`` (numbers s * P + p), some destinations at a time, at the prices others leave.

    Destinations whose ``group`` is the same go together; ``first`` if they are not in the loads yet.
    """
    num_nodes = in_ptr.size - 1
    per_source = paths.shape[0] // num_nodes
    for k in range(order.size):
        number = order[k]
        source = number // per_source
        for g in range(num_groups):
            if not first:
                for w in range(num_nodes):
                    if group[(w + k) % num_nodes] == g and w != source:
                        _put(w, paths[number, w], in_ptr, in_link, tail, -1, load)
            _set_prices(load, weight, sharpness, price)
            _grow(source, in_ptr, in_link, tail, price, 1e-7, cost, tree)
            for w in range(num_nodes):
                if group[(w + k) % num_nodes] == g and w != source:
                    _trace(w, tree, in_ptr, in_link, tail, paths[number, w])
                    _put(w, paths[number, w], in_ptr, in_link, tail, 1, load)


@njit(cache=True)
def _total_distance(in_ptr, in_link, tail, price, cost, tree):
    """Return the sum over all pairs of the cheapest way at given prices: no routing is below it.

    Prices are whole numbers, small enough that sums along a path are exact as floats.
    """
    total = np.int64(0)
    steps = price.shape[0]
    for source in range(in_ptr.size - 1):
        _grow(source, in_ptr, in_link, tail, price, 0.0, cost, tree)
        for u in range(in_ptr.size - 1):
            total += np.int64(cost[steps, u])
    return total


@njit(cache=True)
def _fill_rows(paths, in_ptr, in_link, tail, source_of, chunk_of, link_of, step_of):
    """Write a row for every link on every path: the chunk is destination * P + p."""
    num_nodes = in_ptr.size - 1
    per_source = paths.shape[0] // num_nodes
    at = 0
    for number in range(paths.shape[0]):
        source, part = number // per_source, number % per_source
        for w in range(num_nodes):
            u = w
            if w == source:
                continue
            for t in range(paths.shape[2] - 1, -1, -1):
                if paths[number, w, t] != 255:
                    e = in_link[in_ptr[u] + paths[number, w, t]]
                    source_of[at], chunk_of[at] = source, w * per_source + part
                    link_of[at], step_of[at] = e, t + 1
                    at += 1
                    u = tail[e]
