"""Breadth-first broadcast by flows: spread the sources of a problem over its links within given capacities.

A problem is a bipartite flow between few groups and at most 64 links. What cannot be placed names a set P of links
that is too small for what only they may carry: a certificate, and the next guess where the least load is wanted.
"""

import numpy as np

from linkstep._kernels import njit

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _augment(masks, links, cap, start, want, flow, load, parent, via, queue):
    """Send up to ``want`` more of a group with mask ``start`` by moving others; return (sent, first link, links seen).

    A breadth-first search over links: from a full link a to b if some group that uses a may use b instead. If nothing
    can be sent, the links seen are full and nothing on them can leave: Hall's condition fails there.
    """
    end = 0
    seen = start
    for k in range(links):
        if (start >> np.uint64(k)) & _ONE:
            parent[k] = -1
            queue[end] = k
            end += 1
    at = 0
    while at < end:
        a = queue[at]
        at += 1
        if load[a] < cap[a]:
            sent = min(want, cap[a] - load[a])
            b = a
            while parent[b] >= 0:
                sent = min(sent, flow[via[b], parent[b]])
                b = parent[b]
            load[a] += sent
            b = a
            while parent[b] >= 0:
                flow[via[b], parent[b]] -= sent
                flow[via[b], b] += sent
                b = parent[b]
            return sent, b, seen
        for g in range(masks.size):
            fresh = masks[g] & ~seen
            if fresh and flow[g, a] > 0:
                seen |= fresh
                for k in range(links):
                    if (fresh >> np.uint64(k)) & _ONE:
                        parent[k] = a
                        via[k] = g
                        queue[end] = k
                        end += 1
    return np.int64(0), -1, seen


@njit(cache=True, nogil=True)
def _roomiest(mask, links, cap, load, least):
    """Return the allowed link with the most capacity left, if more than ``least``, or -1."""
    most, best = least, -1
    for k in range(links):
        if (mask >> np.uint64(k)) & _ONE and cap[k] - load[k] > most:
            most, best = cap[k] - load[k], k
    return best


@njit(cache=True, nogil=True)
def _assign(masks, counts, links, cap, share, flow, load, left, work):
    """Spread each group's sources, ``share`` apiece, over its links within cap; return (done, blocking set P).

    Whole sources go first, each to the allowed link with most left, groups with fewer links before the others; what is
    left is cut up; what still does not fit moves others out of the way.
    """
    load[:links] = 0
    flow[: masks.size, :links] = 0
    left[: masks.size] = 0
    for size in range(1, links + 1):
        for g in range(masks.size):
            bits, m = 0, masks[g]
            while m:
                m &= m - _ONE
                bits += 1
            if bits != size:
                continue
            for i in range(counts[g]):
                k = _roomiest(masks[g], links, cap, load, share - 1)
                if k < 0:
                    left[g] = (counts[g] - i) * share
                    break
                flow[g, k] += share
                load[k] += share
    for g in range(masks.size):
        while left[g] > 0:
            k = _roomiest(masks[g], links, cap, load, np.int64(0))
            if k < 0:
                break
            sent = min(cap[k] - load[k], left[g])
            flow[g, k] += sent
            load[k] += sent
            left[g] -= sent
    for g in range(masks.size):
        while left[g] > 0:
            sent, k, seen = _augment(masks, links, cap, masks[g], left[g], flow, load, work[0], work[1], work[2])
            if sent == 0:
                return False, seen
            flow[g, k] += sent
            left[g] -= sent
    return True, np.uint64(0)


@njit(cache=True, nogil=True)
def _most_groups(problems):
    most = 1
    for i in range(problems.shape[0]):
        most = max(most, problems["end_group"][i] - problems["first_group"][i])
    return most


@njit(cache=True, nogil=True, passes=lambda a: 30 * a.group_mask.size)
def _costs_by_flows(problems, group_mask, group_count, link_ptr, link_weight, num, den, node, tight):
    """As ``_costs_by_subsets``, for any degree: a flow that fails at the best ratio so far names a worse set."""
    most = _most_groups(problems)
    flow = np.empty((most, 64), np.int64)
    left = np.empty(most, np.int64)
    work = np.empty((3, 64), np.int64)
    cap = np.empty(64, np.int64)
    load = np.empty(64, np.int64)
    for i in range(problems.shape[0]):
        u, t = problems["node"][i], problems["step"][i] - 1
        weight = link_weight[link_ptr[u] : link_ptr[u + 1]]
        links = weight.size
        masks = group_mask[problems["first_group"][i] : problems["end_group"][i]]
        counts = group_count[problems["first_group"][i] : problems["end_group"][i]]
        jobs, total, seen, worse = num[t], den[t], np.uint64(0), False
        sources, everything = problems["end_source"][i] - problems["first_source"][i], weight.sum()
        if sources * total > jobs * everything:  # even all links together are too slow
            jobs, total, worse = sources, everything, True
            seen = ~np.uint64(0) >> np.uint64(64 - links)
        while True:
            for k in range(links):
                cap[k] = jobs * weight[k]
            done, blocked = _assign(masks, counts, links, cap, total, flow, load, left, work)
            if done:
                break
            jobs, total, seen, worse = np.int64(0), np.int64(0), blocked, True
            for g in range(masks.size):
                if masks[g] & ~seen == np.uint64(0):
                    jobs += counts[g]
            for k in range(links):
                if (seen >> np.uint64(k)) & _ONE:
                    total += weight[k]
        if worse:
            num[t], den[t], node[t], tight[t] = jobs, total, u, seen


