"""HiGHS as the outside truth for BFB: linear programs of sec:bfblp and sec:heterogeneous on plain data.

The homogeneous one is the benchmark's baseline; what is here adds latencies and bandwidths, for small instances.
"""

from fractions import Fraction
from itertools import combinations

import highspy
import numpy as np
from benchmarks.lp_baseline import Solver

from support import reference


def problems(num_nodes: int, links: list) -> list[tuple[int, int, list[int], list[set[int]]]]:
    """Return (u, t, in-links of u, f(v) for each source v) straight from the definition of f."""
    dist = reference.all_distances(num_nodes, links)
    found = []
    for u in range(num_nodes):
        into = [e for e, (w, x) in enumerate(links) if x == u != w]
        for t in range(1, max(dist[v][u] for v in range(num_nodes)) + 1):
            level = [v for v in range(num_nodes) if dist[v][u] == t]
            found.append((u, t, into, [{e for e in into if dist[v][links[e][0]] == t - 1} for v in level]))
    return found


def least_load(into: list[int], choices: list[set[int]]) -> Fraction:
    """Return U(u, t) by HiGHS, rationalised: its denominator is at most the number of links."""
    pairs = [(v, into.index(e)) for v, choice in enumerate(choices) for e in sorted(choice)]
    source, link = (np.array(column) for column in zip(*pairs, strict=True))
    load, _ = Solver().solve(len(into), source, link)
    exact = Fraction(load).limit_denominator(len(into))
    assert abs(float(exact) - load) < 1e-7
    return exact


def least_load_by_subsets(into: list[int], choices: list[set[int]]) -> Fraction:
    """Return U(u, t) by trying every set of links: the slow twin of both kernels (thm:balancedbfs)."""
    best = Fraction(0)
    for size in range(1, len(into) + 1):
        for chosen in combinations(into, size):
            inside = sum(choice <= set(chosen) for choice in choices)
            best = max(best, Fraction(inside, size))
    return best


def bandwidth(num_nodes: int, links: list, degree: int, solve) -> tuple[int, Fraction]:
    """Return T_L and T_B of the best BFB schedule, U(u, t) by ``solve`` (eq:lpT_B)."""
    worst: dict[int, Fraction] = {}
    for _, t, into, choices in problems(num_nodes, links):
        if choices:
            worst[t] = max(worst.get(t, Fraction(0)), solve(into, choices))
    return len(worst), sum(worst.values(), Fraction(0)) * degree / num_nodes


def least_time(into: list[int], choices: list[set[int]], alpha: list[float], seconds: list[float]) -> float:
    """Return the least max over *used* links of alpha + seconds a shard x load (lpmodelhetero).

    A link that only costs latency must not be paid for, so every set of links that serves all sources is tried.
    """
    best = np.inf
    for size in range(1, len(into) + 1):
        for used in combinations(into, size):
            if all(choice & set(used) for choice in choices):
                best = min(best, _least_time_using(used, choices, alpha, seconds))
    return float(best)


def _least_time_using(used, choices, alpha, seconds) -> float:
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    time = h.addVariable(lb=max(alpha[e] for e in used), obj=1.0)
    amounts = {(v, e): h.addVariable(0, 1) for v, choice in enumerate(choices) for e in sorted(choice & set(used))}
    for e in used:
        h.addConstr(sum(seconds[e] * x for (v, f), x in amounts.items() if f == e) - time <= -alpha[e])
    for v in range(len(choices)):
        h.addConstr(sum(x for (w, _), x in amounts.items() if w == v) == 1)
    h.run()
    return h.getInfo().objective_function_value


def least_exchange(num_nodes: int, links: list, steps: int, slowness: list[float]) -> float:
    """Return the least sum over steps of the busiest link's load of an all-to-all, pieces divisible at will.

    One flow a source in the graph unrolled in time: a unit leaves (s, 0) for every (w, steps).
    """
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    busiest = [h.addVariable(obj=1.0) for _ in range(steps)]
    loads: dict[tuple[int, int], list] = {}
    for s in range(num_nodes):
        balance: dict[tuple[int, int], list] = {(u, t): [] for u in range(num_nodes) for t in range(steps + 1)}
        for t in range(steps):
            ways = [(u, u, -1) for u in range(num_nodes)] + [(*link, e) for e, link in enumerate(links)]
            for u, w, e in ways:
                if e < 0 or u != w:
                    x = h.addVariable()
                    balance[w, t + 1].append(x)
                    balance[u, t].append(-1 * x)
                    if e >= 0:
                        loads.setdefault((t, e), []).append(slowness[e] * x)
        for (u, t), terms in balance.items():
            wanted = (1 if t == steps else 0) - (num_nodes if (u, t) == (s, 0) else 0)
            h.addConstr(sum(terms[1:], terms[0]) == wanted)
    for (t, _), terms in loads.items():
        h.addConstr(sum(terms[1:], terms[0]) - busiest[t] <= 0)
    h.run()
    return h.getInfo().objective_function_value


