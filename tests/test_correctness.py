"""The checker: right schedules pass, wrong ones are refused with a witness; the slow reference decides."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkstep._kernels.spread import _insert, _missing_piece
from linkstep.core import schedule as schedules
from linkstep.core.errors import ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.correctness import (  # kernels too, as they are called: with arrays that they may only read
    CHECKS,
    _phases,
    _reduced,
    _rows_by_source,
    _spread,
    check,
    check_allgather,
    check_allreduce,
    check_reduce_scatter,
    split_phases,
)
from linkstep.costs import Cost, cost_of
from support import reference, strategies
from support.strategies import (
    COLLECTIVES,
    MUTATIONS,
    Case,
    complete_bipartite,
    connected_link_lists,
    forwarding_cases,
    garbage_cases,
    pairs,
    random_case,
    right_cases,
    seeds,
    topology_of,
)


def refusal(schedule: Schedule) -> ScheduleError | None:
    """Return the checker's error, or None if it passes."""
    try:
        check(schedule)
    except ScheduleError as error:
        return error
    return None


def assert_same_verdict(case: Case) -> bool:
    """Hold the checker against the reference; return the verdict."""
    schedule = case.schedule()
    error = refusal(schedule)
    assert (error is None) == case.is_right, f"{case}\nchecker: {error}"
    if error is not None:
        assert_witness_is_true(schedule, error)
    return error is None


def assert_witness_is_true(schedule: Schedule, error: ScheduleError) -> None:
    """Whatever the kind, the row named is the one described (``test_spread`` sees to the rest)."""
    message = str(error)
    assert "\n" not in message
    assert message.startswith("row ") == (error.row is not None)
    if error.row is None:
        assert " never " in message or message.startswith("the unit of an all-to-all must be a multiple")
        return
    r = error.row
    e = schedule.link[r]
    u, w = schedule.topology.tail[e], schedule.topology.head[e]
    chunk = f"[{schedule.lo[r]}, {schedule.hi[r]})/{schedule.unit} of shard {schedule.source[r]}"
    if not schedule.ranks.is_everyone:
        chunk += f" (of node {schedule.ranks.nodes[schedule.source[r]]})"
    assert message.startswith(f"row {r}: step {schedule.step[r]}, link {e} ({u} -> {w}) carries {chunk}, but ")


# Verdicts


@given(right_cases())
def test_right_schedules_pass(case):
    assert case.is_right
    assert assert_same_verdict(case)


@given(garbage_cases())
def test_garbage_gets_the_verdict_of_the_reference(case):
    assert_same_verdict(case)


@given(right_cases(), seeds, st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=3))
def test_mutations_get_the_verdict_of_the_reference(case, seed, kinds):
    """Up to three changes at once: harmful or harmless, both must agree."""
    rng = Random(seed)
    for kind in kinds if case.num_nodes > 1 else ():
        if case.rows:
            case = kind(rng, case)
    assert_same_verdict(case)


@settings(max_examples=25)
@given(connected_link_lists(min_nodes=2, max_nodes=3), seeds)
@pytest.mark.slow
def test_every_row_of_small_schedules_dropped(graph, seed):
    n, links = graph
    for collective in COLLECTIVES:
        case = random_case(Random(seed), n, links, 2, collective)
        for r in range(len(case.rows)):
            assert_same_verdict(replace(case, rows=case.rows[:r] + case.rows[r + 1 :]))


def hypercube_case(dimensions: int, collective: str = "allgather") -> Case:
    links = reference.hypercube(dimensions)
    if collective == "all-to-all":
        return Case(2**dimensions, links, 2**dimensions, reference.hypercube_all_to_all(dimensions), collective)
    gather = reference.hypercube_allgather(dimensions)
    number = {link: e for e, link in enumerate(links)}
    turned = [number[w, u] for u, w in links]
    reduce = [(source, lo, hi, turned[e], step) for source, lo, hi, e, step in reference.reverse(gather)]
    rows = {"allgather": gather, "reduce-scatter": reduce, "allreduce": reference.then(reduce, gather)}
    return Case(2**dimensions, links, dimensions, rows[collective], collective)


