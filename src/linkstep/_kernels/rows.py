"""One pass over a schedule's rows: are they in range and in order, and what does each step cost."""

import numpy as np

from linkstep._kernels import njit


@njit(cache=True)
def _first_misplaced(num_nodes, num_links, unit, source, lo, hi, link, step):
    """Return (row, rule) of the first row out of range or order, rules numbered as Schedule names them."""
    for r in range(source.size):
        if source[r] < 0 or source[r] >= num_nodes:
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


@njit(cache=True)
def _step_loads(num_steps, num_classes, link_class, lo, hi, link, step):
    """Return, by step and class of links, the load of the busiest link (rows are sorted by step, link)."""
    busiest = np.zeros((num_steps, num_classes), np.int64)
    load = np.int64(0)
    for r in range(link.size):
        load += hi[r] - lo[r]
        if r + 1 == link.size or link[r + 1] != link[r] or step[r + 1] != step[r]:
            t, c = step[r] - 1, link_class[link[r]]
            if load > busiest[t, c]:
                busiest[t, c] = load
            load = 0
    return busiest
