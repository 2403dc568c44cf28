"""Commands on the hosts of a testbed: one in place of this process, or the same on all hosts at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import IO, NoReturn

from linkstep.engines.testbed.testbed import Testbed


def become(bed: Testbed, host: int, words: Sequence[str]) -> NoReturn:
    """Replace this process by a command on a host: the terminal, signals and the exit code are the command's."""
    command = [*bed.prefix(host), *words]
    sys.stdout.flush()
    os.execvpe(command[0], command, _variables(bed, host))


def run_on_all(bed: Testbed, words: Sequence[str], heard: Callable[[int, str], None]) -> int:
    """Run a command on every host at once; ``heard`` gets a host and a line of its output. Return the largest code."""
    running = [
        subprocess.Popen(
            [*bed.prefix(host), *words], env=_variables(bed, host),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )
        for host in range(bed.num_hosts)
    ]  # fmt: skip
    hearing = threading.Lock()

    def copy(host: int, lines: IO[str]) -> None:
        with lines:
            for line in lines:
                with hearing:
                    heard(host, line.rstrip())

    readers = [
        threading.Thread(target=copy, args=(host, process.stdout), daemon=True) for host, process in enumerate(running)
    ]
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        codes = [process.wait() for process in running]
    finally:
        for process in running:
            process.kill()  # does nothing to those that have ended
            process.wait()
        signal.signal(signal.SIGTERM, before)
    return max(code if code >= 0 else 128 - code for code in codes)


def _variables(bed: Testbed, host: int) -> dict[str, str]:
    own = {"LINKSTEP_TESTBED": bed.name, "LINKSTEP_HOST": str(host), "LINKSTEP_ADDRESS": bed.address(host)}
    return dict(os.environ) | own


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