MAY_PASS = {
    "allgather": {"widen_chunk", "duplicate_row", "change_step"},
    "reduce-scatter": {"change_step"},
    "allreduce": {"widen_chunk", "duplicate_row", "change_step"},
    "all-to-all": {"widen_chunk", "duplicate_row", "change_step", "swap_steps"},
}
"""What need not be refused on a hypercube, where no row is spare: a gathering may receive a chunk again, and
a row that nothing waits for may move."""
HARMLESS = {("allgather", "duplicate_row"), ("all-to-all", "duplicate_row")}
SAME_DATA = tuple(c for c in COLLECTIVES if c != "all-to-all")
"""Those that the large hypercubes have columns for."""


@pytest.mark.parametrize(
    "collective",
    [pytest.param(c, marks=[pytest.mark.slow] * (c == "allreduce")) for c in COLLECTIVES],  # it has the most rows
)
@pytest.mark.parametrize("kind", MUTATIONS, ids=lambda kind: kind.__name__)
def test_every_kind_of_mutation_is_caught(collective, kind):
    """Seeded changes of one row of a bandwidth-optimal schedule (thm:bwopt), so that harm is the rule."""
    rng = Random(f"{collective} {kind.__name__}")
    case = hypercube_case(3, collective)
    verdicts = Counter(assert_same_verdict(kind(rng, case)) for _ in range(15))
    assert (verdicts[True] > 0) == (kind.__name__ in MAY_PASS[collective])
    assert (verdicts[False] > 0) == ((collective, kind.__name__) not in HARMLESS)


@pytest.mark.slow
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("kind", MUTATIONS, ids=lambda kind: kind.__name__)
def test_mutations_of_the_16_node_hypercube(collective, kind):
    rng = Random(f"16 {collective} {kind.__name__}")
    case = hypercube_case(4, collective)
    assert_same_verdict(kind(rng, case))


@pytest.mark.parametrize("collective", SAME_DATA)
@pytest.mark.parametrize("dimensions", [1, 2, 4, pytest.param(6, marks=pytest.mark.slow)])
def test_hypercubes_pass(dimensions, collective):
    """Also as the plain columns of the large tests, which are the same schedule."""
    schedule = hypercube_case(dimensions, collective).schedule()
    check(schedule)
    assert hypercube_schedule(dimensions, 1, collective) == schedule
    passes = 2 if collective == "allreduce" else 1
    n = 2**dimensions
    assert cost_of(schedule) == Cost(passes * dimensions, passes * Fraction(n - 1, n))


@pytest.mark.parametrize("dimensions", [1, 3, 5])
def test_all_to_all_on_hypercubes_passes(dimensions):
    """Every step each link of one dimension carries N / 2 pieces, so T_B is d * D / 2."""
    schedule = hypercube_case(dimensions, "all-to-all").schedule()
    check(schedule)
    assert cost_of(schedule) == Cost(dimensions, Fraction(dimensions * dimensions, 2))


@pytest.mark.slow
@pytest.mark.parametrize("collective", SAME_DATA)
def test_finer_pieces_pass(collective):
    check(hypercube_schedule(5, 3, collective))


def test_a_reduce_scatter_is_no_allgather():
    case = hypercube_case(3, "reduce-scatter")
    assert not assert_same_verdict(replace(case, collective="allgather"))
    assert not assert_same_verdict(replace(case, collective="allreduce"))
    assert not assert_same_verdict(replace(hypercube_case(3), collective="reduce-scatter"))


def test_an_allgather_brings_what_an_all_to_all_must():
    """Everything everywhere is more than the pieces; but the pieces alone are no allgather."""
    gather = hypercube_case(2)
    finer = [(v, 2 * lo, 2 * hi, e, step) for v, lo, hi, e, step in gather.rows]
    assert assert_same_verdict(Case(4, gather.links, 4, finer, "all-to-all"))
    assert not assert_same_verdict(replace(gather, collective="all-to-all"))  # 2 units cannot be 4 pieces
    assert not assert_same_verdict(replace(hypercube_case(2, "all-to-all"), collective="allgather"))


