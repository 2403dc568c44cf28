"""Slow plain twins of the core, and plain generators of the schedules the tests start from.

Shares no code with the package and uses other algorithms: sets of unit pieces instead of intervals, forward
counting of contributions instead of backward spreading, Floyd-Warshall instead of breadth-first search,
permutations tried one by one. Links are lists of (tail, head), a row is a tuple (source, lo, hi, link, step).
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np

Links = list[tuple[int, int]]
Row = tuple[int, int, int, int, int]
ROW = ("source", "lo", "hi", "link", "step")


# Graphs


def all_distances(num_nodes: int, links: Links) -> list[list[int]]:
    """Return d(u, w) for all pairs, -1 where there is no path, by Floyd-Warshall."""
    far = num_nodes + 1
    dist = [[0 if u == w else far for w in range(num_nodes)] for u in range(num_nodes)]
    for u, w in links:
        if u != w:
            dist[u][w] = 1
    for m in range(num_nodes):
        for u in range(num_nodes):
            for w in range(num_nodes):
                dist[u][w] = min(dist[u][w], dist[u][m] + dist[m][w])
    return [[-1 if d >= far else d for d in row] for row in dist]


def priced_distances(num_nodes: int, links: Links, prices: list[int]) -> list[list[int]]:
    """Return the least price of a way between all pairs of a connected graph, by Floyd-Warshall."""
    far = sum(prices) + 1
    dist = [[0 if u == w else far for w in range(num_nodes)] for u in range(num_nodes)]
    for (u, w), price in zip(links, prices, strict=True):
        dist[u][w] = min(dist[u][w], price)
    for m in range(num_nodes):
        for u in range(num_nodes):
            for w in range(num_nodes):
                dist[u][w] = min(dist[u][w], dist[u][m] + dist[m][w])
    return dist


def is_conserved(num_nodes: int, links: Links, source: int, flow: list[Fraction]) -> bool:
    """Whether a flow takes one unit from a source to every other node and is nowhere negative."""
    kept = [Fraction(0)] * num_nodes
    for (u, w), amount in zip(links, flow, strict=True):
        kept[u] -= amount
        kept[w] += amount
    return min(flow) >= 0 and all(kept[u] == 1 for u in range(num_nodes) if u != source)


def profiles(num_nodes: int, links: Links, targets: list[int]) -> list[list[int]]:
    """Return how many nodes are at distance 0, 1, ... of each target, padded to the longest."""
    dist = all_distances(num_nodes, links)
    counts = [Counter(dist[u][target] for u in range(num_nodes)) for target in targets]
    width = 1 + max((max(c) for c in counts), default=0)
    return [[c[x] for x in range(width)] for c in counts]


def line_graph(links: Links) -> Links:
    """Return the links of L(G) by its definition, node e being link e (linegraphdef)."""
    return [(e, f) for e, (_, v) in enumerate(links) for f, (w, _) in enumerate(links) if v == w]


def degree_expand(links: Links, times: int) -> Links:
    """Return the links of G*n by its definition (def:degreeexp)."""
    return [(u * times + i, v * times + j) for u, v in links for i in range(times) for j in range(times)]


def cartesian_product(n: int, left: Links, m: int, right: Links) -> Links:
    """Return the links of G x H by its definition, node (u, w) being its place in reading order."""
    place = {pair: i for i, pair in enumerate(product(range(n), range(m)))}
    along_left = [(place[u, w], place[v, w]) for u, v in left for w in range(m)]
    return along_left + [(place[u, w], place[u, x]) for u in range(n) for w, x in right]


def mappings(num_nodes: int, left: Counter, right: Counter) -> list[tuple[int, ...]]:
    """Return every node permutation that turns the multiset of links (u, w, *columns) into the other."""
    return [
        p
        for p in permutations(range(num_nodes))
        if Counter({(p[u], p[w], *columns): k for (u, w, *columns), k in left.items()}) == right
    ]


def moore_bound(degree: int, steps: int, bidirectional: bool) -> int:
    """Return the most nodes within ``steps`` of one; if bidirectional, no walk turns straight back."""
    if not bidirectional:
        return sum(degree**i for i in range(steps + 1))
    return 1 + sum(degree * (degree - 1) ** i for i in range(steps))


# Rows


def first_misplaced(num_nodes: int, num_links: int, unit: int, rows: list[Row]) -> tuple[int, int]:
    """Return (row, rule) of the first row out of range or order, (-1, 0) if there is none."""
    places = [(step, link, source, lo) for source, lo, _, link, step in rows]
    for r, (source, lo, hi, link, step) in enumerate(rows):
        broken = [
            source not in range(num_nodes),
            link not in range(num_links),
            step < 1,
            not set(range(lo, hi)) or not set(range(lo, hi)) <= set(range(unit)),
            max(places[: r + 1]) != places[r],
        ]
        if any(broken):
            return r, broken.index(True)
    return -1, 0


def link_loads(rows: list[Row]) -> dict[tuple[int, int], int]:
    """Return what each (step, link) carries, in units."""
    loads: dict[tuple[int, int], int] = defaultdict(int)
    for _, lo, hi, link, step in rows:
        loads[step, link] += hi - lo
    return loads


def cost(num_shards: int, links: Links, unit: int, rows: list[Row], rates: list[int] | None = None) -> tuple:
    """Return (T_L, T_B) by sec:costmodelmain: M = B = 1 is all the shards, the fastest link that is no loop has 1/d."""
    steps = max((row[4] for row in rows), default=0)
    ports = Counter(u for u, _ in links), Counter(w for _, w in links)
    degree = max((max(c.values()) for c in ports if c), default=0)
    fastest = max((rate for (u, w), rate in zip(links, rates or [], strict=False) if u != w), default=1)
    seconds: dict[int, Fraction] = defaultdict(Fraction)
    for (step, link), load in link_loads(rows).items():
        speed = Fraction(1, degree) * (Fraction(rates[link], fastest) if rates else 1)
        seconds[step] = max(seconds[step], Fraction(load, unit) * Fraction(1, num_shards) / speed)
    return steps, sum(seconds.values(), Fraction(0))


def seconds(num_nodes: int, unit: int, rows: list[Row], rates: list[int], delays: list[int], size: int) -> Fraction:
    """Return how long the steps take in turn, each as long as its slowest link (sec:heterogeneous)."""
    took: dict[int, Fraction] = defaultdict(Fraction)
    for (step, link), load in link_loads(rows).items():
        bits = Fraction(8 * size * load, num_nodes * unit)
        took[step] = max(took[step], Fraction(delays[link], 10**9) + bits / rates[link])
    return sum(took.values(), Fraction(0))


# Intervals as sets of units


def intervals(units: set[int]) -> list[tuple[int, int]]:
    """Return the maximal runs of consecutive numbers as [lo, hi)."""
    starts = sorted(x for x in units if x - 1 not in units)
    ends = sorted(x + 1 for x in units if x + 1 not in units)
    return list(zip(starts, ends, strict=True))


def missing_piece(held: set[int], lo: int, hi: int) -> tuple[int, int]:
    """Return the first run of [lo, hi) outside held, or (hi, hi)."""
    return next(iter(intervals(set(range(lo, hi)) - held)), (hi, hi))


def overlap(held: set[int], lo: int, hi: int) -> tuple[int, int]:
    """Return the first run of [lo, hi) inside held, or (lo, lo)."""
    return next(iter(intervals(set(range(lo, hi)) & held)), (lo, lo))


def spread(ranks, unit, giver, taker, rows, wanted, backward, once):
    """Return the witness (kind, row, source, node, a, b) that the kernel of the checker is to find.

    ``wanted`` are the row numbers to follow; ``ranks[v]`` is the node of shard v, and only these need anything.
    """
    failures, lacking = [], []
    for v, home in enumerate(ranks):
        held = defaultdict(set)
        held[home] = set(range(unit))
        mine = sorted((r for r in wanted if rows[r][0] == v), reverse=backward)
        failure = None
        for now in dict.fromkeys(rows[r][4] for r in mine):
            together = [r for r in mine if rows[r][4] == now]
            for r in together:
                _, lo, hi, link, _ = rows[r]
                u = giver[link]
                a, b = (lo, lo) if u == taker[link] else missing_piece(held[u], lo, hi)
                if u == taker[link] or a < b:
                    failure = failure or (1 if u == taker[link] else 2, r, v, u, a, b)
            for r in together if failure is None else ():
                _, lo, hi, link, _ = rows[r]
                a, b = overlap(held[taker[link]], lo, hi)
                if once and a < b:
                    failure = failure or (3, r, v, taker[link], a, b)
                held[taker[link]] |= set(range(lo, hi))
            if failure:
                break
        if failure:
            failures.append(failure)
            continue
        for u in ranks:
            a, b = missing_piece(held[u], 0, unit)
            if a < b:
                lacking.append((4, -1, v, u, a, b))
    failures.sort(key=lambda failure: failure[1], reverse=backward)
    return (failures + lacking or [(0, -1, 0, 0, 0, 0)])[0]


# Collectives, decided by running them forwards piece by piece


def is_allgather(
    num_nodes: int,
    links: Links,
    unit: int,
    rows: list[Row],
    shards: list[int] | None = None,
    ranks: list[int] | None = None,
) -> bool:
    """Whether every row sends what its sender holds before its step and all ranks end with all (def:allgather).

    ``ranks[v]`` is the node of shard v; other nodes hold nothing at first.
    """
    ranks = list(range(num_nodes)) if ranks is None else ranks
    shards = list(range(len(ranks))) if shards is None else shards
    held: list[set] = [
        {(v, x) for v, home in enumerate(ranks) if home == u for x in range(unit)} for u in range(num_nodes)
    ]
    for now in sorted({row[4] for row in rows}):
        arriving = []
        for source, lo, hi, link, step in rows:
            if step != now:
                continue
            u, w = links[link]
            chunk = {(source, x) for x in range(lo, hi)}
            if u == w or not chunk <= held[u]:
                return False
            arriving.append((w, chunk))
        for w, chunk in arriving:
            held[w] |= chunk
    return all((v, x) in held[u] for u in ranks for v in shards for x in range(unit))


def is_all_to_all(num_nodes: int, links: Links, unit: int, rows: list[Row], ranks: list[int] | None = None) -> bool:
    """Whether every row sends what its sender holds and rank w ends with the w-th R-th of every shard.

    A copy of unit x of shard v is followed backwards from where it must be, over every row that could have brought it.
    """
    ranks = list(range(num_nodes)) if ranks is None else ranks
    if unit % len(ranks) or any(links[row[3]][0] == links[row[3]][1] for row in rows):
        return False

    def had(node: int, v: int, x: int, before: int) -> bool:
        came = [row for row in rows if row[0] == v and row[4] < before and row[1] <= x < row[2]]
        return node == ranks[v] or any(links[row[3]][1] == node and had(links[row[3]][0], v, x, row[4]) for row in came)

    sound = all(had(links[e][0], v, x, step) for v, lo, hi, e, step in rows for x in range(lo, hi))
    last = max((row[4] for row in rows), default=0) + 1
    pieces = range(len(ranks))
    return sound and all(had(ranks[x * len(ranks) // unit], v, x, last) for v in pieces for x in range(unit))


def is_reduce_scatter(
    num_nodes: int,
    links: Links,
    unit: int,
    rows: list[Row],
    shards: list[int] | None = None,
    ranks: list[int] | None = None,
) -> bool:
    """Whether each shard's node ends with every rank's part exactly once, and every row had a share in that.

    A row adds its sender's sum, as of before the step, to the receiver's. It stamps what it sends, so the
    final sum tells which rows helped. A node that is no rank has no part: its sum is empty until one comes, and none
    but a sum of something may be sent.
    """
    ranks = list(range(num_nodes)) if ranks is None else ranks
    shards = list(range(len(ranks))) if shards is None else shards
    sums: dict[tuple[int, int, int], Counter] = {
        (u, v, x): Counter([u] if u in ranks else []) for u in range(num_nodes) for v in shards for x in range(unit)
    }
    for now in sorted({row[4] for row in rows}):
        before = {key: sums[key].copy() for key in sums}
        for r, (source, lo, hi, link, step) in enumerate(rows):
            if step != now:
                continue
            u, w = links[link]
            if u == w:
                return False
            for x in range(lo, hi):
                if not before[u, source, x]:
                    return False
                sums[w, source, x] += before[u, source, x] + Counter([("row", r)])
    once = all(sums[ranks[v], v, x][u] == 1 for v in shards for x in range(unit) for u in ranks)
    helped = all(
        sums[ranks[source], source, x]["row", r] for r, (source, lo, hi, _, _) in enumerate(rows) for x in range(lo, hi)
    )
    return once and helped


def phases(links: Links, rows: list[Row], ranks: list[int]) -> list[int]:
    """Return for each row whether its source's node has sent none (0), all (1) or some (2) of its units by then."""

    def first(v: int, x: int) -> float:
        return min(
            (t for w, lo, hi, e, t in rows if w == v and ranks[v] == links[e][0] and lo <= x < hi), default=float("inf")
        )

    sent = [{first(v, x) <= t for x in range(lo, hi)} for v, lo, hi, _, t in rows]
    return [2 if len(both) > 1 else int(True in both) for both in sent]


