"""One interrupt ends all searches of a piece of work, each with the best so far; a second one ends the work.

Work that makes several searches, such as one for each half of an allreduce, is done within ``stoppable``. A search that
has something to show keeps it in ``best_so_far``, or asks ``is_stopped`` from time to time. Where nobody opened a
``stoppable``, an interrupt ends the one search that it hits. Not here: signals (``linkstep.cli._signals``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Stop:
    """Whether searches are to end, and what is known of them."""

    is_asked: bool = False
    """Whether an interrupt came that is to end searches."""
    is_caught: bool = False
    """Whether a search was ended by an exception: the next one ends the work."""
    has_best: bool = False
    """Whether there is something to go on with."""
    num_open: int = 0
    """Searches under way that can be ended by an exception at any time."""
    kept: dict[Any, Any] = field(default_factory=dict)
    """What was worked out after an interrupt: good for this piece of work, and not to be taken for all there is."""


_NOW: ContextVar[Stop | None] = ContextVar("stop", default=None)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Let an interrupt within the block end all its searches; blocks within it are part of it."""
    outer = _NOW.get()
    if outer is not None:
        yield outer
        return
    token = _NOW.set(Stop())
    try:
        stop = _NOW.get()
        assert stop is not None
        yield stop
    finally:
        _NOW.reset(token)


def current_stop() -> Stop | None:
    """Return what the present work knows of interrupts; None where it is not stoppable."""
    return _NOW.get()


def is_stopped() -> bool:
    """Whether searches are to end with what they have."""
    stop = _NOW.get()
    return stop is not None and stop.is_asked


def have_best() -> None:
    """Say that there is something to go on with: from here on an interrupt is asked for by ``is_stopped``."""
    stop = _NOW.get()
    if stop is not None:
        stop.has_best = True


@contextmanager
def best_so_far(*ended: type[Exception], has_best: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Go on after the block if one of ``ended`` or the first interrupt leaves it, and there is something to go on with.

    >>> with stoppable() as stop, best_so_far():
    ...     raise KeyboardInterrupt
    >>> stop.is_asked
    True
    """
    stop = _NOW.get() or Stop()
    stop.num_open += 1
    try:
        yield
    except ended:
        pass
    except KeyboardInterrupt:
        if stop.is_caught or not has_best():
            raise
        stop.is_asked = stop.is_caught = True
    finally:
        stop.num_open -= 1
        stop.has_best = stop.has_best or has_best()