@njit(cache=True, nogil=True, passes=lambda a: 60 * a.group_mask.size)
def _least_table_row(problems, group_mask, group_count, link_ptr, link_class, share, table, best):
    """Raise best[t] to the first row of ``table[t]`` (capacities by class, growing down) that serves these problems.

    Return -1, or the number of a problem that no row serves.
    """
    most = _most_groups(problems)
    flow = np.empty((most, 64), np.int64)
    left = np.empty(most, np.int64)
    work = np.empty((3, 64), np.int64)
    cap = np.empty(64, np.int64)
    load = np.empty(64, np.int64)
    for i in range(problems.shape[0]):
        u, t = problems["node"][i], problems["step"][i] - 1
        classes = link_class[link_ptr[u] : link_ptr[u + 1]]
        masks = group_mask[problems["first_group"][i] : problems["end_group"][i]]
        counts = group_count[problems["first_group"][i] : problems["end_group"][i]]
        lo, hi, row = best[t], table.shape[1], best[t]  # rows before lo are too small, row hi is enough
        while lo < hi:
            for k in range(classes.size):
                cap[k] = table[t, row, classes[k]]
            if _assign(masks, counts, classes.size, cap, share, flow, load, left, work)[0]:
                hi = row
            else:
                lo = row + 1
            row = (lo + hi) // 2
        if lo == table.shape[1]:
            return i
        best[t] = lo
    return -1


@njit(cache=True, nogil=True)
def _emit(members, group_of, links, local_link, pieces, share, scale, flow, number, source, lo, hi, link, step, at):
    """Write the rows of one problem of step ``number``, sources ascending. Return the new end; ``flow`` is used up.

    Whole sources go first, cut ones last. A member is piece m % pieces of node m // pieces.
    """
    for i in range(members.size):
        g = group_of[i]
        origin, first = members[i] // pieces, (members[i] % pieces) * share * scale
        have, k = np.int64(0), 0
        while k < links and flow[g, k] < share:
            k += 1
        if k == links:
            k = 0
        while have < share:
            take = min(flow[g, k], share - have)
            if take > 0:
                flow[g, k] -= take
                source[at], lo[at], hi[at] = origin, first + have * scale, first + (have + take) * scale
                link[at], step[at] = local_link[k], number
                at += 1
                have += take
            k += 1
    return at


@njit(cache=True, nogil=True, passes=lambda a: 8 * (a.members.size + 4 * a.group_mask.size))
def _rows(
    problems,
    group_mask,
    group_count,
    members,
    group_of,
    link_ptr,
    link_id,
    link_class,
    cap_of,
    whole_of,
    pieces,
    share,
    scale,
    source,
    lo,
    hi,
    link,
    step,
):
    """Fill the columns of rows of all problems; return (how many, -1), or the number of a problem that does not fit.

    At step t each source (or piece of one, where a shard has several) is ``share[t - 1]`` parts of ``scale[t - 1]``
    units and a link of class c takes ``cap_of[t - 1, c]`` parts. Where whole sources fit within ``whole_of[t - 1, c]``
    sources a link, none is cut.
    """
    most = _most_groups(problems)
    flow = np.empty((most, 64), np.int64)
    left = np.empty(most, np.int64)
    work = np.empty((3, 64), np.int64)
    cap = np.empty(64, np.int64)
    load = np.empty(64, np.int64)
    at = np.int64(0)
    for i in range(problems.shape[0]):
        u, t = problems["node"][i], problems["step"][i] - 1
        classes = link_class[link_ptr[u] : link_ptr[u + 1]]
        links = classes.size
        masks = group_mask[problems["first_group"][i] : problems["end_group"][i]]
        counts = group_count[problems["first_group"][i] : problems["end_group"][i]]
        first, end = problems["first_source"][i], problems["end_source"][i]
        fitting = np.int64(0)
        for k in range(links):
            cap[k] = whole_of[t, classes[k]]
            fitting += cap[k]
        parts, units, done = np.int64(1), share[t] * scale[t], False
        if fitting >= end - first:
            done = _assign(masks, counts, links, cap, np.int64(1), flow, load, left, work)[0]
        if not done:
            for k in range(links):
                cap[k] = cap_of[t, classes[k]]
            parts, units = share[t], scale[t]
            if not _assign(masks, counts, links, cap, parts, flow, load, left, work)[0]:
                return at, i
        local_link = link_id[link_ptr[u] : link_ptr[u + 1]]
        at = _emit(
            members[first:end], group_of[first:end], links, local_link, pieces, parts, units, flow, t + 1,
            source, lo, hi, link, step, at,
        )  # fmt: skip
    return at, -1


