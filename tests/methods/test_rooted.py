"""Allreduce through one root: as few steps as the best root allows, right, and good for every runtime."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkstep
from linkstep.cli import main
from linkstep.core.distances import diameter
from linkstep.core.errors import LinkstepError, ScheduleError
from linkstep.core.schedule import Schedule
from linkstep.correctness import check_allreduce, split_phases
from linkstep.costs import Cost, Fabric, cost_of
from linkstep.lowering import TARGETS, lower
from linkstep.methods.rooted import best_root, rooted_allreduce, rooted_cost
from linkstep.methods.transform import relabel, reverse
from linkstep.scheduling import schedule
from linkstep.simulation import simulate_schedule
from linkstep.verification import verify_text
from support import interpreters, reference
from support.strategies import connected_link_lists, pairs, topologies, topology_of

pytestmark = pytest.mark.usefixtures("wide")

CONNECTED = topologies(connected_link_lists(max_nodes=5, max_extra=5), columns=True)
PATH = topology_of(5, [(u, w) for u in range(5) for w in (u - 1, u + 1) if 0 <= w < 5])


def roots_of(made):
    """The nodes at which chunks are complete, as the checker finds them."""
    return set(split_phases(made)[1][:, 1].tolist())


@settings(max_examples=30)
@given(CONNECTED)
def test_property_right_in_as_few_steps_as_a_root_allows(topology):
    """Parallel links, self-loops, one-way links, unequal rates, one node and two; the slow twin agrees."""
    made = rooted_allreduce(topology)
    check_allreduce(made)
    dist = reference.all_distances(topology.num_nodes, pairs(topology))
    steps = [max(dist[u]) + max(row[u] for row in dist) for u in range(topology.num_nodes)]
    assert cost_of(made) == rooted_cost(topology)
    assert made.num_steps == min(steps) <= 2 * diameter(topology)
    if topology.num_nodes > 1:
        assert best_root(topology) == (steps.index(min(steps)), min(steps))
        assert roots_of(made) == {best_root(topology)[0]}
    columns = (made.source, made.lo, made.hi, made.link, made.step)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert reference.is_allreduce(topology.num_nodes, pairs(topology), made.unit, rows)


@settings(max_examples=30)
@given(CONNECTED.filter(lambda topology: topology.num_nodes > 1), st.data())
def test_property_what_is_not_right_is_refused(topology, data):
    """With a row dropped some part never arrives; the slow twin says so too."""
    made = rooted_allreduce(topology)
    gone = data.draw(st.integers(0, made.num_rows - 1))
    columns = [column.tolist() for column in (made.source, made.lo, made.hi, made.link, made.step)]
    for column in columns:
        del column[gone]
    broken = Schedule.from_columns(topology, made.unit, *columns, collective="allreduce")
    with pytest.raises(ScheduleError):
        check_allreduce(broken)


def test_reversed_and_renamed():
    made = rooted_allreduce(PATH)
    check_allreduce(reverse(made))
    assert cost_of(reverse(made)) == cost_of(made)
    renamed = relabel(made, np.array([3, 1, 4, 0, 2], np.int32))
    check_allreduce(renamed)
    assert (roots_of(renamed), cost_of(renamed)) == ({4}, cost_of(made))


def test_the_radius_instead_of_the_diameter():
    assert best_root(PATH) == (2, 4)
    made = schedule(PATH, "allreduce", method="rooted")
    assert (made.method, made.cost) == ("rooted", Cost(4, Fraction(8)))
    assert schedule(PATH, "allreduce", method="bfb").cost.steps == 8


def by_size(size: int):
    return lambda cost: Fabric.of("10us", "100Gbps", 4).time(cost, "allreduce", size)


@pytest.mark.slow
def test_the_best_uses_it_for_small_data_where_it_takes_fewer_steps():
    small, large = (schedule("Pi_{4,17}", "allreduce", price=by_size(size)) for size in (1000, 10**9))
    assert (small.method, small.cost.steps) == ("rooted", 4)
    assert large.method != "rooted"
    assert schedule("Pi_{4,17}", "allreduce").method != "rooted"
    for alike in ("K_5", "Torus(3,4)"):  # the radius is the diameter
        assert schedule(alike, "allreduce", price=by_size(1)).method != "rooted"


@pytest.mark.slow
@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("graph", ["Pi_{4,17}", "Diamond", "path"])
def test_lowered_verified_and_simulated(graph, to):
    topology = PATH if graph == "path" else linkstep.parse(graph).topology()
    made = schedule(topology, "allreduce", method="rooted").schedule
    text = lower(made, to).text
    assert verify_text(text, to).is_verified
    interpreters.run(text, to, 0)
    fabric = Fabric.of("10us", "100Gbps", topology.degree)
    done = simulate_schedule(made, to, fabric, "1MB")
    assert 0 < done.time < done.predicted * 1.05


def test_refusals_and_the_command(capsys):
    for more, message in (
        ({"collective": "allgather"}, "method rooted makes allreduce schedules only"),
        ({"collective": "allreduce", "chunks": 2}, "method rooted takes no chunks"),
        ({"collective": "allreduce", "steps": 9}, "method rooted takes as many steps as it needs"),
    ):
        with pytest.raises(LinkstepError, match=message):
            schedule("K_4", method="rooted", **more)
    assert main(["schedule", "Pi_{4,17}", "--collective", "allreduce", "--method", "rooted"]) == 0
    out = capsys.readouterr().out
    assert "allreduce by a reduction to one root and a broadcast from it, checked" in out
    assert "steps (T_L)     4, " in out