def is_allreduce(num_nodes: int, links: Links, unit: int, rows: list[Row], ranks: list[int] | None = None) -> bool:
    """Whether each unit's rows split at some step into a reduction to some node and a gathering from it (every step and
    every node is tried, but only a shard's own where some nodes are no ranks), and no row reduces one unit and gathers
    another."""
    ranks = list(range(num_nodes)) if ranks is None else ranks
    last = max((row[4] for row in rows), default=0)

    def is_split_at(v: int, x: int, root: int, t: int) -> bool:
        here = [(root, 0, 1, e, s) for w, lo, hi, e, s in rows if w == v and lo <= x < hi]
        reduction, gathering = [row for row in here if row[4] < t], [row for row in here if row[4] >= t]
        return is_allgather(num_nodes, links, 1, gathering, [root], ranks) and is_reduce_scatter(
            num_nodes, links, 1, reduction, [root], ranks
        )

    splits = {}
    for v in range(len(ranks)):
        for x in range(unit):
            roots = range(len(ranks)) if len(ranks) == num_nodes else [v]
            tried = ((root, t) for root in roots for t in range(1, last + 2))
            splits[v, x] = next((t for root, t in tried if is_split_at(v, x, root, t)), None)
    return None not in splits.values() and all(
        len({step < splits[v, x] for x in range(lo, hi)}) == 1 for v, lo, hi, _, step in rows
    )


