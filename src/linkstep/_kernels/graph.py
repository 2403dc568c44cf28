"""Breadth-first searches over a compressed adjacency (``ptr``, ``node``)."""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True, fills=(), passes=lambda a: a.ptr.size + a.node.size)
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


@njit(cache=True, fills=(), passes=lambda a: a.starts.size * (a.ptr.size + a.node.size))
def _distance_profiles(ptr, node, starts):
    """For each start: how many nodes at each distance (a row each), the queue's levels being the counts.

    Rows are padded with zeros to the longest; a row whose sum is short of n starts where not all is reached.
    """
    n = ptr.size - 1
    width = np.int64(1)
    counts = np.zeros((starts.size, 8), np.int64)
    seen = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int32)
    for s in range(starts.size):
        queue[0] = starts[s]
        seen[starts[s]] = s
        lo, hi, level = 0, 1, np.int64(0)
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


@njit(cache=True)
def _ones(word):
    """Count the bits of a word: of every two, four and eight at once, then of all eight bytes."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = word + (word >> np.uint64(8))
    word = word + (word >> np.uint64(16))
    return np.int64((word + (word >> np.uint64(32))) & np.uint64(127))


@njit(
    cache=True, fills=("counts",),
    passes=lambda a: (a.targets.size // 64 + 1) * (a.ptr.size + a.node.size) * a.counts.size,
)  # fmt: skip
def _distance_counts(ptr, node, targets, counts):
    """Add to ``counts`` how many pairs of a node and a target are at each distance; ``node`` is what links lead to.

    A word has a bit for each of 64 targets: a node reaches in one step more what it or any it has a link to reaches
    now. There must be a count for every distance. Returns the largest distance.
    """
    n = ptr.size - 1
    now, then = np.empty(n, np.uint64), np.empty(n, np.uint64)
    farthest = 0
    for first in range(0, targets.size, 64):
        some = min(64, targets.size - first)
        now[:] = np.uint64(0)
        for k in range(some):
            now[targets[first + k]] |= np.uint64(1) << np.uint64(k)
        step, new = 0, some
        while new:
            counts[step] += new
            farthest = max(farthest, step)
            step, new = step + 1, 0
            for u in range(n):
                word = now[u]
                for k in range(ptr[u], ptr[u + 1]):
                    word |= now[node[k]]
                then[u] = word
                new += _ones(word ^ now[u])
            now, then = then, now
    return farthest