@given(right_cases(("allgather",)))
def test_reverse_schedules(case):
    """thm:scheduleswitch, where nothing arrives twice: the reverse on the transpose is a reduce-scatter."""
    rows = strategies.random_allgather(Random(1), case.num_nodes, case.links, case.unit, once=True)
    turned = [(w, u) for u, w in case.links]
    assert assert_same_verdict(Case(case.num_nodes, turned, case.unit, reference.reverse(rows), "reduce-scatter"))
    # With repeats it still reaches everyone, as the theorem says; a repeat is reduced twice, so we refuse it.
    assert_same_verdict(Case(case.num_nodes, turned, case.unit, reference.reverse(case.rows), "reduce-scatter"))


def test_figure_of_the_paper():
    """fig:notationexample: a sends S to c and d, which send half each to b; so from every node of K_{2,2}."""
    topology = complete_bipartite(2)
    number = {link: e for e, link in enumerate(pairs(topology))}
    rows = []
    for a in range(4):
        c, d = (w for u, w in pairs(topology) if u == a)
        b = a ^ 1
        rows += [(a, 0, 2, number[a, c], 1), (a, 0, 2, number[a, d], 1)]
        rows += [(a, 0, 1, number[c, b], 2), (a, 1, 2, number[d, b], 2)]
    case = Case(4, pairs(topology), 2, rows)
    assert assert_same_verdict(case)
    assert cost_of(case.schedule()) == Cost(2, Fraction(3, 4))


def through_roots(rng: Random, num_nodes: int, links: list[tuple[int, int]], unit: int) -> Case:
    """Return an allreduce through roots: unit x of shard v is reduced to a node of choice, and gathered from it."""
    number = {link: e for e, link in reversed(list(enumerate(links)))}
    near = {u: sorted({w for t, w in links if t == u != w and (w, u) in number}) for u in range(num_nodes)}
    rows = []
    for v in range(num_nodes):
        for x in range(unit):
            root = rng.randrange(num_nodes)
            order, parent = [root], {root: root}
            for u in order:
                for w in near[u]:
                    if w not in parent:
                        parent[w] = u
                        order.append(w)
            up = [(v, x, x + 1, number[w, parent[w]], step) for step, w in enumerate(order[:0:-1], 1)]
            down = [(v, x, x + 1, number[parent[w], w], num_nodes - 1 + step) for step, w in enumerate(order[1:], 1)]
            rows += up + down
    return Case(num_nodes, links, unit, rows, "allreduce")


@given(st.integers(2, 4), st.integers(1, 2), seeds, st.lists(st.sampled_from(MUTATIONS), max_size=2))
def test_an_allreduce_may_go_through_any_roots(n, unit, seed, kinds):
    """sec:allreduceopt: chunks of one shard through several nodes, changed or not, get the reference's verdict."""
    rng = Random(seed)
    links = [(u, w) for u in range(n) for w in range(n) if u != w and abs(u - w) != 2]
    case = through_roots(rng, n, links, unit)
    if not kinds:
        assert case.is_right
    for kind in kinds:
        case = kind(rng, case)
    assert_same_verdict(case)


def test_roots_are_found():
    """Of a path of 3 nodes, shard 0 through node 2 and the halves of shard 1 through nodes 0 and 1."""
    links = [(0, 1), (1, 0), (1, 2), (2, 1)]
    shards = [
        [(0, 0, 2, 0, 1), (0, 0, 2, 2, 2), (0, 0, 2, 3, 3), (0, 0, 2, 1, 4)],
        [(1, 0, 1, 3, 1), (1, 0, 1, 1, 2), (1, 0, 1, 0, 3), (1, 0, 1, 2, 4)],
        [(1, 1, 2, 0, 1), (1, 1, 2, 3, 1), (1, 1, 2, 1, 2), (1, 1, 2, 2, 2)],
        [(2, 0, 2, 0, 1), (2, 0, 2, 2, 2), (2, 0, 2, 3, 3), (2, 0, 2, 1, 4)],
    ]
    case = Case(3, links, 2, [row for rows in shards for row in rows], "allreduce")
    assert assert_same_verdict(case)
    reduces, roots = split_phases(case.schedule())
    assert roots.tolist() == [[0, 2, 0, 2], [1, 0, 0, 1], [1, 1, 1, 2], [2, 2, 0, 2]]
    assert int(reduces.sum()) == 8


