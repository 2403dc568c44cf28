"""More steps are never worse: what is made for a number of steps is not dominated by what fewer steps give."""

from itertools import pairwise

import pytest

import linkstep
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError
from linkstep.core.topology import Topology
from linkstep.costs import Cost
from linkstep.methods.common.ladder import ladder
from linkstep.methods.overlap import least_overlapped_steps


def costs(topology: Topology, collective: str, method: str, least: int, more: int, chunks: int | None) -> list[Cost]:
    """What is made for each number of steps, from the least on."""
    return [
        linkstep.schedule(topology, collective, method=method, steps=least + k, chunks=chunks).cost
        for k in range(more + 1)
    ]


def check_none_is_dominated(found: list[Cost], least: int, halves: int = 1) -> None:
    for k, cost in enumerate(found):
        assert cost.steps <= (least + k) * halves
    for fewer, more in pairwise(found):
        assert fewer == more or more.bandwidth < fewer.bandwidth, found


def graph(recipe: str) -> Topology:
    return linkstep.parse(recipe).topology()


EXCHANGES = [
    ("BiRing(2,24)", 8, 2), ("BiRing(2,9)", 1, 3), ("C(12,{2,3})", None, 4), ("Pi_{2,9}", 2, 4), ("Torus(3,4)", 1, 3),
    ("DBJMod(2,3)", 3, 4), ("K(2,3)", None, 3), ("UniRing(1,5)", 2, 4), ("Q(3)", 1, 3), ("Pi_{3,11}", 1, 12),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "chunks", "more"), EXCHANGES)
def test_all_to_all(recipe, chunks, more):
    topology = graph(recipe)
    least = diameter(topology)
    check_none_is_dominated(costs(topology, "all-to-all", "exchange", least, more, chunks), least)


@pytest.mark.slow
def test_all_to_all_where_rates_differ():
    torus = graph("Torus(3,3)")
    topology = torus.with_bandwidth([3 + e % 5 for e in range(torus.num_links)])
    check_none_is_dominated(costs(topology, "all-to-all", "exchange", 2, 4, None), 2)


@pytest.mark.parametrize("chunks", [None, 2])
def test_arrivals(chunks):
    check_none_is_dominated(costs(graph("L(Diamond)"), "allgather", "arrival", 4, 3, chunks), 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "collective", "chunks"),
    [("DBJMod(2,3)", "allgather", 2), ("DBJMod(2,3)", "allreduce", 2), ("L(Diamond)", "allreduce", None)],
)
def test_halves_by_arrivals(recipe, collective, chunks):
    topology = graph(recipe)
    least = diameter(topology)
    found = costs(topology, collective, "arrival", least, 3, chunks)
    check_none_is_dominated(found, least, halves=1 + (collective == "allreduce"))


@pytest.mark.slow
def test_arrivals_on_a_grid_where_rates_differ():
    """Arrivals are searched as if shards were cut at will; the schedules on the grid are what is compared."""
    base = graph("DBJMod(2,3)")
    topology = base.with_bandwidth([2 + e % 3 for e in range(base.num_links)])
    check_none_is_dominated(costs(topology, "allgather", "arrival", 3, 3, 2), 3)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["DBJMod(2,3)", "BiRing(2,5)", "Torus(3,3)"])
def test_overlapping_halves(recipe):
    topology = graph(recipe)
    least = least_overlapped_steps(topology)
    check_none_is_dominated(costs(topology, "allreduce", "overlapped", least, 3, None), least)


def test_every_ladder_goes_on_from_the_shorter_ones():
    for least in range(4):
        for most in range(least, 60):
            tried = list(ladder(least, most))
            assert tried[0] == least and tried == list(ladder(least, 60))[: len(tried)]
            assert tried[:9] == list(range(least, most + 1))[:9]


def test_steps_are_checked_before_the_work():
    for steps in (5000, 10**9, 4.5):
        with pytest.raises(LinkstepError, match="steps must"):
            linkstep.schedule("DBJMod(2,3)", "allgather", method="arrival", steps=steps)
