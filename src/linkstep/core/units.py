"""Quantities as people write them, exactly: ``10us``, ``100Gbps``, ``1MB`` (10^6), ``1MiB`` (2^20).

Everything inside linkstep is a Fraction of a second, of a bit per second, or of a byte; these functions convert what
comes from outside, where it comes in. ``spellings`` has the units that are known: ``100G`` is 100Gbps and ``1mb`` 1MB.
A size without a unit is in bytes, a rate without one is refused. Floats are refused: 0.1 is not a tenth, and nan and
inf are no quantity.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from operator import index
from typing import NamedTuple, SupportsIndex

from linkstep.core.errors import LinkstepError, UnitError
from linkstep.core.spellings import AMBIGUOUS, DURATIONS, RATES, SIZES, TIMES, Unit, Units
from linkstep.core.text import shown

_DECIMAL_SIZES = ("PB", "TB", "GB", "MB", "KB")
_BINARY_SIZES = ("PiB", "TiB", "GiB", "MiB", "KiB")
"""Units in which sizes are shown, largest first."""
_PARTS = {"%": Unit(Fraction(1, 100), "%"), "": Unit(Fraction(1), "")}

_QUANTITY = re.compile(r"\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)\s*([^\s\d.]*)\s*", re.ASCII)
_FRACTION = re.compile(r"\d+/0*[1-9]\d*|\d+(\.\d*)?|\.\d+", re.ASCII)

_WRITTEN = re.compile(r"\d{1,1000}/0*[1-9]\d{0,999}", re.ASCII)

_SUGGESTED = {
    "time": ("us", "s"), "size": ("MB", "MiB"), "bandwidth": ("Gbps", "GB/s"), "gap": ("%", ""),
}  # fmt: skip
"""Units to propose for a number whose unit is missing or unknown; 0 alone is taken in the last of them."""

_PLACES = 30
"""Decimals beyond which a quantity is written as a fraction."""
_FACTOR = re.compile(r"x(0*[2-9]|0*[1-9]\d{1,8})", re.ASCII)

MOST = 10**60
"""No quantity is larger, nor smaller than one part of it but 0: products of a few of them still fit a float."""

Number = int | Fraction | str


class ReadQuantity(NamedTuple):
    """A quantity that was read, how it is written, and whether a unit had to be guessed."""

    value: Fraction
    text: str
    is_guess: bool


def _parse(text: Number, units: Units, what: str, example: str, base: str) -> Fraction:
    if not isinstance(text, str):
        return _parse_number(text, what, example, base)
    return _read(text, units, what, example).value


def _read(text: str, units: Units, what: str, example: str) -> ReadQuantity:
    match = _QUANTITY.fullmatch(text)
    if match is None or len(match[1]) > 40 or abs(int(match[1].partition("e")[2] or 0)) > 40:
        raise UnitError(f"{what} must be a number with a unit, such as {example}, not {text!r:.60}")
    number, spelling = match[1], match[2]
    unit = units.get(spelling)
    if unit is None and not (spelling or Fraction(number)):
        unit = units[_SUGGESTED[what][-1]]
    if unit is None:
        raise UnitError(f"{what} {text!r:.60} {_advice(what, number, spelling)}")
    return ReadQuantity(check_quantity(Fraction(number) * unit.factor, what), f"{number}{unit.name}", unit.is_guess)


def _advice(what: str, number: str, spelling: str) -> str:
    """Return what is wrong with a unit, and what to write instead."""
    if spelling in AMBIGUOUS.get(what, {}):
        return AMBIGUOUS[what][spelling].replace("{}", number)
    return f"has no known unit: write it like {' or '.join(f'{number}{unit}' for unit in _SUGGESTED[what])}"


def _parse_number(value: object, what: str, example: str, base: str) -> Fraction:
    if isinstance(value, Fraction):
        return check_quantity(value, what)
    try:
        return check_quantity(Fraction(index(_not_bool(value))), what)
    except TypeError:
        raise UnitError(
            f"{what} must be text with a unit, such as {example}, or an int or a Fraction of {base}, not {value!r:.60}"
        ) from None


def _not_bool(value: object) -> SupportsIndex:
    """Return what may be an integer, numpy's too; TypeError for True and False, which Python takes for 1 and 0."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError
    return value