def test_phases_of_different_shards_may_overlap():
    """Shard 0 is reduced at step 1 and gathered at 2, shard 1 at 2 and 3: an allreduce nonetheless."""
    links = [(0, 1), (1, 0)]
    rows = [(0, 0, 1, 1, 1), (0, 0, 1, 0, 2), (1, 0, 1, 0, 2), (1, 0, 1, 1, 3)]
    assert assert_same_verdict(Case(2, links, 1, rows, "allreduce"))
    early = [(0, 0, 1, 1, 1), (0, 0, 1, 0, 1), (1, 0, 1, 0, 2), (1, 0, 1, 1, 3)]
    assert not assert_same_verdict(Case(2, links, 1, early, "allreduce"))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_one_node_and_two(collective):
    assert assert_same_verdict(Case(1, [], 3, [], collective))
    assert assert_same_verdict(Case(1, [(0, 0)], 1, [], collective))
    assert not assert_same_verdict(Case(1, [(0, 0)], 1, [(0, 0, 1, 0, 1)], collective))
    assert not assert_same_verdict(Case(2, [(0, 1), (1, 0)], 1, [], collective))
    once = [(0, 0, 1, 0, 1), (1, 0, 1, 1, 1)]
    assert assert_same_verdict(Case(2, [(0, 1), (1, 0)], 1, once, "allgather"))
    turned = [(1, 0, 1, 0, 1), (0, 0, 1, 1, 1)]
    assert assert_same_verdict(Case(2, [(0, 1), (1, 0)], 1, turned, "reduce-scatter"))
    assert assert_same_verdict(Case(2, [(0, 1), (1, 0)], 1, reference.then(turned, once), "allreduce"))


def test_the_last_step_there_is():
    """Steps are int16; the checker's "past any step" must be past the last."""
    last = 2**15 - 1
    rows = [(0, 0, 1, 0, last), (1, 0, 1, 1, last)]
    check(Case(2, [(0, 1), (1, 0)], 1, rows).schedule())
    rows = [(1, 0, 1, 0, last), (0, 0, 1, 1, last)]
    check(Case(2, [(0, 1), (1, 0)], 1, rows, "reduce-scatter").schedule())
    rows = [(1, 0, 1, 0, 1), (0, 0, 1, 1, 1), (0, 0, 1, 0, last), (1, 0, 1, 1, last)]
    check(Case(2, [(0, 1), (1, 0)], 1, rows, "allreduce").schedule())


def test_the_finest_unit():
    unit = 2**61
    half = unit // 2
    rows = [(0, 0, half, 0, 1), (0, half, unit, 0, 1), (1, 0, unit, 1, 1)]
    check(Case(2, [(0, 1), (1, 0)], unit, rows).schedule())
    rows[1] = (0, half + 1, unit, 0, 1)
    with pytest.raises(ScheduleError) as caught:
        check(Case(2, [(0, 1), (1, 0)], unit, rows).schedule())
    assert str(caught.value) == f"[{half}, {half + 1})/{unit} of shard 0 never arrives at node 1"


def test_each_collective_has_its_check():
    """``check`` finds one for whatever a schedule may say it is."""
    assert set(CHECKS) == set(schedules.COLLECTIVES)
    assert CHECKS["allgather"] is check_allgather
    assert CHECKS["reduce-scatter"] is check_reduce_scatter
    assert CHECKS["allreduce"] is check_allreduce


# Witnesses, word for word. Links of the path and ring: 0 is 0 -> 1, 1 is 1 -> 2, 2 is 2 -> 0; 3 is 2 -> 2.

LOOPED_RING = [(0, 1), (1, 2), (2, 0), (2, 2)]
GATHER = [(v, 0, 4, (v + t) % 3, t + 1) for v in range(3) for t in range(2)]
REDUCE = [(v, 0, 4, (v + 1 + t) % 3, t + 1) for v in range(3) for t in range(2)]


