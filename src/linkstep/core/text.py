"""Text for people: what may be printed of names and recipes that anyone may have written."""

from __future__ import annotations

_LARGE = 10**1000


def printable(text: str) -> str:
    """Return text with a question mark for every character that cannot be printed.

    >>> printable("a\\x00b")
    'a?b'
    """
    return "".join(c if c.isprintable() else "?" for c in text)


def counted(count: int, what: str) -> str:
    """Return a number of things in words: "1 cable", "2 cables"."""
    return f"{count} {what}{'s' * (count != 1)}"


def cut(text: str, most: int) -> str:
    """Return text at most this long: the middle goes, since a message says first what is wrong and last what to do.

    >>> cut("size '99999999999999999999' has no unit", 24)
    "size '9999999... no unit"
    """
    if len(text) <= most:
        return text
    tail = (most - 3) * 2 // 5
    return f"{text[: most - 3 - tail]}...{text[len(text) - tail :]}"


def shown(value: object) -> str:
    """Return a value from outside, short enough for a message, at most one level deep.

    >>> shown(10**5000), shown([1, [2], "x" * 100])
    ('a number of 5001 digits', "[1, [...], 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]")
    """
    if isinstance(value, list):
        return f"[{', '.join('[...]' if isinstance(x, list) else shown(x) for x in value[:6])}]"
    if isinstance(value, int) and abs(value) >= _LARGE:  # Python refuses to print such numbers
        return f"a number of {_digits(value)} digits"
    plain = value is None or isinstance(value, (str, int, float, complex))
    return f"{value!r:.40}" if plain else f"a {type(value).__name__}"


def _digits(value: int) -> int:
    """Return how many digits a large number has; its logarithm would not do near a power of ten."""
    value = abs(value)
    count = value.bit_length() * 30103 // 100000
    while 10**count <= value:
        count += 1
    while 10 ** (count - 1) > value:
        count -= 1
    return count


def shortened(text: str, most: int) -> str:
    """Return text printable and at most this long: the middle goes, since ends tell names apart.

    >>> shortened("Cayley(Z47,{1,5,30})", 12)
    'Cayley(…30})'
    """
    text = printable(text)
    if len(text) <= most:
        return text
    tail = (most - 1) * 2 // 5
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
