"""What is said of work that turns out to take more than two seconds; nothing when standard error is no terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from linkstep._compiling import tell_of_compiling
from linkstep.cli._terminal import printable, raw
from linkstep.core.progress import Progress

_ELAPSED = "{desc}: {n_fmt}{unit} [{elapsed}]"
"""How work of unknown size is shown: what is done so far, and the time it took."""
PATIENCE = 2.0
"""Seconds after which a command that is still at work says at what."""


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


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on a terminal what is going on once it has taken two seconds; for work that reports no progress itself."""
    if not sys.stderr.isatty():
        yield
        return
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"linkstep: {printable(what)} ...", end="", file=raw(sys.stderr), flush=True)

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            print("\r\x1b[K", end="", file=raw(sys.stderr), flush=True)


def say_when_compiling() -> None:
    """Say once, as soon as a kernel has to be compiled, what takes so long and that it will not again."""
    said = False

    def say(kernel: str) -> None:
        nonlocal said
        if not said:
            said = True
            line = "linkstep: compiling, once: the next time it is there; `linkstep warm` compiles all beforehand"
            print(f"\r\x1b[K{line}", file=raw(sys.stderr), flush=True)

    tell_of_compiling(say)