IS_COLLECTIVE = {
    "allgather": is_allgather,
    "reduce-scatter": is_reduce_scatter,
    "allreduce": is_allreduce,
    "all-to-all": is_all_to_all,
}


# Schedules of the paper, as the tests' starting points


def reverse(rows: list[Row]) -> list[Row]:
    """Return the reverse schedule (thm:scheduleswitch), for the links turned round in place."""
    last = max((row[4] for row in rows), default=0)
    return [(source, lo, hi, link, last - step + 1) for source, lo, hi, link, step in rows]


def then(first: list[Row], second: list[Row]) -> list[Row]:
    """Return the rows of one schedule followed by those of another (sec:allreduceopt)."""
    last = max((row[4] for row in first), default=0)
    return first + [(source, lo, hi, link, last + step) for source, lo, hi, link, step in second]


def hypercube(dimensions: int) -> Links:
    """Return the links of the hypercube sorted by (tail, head)."""
    return sorted((u, u ^ 1 << k) for u in range(2**dimensions) for k in range(dimensions))


def hypercube_allgather(dimensions: int) -> list[Row]:
    """Return recursive doubling in ``dimensions`` pieces, piece j starting with dimension j: T_B = T_B*."""
    number = {link: e for e, link in enumerate(hypercube(dimensions))}
    rows = []
    for piece in range(dimensions):
        held = {u: {u} for u in range(2**dimensions)}
        for step in range(1, dimensions + 1):
            far = 1 << (piece + step - 1) % dimensions
            rows += [(v, piece, piece + 1, number[u, u ^ far], step) for u in held for v in held[u]]
            held = {u: held[u] | held[u ^ far] for u in held}
    return rows


