"""How units are spelt: every spelling that is understood, what it stands for, and the ones that could mean two things.

``1mb`` and ``1 MB`` are one size, ``100G`` and ``100gbe`` one rate. A spelling that leaves the unit open, such as
``100G``, is a guess: commands say how they read it. Case matters where it carries meaning, ``Gb`` bits and ``GB``
bytes; the prefix of a unit that is otherwise clear does not need it. Not here: numbers, and what quantities are for
(``units``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

DECIMAL = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
PREFIX = {p: Fraction(10**e) for p, e in DECIMAL.items()} | {p: Fraction(2**e) for p, e in BINARY.items()}
_LARGE = ("K", "M", "G", "T", "P")


class Unit(NamedTuple):
    """What a spelling stands for."""

    factor: Fraction
    """In seconds, bytes or bit/s."""
    name: str
    """The unit as commands print it."""
    is_guess: bool = False
    """Whether the spelling leaves something open."""


Units = dict[str, Unit]


def _cases(prefix: str) -> tuple[str, ...]:
    """Return the ways to write a prefix: ``M`` and ``m``; ``Mi``, ``mi`` and ``MI``."""
    return tuple(dict.fromkeys((prefix, prefix.lower(), prefix.upper())))


def _times() -> Units:
    scales = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12}
    words = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond", "ps": "picosecond"}
    found: Units = {}
    for name, scale in scales.items():
        unit = Unit(Fraction(1, 10**scale), name)
        found |= dict.fromkeys((name, f"{name}ec", f"{name}ecs", words[name], f"{words[name]}s"), unit)
    found |= dict.fromkeys(("µs", "μs"), found["us"])  # the micro sign, and the Greek letter
    found |= dict.fromkeys(("min", "mins", "minute", "minutes"), Unit(Fraction(60), "min"))
    return found | dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Unit(Fraction(3600), "h"))


def _sizes() -> Units:
    one = Unit(Fraction(1), "B")
    found = {"": one, "b": Unit(one.factor, "B", is_guess=True), "byte": one, "bytes": one}
    for prefix in (*_LARGE, *BINARY):
        unit = Unit(PREFIX[prefix], f"{prefix}B")
        open_ = unit._replace(is_guess=True)
        found |= dict.fromkeys((f"{prefix}byte", f"{prefix}bytes"), unit)
        found |= {f"{p}{b}": open_ for p in _cases(prefix) for b in ("", "B")}
        found[f"{prefix.lower()}b"] = open_
    return found | {f"{p}B": Unit(f, f"{p}B") for p, f in PREFIX.items()}


def _rates() -> Units:
    found: Units = {}
    for prefix in ("", *_LARGE, *BINARY):
        bits = Unit(PREFIX[prefix], "kbps" if prefix == "K" else f"{prefix}bps")
        in_bytes = Unit(8 * PREFIX[prefix], f"{prefix}B/s")
        for p in _cases(prefix):
            found |= {f"{p}{u}": bits for u in ("bps", "b/s", "bit/s", "bits/s")}
            found |= {f"{p}{u}": in_bytes for u in ("B/s", "Bps", "byte/s", "bytes/s")}
        if prefix in _LARGE:
            open_ = bits._replace(is_guess=True)
            found |= {f"{p}{u}": open_ for p in _cases(prefix) for u in ("", "b", "bit", "bits")}
            found |= {f"{p}{u}": bits for p in _cases(prefix) for u in ("bE", "be", "E")} | {f"{prefix.lower()}e": bits}
    return found


TIMES = _times()
DURATIONS = TIMES | {"": Unit(Fraction(1), "s"), "m": Unit(Fraction(60), "min", is_guess=True)}
"""Of a budget: a number alone is in seconds, as the option's name says."""
SIZES = _sizes()
RATES = _rates()

AMBIGUOUS = {
    "time": {"m": "may be in minutes or milliseconds: write {}min or {}ms"},
    "size": {f"{p}b": f"is in bits: write {{}}{p}B for bytes" for p in (*_LARGE, *BINARY)},
    "bandwidth": {f"{p}B": f"is a size: write {{}}{p}B/s or {{}}{p}bps" for p in (*_LARGE, *BINARY)},
}
"""What is said of a spelling that is refused because it could mean two things; ``{}`` is the number."""
