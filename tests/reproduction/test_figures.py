"""Figures compared: what rounds to the printed one is the same, what improves on it is better, all else differs."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep.reproduction.figures import (
    EXACTLY,
    Direction,
    Interval,
    Mark,
    Tally,
    Verdict,
    cell,
    compare,
    half_digit,
    read_value,
    show,
    tally,
    write_value,
)
from support.figures import unexplained

SAME, BETTER, DIFFERS = Verdict.SAME, Verdict.BETTER, Verdict.DIFFERS


@pytest.mark.parametrize(
    ("paper", "value", "better", "expected"),
    [
        ("1.332", Fraction(341, 256), Direction.LESS, SAME),
        ("1.312", Fraction(21, 16), Direction.LESS, SAME),  # 1.3125: half a digit off
        ("1.020", Fraction(1), Direction.LESS, BETTER),
        ("1.020", Fraction(11, 10), Direction.LESS, DIFFERS),
        ("28", Fraction(30), Direction.MORE, BETTER),
        ("28", Fraction(30), Direction.NEITHER, DIFFERS),
        ("5.71e-2", Fraction("0.05714"), Direction.MORE, SAME),
        ("8.01e-4", Interval(Fraction("7.99e-4"), Fraction("8.03e-4")), Direction.MORE, SAME),
        ("8.12e-4", Interval(Fraction("7.99e-4"), Fraction("8.03e-4")), Direction.MORE, DIFFERS),
        ("yes", "yes", Direction.NEITHER, SAME),
        ("yes", "no", Direction.NEITHER, DIFFERS),
        ("<0.01", 0.002, Direction.LESS, SAME),
        ("<0.01", 0.02, Direction.LESS, DIFFERS),
        (">10^4", 3.0, Direction.LESS, BETTER),
        ("n/a", 3.0, Direction.LESS, DIFFERS),
        (None, 3, Direction.LESS, Verdict.NONE),
        ("3", None, Direction.LESS, Verdict.NONE),
    ],
)
def test_verdicts(paper, value, better, expected):
    assert compare(paper, value, better) is expected


def test_an_exact_figure_is_not_rounded():
    assert compare("1", Fraction(35, 36), Direction.LESS) is SAME
    assert compare("1", Fraction(35, 36), Direction.LESS, EXACTLY) is BETTER
    assert half_digit("7/8") == EXACTLY


@given(st.none() | st.integers() | st.fractions() | st.floats(allow_nan=False, allow_infinity=False))
def test_property_values_survive_a_file(value):
    found = read_value(write_value(value))
    assert found == value


def test_intervals_and_words_survive_a_file():
    for value in ("yes", "4 alpha + 7/4 M/B", Interval(Fraction(1, 3), Fraction(1, 2))):
        assert read_value(write_value(value)) == value


def test_shown_with_a_digit_more_than_the_paper():
    assert show(Fraction(341, 256), "1.332") == "1.3320"
    assert show(Interval(Fraction(1, 3), Fraction(1, 2))) == "0.3333 to 0.5"
    assert (show(None), show(12), show("yes")) == ("-", "12", "yes")
    assert show(1, "1.000") == show(Fraction(1), "1.000") == "1.0000"  # a file does not tell these apart
    assert show(4, "4") == show(Fraction(4), "4") == "4"


def test_columns_are_counted_each_by_itself():
    """A column that agrees does not hide one that differs."""
    cells = (
        cell("a", "both the same", paper="3", bases=3, ours=3),
        cell("a", "ours improves", paper="3", bases=3, ours=2, better=Direction.LESS),
        cell("a", "ours differs", paper="3", bases=3, ours=4, better=Direction.LESS, why="for a reason"),
        cell("a", "theirs differs", paper="3", bases=4, ours=3, better=Direction.LESS, why="for a reason"),
        cell("a", "the paper says nothing", bases=4, ours=3),
    )
    assert tally(cells) == Tally({SAME: 3, DIFFERS: 1}, {SAME: 2, BETTER: 1, DIFFERS: 1}, 0)


@pytest.mark.parametrize("mark", [mark for mark in Mark if mark])
def test_a_mark_takes_from_what_agrees_only(mark):
    cells = [
        cell("a", "agrees", paper="3", bases=3, ours=2, better=Direction.LESS, mark=mark),
        cell("a", "differs", paper="3", bases=4, ours=3, mark=mark),
    ]
    assert tally(cells) == Tally({SAME: 0, DIFFERS: 1}, {SAME: 0, BETTER: 0, DIFFERS: 0}, 2)


def test_only_our_own_topologies_are_better():
    """The paper's bases give its figures or others; where they give others, to be beyond a figure is no improvement."""
    assert cell("a", "b", paper="3", bases=2, better=Direction.LESS).bases_verdict is DIFFERS
    assert cell("a", "b", paper="3", bases=2, ours=1, better=Direction.LESS).ours_verdict is DIFFERS
    assert cell("a", "b", paper="3", bases=3, ours=1, better=Direction.LESS).ours_verdict is BETTER
    assert cell("a", "b", paper="3", ours=1, better=Direction.LESS).ours_verdict is BETTER


@pytest.mark.parametrize("values", [{"bases": 4}, {"bases": 3, "ours": 4}, {"bases": 4, "ours": 3}])
def test_a_difference_in_either_column_is_explained(values):
    cells = (cell("a", "c", paper="3", bases=3, ours=3), cell("a", "b", paper="3", **values))
    assert unexplained(cells) == [("a", "b")]
    assert not unexplained((cell("a", "b", paper="3", why="for a reason", **values),))