def hypercube_all_to_all(dimensions: int) -> list[Row]:
    """Return a piece for every node, sent along the differing dimensions in order; step k is dimension k."""
    number = {link: e for e, link in enumerate(hypercube(dimensions))}
    nodes, rows = range(2**dimensions), []
    for v, w in product(nodes, nodes):
        at = v
        for k in range(dimensions):
            far = at ^ ((at ^ w) & 1 << k)
            if far != at:
                rows.append((v, w, w + 1, number[at, far], k + 1))
            at = far
    return rows


def line_graph_schedule(links: Links, unit: int, rows: list[Row]) -> list[Row]:
    """Return A_{L(G)} (def:linegraph) for the links ``line_graph`` returns."""
    number = {pair: e for e, pair in enumerate(line_graph(links))}
    out = [(e, 0, unit, number[e, f], 1) for e, f in number if e != f]
    for v, lo, hi, e, step in rows:
        into_v = [f for f, (_, end) in enumerate(links) if end == v]
        onward = [f for f, (start, _) in enumerate(links) if start == links[e][1]]
        out += [(f, lo, hi, number[e, g], step + 1) for f in into_v for g in onward if f != g]
    return out


def degree_expand_schedule(
    num_nodes: int, links: Links, unit: int, rows: list[Row], times: int
) -> tuple[int, list[Row]]:
    """Return (unit, A_{G*n}) (def:degexpschedule) for the links ``degree_expand`` returns."""
    ports = Counter(w for _, w in links)[0] * times
    copies = range(times)
    out = [
        (v * times + j, lo * ports, hi * ports, (e * times + j) * times + i, step)
        for v, lo, hi, e, step in rows
        for i in copies
        for j in copies
    ]
    last = max(row[4] for row in rows)
    into: dict[int, list[int]] = defaultdict(list)
    for number, (_, w) in enumerate(degree_expand(links, times)):
        into[w].append(number)
    for u, i, j in product(range(num_nodes), copies, copies):
        for k, number in enumerate(into[u * times + j] if i != j else ()):
            out.append((u * times + i, k * unit, (k + 1) * unit, number, last + 1))
    return unit * ports, out