@pytest.mark.parametrize(
    ("collective", "rows", "message", "row"),
    [
        pytest.param(
            "allgather", [*GATHER, (2, 0, 4, 3, 1)],
            "row 3: step 1, link 3 (2 -> 2) carries [0, 4)/4 of shard 2, but the link is a self-loop", 3,
            id="def:allgather-self-loop",
        ),
        pytest.param(
            "allgather", [(0, 0, 4, 0, 2), *GATHER[1:]],
            "row 4: step 2, link 1 (1 -> 2) carries [0, 4)/4 of shard 0, but "
            "node 1 does not hold [0, 4)/4 yet", 4,
            id="def:allgather-too-early",
        ),
        pytest.param(
            "allgather", [(0, 0, 2, 0, 1), (0, 3, 4, 0, 1), *GATHER[1:]],
            "row 5: step 2, link 1 (1 -> 2) carries [0, 4)/4 of shard 0, but "
            "node 1 does not hold [2, 3)/4 yet", 5,
            id="def:allgather-a-hole",
        ),
        pytest.param(
            "allgather", [*GATHER[:1], (0, 1, 3, 1, 2), *GATHER[2:]],
            "[0, 1)/4 of shard 0 never arrives at node 2", None,
            id="def:allgather-never-arrives",
        ),
        pytest.param(
            "reduce-scatter", [*REDUCE, (2, 0, 4, 3, 1)],
            "row 3: step 1, link 3 (2 -> 2) carries [0, 4)/4 of shard 2, but the link is a self-loop", 3,
            id="thm:scheduleswitch-self-loop",
        ),
        pytest.param(
            "reduce-scatter", [*REDUCE[:1], *REDUCE[2:]],
            "row 1: step 1, link 1 (1 -> 2) carries [0, 4)/4 of shard 0, but node 2 does not "
            "pass [0, 4)/4 on at a later step: the reduction misses it", 1,
            id="thm:scheduleswitch-not-passed-on",
        ),
        pytest.param(
            "reduce-scatter", [*REDUCE, (0, 1, 2, 2, 1)],
            "row 2: step 1, link 2 (2 -> 0) carries [1, 2)/4 of shard 0, but node 2's part "
            "of [1, 2)/4 is counted by a later row too: it is reduced twice", 2,
            id="thm:scheduleswitch-twice",
        ),
        pytest.param(
            "reduce-scatter", [*((v, lo, hi, e, t + 1) for v, lo, hi, e, t in REDUCE), (0, 0, 1, 0, 1)],
            "row 0: step 1, link 0 (0 -> 1) carries [0, 1)/4 of shard 0, but node 0's part "
            "of [0, 1)/4 is counted already: it is reduced twice", 0,
            id="thm:scheduleswitch-own-part",
        ),
        pytest.param(
            "reduce-scatter", REDUCE[1:],
            "node 1's part of [0, 4)/4 of shard 0 never reaches node 0", None,
            id="thm:scheduleswitch-never-reaches",
        ),
        pytest.param(
            "allreduce", reference.then(REDUCE[1:], GATHER),
            "node 1's part of [0, 4)/4 of shard 0 never reaches node 0", None,
            id="sec:allreduceopt-reduction",
        ),
        pytest.param(
            "allreduce", reference.then(REDUCE, GATHER[:5]),
            "[0, 4)/4 of shard 2 never arrives at node 1", None,
            id="sec:allreduceopt-gathering",
        ),
        pytest.param(
            "all-to-all", [(0, 1, 3, 0, 1), (0, 2, 3, 1, 1)],
            "the unit of an all-to-all must be a multiple of the 3 nodes, not 4", None,
            id="app-sec:all-to-all-unit",
        ),
        pytest.param(
            "allreduce", REDUCE,
            "[0, 4)/4 of shard 0 never arrives at node 1", None,
            id="sec:allreduceopt-no-gathering",
        ),
    ],
)  # fmt: skip
def test_witnesses(collective, rows, message, row):
    case = Case(3, LOOPED_RING, 4, rows, collective)
    assert not assert_same_verdict(case)
    error = refusal(case.schedule())
    assert str(error) == message
    assert error.row == row


def test_the_rings_of_the_witnesses_are_right():
    assert assert_same_verdict(Case(3, LOOPED_RING, 4, GATHER, "allgather"))
    assert assert_same_verdict(Case(3, LOOPED_RING, 4, REDUCE, "reduce-scatter"))
    assert assert_same_verdict(Case(3, LOOPED_RING, 4, reference.then(REDUCE, GATHER), "allreduce"))