@njit(cache=True, nogil=True, passes=lambda a: a.link.size)
def _tally(link, step, counts):
    """Count rows by (step, link)."""
    for r in range(link.size):
        counts[step[r] - 1, link[r]] += 1


@njit(cache=True, nogil=True, passes=lambda a: 2 * a.source.size)
def _place(source, lo, hi, link, step, offset, to_source, to_lo, to_hi, to_link, to_step):
    """Move rows to their place in canonical order; offset[t - 1, e] is where link e's next row of step t goes."""
    for r in range(source.size):
        t, e = step[r], link[r]
        to = offset[t - 1, e]
        offset[t - 1, e] = to + 1
        to_source[to], to_lo[to], to_hi[to], to_link[to], to_step[to] = source[r], lo[r], hi[r], e, t


@njit(cache=True, nogil=True)
def _match_links(mapping, u, link_ptr, link_id, tail, image):
    """Fill image[k] with where a map of nodes takes local link k of u; parallel links keep their order."""
    base, there = link_ptr[u], mapping[u]
    for k in range(link_ptr[u + 1] - base):
        w, skip = tail[link_id[base + k]], 0
        for j in range(k):
            if tail[link_id[base + j]] == w:
                skip += 1
        for j in range(link_ptr[there], link_ptr[there + 1]):
            if tail[link_id[j]] == mapping[w]:
                if skip == 0:
                    image[k] = link_id[j]
                    break
                skip -= 1


@njit(cache=True, nogil=True, passes=lambda a: 4 * a.group.size * a.nodes.size + a.offset.size + 2 * a.source.size)
def _plan_translation(group, nodes, ends, link_ptr, link_id, tail, source, link, step, bucket, start, first, offset):
    """Work out where the rows go that automorphisms make of those into ``nodes``, one of each orbit.

    Rows ends[i]:ends[i + 1] are into nodes[i], sorted by (source, lo). Each has a bucket, its (step, local link); those
    of node i's bucket b begin at start[i, b] once dealt out, and those of source v are first[i, v]:first[i, v + 1].
    offset[t, e] is where the rows of step t + 1 on link e begin. The group acts freely, so every node is met once.
    """
    steps, num_links = offset.shape
    most = (start.shape[1] - 1) // steps
    local = np.empty(num_links, np.int64)
    for i in range(nodes.size):
        u = nodes[i]
        for k in range(link_ptr[u], link_ptr[u + 1]):
            local[link_id[k]] = k - link_ptr[u]
        for r in range(ends[i], ends[i + 1]):
            bucket[r] = (step[r] - 1) * most + local[link[r]]
            start[i, bucket[r] + 1] += 1
            first[i, source[r] + 1] += 1
        start[i, 0] = first[i, 0] = ends[i]
        for b in range(steps * most):
            start[i, b + 1] += start[i, b]
        for v in range(first.shape[1] - 1):
            first[i, v + 1] += first[i, v]
    image = np.zeros(most, np.int64)
    for g in range(group.shape[0]):
        for i in range(nodes.size):
            _match_links(group[g], nodes[i], link_ptr, link_id, tail, image)
            for b in range(steps * most):
                if start[i, b + 1] > start[i, b]:
                    offset[b // most, image[b % most]] = start[i, b + 1] - start[i, b]
    at = 0
    for t in range(steps):
        for e in range(num_links):
            at, offset[t, e] = at + offset[t, e], at


@njit(cache=True, nogil=True, passes=lambda a: 4 * a.group.size * a.nodes.size + 2 * a.to_lo.size)
def _translate(
    group, nodes, link_ptr, link_id, tail, bucket, start, first, offset,
    lo, hi, to_source, to_lo, to_hi, to_link, to_step,
):  # fmt: skip
    """Write the rows that these automorphisms make of those into ``nodes``, as ``_plan_translation`` says.

    For each node sources are walked in the order of their images and their rows dealt out to buckets, which so come out
    sorted; only then are they written, bucket by bucket.
    """
    n = group.shape[1]
    steps = offset.shape[0]
    most = (start.shape[1] - 1) // steps
    back = np.empty(n, np.int64)
    image = np.zeros(most, np.int64)
    dealt = np.empty(bucket.size, np.int32)
    origin = np.empty(bucket.size, np.int32)
    end = np.empty(steps * most, np.int64)
    for g in range(group.shape[0]):
        for v in range(n):
            back[group[g, v]] = v
        for i in range(nodes.size):
            _match_links(group[g], nodes[i], link_ptr, link_id, tail, image)
            for b in range(steps * most):
                end[b] = start[i, b]
            for v in range(n):
                for r in range(first[i, back[v]], first[i, back[v] + 1]):
                    b = bucket[r]
                    dealt[end[b]], origin[end[b]] = r, v
                    end[b] += 1
            for b in range(steps * most):
                t, e = b // most, image[b % most]
                shift = offset[t, e] - start[i, b]
                for j in range(start[i, b], end[b]):
                    r, to = dealt[j], j + shift
                    to_source[to], to_lo[to], to_hi[to], to_link[to], to_step[to] = origin[j], lo[r], hi[r], e, t + 1
