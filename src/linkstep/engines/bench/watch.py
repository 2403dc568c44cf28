"""Threads that end this process if a call that cannot be watched from inside does not return: an engine's own."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

from linkstep.engines.transports.notes import fail, has_ended, has_said, run_folder_here, say

_LOOK = 0.5
_LOOKS = 2
"""How often a rank is seen to be gone before the process is ended for it: it may notice by itself."""


@contextlib.contextmanager
def watched(seconds: float, dead: Callable[[], tuple[int, ...]], words: str) -> Iterator[None]:
    """End the process, saying why in a line that begins with ``words``, if what follows takes longer or a peer dies."""
    done = threading.Event()

    def watch() -> None:
        left = seconds
        while not done.wait(min(_LOOK, left)):
            left -= _LOOK
            gone = dead()
            if gone or left <= 0:
                why = f"rank {gone[0]} ended before the others" if gone else f"no end after {seconds:.0f} s"
                say(f"{words}: {why}")
                time.sleep(2 * _LOOK)  # all others see who ended first, and do not take this one for it
                os._exit(2)

    with _beside(watch, done):
        yield


@contextlib.contextmanager
def guarded(words: str, dead: Callable[[], tuple[int, ...]]) -> Iterator[None]:
    """End a rank that our launcher started, saying why, if it does not notice that another is gone.

    MPI may try for ever to send to it, in a call that ought to return at once.
    """
    done = threading.Event()

    def watch() -> None:
        looks = 0
        while not done.wait(_LOOK):
            gone = [rank for rank in dead() if not has_ended(rank)]
            looks = looks + 1 if gone else 0
            if looks > _LOOKS and not has_said(os.getpid()):
                say(f"{words}: rank {gone[0]} ended before the others")
                fail(_LOOKS * _LOOK)

    if run_folder_here() is None:
        yield
        return
    with _beside(watch, done):
        yield


@contextlib.contextmanager
def _beside(watch: Callable[[], None], done: threading.Event) -> Iterator[None]:
    """Watch from a thread while something is done."""
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()  # or a last look could end the process after all was well
