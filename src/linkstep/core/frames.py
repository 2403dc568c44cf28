"""Tables as data frames: of pandas where it is installed, else of polars. Neither is needed for anything else.

A frame is for looking, plotting and sorting: fractions become floats there, and stay exact in the values themselves.
Not here: how a table looks in a notebook (``linkstep.core.notebook``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np

from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing
from linkstep.core.notebook import html_rows


def frame_of(columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]) -> Any:
    """Return columns as a DataFrame of pandas, or of polars; LinkstepError if neither is installed.

    >>> frame_of({"T_L": [2, 3], "T_B": [Fraction(1, 2), Fraction(3, 4)]})["T_B"].tolist()
    [0.5, 0.75]
    """
    plain = {what: _plain(column) for what, column in columns.items()}
    try:
        import pandas
    except ImportError:
        return _polars_frame(plain)
    return pandas.DataFrame(plain)


def _polars_frame(columns: dict[str, Any]) -> Any:
    try:
        import polars
    except ImportError:
        raise LinkstepError(missing("a frame", "pandas or polars", "frames")) from None
    return polars.DataFrame(columns)


def _plain(column: Sequence[Any] | np.ndarray[Any, Any]) -> Any:
    return np.array(column) if isinstance(column, np.ndarray) else [_cell(value) for value in column]


def _cell(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else str(value) if isinstance(value, Enum) else value


class Row(Protocol):
    """What a table has rows of: a value that says what its cells are."""

    def _row_(self) -> dict[str, Any]:
        """Return cells by the name of their column."""


R = TypeVar("R", bound=Row)


def frame_of_rows(rows: Iterable[Row]) -> Any:
    """Return rows as a DataFrame; without a row there are no columns either."""
    cells = [row._row_() for row in rows]
    return frame_of({name: [row[name] for row in cells] for name in (cells[0] if cells else ())})


class Table(tuple[R, ...]):
    """Rows in their order: a tuple that a notebook shows as a table and that can be a frame."""

    __slots__ = ()
    title = "table"

    def to_frame(self) -> Any:
        """Return the rows as a DataFrame of pandas or polars."""
        return frame_of_rows(self)

    def _repr_html_(self) -> str:
        return html_rows(self.title, [row._row_() for row in self])
