"""Theorems of the paper that no other file holds, as properties; a test's name carries the label."""

from collections import Counter
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import linkstep
from linkstep.core.distances import distances_from
from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.core.topology import Topology
from linkstep.correctness import check_allgather, check_reduce_scatter
from linkstep.costs import bandwidth_bound, cost_of, is_bandwidth_optimal, moore_steps, wiring_bound
from linkstep.expansions import cartesian_power_schedule, line_graph_keeps_bfb, line_graph_schedule
from linkstep.families import family_written
from linkstep.families.complete import generalized_kautz
from linkstep.methods.bfb import bfb_allgather, bfb_cost
from linkstep.methods.transform import reverse
from linkstep.symmetry.distances import measure_distances
from support import lp
from support.strategies import Case, connected_link_lists, random_allgather, seeds, topology_of

SMALL = connected_link_lists(min_nodes=2, max_nodes=5, max_extra=6, loops=False)
OPTIMAL = (
    "K_4",
    "K_{2,2}",
    "K_{3,3}",
    "UniRing(1,5)",
    "UniRing(2,3)",
    "BiRing(2,5)",
    "BiRing(2,6)",
    "Q(3)",
    "C(7,{2,3})",
)
NOT_OPTIMAL = ("Pi_{2,5}", "Pi_{3,7}", "K(2,2)", "L(K_{2,2})", "C(15,{1,4,5})", "DBJ(2,2)")


def build(recipe: str) -> Topology:
    return linkstep.parse(recipe).topology()


def rows_of(schedule: Schedule) -> list[tuple[int, int, int, int, int]]:
    columns = (schedule.source, schedule.lo, schedule.hi, schedule.link, schedule.step)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def loads(schedule: Schedule) -> np.ndarray:
    """Return what every link carries at every step, in chunks."""
    found = np.zeros((schedule.num_steps, schedule.topology.num_links), np.int64)
    np.add.at(found, (schedule.step - 1, schedule.link), schedule.hi - schedule.lo)
    return found


def random_schedule(graph: tuple[int, list], seed: int, *, once: bool) -> Schedule:
    n, links = graph
    rng = Random(seed)
    unit = rng.randint(1, 2)
    return Case(n, links, unit, random_allgather(rng, n, links, unit, once=once)).schedule()


# Optimality


def is_balanced_and_once(schedule: Schedule) -> bool:
    """The two conditions of thm:bwopt: links equally loaded at every step; nobody gets a chunk twice, or its own."""
    every = loads(schedule)
    received = Counter(
        (int(schedule.topology.head[link]), source, x)
        for source, lo, hi, link, _ in rows_of(schedule)
        for x in range(lo, hi)
    )
    own = any(node == source for node, source, _ in received)
    return bool((every == every[:, :1]).all()) and max(received.values()) == 1 and not own


@pytest.mark.parametrize("recipe", [*OPTIMAL, *NOT_OPTIMAL], ids=lambda recipe: f"thm:bwopt-{recipe}")
def test_thm_bwopt(recipe):
    schedule = bfb_allgather(build(recipe))
    assert is_bandwidth_optimal(schedule.topology, cost_of(schedule)) == is_balanced_and_once(schedule)
    assert is_balanced_and_once(schedule) == (recipe in OPTIMAL)


@given(SMALL, seeds, st.booleans())
def test_property_thm_bwopt(graph, seed, once):
    """Whatever the allgather: balanced and without repeats if and only if T_B is (N-1)/N."""
    schedule = random_schedule(graph, seed, once=once)
    assume(schedule.topology.is_regular)
    assert is_bandwidth_optimal(schedule.topology, cost_of(schedule)) == is_balanced_and_once(schedule)


@given(SMALL, seeds, st.booleans())
def test_property_thm_diameter(graph, seed, once):
    """No allgather, and no reduce-scatter, takes fewer steps than the diameter; BFB takes as many."""
    schedule = random_schedule(graph, seed, once=once)
    diameter = measure_distances(schedule.topology).diameter
    assert schedule.num_steps >= diameter == bfb_cost(schedule.topology).steps
    assert wiring_bound(schedule.topology, "allgather").cost.steps == diameter
    assert wiring_bound(schedule.topology, "reduce-scatter").cost.steps == diameter


