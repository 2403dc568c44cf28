"""Schedules: the door and the order of rows."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkstep._kernels.rows import _first_misplaced
from linkstep.core.errors import LinkstepError, ScheduleError
from linkstep.core.schedule import COLLECTIVES, ROW_COLUMNS, Schedule
from support import reference
from support.strategies import garbage_cases, right_cases, ring, seeds, topology_of

RING = ring(3)
ROW = {"source": [0], "lo": [0], "hi": [1], "link": [0], "step": [1]}


def rows_of(schedule: Schedule) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(schedule, what).tolist() for what in ROW_COLUMNS), strict=True))


def exact(topology, unit, rows, **changes):
    """Build by the constructor, which sorts nothing."""
    kinds = {"source": np.int32, "lo": np.int64, "hi": np.int64, "link": np.int32, "step": np.int16}
    columns = {
        what: np.array([row[i] for row in rows], kinds[what])
        for i, what in enumerate(("source", "lo", "hi", "link", "step"))
    }
    return Schedule(topology, unit, **(columns | changes))


@pytest.mark.parametrize(
    ("unit", "columns", "message", "row"),
    [
        (0, {}, "unit must be an integer in [1, 2^62), not 0", None),
        (2**62, {}, f"unit must be an integer in [1, 2^62), not {2**62}", None),
        (True, {}, "unit must be an integer in [1, 2^62), not True", None),
        (1.0, {}, "unit must be an integer in [1, 2^62), not 1.0", None),
        (1, {"collective": "gossip"},
         f"collective must be one of {', '.join(COLLECTIVES)}, not 'gossip'", None),
        (1, {"lo": [0, 0]},
         "columns must be equally long, not {'source': 1, 'lo': 2, 'hi': 1, 'link': 1, 'step': 1}", None),
        (1, {"lo": [0.0]}, "lo must hold integers, not float64", None),
        (1, {"source": [[0]]}, "source must be one-dimensional, not of shape (1, 1)", None),
        (1, {"step": [2**15]}, "step must lie in [-32768, 32767], not 32768..32768", None),
        (1, {"source": [3]}, "row 0: source must be a node in [0, 3), not 3", 0),
        (1, {"source": [-1]}, "row 0: source must be a node in [0, 3), not -1", 0),
        (1, {"link": [3]}, "row 0: link must lie in [0, 3), not 3", 0),
        (1, {"link": [-1]}, "row 0: link must lie in [0, 3), not -1", 0),
        (1, {"step": [0]}, "row 0: step must be at least 1, not 0", 0),
        (2, {"lo": [1]}, "row 0: chunk must be inside the shard and not empty: [1, 1) of unit 2", 0),
        (2, {"lo": [-1]}, "row 0: chunk must be inside the shard and not empty: [-1, 1) of unit 2", 0),
        (2, {"hi": [3]}, "row 0: chunk must be inside the shard and not empty: [0, 3) of unit 2", 0),
        (2**62 - 1, {what: v * 3 for what, v in ROW.items()},
         f"unit {2**62 - 1} is too fine for 3 rows: loads must stay below 2^63", None),
    ],
)  # fmt: skip
def test_from_columns_refuses(unit, columns, message, row):
    with pytest.raises(ScheduleError) as caught:
        Schedule.from_columns(RING, unit, **(ROW | columns))
    assert str(caught.value) == message
    assert caught.value.row == row
    assert isinstance(caught.value, LinkstepError)


def test_the_row_named_is_the_sorted_one():
    """The first given is the last by step, so it is row 1 that breaks the rule."""
    with pytest.raises(ScheduleError, match=r"^row 1: source must be a node in \[0, 3\), not 9$") as caught:
        Schedule.from_columns(RING, 1, [9, 0], [0, 0], [1, 1], [0, 0], [2, 1])
    assert caught.value.row == 1


@pytest.mark.parametrize("column", range(4))
def test_the_constructor_wants_rows_in_order(column):
    """Two rows that differ in one part of the order only: right as given, refused the other way round."""
    first, second = [0, 0, 2, 0, 1], [0, 0, 2, 0, 1]
    second[(4, 3, 0, 1)[column]] += 1
    assert exact(RING, 2, [first, second]).num_rows == 2
    with pytest.raises(ScheduleError, match=r"^row 1: rows must be sorted by \(step, link, source, lo\)$") as caught:
        exact(RING, 2, [second, first])
    assert caught.value.row == 1


@pytest.mark.parametrize("what", ROW_COLUMNS)
def test_the_constructor_wants_columns_of_one_length(what):
    """Before any kernel reads them; also where there are no rows by one column's count."""
    with pytest.raises(ScheduleError, match=rf"^columns must be equally long, not .*'{what}': 0"):
        exact(RING, 1, [(0, 0, 1, 0, 1)], **{what: np.empty(0, np.int64)})


