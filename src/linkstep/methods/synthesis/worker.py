"""The solver's process as seen from here: started at the first question, kept for the next, ended with us."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from linkstep.core.errors import LinkstepError

SCRIPT = Path(__file__).with_name("solver.py")


class Worker:
    """A process that answers one question at a time. ``start`` returns at once: OR-tools takes a second to load."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._ready = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process if there is none."""
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        if self._process is None:
            # In a session of its own: Ctrl-C is for us to see, and then to end it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(SCRIPT)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, encoding="utf-8", start_new_session=True,
            )  # fmt: skip
            self._ready = False

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def check_ready(self) -> None:
        """Wait until OR-tools is loaded, or say how to get it."""
        with self._lock:
            self._wait_until_ready()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer; an interrupt ends the process, so that no late answer is taken for the next one's."""
        with self._lock:
            self._wait_until_ready()
            assert self._process is not None and self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(question) + "\n")
                self._process.stdin.flush()
                return self._read()
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
            first = self._read()
        except BaseException:
            self.stop()
            raise
        if "error" in first:
            self.stop()
            if first["error"] == "not installed":
                raise LinkstepError("synthesis needs OR-tools: pip install 'linkstep[synthesis]'")
            raise LinkstepError(f"OR-tools cannot be loaded: {first['error']}")
        self._ready = True

    def _read(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
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


WORKER = Worker()
atexit.register(WORKER.stop)
