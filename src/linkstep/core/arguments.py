"""Checks at the door of public functions: a value of the wrong type is refused in one line that names the argument.

``check_count`` (``linkstep.core.units``) is the check of whole numbers. Not here: what a value must be beyond its type.
"""

from __future__ import annotations

from numbers import Real
from typing import SupportsFloat, TypeVar

from linkstep.core.errors import LinkstepError
from linkstep.core.text import shown
from linkstep.core.units import check_count

T = TypeVar("T")


def check_kind(what: str, value: object, kind: type[T], *more: type) -> T:
    """Return a value of the kind wanted, or of another that is taken too; LinkstepError if it is of none.

    >>> check_kind("text", 5, str)
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: text must be a str, not 5
    """
    if not isinstance(value, (kind, *more)):
        names = " or a ".join(one.__name__ for one in (kind, *more) if one is not type(None))
        raise LinkstepError(f"{what} must be a {names}, not {shown(value)}")
    return value  # type: ignore[return-value]


def check_callable(what: str, value: object) -> None:
    """Refuse what cannot be called where a function is taken; None: there is none.

    >>> check_callable("progress", 5)
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: progress must be a function, not 5
    """
    if value is not None and (isinstance(value, type) or not callable(value)):
        raise LinkstepError(f"{what} must be a function, not {shown(value)}")


def check_integer(what: str, value: object) -> int:
    """Return a whole number of any sign, numpy's too, as an int; LinkstepError if it is none."""
    return check_count(what, value, -(2**62), 2**62)


def check_flag(what: str, value: object) -> bool:
    """Return True or False, numpy's too; LinkstepError for what is only taken for one of them, such as "no"."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise LinkstepError(f"{what} must be True or False, not {shown(value)}")
    return bool(value)


def check_seconds(what: str, value: object) -> float:
    """Return a time, more than 0, as a float; LinkstepError if it is none, as nan is."""
    if isinstance(value, bool) or not isinstance(value, Real) or not isinstance(value, SupportsFloat):
        raise LinkstepError(f"{what} must be a number of seconds, not {shown(value)}")
    try:
        seconds = float(value)
    except OverflowError:
        raise LinkstepError(f"{what} must be a number of seconds, not {shown(value)}") from None
    if not seconds > 0:
        raise LinkstepError(f"{what} must be positive, not {shown(value)}")
    return seconds