def cartesian_power_schedule(num_nodes: int, links: Links, unit: int, rows: list[Row], times: int) -> tuple:
    """Return (links, unit, rows) of the Cartesian power's schedule (thm:cartesianpowperformance)."""
    last = max(row[4] for row in rows)
    nodes = list(product(range(num_nodes), repeat=times))
    place = {node: i for i, node in enumerate(nodes)}
    ends, number = [], {}
    for axis, (e, (u, w)) in product(range(times), enumerate(links)):
        for rest in product(range(num_nodes), repeat=times - 1):
            tail, head = ((*rest[:axis], x, *rest[axis:]) for x in (u, w))
            number[axis, e, tail] = len(ends)
            ends.append((place[tail], place[head]))
    out = []
    for turn, j in product(range(times), range(times)):

        def turned(node: tuple, turn: int = turn) -> tuple:
            return (*node[times - turn :], *node[: times - turn])

        for w, lo, hi, e, step in rows:
            u = links[e][0]
            for x, y in product(product(range(num_nodes), repeat=j), repeat=2):
                for z in product(range(num_nodes), repeat=times - 1 - j):
                    source, tail = turned((*x, w, *z)), turned((*y, u, *z))
                    link = number[(j + turn) % times, e, tail]
                    out.append((place[source], turn * unit + lo, turn * unit + hi, link, step + j * last))
    return ends, unit * times, out


