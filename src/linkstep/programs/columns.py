"""Tables of integers with named columns: how programs hold their rows.

A table is a frozen dataclass whose fields are equally long arrays, so that loops over all rows are numpy's and a
column is asked for by name. Not a data frame: there are no types but 64-bit integers, no index and no joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Columns:
    """What tables share; a subclass is a frozen dataclass with one field for each column."""

    @classmethod
    def from_rows(cls, rows: Ints | Sequence[Sequence[int]] | Sequence[int]) -> Self:
        """Make a table of rows, or of the numbers of all rows one after another, in the order of the fields."""
        table = np.asarray(rows, np.int64).reshape(-1, len(_names(cls)))
        return cls.from_columns(np.ascontiguousarray(table.T))

    @classmethod
    def from_columns(cls, columns: Iterable[npt.ArrayLike]) -> Self:
        """Make a table of its columns, in the order of the fields."""
        make: Any = cls
        table: Self = make(*(np.asarray(column, np.int64) for column in columns))
        return table

    @classmethod
    def concatenate(cls, tables: Sequence[Self]) -> Self:
        """Put tables under each other."""
        return cls.from_columns([np.concatenate([getattr(t, name) for t in tables]) for name in _names(cls)])

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return some of the rows, by number or by a mask."""
        return self.from_columns([getattr(self, name)[rows] for name in _names(type(self))])

    def __len__(self) -> int:
        return len(getattr(self, _names(type(self))[0]))


def _names(table: Any) -> list[str]:
    return [field.name for field in fields(table)]


def grouped(keys: Ints, values: npt.NDArray[Any], num_groups: int) -> tuple[Ints, npt.NDArray[Any]]:
    """Return (ptr, items): the values of key k are ``items[ptr[k]:ptr[k + 1]]``, in their order.

    >>> ptr, items = grouped(np.array([1, 0, 1]), np.array([7, 8, 9]), 2)
    >>> ptr.tolist(), items.tolist()
    ([0, 1, 3], [8, 7, 9])
    """
    order = np.argsort(keys, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=num_groups))]).astype(np.int64)
    return ptr, np.ascontiguousarray(values[order])


def pairs(first: Ints, second: Ints) -> Ints:
    """Return rows (first, second)."""
    return np.stack([first, second], axis=1).astype(np.int64)