@given(SMALL, seeds)
def test_property_thm_computebound(graph, seed):
    """What the busiest node adds up, step by step, is at most T_B: it cannot add more than its d links bring."""
    schedule = reverse(random_schedule(graph, seed, once=True))
    topology = schedule.topology
    added = np.zeros((schedule.num_steps, topology.num_nodes), np.int64)
    np.add.at(added, (schedule.step - 1, topology.head[schedule.link]), schedule.hi - schedule.lo)
    into = np.bincount(topology.head, minlength=topology.num_nodes)
    assume((into <= topology.degree).all())  # T_B counts links of B/d, so that a node takes in B at most
    busiest = Fraction(int(added.max(axis=1).sum()), topology.num_nodes * schedule.unit)
    assert busiest <= cost_of(schedule).bandwidth


# Breadth-first broadcasts


@given(SMALL, seeds)
def test_property_thm_shortestpath(graph, seed):
    """Any split of what a node receives among its neighbours that are one hop nearer is an allgather; less is none."""
    n, links = graph
    rng, unit = Random(seed), 2
    topology = topology_of(n, links)
    ends = list(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    far = [distances_from(topology, v).tolist() for v in range(n)]
    rows = []
    for v, u in product(range(n), range(n)):
        nearer = [e for e, (w, head) in enumerate(ends) if head == u and far[v][w] + 1 == far[v][u]]
        rows += [(v, x, x + 1, rng.choice(nearer), far[v][u]) for x in range(unit) if u != v]
    schedule = Schedule.from_columns(topology, unit, *zip(*rows, strict=True))
    check_allgather(schedule)
    assert schedule.num_steps == max(map(max, far))
    rows.pop(rng.randrange(len(rows)))
    with pytest.raises(ScheduleError):
        check_allgather(Schedule.from_columns(topology, unit, *zip(*rows, strict=True)))


@pytest.mark.parametrize("recipe", [*OPTIMAL, *NOT_OPTIMAL], ids=lambda recipe: f"thm:shortestbwopt-{recipe}")
def test_thm_shortestbwopt(recipe):
    """BFB is bandwidth-optimal if and only if nodes have as many at each distance, shared equally by their links."""
    topology = build(recipe)
    schedule = bfb_allgather(topology)
    far = np.stack([distances_from(topology, v) for v in range(topology.num_nodes)])
    at = np.stack([(far == t).sum(axis=0) for t in range(1, schedule.num_steps + 1)])  # by step and receiver
    alike = bool((at == at[:, :1]).all())
    shared = bool((loads(schedule) * topology.degree == at[:, topology.head] * schedule.unit).all())
    assert (alike and shared) == is_bandwidth_optimal(topology, cost_of(schedule)) == (recipe in OPTIMAL)


def least_integral_load(choices: list, chunks: int) -> int:
    """Return W of the integer program by trying everything: P chunks of each shard over the links that may bring it."""

    def split(total: int, parts: int):
        if parts == 1:
            yield (total,)
            return
        for first in range(total + 1):
            yield from ((first, *rest) for rest in split(total - first, parts - 1))

    best = chunks * len(choices)
    for chosen in product(*(split(chunks, len(links)) for links in choices)):
        load: Counter = Counter()
        for links, parts in zip(choices, chosen, strict=True):
            load.update(dict(zip(links, parts, strict=True)))
        best = min(best, max(load.values()))
    return best


@given(connected_link_lists(min_nodes=2, max_nodes=4, max_extra=4, loops=False), st.integers(1, 3))
def test_property_integerprog(graph, chunks):
    """With P chunks a shard, BFB is the best of all BFB schedules in such chunks."""
    topology = topology_of(*graph)
    n, links = topology.num_nodes, list(zip(topology.tail.tolist(), topology.head.tolist(), strict=True))
    worst: Counter = Counter()
    for _, t, _, choices in lp.problems(n, links):
        if choices:
            worst[t] = max(worst[t], least_integral_load(choices, chunks))
    assert cost_of(bfb_allgather(topology, chunks)).bandwidth == Fraction(
        topology.degree * sum(worst.values()), chunks * n
    )


# Expansions


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    "recipe", ["K_4", "K_{2,2}", "K_{3,3}", "Q(3)", "Pi_{2,6}", "TwistedHypercube(4)"],
    ids=lambda recipe: f"thm:shortestpathlinegraphcoro-{recipe}",
)  # fmt: skip
def test_thm_shortestpathlinegraphcoro(recipe, times):
    base = build(recipe)
    schedule = bfb_allgather(base)
    assert line_graph_keeps_bfb(base)
    for _ in range(times):
        schedule = line_graph_schedule(schedule)
    n, d = base.num_nodes, base.degree
    grown = Fraction(d, d - 1) * (Fraction(1, n) - Fraction(1, d**times * n))
    assert cost_of(schedule) == bfb_cost(schedule.topology)
    assert cost_of(schedule).bandwidth == bfb_cost(base).bandwidth + grown