def hypercube_columns(dimensions: int, split: int = 1, collective: str = "allgather") -> dict[str, np.ndarray]:
    """Return ``hypercube_allgather`` as columns in the order of a schedule, for millions of rows.

    Each piece is cut into ``split`` rows. At step s, the link of u along dimension k carries piece
    (k - s + 1) mod n of the 2^(s-1) nodes that differ from u in the dimensions this piece has crossed before.
    """
    n, nodes = dimensions, np.arange(2**dimensions)
    far = np.sort(nodes[:, None] ^ (1 << np.arange(n)), axis=1)
    tail, head = np.repeat(nodes, n), far.ravel()
    crossed = np.log2(head ^ tail).astype(np.int64)
    turned = np.lexsort((tail, head))  # the link the other way
    parts = []
    for step in range(1, n + 1):
        spans = np.zeros((n, 1), np.int64)
        for k in range(step - 1):
            spans = np.concatenate([spans, spans ^ (1 << (np.arange(n)[:, None] + k) % n)], axis=1)
        piece = (crossed - step + 1) % n
        parts.append((step, piece, np.sort(tail[:, None] ^ spans[piece], axis=1).astype(np.int32)))
    backward = [(n + 1 - step, piece[turned], source[turned]) for step, piece, source in reversed(parts)]
    onward = [(n + step, piece, source) for step, piece, source in parts]
    chosen = {"allgather": parts, "reduce-scatter": backward, "allreduce": backward + onward}[collective]
    num_rows = sum(source.size for _, _, source in chosen) * split
    columns = {what: np.empty(num_rows, np.int64 if what in ("lo", "hi") else np.int32) for what in ROW}
    columns["step"] = columns["step"].astype(np.int16)
    at = 0
    for step, piece, source in chosen:
        shape = (*source.shape, split)
        here = slice(at, at + source.size * split)
        at = here.stop
        columns["source"][here].reshape(shape)[:] = source[:, :, None]
        columns["lo"][here].reshape(shape)[:] = piece[:, None, None] * split + np.arange(split)
        columns["link"][here].reshape(shape)[:] = np.arange(piece.size)[:, None, None]
        columns["step"][here] = step
    np.add(columns["lo"], 1, out=columns["hi"])
    return columns | {"tail": tail, "head": head}


# Wirings


def _shares(links: Links, rates: list[int] | None) -> list[Fraction]:
    """Return the rate of each link in parts of the fastest; self-loops carry nothing."""
    given = [1] * len(links) if rates is None else rates
    fastest = max((rate for (u, w), rate in zip(links, given, strict=True) if u != w), default=1)
    return [Fraction(rate * (u != w), fastest) for (u, w), rate in zip(links, given, strict=True)]


def tightest_cut(num_nodes: int, links: Links, rates: list[int] | None = None) -> Fraction:
    """Return the most |S| / capacity out of S over all sets S of nodes but none and all, each tried."""
    shares, worst = _shares(links, rates), Fraction(0)
    for inside in range(1, 2**num_nodes - 1):
        out = sum(r for (u, w), r in zip(links, shares, strict=True) if inside >> u & 1 and not inside >> w & 1)
        worst = max(worst, inside.bit_count() / out)
    return worst


def allreduce_shard_times(num_nodes: int, links: Links, rates: list[int] | None = None) -> Fraction:
    """Return N over the least capacity out of any set, or 2 N (N - 1) over all capacity if that is more."""
    shares, least = _shares(links, rates), Fraction(sum(_shares(links, rates)))
    total = least
    for inside in range(1, 2**num_nodes - 1):
        crossing = (r for (u, w), r in zip(links, shares, strict=True) if inside >> u & 1 and not inside >> w & 1)
        least = min(least, sum(crossing, Fraction(0)))
    return max(num_nodes / least, 2 * num_nodes * (num_nodes - 1) / total)


def arrival_loads(num_nodes: int, links: Links, rates: list[int], arrive: list[list[int]], pieces: int) -> dict:
    """Return the least load of each step, in pieces a unit of rate, for given arrivals; by every set of in-links.

    ``arrive[u][q]`` is the step at which piece q, of node q // pieces, reaches u. Raises where a piece reaches a node
    before any of its in-neighbours has it.
    """
    worst: dict[int, Fraction] = {}
    for u in range(num_nodes):
        into = [e for e, (w, x) in enumerate(links) if x == u and w != u]
        allowed: dict[int, list[set[int]]] = {}
        for q in range(num_nodes * pieces):
            if q // pieces == u:
                assert arrive[u][q] == 0
                continue
            ways = {e for e in into if arrive[links[e][0]][q] < arrive[u][q]}
            assert ways, (u, q)
            allowed.setdefault(arrive[u][q], []).append(ways)
        for step, ways in allowed.items():
            for size in range(1, len(into) + 1):
                for chosen in combinations(into, size):
                    inside = sum(way <= set(chosen) for way in ways)
                    load = Fraction(inside, sum(rates[e] for e in chosen))
                    worst[step] = max(worst.get(step, Fraction(0)), load)
    return worst


