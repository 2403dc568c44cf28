"""What every report is, and the one way from it to JSON.

A report is a frozen dataclass: a value went in, these are the facts. A field is a member of the JSON, in the same order
and by the same name (but for the underscore of a word that is Python's own: ``from_``). Fields are exact; what is not
written as it is says so in its type: ``Seconds``, ``BitRate``, ``Bytes`` and ``Ratio`` become numbers, other Fractions
text such as "1023/1024". Not here: what a person reads, which is printed by commands or shown by a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum, auto
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

from linkstep.core.units import parse_size

FORMATS = "linkstep/"
"""How the ``format`` of every document of ours begins."""


class FieldForm(Enum):
    """How a field is written where it is not written as it is."""

    FLOAT = auto()
    """As the nearest float."""
    NUMBER = auto()
    """As an integer where it is whole, else as the nearest float; a size that is text, as its bytes."""
    OPTIONAL = auto()
    """Left out where it is None."""
    INLINE = auto()
    """Its own members in its place; none where it is None."""
    UNWRITTEN = auto()
    """Not at all: for those who have the report itself."""


Seconds = Annotated[Fraction, FieldForm.FLOAT, "seconds"]
"""A time."""
ClockSeconds = Annotated[float, "seconds"]
"""A time that a clock gave, or a simulator's clock."""
BitRate = Annotated[Fraction, FieldForm.NUMBER, "bit/s"]
"""A bandwidth."""
Bytes = Annotated[Fraction, FieldForm.NUMBER, "bytes"]
"""An amount of data."""
Size = Annotated[str, FieldForm.NUMBER, "bytes"]
"""An amount of data as it was asked for, "1MB", which is how it is shown; JSON has its bytes."""
ByteCount = Annotated[int, "bytes"]
"""A whole number of bytes."""
TB = Annotated[Fraction, "M/B"]
"""T_B: what a schedule takes but for its steps, times the data M over the bandwidth B of a node."""
Ratio = Annotated[Fraction, FieldForm.FLOAT]
"""A number without a unit."""


class View:
    """A report: its JSON says which it is, and of which version; a version only ever gains members."""

    report: ClassVar[str]
    """Its name; the ``format`` of its JSON is "linkstep/" and this."""
    version: ClassVar[int] = 2

    def to_json(self) -> dict[str, Any]:
        """Return what ``json.dumps`` takes."""
        return {"format": f"{FORMATS}{self.report}", "version": self.version} | to_members(self)


def to_members(value: Any) -> dict[str, Any]:
    """Return the fields of a report, or of a part of one, as JSON has them.

    >>> from dataclasses import dataclass
    >>> Row = dataclass(type("Row", (), {"__annotations__": {"from_": int, "bandwidth": Fraction, "seconds": Seconds}}))
    >>> to_members(Row(3, Fraction(15, 16), Fraction(1, 8)))
    {'from': 3, 'bandwidth': '15/16', 'seconds': 0.125}
    """
    found: dict[str, Any] = {}
    kind: Any = type(value)
    for name, forms in fields_of(kind):
        member = getattr(value, name)
        if FieldForm.UNWRITTEN in forms or (member is None and forms & {FieldForm.OPTIONAL, FieldForm.INLINE}):
            continue
        if FieldForm.INLINE in forms:
            found |= to_members(member)
        else:
            found[member_name(name)] = _written(member, forms)
    return found


def member_name(field: str) -> str:
    """Return what a field is called in JSON."""
    return field.removesuffix("_")


@cache
def fields_of(kind: type) -> tuple[tuple[str, frozenset[FieldForm]], ...]:
    """Return the fields of a dataclass with their forms."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field.name, frozenset(_forms(hints[field.name]))) for field in fields(kind))


def _forms(hint: Any) -> Iterator[FieldForm]:
    yield from (mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, FieldForm))
    for inner in get_args(hint):
        yield from _forms(inner)


def _written(value: Any, forms: frozenset[FieldForm]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_written(one, forms) for one in value]
    if isinstance(value, dict):
        return {key: _written(one, forms) for key, one in value.items()}
    if FieldForm.NUMBER in forms and value is not None:
        return number(parse_size(value) if isinstance(value, str) else value)
    if isinstance(value, Fraction):
        return float(value) if FieldForm.FLOAT in forms else str(value)
    if is_dataclass(value):
        return to_members(value)
    return value.tolist() if hasattr(value, "tolist") else value


def number(value: Fraction) -> int | float:
    """Return a number as JSON has it: whole where it is.

    >>> number(Fraction(10**11)), number(Fraction(1, 8))
    (100000000000, 0.125)
    """
    return int(value) if value.denominator == 1 else float(value)