def concurrent_flow(num_nodes: int, links: list[tuple[int, int]], capacity: list[float]) -> float:
    """Return the largest f that every ordered pair can get at once: a commodity for each pair, no symmetry used."""
    capacity = [c for c, (u, w) in zip(capacity, links, strict=True) if u != w]
    links = [(u, w) for u, w in links if u != w]
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    f = h.addVariable(obj=-1.0)
    total = [[] for _ in links]
    for s in range(num_nodes):
        for t in range(num_nodes):
            if s == t:
                continue
            amounts = [h.addVariable() for _ in links]
            for e, x in enumerate(amounts):
                total[e].append(x)
            for u in range(num_nodes):
                if u not in (s, t):
                    into = sum(x for x, (_, w) in zip(amounts, links, strict=True) if w == u)
                    out = sum(x for x, (v, _) in zip(amounts, links, strict=True) if v == u)
                    h.addConstr(into - out == 0)
            arriving = sum(x if w == t else -x for x, (v, w) in zip(amounts, links, strict=True) if t in (v, w))
            h.addConstr(arriving - f >= 0)
    for e, amounts in enumerate(total):
        h.addConstr(sum(amounts) <= capacity[e])
    h.run()
    return -h.getInfo().objective_function_value


class _Rows:
    """A linear program put together row by row: least sum of the first ``steps`` columns, all columns >= 0."""

    def __init__(self, steps: int) -> None:
        self.steps, self.columns = steps, steps
        self.row, self.column, self.value, self.lower, self.upper = [], [], [], [], []

    def variable(self) -> int:
        self.columns += 1
        return self.columns - 1

    def add(self, terms: list[tuple[int, float]], lower: float, upper: float) -> None:
        for column, value in terms:
            self.row.append(len(self.lower))
            self.column.append(column)
            self.value.append(value)
        self.lower.append(lower)
        self.upper.append(upper)

    def least(self) -> float:
        lp, h = highspy.HighsLp(), highspy.Highs()
        h.setOptionValue("output_flag", False)
        lp.num_col_, lp.num_row_ = self.columns, len(self.lower)
        lp.col_cost_ = np.append(np.ones(self.steps), np.zeros(self.columns - self.steps))
        lp.col_lower_, lp.col_upper_ = np.zeros(self.columns), np.full(self.columns, highspy.kHighsInf)
        lp.row_lower_, lp.row_upper_ = np.array(self.lower), np.array(self.upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.searchsorted(np.array(self.row), np.arange(len(self.lower) + 1))
        lp.a_matrix_.index_, lp.a_matrix_.value_ = np.array(self.column), np.array(self.value, float)
        h.passModel(lp)
        h.run()
        assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return h.getInfo().objective_function_value


def _unrolled_flow(rows: _Rows, num_nodes: int, links: list, steps: int, dist: list, sources: list[int], sink: int):
    """Add a flow of one unit from each source to the sink in the graph unrolled in time; return its (link, step)s."""
    near = min(sources, key=lambda v: dist[v][sink])
    reach = [min(dist[v][w] for v in sources) for w in range(num_nodes)]
    assert dist[near][sink] <= steps
    balance: dict[tuple[int, int], list] = {}
    sent = {}
    for s in range(1, steps + 1):
        for e, (u, w) in enumerate([*links, *((u, u) for u in range(num_nodes))]):
            is_link = e < len(links)
            if (is_link and u == w) or reach[u] > s - 1 or dist[w][sink] > steps - s or (is_link and u == sink):
                continue
            x = rows.variable()
            balance.setdefault((u, s - 1), []).append((x, -1.0))
            balance.setdefault((w, s), []).append((x, 1.0))
            if is_link:
                sent[e, s] = x
    for (u, s), terms in balance.items():
        kept = float(len(sources)) if (u, s) == (sink, steps) else -1.0 if s == 0 and u in sources else 0.0
        rows.add(terms, kept, kept)
    return sent


def least_flow_to_each(num_nodes: int, links: list, steps: int, shares: list) -> float:
    """Return the least c_1 + ... + c_T so that all shards flow to each node, by itself, within c_s share(e)."""
    rows, dist = _Rows(steps), reference.all_distances(num_nodes, links)
    for sink in range(num_nodes):
        others = [v for v in range(num_nodes) if v != sink]
        for (e, s), x in _unrolled_flow(rows, num_nodes, links, steps, dist, others, sink).items():
            rows.add([(x, 1.0), (s - 1, -float(shares[e]))], -highspy.kHighsInf, 0.0)
    return rows.least()


def least_allgather(
    num_nodes: int, links: list, steps: int, shares: list, alike: list[int] | None = None
) -> float:  # fmt: skip
    """Return shard times that no allgather in this many steps goes below, shards divisible at will.

    A shard's load on a link is at least what flows over it to any one node, for every node; nodes that may send sums of
    a shard's chunks need no more. With ``alike``, the orbits of links under a group that moves each node to each other
    in exactly one way, one shard stands for all: a link's load is what this shard puts on all links of its orbit.
    """
    rows, dist = _Rows(steps), reference.all_distances(num_nodes, links)
    classes = list(range(len(links))) if alike is None else alike
    loads: dict[tuple[int, int], list] = {}
    for source in range(num_nodes if alike is None else 1):
        most: dict[tuple[int, int], int] = {}
        for sink in range(num_nodes):
            if sink == source:
                continue
            for at, x in _unrolled_flow(rows, num_nodes, links, steps, dist, [source], sink).items():
                if at not in most:
                    most[at] = rows.variable()
                    loads.setdefault((classes[at[0]], at[1]), []).append((most[at], 1.0 / float(shares[at[0]])))
                rows.add([(x, 1.0), (most[at], -1.0)], -highspy.kHighsInf, 0.0)
    for (_, s), terms in loads.items():
        rows.add([*terms, (s - 1, -1.0)], -highspy.kHighsInf, 0.0)
    return rows.least()
