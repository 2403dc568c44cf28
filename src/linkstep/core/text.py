"""Text for people: what may be printed of names and recipes that anyone may have written."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text with a question mark for every character that cannot be printed.

    >>> printable("a\\x00b")
    'a?b'
    """
    return "".join(c if c.isprintable() else "?" for c in text)


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