@given(st.one_of(garbage_cases(("allgather",)), right_cases(("allgather",))), seeds)
def test_the_witness_of_an_allgather_is_the_earliest(case, seed):
    """No row before the one named fails: what precedes it is sound as far as it goes."""
    if case.rows:
        case = strategies.change_step(Random(seed), case)
    schedule = case.schedule()
    error = refusal(schedule)
    if error is None or error.row is None:
        return
    rows = list(zip(*(getattr(schedule, what).tolist() for what in reference.ROW), strict=True))
    links = pairs(schedule.topology)

    def is_sound(some: list) -> bool:
        """All rows send what is held: an allgather, if what it lacks is sent at the end by new links."""
        last = max((row[4] for row in some), default=0) + 1
        complete = [(v, u) for v in range(case.num_nodes) for u in range(case.num_nodes) if u != v]
        topping_up = [(v, 0, case.unit, len(links) + i, last) for i, (v, _) in enumerate(complete)]
        return reference.is_allgather(case.num_nodes, links + complete, case.unit, some + topping_up)

    assert is_sound(rows[: error.row])
    assert not is_sound(rows[: error.row + 1])


# Ranks: some nodes take no part and only forward


@given(forwarding_cases())
def test_right_schedules_with_forwarders_pass(case):
    assert assert_same_verdict(case)


@given(forwarding_cases(), st.sampled_from(MUTATIONS), seeds)
def test_changed_schedules_with_forwarders(case, mutate, seed):
    if case.rows:
        assert_same_verdict(mutate(Random(seed), case))


@given(garbage_cases(max_rows=8), seeds)
def test_garbage_with_forwarders(case, seed):
    """Any rows, any ranks: the reference decides."""
    rng = Random(seed)
    ranks = tuple(rng.sample(range(case.num_nodes), rng.randint(1, case.num_nodes)))
    rows = [(source % len(ranks), *rest) for source, *rest in case.rows]
    assert_same_verdict(replace(case, ranks=ranks, rows=rows))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_everyone_in_another_order(collective):
    """Ranks that are all nodes in another order are everyone's schedule with its shards renamed."""
    rng, order = Random(7), (2, 0, 3, 1)
    links = [(u, w) for u in range(4) for w in range(4) if u != w]
    case = random_case(rng, 4, links, 2, collective)
    if collective == "all-to-all":
        case = Case(4, links, 8, strategies.random_all_to_all(rng, 4, links, 8, order), collective)
        assert not case.is_right
        rows = case.rows
    else:
        rows = [(order.index(v), *rest) for v, *rest in case.rows]
    assert assert_same_verdict(replace(case, rows=rows, ranks=order))


# Kernels against their twins


@given(garbage_cases(), st.data())
def test_rows_by_source(case, data):
    schedule = case.schedule()
    n, count = case.num_nodes, len(case.rows)
    keep = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    ptr, rows = _rows_by_source(n, schedule.source, np.array(keep, np.bool_))
    found = [rows[ptr[v] : ptr[v + 1]].tolist() for v in range(n)]
    source = schedule.source.tolist()
    assert found == [[r for r in range(count) if source[r] == v and keep[r]] for v in range(n)]
    assert ptr[-1] == rows.size


@given(garbage_cases(max_rows=20))
def test_phases(case):
    schedule = case.schedule()
    ptr, by_source = _rows_by_source(case.num_nodes, schedule.source, np.ones(schedule.num_rows, np.bool_))
    columns = [getattr(schedule, what) for what in reference.ROW]
    found = _phases(schedule.topology.tail, *columns, ptr, by_source, schedule.ranks.nodes)
    links = list(zip(schedule.topology.tail.tolist(), schedule.topology.head.tolist(), strict=True))
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    assert found.tolist() == reference.phases(links, rows, schedule.ranks.nodes.tolist())
    sent = [(v, hi - lo) for (v, lo, hi, _, _), phase in zip(rows, found, strict=True) if phase == 0]
    total = _reduced(case.num_nodes, schedule.source, schedule.lo, schedule.hi, found)
    assert total.tolist() == [sum(size for w, size in sent if w == v) for v in range(case.num_nodes)]


