"""A process that answers questions, one at a time: started beforehand, so that an answer does not wait for imports.

It has no terminal and a process group of its own: Ctrl-C is not its business, and what it started ends with it. It ends
when the server does, however that ended. Not here: whose turn it is (``linkstep.explorer.jobs``).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from linkstep.core.safe_path import safe_path

_CONTEXT = multiprocessing.get_context("spawn")  # a server has threads, and these do not survive a fork
_EVERY = 0.1
"""Seconds between two messages on how far a work is."""
_starting = threading.Lock()

READY, PROGRESS, DONE, FAILED = "ready", "progress", "done", "failed"
"""What messages begin with: nothing more; what, how much, of how much; a packed document; a line."""
COMPILING = "compiling, once: the next time it is there"


class Worker:
    """A process as its server sees it."""

    def __init__(self) -> None:
        self.line, far = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_work, args=(far,), name="linkstep-worker", daemon=True)
        self.is_ready = False
        """Whether it has said that it can be asked."""
        with _starting, safe_path(), _interrupts_held():
            self._process.start()
        far.close()

    @property
    def pid(self) -> int:
        """Its number in the system."""
        assert self._process.pid is not None
        return self._process.pid

    def message(self, seconds: float) -> tuple[Any, ...] | None:
        """Return its next message, None if there is none within so many seconds; EOFError if the process has ended."""
        if not wait([self.line, self._process.sentinel], seconds):
            return None
        if not self.line.poll():
            raise EOFError
        try:
            message: tuple[Any, ...] = self.line.recv()
        except OSError:  # reset by the other side
            raise EOFError from None
        return message

    def ask(self, question: object) -> None:
        """Give it a question; EOFError if the process has ended."""
        try:
            self.line.send(question)
        except OSError:
            raise EOFError from None

    def end(self) -> int | None:
        """End it with all that it started, at once, and return its exit code."""
        if hasattr(os, "killpg"):
            with suppress(OSError):  # it has ended, or has no group of its own yet
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        with suppress(OSError):
            self.line.close()
        return self._process.exitcode


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back from a process that is started meanwhile, until it ignores it: to import takes it seconds."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # what a new process starts with
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


# --- in the process ---


def _work(line: Connection) -> None:
    """Answer questions until the line is closed."""
    if hasattr(os, "setsid"):
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, daemon=True).start()
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  # as long as the process
    warnings.simplefilter("ignore")
    with suppress(EOFError, OSError):  # the server has ended
        if not _is_ready(line):
            return
        while True:
            line.send(_answered(line.recv(), line))


def _end_with_server() -> None:
    """End this process with all that it started when the server's ends, whatever is being worked on."""
    server = multiprocessing.parent_process()
    assert server is not None
    wait([server.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _is_ready(line: Connection) -> bool:
    """Import what an answer takes, by answering a small question, and say so; or say what is wrong."""
    code, text = _answered({"ask": "wiring", "what": "K_3"}, line)
    line.send((READY,) if code == DONE else (FAILED, text))
    return bool(code == DONE)


def _answered(question: object, line: Connection) -> tuple[str, Any]:
    from linkstep._compiling import tell_of_compiling
    from linkstep.core.errors import LinkstepError
    from linkstep.explorer.packing import pack
    from linkstep.explorer.questions import answer

    watch = _Watch(line)
    tell_of_compiling(lambda kernel: watch(COMPILING, 0, None))
    try:
        return DONE, pack(answer(question, watch))
    except LinkstepError as error:
        return FAILED, str(error)
    except MemoryError:
        return FAILED, "out of memory: ask for less"
    except Exception as error:
        traceback.print_exc()
        kind, text = type(error).__name__, " ".join(str(error).split())
        said = f"{kind}: {text[:300]}" if text else kind
        return FAILED, f"{said}. This is a fault of linkstep: please report it, with what the terminal shows"


class _Watch:
    """Sends how far a work is, ten times a second at most, and what is worked on whenever that changes."""

    def __init__(self, line: Connection) -> None:
        self._line, self._label, self._next = line, "", 0.0

    def __call__(self, label: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if label == self._label and now < self._next:
            return
        self._label, self._next = label, now + _EVERY
        self._line.send((PROGRESS, label, int(done), None if total is None else int(total)))
