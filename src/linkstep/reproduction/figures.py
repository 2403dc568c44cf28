"""Figures and how they compare: what the paper prints, what is found here, and whether the two agree.

A ``Cell`` is one figure in three columns: the paper's, ours from the paper's own bases and schedules, and linkstep's. A
printed figure has few digits: a value agrees with it where it rounds to it. Not here: where the values
come from (the modules of the exhibits) and how they are written to files (``output``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction


@dataclass(frozen=True)
class Interval:
    """A value known to lie between two others, such as a flow that is reached and its bound; or a range over sizes."""

    least: Fraction
    most: Fraction

    def __str__(self) -> str:
        return f"{self.least}..{self.most}"


def exactly(value: Fraction) -> Interval:
    """Return a value that is known as one that lies between itself and itself."""
    return Interval(value, value)


EXACTLY = Fraction(0)
"""How far a value may lie from a figure that is not rounded."""
ABOUT = Fraction(5)
"""How far, in points, from a percentage that the paper measured or calls approximate; shown with a ``~``."""

Value = int | Fraction | float | str | Interval | None
"""A figure found here; None where there is none, text where it is no number."""


class CellKind(StrEnum):
    """What a cell is there for."""

    COMPARED = "compared"
    """A figure that is the same on every run, beside what the paper says of it."""
    POINT = "point"
    """A point of a curve, of which the paper prints no figure."""
    MEASURED = "measured"
    """A time taken on this machine, or one that depends on it."""


class Verdict(StrEnum):
    """How a value stands against the paper's figure."""

    SAME = "same"
    BETTER = "better"
    DIFFERS = "differs"
    NONE = ""
    """One of the two is missing."""


class Mark(StrEnum):
    """Why a figure that agrees with the paper's says little, so that it does not count as one that agrees."""

    NONE = ""
    CIRCULAR = "circular"
    """The paper's own value, its theorem, or its fit of the same measurements was put in and comes out again."""
    CHOSEN = "chosen after"
    """A setting was chosen after this figure, which therefore cannot confirm it."""
    WORDS = "words"
    """The paper prints no number here: what stands for it is read from a sentence."""


class Direction(StrEnum):
    """Which way a figure improves."""

    LESS = "less"
    MORE = "more"
    NEITHER = "neither"


@dataclass(frozen=True)
class Cell:
    """One figure: what of, in which unit, and its three columns; ``why`` says where a difference comes from."""

    item: str
    quantity: str
    unit: str
    paper: str | None
    bases: Value
    """From the paper's own bases and schedules."""
    bases_verdict: Verdict
    ours: Value
    """What linkstep has."""
    ours_verdict: Verdict
    why: str = ""
    kind: CellKind = CellKind.COMPARED
    mark: Mark = Mark.NONE


def cell(
    item: str,
    quantity: str,
    *,
    unit: str = "",
    paper: str | None = None,
    bases: Value = None,
    ours: Value = None,
    better: Direction = Direction.NEITHER,
    within: Fraction | None = None,
    why: str = "",
    kind: CellKind = CellKind.COMPARED,
    mark: Mark = Mark.NONE,
) -> Cell:
    """Return a cell, its values compared; ``within`` is how far a value may lie from a figure that does not just round.

    Only linkstep's own value can be ``better``: what is made from the paper's bases is the same as the paper's figure
    or differs from it, whichever way. Where it differs, the figure was not found as ours are, and to be beyond it is no
    improvement.

    >>> cell("Pi_{4,64}", "T_B", unit="M/B", paper="1.312", bases=Fraction(21, 16)).bases_verdict
    <Verdict.SAME: 'same'>
    >>> cell("12 servers", "faster by", unit="%", paper="75", bases=Fraction(77), within=ABOUT).paper
    '~75'
    """
    first, second = compare(paper, bases, Direction.NEITHER, within), compare(paper, ours, better, within)
    if first is Verdict.DIFFERS and second is Verdict.BETTER:
        second = Verdict.DIFFERS
    if paper is not None and within:
        paper = f"~{paper}"
    return Cell(item, quantity, unit, paper, bases, first, ours, second, why, kind, mark)


def compare(paper: str | None, value: Value, better: Direction, within: Fraction | None = None) -> Verdict:
    """Return how a value stands against a printed figure.

    >>> str(compare("1.020", Fraction(101, 100), Direction.LESS))
    'better'
    """
    if paper is None or value is None:
        return Verdict.NONE
    if isinstance(value, str):
        return Verdict.SAME if value == paper else Verdict.DIFFERS
    if paper[0] in "<>":
        return _compare_bound(paper, value, better)
    figure = _number(paper)
    if figure is None:
        return Verdict.DIFFERS
    slack = half_digit(paper) if within is None else within
    least, most = (value.least, value.most) if isinstance(value, Interval) else (Fraction(value), Fraction(value))
    if least <= figure + slack and figure - slack <= most:
        return Verdict.SAME
    improved = {Direction.LESS: most < figure, Direction.MORE: least > figure, Direction.NEITHER: False}
    return Verdict.BETTER if improved[better] else Verdict.DIFFERS


