"""All-to-all schedules: every chunk takes a path of its own, and all links are kept equally busy at every step.

In a given number of steps T a chunk for a node k hops away may wait T - k times, or take a longer way. So the graph is
unrolled in time: the price of a link at a step grows with its load there, and paths are rerouted along the cheapest
ways, those of a source together at first and then fewer and fewer at a time, until the sum over steps of the busiest
link's load no longer falls. For any prices that add up to 1 a step, the sum over all pairs of the cheapest way is below
every routing in T steps (LP duality): that is the bound that is reported, in exact arithmetic. Hop by hop along
shortest paths is the case without waiting.

Not here: the throughput without steps (a flow, docs/all-to-all.md), which is below what any number of steps reaches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from linkstep._kernels.exchange import _busiest, _fill_rows, _route, _set_prices, _total_distance
from linkstep.core.collective import Collective
from linkstep.core.errors import LinkstepError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology, check_connected, diameter
from linkstep.core.units import check_count
from linkstep.costs import cost_of, distance_flow_bound

Progress = Callable[[int, int], None]

MAX_CHUNKS = 16
"""Chunks of a piece that are tried, unless their number is given."""
_WORK = 3 * 10**8
"""Link prices that may be looked at: more passes where a pass is cheap."""
_FEWEST, _MOST = 8, 60
"""Passes."""
_CLOSE = Fraction(101, 100)
"""A bandwidth this close to the bound needs no finer chunks."""
_MOST_BYTES = 2**28
"""Of paths."""
_SOFT = 64.0
"""How steep prices may be that give a bound."""
_PRICE, _SLOWER = 2**32, 2**8
"""What 1 is in whole prices, and the part of it that is there for slower links."""
_EXACT = 1.0001
_WAIT = 255
"""As in ``_kernels/exchange.py``."""


@dataclass(frozen=True)
class Exchange:
    """An all-to-all schedule, and what no other in as many steps goes below, in the same units as its T_B."""

    schedule: Schedule
    chunks: int
    """Of a piece."""
    bound: Fraction


def all_to_all_schedule(
    topology: Topology,
    *,
    steps: int | None = None,
    chunks: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exchange:
    """Make an all-to-all in ``steps`` steps, the diameter by default, of pieces in ``chunks`` chunks.

    Without ``chunks`` their number is doubled until the bandwidth is within 1% of the bound, or no longer falls.

    >>> from linkstep.families import complete_bipartite
    >>> from linkstep.costs import cost_of
    >>> made = all_to_all_schedule(complete_bipartite(4))
    >>> print(cost_of(made.schedule), made.chunks)
    2 alpha + 5/4 M/B 4
    """
    check_connected(topology)
    least = diameter(topology)
    wanted = least if steps is None else steps
    if wanted < least:
        raise LinkstepError(f"an all-to-all takes at least as many steps as the diameter, {least}, not {wanted}")
    n = topology.num_nodes
    if n == 1:
        return Exchange(_schedule(topology, np.zeros((1, 1, 0), np.uint8)), 1, Fraction(0))
    if chunks is not None:
        check_count("chunks", chunks, 1, 2**16)
    best: Exchange | None = None
    number = 1 if chunks is None else chunks
    while True:
        found = _balanced(topology, wanted, number, seed, progress)
        if best is None or _bandwidth(found) < _bandwidth(best):
            best = found
        done = chunks is not None or 2 * number > MAX_CHUNKS or n * n * 2 * number * wanted > _MOST_BYTES
        if done or _bandwidth(best) <= _CLOSE * max(best.bound, _distance_bound(topology)):
            return best
        number *= 2


def _distance_bound(topology: Topology) -> Fraction:
    """Return T_B if all links were always busy with chunks on shortest paths."""
    return topology.degree / (topology.num_nodes * distance_flow_bound(topology))


def _bandwidth(made: Exchange) -> Fraction:
    return cost_of(made.schedule).bandwidth


def _weights(topology: Topology) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return how much slower each link is than the fastest; 0 for a self-loop, which carries nothing."""
    loops = topology.tail == topology.head
    if topology.bandwidth is None:
        weight = np.ones(topology.num_links)
    else:
        weight = topology.bandwidth[~loops].max() / topology.bandwidth.astype(np.float64)
    weight[loops] = 0
    return weight