@given(garbage_cases())
def test_rows_are_sorted_and_frozen(case):
    schedule = case.schedule()
    expected = sorted((step, link, source, lo) for source, lo, _, link, step in rows_of(schedule))
    assert [(step, link, source, lo) for source, lo, _, link, step in rows_of(schedule)] == expected
    assert schedule.num_rows == len(case.rows)
    assert schedule.num_steps == max((row[4] for row in case.rows), default=0)
    for what, dtype in zip(ROW_COLUMNS, (np.int32, np.int64, np.int64, np.int32, np.int16), strict=True):
        column = getattr(schedule, what)
        assert column.dtype == dtype
        assert not column.flags.writeable


@given(seeds, right_cases())
def test_the_order_of_rows_does_not_matter(seed, case):
    rows = list(case.rows)
    Random(seed).shuffle(rows)
    shuffled = type(case)(case.num_nodes, case.links, case.unit, rows, case.collective).schedule()
    assert sorted(rows_of(shuffled)) == sorted(rows_of(case.schedule()))
    if len({(row[0], row[1], row[3], row[4]) for row in rows}) == len(rows):
        assert shuffled == case.schedule()
        assert hash(shuffled) == hash(case.schedule())


@given(st.data())
def test_first_misplaced(data):
    """The kernel against its twin on rows that are out of range or order anywhere."""
    few = st.tuples(*(st.integers(-1, 3) for _ in range(5)))
    rows = data.draw(st.lists(few, max_size=6))
    if data.draw(st.booleans()):
        rows.sort(key=lambda row: (row[4], row[3], row[0], row[1]))
    n, links, unit = (data.draw(st.integers(1, 4)) for _ in range(3))
    kinds = (np.int32, np.int64, np.int64, np.int32, np.int16)
    columns = [np.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    assert _first_misplaced(n, links, unit, *columns) == reference.first_misplaced(n, links, unit, rows)


def test_first_misplaced_in_longer_rows():
    """In-range rows in order, one pair exchanged: found where it is."""
    rng = Random(7)
    rows = sorted({(rng.randint(1, 9), rng.randrange(4), rng.randrange(4), rng.randrange(4)) for _ in range(80)})
    rows = [(source, lo, lo + 1, link, step) for step, link, source, lo in rows]
    for r in range(len(rows) - 1):
        swapped = [*rows[:r], rows[r + 1], rows[r], *rows[r + 2 :]]
        with pytest.raises(ScheduleError) as caught:
            exact(topology_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)]), 4, swapped)
        assert caught.value.row == r + 1
        assert reference.first_misplaced(4, 4, 4, swapped) == (r + 1, 4)


def test_empty_schedules():
    empty = Schedule.from_columns(RING, 5, [], [], [], [], [])
    assert (empty.num_rows, empty.num_steps) == (0, 0)
    assert repr(empty) == "<Schedule allgather on N=3: 0 rows, 0 steps, unit 5>"


def test_equality():
    one = Schedule.from_columns(RING, 1, **ROW)
    same = Schedule.from_columns(ring(3), np.int64(1), **{what: np.array(v, np.int8) for what, v in ROW.items()})
    assert one == same
    assert hash(one) == hash(same)
    assert type(same.unit) is int
    different = [
        Schedule.from_columns(ring(4), 1, **ROW),
        Schedule.from_columns(RING, 2, **ROW),
        Schedule.from_columns(RING, 1, **(ROW | {"step": [2]})),
        Schedule.from_columns(RING, 1, **ROW, collective="allreduce"),
        Schedule.from_columns(RING, 1, [], [], [], [], []),
    ]
    assert all(one != other for other in different)
    assert one != 1
    assert repr(one) == "<Schedule allgather on N=3: 1 rows, 1 steps, unit 1>"


def test_the_collectives_are_those_of_the_paper():
    """sec:collectiveintro."""
    assert COLLECTIVES[:3] == ("allgather", "reduce-scatter", "allreduce")
