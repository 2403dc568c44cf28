"""Breadth-first searches over a compressed adjacency (``ptr``, ``node``)."""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True)
def _distances(ptr, node, start):
    n = ptr.size - 1
    dist = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    queue[0] = start
    dist[start] = 0
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for k in range(ptr[u], ptr[u + 1]):
            w = node[k]
            if dist[w] < 0:
                dist[w] = dist[u] + 1
                queue[tail] = w
                tail += 1
    return dist


@njit(cache=True)
def _copy_columns(source, target, width):
    """Copy the first columns; numba takes seconds to compile ``target[:, :width] = source[:, :width]``."""
    for i in range(source.shape[0]):
        for k in range(width):
            target[i, k] = source[i, k]


@njit(cache=True)
def _distance_profiles(ptr, node, starts):
    """For each start: how many nodes at each distance (a row each), the queue's levels being the counts.

    Rows are padded with zeros to the longest; a row whose sum is short of n starts where not all is reached.
    """
    n = ptr.size - 1
    width = 1
    counts = np.zeros((starts.size, 8), np.int64)
    seen = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int32)
    for s in range(starts.size):
        queue[0] = starts[s]
        seen[starts[s]] = s
        lo, hi, level = 0, 1, 0
        while lo < hi:
            if level == counts.shape[1]:
                wider = np.zeros((starts.size, 2 * level), np.int64)
                _copy_columns(counts, wider, level)
                counts = wider
            counts[s, level] = hi - lo
            level += 1
            end = hi
            for q in range(lo, hi):
                u = queue[q]
                for k in range(ptr[u], ptr[u + 1]):
                    w = node[k]
                    if seen[w] != s:
                        seen[w] = s
                        queue[end] = w
                        end += 1
            lo, hi = hi, end
        width = max(width, level)
    profiles = np.empty((starts.size, width), np.int64)
    _copy_columns(counts, profiles, width)
    return profiles
