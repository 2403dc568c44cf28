"""A progress bar for work that turns out to take more than two seconds; none when standard error is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(label: str, unit: str = " nodes") -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with (done, in all)."""
    from tqdm import tqdm

    with tqdm(desc=label, delay=2, leave=False, disable=not sys.stderr.isatty(), unit=unit) as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield update
