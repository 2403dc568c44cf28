"""A thread that ends this process if a call that cannot be watched from inside does not return: an engine's own."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

from linkstep.engines.notes import say

_LOOK = 0.5


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

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
