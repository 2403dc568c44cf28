"""The answer is the union of all that linkstep knows: nothing it could name beats every row, whatever N and d are."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from linkstep.cli import main
from linkstep.core.errors import LinkstepError
from linkstep.costs import Cost, cost_of
from linkstep.recipe import parse
from linkstep.search import find
from linkstep.search.added import add_graph
from linkstep.search.bases import family_bases
from linkstep.search.catalog import load_catalog
from linkstep.search.finders import finder, forget_catalog
from linkstep.search.spot import Spot
from linkstep.search.sweep.job import SweepJob
from linkstep.search.sweep.members import search_members
from linkstep.search.sweep.runner import search

NO_SEARCH = Spot(0)


def unbeaten(num_nodes, degree, both):
    """What the paper's bases and the tables of families have that no row of the answer equals or beats."""
    costs = [row.allreduce_cost for row in find(num_nodes, degree, directed=not both, spot=NO_SEARCH).frontier]
    known = [*finder("paper", both).frontier(num_nodes, degree), *family_bases(num_nodes, degree)]
    return [
        (num_nodes, str(choice.recipe), str(choice.allreduce_cost))
        for choice in known
        if (choice.is_bidirectional or not both) and not any(cost.is_within(choice.allreduce_cost) for cost in costs)
    ]


def covered(degree, both, most=2048):
    catalog = load_catalog()
    return [n for n in catalog.sizes(degree) if n <= most and catalog.covers(n, degree, both)]


LOST = [427, 513, 691, 933, 958, 1444, 1500]


@pytest.mark.parametrize("nodes", [260, 977, 1216, *(pytest.param(n, marks=pytest.mark.slow) for n in LOST)])
@pytest.mark.parametrize("both", [False, True])
def test_what_the_catalog_had_lost(nodes, both):
    assert unbeaten(nodes, 4, both) == []


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True])
def test_nothing_known_beats_the_answer_at_4_ports(both):
    assert [lost for n in range(8, 2049) for lost in unbeaten(n, 4, both)] == []


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("degree", range(2, 17))
def test_nothing_known_beats_the_answer_at_other_degrees(degree, both):
    sizes = sorted({*covered(degree, both)[:: 1 if degree > 8 else 9], 2, 3, 5, 8, 13, 37, 97, 200, 337})
    sizes = [n for n in sizes if not both or (n * degree % 2 == 0)]
    assert [lost for n in sizes for lost in unbeaten(n, degree, both)] == []


def test_fewest_steps_at_977():
    """The bound at 1 KB, which only Pi_{4,977} reaches."""
    answer = find(977, 4, directed=True)
    assert answer.frontier[0].allreduce_cost.steps == 2 * answer.bound.steps
    assert find(977, 4, directed=True, max_steps=10).frontier and answer.fewest_steps == 10


def test_all_to_all_at_958(monkeypatch):
    """What is known only within an interval is looked at again before it is ranked, and nothing else is."""
    asked = []

    def found(topology, seconds):
        asked.append(topology.name)
        return SimpleNamespace(value=Fraction(1, 1000), bound=Fraction(11, 10**4))  # more than any has

    monkeypatch.setattr("linkstep.search.choice.all_to_all", found)
    assert find(958, 4, directed=True).ranked_by_all_to_all().frontier[0].flow == Fraction(1, 1000)
    assert "Pi_{4,958}" in asked and len(asked) == len(set(asked))
    asked.clear()
    exact = find(32, 4, directed=True)
    assert exact.ranked_by_all_to_all().frontier[0].flow == max(row.flow for row in exact.frontier) and not asked


@pytest.mark.parametrize(
    ("nodes", "degree", "costs"),
    [
        (4, 6, {Cost(2, Fraction(3, 2))}),
        (4, 12, {Cost(2, Fraction(3, 2))}),
        (5, 8, {Cost(2, Fraction(8, 5))}),
        (5, 12, {Cost(2, Fraction(8, 5))}),
        (8, 14, {Cost(2, Fraction(7, 4))}),
    ],
)
@pytest.mark.parametrize("both", [False, True])
def test_a_bundle_of_cables_between_every_two(nodes, degree, costs, both):
    rows = find(nodes, degree, directed=not both).frontier
    assert {row.allreduce_cost for row in rows} == costs
    assert all(cost_of(row.build("allreduce")) == row.allreduce_cost for row in rows)


MANY = [(64, 64), (34, 33)]


@pytest.mark.parametrize(
    ("nodes", "degree"),
    [(4, 5), (4, 7), (4, 9), (6, 7), (2, 64), (3, 64), *(pytest.param(n, d, marks=pytest.mark.slow) for n, d in MANY)],
)
def test_more_ports_than_servers_are_used(nodes, degree):
    rows = find(nodes, degree).frontier
    assert rows and rows[0].cost.steps == 1
    assert all(cost_of(row.build("allreduce")) == row.allreduce_cost for row in rows[:2])


@pytest.mark.parametrize(
    "degree", [1, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, 3, 5, 7, 11, 17, 40, 63))]
)
def test_there_is_an_answer_for_every_size(degree):
    """Duplex links: wherever N d is even, and one port joins no more than two servers."""
    for nodes in (2, 3, 4, 6, 10, 14, 62, 254, 4102, 10006):
        if nodes * degree % 2 == 0 and (degree > 1 or nodes == 2):
            rows = find(nodes, degree, spot=NO_SEARCH).frontier
            assert rows and all(row.is_bidirectional for row in rows), nodes
            assert {(row.recipe.num_nodes, row.recipe.degree) for row in rows} == {(nodes, degree)}


@pytest.mark.slow
def test_a_graph_of_one_s_own_hides_nothing(tmp_path, monkeypatch):
    """What a user adds joins what is known and what is found; it does not replace it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    forget_catalog()
    before = find(75, 9, directed=True, spot=NO_SEARCH).frontier
    (tmp_path / "linkstep" / "catalog").mkdir(parents=True)
    add_graph(parse("UniRing(9,75)").topology(), "drawn by hand")
    after = find(75, 9, directed=True, spot=NO_SEARCH).frontier
    forget_catalog()
    assert not load_catalog().covers(75, 9, False)
    assert {row.allreduce_cost for row in after} >= {row.allreduce_cost for row in before}


def test_members_are_scored_once():
    """What the catalog has, or beats, is not listed again; where it has nothing, members are."""
    assert search_members(SweepJob(32, 4, False, method="member")) == []
    assert {entry.recipe for entry in search(SweepJob(3, 7, False, method="member"))} <= {"Bundle(7,3)", "UniRing(7,3)"}
    with pytest.raises(LinkstepError, match="takes degree < nodes"):
        search(SweepJob(3, 7, False))


def test_the_command_says_so(capsys):
    assert main(["find", "977", "4", "--directed", "--size", "1KB"]) == 0
    out = capsys.readouterr().out
    assert "best for an allreduce of 1KB: Pi_{4,977}" in out and "100.2" in out
