"""The solver's process as seen from here: started at the first question, kept for the next, ended with us.

The wait for an answer wakes up several times a second. So an interrupt that arrives just before the wait is seen, and
a caller can show that time goes by.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from linkstep.core.errors import LinkstepError
from linkstep.core.extras import missing

SCRIPT = Path(__file__).with_name("solver.py")
WAKE_UP = 0.2
"""Seconds between two looks up while the solver works."""


def _nothing() -> None:
    pass


def _listen(stdout: IO[str], lines: queue.SimpleQueue[str]) -> None:
    """Pass on what the process writes, line by line, and an empty line when it has ended."""
    with stdout:
        for line in stdout:
            lines.put(line)
    lines.put("")


class SolverProcess:
    """A process that answers one question at a time. ``start`` returns at once: OR-tools takes a second to load."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread()
        self._ready = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process if there is none."""
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        if self._process is None:
            # In a session of its own: Ctrl-C is for us to see, and then to end it.
            process = subprocess.Popen(
                [sys.executable, "-P", str(SCRIPT)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, encoding="utf-8", start_new_session=True,
            )  # fmt: skip
            self._ready = False
            self._lines = queue.SimpleQueue()  # the last process may have left lines in the old one
            self._listener = threading.Thread(target=_listen, args=(process.stdout, self._lines), daemon=True)
            self._listener.start()
            self._process = process  # last: if interrupted before, the process loses its input, and ends

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.kill()
            self._process.wait()
            self._listener.join()
            with contextlib.suppress(OSError):  # what was not sent in time is not sent now
                self._process.stdin.close()
            self._process = None

    def check_ready(self) -> None:
        """Wait until OR-tools is loaded, or say how to get it."""
        with self._lock:
            self._wait_until_ready()

    def ask(self, question: dict[str, Any], on_wait: Callable[[], None] = _nothing) -> dict[str, Any]:
        """Return the answer; ``on_wait`` is called several times a second until it is there.

        An interrupt ends the process, so that no late answer is taken for the next one's.
        """
        with self._lock:
            self._wait_until_ready()
            assert self._process is not None and self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(question) + "\n")
                self._process.stdin.flush()
                return self._read(on_wait)
            except BrokenPipeError:
                raise self._died() from None
            except BaseException:
                self.stop()
                raise

    def _wait_until_ready(self) -> None:
        self.start()
        if self._ready:
            return
        try:
            first = self._read(_nothing)
        except BaseException:
            self.stop()
            raise
        if "error" in first:
            self.stop()
            if first["error"] == "not installed":
                raise LinkstepError(missing("synthesis", "OR-tools", "synthesis"))
            raise LinkstepError(missing("synthesis", "OR-tools", "synthesis", reason=first["error"]))
        self._ready = True

    def _read(self, on_wait: Callable[[], None]) -> dict[str, Any]:
        while True:
            try:
                line = self._lines.get(timeout=WAKE_UP)
                break
            except queue.Empty:
                on_wait()
        if not line:
            raise self._died()
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _died(self) -> LinkstepError:
        assert self._process is not None
        code = self._process.wait()
        self.stop()
        return LinkstepError(
            f"the solver's process ended with code {code}, perhaps out of memory: ask for fewer chunks"
        )


WORKER = SolverProcess()
atexit.register(WORKER.stop)
