"""What ``find`` promises can be built: every row's schedules are built and cost exactly what the row says."""

import pytest

import linkstep
from linkstep.costs import cost_of
from linkstep.recipe import Line, Member, Product
from linkstep.scheduling import METHODS
from linkstep.search import find
from linkstep.search.spot import Spot

DEGREES = (2, 3, 4, 6, 8)
SOME = (5, 8, 10, 12, 16, 21, 36, 47)  # with rows that are stored, expanded, by BFB, and of unequal halves
KINDS = [pytest.param(False, id="directed"), pytest.param(True, id="bidirectional")]


def check_rows(nodes, degree, bidirectional, families="all"):
    for row in find(nodes, degree, directed=not bidirectional, families=families).frontier:
        assert row.is_exact and row.method in METHODS, row
        assert cost_of(row.build()) == row.cost, row
        assert cost_of(row.build("reduce-scatter")) == row.reduce_scatter, row
        made = row.build("allreduce")
        linkstep.check_allreduce(made)
        assert cost_of(made) == row.allreduce_cost == row.reduce_scatter + row.cost, row
        topology = made.topology
        assert (topology.num_nodes, topology.degree) == (nodes, degree) == (row.num_nodes, row.recipe.degree)
        assert topology.is_bidirectional or not (bidirectional or row.is_bidirectional)
        assert not row.is_simple or topology.num_parallel == topology.num_self_loops == 0
        assert not row.is_loop_free or topology.num_self_loops == 0
        assert row.method != "stored" or isinstance(row.recipe, Member)
        assert row.method != "expand" or not isinstance(row.recipe, (Member, Product))


@pytest.mark.slow
@pytest.mark.parametrize("bidirectional", KINDS)
@pytest.mark.parametrize("nodes", SOME)
def test_rows_cost_what_they_say(nodes, bidirectional):
    for degree in DEGREES if nodes < 20 else (2, 3, 4):
        check_rows(nodes, degree, bidirectional)


@pytest.mark.parametrize("nodes", [8, 10, 16, 32])
def test_rows_from_the_papers_bases_cost_what_they_say(nodes):
    check_rows(nodes, 4, False, "paper")
    check_rows(nodes, 2, False, "paper")


@pytest.mark.slow
@pytest.mark.parametrize("bidirectional", KINDS)
@pytest.mark.parametrize("degree", DEGREES)
def test_all_rows_cost_what_they_say(degree, bidirectional):
    """Every row over N up to 64."""
    for nodes in range(2, 65):
        check_rows(nodes, degree, bidirectional)


@pytest.mark.slow
@pytest.mark.parametrize("degree", DEGREES)
def test_all_rows_from_the_papers_bases_cost_what_they_say(degree):
    for nodes in range(2, 65):
        check_rows(nodes, degree, False, "paper")


def test_halves_may_differ():
    """Pi_{3,47}: the reduce-scatter takes more than the allgather, and the allreduce both."""
    row = next(r for r in find(47, 3, directed=True, families="paper").frontier if str(r.recipe) == "Pi_{3,47}")
    assert row.cost != row.reduce_scatter == row.worse_half
    assert row.allreduce_cost.bandwidth == row.cost.bandwidth + row.reduce_scatter.bandwidth


@pytest.mark.parametrize("spot", [Spot(0), pytest.param(None, marks=pytest.mark.slow)], ids=["known", "searched"])
def test_a_bound_says_so(spot):
    """For many nodes the cost of a line graph's schedule is what the theorem says, at most."""
    rows = find(20_000, 4, directed=True, spot=spot).frontier
    assert {row.is_exact for row in rows} == {True, False}
    assert all(isinstance(row.recipe, Line) for row in rows if not row.is_exact)
    assert {row.method for row in rows} <= {"expand", "bfb"}


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_rooted_collectives(collective):
    made = find(8, 2).frontier[0].build(collective, root=3)
    linkstep.check(made)
    assert made.collective == collective
