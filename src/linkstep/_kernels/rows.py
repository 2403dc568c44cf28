"""One pass over a schedule's rows: are they in range and in order, and what does each link carry when."""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True, fills=(), passes=lambda a: 2 * a.source.size)
def _first_misplaced(num_ranks, num_links, unit, source, lo, hi, link, step):
    """Return (row, rule) of the first row out of range or order, rules numbered as Schedule names them."""
    for r in range(source.size):
        if source[r] < 0 or source[r] >= num_ranks:
            return r, 0
        if link[r] < 0 or link[r] >= num_links:
            return r, 1
        if step[r] < 1:
            return r, 2
        if lo[r] < 0 or lo[r] >= hi[r] or hi[r] > unit:
            return r, 3
        if r > 0:
            q = r - 1
            if step[q] != step[r]:
                if step[q] > step[r]:
                    return r, 4
            elif link[q] != link[r]:
                if link[q] > link[r]:
                    return r, 4
            elif source[q] != source[r]:
                if source[q] > source[r]:
                    return r, 4
            elif lo[q] > lo[r]:
                return r, 4
    return -1, 0


@njit(cache=True, fills=(), passes=lambda a: 2 * a.lo.size)
def _link_loads(lo, hi, link, step):
    """Return (step, link, load, rows) of every link that is used at a step (rows are sorted by step, link)."""
    count = 0
    for r in range(link.size):
        count += r == 0 or link[r] != link[r - 1] or step[r] != step[r - 1]
    found = np.empty((4, count), np.int64)
    at, first, load = 0, 0, np.int64(0)
    for r in range(link.size):
        load += hi[r] - lo[r]
        if r + 1 == link.size or link[r + 1] != link[r] or step[r + 1] != step[r]:
            found[0, at], found[1, at], found[2, at], found[3, at] = step[r], link[r], load, r + 1 - first
            at, first, load = at + 1, r + 1, np.int64(0)
    return found


@njit(cache=True, fills=(), passes=lambda a: a.num_steps + a.lo.size)
def _busiest_loads(num_steps, lo, hi, link, step):
    """Return the most that any link carries at each step (rows are sorted by step, link)."""
    busiest = np.zeros(num_steps, np.int64)
    load = np.int64(0)
    for r in range(link.size):
        load += hi[r] - lo[r]
        if r + 1 == link.size or link[r + 1] != link[r] or step[r + 1] != step[r]:
            busiest[step[r] - 1] = max(busiest[step[r] - 1], load)
            load = np.int64(0)
    return busiest