def check_quantity(value: Fraction, what: str) -> Fraction:
    """Return a quantity that is 0 or within what linkstep computes with; UnitError if it is not.

    >>> check_quantity(Fraction(10**70), "time")
    Traceback (most recent call last):
    linkstep.core.errors.UnitError: time must be 0 or lie in [1e-60, 1e60], not about 1e70
    """
    if value < 0:
        raise UnitError(f"{what} must be at least 0, not {_about(value)}")
    if value and not value.denominator <= value.numerator * MOST <= value.denominator * MOST**2:
        raise UnitError(f"{what} must be 0 or lie in [1e-60, 1e60], not {_about(value)}")
    return value


def _about(value: Fraction) -> str:
    """Return a number that may have any number of digits, short."""
    if max(abs(value.numerator), value.denominator) < 10**20:
        return str(value)
    sign, size = "-" if value < 0 else "", abs(value)
    power = (size.numerator.bit_length() - size.denominator.bit_length()) * 30103 // 100000
    while Fraction(10) ** (power + 1) <= size:
        power += 1
    while Fraction(10) ** power > size:
        power -= 1
    return f"about {sign}1e{power}"


def check_count(what: str, value: object, least: int, most: int) -> int:
    """Return a whole number within bounds, such as chunks of a shard; LinkstepError if it is none.

    >>> check_count("chunks", 1.5, 1, 64)
    Traceback (most recent call last):
    linkstep.core.errors.LinkstepError: chunks must be an integer, not 1.5
    """
    try:
        number = index(_not_bool(value))
    except TypeError:  # an array of several integers too
        raise LinkstepError(f"{what} must be an integer, not {value!r:.60}") from None
    if not least <= number <= most:
        raise LinkstepError(f"{what} must lie in [{least}, {most}], not {shown(number)}")
    return number


def parse_fraction(text: str, what: str) -> Fraction:
    """Return a number without a unit, such as 7/8 or 0.875.

    >>> parse_fraction("7/8", "T_B")
    Fraction(7, 8)
    """
    if _FRACTION.fullmatch(text) is None or len(text) > 80:  # 1e999999999 would fill the memory
        raise UnitError(f"{what} must be a fraction such as 7/8, not {text!r:.60}")
    return Fraction(text)


def parse_part(text: str) -> Fraction:
    """Return a part of a whole, such as 1% or 0.01.

    >>> parse_part("1%"), parse_part("0.01")
    (Fraction(1, 100), Fraction(1, 100))
    """
    try:
        return _parse(text, _PARTS, "gap", "1% or 0.01", "part of a whole")
    except UnitError:
        raise UnitError(f"a gap is written 1% or 0.01, not {text!r:.60}") from None


def parse_time(text: Number) -> Fraction:
    """Return seconds; a number without a unit is refused, but for 0.

    >>> parse_time("10us") == parse_time("10 µs") == parse_time("10usec") == Fraction(1, 10**5)
    True
    """
    return _parse(text, TIMES, "time", "10us", "seconds")


def parse_duration(text: Number) -> Fraction:
    """Return seconds of a time budget: a number without a unit is seconds, and ``m`` is minutes.

    >>> parse_duration("5") == parse_duration("5s") == parse_duration("5000ms") == 5
    True
    >>> parse_duration("2m")
    Fraction(120, 1)
    """
    return _parse(text, DURATIONS, "time", "5s", "seconds")


def parse_size(text: Number) -> Fraction:
    """Return bytes; a number without a unit is bytes too.

    >>> parse_size("1MB"), parse_size("1MiB"), parse_size("1008000")
    (Fraction(1000000, 1), Fraction(1048576, 1), Fraction(1008000, 1))
    >>> parse_size("1M") == parse_size("1mb") == parse_size("1 MB") == 10**6
    True
    """
    return text.bytes if isinstance(text, WrittenSize) else _parse(text, SIZES, "size", "1MB or 1MiB", "bytes")


class WrittenSize(str):
    """A size as it is shown, its number as it was written, and its bytes: read once, where it enters.

    >>> size = WrittenSize("0.5 mib")
    >>> print(size, parse_size(size) is size.bytes)
    0.5MiB True
    """

    bytes: Fraction
    is_guess: bool
    """Whether the unit was written as something that leaves it open."""

    def __new__(cls, text: str) -> WrittenSize:
        """Read the text; UnitError if it is no size."""
        reading = _read(text, SIZES, "size", "1MB or 1MiB")
        size = super().__new__(cls, reading.text)
        size.bytes, size.is_guess = reading.value, reading.is_guess
        return size


