"""Route an all-to-all step by step: paths in a graph unrolled in time, rerouted until links are equally busy.

At (u, t) is what node u holds after step t. From (u, t - 1) it can wait, which is free, or cross a link at step t.
Links that are always equally busy are a class, and loads and prices are kept for classes. A path leads from (s, 0) to
(w, T). It is stored backwards from w: for every step the in-link by which it came to where it is then, by its position
among that node's in-links, or -1 if it waited. Path (number, w) is of source number // P. In-links are given by
position: ``tail`` and ``kind`` are the tail and the class of the link there.
"""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True)
def _grow(source, in_ptr, tail, kind, price, hop, cost, tree):
    """Fill ``tree`` with the cheapest way from a source to every node at every step; ``hop`` breaks ties."""
    num_nodes = in_ptr.size - 1
    for u in range(num_nodes):
        cost[0, u] = np.inf
    cost[0, source] = 0
    for t in range(price.shape[0]):
        for u in range(num_nodes):
            best, way = cost[t, u], -1
            for k in range(in_ptr[u], in_ptr[u + 1]):
                there = cost[t, tail[k]] + price[t, kind[k]] + hop
                if there < best:
                    best, way = there, k - in_ptr[u]
            cost[t + 1, u] = best
            tree[t, u] = way


@njit(cache=True)
def _soften(load, weight, steepness, out):
    """Fill ``out`` with exponentials of loads, the highest being 1, and return their sum."""
    highest = (load * weight).max()
    for c in range(load.size):
        out[c] = np.exp(steepness * (load[c] * weight[c] - highest))
    return out.sum()


@njit(cache=True)
def _marginal(share, weight, steepness):
    """Return what one chunk more on a link adds to the softened busiest load, of whose slope it has a share.

    On a link that is w times slower it adds w units, one after the other: the slope for the first, and from there the
    growth of log(sum of exponentials) / steepness. The slope alone, times w, takes an idle slow link for a cheap one.
    """
    if weight == 1:
        return share
    ahead = steepness * (weight - 1)
    if ahead < 30:
        return share + np.log1p(share * np.expm1(ahead)) / steepness
    ahead += np.log(max(share, 1e-300))
    return share + (ahead if ahead > 30 else np.log1p(np.exp(ahead))) / steepness


@njit(cache=True)
def _route(order, group, num_groups, first, sources, in_ptr, tail, kind, weight, sharpness, top, paths, load):
    """Reroute the paths of ``order`` (numbers i * P + p), some destinations at a time, at the prices others leave.

    Destinations whose ``group`` is the same go together; ``first`` if they are not in the loads yet. The price of a
    class at a step is what one more there adds to the busiest load of the step, ``top`` or so, smoothly: the more the
    closer its load is to that. ``weight`` is how much slower a class is than the fastest.
    """
    num_nodes, steps, classes = in_ptr.size - 1, load.shape[0], load.shape[1]
    per_source = paths.shape[0] // sources.size
    cost, tree = np.empty((steps + 1, num_nodes)), np.empty((steps, num_nodes), np.int16)
    raw, price = np.empty((steps, classes)), np.empty((steps, classes))
    for t in range(steps):
        for c in range(classes):
            raw[t, c] = np.exp(min(sharpness * (load[t, c] * weight[c] - top[t]) / top[t], 600.0))
    for number in order:
        source = sources[number // per_source]
        for g in range(num_groups):
            for back in range(1 if first else 0, 2):
                if back:
                    for t in range(steps):
                        total = raw[t].sum()
                        if total < 1e-280:  # all loads are so far below the top that no exponential is left of them
                            total = _soften(load[t], weight, sharpness / top[t], price[t])
                            for c in range(classes):
                                price[t, c] = _marginal(price[t, c] / total, weight[c], sharpness / top[t])
                        else:
                            for c in range(classes):
                                price[t, c] = _marginal(raw[t, c] / total, weight[c], sharpness / top[t])
                    _grow(source, in_ptr, tail, kind, price, 1e-7, cost, tree)
                for w in range(num_nodes):
                    if group[(w + number) % num_nodes] != g or w == source:
                        continue
                    u = w
                    for t in range(steps - 1, -1, -1):
                        if back:
                            paths[number, w, t] = tree[t, u]
                        if paths[number, w, t] >= 0:
                            k = in_ptr[u] + paths[number, w, t]
                            c = kind[k]
                            load[t, c] += 2 * back - 1
                            raw[t, c] = np.exp(min(sharpness * (load[t, c] * weight[c] - top[t]) / top[t], 600.0))
                            u = tail[k]


@njit(cache=True)
def _tree_loads(sources, in_ptr, tail, kind, price, load):
    """Return the sum over sources and nodes of the cheapest way, and add what these ways carry to ``load``.

    No routing is below it (LP duality). It is exact if prices are whole numbers whose sums along paths are, as floats.
    What is returned is (high, low), the sum being high * 2^31 + low: it may be more than 64 bits hold.
    """
    steps, num_nodes = price.shape[0], in_ptr.size - 1
    cost, tree = np.empty((steps + 1, num_nodes)), np.empty((steps, num_nodes), np.int16)
    size = np.empty((steps + 1, num_nodes))
    high, low = np.int64(0), np.int64(0)
    for source in sources:
        _grow(source, in_ptr, tail, kind, price, 0.0, cost, tree)
        size[:] = 0
        for u in range(num_nodes):
            way = np.int64(cost[steps, u])
            high += way >> 31
            low += way & (2**31 - 1)
            size[steps, u] = 1
        for t in range(steps - 1, -1, -1):
            for u in range(num_nodes):
                if tree[t, u] < 0:
                    size[t, u] += size[t + 1, u]
                else:
                    k = in_ptr[u] + tree[t, u]
                    load[t, kind[k]] += size[t + 1, u]
                    size[t, tail[k]] += size[t + 1, u]
    return high, low


@njit(cache=True)
def _fill_rows(paths, sources, in_ptr, tail, link_at, node_image, link_image, columns):
    """Write a row for every link on every path and each of its images: the chunk is destination * P + p.

    ``columns`` are source, chunk, link, step.
    """
    num_nodes, per_source = in_ptr.size - 1, paths.shape[0] // sources.size
    at = 0
    for number in range(paths.shape[0]):
        part = number % per_source
        for w in range(num_nodes):
            u = w
            if w == sources[number // per_source]:
                continue
            for t in range(paths.shape[2] - 1, -1, -1):
                if paths[number, w, t] >= 0:
                    k = in_ptr[u] + paths[number, w, t]
                    for j in range(node_image.shape[0]):
                        columns[0, at] = node_image[j, sources[number // per_source]]
                        columns[1, at] = np.int64(node_image[j, w]) * per_source + part
                        columns[2, at] = link_image[j, link_at[k]]
                        columns[3, at] = t + 1
                        at += 1
                    u = tail[k]