def arrival_table(num_nodes: int, links: Links, arrive: list[list[int]], owner: list[int], steps: int) -> list:
    """Return counts[u][s][P]: pieces that reach u at step s and that only in-neighbours in P can bring, piece by piece.

    Bit k of P stands for the k-th in-neighbour in order. Raises where a piece reaches a node before any of them.
    """
    counts = []
    for u in range(num_nodes):
        near = sorted({w for w, x in links if x == u and w != u})
        rows = [[0] * 2 ** len(near) for _ in range(steps + 1)]
        for q, step in enumerate(arrive[u]):
            if owner[q] != u:
                have = {k for k, w in enumerate(near) if arrive[w][q] < step}
                assert have, (u, q)
                for chosen in range(2 ** len(near)):
                    rows[step][chosen] += all(chosen >> k & 1 for k in have)
        counts.append(rows)
    return counts


def lift_links(moduli: tuple[int, ...], power: int, links: list[tuple[int, ...]]) -> Links:
    """Return the links of a lift, from its definition; shifts are multiplied coordinate by coordinate.

    With two moduli (m, n) and r = ``power``, (a, b)(c, e) = (a + r^b c, b + e); otherwise coordinates add.
    """
    width = 1 + len(moduli)
    elements = list(product(*map(range, moduli)))
    number = {element: x for x, element in enumerate(elements)}
    found = []
    for link in links:
        for i in range(len(link) // width):
            j, *shift = link[i * width : (i + 1) * width]
            for x, element in enumerate(elements):
                moved = [a + c for a, c in zip(element, shift, strict=True)]
                if len(moduli) == 2:
                    moved[0] = element[0] + power ** element[1] * shift[0]
                y = number[tuple(c % m for c, m in zip(moved, moduli, strict=True))]
                found.append((i * len(elements) + x, j * len(elements) + y))
    return found


def missing_pairs(num_nodes: int, links: Links, targets: list[int]) -> list[int]:
    """Return, for t = 0, 1, ..., how many (node, target) are farther apart than t, to the first t with none; by sets.

    Ends with a repeated number where some target is out of a node's reach.
    """
    within = {target: {target} for target in targets}
    missing = [len(targets) * (num_nodes - 1)]
    while missing[-1] and (len(missing) < 2 or missing[-1] < missing[-2]):
        within = {target: reached | {u for u, w in links if w in reached} for target, reached in within.items()}
        missing.append(sum(num_nodes - len(reached) for reached in within.values()))
    return missing


# Grafts


def grafted(word: str, num_nodes: int, links: Links, degree: int, changes: list[tuple[int, ...]]) -> Links:
    """Return the links after Insert, Remove or Swap, sorted, by changing a list of links one at a time.

    Raises ValueError where a link is not there, as ``list.remove`` does.
    """
    now = list(links)
    both = sorted(now) == sorted((w, u) for u, w in now)

    def change(out: Links, put: Links, edges: bool) -> None:
        for u, w in out:
            now.remove((u, w))
            if edges:
                now.remove((w, u))
        for u, w in put:
            now.append((u, w))
            if edges:
                now.append((w, u))

    gone = []
    for i, numbers in enumerate(changes):
        u = num_nodes + i if word == "Insert" else numbers[0]
        ends = numbers[1:] if word == "Remove" else numbers
        pairs = [(ends[j], ends[j + 1]) for j in range(0, len(ends), 2)]
        edges = both if word == "Swap" else len(pairs) < degree
        if word == "Swap":
            (a, b), (c, e) = pairs
            change([(a, b), (c, e)], [(a, e), (c, b)], edges)
        for a, b in pairs:
            if word == "Insert":
                change([(a, b)], [(a, u), (u, b)], edges)
            if word == "Remove":
                change([(a, u), (u, b)], [(a, b)], edges)
        if edges and degree % 2 and i % 2 and word != "Swap":
            partner = [(u - 1 if word == "Insert" else changes[i - 1][0], u)]
            change(*((partner, []) if word == "Remove" else ([], partner)), edges)
        if word == "Remove":
            gone.append(u)
    stay = [u for u in range(num_nodes + len(changes)) if u not in gone]
    return sorted((stay.index(u), stay.index(w)) for u, w in now)


def pairs_beyond(dist: list[list[int]], steps: int) -> set[tuple[int, int]]:
    """Return the ordered pairs farther apart than ``steps`` steps, or without any path, of a table of distances."""
    return {(u, w) for u, row in enumerate(dist) for w, far in enumerate(row) if not 0 <= far <= steps}