def _compare_bound(paper: str, value: int | Fraction | float | Interval, better: Direction) -> Verdict:
    """Compare with a figure that is only a bound, such as >10^4: what was given up after so long, say."""
    figure = _number(paper[1:])
    if figure is None or isinstance(value, Interval):
        return Verdict.DIFFERS
    if (value < figure) == (paper[0] == "<"):
        return Verdict.SAME
    improved = Direction.LESS if paper[0] == ">" else Direction.MORE
    return Verdict.BETTER if better is improved else Verdict.DIFFERS


def _number(text: str) -> Fraction | None:
    try:
        base, power, exponent = text.partition("^")
        return Fraction(base) ** int(exponent) if power else Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def half_digit(text: str) -> Fraction:
    """Return half a unit in the last digit of a printed figure: how far off a value that rounds to it can be.

    >>> half_digit("5.71e-2") == Fraction(5, 10**5)
    True
    """
    if "/" in text:
        return Fraction(0)
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return Fraction(10) ** exponent / 2


def show(value: Value, like: str | None = None) -> str:
    """Return a value for people to read: rounded, with a digit more than the figure it is compared with.

    Whole numbers look alike whether they are an int or a Fraction: a file does not tell these apart.

    >>> show(Fraction(21, 16), "1.312"), show(Fraction(1, 35), "5.71e-2"), show(Fraction(2, 3), "2/3"), show(None)
    ('1.3125', '2.857e-02', '2/3', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, Interval):
        ends = [show(end, like) for end in (value.least, value.most)]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)
    if "/" in (like or "") and isinstance(value, Fraction):
        return str(value)
    mantissa, _, exponent = (like or "").partition("e")
    if exponent:
        return f"{float(value):.{len(mantissa.partition('.')[2]) + 1}e}"
    if "." in mantissa:
        return f"{float(value):.{len(mantissa.partition('.')[2]) + 1}f}"
    if isinstance(value, int):
        return str(value)
    number = float(value)
    if number == int(number) and abs(number) < 1e9:
        return str(int(number))
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:.0f}"


def write_value(value: Value) -> str:
    """Return a value as a file holds it: exact.

    >>> [write_value(value) for value in (3, Fraction(1, 3), 0.1, "yes", None)]
    ['3', '1/3', '0.1', 'yes', '']
    """
    return "" if value is None else str(value)


def read_value(text: str) -> Value:
    """Return the value that ``write_value`` wrote.

    >>> [read_value(text) for text in ("3", "1/3", "0.1", "yes", "", "1/3..1/2")][:3]
    [3, Fraction(1, 3), 0.1]
    """
    least, dots, most = text.partition("..")
    if dots:
        ends = _number(least), _number(most)
        if ends[0] is not None and ends[1] is not None:
            return Interval(ends[0], ends[1])
    if "/" in text and (found := _number(text)) is not None:
        return found
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text or None


def yes(value: bool) -> str:
    """Return a property as a table shows it."""
    return "yes" if value else "no"


def mean(values: Iterable[Fraction]) -> Fraction:
    """Return the mean of some values, exactly."""
    found = list(values)
    return sum(found, Fraction(0)) / len(found)


def percent_less(ours: Fraction, theirs: Fraction) -> Fraction:
    """Return by how many percent ours is less than theirs."""
    return 100 * (1 - ours / theirs)


@dataclass(frozen=True)
class Tally:
    """How many figures agree with the paper's and how many differ, each column by itself."""

    bases: dict[Verdict, int]
    """From the paper's bases: ``SAME`` and ``DIFFERS``."""
    ours: dict[Verdict, int]
    """What linkstep has: ``BETTER`` besides."""
    marked: int
    """Cells with a mark that agree: they count in neither column."""


def tally(cells: Iterable[Cell]) -> Tally:
    """Count verdicts in each column. A mark keeps a figure from those that agree, never from those that differ."""
    bases = dict.fromkeys((Verdict.SAME, Verdict.DIFFERS), 0)
    ours = dict.fromkeys((Verdict.SAME, Verdict.BETTER, Verdict.DIFFERS), 0)
    marked = 0
    for one in cells:
        verdicts = ((bases, one.bases_verdict), (ours, one.ours_verdict))
        for counts, verdict in verdicts:
            if verdict is Verdict.DIFFERS or (verdict and not one.mark):
                counts[verdict] += 1
        marked += bool(one.mark) and any(verdict in (Verdict.SAME, Verdict.BETTER) for _, verdict in verdicts)
    return Tally(bases, ours, marked)
