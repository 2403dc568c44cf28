"""A progress bar for work that turns out to take more than two seconds; none when standard error is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from linkstep.cli._terminal import raw
from linkstep.core.progress import Progress

_ELAPSED = "{desc}: {n_fmt}{unit} [{elapsed}]"
"""How work of unknown size is shown: what is done so far, and the time it took."""


@contextmanager
def progress_bar(label: str, unit: str = " nodes") -> Iterator[Progress]:
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


@contextmanager
def gap_bar(label: str) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with how far apart a value and its bound are; the bar shows that and the time."""
    from tqdm import tqdm

    with tqdm(
        desc=label, file=raw(sys.stderr), disable=not sys.stderr.isatty(), delay=2, leave=False, miniters=0,
        bar_format="{desc} [{elapsed}]",
    ) as bar:  # fmt: skip

        def update(gap: float) -> None:
            bar.set_description_str(f"{label}: gap {gap:.2%}", refresh=False)
            bar.update(1)

        yield update
