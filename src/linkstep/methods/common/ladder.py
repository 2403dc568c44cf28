"""Numbers of steps that a search tries where some are asked for: its own and fewer, so that more are never worse.

Not here: the searches.
"""

from __future__ import annotations

from collections.abc import Iterator


def ladder(least: int, most: int) -> Iterator[int]:
    """Yield numbers of steps to try: every one at first, fewer and fewer later.

    What is tried for a number of steps is tried for every larger one, and taken unless that is better, so that more
    steps never cost more bandwidth.

    >>> list(ladder(2, 20))
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20]
    """
    steps = least
    while steps <= most:
        yield steps
        steps += max(1, (steps - least) // 4)
