"""A progress bar for work that turns out to take more than two seconds; none when standard error is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from linkstep.cli._terminal import raw

_ELAPSED = "{desc}: {n_fmt}{unit} [{elapsed}]"
"""How work of unknown size is shown: what is done so far, and the time it took."""


@contextmanager
def progress_bar(label: str, unit: str = " nodes") -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function to call with (done, in all); None or 0 where nobody knows how much there is in all."""
    from tqdm import tqdm

    with tqdm(
        desc=label, unit=unit, file=raw(sys.stderr), disable=not sys.stderr.isatty(), delay=2, leave=False,
        miniters=0,  # or a call that only says that time goes by would not be shown
    ) as bar:  # fmt: skip

        def update(done: int, total: int | None) -> None:
            bar.total = total or None
            bar.bar_format = None if total else _ELAPSED
            bar.update(done - bar.n)

        yield update