def _balanced(topology: Topology, steps: int, chunks: int, seed: int, progress: Progress | None) -> Exchange:
    """Route all paths and reroute them; keep the best, and the best bound that prices gave on the way."""
    n, m = topology.num_nodes, topology.num_links
    graph = (topology.in_ptr, topology.in_link, topology.tail)
    weight, rng = _weights(topology), np.random.default_rng(seed)
    paths = np.full((n * chunks, n, steps), _WAIT, np.uint8)
    load, price, average = np.zeros((steps, m), np.int64), np.zeros((steps, m)), np.zeros((steps, m))
    cost, tree = np.zeros((steps + 1, n)), np.zeros((steps, n), np.uint8)
    least, bound, kept = np.inf, 0, paths
    plan = _passes(n, chunks, steps, m)
    for k, (groups, sharpness) in enumerate(plan):
        if progress is not None:
            progress(k, len(plan))
        order, group = rng.permutation(n * chunks), rng.permutation(n) % groups
        _route(order, group, groups, k == 0, *graph, weight, sharpness, paths, load, price, cost, tree)
        reached = _busiest(load, weight)
        if reached < least:
            least, kept = reached, paths.copy()
        _set_prices(load, weight, min(sharpness, _SOFT), price)
        average += price
        if k % 4 == 3 or k == len(plan) - 1:
            bound = max(bound, int(_total_distance(*graph, _whole(average / (k + 1), weight), cost, tree)))
            if least * _PRICE <= _EXACT * chunks * bound:
                break
    return Exchange(_schedule(topology, kept), chunks, Fraction(bound * topology.degree, n * _PRICE))


def _whole(
    price: np.ndarray[tuple[int, int], np.dtype[np.float64]], weight: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return prices as whole numbers, rounded down so that those of a step still add up to no more than _PRICE.

    A link that is w times slower than the fastest counts w times; w is rounded down as well.
    """
    slow = np.where(weight > 0, weight, 1.0)
    share = np.floor(price / slow * (1 - 1e-9) * (_PRICE // _SLOWER))
    return np.where(weight > 0, share * np.floor(slow * _SLOWER), np.inf)


def _passes(num_nodes: int, chunks: int, steps: int, num_links: int) -> list[tuple[int, float]]:
    """Return (groups of destinations, sharpness of prices) of each pass; more of them where they are cheap."""
    each = 3 * num_nodes * chunks * steps * num_links
    steepest = max(8.0 * chunks * num_nodes * num_nodes * steps / num_links, 64.0)  # one chunk more makes a difference
    found, spent = [], 0
    for k in range(_MOST):
        part = k / (_MOST - 1)
        groups = min(int(num_nodes ** max(2 * part - 0.5, 0.0)), num_nodes)
        spent += each * groups
        if spent > _WORK and k >= _FEWEST:
            break
        found.append((groups, 4.0 * (steepest / 4) ** part))
    return found


def _schedule(topology: Topology, paths: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> Schedule:
    """Return the rows of all paths, joined where neighbouring chunks go together."""
    graph = (topology.in_ptr, topology.in_link, topology.tail)
    size = int((paths != _WAIT).sum())
    source, link, step = (np.empty(size, np.int32) for _ in range(3))
    chunk = np.empty(size, np.int64)
    _fill_rows(paths, *graph, source, chunk, link, step)
    order = np.lexsort((chunk, source, link, step))
    source, chunk, link, step = source[order], chunk[order], link[order], step[order]
    new = np.ones(size, np.bool_)
    if size:
        same = (source[1:] == source[:-1]) & (link[1:] == link[:-1]) & (step[1:] == step[:-1])
        new[1:] = ~(same & (chunk[1:] == chunk[:-1] + 1))
    first = np.flatnonzero(new)
    last = np.append(first[1:], size) - 1
    return Schedule.from_columns(
        topology, paths.shape[0], source[first], chunk[first], chunk[last] + 1 if size else chunk[last], link[first],
        step[first], Collective.ALL_TO_ALL,
    )  # fmt: skip