@given(st.sets(st.integers(0, 15)), st.integers(0, 15), st.integers(1, 16), st.integers(0, 3))
def test_missing_piece_and_insert(held, lo, length, at):
    """A pool of intervals with foreign ones either side, which must stay as they are."""
    hi = lo + length
    runs = reference.intervals(held)
    foreign = [(70, 71)] * at
    pool = np.array([*foreign, *runs, (-1, -1), (80, 81)], np.int64)
    pool_lo, pool_hi = pool[:, 0].copy(), pool[:, 1].copy()
    assert _missing_piece(pool_lo, pool_hi, at, len(runs), lo, hi) == reference.missing_piece(held, lo, hi)
    size, a, b = _insert(pool_lo, pool_hi, at, len(runs), lo, hi)
    assert (a, b) == reference.overlap(held, lo, hi) or (a == b and not held & set(range(lo, hi)))
    after = list(zip(pool_lo.tolist(), pool_hi.tolist(), strict=True))
    assert after[at : at + size] == reference.intervals(held | set(range(lo, hi)))
    assert after[:at] == foreign
    assert after[-1] == (80, 81)


@given(
    st.one_of(garbage_cases(), right_cases(), forwarding_cases()), st.booleans(), st.booleans(), st.booleans(), seeds
)
def test_spread(case, mutate, backward, once, seed):
    """The kernel's witness is the twin's, in every mode."""
    rng = Random(seed)
    if mutate and case.rows and case.num_nodes > 1:
        case = rng.choice(MUTATIONS)(rng, case)
    schedule = case.schedule()
    tail, head = schedule.topology.tail, schedule.topology.head
    giver, taker = (head, tail) if backward else (tail, head)
    n = case.num_nodes
    keep = np.array([rng.random() < 0.8 for _ in range(schedule.num_rows)], np.bool_)
    ptr, wanted = _rows_by_source(case.num_ranks, schedule.source, keep)
    columns = (schedule.lo, schedule.hi, schedule.link, schedule.step)
    every_source, whole = -1, 1  # said, so that the kernel is the one that ``check`` has compiled
    nodes = schedule.ranks.nodes.tolist()
    roots = np.array([(v, home, 0, case.unit) for v, home in enumerate(nodes)])
    ends = schedule.ranks.nodes
    found = _spread(n, case.unit, giver, taker, *columns, ptr, wanted, roots, ends, backward, once, every_source, whole)
    rows = list(zip(*(getattr(schedule, what).tolist() for what in reference.ROW), strict=True))
    assert tuple(int(x) for x in found) == reference.spread(
        nodes, case.unit, giver.tolist(), taker.tolist(), rows, wanted.tolist(), backward, once
    )


# Large schedules


def hypercube_schedule(dimensions: int, split: int = 1, collective: str = "allgather", change=None) -> Schedule:
    """Return the large hypercube's schedule by the exact constructor; ``change`` edits the columns first."""
    columns = reference.hypercube_columns(dimensions, split, collective)
    links = np.stack([columns.pop("tail"), columns.pop("head")], axis=1)
    if change is not None:
        columns, links = change(columns, links)
    topology = topology_of(2**dimensions, links.tolist())
    unit = dimensions * split
    if change is not None:
        return Schedule.from_columns(topology, unit, **columns, collective=collective)
    return Schedule(topology, unit, **columns, collective=collective)


@pytest.mark.slow
@pytest.mark.parametrize("collective", SAME_DATA)
def test_1024_nodes_exactly(collective):
    """The 1024-node hypercube: 10.5 million rows (21 for allreduce), checked and costed without rounding."""
    schedule = hypercube_schedule(10, 1, collective)
    passes = 2 if collective == "allreduce" else 1
    assert schedule.num_rows == passes * 10 * 1024 * 1023
    check(schedule)
    assert cost_of(schedule) == Cost(passes * 10, passes * Fraction(1023, 1024))


def _edit(row: int, **changes):
    def change(columns, links):
        for what, by in changes.items():
            columns[what][row] += by
        return columns, links

    return change


def _drop(row: int):
    return lambda columns, links: ({what: np.delete(column, row) for what, column in columns.items()}, links)


def _append(row: int, **changes):
    def change(columns, links):
        copied = {what: column[row] + changes.get(what, 0) for what, column in columns.items()}
        return {what: np.append(column, copied[what]) for what, column in columns.items()}, links

    return change


def _swap_steps(row: int, other: int):
    def change(columns, links):
        columns["step"][[row, other]] = columns["step"][[other, row]]
        return columns, links

    return change