@given(SMALL, seeds)
def test_property_thm_scheduleswitchmap(graph, seed):
    """The line graph expansion of allgathers, read backwards on transposes, is one of reduce-scatters."""
    reduce_scatter = reverse(random_schedule(graph, seed, once=True))
    check_reduce_scatter(reduce_scatter)
    expanded = reverse(line_graph_schedule(reverse(reduce_scatter)))
    check_reduce_scatter(expanded)
    assert expanded.topology.num_nodes == reduce_scatter.topology.num_links
    assert cost_of(expanded) == cost_of(line_graph_schedule(reverse(reduce_scatter)))


@pytest.mark.parametrize(
    "recipe", ["K_3", "K_4", "K_{2,2}", "UniRing(1,4)", "BiRing(2,5)", "UniRing(2,3)"],
    ids=lambda recipe: f"coro:CartesianPowerExpansion-{recipe}",
)  # fmt: skip
def test_coro_cartesianpowerexpansion(recipe):
    """Powers of what is bandwidth-optimal are; of what is not they are not."""
    power = cartesian_power_schedule(bfb_allgather(build(recipe)), 2)
    check_allgather(power)
    assert is_bandwidth_optimal(power.topology, cost_of(power))
    worse = cartesian_power_schedule(bfb_allgather(build("Pi_{2,5}")), 2)
    assert not is_bandwidth_optimal(worse.topology, cost_of(worse))


# Generative topologies


@pytest.mark.parametrize("degree", [2, 3, 4, 5], ids=lambda degree: f"thm:genkautzdiameter-{degree}")
def test_thm_genkautzdiameter(degree):
    """m > M_{d,k-2} where k is the diameter: at most one step more than any graph needs."""
    for size in [*range(degree + 1, 60), 100, 101, 341, 342]:
        diameter = measure_distances(generalized_kautz(degree, size)).diameter
        largest = sum(degree**hops for hops in range(diameter - 1))  # M_{d,k-2}, nodes within k - 2 hops
        assert size > largest
        assert diameter <= moore_steps(size, degree) + 1


def twisted_tori(most: int) -> list[tuple[int, ...]]:
    family = family_written("TwistedTorus(d1,d2,...)")
    return [args for size in range(8, most + 1) for degree in (4, 6, 8) for args in family.members(size, degree)]


def check_twisted_torus(dims: tuple[int, ...]) -> None:
    topology = build(f"TwistedTorus({','.join(map(str, dims))})")
    assert bfb_cost(topology).bandwidth == bandwidth_bound(topology.num_nodes), dims


def test_sec_generateivetopo():
    """Twisted tori are bandwidth-optimal by BFB, which the paper has computed up to 10^4 nodes."""
    for dims in twisted_tori(600):
        check_twisted_torus(dims)


@pytest.mark.slow
def test_sec_generateivetopo_up_to_ten_thousand_nodes():
    found = twisted_tori(10_000)
    assert len(found) > 100
    for dims in found:
        check_twisted_torus(dims)
