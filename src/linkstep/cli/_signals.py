"""Ctrl-C for the ``linkstep`` process: it ends the command within a second or so, whatever is running.

Python raises KeyboardInterrupt once, between two of its own instructions. If these happen to belong to a callback of
compiled code (LLVM while a kernel is compiled, a finalizer, igraph), the exception is printed and dropped, and the work
goes on. So it is raised again, until the command has ended. Not used where linkstep is a library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from linkstep.core.stopping import Stop

_AGAIN = 0.3
"""Seconds after which a KeyboardInterrupt that did not end the command is raised again."""


@contextlib.contextmanager
def insistent_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C, and again until the block is left."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        raise KeyboardInterrupt

    def report(dropped: sys.UnraisableHookArgs) -> None:
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(dropped)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, as nohup and `&` do
        yield
        return
    sys.unraisablehook = report
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # too late to interrupt anything
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def leave_at_once(code: int) -> NoReturn:
    """End the process without waiting for threads that are still at work, nor for child processes.

    The solver's process ends when its standard input does; those of a pool are ended here. Semaphores are given back:
    multiprocessing has a process of its own that would complain of them.
    """
    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children, util

        for child in active_children():
            child.terminate()
        with contextlib.suppress(Exception):
            util._run_finalizers(0)  # type: ignore[attr-defined]  # what multiprocessing does at a usual end
    os._exit(code)


@contextlib.contextmanager
def one_stop() -> Iterator[Stop]:
    """Let the first Ctrl-C end all searches of the block with the best so far, and the second end the command.

    Where there is nothing to go on with, the first ends the command. After a block that was stopped, a line says so.
    """
    from linkstep.core.stopping import stoppable  # here: --version and --help need none

    before = signal.getsignal(signal.SIGINT)
    is_ours = before not in (signal.SIG_IGN, signal.default_int_handler)
    with stoppable() as stop:

        def interrupt(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, before)
            is_searching = stop.num_open > 0
            stop.is_asked = is_searching or stop.has_best
            if stop.is_asked and sys.stderr.isatty():
                print(
                    "\r\x1b[Klinkstep: stopping with the best so far; Ctrl-C again quits", file=sys.stderr, flush=True
                )
            if is_searching or not stop.has_best:
                raise KeyboardInterrupt

        if is_ours:
            signal.signal(signal.SIGINT, interrupt)
        try:
            yield stop
        finally:
            if is_ours:
                signal.signal(signal.SIGINT, before)
        if stop.is_asked:
            print("linkstep: stopped by Ctrl-C: the best so far", file=sys.stderr, flush=True)


@contextlib.contextmanager
def interrupts_noted() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed, or the process asked to end, for a loop that looks often.

    Nothing is raised meanwhile, so that what the block cleans up is cleaned up whole.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]  # as nohup and `&` leave it
    for number in ours:
        signal.signal(number, note)
    try:
        yield lambda: bool(noted)
    finally:
        for number in ours:
            signal.signal(number, before[number])