def parse_bytes(text: Number, what: str) -> int:
    """Return a size that must be whole bytes.

    >>> parse_bytes("1KiB", "--min-bytes")
    1024
    """
    size = parse_size(text)
    if size.denominator != 1:
        raise UnitError(f"{what} must be whole bytes, not {text}")
    return int(size)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes of a sweep in bytes, ascending, each once: a list of sizes and of ranges ``A:B`` or ``A:B:xF``.

    A range is A, F times A, F times that, ... (F is 2 unless said) and B, both ends included.

    >>> parse_sizes("1KiB:8KiB")
    (1024, 2048, 4096, 8192)
    >>> parse_sizes("1KB:1MB:x10,1000003B")
    (1000, 10000, 100000, 1000000, 1000003)
    >>> parse_sizes("1KB:5KB")
    (1000, 2000, 4000, 5000)
    """
    return (text if isinstance(text, WrittenSizes) else WrittenSizes(text)).sizes


class WrittenSizes(str):
    """Sizes of a sweep as they are shown, and their bytes: read once, where they enter.

    >>> sweep = WrittenSizes("1k:4k, 1 MB")
    >>> print(sweep, sweep.sizes, sweep.is_guess)
    1KB:4KB,1MB (1000, 2000, 4000, 1000000) True
    """

    sizes: tuple[int, ...]
    is_guess: bool

    def __new__(cls, text: str) -> WrittenSizes:
        """Read the text; UnitError if it is no sweep."""
        items = [_parse_range(item.strip()) for item in text.split(",")]
        sweep = super().__new__(cls, ",".join(written for written, _, _ in items))
        sweep.sizes = tuple(sorted({size for _, sizes, _ in items for size in sizes}))
        sweep.is_guess = any(is_guess for _, _, is_guess in items)
        return sweep


def _parse_range(text: str) -> tuple[str, list[int], bool]:
    """Return a range as it is shown, its sizes, and whether a unit was guessed."""
    ends, factor = text.split(":"), ""
    if len(ends) == 3:
        factor = ends.pop().strip()
        if _FACTOR.fullmatch(factor) is None:
            raise UnitError(f"the factor of sizes must be a whole number from 2, written like x4, not {text!r:.60}")
    if len(ends) > 2:
        raise UnitError(f"sizes must be written like 1KiB:1GiB, 1KiB:1GiB:x4 or 1KiB,1MB, not {text!r:.60}")
    read = [WrittenSize(end) for end in ends]
    for size, end in zip(read, ends, strict=True):
        if size.bytes.denominator != 1 or not size.bytes:
            raise UnitError(f"a size must be a whole number of bytes from 1, not {end!r}")
    first, last = int(read[0].bytes), int(read[-1].bytes)
    if first > last:
        raise UnitError(f"sizes must go from the smaller to the larger, not {text!r:.60}")
    found = [first]
    while found[-1] * int(factor[1:] or 2) < last:
        found.append(found[-1] * int(factor[1:] or 2))
    return ":".join([*read, *([factor] if factor else [])]), [*found, last], any(size.is_guess for size in read)


def parse_bandwidth(text: Number) -> Fraction:
    """Return bits per second.

    >>> parse_bandwidth("100Gbps") == parse_bandwidth("12.5GB/s") == parse_bandwidth("100G") == 10**11
    True
    """
    return _parse(text, RATES, "bandwidth", "100Gbps or 12.5GB/s", "bit/s")


def read_time(text: str) -> ReadQuantity:
    """Return a time, as ``parse_time`` does, and how it was understood.

    >>> read_time("10 usec").text
    '10us'
    """
    return _read(text, TIMES, "time", "10us")


def read_duration(text: str) -> ReadQuantity:
    """Return the time of a budget, as ``parse_duration`` does, and how it was understood.

    >>> read_duration("2m")
    ReadQuantity(value=Fraction(120, 1), text='2min', is_guess=True)
    """
    return _read(text, DURATIONS, "time", "5s")


def read_bandwidth(text: str) -> ReadQuantity:
    """Return a rate, as ``parse_bandwidth`` does, and how it was understood.

    >>> read_bandwidth("100g")
    ReadQuantity(value=Fraction(100000000000, 1), text='100Gbps', is_guess=True)
    """
    return _read(text, RATES, "bandwidth", "100Gbps or 12.5GB/s")


def format_time(seconds: Fraction | float) -> str:
    """Return seconds with four significant digits in the largest unit that keeps them above one.

    >>> format_time(Fraction(3235, 10_000_000)), format_time(0)
    ('323.5us', '0s')
    """
    value = float(seconds)
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if value >= scale:
            return f"{value / scale:.4g}{unit}"
    return f"{value / 1e-9:.4g}ns" if value else "0s"


def format_size(size: Fraction | float, *, binary: bool = False) -> str:
    """Return bytes with four significant digits, in units of 1000 or of 1024.

    >>> format_size(Fraction(24_576_000_000)), format_size(12), format_size(2**28 + 1, binary=True)
    ('24.58GB', '12B', '256MiB')
    """
    for unit in _BINARY_SIZES if binary else _DECIMAL_SIZES:
        digits = f"{float(size) / float(SIZES[unit].factor):.4g}"
        if float(digits) >= 1:  # as it is printed: 1GiB, not 1024MiB, for a little less
            return f"{digits}{unit}"
    return f"{float(size):.4g}B"


def format_bandwidth(rate: Fraction | float) -> str:
    """Return bits per second with three significant digits.

    >>> format_bandwidth(34_790_000_000), format_bandwidth(Fraction(1, 3))
    ('34.8Gbps', '0.333bps')
    """
    for unit in ("Tbps", "Gbps", "Mbps", "kbps"):
        digits = f"{float(rate) / float(RATES[unit].factor):.3g}"
        if float(digits) >= 1:
            return f"{digits}{unit}"
    return f"{float(rate):.3g}bps"


def write_size(size: int) -> str:
    """Return bytes exactly, in the shortest way.

    >>> write_size(16 * 10**6), write_size(16 * 2**20), write_size(1000003)
    ('16MB', '16MiB', '1000003B')
    """
    units = ("B", *_DECIMAL_SIZES, *_BINARY_SIZES)
    return min(
        (f"{size // int(SIZES[unit].factor)}{unit}" for unit in units if size % int(SIZES[unit].factor) == 0), key=len
    )


def write_time(seconds: Fraction) -> str:
    """Return seconds exactly: with a unit where decimals can say it, else as a fraction of seconds.

    >>> write_time(Fraction(123, 10**7)), write_time(Fraction(1, 3))
    ('12.3us', '1/3')
    """
    return _write(seconds, ("s", "ms", "us", "ns", "ps"), TIMES)


def write_bandwidth(rate: Fraction) -> str:
    """Return bits per second exactly: with a unit where decimals can say it, else as a fraction of bit/s.

    >>> write_bandwidth(Fraction(2 * 10**8)), write_bandwidth(Fraction(10**9, 3))
    ('200Mbps', '1000000000/3')
    """
    return _write(rate, ("Tbps", "Gbps", "Mbps", "kbps", "bps"), RATES)


def parse_written(text: Number, parse: Callable[[Number], Fraction]) -> Fraction:
    """Return what ``write_time`` or ``write_bandwidth`` wrote, with ``parse`` for what has a unit.

    >>> parse_written("12.3us", parse_time), parse_written("1/3", parse_time)
    (Fraction(123, 10000000), Fraction(1, 3))
    """
    return parse(Fraction(text) if isinstance(text, str) and _WRITTEN.fullmatch(text) else text)


def _write(value: Fraction, names: tuple[str, ...], units: Units) -> str:
    """Return a quantity in the first of some units, largest first, that leaves it at least 1."""
    name = next((name for name in names if value >= units[name].factor), names[-1] if value else names[0])
    scaled = value / units[name].factor
    for places in range(_PLACES + 1):
        if 10**places % scaled.denominator == 0:
            digits = str(int(scaled * 10**places)).rjust(places + 1, "0")
            text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
            return f"{text}{name}" if len(text) <= 40 else f"{value.numerator}/{value.denominator}"
    return f"{value.numerator}/{value.denominator}"
