"""Stored all-to-all throughputs are what the solver finds, and rows that are not stored are computed where quick."""

from fractions import Fraction
from random import Random

import pytest

from linkstep.core.errors import FileError
from linkstep.costs import distance_flow_bound
from linkstep.recipe import parse
from linkstep.recipe.names import named_recipe
from linkstep.search import throughputs
from linkstep.search.throughputs import HEADER, stored_throughputs, throughput_of
from linkstep.throughput import all_to_all, exact_all_to_all


def verify(keys):
    for nodes, degree, number in keys:
        topology = parse(named_recipe(nodes, degree, number)).topology()
        value = stored_throughputs()[nodes, degree, number]
        assert exact_all_to_all(topology) == value <= distance_flow_bound(topology)


def test_some_of_what_is_stored():
    verify(Random(1).sample([key for key in sorted(stored_throughputs()) if key[0] < 100], 8))


@pytest.mark.slow
def test_more_of_what_is_stored():
    verify(Random(2).sample(sorted(stored_throughputs()), 150))


def test_what_is_stored_needs_no_computation(monkeypatch):
    (nodes, degree, number), value = next(iter(stored_throughputs().items()))
    monkeypatch.setattr(throughputs, "exact_all_to_all", lambda topology: pytest.fail("computed"))
    assert throughput_of(parse(named_recipe(nodes, degree, number))) == value


def test_what_is_not_quick_is_not_known(monkeypatch):
    assert throughput_of(parse("Pi_{3,47}")) is None  # no symmetry to speak of
    monkeypatch.setattr(throughputs, "QUICK_LINKS", 10)
    assert throughput_of(parse("Torus(4,4)")) is None


def test_prices_that_all_routes_avoid():
    """The jump of 1 alone reaches every node: a price on the other jump bounds nothing."""
    ring = parse("Cayley(Z17,{1,4})").topology()
    assert exact_all_to_all(ring) == all_to_all(ring).bound


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{HEADER}\n5,4,1,1/0\n")
    with pytest.raises(FileError, match=r"t\.csv, line 2: not nodes,degree,number,throughput: '5,4,1,1/0'"):
        stored_throughputs(path)
    good = tmp_path / "good.csv"
    good.write_text(f"{HEADER}\n5,4,1,4/7\n")
    assert stored_throughputs(good) == {(5, 4, 1): Fraction(4, 7)}
