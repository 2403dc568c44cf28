"""Tables of rows that plug-ins may add to: families, methods, baselines, cost models, targets, engines and others.

A table is read as a sequence (``Rows``) or by name (``NamedRows``), and knows the type of its rows, by which
``register`` finds it. Plug-ins that are installed, or that ``LINKSTEP_PLUGINS`` names, are looked for when a name is
not known or a table is listed, not before. Not here: where plug-ins come from (``linkstep.core.plugins``), and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar, overload

from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown

Row = TypeVar("Row")

TABLES: dict[type, RowTable[Any]] = {}
"""The tables of modules that were imported, by the type of their rows."""

_is_looked_for = False


def look_for_plugins() -> None:
    """Load plug-ins that are installed or that the environment names, once."""
    global _is_looked_for
    if _is_looked_for:
        return
    _is_looked_for = True  # a plug-in that lists a table while it is loaded sees those before it
    try:
        from linkstep.core.plugins import load_waiting  # here: most of what reads tables needs no plug-in

        load_waiting()
    except BaseException:
        _is_looked_for = False
        raise


def look_again() -> None:
    """Let plug-ins be looked for when the next table is listed: those that were loaded are not loaded again."""
    global _is_looked_for
    _is_looked_for = False


class RowTable(Generic[Row]):
    """Rows by their keys, in order: those that come with linkstep, then those that were added."""

    def __init__(
        self,
        kind: type[Row],
        what: str,
        rows: Iterable[Row],
        *,
        key: Callable[[Row], str],
        words: Callable[[Row], Iterable[str]] | None = None,
        check: Callable[[Row], str | None] | None = None,
    ) -> None:
        """Take the rows there are; ``what`` is one of them in words.

        No two rows have a word in common, the key unless ``words`` says others; but those that come with linkstep may.
        ``check`` says why a row cannot be added, or returns None.
        """
        self.kind, self.what = kind, what
        self._key, self._words, self._check = key, words or (lambda row: (key(row),)), check
        self._by_key = {key(row): row for row in rows}
        self._known = tuple(self._by_key.values())
        self._added: tuple[Row, ...] = ()
        self._readers: list[Callable[[], object]] = []
        TABLES[kind] = self

    @property
    def known(self) -> tuple[Row, ...]:
        """The rows that are here, without a look for plug-ins."""
        return self._known

    @property
    def added(self) -> tuple[Row, ...]:
        """Those of them that were registered."""
        return self._added

    def on_change(self, forget: Callable[[], object]) -> None:
        """Call a function whenever a row comes or goes: for those who keep what they made of the rows."""
        self._readers.append(forget)

    def refusal(self, row: Row) -> str | None:
        """Return why a row cannot be added, or None."""
        why = _ill_typed(row)
        if why is not None:
            return f"{self.what}: {why}"
        taken = {word for one in self._known for word in self._words(one)}
        for word in self._words(row):
            if not word or not word.isprintable():
                return f"{self.what}: a name must be one line of text, not {shown(word)}"
            if word in taken:
                one = f"{'an' if self.what[0] in 'aeiou' else 'a'} {self.what}"
                return f"there is {one} {word!r} already: choose another name"
        why = None if self._check is None else self._check(row)
        return None if why is None else f"{self.what} {self._key(row)!r}: {why}"

    def add(self, row: Row) -> None:
        """Add a row; LinkstepError says why one cannot be added."""
        why = self.refusal(row)
        if why is not None:
            raise LinkstepError(why)
        self._added += (row,)
        self._put(self._key(row), row)

    def remove(self, row: Row) -> None:
        """Take a row that was added out again; nothing happens if it is not there."""
        if any(one is row for one in self._added):
            self._added = tuple(one for one in self._added if one is not row)
            self._drop(self._key(row))

    def _put(self, key: str, row: Row) -> None:
        self._by_key[key] = row
        self._change()

    def _drop(self, key: str) -> None:
        del self._by_key[key]
        self._change()

    def _change(self) -> None:
        self._known = tuple(self._by_key.values())
        for forget in self._readers:
            forget()


class Rows(RowTable[Row], Sequence[Row]):
    """A table that is gone through in order."""

    def __iter__(self) -> Iterator[Row]:
        look_for_plugins()
        return iter(self._known)

    def __len__(self) -> int:
        look_for_plugins()
        return len(self._known)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...

    def __getitem__(self, index: int | slice) -> Row | tuple[Row, ...]:
        look_for_plugins()
        return self._known[index]


class NamedRows(RowTable[Row], MutableMapping[str, Row]):
    """A table that is looked up by name: a name that it has asks for no plug-in."""

    def __getitem__(self, name: str) -> Row:
        if name not in self._by_key:
            look_for_plugins()
        return self._by_key[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._by_key:
            look_for_plugins()
        return name in self._by_key

    def __iter__(self) -> Iterator[str]:
        look_for_plugins()
        return iter(tuple(self._by_key))

    def __len__(self) -> int:
        look_for_plugins()
        return len(self._by_key)

    def __setitem__(self, name: str, row: Row) -> None:
        self._put(name, row)

    def __delitem__(self, name: str) -> None:
        self._drop(name)


def _ill_typed(row: Any) -> str | None:
    """Return which field of a row is not a function, or not text, where it must be; None if all are."""
    for one in fields(row):
        kind, value = str(one.type), getattr(row, one.name)
        if value is None and "None" in kind:
            continue
        if kind.startswith("Callable") and not callable(value):
            return f"{one.name} must be a function, not {shown(value)}"
        if kind.startswith("str") and not isinstance(value, str):
            return f"{one.name} must be text, not {shown(value)}"
    return None