def _onto_a_loop(row: int):
    def change(columns, links):
        # Node 1023's self-loop comes last in the order of links, so no other link changes its number.
        columns = {what: np.append(column, column[row]) for what, column in columns.items()}
        columns["link"][-1] = len(links)
        return columns, np.append(links, [[1023, 1023]], axis=0)

    return change


MIDWAY, LATE = 500_000, 7_654_321
"""A row of a middle step, whose receiver has yet to pass it on, and one of the last step."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("collective", "change", "message"),
    [
        pytest.param("allgather", _drop(LATE), "never arrives at node", id="drop"),
        pytest.param("allgather", _edit(LATE, lo=1, hi=1), "does not hold", id="shift", marks=pytest.mark.long),
        pytest.param("allgather", _edit(LATE, hi=1), "does not hold", id="widen", marks=pytest.mark.long),
        pytest.param("allgather", _swap_steps(0, LATE), "does not hold", id="swap-steps"),
        pytest.param("allgather", _edit(MIDWAY, link=1), "does not hold", id="link", marks=pytest.mark.long),
        pytest.param("allgather", _edit(LATE, link=1), "never arrives at node", id="last-link", marks=pytest.mark.long),
        pytest.param("allgather", _edit(MIDWAY, source=1), "does not hold", id="source", marks=pytest.mark.long),
        pytest.param(
            "allgather", _onto_a_loop(LATE), "the link is a self-loop", id="self-loop", marks=pytest.mark.long
        ),
        pytest.param("reduce-scatter", _append(LATE), "it is reduced twice", id="duplicate-a-reduction"),
    ],
)
def test_1024_nodes_mutated(collective, change, message):
    """One row of ten million is wrong; the witness says what kind of wrong."""
    schedule = hypercube_schedule(10, 1, collective, change)
    with pytest.raises(ScheduleError) as caught:
        check(schedule)
    assert message in str(caught.value)


MEASURE = """
import json, resource, sys, time
from test_correctness import check, cost_of, hypercube_schedule
collective, split = sys.argv[1], int(sys.argv[2])
check(hypercube_schedule(4, 2, collective))  # compile, or load what was compiled
schedule = hypercube_schedule(10, split, collective)
start = time.process_time()  # a busy machine is not our concern
check(schedule)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
figures = {"rows": schedule.num_rows, "seconds": seconds, "bytes": peak, "steps": cost_of(schedule).steps}
print(json.dumps(figures))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "split"), [("allgather", 2), ("reduce-scatter", 2), ("allreduce", 1)])
def test_20_million_rows(collective, split, record_property):
    """Checked within 15 s and 4 GB; the memory includes the building, and what pytest had when it forked."""
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, collective, str(split)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    figures = json.loads(ran.stdout)
    print(collective, figures)
    record_property(collective, figures)
    assert figures["rows"] > 20_000_000
    assert figures["seconds"] < 15
    assert figures["bytes"] < 4 * 10**9
    assert figures["steps"] == (20 if collective == "allreduce" else 10)


def test_witnesses_call_hosts_by_name():
    named = strategies.ring(3).with_labels(["rack2-07", "rack2-08", "rack2-09"])
    late = Schedule.from_columns(named, 1, [0, 0], [0, 0], [1, 1], [1, 2], [1, 2])
    with pytest.raises(ScheduleError) as caught:
        check_allgather(late)
    assert str(caught.value) == (
        "row 0: step 1, link 1 (rack2-08 -> rack2-09) carries [0, 1)/1 of rack2-07's shard, "
        "but rack2-08 does not hold [0, 1)/1 yet"
    )
    nothing = Schedule.from_columns(named, 1, [], [], [], [], [])
    with pytest.raises(ScheduleError, match=r"^\[0, 1\)/1 of rack2-07's shard never arrives at rack2-0[89]$"):
        check_allgather(nothing)
    with pytest.raises(ScheduleError, match=r"^rack2-08's part of .* of rack2-07's shard never reaches rack2-07$"):
        check_reduce_scatter(nothing)
    two = Schedule.from_columns(named, 1, [0, 1], [0, 0], [1, 1], [0, 1], [1, 1], "broadcast")
    with pytest.raises(ScheduleError, match="but the root is rack2-07: row 0 is of its shard"):
        check(two)
